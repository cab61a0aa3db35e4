"""Chapter 10: what several readers of keys have summed, put together; and the size of a cache."""

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.checks.judging import Wrong, call, compare, describe, exercise, explained


@exercise
def merge(answer: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """`answer(m_P, total_P, output_PV)`: the softmax-weighted mean of all values, from what P readers have kept.

    Each has read keys of its own, and kept their maximum, the sum of exp(score - m), and the same sum of the values.
    """
    answers = {case: call(answer, *_kept(*parts)) for case, parts in _PARTS.items()}
    kept = {case: _kept(*parts) for case, parts in _PARTS.items()}
    for case, got in answers.items():
        scores, values = (torch.cat(parts) for parts in _PARTS[case])
        want = scores.softmax(-1) @ values
        compare(case, got, want, ("feature",), lambda: explained(answers, WRONG_MERGE, kept))


@exercise
def cache_bytes(answer: Callable[[int, int, int, int, int, int], int]) -> None:
    """`answer(B, tokens, layers, kv_heads, width, size)`: the bytes of all keys and values that are kept."""
    answers = {}
    for case, inputs in _CACHES.items():
        answers[case] = call(answer, *inputs)
        if not isinstance(answers[case], (int, float)):
            raise Wrong(f"{case}: return a number of bytes; got {describe(answers[case])}")
    for case, got in answers.items():
        want = 2 * torch.tensor(_CACHES[case]).prod().item()
        if got != want:
            why = explained(answers, WRONG_CACHE_BYTES, _CACHES)
            raise Wrong(f"{case}: expected {want:,} bytes, got {got:,}{why and f' ({why})'}")


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

WRONG_CACHE_BYTES: dict[str, Callable[[int, int, int, int, int, int], int]] = {
    "counts keys or values, and not both": lambda B, n, layers, heads, width, size: (
        B * n * layers * heads * width * size
    ),
    "counts one layer": lambda B, n, layers, heads, width, size: 2 * B * n * heads * width * size,
    "counts one text of the batch": lambda B, n, layers, heads, width, size: 2 * n * layers * heads * width * size,
    "counts numbers, and not their bytes": lambda B, n, layers, heads, width, size: 2 * B * n * layers * heads * width,
    "counts one head": lambda B, n, layers, heads, width, size: 2 * B * n * layers * width * size,
    "counts a weight for each pair of tokens; no weights are kept": lambda B, n, layers, heads, width, size: (
        B * n * n * layers * heads * size
    ),
}
_DRAW = torch.Generator().manual_seed(10)
_PARTS = {
    "2 readers": ([torch.tensor([0.0, 1]), torch.tensor([3.0, 2])], list(torch.eye(4).split(2))),
    "3 readers of 1, 4 and 2 keys": tuple(
        list((scale * torch.randn(7, *axes, generator=_DRAW)).split([1, 4, 2])) for scale, axes in ((3, ()), (1, (2,)))
    ),
    "scores around 1000": tuple(
        list((shift + torch.randn(6, *axes, generator=_DRAW)).split(3)) for shift, axes in ((1000, ()), (0, (3,)))
    ),
    "a reader that got no keys": (
        [torch.tensor([1.0, -1]), torch.zeros(0)],
        [torch.randn(2, 2, generator=_DRAW), torch.zeros(0, 2)],
    ),
}
_CACHES = {
    "1 text of 10 tokens, 2 layers, 3 heads of 4, 2 bytes": (1, 10, 2, 3, 4, 2),
    "5 texts of 7 tokens, 3 layers, 2 heads of 8, 4 bytes": (5, 7, 3, 2, 8, 4),
}
