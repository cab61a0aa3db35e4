"""Chapter 2: masks, and the softmax that obeys them."""

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.checks.judging import Wrong, call, close, compare, exercise
from attnbook.masks import causal as book_causal
from attnbook.softmax import masked_softmax as book_masked_softmax

Softmax = Callable[[Tensor, Tensor], Tensor]


@exercise
def causal(answer: Callable[[int, int], Tensor]) -> None:
    """`answer(L, M)` is True where query i may see key j; the queries are the last L of M positions."""
    answers = {sizes: call(answer, *sizes) for sizes in _SIZES}
    for sizes, got in answers.items():
        where = f"L={sizes[0]}, M={sizes[1]}"
        compare(where, _as_mask(where, got), book_causal(*sizes), ("query", "key"), lambda: _known(answers))


@exercise
def packed(answer: Callable[[Tensor], Tensor]) -> None:
    """`answer(documents_M)` is True where token i may see token j: of the same document, and not ahead."""
    for documents in ([0], [0, 0], [0, 0, 1, 1, 1], [0, 1, 1, 2], [2, 2, 0, 0], [0, 1, 0]):
        where, documents = f"documents {documents}", torch.tensor(documents)
        same, past = documents[:, None] == documents, book_causal(len(documents))
        wrong = {
            "looks ahead": same,
            "looks into other documents": past,
            "looks only back, not at itself": same & past.tril(-1),
        }
        got = _as_mask(where, call(answer, documents))
        why = [
            f"your mask {name}" for name, mask in wrong.items() if isinstance(got, Tensor) and torch.equal(got, mask)
        ]
        compare(where, got, same & past, ("token", "token"), lambda why=why: "".join(why[:1]))


@exercise
def masked_softmax(answer: Softmax) -> None:
    """`answer(scores, mask)` is `attnbook.masked_softmax`, in float16 too, and so are its gradients."""
    answers = {case: call(answer, *inputs) for case, inputs in _SOFTMAX_CASES.items()}
    for case, got in answers.items():
        want = book_masked_softmax(*_SOFTMAX_CASES[case])
        compare(case, got, want, ("query", "key"), lambda: _mistake(answers))
        if got.dtype != want.dtype:
            raise Wrong(f"{case}: expected {want.dtype}, got {got.dtype}")
    scores, mask = _SOFTMAX_CASES["a row with nothing to attend to"]
    pull = torch.arange(scores.numel()).view_as(scores).float()
    (got, want) = (_gradient(f, scores, mask, pull) for f in (answer, book_masked_softmax))
    compare("gradient, where a row has nothing to attend to", got, want, ("query", "key"), lambda: "")


def _gradient(softmax: Softmax, scores: Tensor, mask: Tensor, pull: Tensor) -> Tensor:
    scores = scores.clone().requires_grad_()
    output = softmax(scores, mask)
    if not output.requires_grad:
        raise Wrong("gradient: none reaches the scores; leave out detach, no_grad and numpy")
    try:
        (output * pull).sum().backward()
    except RuntimeError as error:
        raise Wrong(f"gradient: PyTorch refuses: {str(error).splitlines()[0]}") from error
    return scores.grad


def _as_mask(where: str, got: object) -> object:
    if isinstance(got, Tensor) and got.dtype != torch.bool:
        raise Wrong(f"{where}: a mask is boolean, got {got.dtype}; try .bool()")
    return got


_SIZES = ((1, 1), (2, 2), (4, 4), (2, 5), (1, 3))
# What goes wrong with causal masks, each as a function with the signature of the exercise.
WRONG_CAUSAL: dict[str, Callable[[int, int], Tensor]] = {
    "has rows and columns the wrong way round: it sees only what comes": lambda L, M: (
        book_causal(L, M).logical_not() | _now(L, M)
    ),
    "is upside down: True must mean `may attend`": lambda L, M: ~book_causal(L, M),
    "hides a query from itself": lambda L, M: book_causal(L, M) & ~_now(L, M),
    "counts from the first key, but the queries are the LAST of M positions": lambda L, M: (
        torch.ones(L, M).tril().bool()
    ),
    "looks one step ahead": lambda L, M: torch.ones(L, M).tril(M - L + 1).bool(),
}


def _now(L: int, M: int) -> Tensor:
    """Each query's own position."""
    return torch.ones(L, M).tril(M - L).triu(M - L).bool()


def _known(answers: dict[tuple[int, int], Tensor]) -> str:
    for name, wrong in WRONG_CAUSAL.items():
        if all(got.shape == sizes and torch.equal(got, wrong(*sizes)) for sizes, got in answers.items()):
            return f"your mask {name}"
    return ""


# What goes wrong with a masked softmax, each as a function with the signature of the exercise.
WRONG_SOFTMAX: dict[str, Softmax] = {
    "ignores the mask": lambda s, m: s.softmax(-1),
    "has the mask the wrong way round": lambda s, m: book_masked_softmax(s, ~m),
    "takes the softmax over the queries": lambda s, m: book_masked_softmax(s.mT, m.mT).mT,
    "fills hidden scores with 0": lambda s, m: (s * m).softmax(-1),
    "masks after the softmax and does not normalise again": lambda s, m: s.softmax(-1) * m,
    "divides by a sum without taking off the largest score first, and overflows": lambda s, m: _overflows(s, m),
    "fills with a number that large negative scores reach": lambda s, m: (
        s.masked_fill(~m, -1e4).softmax(-1) * m.any(-1, keepdim=True)
    ),
    "spreads its weights evenly where a row has nothing to attend to": lambda s, m: s.masked_fill(
        ~m, torch.finfo(s.dtype).min
    ).softmax(-1),
    "gives NaN where a row has nothing to attend to": lambda s, m: s.masked_fill(~m, -torch.inf).softmax(-1),
}


def _overflows(scores: Tensor, mask: Tensor) -> Tensor:
    powers = scores.exp() * mask
    return powers / powers.sum(-1, keepdim=True).clamp(min=1e-7)


def _softmax_cases() -> dict[str, tuple[Tensor, Tensor]]:
    draw = torch.Generator().manual_seed(2)
    scores = torch.randn(3, 4, generator=draw)
    empty = book_causal(3, 4) & torch.tensor([[True], [False], [True]])
    return {
        "two keys, one hidden": (torch.tensor([[1.0, 2.0]]), torch.tensor([[True, False]])),
        "everything may be seen": (scores, torch.ones(3, 4, dtype=torch.bool)),
        "a causal mask": (scores, book_causal(3, 4)),
        "a row with nothing to attend to": (scores, empty),
        "scores of 1000": (1000 + scores, book_causal(3, 4)),
        "scores of -20,000": (scores.round() - 20_000, book_causal(3, 4)),
        "float16": (scores.half(), empty),
    }


_SOFTMAX_CASES = _softmax_cases()


def _mistake(answers: dict[str, Tensor]) -> str:
    """Which known mistake gives just these weights in every case."""
    for name, wrong in WRONG_SOFTMAX.items():
        theirs = {case: wrong(*inputs) for case, inputs in _SOFTMAX_CASES.items()}
        if all(got.shape == theirs[case].shape and close(got, theirs[case]).all() for case, got in answers.items()):
            return f"your function {name}"
    return ""
