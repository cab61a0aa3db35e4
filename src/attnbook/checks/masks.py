"""Chapter 2: masks, and the softmax that obeys them."""

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.checks.judging import Wrong, call, compare, exercise, explained
from attnbook.layers.masks import causal as book_causal
from attnbook.layers.masks import padding
from attnbook.layers.softmax import masked_softmax as book_masked_softmax

Mask = Callable[..., Tensor]
Softmax = Callable[[Tensor, Tensor], Tensor]


@exercise
def causal(answer: Callable[[int, int], Tensor]) -> None:
    """`answer(L, M)` is True where query i may see key j; the queries are the last L of M positions."""
    _check_mask(answer, book_causal, _SIZES, WRONG_CAUSAL, ("query", "key"))


@exercise
def packed(answer: Callable[[Tensor], Tensor]) -> None:
    """`answer(documents_M)` is True where token i may see token j: of the same document, and not ahead."""
    _check_mask(answer, _packed, _DOCUMENTS, WRONG_PACKED, ("token", "token"))


def _check_mask(
    answer: Mask, right: Mask, cases: dict[str, tuple], wrong: dict[str, Mask], axes: tuple[str, str]
) -> None:
    answers = {case: call(answer, *inputs) for case, inputs in cases.items()}
    for case, inputs in cases.items():
        got, want = answers[case], right(*inputs)
        if isinstance(got, Tensor) and got.dtype != torch.bool:
            raise Wrong(f"{case}: a mask is boolean, got {got.dtype}; try .bool()")
        compare(case, got, want, axes, lambda: explained(answers, wrong, cases))


@exercise
def masked_softmax(answer: Softmax) -> None:
    """`answer(scores, mask)` is `attnbook.masked_softmax`, in float16 too, and so are its gradients."""
    answers = {case: call(answer, *inputs) for case, inputs in _SOFTMAX_CASES.items()}
    for case, got in answers.items():
        want = book_masked_softmax(*_SOFTMAX_CASES[case])
        compare(case, got, want, ("query", "key"), lambda: explained(answers, WRONG_SOFTMAX, _SOFTMAX_CASES))
        if got.dtype != want.dtype:
            raise Wrong(f"{case}: expected {want.dtype}, got {got.dtype}")
    for case in ("a causal mask", "a row with nothing to attend to"):
        got, want = (_gradient(softmax, *_SOFTMAX_CASES[case]) for softmax in (answer, book_masked_softmax))
        compare(f"{case}: gradient", got, want, ("query", "key"), lambda: "")


def _gradient(softmax: Softmax, scores: Tensor, mask: Tensor) -> Tensor:
    scores = scores.clone().requires_grad_()
    pull = torch.arange(scores.numel()).view_as(scores)
    try:
        output = softmax(scores, mask)
        if not output.requires_grad:
            raise Wrong("gradient: none reaches the scores; leave out detach and no_grad")
        (output * pull).sum().backward()
    except RuntimeError as error:
        raise Wrong(f"gradient: PyTorch refuses: {str(error).splitlines()[0]}") from error
    return scores.grad


_SIZES = {f"L={L}, M={M}": (L, M) for L, M in ((1, 1), (2, 2), (4, 4), (2, 5), (1, 3), (3, 4), (5, 9), (8, 8))}
# What goes wrong with masks, each as a function with the signature of the exercise.
WRONG_CAUSAL: dict[str, Mask] = {
    "sees only what comes: rows and columns are the wrong way round": lambda L, M: ~book_causal(L, M) | _now(L, M),
    "hides what may be seen: True must mean `may attend`": lambda L, M: ~book_causal(L, M),
    "hides a query from itself": lambda L, M: book_causal(L, M) & ~_now(L, M),
    "counts from the first key, but the queries are the LAST of M positions": lambda L, M: (
        torch.ones(L, M).tril().bool()
    ),
    "looks one step ahead": lambda L, M: torch.ones(L, M).tril(M - L + 1).bool(),
}


def _now(L: int, M: int) -> Tensor:
    """Each query's own position."""
    return torch.ones(L, M).tril(M - L).triu(M - L).bool()


def _packed(documents: Tensor) -> Tensor:
    return (documents[:, None] == documents) & book_causal(len(documents))


_DOCUMENTS = {
    f"documents {ids}": (torch.tensor(ids),)
    for ids in ([0], [0, 0], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 2], [2, 2, 0, 0], [0, 1, 0], [0] * 7 + [1] * 5)
}
WRONG_PACKED: dict[str, Mask] = {
    "looks ahead": lambda ids: ids[:, None] == ids,
    "looks into other documents": lambda ids: book_causal(len(ids)),
    "looks only back, not at itself": lambda ids: _packed(ids).tril(-1),
    "hides what may be seen: True must mean `may attend`": lambda ids: ~_packed(ids),
}


# What goes wrong with a masked softmax, each as a function with the signature of the exercise.
WRONG_SOFTMAX: dict[str, Softmax] = {
    "ignores the mask": lambda s, m: s.softmax(-1),
    "has the mask the wrong way round": lambda s, m: book_masked_softmax(s, ~m),
    "takes the softmax over the queries": lambda s, m: book_masked_softmax(s.mT, m.mT).mT,
    "fills hidden scores with 0": lambda s, m: (s * m).softmax(-1),
    "masks after the softmax, then divides by the sum that is left": lambda s, m: _divided(s.softmax(-1) * m),
    "masks after the softmax and does not normalise again": lambda s, m: s.softmax(-1) * m,
    "divides by a sum without taking off the largest score first, and overflows": lambda s, m: _divided(s.exp() * m),
    "fills with a number that large negative scores reach": lambda s, m: (
        s.masked_fill(~m, -6e4).softmax(-1) * m.any(-1, keepdim=True)
    ),
    "spreads its weights evenly where a row has nothing to attend to": lambda s, m: s.masked_fill(
        ~m, torch.finfo(s.dtype).min
    ).softmax(-1),
    "gives NaN where a row has nothing to attend to": lambda s, m: s.masked_fill(~m, -torch.inf).softmax(-1),
}


def _divided(powers: Tensor) -> Tensor:
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
        "scores of -100,000": (scores.round() - 100_000, book_causal(3, 4)),
        "a hidden score far above the others": (torch.tensor([[0.0, 1.0, 200.0]]), torch.tensor([[True, True, False]])),
        "two sentences, (B, L, M) and (B, 1, M)": (torch.stack([scores, -scores]), padding(torch.tensor([4, 2]))),
        "float16": (scores.half(), empty),
    }


_SOFTMAX_CASES = _softmax_cases()
