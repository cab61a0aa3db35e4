"""An attention layer, anyone's, looked at from outside: `diagnose` tries it and says what it found."""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import torch
from torch import nn

from attnbook._inputs import check_module
from attnbook.diagnosis.calling import copied
from attnbook.diagnosis.looking import examine
from attnbook.language import plain, words

HERE = Path(__file__).parent
SENSES = {"may attend": "may", "hidden": "hidden", "added": "added"}
SIGNS = {"mistake": "✗", "caution": "!", "fact": "·"}


@dataclass(frozen=True)
class Finding:
    """One thing that was found: its name, its kind (mistake, caution or fact), and a sentence."""

    name: str
    kind: str
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Diagnosis:
    """What `diagnose` found, mistakes first; true where there is none."""

    layer: str
    call: str
    findings: tuple[Finding, ...]

    @property
    def mistakes(self) -> tuple[Finding, ...]:
        """What is wrong."""
        return self._of("mistake")

    @property
    def cautions(self) -> tuple[Finding, ...]:
        """What is right for some inputs, or on purpose, and goes wrong for others."""
        return self._of("caution")

    @property
    def facts(self) -> tuple[Finding, ...]:
        """What one has to know to use it."""
        return self._of("fact")

    def __bool__(self) -> bool:
        return not self.mistakes

    def __repr__(self) -> str:
        return "\n".join([self._headline(), *(f"{SIGNS[found.kind]} {found}" for found in self.findings)])

    def _repr_html_(self) -> str:
        items = "".join(
            f"<li style=\"list-style-type: '{SIGNS[found.kind]}\\a0\\a0'\">{escape(str(found))}</li>"
            for found in self.findings
        )
        head = f'<p style="margin-top: 0.8em"><strong>{escape(self._headline())}</strong></p>'
        return f'{head}<ul style="padding-left: 1.4em">{items}</ul>'

    def _headline(self) -> str:
        say, n = words(HERE)["headline"], len(self.mistakes)
        found = say["none"] if n == 0 else say["one"] if n == 1 else say["several"].format(n=n)
        return say["all"].format(layer=self.layer, call=self.call, found=found)

    def _of(self, kind: str) -> tuple[Finding, ...]:
        return tuple(found for found in self.findings if found.kind == kind)


def diagnose(
    layer: nn.Module | Callable,
    *,
    width: int | tuple[int, int, int] | None = None,
    call: Callable | None = None,
    causal: bool | None = None,
    positions: bool | None = None,
    mask: str | None = None,
    batch_first: bool | None = None,
) -> Diagnosis:
    """What is wrong with an attention layer, found by trying it: PyTorch's, this book's, or your own.

    >>> class Attention(nn.Module):
    ...     def forward(self, q, k, v, mask=None):
    ...         scores = q @ k.mT
    ...         return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1) @ v
    >>> diagnosis = diagnose(Attention())
    >>> [found.name for found in diagnosis.mistakes]
    ['scale_missing']

    Printed, a diagnosis lists all it found; it is true where there is no mistake.

    width         of a token, where it can't be read from the parameters; one number, or those of queries, keys, values
    call          how to call it, if not as layer(x) or layer(q, k, v) with masks by name: a function (layer, x),
                  (layer, x, mask), (layer, q, k, v) or (layer, q, k, v, mask)
    causal        True: no position should see a later one, even without a mask
    positions     True: it should know the order of tokens
    mask          what you take True in a mask for, "may attend" or "hidden"; "added" for one of 0 and -inf
    batch_first   whether you give it (batch, length, width)

    The layer stays as it is: a copy is looked at, in double precision, without dropout. A function is called as it is.
    """
    if mask not in (None, *SENSES):
        raise ValueError(f"mask must be one of {', '.join(map(repr, SENSES))}, got {mask!r}.")
    if isinstance(layer, type) or not callable(layer):
        check_module("layer", layer, " or a function")
    claims = {
        "causal": causal,
        "positions": positions,
        "mask": None if mask is None else SENSES[mask],
        "batch_first": batch_first,
    }
    devices = sorted({x.get_device() for x in layer.parameters() if x.is_cuda}) if isinstance(layer, nn.Module) else []
    with torch.random.fork_rng(devices), torch.inference_mode(False), torch.enable_grad():
        examination = examine(_copy(layer), width, call, claims)
    name = type(layer).__name__ if isinstance(layer, nn.Module) else getattr(layer, "__name__", "layer")
    if examination is None:
        raise ValueError(
            f"No way to call {name} with tensors (batch, length, width) was found. Say how: "
            "call=lambda layer, q, k, v, mask: …, and width=… if it can't be read from the parameters."
        )
    found = sorted((_finding(*found) for found in examination.found), key=lambda one: list(SIGNS).index(one.kind))
    return Diagnosis(name, examination.caller.shown, tuple(found))


def _copy(layer: Any) -> Any:
    """The same layer in double precision, without dropout."""
    copy = copied(layer)
    return copy.eval().double() if isinstance(copy, nn.Module) else copy


def _finding(name: str, gaps: dict[str, Any]) -> Finding:
    kind = next(kind for kind in SIGNS if name in words(HERE)[kind])
    written = {gap: plain(round(value, 3)) if isinstance(value, float) else value for gap, value in gaps.items()}
    message = words(HERE)[kind][name].format(**written)
    if where := gaps.get("where"):
        message = words(HERE)["where"].format(where=where, message=message)
    return Finding(name, kind, message)
