"""Chapter 12: unpacking weights, repeating key heads, and what to measure in a real model."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attnbook.checks.judging import Wrong, call, compare, describe, exercise, explained

Unpack = Callable[..., Tensor]
Score = Callable[[Tensor, Tensor], Tensor]
Effects = Callable[[Tensor, Tensor, Tensor, int], Tensor]
Rank = Callable[[Tensor, Tensor, Tensor, int], object]


@exercise
def unpack_q4_1(answer: Unpack) -> None:
    """`answer(scale_N, least_N, bytes_NJ)`: N blocks of twice J weights, (N, 2 J).

    A byte holds two integers from 0 to 15: one of the first J in its low half, one of the last J in its high half.
    A weight is the block's scale times its number, plus the block's least.
    """
    _judge(answer, _q4_1(), WRONG_UNPACK_Q4_1, _FOUR_BITS, ("block", "weight"))


@exercise
def unpack_q8_0(answer: Unpack) -> None:
    """`answer(scale_N, bytes_NJ)`: N blocks of J weights, each its block's scale times an integer.

    A byte from 128 on stands for a number below zero: 255 for -1, 128 for -128.
    """
    _judge(answer, _q8_0(), WRONG_UNPACK_Q8_0, _EIGHT_BITS, ("block", "weight"))


@exercise
def repeat_heads(answer: Callable[[Tensor, int], Tensor]) -> None:
    """`answer(k_BGMK, heads)`: (B, heads, M, K), where neighbouring heads share one of the G."""
    _judge(answer, _repeated(), WRONG_REPEAT_HEADS, _GROUPS, ("text", "head", "key", "feature"))


@exercise
def first_score(answer: Score) -> None:
    """`answer(weights_BHLL, lengths_B)`: for each of H heads its mean weight on the first token.

    The mean is over the queries 2 to n - 1 of all texts together, where a text has n tokens; what follows is padding.
    """
    _judge(answer, _first(), WRONG_FIRST_SCORE, _TEXTS, ("head",))


@exercise
def exchanged(answer: Callable[[Tensor, int], Tensor]) -> None:
    """`answer(x_BLD, place)`: at this place each text has the vector of the text before it; the first, of the last."""
    _judge(answer, _exchange(), WRONG_EXCHANGED, _STREAMS, ("text", "token", "feature"))


@exercise
def direct_effects(answer: Effects) -> None:
    """`answer(y_BLD, W_o, u_BD, heads)`: for each head what its part adds to u · W_o y at the last token, (B, heads).

    `y_BLD` has what the heads found, side by side, before W_o.
    """
    _judge(answer, _effects(), WRONG_DIRECT_EFFECTS, _HEADS, ("text", "head"))


@exercise
def rank_of(answer: Rank) -> None:
    """`answer(x_D, gain_D, table_ND, token)`: how many tokens have a higher score than this one.

    The scores are products with the table, after RMSNorm (with 1e-5 in the root) and the gain.
    """
    answers = {case: call(answer, *inputs) for case, inputs in _READINGS.items()}
    for case, got in answers.items():
        got = got.item() if isinstance(got, Tensor) and got.numel() == 1 else got
        if isinstance(got, Tensor) or not isinstance(got, int | float):
            raise Wrong("one_number", case=case, got=describe(got))
        answers[case] = torch.tensor(float(got))
    for case, got in answers.items():
        want = _rank()(*_READINGS[case])
        if got != want:
            why = explained(answers, WRONG_RANK_OF, _READINGS)
            raise Wrong("expected", case=case, want=int(want), got=got.item(), why=why)


def _judge(answer: Callable, right: Callable, wrong: dict, cases: dict[str, tuple], axes: tuple[str, ...]) -> None:
    answers = {case: call(answer, *inputs) for case, inputs in cases.items()}
    for case, got in answers.items():
        compare(case, got, right(*cases[case]), axes, partial(explained, answers, wrong, cases, case))


def _q4_1(
    *, high_first: bool = False, pairs: bool = False, base: int = 16, least: float = 1.0, scaled: bool = False
) -> Unpack:
    """By which half comes first, whether the halves of a byte are neighbours, and what becomes of the least."""

    def unpack(scale: Tensor, least_N: Tensor, data: Tensor) -> Tensor:
        halves = [data % base, data // base]
        halves = halves[::-1] if high_first else halves
        numbers = torch.stack(halves, -1).flatten(1) if pairs else torch.cat(halves, 1)
        weights = numbers * scale[:, None]
        return weights + least * (least_N * (scale if scaled else 1))[:, None]

    return unpack


# What goes wrong with unpacking four bits, each as a function with the signature of the exercise.
WRONG_UNPACK_Q4_1: dict[str, Unpack] = {
    "takes_the_high_halves_first": _q4_1(high_first=True),
    "puts_the_halves_of_a_byte_side_by_side": _q4_1(pairs=True),
    "puts_the_high_half_beside_the_low_one": _q4_1(high_first=True, pairs=True),
    "forgets_the_least": _q4_1(least=0.0),
    "subtracts_the_least": _q4_1(least=-1.0),
    "multiplies_the_least_by_the_scale": _q4_1(scaled=True),
    "keeps_three_bits_of_four": _q4_1(base=8),
    "keeps_whole_bytes": lambda scale, least, data: torch.cat([data, data // 16], 1) * scale[:, None] + least[:, None],
    "takes_eight_from_each_number": lambda scale, least, data: _q4_1()(scale, least, data) - 8 * scale[:, None],
}


def _q8_0(*, border: int = 128, less: int = 256, times: bool = True) -> Unpack:
    """Returns a function that unpacks Q8_0, right as it is; each argument makes a mistake."""

    def unpack(scale: Tensor, data: Tensor) -> Tensor:
        numbers = data - less * (data >= border)
        return numbers * scale[:, None] if times else numbers / scale[:, None]

    return unpack


# What goes wrong with unpacking eight bits, likewise.
WRONG_UNPACK_Q8_0: dict[str, Unpack] = {
    "has_no_numbers_below_zero": _q8_0(border=256),
    "takes_128_for_above_zero": _q8_0(border=129),
    "takes_255_from_them": _q8_0(less=255),
    "takes_128_from_them": _q8_0(less=128),
    "takes_128_from_all": lambda scale, data: (data - 128) * scale[:, None],
    "divides_by_the_scale": _q8_0(times=False),
    "forgets_the_scale": lambda scale, data: _q8_0()(torch.ones_like(scale), data),
}


def _repeated(*, inner: bool = True, axis: int = 1, turned: bool = False) -> Callable[[Tensor, int], Tensor]:
    """By whether the copies of a head are neighbours, and by the axis that grows."""

    def repeat(k: Tensor, heads: int) -> Tensor:
        n = heads // k.shape[1]
        k = k.flip(1) if turned else k
        return k.repeat_interleave(n, axis) if inner else torch.cat([k] * n, axis)

    return repeat


# What goes wrong with repeating key heads, likewise.
WRONG_REPEAT_HEADS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "repeats_the_heads_as_a_row": _repeated(inner=False),
    "repeats_the_keys_and_not_the_heads": _repeated(axis=2),
    "repeats_the_texts": _repeated(axis=0),
    "repeats_the_last_head_first": _repeated(turned=True),
    "repeats_nothing": lambda k, heads: k,
    "repeats_heads_times": lambda k, heads: k.repeat_interleave(heads, 1),
    "repeats_the_first_head_alone": lambda k, heads: torch.cat([k[:, :1]] * heads, 1),
    "fills_up_with_zeros": lambda k, heads: torch.cat(
        [k, torch.zeros_like(k[:, :1].repeat(1, heads - k.shape[1], 1, 1))], 1
    ),
}


def _first(
    *, start: int = 2, key: int = 0, padding: bool = False, each: bool = False, divided: bool = True, end: int = 0
) -> Score:
    """By the first query that counts, the key, and how the queries of several texts are put together."""

    def score(weights: Tensor, lengths: Tensor) -> Tensor:
        queries = torch.arange(weights.shape[2])
        counts = (queries >= start) & (queries < (weights.shape[2] if padding else lengths[:, None] - end))
        counts = counts.float() + torch.zeros(len(lengths), 1)
        sums = (weights[..., key] * counts[:, None]).sum(-1)
        if each:
            return (sums / counts.sum(-1)[:, None]).mean(0)
        return sums.sum(0) / (counts.sum() if divided else 1)

    return score


# What goes wrong with the score of a kind, likewise.
WRONG_FIRST_SCORE: dict[str, Score] = {
    "counts_the_padding_too": _first(padding=True),
    "counts_the_first_two_queries": _first(start=0),
    "counts_the_second_query": _first(start=1),
    "leaves_out_the_third_query": _first(start=3),
    "leaves_out_the_last_token": _first(end=1),
    "averages_each_text_first": _first(each=True),
    "looks_at_the_second_token": _first(key=1),
    "adds_up_all_queries": _first(divided=False),
    "has_queries_in_the_last_axis": lambda weights, lengths: _first()(weights.mT, lengths),
    "averages_over_the_heads": lambda weights, lengths: _first()(weights.mean(1, keepdim=True), lengths)[0],
}


def _exchange(*, back: int = 1, at: Callable[[int], int] = lambda place: place) -> Callable[[Tensor, int], Tensor]:
    """Returns an exchange of vectors between texts, right as it is: each gets that of the text `back` rows before it,
    at the position that `at` makes of the one asked for.
    """

    def exchange(x: Tensor, place: int) -> Tensor:
        x = x.clone()
        x[:, at(place)] = x[:, at(place)].roll(back, 0)
        return x

    return exchange


def _from_there_on(x: Tensor, place: int) -> Tensor:
    return torch.cat([x[:, :place], x[:, place:].roll(1, 0)], 1)


# What goes wrong with exchanging a place, likewise.
WRONG_EXCHANGED: dict[str, Callable[[Tensor, int], Tensor]] = {
    "exchanges_nothing": lambda x, place: x.clone(),
    "takes_the_text_after": _exchange(back=-1),
    "exchanges_the_place_after": _exchange(at=lambda place: place + 1),
    "exchanges_the_last_place": _exchange(at=lambda place: -1),
    "exchanges_all_places": lambda x, place: x.roll(1, 0),
    "exchanges_all_from_there_on": _from_there_on,
    "moves_the_places_and_not_the_texts": lambda x, place: x.roll(1, 1),
    "returns_the_exchanged_place_alone": lambda x, place: x[:, place].roll(1, 0),
    "leaves_a_zero_there": lambda x, place: x * (torch.arange(x.shape[1]) != place)[:, None],
}


def _effects(*, last: int = -1, turned: bool = False, woven: bool = False, kept: bool = False) -> Effects:
    """By the token, the side of W_o, how the heads lie in y, and whether a head is left or left out."""

    def effects(y: Tensor, W_o: Tensor, u: Tensor, heads: int) -> Tensor:
        parts = y[:, last] * (u @ (W_o.mT if turned else W_o))
        K = y.shape[-1] // heads
        found = parts.unflatten(-1, (K, heads)).sum(-2) if woven else parts.unflatten(-1, (heads, K)).sum(-1)
        return found.sum(-1, keepdim=True) - found if kept else found

    return effects


# What goes wrong with the effects of heads, likewise.
WRONG_DIRECT_EFFECTS: dict[str, Effects] = {
    "takes_the_first_token": _effects(last=0),
    "uses_W_o_transposed": _effects(turned=True),
    "takes_every_so_many_features_for_a_head": _effects(woven=True),
    "gives_what_is_left_without_the_head": _effects(kept=True),
    "has_the_other_sign": lambda y, W_o, u, heads: -_effects()(y, W_o, u, heads),
    "leaves_out_W_o": lambda y, W_o, u, heads: (y[:, -1] * u).unflatten(-1, (heads, -1)).sum(-1),
    "adds_up_all_tokens": lambda y, W_o, u, heads: (y * (u @ W_o)[:, None]).sum(1).unflatten(-1, (heads, -1)).sum(-1),
    "averages_over_the_width_of_a_head": lambda y, W_o, u, heads: _effects()(y, W_o, u, heads) * heads / y.shape[-1],
    "cuts_what_W_o_gave": lambda y, W_o, u, heads: (y[:, -1] @ W_o.mT * u).unflatten(-1, (heads, -1)).sum(-1),
}


def _rank(
    *, normal: bool = True, gain: bool = True, itself: int = 0, below: bool = False, far: bool = False
) -> Callable:
    """By what is done to x, whether the token itself counts, and which side is counted."""

    def rank(x: Tensor, gain_D: Tensor, table: Tensor, token: int) -> Tensor:
        x = x / (x.square().mean() + 1e-5).sqrt() if normal else x
        scores = table @ (x * gain_D if gain else x)
        scores = -(table - x).square().sum(-1) if far else scores
        count = (scores < scores[token]).sum() if below else (scores > scores[token]).sum()
        return (count + itself).float()

    return rank


# What goes wrong with the rank of a token, likewise.
WRONG_RANK_OF: dict[str, Callable] = {
    "leaves_out_the_gain": _rank(gain=False),
    "counts_the_token_itself": _rank(itself=1),
    "counts_those_below": _rank(below=True),
    "measures_distances": _rank(far=True),
    "gives_the_likeliest_token": lambda x, gain, table, token: (table @ (x * gain)).argmax().float(),
    "gives_the_score": lambda x, gain, table, token: table[token] @ (x * gain) / (x.square().mean() + 1e-5).sqrt(),
    "sorts_once": lambda x, gain, table, token: (table @ (x * gain)).argsort(descending=True)[token].float(),
}


_DRAW = torch.Generator().manual_seed(12)


def _numbers(*shape: int) -> Tensor:
    return torch.randn(shape, generator=_DRAW)


_bytes = torch.randint(256, (3, 4), generator=_DRAW)
_FOUR_BITS = {
    "two_bytes": (torch.tensor([0.5]), torch.tensor([-1.0]), torch.tensor([[0x42, 0xF0]])),
    "3_blocks": (_numbers(3).abs() / 8, _numbers(3), _bytes),
}
_EIGHT_BITS = {
    "some_bytes": (torch.tensor([0.5]), torch.tensor([[3, 0, 255, 127, 128, 129]])),
    "3_blocks": (_numbers(3).abs() / 8, _bytes),
}
_GROUPS = {
    "2_heads_become_4": (_numbers(1, 2, 3, 2), 4),
    "3_heads_become_9": (_numbers(2, 3, 4, 2), 9),
    "as_many_heads": (_numbers(2, 2, 3, 2), 2),
}
_TEXTS = {
    "a_text_of_4_tokens": (_numbers(1, 2, 4, 4).softmax(-1), torch.tensor([4])),
    "texts_of_5_and_3_tokens": (_numbers(2, 3, 5, 5).softmax(-1), torch.tensor([5, 3])),
    "texts_of_4_and_6_tokens": (_numbers(2, 2, 7, 7).softmax(-1), torch.tensor([4, 6])),
}
_STREAMS = {
    "3_texts_place_1": (_numbers(3, 4, 2), 1),
    "4_texts_place_0": (_numbers(4, 3, 2), 0),
}
_HEADS = {
    "2_heads": (_numbers(2, 3, 4), _numbers(4, 4), _numbers(2, 4), 2),
    "3_heads": (_numbers(1, 2, 6), _numbers(6, 6), _numbers(1, 6), 3),
}
_READINGS = {
    "5_tokens": (_numbers(4), _numbers(4), _numbers(5, 4), 3),
    "9_tokens": (3 * _numbers(6), _numbers(6), _numbers(9, 6), 0),
    "9_other_tokens": (_numbers(6) / 100, _numbers(6), 2 * _numbers(9, 6), 4),
}
