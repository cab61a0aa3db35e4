"""Checks for the practice exercises: they say what broke, call a stub "not written yet", and never raise.

>>> from attnbook import check
>>> def my_softmax_jacobian(weights_M):
...     return None  # your code
>>> check.softmax_jacobian(my_softmax_jacobian)
not written yet: your function returned nothing
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import torch
from torch import Tensor

from attnbook.dot_product import attention as book_attention
from attnbook.masks import causal
from attnbook.softmax import masked_softmax

Attention = Callable[..., tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Verdict:
    """What a check found; true when the answer is correct."""

    correct: bool
    message: str

    def __bool__(self) -> bool:
        return self.correct

    def __repr__(self) -> str:
        return self.message


class _Wrong(Exception):
    """What broke, in a sentence."""


def exercise(check: Callable[[Callable], None]) -> Callable[[Callable], Verdict]:
    """Turn a function that raises `_Wrong` into a check that returns a verdict."""

    @wraps(check)
    def judged(answer: Callable) -> Verdict:
        try:
            check(answer)
        except _Wrong as wrong:
            return Verdict(False, str(wrong))
        except Exception as error:  # an answer can be stranger than a check foresees
            return Verdict(False, f"your answer can't be compared: {type(error).__name__}: {error}")
        return Verdict(True, "correct")

    return judged


@exercise
def attention(answer: Attention) -> None:
    """`answer(q_LK, k_MK, v_MV, mask_LM=None)` returns what `attnbook.attention` returns."""
    answers = {case: _call(answer, *inputs) for case, inputs in _ATTENTION_CASES.items()}
    for case, got in answers.items():
        if not isinstance(got, tuple) or len(got) != 2:
            raise _Wrong(f"{case}: return two tensors, output and weights; got {_describe(got)}")
    for case, got in answers.items():
        output, weights = book_attention(*_ATTENTION_CASES[case])
        if [_shape(x) for x in got] == [weights.shape, output.shape] != [output.shape, weights.shape]:
            raise _Wrong(f"{case}: return the output first, then the weights")
        _compare(f"{case}: weights", got[1], weights, ("query", "key"), lambda got=got: _mistake(answers, got[1]))
        _compare(f"{case}: output", got[0], output, ("query", "v"), lambda: "the weights are right; mix the values")


@exercise
def skip_gram_pairs(answer: Callable[[list[str], int], list[tuple[str, str]]]) -> None:
    """`answer(words, window)` is every pair (word, context) of a sentence at most `window` apart, in any order."""
    for sentence, window in (("a b", 1), ("a b c", 1), ("a b c d e", 2), ("a b a c a", 2), ("a b c", 9), ("a", 3)):
        words, where = sentence.split(), f"{sentence!r}, window {window}"
        got = _call(answer, [*words], window)
        if not isinstance(got, (list, tuple, set)) or any(len(pair) != 2 for pair in got):
            raise _Wrong(f"{where}: return a list of pairs (word, context), got {_describe(got)}")
        near = [(i, j) for i in range(len(words)) for j in range(len(words)) if 0 < abs(i - j) <= window]
        got, want = Counter(map(tuple, got)), Counter((words[i], words[j]) for i, j in near)
        if extra := list(got - want):
            raise _Wrong(f"{where}: {extra[0]} is there {'too often' if extra[0] in want else 'but must not be'}")
        if missing := list(want - got):
            turned = " (each of the two is the other's context)" if missing[0][::-1] in got else ""
            raise _Wrong(f"{where}: {missing[0]} is missing{turned}")


@exercise
def analogy(answer: Callable[[Tensor, int, int, int], int]) -> None:
    """`answer(vectors_ND, a, b, c)` is the row that is to c as b is to a: nearest by cosine, and none of the three."""
    answers = {case: _call(answer, vectors, *rows) for case, (vectors, rows) in _ANALOGY_CASES.items()}
    for case, got in answers.items():
        N = len(_ANALOGY_CASES[case][0])
        if _shape(got) is not None and got.numel() == 1:
            got = answers[case] = got.item()
        if not isinstance(got, int) or not 0 <= got < N:
            raise _Wrong(f"{case}: return a row of vectors_ND, a whole number from 0 to {N - 1}; got {got!r}")
    for case, want in _answers(_analogy()).items():
        if (got := answers[case]) != want:
            does = [name for name, wrong in WRONG_ANALOGY.items() if answers == _answers(wrong)]
            raise _Wrong(f"{case}: expected row {want}, got {got}" + (f" (your function {does[0]})" if does else ""))


def _answers(solve: Callable[..., int]) -> dict[str, int]:
    return {case: solve(vectors, *rows) for case, (vectors, rows) in _ANALOGY_CASES.items()}


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


def _analogy_cases() -> dict[str, tuple[Tensor, tuple[int, int, int]]]:
    draw = torch.Generator().manual_seed(1)
    square = torch.tensor([[1.0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [-1, 0.5, 0.5]])
    long = torch.cat([square, torch.tensor([[9.0, 9, 0]])])
    cases = {"a square": (square, (0, 1, 2)), "backwards": (square, (3, 2, 1)), "with a long vector": (long, (0, 1, 2))}
    for number in range(6):
        vectors = torch.randn(30, 6, generator=draw) * (0.1 + torch.rand(30, 1, generator=draw))
        cases[f"30 random words, case {number}"] = (vectors, (3, 8, 11))
    return cases


_ANALOGY_CASES = _analogy_cases()


@exercise
def softmax_jacobian(answer: Callable[[Tensor], Tensor]) -> None:
    """`answer(weights)` is the matrix of ∂ weight i / ∂ score j, for weights of shape (M,)."""
    for scores in ([0.0, 0.0], [2.0, 1.0, 0.0], [3.0, -1.0, 0.5, 0.0, 1.0]):
        scores = torch.tensor(scores)
        want = torch.autograd.functional.jacobian(lambda x: x.softmax(-1), scores)
        got = _call(answer, scores.softmax(-1))
        _compare(f"M={len(scores)}", got, want, ("weight", "score"), lambda got=got, want=want: _diagonal(got, want))


@exercise
def attention_test(answer: Callable[[Attention], bool]) -> None:
    """`answer(function)` is True for `attnbook.attention` and False for each of `WRONG_ATTENTION`."""
    if not _accepts(answer, book_attention):
        raise _Wrong("your test rejects the right function: it must return True for attnbook.attention")
    fooled = [name for name, wrong in WRONG_ATTENTION.items() if _notices_nothing(answer, wrong)]
    if fooled:
        caught = f"{len(WRONG_ATTENTION) - len(fooled)} of {len(WRONG_ATTENTION)} wrong functions"
        raise _Wrong(f"your test catches {caught}; it is fooled by one that {fooled[0]}")


def _attention_from(weights: Callable[..., Tensor], sense: Callable = lambda mask: mask) -> Attention:
    def wrong(q, k, v, mask=None):
        scores = q @ k.mT
        mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else sense(mask).expand_as(scores)
        p = weights(scores, q.shape[-1], mask)
        return p @ v, p

    return wrong


# What real code has got wrong, each as a function with the signature of `attention`.
WRONG_ATTENTION: dict[str, Attention] = {
    "divides by d": _attention_from(lambda s, d, m: masked_softmax(s / d, m)),
    "does not scale": _attention_from(lambda s, d, m: masked_softmax(s, m)),
    "divides by √M, the number of keys": _attention_from(lambda s, d, m: masked_softmax(s / s.shape[-1] ** 0.5, m)),
    "takes the softmax over the queries": _attention_from(lambda s, d, m: masked_softmax((s / d**0.5).mT, m.mT).mT),
    "has the mask the wrong way round": _attention_from(
        lambda s, d, m: masked_softmax(s / d**0.5, m), torch.logical_not
    ),
    "ignores the mask": _attention_from(lambda s, d, m: (s / d**0.5).softmax(-1)),
    "masks after the softmax and does not normalise again": _attention_from(
        lambda s, d, m: (s / d**0.5).softmax(-1) * m
    ),
    "fills masked scores with 0": _attention_from(lambda s, d, m: (s * m / d**0.5).softmax(-1)),
    "spreads its weights evenly where a query has nothing to attend to": _attention_from(
        lambda s, d, m: (s / d**0.5).masked_fill(~m, -1e9).softmax(-1)
    ),
    "gives NaN where a query has nothing to attend to": _attention_from(
        lambda s, d, m: (s / d**0.5).masked_fill(~m, -torch.inf).softmax(-1)
    ),
}


def _attention_cases() -> dict[str, tuple]:
    draw = torch.Generator().manual_seed(5)
    q, k, v = (torch.randn(*shape, generator=draw) for shape in ((3, 4), (5, 4), (5, 2)))
    empty_row = causal(3, 5) & torch.tensor([[True], [False], [True]])
    return {
        "one query, two keys": (torch.tensor([[2.0, 0.0, 1.0]]), torch.eye(2, 3), torch.tensor([[10.0], [20.0]])),
        "L=3, M=5": (q, k, v),
        "with a causal mask": (q, k, v, causal(3, 5)),
        "a query with nothing to attend to": (q, k, v, empty_row),
    }


_ATTENTION_CASES = _attention_cases()


def _call(answer: Callable, *inputs):
    """What the answer returns for copies of the inputs, which it must leave as they are."""
    copies = [x.clone() if isinstance(x, Tensor) else x for x in inputs]
    try:
        got = answer(*copies)
    except NotImplementedError:
        got = None
    except (Exception, SystemExit) as error:
        raise _Wrong(f"your function raised {type(error).__name__}: {error}") from error
    if got is None or got is ...:
        raise _Wrong("not written yet: your function returned nothing")
    for position, (copy, original) in enumerate(zip(copies, inputs, strict=True), start=1):
        if isinstance(original, Tensor) and not torch.equal(copy, original):
            raise _Wrong(f"your function changed its argument {position}; work on a copy")
    return got


def _accepts(test: Callable[[Attention], bool], function: Attention) -> bool:
    return bool(_call(test, function))


def _notices_nothing(test: Callable[[Attention], bool], function: Attention) -> bool:
    try:
        return _accepts(test, function)
    except _Wrong:  # a test that raises has noticed
        return False


def _compare(where: str, got: object, want: Tensor, axes: tuple[str, str], hint: Callable[[], str]) -> None:
    if not isinstance(got, Tensor):
        raise _Wrong(f"{where}: expected a tensor, got {_describe(got)}")
    if got.shape != want.shape:
        raise _Wrong(f"{where}: expected shape {tuple(want.shape)}, got {tuple(got.shape)}")
    wrong = ~_close(got, want)
    if wrong.any():
        cell = tuple(wrong.nonzero()[0].tolist())
        found = f"expected {want[cell]:.4f}, got {got[cell]:.4f}"
        why = hint()
        raise _Wrong(f"{where}: first wrong cell ({', '.join(axes)}) = {cell}: {found}{why and f' ({why})'}")


def _mistake(answers: dict[str, tuple], weights: Tensor) -> str:
    """Which known mistake gives just these weights in every case, or else a row that doesn't add up."""
    for name, wrong in WRONG_ATTENTION.items():
        theirs = {case: wrong(*inputs)[1] for case, inputs in _ATTENTION_CASES.items()}
        if all(
            _shape(got[1]) == theirs[case].shape and _close(got[1], theirs[case]).all() for case, got in answers.items()
        ):
            return f"your function {name}"
    total = weights.sum(-1)
    row = int((total - 1).abs().argmax())
    return f"row {row} of your weights adds up to {total[row]:.2f}" if abs(total[row] - 1) > 1e-3 else ""


def _diagonal(got: Tensor, want: Tensor) -> str:
    if _close(got.diagonal(), want.diagonal()).all():
        return "the diagonal is right"
    return "the sign is wrong" if _close(-got, want).all() else ""


def _close(got: Tensor, want: Tensor) -> Tensor:
    return torch.isclose(got.to(want.dtype), want, rtol=1e-4, atol=1e-5, equal_nan=True)


def _shape(value: object) -> torch.Size | None:
    return value.shape if isinstance(value, Tensor) else None


def _describe(value: object) -> str:
    return f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
