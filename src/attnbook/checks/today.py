"""Chapter 13: absorbed keys, a state that grows, what a model keeps of a text, and how tokens are routed."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attnbook.checks.judging import Wrong, call, compare, describe, exercise, explained

Three = Callable[[Tensor, Tensor, Tensor], Tensor]
Kept = Callable[[str, int, int, int, int], float]


@exercise
def absorbed_scores(answer: Three) -> None:
    """`answer(q_HLK, W_HKC, c_MC)`: q · (W c) of each head, (H, L, M), where all heads share the vectors c."""
    _judge(answer, _absorbed(), WRONG_ABSORBED, _LATENT, ("head", "query", "key"))


@exercise
def running(answer: Three) -> None:
    """`answer(q_LK, k_LK, v_LV)`: what each query reads, (L, V), from the sum of k vᵀ up to its own position."""
    _judge(answer, _running(), WRONG_RUNNING, _TEXTS, ("query", "value"))


@exercise
def routed(answer: Callable[[Tensor, int], Tensor]) -> None:
    """`answer(scores_TE, active)`: each token's weights of all experts, (T, E).

    The `active` highest scores have their own softmax; all other experts have weight 0.
    """
    _judge(answer, _routed(), WRONG_ROUTED, _SCORES, ("token", "expert"))


@exercise
def kept_numbers(answer: Kept) -> None:
    """`answer(pattern, layers, length, window, per_token)`: how many numbers a model keeps of a text.

    The pattern is repeated over the layers: G sees and keeps all tokens, W the last `window`.
    """
    answers = {case: call(answer, *inputs) for case, inputs in _MODELS.items()}
    for case, got in answers.items():
        got = got.item() if isinstance(got, Tensor) and got.numel() == 1 else got
        if isinstance(got, Tensor) or not isinstance(got, int | float):
            raise Wrong("one_number", case=case, got=describe(got))
        answers[case] = torch.tensor(float(got), dtype=torch.double)
    for case, got in answers.items():
        want = _kept()(*_MODELS[case])
        if got != want:
            why = explained(answers, WRONG_KEPT, _MODELS)
            raise Wrong("expected", case=case, want=int(want), got=got.item(), why=why)


def _judge(answer: Callable, right: Callable, wrong: dict, cases: dict[str, tuple], axes: tuple[str, ...]) -> None:
    answers = {case: call(answer, *inputs) for case, inputs in cases.items()}
    for case, got in answers.items():
        compare(case, got, right(*cases[case]), axes, partial(explained, answers, wrong, cases, case))


def _absorbed(*, by: float = 0.0, first: bool = False, turned: bool = False) -> Three:
    """By a power of the width that scores are divided by, whether one head's matrix does for all, and the side."""

    def absorbed(q: Tensor, W: Tensor, c: Tensor) -> Tensor:
        W = W[:1] if first else W
        scores = (q @ W) @ c.mT / q.shape[-1] ** by
        return scores.mT if turned else scores

    return absorbed


# What goes wrong with absorbed scores, each as a function with the signature of the exercise.
WRONG_ABSORBED: dict[str, Three] = {
    "divides_by_the_root": _absorbed(by=0.5),
    "uses_the_first_heads_matrix": _absorbed(first=True),
    "has_keys_as_rows": _absorbed(turned=True),
    "adds_up_the_heads": lambda q, W, c: _absorbed()(q, W, c).sum(0),
    "takes_a_softmax": lambda q, W, c: _absorbed()(q, W, c).softmax(-1),
}


def _running(*, late: bool = False, last: bool = False, divided: bool = False) -> Three:
    """By when a query reads, from which state, and whether the sum becomes a mean."""

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        L = len(q)
        seen = torch.ones(L, L) if last else torch.ones(L, L).tril(-1 if late else 0)
        read = (q @ k.mT * seen) @ v
        return read / torch.arange(1, L + 1)[:, None] if divided else read

    return run


