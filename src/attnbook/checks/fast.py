"""Chapter 10: what several readers of keys have summed, put together; and how much a cache can hold."""

import math
from collections.abc import Callable
from numbers import Number

import torch
from torch import Tensor

from attnbook.checks.judging import Wrong, call, compare, describe, exercise, explained
from attnbook.language import whole


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
            raise Wrong("a_number_of_tokens", case=case, got=describe(got))
    for case, got in answers.items():
        want = _fit()(*_ROOMS[case])
        if got != want:
            why = explained(answers, WRONG_FIT, _ROOMS)
            raise Wrong("tokens", case=case, want=whole(want), got=whole(got), why=why)


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
    "adds_what_was_summed_as_it": _merge(torch.ones_like, torch.ones_like),
    "rescales_the_outputs": _merge(torch.ones_like, torch.exp),
    "rescales_the_sums": _merge(torch.exp, torch.ones_like),
    "rescales_the_wrong_way_round": lambda m, total, output: (
        (m.max() - m).exp() @ output / ((m.max() - m).exp() @ total)
    ),
    "measures_from_the_first_readers_maximum": lambda m, total, output: (
        (m - m[0]).exp() @ output / ((m - m[0]).exp() @ total)
    ),
    "subtracts_no_maximum": lambda m, total, output: m.exp() @ output / (m.exp() @ total),
    "takes_the_mean_of_the_readers": lambda m, total, output: (output / total[:, None]).mean(0),
    "weighs_the_readers_answers_by_their": lambda m, total, output: m.softmax(0) @ (output / total[:, None]),
    "takes_the_answer_of_the_reader": lambda m, total, output: output[m.argmax()] / total[m.argmax()],
    "does_not_divide_by_the_sum": lambda m, total, output: (m - m.max()).exp() @ output,
    "merges_the_first_two_readers_only": lambda m, total, output: _merge(torch.exp, torch.exp)(
        m[:2], total[:2], output[:2]
    ),
}


def _fit(B: int = 1, layers: int = 1, heads: int = 1, size: int = 1, both: int = 2, rounded: Callable = math.floor):
    """By the powers with which each of them counts."""
    return lambda room, *sizes: rounded(
        room / (both * sizes[0] ** B * sizes[1] ** layers * sizes[2] ** heads * sizes[3] * sizes[4] ** size)
    )


WRONG_FIT: dict[str, Callable[[int, int, int, int, int, int], int]] = {
    "counts_keys_or_values": _fit(both=1),
    "counts_one_layer": _fit(layers=0),
    "counts_one_text_of_the_batch": _fit(B=0),
    "counts_numbers": _fit(size=0),
    "counts_one_head": _fit(heads=0),
    "rounds_up": _fit(rounded=math.ceil),
    "rounds_to_the_nearest": _fit(rounded=round),
    "gives_a_part_of_a_token": _fit(rounded=float),
    "gives_the_tokens_of_all_texts": lambda room, B, *sizes: B * _fit()(room, B, *sizes),
}
_DRAW = torch.Generator().manual_seed(10)
_PARTS = {
    "2_readers": ([torch.tensor([0.0, 1]), torch.tensor([3.0, 2])], list(torch.eye(4).split(2))),
    "3_readers_of_1": tuple(
        list((scale * torch.randn(7, *axes, generator=_DRAW)).split([1, 4, 2])) for scale, axes in ((3, ()), (1, (2,)))
    ),
    "scores_around_1000": tuple(
        list((shift + torch.randn(6, *axes, generator=_DRAW)).split(3)) for shift, axes in ((-1000, ()), (0, (3,)))
    ),
    "a_reader_that_got_no_keys": (
        [torch.zeros(0), torch.full((4000,), 990.0), torch.tensor([1000.0]), torch.tensor([0.0])],
        [torch.zeros(0, 2), torch.ones(4000, 1) * torch.tensor([1.0, 2.0]), *torch.randn(2, 1, 2, generator=_DRAW)],
    ),
}
_ROOMS = {
    "1000_bytes": (1000, 1, 2, 3, 4, 2),
    "10_000_bytes": (10_000, 5, 3, 2, 8, 4),
    "exactly_7_tokens": (7 * 2 * 2 * 3 * 2 * 8 * 4, 2, 3, 2, 8, 4),
    "nearly_7_tokens": (7 * 2 * 2 * 3 * 2 * 8 * 4 - 1, 2, 3, 2, 8, 4),
}
