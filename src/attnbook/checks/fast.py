"""Chapter 10: attention in tiles and its way back, a cache, what many readers or two writers know, and what fits."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from numbers import Number
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from attnbook.checks.judging import Wrong, call, compare, describe, exercise, explained, named
from attnbook.language import whole

Tiled = Callable[[Tensor, Tensor, Tensor, int], Tensor]
Lazy = Callable[[Tensor, Tensor, Tensor, int, float], tuple[Tensor, int]]
Back = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


@exercise
def tiled(answer: Tiled) -> None:
    """`answer(q_LK, k_MK, v_MV, block)` is attention, with the scores of no more than `block` keys at a time."""
    watches, answers = {case: _Watch() for case in _TILES}, {}
    for case, inputs in _TILES.items():
        with watches[case]:
            answers[case] = call(answer, *inputs)
    for case, got in answers.items():
        q, k, v, _ = _TILES[case]
        if isinstance(got, tuple | list):
            raise Wrong("output_alone", case=case, n=len(got))
        want = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v
        compare(case, got, want, ("query", "feature"), partial(explained, answers, WRONG_TILED, _TILES, case))
    q, k, v, block = _TILES[_LONG]
    most = len(q) * max(q.shape[1], v.shape[1], block)
    if watches[_LONG].largest >= len(q) * len(k):
        raise Wrong("large_tile", case=_LONG, got=whole(watches[_LONG].largest), enough=whole(most))


@exercise
def lazy_tiled(answer: Lazy) -> None:
    """`answer(q_LK, k_MK, v_MV, block, slack)`: attention, and in how many blocks sum and output were rescaled.

    They are where some score exceeds its query's reference by more than `slack`; every maximum is then a reference.
    """
    answers = {case: call(answer, *inputs) for case, inputs in _SLACKS.items()}
    for case, got in answers.items():
        if not isinstance(got, tuple | list) or len(got) != 2:
            raise Wrong("output_and_count", case=case, got=describe(got))
    whys = [
        partial(
            explained,
            {case: got[part] for case, got in answers.items()},
            {name: (lambda *given, lazy=lazy, part=part: lazy(*given)[part]) for name, lazy in WRONG_LAZY.items()},
            _SLACKS,
        )
        for part in (0, 1)
    ]
    for case, (output, count) in answers.items():
        want, often = _lazy()(*_SLACKS[case])
        compare(case, output, want, ("query", "feature"), whys[0])
        if count != often:
            raise Wrong("expected", case=case, want=often, got=count, why=whys[1]())


@exercise
def tile_back(answer: Back) -> None:
    """`answer(scores_LM, log_sum_L1, v_MV, dy_LV, delta_L1)` gives the gradients of a tile's scores and values."""
    answers = {case: call(answer, *inputs) for case, inputs in _BACKS.items()}
    for case, got in answers.items():
        if not isinstance(got, tuple | list) or len(got) != 2:
            raise Wrong("scores_and_values", case=case, got=describe(got))
    cases = {f"{part} {named(case)}": (case, n) for case in _BACKS for n, part in enumerate(_PARTS_BACK)}
    parts = {name: answers[case][n] for name, (case, n) in cases.items()}
    wrong = {name: (lambda case, n, back=back: back(*_BACKS[case])[n]) for name, back in WRONG_BACK.items()}
    why = explained(parts, wrong, cases)
    for name, got in parts.items():
        case, n = cases[name]
        _compare(name, got, _back()(*_BACKS[case])[n], (("query", "key"), ("key", "feature"))[n], why)


@exercise
def kv_cache(answer: Callable) -> None:
    """A class: `append(k_BHLK, v_BHLK)` returns all keys and values so far, and `len` says how many tokens they are."""
    answers = {case: _grown(answer, *sizes) for case, sizes in _CHUNKS.items()}
    cases = {f"{part} {named(case)}": (case, n) for case in _CHUNKS for n, part in enumerate(_PARTS_KEPT)}
    parts = {name: answers[case][n] for name, (case, n) in cases.items()}
    wrong = {
        name: (lambda case, n, cache=cache: _grown(cache, *_CHUNKS[case])[n]) for name, cache in WRONG_CACHE.items()
    }
    why = explained(parts, wrong, cases)
    for name, got in parts.items():
        case, n = cases[name]
        axes = ("text", "head", "token", "feature") if n < 2 else ("call",)
        _compare(name, got, _grown(_cache(), *_CHUNKS[case])[n], axes, why)