# What goes wrong with reading from a state, likewise.
WRONG_RUNNING: dict[str, Three] = {
    "reads_before_it_writes": _running(late=True),
    "reads_all_from_the_last_state": _running(last=True),
    "divides_by_the_number_of_tokens": _running(divided=True),
    "keeps_the_last_token_alone": lambda q, k, v: (q * k).sum(-1, keepdim=True) * v,
    "keeps_the_softmax": lambda q, k, v: (
        (q @ k.mT).masked_fill(torch.ones(len(q), len(q)).tril() == 0, -torch.inf).softmax(-1) @ v
    ),
}


def _routed(*, before: bool = False, plain: bool = False) -> Callable[[Tensor, int], Tensor]:
    """Returns a router, right as it is; it can take the softmax `before` it chooses experts, or none (`plain`)."""

    def route(scores: Tensor, active: int) -> Tensor:
        chosen = scores.argsort(-1, descending=True)[..., :active]
        best = scores.gather(-1, chosen)
        weights = best if plain else best.softmax(-1)
        if before:
            weights = scores.softmax(-1).gather(-1, chosen)
        return torch.zeros_like(scores).scatter(-1, chosen, weights)

    return route


# What goes wrong with routing, likewise.
WRONG_ROUTED: dict[str, Callable[[Tensor, int], Tensor]] = {
    "has_weights_that_add_up_to_less": _routed(before=True),
    "has_scores_for_weights": _routed(plain=True),
    "uses_all_experts": lambda scores, active: scores.softmax(-1),
    "uses_the_best_alone": lambda scores, active: _routed()(scores, 1),
    "weighs_all_alike": lambda scores, active: (_routed()(scores, active) > 0) / active,
    "takes_the_lowest": lambda scores, active: _routed()(-scores, active),
    "returns_the_chosen_alone": lambda scores, active: (
        scores.sort(-1, descending=True).values[..., :active].softmax(-1)
    ),
}


def _kept(
    *,
    window: bool = True,
    short: bool = True,
    less: int = 0,
    one: bool = False,
    all_of_one: bool = False,
    turned: bool = False,
) -> Callable[..., Tensor]:
    """By what a window does, what it holds of a short text, and how the pattern is laid over the layers."""

    def kept(pattern: str, layers: int, length: int, wide: int, per_token: int) -> Tensor:
        kinds = pattern if one else (pattern * layers)[:layers]
        kinds = pattern[0] * layers if all_of_one else kinds
        held = min(length, wide - less) if short else wide
        seen = {"G": length, "W": held if window else length}
        seen = {"G": seen["W"], "W": seen["G"]} if turned else seen
        return torch.tensor(float(sum(seen[kind] for kind in kinds) * per_token), dtype=torch.double)

    return kept


# What goes wrong with what is kept, likewise.
WRONG_KEPT: dict[str, Callable[..., Tensor]] = {
    "forgets_the_window": _kept(window=False),
    "keeps_a_whole_window_of_a_short_text": _kept(short=False),
    "leaves_out_the_token_itself": _kept(less=1),
    "does_not_repeat_the_pattern": _kept(one=True),
    "takes_the_first_kind_for_all": _kept(all_of_one=True),
    "takes_W_for_G": _kept(turned=True),
    "counts_keys_and_values_again": lambda *given: 2 * _kept()(*given),
    "counts_tokens": lambda pattern, layers, length, window, per_token: _kept()(pattern, layers, length, window, 1),
}


_DRAW = torch.Generator().manual_seed(13)


def _numbers(*shape: int) -> Tensor:
    return torch.randn(shape, generator=_DRAW)


_LATENT = {
    "1_head": (_numbers(1, 2, 3), _numbers(1, 3, 2), _numbers(4, 2)),
    "3_heads": (_numbers(3, 4, 2), _numbers(3, 2, 5), _numbers(6, 5)),
}
_TEXTS = {
    "2_tokens": (_numbers(2, 2), _numbers(2, 2), _numbers(2, 3)),
    "5_tokens_of_width_3": (_numbers(5, 3), _numbers(5, 3), _numbers(5, 2)),
}
_SCORES = {
    "2_of_3_experts": (_numbers(2, 3), 2),
    "2_of_5_experts": (_numbers(4, 5), 2),
}
_MODELS = {
    "a_short_text": ("WG", 4, 3, 5, 2),
    "a_long_text": ("WWG", 7, 100, 8, 3),
}
