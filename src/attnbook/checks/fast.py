"""Chapter 10: what several readers of keys have summed, put together; and how much a cache can hold."""

import math
from collections.abc import Callable
from numbers import Number

import torch
from torch import Tensor

from attnbook.checks.judging import Wrong, call, compare, describe, exercise, explained


@exercise
def merge(answer: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """`answer(m_P, total_P, output_PV)`: the softmax-weighted mean of all values, from what P readers have kept.

    Each has read keys of its own, and kept their maximum, the sum of exp(score - m), and the same sum of the values.
    """
    kept = {case: _kept(*parts) for case, parts in _PARTS.items()}
    answers = {case: call(answer, *inputs) for case, inputs in kept.items()}
    for case, got in answers.items():
        scores, values = (torch.cat(parts) for parts in _PARTS[case])
        want = scores.softmax(-1) @ values
        compare(case, got, want, ("feature",), lambda: explained(answers, WRONG_MERGE, kept))


@exercise
def tokens_that_fit(answer: Callable[[int, int, int, int, int, int], int]) -> None:
    """`answer(room, B, layers, kv_heads, width, size)`: how long B texts may be, if keys and values are kept."""
    answers = {}
    for case, inputs in _ROOMS.items():
        got = call(answer, *inputs)
        answers[case] = got.item() if isinstance(got, Tensor) and got.numel() == 1 else got
        if not isinstance(answers[case], Number):
            raise Wrong(f"{case}: return a number of tokens; got {describe(got)}")
    for case, got in answers.items():
        want = _fit()(*_ROOMS[case])
        if got != want:
            why = explained(answers, WRONG_FIT, _ROOMS)
            raise Wrong(f"{case}: expected {want:,} tokens, got {got:,}{why and f' ({why})'}")


def _kept(scores: list[Tensor], values: list[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """What readers keep of their scores and values."""
    m_P = torch.stack([x.max() if len(x) else torch.tensor(-torch.inf) for x in scores])
    powers = [(x - m).exp() for x, m in zip(scores, m_P, strict=True)]
    return (
        m_P,
        torch.stack([x.sum() for x in powers]),
        torch.stack([x @ v for x, v in zip(powers, values, strict=True)]),
    )


def _merge(of_total: Callable, of_output: Callable) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """By what the readers' sums and outputs are multiplied, given how far each one's maximum is below the largest."""
    return lambda m, total, output: of_output(m - m.max()) @ output / (of_total(m - m.max()) @ total)


# What goes wrong with merging, each as a function with the signature of the exercise.
WRONG_MERGE: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "adds what was summed as it is: each reader measured from a maximum of its own": _merge(
        torch.ones_like, torch.ones_like
    ),
    "rescales the outputs, and not the sums": _merge(torch.ones_like, torch.exp),
    "rescales the sums, and not the outputs": _merge(torch.exp, torch.ones_like),
    "rescales the wrong way round, by exp(largest - m)": lambda m, total, output: (
        (m.max() - m).exp() @ output / ((m.max() - m).exp() @ total)
    ),
    "measures from the first reader's maximum, which may be far below another's, or −∞": lambda m, total, output: (
        (m - m[0]).exp() @ output / ((m - m[0]).exp() @ total)
    ),
    "subtracts no maximum: exp of a large score overflows": lambda m, total, output: (
        m.exp() @ output / (m.exp() @ total)
    ),
    "takes the mean of the readers' answers": lambda m, total, output: (output / total[:, None]).mean(0),
    "weighs the readers' answers by their maxima alone": lambda m, total, output: (
        m.softmax(0) @ (output / total[:, None])
    ),
    "takes the answer of the reader with the largest score": lambda m, total, output: (
        output[m.argmax()] / total[m.argmax()]
    ),
    "does not divide by the sum": lambda m, total, output: (m - m.max()).exp() @ output,
    "merges the first two readers only": lambda m, total, output: _merge(torch.exp, torch.exp)(
        m[:2], total[:2], output[:2]
    ),
}


def _fit(B: int = 1, layers: int = 1, heads: int = 1, size: int = 1, both: int = 2, rounded: Callable = math.floor):
    """By the powers with which each of them counts."""
    return lambda room, *sizes: rounded(
        room / (both * sizes[0] ** B * sizes[1] ** layers * sizes[2] ** heads * sizes[3] * sizes[4] ** size)
    )


WRONG_FIT: dict[str, Callable[[int, int, int, int, int, int], int]] = {
    "counts keys or values, and not both": _fit(both=1),
    "counts one layer": _fit(layers=0),
    "counts one text of the batch": _fit(B=0),
    "counts numbers, and not their bytes": _fit(size=0),
    "counts one head": _fit(heads=0),
    "rounds up: the last token would not fit": _fit(rounded=math.ceil),
    "rounds to the nearest: the last token might not fit": _fit(rounded=round),
    "gives a part of a token": _fit(rounded=float),
    "gives the tokens of all texts together, and not of each": lambda room, B, *sizes: B * _fit()(room, B, *sizes),
}
_DRAW = torch.Generator().manual_seed(10)
_PARTS = {
    "2 readers": ([torch.tensor([0.0, 1]), torch.tensor([3.0, 2])], list(torch.eye(4).split(2))),
    "3 readers of 1, 4 and 2 keys": tuple(
        list((scale * torch.randn(7, *axes, generator=_DRAW)).split([1, 4, 2])) for scale, axes in ((3, ()), (1, (2,)))
    ),
    "scores around −1000": tuple(
        list((shift + torch.randn(6, *axes, generator=_DRAW)).split(3)) for shift, axes in ((-1000, ()), (0, (3,)))
    ),
    "a reader that got no keys, and maxima 990, 1000 and 0": (
        [torch.zeros(0), torch.full((4000,), 990.0), torch.tensor([1000.0]), torch.tensor([0.0])],
        [torch.zeros(0, 2), torch.ones(4000, 1) * torch.tensor([1.0, 2.0]), *torch.randn(2, 1, 2, generator=_DRAW)],
    ),
}
_ROOMS = {
    "1000 bytes, 1 text, 2 layers, 3 heads of 4, 2 bytes": (1000, 1, 2, 3, 4, 2),
    "10,000 bytes, 5 texts, 3 layers, 2 heads of 8, 4 bytes": (10_000, 5, 3, 2, 8, 4),
    "exactly 7 tokens": (7 * 2 * 2 * 3 * 2 * 8 * 4, 2, 3, 2, 8, 4),
    "nearly 7 tokens": (7 * 2 * 2 * 3 * 2 * 8 * 4 - 1, 2, 3, 2, 8, 4),
}
