"""Chapter 1: pairs of a word and its context, analogies."""

from collections import Counter
from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.checks.judging import Wrong, call, describe, exercise, explained, say, shape_of


@exercise
def skip_gram_pairs(answer: Callable[[list[str], int], list[tuple[str, str]]]) -> None:
    """`answer(words, window)` is every pair (word, context) of a sentence at most `window` apart, in any order."""
    for sentence, window in (("a b", 1), ("a b c", 1), ("a b c d e", 2), ("a b a c a", 2), ("a b c", 9), ("a", 3)):
        words, case = sentence.split(), say("window", sentence=repr(sentence), n=window)
        got = call(answer, [*words], window)
        if not isinstance(got, (list, tuple, set)) or any(len(pair) != 2 for pair in got):
            raise Wrong("pairs", case=case, got=describe(got))
        near = [(i, j) for i in range(len(words)) for j in range(len(words)) if 0 < abs(i - j) <= window]
        got, want = Counter(map(tuple, got)), Counter((words[i], words[j]) for i, j in near)
        if extra := list(got - want):
            raise Wrong("too_often" if extra[0] in want else "must_not_be", case=case, pair=extra[0])
        if missing := list(want - got):
            turned = missing[0][::-1] in got
            raise Wrong("missing_turned" if turned else "missing", case=case, pair=missing[0])


@exercise
def analogy(answer: Callable[[Tensor, int, int, int], int]) -> None:
    """`answer(vectors_ND, a, b, c)` is the row that is to c as b is to a: nearest by cosine, and none of the three."""
    answers = {case: call(answer, *inputs) for case, inputs in _ANALOGY_CASES.items()}
    for case, got in answers.items():
        N = len(_ANALOGY_CASES[case][0])
        if shape_of(got) is not None and got.numel() == 1:
            got = answers[case] = got.item()
        if not isinstance(got, int) or not 0 <= got < N:
            raise Wrong("a_row", case=case, last=N - 1, got=repr(got))
    for case, inputs in _ANALOGY_CASES.items():
        if (got := answers[case]) != (want := _analogy()(*inputs)):
            why = explained(answers, WRONG_ANALOGY, _ANALOGY_CASES)
            raise Wrong("row", case=case, want=want, got=got, why=why)


def _cosine(rows: Tensor, to: Tensor) -> Tensor:
    return torch.cosine_similarity(rows, to, dim=-1)


def _analogy(aim=lambda a, b, c: b - a + c, alike=_cosine, left_out=(True, True, True), unit=True):
    def solve(vectors: Tensor, *asked: int) -> int:
        rows = torch.nn.functional.normalize(vectors, dim=-1) if unit else vectors
        scores = alike(rows, aim(*rows[list(asked)]))
        scores[[row for row, left in zip(asked, left_out, strict=True) if left]] = -torch.inf
        return int(scores.argmax())

    return solve


# What goes wrong with analogies, each as a function with the signature of the exercise.
WRONG_ANALOGY: dict[str, Callable[..., int]] = {
    "keeps_the_three_words_in": _analogy(left_out=(False, False, False)),
    "leaves_out_only_the_word": _analogy(left_out=(False, False, True)),
    "adds_a_and_takes_away_b": _analogy(lambda a, b, c: a - b + c),
    "adds_all_three": _analogy(lambda a, b, c: a + b + c),
    "favours_long_vectors": _analogy(alike=lambda x, to: x @ to, unit=False),
    "takes_the_farthest": _analogy(alike=lambda x, to: -_cosine(x, to)),
    "does_not_make_the_three_words": _analogy(unit=False),
}


def _analogy_cases() -> dict[str, tuple[Tensor, int, int, int]]:
    draw = torch.Generator().manual_seed(1)
    square = torch.tensor([[1.0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [-1, 0.5, 0.5]])
    long = torch.cat([square, torch.tensor([[9.0, 9, 0]])])
    cases = {"a_square": (square, 0, 1, 2), "backwards": (square, 3, 2, 1), "with_a_long_vector": (long, 0, 1, 2)}
    for number in range(6):
        vectors = torch.randn(30, 6, generator=draw) * (0.1 + torch.rand(30, 1, generator=draw))
        cases[f"thirty_random_words {number}"] = (vectors, 3, 8, 11)
    return cases


_ANALOGY_CASES = _analogy_cases()
