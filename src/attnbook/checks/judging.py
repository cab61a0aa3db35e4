"""What every check is made of: a verdict in a sentence, and comparisons that say where."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import torch
from torch import Tensor


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
    """What broke, in a sentence."""


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
            return Verdict(False, f"your answer can't be compared: {type(error).__name__}: {why}")
        return Verdict(True, "correct")

    return judged


def call(answer: Callable, *inputs):
    """What the answer returns for copies of the inputs, which it must leave as they are."""
    copies = [x.clone() if isinstance(x, Tensor) else x for x in inputs]
    try:
        got = answer(*copies)
    except NotImplementedError:
        got = None
    except (Exception, SystemExit) as error:
        raise Wrong(f"your function raised {type(error).__name__}: {error}") from error
    if got is None or got is ...:
        raise Wrong("not written yet: your function returned nothing")
    for position, (copy, original) in enumerate(zip(copies, inputs, strict=True), start=1):
        if isinstance(original, Tensor) and not torch.equal(copy, original):
            raise Wrong(f"your function changed its argument {position}; work on a copy")
    return got


def compare(where: str, got: object, want: Tensor, axes: tuple[str, ...], hint: Callable[[], str]) -> None:
    if not isinstance(got, Tensor):
        raise Wrong(f"{where}: expected a tensor, got {describe(got)}")
    if got.shape != want.shape:
        raise Wrong(f"{where}: expected shape {tuple(want.shape)}, got {tuple(got.shape)}")
    wrong = ~close(got, want)
    if wrong.any():
        cell = tuple(wrong.nonzero()[0].tolist())
        found = "expected {}, got {}".format(
            *(f"{x[cell]:.4f}" if x.is_floating_point() else x[cell].item() for x in (want, got))
        )
        why = hint()
        raise Wrong(f"{where}: first wrong cell ({', '.join(axes)}) = {cell}: {found}{why and f' ({why})'}")


def explained(answers: dict[str, object], wrong: dict[str, Callable], cases: dict[str, tuple]) -> str:
    """Which known mistake, by its name, answers every case just so; "" if none does."""
    for name, mistake in wrong.items():
        if all(_same(answers[case], mistake(*inputs)) for case, inputs in cases.items()):
            return f"your function {name}"
    return ""


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
    return f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
