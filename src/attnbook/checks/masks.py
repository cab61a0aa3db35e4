"""Chapter 2: masks, and the softmax that obeys them."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attnbook.checks.judging import Wrong, call, compare, exercise, explained, named, say, told
from attnbook.language import number
from attnbook.layers.masks import causal as book_causal
from attnbook.layers.masks import padding as book_padding
from attnbook.layers.softmax import masked_softmax as book_masked_softmax

Mask = Callable[..., Tensor]
Softmax = Callable[[Tensor, Tensor], Tensor]


@exercise
def causal(answer: Callable[[int, int], Tensor]) -> None:
    """`answer(L, M)` is True where query i may see key j; the queries are the last L of M positions."""
    _check_mask(answer, book_causal, _SIZES, WRONG_CAUSAL, ("query", "key"))


@exercise
def padding(answer: Callable[[Tensor, int], Tensor]) -> None:
    """`answer(lengths_B, M)`, of shape (B, 1, M), is True where key j is one of the text's own, for every query."""
    _check_mask(answer, book_padding, _LENGTHS, WRONG_PADDING, ("text", "query", "key"))


@exercise
def packed(answer: Callable[[Tensor], Tensor]) -> None:
    """`answer(documents_M)` is True where token i may see token j: of the same document, and not ahead."""
    _check_mask(answer, _packed, _DOCUMENTS, WRONG_PACKED, ("token", "token"))


def _check_mask(
    answer: Mask, right: Mask, cases: dict[str, tuple], wrong: dict[str, Mask], axes: tuple[str, ...]
) -> None:
    answers = {case: call(answer, *inputs) for case, inputs in cases.items()}
    for case, inputs in cases.items():
        got, want = answers[case], right(*inputs)
        if isinstance(got, Tensor) and got.dtype != torch.bool:
            raise Wrong("boolean", case=case, got=got.dtype)
        compare(case, got, want, axes, partial(explained, answers, wrong, cases, case))


@exercise
def masked_softmax(answer: Softmax) -> None:
    """`answer(scores, mask)` is `attnbook.masked_softmax`, in float16 too, and so are its gradients."""
    answers = {case: call(answer, *inputs) for case, inputs in _SOFTMAX_CASES.items()}
    for case, got in answers.items():
        want = book_masked_softmax(*_SOFTMAX_CASES[case])
        compare(case, got, want, ("query", "key"), partial(explained, answers, WRONG_SOFTMAX, _SOFTMAX_CASES, case))
        if got.dtype != want.dtype:
            raise Wrong("expected", case=case, want=want.dtype, got=got.dtype)
    compare(_MANY, many := call(answer, *_MANY_KEYS), book_masked_softmax(*_MANY_KEYS), ("query", "key"), lambda: "")
    if abs((total := many.float().sum().item()) - 1) > 0.01:
        why = "" if total else say("mistake", mistake=told("adds_up_in_float16"))
        raise Wrong("sum_of_weights", case=_MANY, got=number(total, 2), why=why)
    for case in ("a_causal_mask", "a_row_with_nothing_to_attend"):
        got, want = (_gradient(softmax, *_SOFTMAX_CASES[case]) for softmax in (answer, book_masked_softmax))
        compare(say("gradient_of", case=named(case)), got, want, ("query", "key"), lambda: "")


def _gradient(softmax: Softmax, scores: Tensor, mask: Tensor) -> Tensor:
    scores = scores.clone().requires_grad_()
    pull = torch.arange(scores.numel()).view_as(scores)
    try:
        output = softmax(scores, mask)
        if not output.requires_grad:
            raise Wrong("no_gradient")
        (output * pull).sum().backward()
    except RuntimeError as error:
        raise Wrong("gradient_refused", error=str(error).splitlines()[0]) from error
    return scores.grad  # pyrefly: ignore[bad-return] (it is there after backward)


_SIZES = {f"L={L}, M={M}": (L, M) for L, M in ((1, 1), (2, 2), (4, 4), (2, 5), (1, 3), (3, 4), (5, 9), (8, 8))}
# What goes wrong with masks, each as a function with the signature of the exercise.
WRONG_CAUSAL: dict[str, Mask] = {
    "sees_only_what_comes": lambda L, M: ~book_causal(L, M) | _now(L, M),
    "hides_what_may_be_seen": lambda L, M: ~book_causal(L, M),
    "hides_a_query_from_itself": lambda L, M: book_causal(L, M) & ~_now(L, M),
    "counts_from_the_first_key": lambda L, M: torch.ones(L, M).tril().bool(),
    "looks_one_step_ahead": lambda L, M: torch.ones(L, M).tril(M - L + 1).bool(),
}