@exercise
def accept(answer: Callable[[list[int], list[int]], list[int]]) -> None:
    """`answer(drafted, said)`: the tokens that a text gains; `said[i]` is what the model says after `drafted[:i]`."""
    answers = {case: call(answer, *map(list, inputs)) for case, inputs in _DRAFTS.items()}
    for case, got in answers.items():
        got = got.tolist() if isinstance(got, Tensor) else got
        if not isinstance(got, Sequence) or isinstance(got, str):
            raise Wrong("a_list_of_tokens", case=case, got=describe(got))
        answers[case] = [int(token) for token in got]
    for case, got in answers.items():
        if got != (want := _accept()(*_DRAFTS[case])):
            raise Wrong("expected", case=case, want=want, got=got, why=explained(answers, WRONG_ACCEPT, _DRAFTS))


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
        compare(case, got, want, ("feature",), partial(explained, answers, WRONG_MERGE, kept, case))


@exercise
def tokens_that_fit(answer: Callable[[int, int, int, int, int, int], int]) -> None:
    """`answer(room, B, layers, kv_heads, width, size)`: how long B texts may be, if keys and values are kept."""
    answers: dict[str, Any] = {}
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


def _compare(case: str, got: object, want: Tensor, axes: tuple[str, ...], why: str) -> None:
    """Says which known mistake it is even where the shape is wrong."""
    if isinstance(got, Tensor) and got.shape != want.shape:
        raise Wrong("shape", case=case, want=tuple(want.shape), got=tuple(got.shape), why=why)
    compare(case, got, want, axes, lambda: why)


class _Watch(TorchFunctionMode):
    """Watches the functions of PyTorch, and keeps the size of the `largest` tensor that one of them has made."""

    largest = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **kwargs or {})
        if isinstance(result, Tensor) and getattr(function, "__name__", "") not in ("split", "chunk", "__getitem__"):
            self.largest = max(self.largest, result.numel())
        return result


