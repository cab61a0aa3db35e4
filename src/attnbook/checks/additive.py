"""Chapter 4: additive scores, the same without a number for every pair and hidden unit, and a step of the decoder."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from attnbook.checks.judging import Wrong, call, compare, describe, exercise, explained
from attnbook.language import whole
from attnbook.layers.additive import additive_scores as book_scores

Step = Callable[[Tensor, Tensor, Callable, Callable, Callable], tuple[Tensor, Tensor]]


@exercise
def additive_scores(answer: Callable[..., Tensor]) -> None:
    """`answer(queries, keys, W_q, W_k, w)` is w·tanh(W_q q + W_k k) for every query and key, of shape (L, M)."""
    answers = {case: call(answer, *inputs) for case, inputs in _CASES.items()}
    for case, got in answers.items():
        queries, keys, W_q, W_k, w = _CASES[case]
        want = book_scores(queries @ W_q.T, keys @ W_k.T, w)
        compare(case, got, want, ("query", "key"), partial(explained, answers, WRONG_ADDITIVE, _CASES, case))


@exercise
def factorised_scores(answer: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """`answer(q_LK, k_MK, w_K)` is w·tanh(q + k), without a tensor as large as L × M × K on the way, and with an
    exponential for each query and key, not for each pair."""
    watches, answers = {case: _Watch() for case in _FACTORS}, {}
    for case, inputs in _FACTORS.items():
        with watches[case]:
            answers[case] = call(answer, *inputs)
    why = lambda: explained(answers, WRONG_FACTORISED, _FACTORS)  # noqa: E731
    for case, got in answers.items():
        compare(case, got, book_scores(*_FACTORS[case]), ("query", "key"), why)
    q_LK, k_MK, _ = _FACTORS[_LARGE]
    pairs, single, watch = q_LK.numel() * len(k_MK), q_LK.numel() + k_MK.numel(), watches[_LARGE]
    if watch.largest >= pairs:
        raise Wrong("large_tensor", case=_LARGE, got=whole(watch.largest), most=whole(pairs))
    if watch.curved > single:
        raise Wrong("many_powers", case=_LARGE, got=whole(watch.curved), enough=whole(single))


@exercise
def decoder_step(answer: Step) -> None:
    """`answer(letter_BE, hidden_BD, look, cell, output)` gives logits and the new state: it looks with the state as it
    was, the cell is given letter and context, and the logits come of the new state and the context.
    """
    got = call(answer, *_STEP)
    if not isinstance(got, list | tuple) or len(got) != 2:
        raise Wrong("logits_and_state", got=describe(got))
    answers = {"the_logits": got[0], "the_new_state": got[1]}
    cases = {case: (place,) for place, case in enumerate(answers)}
    wrong = {name: (lambda place, step=step: step(*_STEP)[place]) for name, step in WRONG_DECODER_STEP.items()}
    for case in ("the_new_state", "the_logits"):
        want = _step()(*_STEP)[cases[case][0]]
        compare(case, answers[case], want, ("text", "feature"), partial(explained, answers, wrong, cases, case))


class _Watch(TorchFunctionMode):
    """How many numbers the largest tensor has that a function of PyTorch returns, and how many exp and tanh meet."""

    largest = curved = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **kwargs or {})
        if isinstance(result, Tensor):
            self.largest = max(self.largest, result.untyped_storage().nbytes() // result.element_size())
            if getattr(function, "__name__", "").strip("_") in ("exp", "exp2", "expm1", "tanh", "sigmoid"):
                self.curved += result.numel()
        return result


def _additive_from(score: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    def wrong(queries, keys, W_q, W_k, w):
        return score((queries @ W_q.T)[:, None], keys @ W_k.T, w)

    return wrong


# What real code has got wrong, each as a function with the signature of the exercise.
WRONG_ADDITIVE: dict[str, Callable[..., Tensor]] = {
    "leaves_the_tanh_out": _additive_from(lambda q, k, w: (q + k) @ w),
    "takes_the_tanh_of_query": _additive_from(lambda q, k, w: (q.tanh() + k.tanh()) @ w),
    "takes_the_tanh_after_the_sum": _additive_from(lambda q, k, w: ((q + k) @ w).tanh()),
    "takes_a_sigmoid": _additive_from(lambda q, k, w: (q + k).sigmoid() @ w),
    "leaves_the_query_out": _additive_from(lambda q, k, w: (0 * q + k).tanh() @ w),
    "leaves_w_out": _additive_from(lambda q, k, w: (q + k).tanh().sum(-1)),
    "multiplies_query_and_key": _additive_from(lambda q, k, w: (q * k).tanh() @ w),
    "subtracts_the_key": _additive_from(lambda q, k, w: (q - k).tanh() @ w),
    "takes_a_softmax": _additive_from(lambda q, k, w: ((q + k).tanh() @ w).softmax(-1)),
}


def _factorised_from(score: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda q_LK, k_MK, w_K: score(q_LK[:, None], k_MK[None], w_K)


WRONG_FACTORISED: dict[str, Callable[..., Tensor]] = {
    "leaves_the_sum_of_w_out": _factorised_from(lambda q, k, w: -2 * (1 / (1 + (2 * q).exp() * (2 * k).exp())) @ w),
    "adds_a_1_for_every_hidden": _factorised_from(
        lambda q, k, w: w.numel() - 2 * (1 / (1 + (2 * q).exp() * (2 * k).exp())) @ w
    ),
    "adds_the_two_powers_of_e": _factorised_from(
        lambda q, k, w: w.sum() - 2 * (1 / (1 + (2 * q).exp() + (2 * k).exp())) @ w
    ),
    "forgets_the_2_in_the_powers": _factorised_from(lambda q, k, w: w.sum() - 2 * (1 / (1 + (q + k).exp())) @ w),
    "has_the_powers_of_e_upside": _factorised_from(
        lambda q, k, w: w.sum() - 2 * (1 / (1 + (-2 * q).exp() * (-2 * k).exp())) @ w
    ),
    "forgets_the_2_in_front": _factorised_from(lambda q, k, w: w.sum() - (1 / (1 + (2 * q + 2 * k).exp())) @ w),
}


def _join(*parts: Tensor) -> Tensor:
    return torch.cat(parts, -1)


def _step(given=_join, read=_join, again: bool = False, late: bool = False, old: bool = False) -> Step:
    def step(letter, hidden, look, cell, output):
        context = look(hidden)
        new = cell(given(letter, context), hidden)
        context = look(new) if again else context
        return output(read(hidden if late else new, context)), hidden if old else new

    return step


# What goes wrong with a step of the decoder, each as a function with the signature of the exercise.
WRONG_DECODER_STEP: dict[str, Step] = {
    "joins_the_context_before_the_letter": _step(given=lambda letter, context: _join(context, letter)),
    "joins_the_context_before_the_state": _step(read=lambda new, context: _join(context, new)),
    "looks_again_with_the_new_state": _step(again=True),
    "takes_logits_of_the_old_state": _step(late=True),
    "gives_the_old_state_back": _step(old=True),
    "gives_the_cell_no_context": _step(given=lambda letter, context: _join(letter, 0 * context)),
    "takes_logits_without_the_context": _step(read=lambda new, context: _join(new, 0 * context)),
}


_LARGE = "L=64, M=48, K=16"


def _cases() -> tuple[dict[str, tuple], dict[str, tuple]]:
    draw = torch.Generator().manual_seed(4)
    random = lambda *shape: torch.randn(*shape, generator=draw).round(decimals=2)  # noqa: E731
    scores = {
        "one_hidden_unit": tuple(
            torch.tensor(x) for x in ([[1.0, 2.0]], [[0.0], [3.0]], [[1.0, -1.0]], [[1.0]], [0.5])
        ),
        "L=3, M=5": (random(3, 4), random(5, 2), random(6, 4), random(6, 2), random(6)),
    }
    factors = {
        "two_queries_three_keys": (random(2, 2), random(3, 2), random(2)),
        _LARGE: tuple((random(*shape) / 3).round(decimals=1) for shape in ((64, 16), (48, 16), (16,))),
    }
    return scores, factors


_CASES, _FACTORS = _cases()


def _parts(letter: Tensor, hidden: Tensor, asks: Tensor, memory: Tensor, *weights: Tensor) -> tuple:
    """Two texts, letters of 3 numbers, states of 5, contexts of 4, and logits for 6 tokens."""
    turns, keeps, reads = weights
    return (
        letter,
        hidden,
        lambda x: (x @ asks).softmax(-1) @ memory,
        lambda given, x: torch.tanh(given @ turns + x @ keeps),
        lambda x: x @ reads,
    )


_DRAW = torch.Generator().manual_seed(7)
_SHAPES = ((2, 3), (2, 5), (5, 7), (7, 4), (7, 5), (5, 5), (9, 6))
_NUMBERS = tuple(torch.randn(*shape, generator=_DRAW).round(decimals=2) for shape in _SHAPES)
_STEP = _parts(*_NUMBERS)
