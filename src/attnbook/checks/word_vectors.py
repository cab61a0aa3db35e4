"""Chapter 1: pairs of a word and its context, the loss of negative sampling, analogies."""

from collections import Counter
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.checks.judging import Wrong, call, close, describe, exercise, explained, say, shape_of
from attnbook.language import number


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
def sampling_loss(answer: Callable[[Tensor], Tensor]) -> None:
    """`answer(scores_BC)` is the loss of negative sampling, a mean over the batch; the first score of a row is real."""
    answers = {case: call(answer, scores.clone()) for case, (scores,) in _SCORES.items()}
    for case, got in answers.items():
        want = _sampling()(*_SCORES[case])
        if shape_of(got) != ():
            raise Wrong("one_loss", case=case, got=describe(got))
        if not close(got, want):
            why = explained(answers, WRONG_SAMPLING_LOSS, _SCORES)
            raise Wrong("expected", case=case, want=number(want.item(), 4), got=number(got.item(), 4), why=why)


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


def _sampling(log=F.logsigmoid, real=0, sign=1, drawn=-1, over_draws=torch.sum, over_batch=torch.mean):
    def loss(scores: Tensor) -> Tensor:
        others = scores[:, [column for column in range(scores.shape[1]) if column != real % scores.shape[1]]]
        return -sign * over_batch(log(scores[:, real]) + over_draws(log(drawn * others), 1))

    return loss


# What goes wrong with the loss of negative sampling, each as a function with the signature of the exercise.
WRONG_SAMPLING_LOSS: dict[str, Callable[[Tensor], Tensor]] = {
    "takes_drawn_for_real": _sampling(drawn=1),
    "takes_the_last_for_real": _sampling(real=-1),
    "averages_over_the_draws": _sampling(over_draws=torch.mean),
    "adds_up_the_batch": _sampling(over_batch=torch.sum),
    "forgets_the_minus": _sampling(sign=-1),
    "forgets_the_logarithm": _sampling(log=torch.sigmoid),
    "takes_the_logarithm_of_0": _sampling(log=lambda x: x.sigmoid().log()),
}
_SCORES: dict[str, tuple[Tensor]] = {
    "one_pair": (torch.tensor([[2.0, -1, 0]]),),
    "three_pairs": (torch.tensor([[1.0, 3, -2, 0.5], [-1, 2, 2, -3], [0, 0.2, -1, 1]]),),
    "large_scores": (torch.tensor([[-200.0, 1], [3, 200]]),),
}


def _cosine(rows: Tensor, to: Tensor) -> Tensor:
    return torch.cosine_similarity(rows, to, dim=-1)


def _analogy(aim=lambda a, b, c: b - a + c, alike=_cosine, left_out=(True, True, True), unit=True):
    def solve(vectors: Tensor, *asked: int) -> int:
        rows = F.normalize(vectors, dim=-1) if unit else vectors
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
    for n in range(6):
        vectors = torch.randn(30, 6, generator=draw) * (0.1 + torch.rand(30, 1, generator=draw))
        cases[f"thirty_random_words {n}"] = (vectors.round(decimals=2), 3, 8, 11)
    return cases


_ANALOGY_CASES = _analogy_cases()
