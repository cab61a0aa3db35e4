"""Chapter 11: merging a pair, RMSNorm, what to draw the next token from, bits per character, and induction heads."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import SupportsFloat

import torch
from torch import Tensor

from attnbook.checks.judging import Wrong, call, compare, describe, exercise, explained
from attnbook.language import number

Merge = Callable[[list[bytes], tuple[bytes, bytes]], list[bytes]]
Cut = Callable[[Tensor, float, int | None, float], Tensor]
Score = Callable[[Tensor, int], Tensor]


@exercise
def merge_pair(answer: Merge) -> None:
    """`answer(parts, pair)`: the parts of a word, where from left to right each `pair` of neighbours has become one."""
    answers = {case: call(answer, list(parts), pair) for case, (parts, pair) in _WORDS.items()}
    for case, got in answers.items():
        if not isinstance(got, Sequence) or isinstance(got, str | bytes):
            raise Wrong("a_list_of_parts", case=case, got=describe(got))
        answers[case] = [*got]
    for case, got in answers.items():
        if got != (want := _merge()(*_WORDS[case])):
            raise Wrong("expected", case=case, want=want, got=got, why=explained(answers, WRONG_MERGE_PAIR, _WORDS))


@exercise
def rms_norm(answer: Callable[[Tensor, Tensor], Tensor]) -> None:
    """`answer(x_BLD, gain_D)`: each token divided by the root of its mean square plus 1e-5, times the gain."""
    answers = {case: call(answer, *inputs) for case, inputs in _VECTORS.items()}
    for case, got in answers.items():
        want = _rms()(*_VECTORS[case])
        compare(
            case, got, want, ("text", "token", "feature"), partial(explained, answers, WRONG_RMS_NORM, _VECTORS, case)
        )


@exercise
def probabilities(answer: Cut) -> None:
    """`answer(logits_N, temperature, top_k, top_p)`: the probabilities (N,) from which the next token is drawn.

    They are softmax(logits / temperature), cut to the `top_k` likeliest (all, if it is None), then to the fewest of the
    likeliest that reach `top_p` together; after each cut they add up to 1.
    """
    answers = {case: call(answer, *inputs) for case, inputs in _LOGITS.items()}
    for case, got in answers.items():
        want = _cut()(*_LOGITS[case])
        compare(case, got, want, ("token",), partial(explained, answers, WRONG_PROBABILITIES, _LOGITS, case))


@exercise
def bits_per_character(answer: Callable[[float, int, int], float]) -> None:
    """`answer(loss, tokens, characters)`, where the loss is in nats for each token."""
    _judge_number(answer, _bits, WRONG_BITS, _LOSSES)


@exercise
def seen_before(answer: Callable[[list[str], int], float]) -> None:
    """`answer(words, n)`: the share of the runs of n words in a row that the same text has held before."""
    _judge_number(answer, _seen(), WRONG_SEEN, _TEXTS)


@exercise
def induction_score(answer: Score) -> None:
    """`answer(weights_HLL, n)`: of a text of n tokens said twice, how much each head of H looks at what came next.

    The mean, over the queries n to 2n - 2, of the weight on the token that followed theirs the first time.
    """
    answers = {case: call(answer, *inputs) for case, inputs in _MAPS.items()}
    for case, got in answers.items():
        want = _score()(*_MAPS[case])
        compare(case, got, want, ("head",), partial(explained, answers, WRONG_INDUCTION, _MAPS, case))


def _merge(step: int = 2, most: int = 99, turned: bool = False, end: int = 0, joined: bool = True) -> Merge:
    """Returns a function that merges a pair of tokens, right as it is; each argument makes a mistake."""

    def merge(parts: list[bytes], pair: tuple[bytes, bytes]) -> list:
        merged, i = [], 0
        while i < len(parts) - end:
            two = (*parts[i : i + 2],)
            if most > len([part for part in merged if part == b"".join(pair)]) and (
                two == pair or (turned and two[::-1] == pair)
            ):
                merged.append(b"".join(two) if joined else two)
                i += step
            else:
                merged.append(parts[i])
                i += 1
        return merged

    return merge


def _from_the_right(parts: list[bytes], pair: tuple[bytes, bytes]) -> list[bytes]:
    turned = _merge()([part[::-1] for part in parts[::-1]], (pair[1][::-1], pair[0][::-1]))
    return [part[::-1] for part in turned[::-1]]


def _of_the_text(parts: list[bytes], pair: tuple[bytes, bytes]) -> list[bytes]:
    """Wherever the bytes of the pair stand, whatever parts they are in."""
    text, new = b"".join(parts), b"".join(pair)
    cut, i = [], 0
    while i < len(text):
        size = len(new) if text.startswith(new, i) else 1
        cut.append(text[i : i + size])
        i += size
    return cut


# What goes wrong with merging, each as a function with the signature of the exercise.
WRONG_MERGE_PAIR: dict[str, Merge] = {
    "merges_nothing": lambda parts, pair: [*parts],
    "merges_the_first_pair_alone": _merge(most=1),
    "merges_a_part_twice": _merge(step=1),
    "merges_from_the_right": _from_the_right,
    "merges_pairs_the_other_way_round": _merge(turned=True),
    "looks_at_bytes_and_not_at_parts": _of_the_text,
    "leaves_out_the_last_part": _merge(end=1),
    "leaves_the_pair_as_two": _merge(joined=False),
    "leaves_out_the_part_after_a_pair": _merge(step=3),
}


def _rms(
    axes=(-1,), centred=False, root=True, eps=1e-5, outside=0.0, total=False, one=0.0, gain=1
) -> Callable[[Tensor, Tensor], Tensor]:
    def layer(x: Tensor, gain_D: Tensor) -> Tensor:
        x = x - x.mean(-1, keepdim=True) if centred else x
        square = x.square().sum(axes, keepdim=True) if total else x.square().mean(axes, keepdim=True)
        size = square + eps
        return x / ((size.sqrt() if root else size) + outside) * (gain_D + one) ** gain

    return layer


# What goes wrong with RMSNorm, likewise.
WRONG_RMS_NORM: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "subtracts_the_mean": _rms(centred=True),
    "divides_by_the_length": _rms(total=True),
    "divides_by_the_mean_square": _rms(root=False),
    "has_no_eps_in_the_root": _rms(eps=0.0),
    "adds_eps_to_the_root": _rms(eps=0.0, outside=1e-5),
    "normalises_each_text": _rms(axes=(1, 2)),
    "normalises_all_numbers_of_all_texts": _rms(axes=(0, 1, 2)),
    "has_no_gain": _rms(gain=0),
    "multiplies_by_1_and_the_gain": _rms(one=1.0),
}


def _cut(
    *,
    heat: Callable[[float], float] = lambda temperature: 1 / temperature,
    late: bool = False,
    crosses: Callable[[Tensor, Tensor], Tensor] = lambda p, before: before,
    k: Callable[[int], int] = lambda top_k: top_k,
    first: str = "k",
    normal: bool = True,
    largest: bool = True,
    ordered: bool = False,
) -> Cut:
    """By what becomes of the temperature, when it is used, which sum is compared with top_p, and what is cut first."""

    def cut(logits: Tensor, temperature: float, top_k: int | None, top_p: float) -> Tensor:
        scores = logits if late else logits * heat(temperature)
        p, order = scores.softmax(-1).sort(descending=largest, stable=True)
        for name in (first, "p" if first == "k" else "k"):
            if name == "k" and top_k is not None:
                p = p.where(torch.arange(len(p)) < k(top_k), 0)
            elif name == "p" and top_p < 1:
                share = p / p.sum()
                p = p.where(crosses(share, share.cumsum(-1) - share) < top_p, 0)
        if late:
            p = p ** (1 / temperature)
        p = p / p.sum() if normal or (top_k is None and top_p == 1) else p
        return p if ordered else torch.zeros_like(p).scatter(-1, order, p)

    return cut


# What goes wrong with the probabilities, likewise.
WRONG_PROBABILITIES: dict[str, Cut] = {
    "ignores_the_temperature": _cut(heat=lambda temperature: 1.0),
    "multiplies_by_the_temperature": _cut(heat=lambda temperature: temperature),
    "cuts_before_the_temperature": _cut(late=True),
    "leaves_out_the_token_that_crosses_top_p": _cut(crosses=lambda p, before: (before + p).where(before > 0, 0)),
    "keeps_a_token_too_many": _cut(crosses=lambda p, before: torch.cat([before[:1], before[:-1]])),
    "keeps_what_has_less_than_top_p_itself": _cut(crosses=lambda p, before: p),
    "keeps_one_of_top_k_too_many": _cut(k=lambda top_k: top_k + 1),
    "cuts_by_top_p_first": _cut(first="p"),
    "does_not_make_them_add_up_to_1": _cut(normal=False),
    "keeps_the_least_likely": _cut(largest=False),
    "leaves_them_in_order": _cut(ordered=True),
}


def _bits(loss: float, tokens: int, characters: int) -> float:
    return loss / math.log(2) * tokens / characters


# What goes wrong with bits per character, likewise.
WRONG_BITS: dict[str, Callable[[float, int, int], float]] = {
    "stays_with_nats": lambda loss, tokens, characters: loss * tokens / characters,
    "multiplies_by_the_logarithm_of_2": lambda loss, tokens, characters: loss * math.log(2) * tokens / characters,
    "gives_bits_per_token": lambda loss, tokens, characters: loss / math.log(2),
    "multiplies_by_characters_per_token": lambda loss, tokens, characters: loss / math.log(2) * characters / tokens,
    "gives_the_perplexity": lambda loss, tokens, characters: math.exp(loss),
    "gives_the_bits_of_the_text": lambda loss, tokens, characters: loss / math.log(2) * tokens,
}


def _seen(
    *, size: int = 0, whole: bool = False, later: bool = False, new: bool = False, near: bool = False
) -> Callable[[list[str], int], float]:
    """By how long a run is, what its count is divided by, which runs count, and where they are looked for."""

    def seen(words: list[str], n: int) -> float:
        runs = [tuple(words[i : i + n + size]) for i in range(len(words) - n - size + 1)]
        places = [runs[i - 1 : i] if near else runs[:i] + runs[i + 1 :] * later for i in range(len(runs))]
        count = sum((run in others) != new for run, others in zip(runs, places, strict=True))
        return count / (len(words) if whole else len(runs))

    return seen


# What goes wrong with the share of runs seen before, likewise.
WRONG_SEEN: dict[str, Callable[[list[str], int], float]] = {
    "counts_the_first_time_too": _seen(later=True),
    "gives_the_share_of_new_runs": _seen(new=True),
    "divides_by_the_number_of_words": _seen(whole=True),
    "takes_runs_of_a_word_more": _seen(size=1),
    "looks_at_the_run_just_before_alone": _seen(near=True),
    "cuts_the_text_into_runs": lambda words, n: 1 - len({*zip(*[iter(words)] * n, strict=False)}) / (len(words) // n),
}


def _judge_number(answer: Callable, right: Callable, wrong: dict[str, Callable], cases: dict[str, tuple]) -> None:
    answers = {}
    for case, inputs in cases.items():
        got = call(answer, *inputs)
        got = got.item() if isinstance(got, Tensor) and got.numel() == 1 else got
        if not isinstance(got, SupportsFloat) or isinstance(got, str | Tensor):
            raise Wrong("one_number", case=case, got=describe(got))
        answers[case] = torch.tensor(float(got))
    tensors = {name: (lambda *asked, mistake=mistake: torch.tensor(mistake(*asked))) for name, mistake in wrong.items()}
    for case, got in answers.items():
        want = right(*cases[case])
        if not math.isclose(got, want, rel_tol=1e-5):
            why = explained(answers, tensors, cases)
            raise Wrong("expected", case=case, want=number(want, 4), got=number(got.item(), 4), why=why)


def _score(
    ahead: int = 1, start: int = 0, end: int = -1, back: int = 1, reduce: Callable = lambda x: x.mean(-1)
) -> Score:
    """By how far from its first time it looks, at which queries, and what becomes of their weights."""

    def score(weights: Tensor, n: int) -> Tensor:
        queries = torch.arange(n + start, 2 * n + end)
        return reduce(weights[:, queries, queries - back * n + ahead])

    return score


# What goes wrong with the score of induction, likewise.
WRONG_INDUCTION: dict[str, Score] = {
    "looks_at_the_same_token": _score(ahead=0),
    "looks_two_ahead": _score(ahead=2),
    "looks_at_the_token_before": _score(ahead=-1, back=0),
    "leaves_out_the_first_query": _score(start=1),
    "takes_the_last_query_too": _score(end=0),
    "adds_up_the_weights": _score(reduce=lambda x: x.sum(-1)),
    "takes_the_largest_weight": _score(reduce=lambda x: x.amax(-1)),
    "divides_by_the_length_of_the_text": lambda weights, n: _score(reduce=lambda x: x.sum(-1))(weights, n) / (2 * n),
    "has_queries_in_the_columns": lambda weights, n: _score()(weights.mT, n),
}


_WORDS = {
    "three_parts": ([b"l", b"o", b"w"], (b"l", b"o")),
    "a_pair_that_comes_twice": ([b"t", b"h", b"e", b"t", b"h", b"e"], (b"h", b"e")),
    "three_equal_parts": ([b"a", b"a", b"a"], (b"a", b"a")),
    "parts_of_several_bytes": ([b"lo", b"w", b"lo", b"west"], (b"lo", b"w")),
    "the_bytes_but_not_the_parts": ([b"l", b"ow", b"er"], (b"lo", b"w")),
    "a_pair_backwards": ([b"e", b"h", b"t", b"h"], (b"h", b"e")),
    "a_pair_at_the_end": ([b"e", b"s", b"t"], (b"s", b"t")),
}
_DRAW = torch.Generator().manual_seed(11)
_x, _gain = torch.randn(2, 3, 4, generator=_DRAW), torch.randn(4, generator=_DRAW)
_VECTORS = {
    "2_texts_of_3_tokens": (3 + 2 * _x, _gain),
    "very_small_numbers": (_x / 200, _gain),
    "a_token_of_zeros": (torch.zeros(1, 1, 4), _gain),
}
_few = torch.tensor([0.1, 0.45, 0.05, 0.3, 0.1]).log() + torch.tensor([0.0, 0.0, 0.0, 0.0, 0.01])
_LOGITS = {
    "nothing_is_cut": (_few, 1.0, None, 1.0),
    "temperature_of_a_half": (_few, 0.5, None, 1.0),
    "top_k_of_2": (_few, 1.0, 2, 1.0),
    "top_p_of_70_percent": (_few, 1.0, None, 0.7),
    "top_p_below_the_first": (_few, 1.0, None, 0.3),
    "top_p_when_it_is_hot": (_few, 3.0, None, 0.6),
    "top_k_and_top_p": (_few, 1.0, 3, 0.86),
}
_LOSSES = {
    "a_token_a_character": (2.0, 1000, 1000),
    "400_tokens_for_1000_characters": (3.5, 400, 1000),
    "2000_bytes_for_1000_characters": (1.2, 2000, 1000),
}
_TEXTS = {
    "one_word_twice": (["to", "be", "or", "not", "to", "be"], 2),
    "the_same_three_times": (["never", "say", "never", "say", "never", "say", "no"], 2),
    "single_words": (["out", ",", "out", ",", "brief", "candle"], 1),
    "nothing_twice": (["full", "fathom", "five", "thy", "father", "lies"], 3),
}
_MAPS = {
    f"n_{n}_heads_{H}": (torch.randn(H, 2 * n, 2 * n, generator=_DRAW).softmax(-1), n) for n, H in ((3, 2), (5, 3))
}