def _tiled(
    *,
    output: bool = True,
    total: bool = True,
    top: Callable = torch.maximum,
    turned: bool = False,
    root: float = 0.5,
    divide: bool = True,
    whole_blocks: bool = False,
) -> Tiled:
    """Returns tiled attention with online softmax, right as it is; each argument makes a mistake."""

    def attend(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
        m = q.new_full((len(q), 1), -torch.inf)
        sums, y = torch.zeros_like(m), q.new_zeros(len(q), v.shape[1])
        for keys, values in zip(k.split(block), v.split(block), strict=True):
            if whole_blocks and len(keys) < block:
                continue
            scores = q @ keys.mT / q.shape[-1] ** root
            new = top(m, scores.amax(-1, keepdim=True))
            factor, powers = (new - m if turned else m - new).exp(), (scores - new).exp()
            factor = factor.nan_to_num(0.0, 0.0, 0.0) if turned else factor
            sums = (factor if total else 1.0) * sums + powers.sum(-1, keepdim=True)
            y = (factor if output else 1.0) * y + powers @ values
            m = new
        return y / sums if divide else y

    return attend


def _each_block_by_itself(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    parts = [_tiled()(q, keys, values, block) for keys, values in zip(k.split(block), v.split(block), strict=True)]
    return torch.stack(parts).mean(0)


# What goes wrong with attention in tiles, each as a function with the signature of the exercise.
WRONG_TILED: dict[str, Tiled] = {
    "rescales_neither_sum": _tiled(output=False, total=False),
    "rescales_the_sum_alone": _tiled(output=False),
    "rescales_the_output_alone": _tiled(total=False),
    "rescales_the_wrong_way_round_in_tiles": _tiled(turned=True),
    "takes_the_blocks_own_maximum": _tiled(top=lambda m, new: new, output=False, total=False),
    "subtracts_no_maximum_in_tiles": _tiled(top=lambda m, new: torch.zeros_like(new), output=False, total=False),
    "has_one_maximum_for_all_queries": _tiled(top=lambda m, new: torch.maximum(m, new.max())),
    "does_not_divide_by_the_root": _tiled(root=0.0),
    "divides_by_the_width_in_tiles": _tiled(root=1.0),
    "does_not_divide_at_the_end": _tiled(divide=False),
    "leaves_out_the_last_keys": _tiled(whole_blocks=True),
    "takes_the_mean_of_the_blocks": _each_block_by_itself,
}


def _lazy(
    *,
    output: bool = True,
    total: bool = True,
    must: Callable = lambda new, m, slack: bool((new > m + slack).any()),
) -> Lazy:
    """Returns tiled attention that rescales only when it must, right as it is; each argument makes a mistake."""

    def attend(q: Tensor, k: Tensor, v: Tensor, block: int, slack: float) -> tuple[Tensor, int]:
        m = q.new_full((len(q), 1), -torch.inf)
        sums, y, count = torch.zeros_like(m), q.new_zeros(len(q), v.shape[1]), 0
        for keys, values in zip(k.split(block), v.split(block), strict=True):
            scores = q @ keys.mT / q.shape[-1] ** 0.5
            new = torch.maximum(m, scores.amax(-1, keepdim=True))
            if must(new, m, slack):
                factor = (m - new).exp()
                sums, y = (factor if total else 1.0) * sums, (factor if output else 1.0) * y
                m, count = new, count + 1
            powers = (scores - m).exp()
            sums, y = sums + powers.sum(-1, keepdim=True), y + powers @ values
        return y / sums, count

    return attend


# What goes wrong with rescaling only when one must, likewise.
WRONG_LAZY: dict[str, Lazy] = {
    "rescales_neither_sum": _lazy(output=False, total=False),
    "rescales_the_sum_alone": _lazy(output=False),
    "rescales_the_output_alone": _lazy(total=False),
    "rescales_in_every_block": _lazy(must=lambda new, m, slack: True),
    "rescales_as_soon_as_a_maximum_grows": _lazy(must=lambda new, m, slack: bool((new > m).any())),
    "waits_until_all_queries_must": _lazy(must=lambda new, m, slack: bool((new > m + slack).all())),
    "keeps_the_first_reference": _lazy(must=lambda new, m, slack: bool(m.isinf().any())),
}


def _back(
    weights: Callable = lambda scores, log_sum: (scores - log_sum).exp(),
    of_values: Callable = lambda weights, scores: weights,
    inner: Callable = lambda dy, v, delta: dy @ v.mT - delta,
    outer: Callable = lambda weights, inner: weights * inner,
) -> Back:
    """Returns the backward pass through a tile, right as it is; each argument puts a mistake in the place of a step."""

    def back(scores: Tensor, log_sum: Tensor, v: Tensor, dy: Tensor, delta: Tensor) -> tuple[Tensor, Tensor]:
        P = weights(scores, log_sum)
        return outer(P, inner(dy, v, delta)), of_values(P, scores).mT @ dy

    return back


# What goes wrong with the way back through a tile, likewise.
WRONG_BACK: dict[str, Back] = {
    "takes_the_softmax_of_the_tile": _back(lambda scores, log_sum: scores.softmax(-1)),
    "does_not_subtract_the_logarithm": _back(lambda scores, log_sum: scores.exp()),
    "divides_by_the_logarithm": _back(lambda scores, log_sum: scores.exp() / log_sum),
    "forgets_delta": _back(inner=lambda dy, v, delta: dy @ v.mT),
    "adds_delta": _back(inner=lambda dy, v, delta: dy @ v.mT + delta),
    "takes_delta_of_the_tile": _back(
        outer=lambda P, inner: P * (inner - (P * inner).sum(-1, keepdim=True)), inner=lambda dy, v, delta: dy @ v.mT
    ),
    "multiplies_delta_by_no_weight": _back(
        inner=lambda dy, v, delta: (dy @ v.mT, delta), outer=lambda P, inner: P * inner[0] - inner[1]
    ),
    "forgets_the_weights_in_front": _back(outer=lambda P, inner: inner),
    "blends_scores_for_the_values": _back(of_values=lambda P, scores: scores),
    "swaps_the_two_gradients": lambda *given: (_back()(*given)[1], _back()(*given)[0]),
}


def _cache(
    keep: Callable = lambda old, new: torch.cat([old, new], -2),
    returned: Callable = lambda kept, new: kept,
    values: Callable = lambda k, v: v,
    length: Callable = lambda kept, calls: kept.shape[-2],
) -> Callable:
    """A class, by how it keeps, what it returns and how it counts."""

    class Cache:
        def __init__(self):
            self.kept: tuple[Tensor, ...] | None = None
            self.calls = 0

        def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, ...]:
            new, self.calls = (k, values(k, v)), self.calls + 1
            self.kept = new if self.kept is None else tuple(map(keep, self.kept, new))
            return tuple(map(returned, self.kept, new))

        def __len__(self) -> int:
            return 0 if self.kept is None else length(self.kept[0], self.calls)

    return Cache


# What goes wrong with a cache, each as a class.
WRONG_CACHE: dict[str, Callable] = {
    "keeps_the_newest_alone": _cache(keep=lambda old, new: new),
    "keeps_the_first_alone": _cache(keep=lambda old, new: old),
    "returns_the_newest_alone": _cache(returned=lambda kept, new: new),
    "puts_new_tokens_first": _cache(keep=lambda old, new: torch.cat([new, old], -2)),
    "grows_along_the_heads": _cache(
        keep=lambda old, new: torch.cat([old, new], 1) if old.shape[2] == new.shape[2] else torch.cat([old, new], -2)
    ),
    "adds_the_new_to_the_old": _cache(
        keep=lambda old, new: old + new if old.shape == new.shape else torch.cat([old, new], -2)
    ),
    "keeps_keys_as_values": _cache(values=lambda k, v: k),
    "counts_its_calls": _cache(length=lambda kept, calls: calls),
    "counts_its_texts": _cache(length=lambda kept, calls: len(kept)),
    "counts_its_numbers": _cache(length=lambda kept, calls: kept.numel()),
    "counts_its_heads": _cache(length=lambda kept, calls: kept.shape[1]),
}


def _grown(cache: Callable, *pieces: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What a new cache returns at last, and how long it says it is before and after each call."""
    made = call(cache)
    got, lengths = (torch.zeros(0), torch.zeros(0)), [len(made)]
    for k, v in pieces:
        got = call(made.append, k, v)
        if not isinstance(got, tuple | list) or len(got) != 2:
            raise Wrong("keys_and_values", got=describe(got))
        lengths.append(len(made))
    return got[0], got[1], torch.tensor(lengths)


def _agreed(drafted: list[int], said: list[int]) -> list[int]:
    """Returns the drafted tokens up to the first one that the model would not have written."""
    return [mine for mine, _ in takewhile(lambda two: two[0] == two[1], zip(drafted, said, strict=False))]


def _accept(
    agreed: Callable = _agreed, more: Callable = lambda n, said: [said[n]]
) -> Callable[[list[int], list[int]], list[int]]:
    """Returns an answer, right as it is: `agreed` says which drafted tokens stay, `more` what is added after them."""

    def accept(drafted: list[int], said: list[int]) -> list[int]:
        stay = agreed(drafted, said)
        return [*stay, *more(len(stay), said)]

    return accept


# What goes wrong with a draft, each as a function with the signature of the exercise.
WRONG_ACCEPT: dict[str, Callable[[list[int], list[int]], list[int]]] = {
    "keeps_no_token_of_the_model": _accept(more=lambda n, said: []),
    "adds_no_token_after_a_whole_draft": _accept(more=lambda n, said: said[n:-1][:1]),
    "keeps_what_agrees_after_a_difference": _accept(
        lambda drafted, said: [mine for mine, other in zip(drafted, said, strict=False) if mine == other],
        lambda n, said: said[n : n + 1],
    ),
    "takes_all_that_the_model_said": lambda drafted, said: list(said),
    "takes_the_whole_draft": lambda drafted, said: [*drafted, said[-1]],
    "takes_the_draft_alone": lambda drafted, said: list(drafted),
    "keeps_the_token_that_differs": lambda drafted, said: drafted[: len(_agreed(drafted, said)) + 1],
    "compares_one_place_off": lambda drafted, said: _accept()(drafted, said[1:] + said[-1:]),
}


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
    """Returns a count of the tokens that fit; an argument of 0 in place of 1 leaves a size out of the product."""
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
_LONG = "L=5, M=64, block=16"


def _normal(*shapes: tuple[int, ...]) -> list[Tensor]:
    return [torch.randn(*shape, generator=_DRAW).round(decimals=2) for shape in shapes]


def _tiles() -> dict[str, tuple[Tensor, Tensor, Tensor, int]]:
    rising = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1], [2, 0], [4, 1], [6, 0]]), torch.eye(4)
    q, k, v = _normal((3, 4), (7, 4), (7, 2))
    queries, keys, values = _normal((5, 3), (64, 3), (64, 4))
    far = torch.cat([q[:, :3], torch.tensor([[1.0], [-300], [300]])], 1), k + torch.tensor([0.0, 0, 0, 8]), v
    return {
        "scores_that_rise_by_ones": (*rising, 1),
        "blocks_of_3_of_7_keys": (q, k, v, 3),
        "all_keys_in_one_block": (q, k, v, 7),
        "scores_beyond_1000": (*far, 2),
        _LONG: (queries, keys, values, 16),
    }


def _slacks() -> dict[str, tuple[Tensor, Tensor, Tensor, int, float]]:
    q, k, v, _ = _TILES["scores_that_rise_by_ones"]
    three, keys, values, _ = _TILES["blocks_of_3_of_7_keys"]
    far = _TILES["scores_beyond_1000"][:3]
    return {
        "block=1, slack=0": (q, k, v, 1, 0),
        "block=1, slack=2": (q, k, v, 1, 2),
        "block=1, slack=0, M=4": (q, k.flip(0), v, 1, 0),
        "block=2, slack=0.5": (three, keys, values, 2, 0.5),
        "block=2, slack=8": (*far, 2, 8),
    }


def _backs() -> dict[str, tuple[Tensor, ...]]:
    """A tile of some of the keys: what softmax is taken over is longer than the tile."""
    found: dict[str, tuple[Tensor, ...]] = {}
    for case, (L, M, V, keys) in {"1_query_2_of_3_keys": (1, 3, 2, 2), "4_queries_3_of_6_keys": (4, 6, 5, 3)}.items():
        scores, v, dy = _normal((L, M), (M, V), (L, V))
        y = scores.softmax(-1) @ v
        delta = (dy * y).sum(-1, keepdim=True)
        found[case] = scores[:, :keys], scores.logsumexp(-1, keepdim=True), v[:keys], dy, delta
    return found


def _pieces(seed: int, *sizes: int) -> tuple[Tensor, ...]:
    """Keys and values (2, B, H, L, K) of so many tokens each."""
    draw = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(2, 2, 3, size, 4, generator=draw).round(decimals=2) for size in sizes)


_TILES = _tiles()
_SLACKS, _BACKS = _slacks(), _backs()
_PARTS_BACK, _PARTS_KEPT = (
    ("the_scores_of", "the_values_of"),
    ("the_keys_after", "all_values_after", "the_length_after"),
)
_CHUNKS = {
    "one_token_at_a_time": _pieces(1, 1, 1, 1),
    "a_prompt_and_two_tokens": _pieces(2, 5, 1, 1),
    "pieces_of_2": _pieces(3, 2, 2),
}
_DRAFTS = {
    "a_difference_in_the_middle": ([5, 6, 7, 8], [5, 6, 9, 8, 4]),
    "a_difference_at_once": ([5, 6], [1, 6, 3]),
    "a_draft_that_agrees": ([5, 6, 7], [5, 6, 7, 8]),
    "a_draft_of_one": ([3], [4, 3]),
}
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
