"""Chapter 1: pairs of a word and its context, analogies."""

from collections import Counter
from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.checks.judging import Wrong, call, describe, exercise, explained, shape_of


@exercise
def skip_gram_pairs(answer: Callable[[list[str], int], list[tuple[str, str]]]) -> None:
    """`answer(words, window)` is every pair (word, context) of a sentence at most `window` apart, in any order."""
    for sentence, window in (("a b", 1), ("a b c", 1), ("a b c d e", 2), ("a b a c a", 2), ("a b c", 9), ("a", 3)):
        words, where = sentence.split(), f"{sentence!r}, window {window}"
        got = call(answer, [*words], window)
        if not isinstance(got, (list, tuple, set)) or any(len(pair) != 2 for pair in got):
            raise Wrong(f"{where}: return a list of pairs (word, context), got {describe(got)}")
        near = [(i, j) for i in range(len(words)) for j in range(len(words)) if 0 < abs(i - j) <= window]
        got, want = Counter(map(tuple, got)), Counter((words[i], words[j]) for i, j in near)
        if extra := list(got - want):
            raise Wrong(f"{where}: {extra[0]} is there {'too often' if extra[0] in want else 'but must not be'}")
        if missing := list(want - got):
            turned = " (each of the two is the other's context)" if missing[0][::-1] in got else ""
            raise Wrong(f"{where}: {missing[0]} is missing{turned}")


@exercise
def analogy(answer: Callable[[Tensor, int, int, int], int]) -> None:
    """`answer(vectors_ND, a, b, c)` is the row that is to c as b is to a: nearest by cosine, and none of the three."""
    answers = {case: call(answer, *inputs) for case, inputs in _ANALOGY_CASES.items()}
    for case, got in answers.items():
        N = len(_ANALOGY_CASES[case][0])
        if shape_of(got) is not None and got.numel() == 1:
            got = answers[case] = got.item()
        if not isinstance(got, int) or not 0 <= got < N:
            raise Wrong(f"{case}: return a row of vectors_ND, a whole number from 0 to {N - 1}; got {got!r}")
    for case, inputs in _ANALOGY_CASES.items():
        if (got := answers[case]) != (want := _analogy()(*inputs)):
            why = explained(answers, WRONG_ANALOGY, _ANALOGY_CASES)
            raise Wrong(f"{case}: expected row {want}, got {got}{why and f' ({why})'}")


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
    "keeps the three words in": _analogy(left_out=(False, False, False)),
    "leaves out only the word that was asked last": _analogy(left_out=(False, False, True)),
    "adds a and takes away b": _analogy(lambda a, b, c: a - b + c),
    "adds all three": _analogy(lambda a, b, c: a + b + c),
    "takes the dot product, which favours long vectors": _analogy(alike=lambda x, to: x @ to, unit=False),
    "takes the farthest": _analogy(alike=lambda x, to: -_cosine(x, to)),
    "does not make the three words equally long first": _analogy(unit=False),
}


def _analogy_cases() -> dict[str, tuple[Tensor, int, int, int]]:
    draw = torch.Generator().manual_seed(1)
    square = torch.tensor([[1.0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [-1, 0.5, 0.5]])
    long = torch.cat([square, torch.tensor([[9.0, 9, 0]])])
    cases = {"a square": (square, 0, 1, 2), "backwards": (square, 3, 2, 1), "with a long vector": (long, 0, 1, 2)}
    for number in range(6):
        vectors = torch.randn(30, 6, generator=draw) * (0.1 + torch.rand(30, 1, generator=draw))
        cases[f"30 random words, case {number}"] = (vectors, 3, 8, 11)
    return cases


_ANALOGY_CASES = _analogy_cases()