def _now(L: int, M: int) -> Tensor:
    """Returns the mask (L, M) under which each query sees its own position and no other."""
    return torch.ones(L, M).tril(M - L).triu(M - L).bool()


_LENGTHS = {
    f"lengths {lengths}, M={M}": (torch.tensor(lengths), M)
    for lengths, M in (([4, 2], 4), ([1, 3, 2], 3), ([0, 5], 6), ([2], 2))
}
WRONG_PADDING: dict[str, Mask] = {
    "hides_what_may_be_seen": lambda lengths, M: ~book_padding(lengths, M),
    "counts_one_key_too_many": lambda lengths, M: torch.arange(M) <= lengths[:, None, None],
    "counts_one_key_too_few": lambda lengths, M: torch.arange(1, M + 1) < lengths[:, None, None],
    "pads_on_the_left": lambda lengths, M: book_padding(lengths, M).flip(-1),
    "gives_every_text_the_longest": lambda lengths, M: book_padding(lengths.max().expand(len(lengths)), M),
}


def _packed(documents: Tensor) -> Tensor:
    return (documents[:, None] == documents) & book_causal(len(documents))


_DOCUMENTS = {
    f"documents {ids}": (torch.tensor(ids),)
    for ids in ([0], [0, 0], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 2], [2, 2, 0, 0], [0, 1, 0], [0] * 7 + [1] * 5)
}
WRONG_PACKED: dict[str, Mask] = {
    "looks_ahead_in_documents": lambda ids: ids[:, None] == ids,
    "looks_into_other_documents": lambda ids: book_causal(len(ids)),
    "looks_only_back": lambda ids: _packed(ids).tril(-1),
    "hides_what_may_be_seen": lambda ids: ~_packed(ids),
}


# What goes wrong with a masked softmax, each as a function with the signature of the exercise.
WRONG_SOFTMAX: dict[str, Softmax] = {
    "ignores_the_mask": lambda s, m: s.softmax(-1),
    "has_the_mask_the_wrong_way": lambda s, m: book_masked_softmax(s, ~m),
    "takes_the_softmax_over_the_queries": lambda s, m: book_masked_softmax(s.mT, m.mT).mT,
    "fills_hidden_scores_with_0": lambda s, m: (s * m).softmax(-1),
    "masks_after_the_softmax_and_divides": lambda s, m: _divided(s.softmax(-1) * m),
    "masks_after_the_softmax": lambda s, m: s.softmax(-1) * m,
    "divides_by_a_sum_without_taking": lambda s, m: _divided(s.exp() * m),
    "fills_with_a_number_that_large": lambda s, m: s.masked_fill(~m, -6e4).softmax(-1) * m.any(-1, keepdim=True),
    "spreads_its_weights_evenly_where_a_row": lambda s, m: s.masked_fill(~m, torch.finfo(s.dtype).min).softmax(-1),
    "gives_nan_where_a_row": lambda s, m: s.masked_fill(~m, -torch.inf).softmax(-1),
    "adds_up_in_float16": lambda s, m: _narrow(s.masked_fill(~m, torch.finfo(s.dtype).min), m),
}


def _narrow(scores: Tensor, mask: Tensor) -> Tensor:
    powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask
    return powers / powers.sum(-1, keepdim=True).clamp(min=1)


def _divided(powers: Tensor) -> Tensor:
    return powers / powers.sum(-1, keepdim=True).clamp(min=1e-7)


def _softmax_cases() -> dict[str, tuple[Tensor, Tensor]]:
    draw = torch.Generator().manual_seed(2)
    scores = torch.randn(3, 4, generator=draw)
    empty = book_causal(3, 4) & torch.tensor([[True], [False], [True]])
    return {
        "two_keys_one_hidden": (torch.tensor([[1.0, 2.0]]), torch.tensor([[True, False]])),
        "everything_may_be_seen": (scores, torch.ones(3, 4, dtype=torch.bool)),
        "a_causal_mask": (scores, book_causal(3, 4)),
        "a_row_with_nothing_to_attend": (scores, empty),
        "scores_of_1000": (1000 + scores, book_causal(3, 4)),
        "scores_of_minus_100_000": (scores.round() - 100_000, book_causal(3, 4)),
        "a_hidden_score_far_above": (torch.tensor([[0.0, 1.0, 200.0]]), torch.tensor([[True, True, False]])),
        "two_sentences": (torch.stack([scores, -scores]), book_padding(torch.tensor([4, 2]))),
        "float16": (scores.half(), empty),
    }


_SOFTMAX_CASES = _softmax_cases()
# Their weights are so small that a tolerance takes them for 0; their sum is 1.
_MANY, _MANY_KEYS = "float16_66_000_keys", (torch.zeros(1, 66_000).half(), torch.ones(1, 66_000, dtype=torch.bool))
