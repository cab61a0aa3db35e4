"""What every check is made of: a verdict in a sentence, and comparisons that say where.

A mistake, a case and a sentence have names here; how they read stands in the file of the language.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path

import torch
from torch import Tensor

from attnbook.language import number, words

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Verdict:
    """What a check found; true when the answer is correct."""

    correct: bool
    message: str

    def __bool__(self) -> bool:
        return self.correct

    def __repr__(self) -> str:
        return self.message


class Wrong(Exception):
    """What broke: the name of a sentence, and what belongs in its gaps; `why` is added in brackets."""

    def __init__(self, name: str, *, case: str = "", why: str = "", **gaps):
        said = say(name, case=named(case), **gaps)
        super().__init__(say("because", said=said, why=why) if why else said)


def say(name: str, **gaps) -> str:
    """A sentence in the language spoken now."""
    return words(HERE)["said"][name].format(**gaps)


def named(case: str) -> str:
    """How a case is called: in words, with its number if it has one; "L=2, M=3" needs none.

    >>> named("at_a_station"), named("documents [0, 1]"), named("L=2, M=3")
    ('at a station', 'documents [0, 1]', 'L=2, M=3')
    """
    name, _, n = case.partition(" ")
    texts = words(HERE)["cases"]
    return texts[name].format(n=n) if name in texts else case


def told(mistake: str) -> str:
    """What a known mistake does, in words."""
    return words(HERE)["mistakes"][mistake]


def exercise(check: Callable[[Callable], None]) -> Callable[[Callable], Verdict]:
    """Turn a function that raises `Wrong` into a check that returns a verdict."""

    @wraps(check)
    def judged(answer: Callable) -> Verdict:
        try:
            check(answer)
        except Wrong as wrong:
            return Verdict(False, str(wrong))
        except Exception as error:  # an answer can be stranger than a check foresees
            why = str(error).partition("\n")[0]
            return Verdict(False, say("stranger", kind=type(error).__name__, error=why))
        return Verdict(True, say("correct"))

    return judged


def call(answer: Callable, *inputs):
    """What the answer returns for copies of the inputs, which it must leave as they are."""
    copies = [x.clone() if isinstance(x, Tensor) else x for x in inputs]
    try:
        got = answer(*copies)
    except NotImplementedError as error:
        if error.args:  # PyTorch says what it has not
            raise Wrong("raised", kind=type(error).__name__, error=error) from error
        got = None
    except (Exception, SystemExit) as error:
        raise Wrong("raised", kind=type(error).__name__, error=error) from error
    if got is None or got is ...:
        raise Wrong("unwritten")
    for position, (copy, original) in enumerate(zip(copies, inputs, strict=True), start=1):
        if isinstance(original, Tensor) and not torch.equal(copy, original):
            raise Wrong("changed_argument", n=position)
    return got


def compare(case: str, got: object, want: Tensor, axes: tuple[str, ...], hint: Callable[[], str]) -> None:
    if not isinstance(got, Tensor):
        raise Wrong("tensor", case=case, got=describe(got))
    if got.shape != want.shape:
        raise Wrong("shape", case=case, want=tuple(want.shape), got=tuple(got.shape))
    wrong = ~close(got, want)
    if wrong.any():
        cell = tuple(wrong.nonzero()[0].tolist())
        right, found = (number(x[cell].item(), 4) if x.is_floating_point() else x[cell].item() for x in (want, got))
        names = ", ".join(words(HERE)["axes"][axis] for axis in axes)
        raise Wrong("cell", case=case, axes=names, cell=cell, want=right, got=found, why=hint())


def explained(
    answers: Mapping[str, object], wrong: dict[str, Callable], cases: dict[str, tuple], case: str = ""
) -> str:
    """Which known mistake, by its name, answers every case just so, or else at least this case; "" if none does."""

    def fits(name: str, case: str) -> bool:
        return _same(answers[case], wrong[name](*cases[case]))

    here = [name for name in wrong if not case or fits(name, case)]
    for name in here:
        if all(fits(name, each) for each in cases):
            return say("mistake", mistake=told(name))
    return say("mistake_here", mistake=told(here[0])) if case and here else ""


def _same(got: object, theirs: object) -> bool:
    if isinstance(got, Tensor) and isinstance(theirs, Tensor):
        return got.shape == theirs.shape and bool(close(got, theirs).all())
    return type(got) is type(theirs) and got == theirs


def close(got: Tensor, want: Tensor) -> Tensor:
    if not want.is_floating_point():
        return got == want
    atol = max(1e-5, torch.finfo(want.dtype).eps)
    return torch.isclose(got.to(want.dtype), want, rtol=1e-4, atol=atol, equal_nan=True)


def shape_of(value: object) -> torch.Size | None:
    return value.shape if isinstance(value, Tensor) else None


def describe(value: object) -> str:
    return say("a_tensor", shape=tuple(value.shape)) if isinstance(value, Tensor) else type(value).__name__
