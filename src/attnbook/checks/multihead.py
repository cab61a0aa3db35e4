"""Chapter 6: one tensor in heads, and multi-head attention, also without a look ahead."""

from collections.abc import Callable
from functools import partial

import torch
from einops import rearrange
from torch import Tensor

from attnbook.checks.judging import Wrong, call, compare, exercise, explained
from attnbook.layers.dot_product import attention
from attnbook.layers.masks import causal


@exercise
def split_heads(answer: Callable[[Tensor, int], Tensor]) -> None:
    """`answer(x_BLD, heads)` has shape (B, H, L, K): head h gets the h-th piece of every token's features."""
    answers = {case: call(answer, *inputs) for case, inputs in _SPLITS.items()}
    for case, got in answers.items():
        x, heads = _SPLITS[case]
        want = _right(x, heads)
        compare(
            case,
            got,
            want,
            ("text", "head", "token", "feature"),
            partial(explained, answers, WRONG_SPLIT, _SPLITS, case),
        )


@exercise
def multi_head(answer: Callable[..., Tensor]) -> None:
    """`answer(x_BLD, W_q, W_k, W_v, W_o, heads)`, each matrix (D, D), is multi-head self-attention (B, L, D)."""
    _judge_layer(answer, _multi_head(), WRONG_MULTI_HEAD)


@exercise
def causal_multi_head(answer: Callable[..., Tensor]) -> None:
    """The same arguments: multi-head self-attention in which each token sees itself and what came before it."""
    _judge_layer(answer, _multi_head(attend=_causally), WRONG_CAUSAL_MULTI_HEAD)


def _judge_layer(answer: Callable[..., Tensor], right: Callable, wrong: dict[str, Callable]) -> None:
    answers = {case: call(answer, *inputs) for case, inputs in _LAYERS.items()}
    for case, got in answers.items():
        if isinstance(got, tuple):
            raise Wrong("output_alone", case=case, n=len(got))
        want = right(*_LAYERS[case])
        compare(case, got, want, ("text", "token", "feature"), partial(explained, answers, wrong, _LAYERS, case))


def _right(x: Tensor, H: int) -> Tensor:
    return rearrange(x, "B L (H K) -> B H L K", H=H)


def _view(x: Tensor, H: int) -> Tensor:
    B, L, D = x.shape
    return x.reshape(B, H, L, D // H)


def _every(x: Tensor, H: int) -> Tensor:
    return rearrange(x, "B L (K H) -> B H L K", H=H)


WRONG_SPLIT: dict[str, Callable[[Tensor, int], Tensor]] = {
    "views_without_a_transpose": _view,
    "gives_each_head_every_h_th": _every,
    "has_heads_in_the_wrong_order": lambda x, H: _right(x, H).flip(1),
}


def _multi_head(
    split: Callable = _right,
    join: str = "B H L K -> B L (H K)",
    scale: Callable = lambda D, H: 1.0,
    output=True,
    attend: Callable = attention,
) -> Callable[..., Tensor]:
    def layer(x, W_q, W_k, W_v, W_o, heads):
        q, k, v = (split(x @ W.T, heads) for W in (W_q, W_k, W_v))
        y, _ = attend(q * scale(x.shape[-1], heads), k, v)
        y = y.reshape(x.shape) if split is _view else rearrange(y, join)
        return y @ W_o.T if output else y

    return layer


# What real code has got wrong, each as a function with the signature of the exercise.
WRONG_MULTI_HEAD: dict[str, Callable[..., Tensor]] = {
    "views_without_a_transpose_in_a_layer": _multi_head(_view),
    "joins_the_heads_without_a_transpose": lambda x, W_q, W_k, W_v, W_o, heads: (
        attention(*(_right(x @ W.T, heads) for W in (W_q, W_k, W_v)))[0].reshape(x.shape) @ W_o.T
    ),
    "lets_the_heads_of_one_token": lambda x, W_q, W_k, W_v, W_o, heads: (
        attention(*(_right(x @ W.T, heads).transpose(1, 2) for W in (W_q, W_k, W_v)))[0].reshape(x.shape) @ W_o.T
    ),
    "divides_by_root_of_the_whole_width": _multi_head(scale=lambda D, H: H**-0.5),
    "does_not_divide_the_scores": _multi_head(scale=lambda D, H: (D // H) ** 0.5),
    "leaves_w_o_out": _multi_head(output=False),
    "joins_the_heads_in_the_wrong": _multi_head(join="B H L K -> B L (K H)"),
    "has_one_head": lambda x, W_q, W_k, W_v, W_o, heads: _multi_head()(x, W_q, W_k, W_v, W_o, 1),
    "multiplies_by_the_matrices": lambda x, W_q, W_k, W_v, W_o, heads: _multi_head()(
        x, W_q.T, W_k.T, W_v.T, W_o.T, heads
    ),
}


def _causally(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return attention(q, k, v, causal(q.shape[-2]))


def _weighed(weights: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    """Attention by weights that are made of scores and of what may be seen."""

    def attend(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        p = weights(q @ k.mT / q.shape[-1] ** 0.5, causal(q.shape[-2]))
        return p @ v, p

    return attend


# What goes wrong with the causal layer, each as a function with the signature of the exercise.
WRONG_CAUSAL_MULTI_HEAD: dict[str, Callable[..., Tensor]] = {
    "has_no_mask": _multi_head(),
    "looks_at_later_tokens_alone": _multi_head(attend=lambda q, k, v: attention(q, k, v, causal(q.shape[-2]).mT)),
    "hides_a_token_from_itself": _multi_head(
        attend=_weighed(lambda scores, sees: scores.masked_fill(~sees.tril(-1), -torch.inf).softmax(-1))
    ),
    "hides_itself_and_what_came_before": _multi_head(
        attend=_weighed(lambda scores, sees: scores.masked_fill(sees, -torch.inf).softmax(-1))
    ),
    "masks_weights_and_not_scores": _multi_head(attend=_weighed(lambda scores, sees: scores.softmax(-1) * sees)),
    "gives_hidden_scores_a_0": _multi_head(attend=_weighed(lambda scores, sees: (scores * sees).softmax(-1))),
    "views_without_a_transpose_in_a_layer": _multi_head(_view, attend=_causally),
    "divides_by_root_of_the_whole_width": _multi_head(scale=lambda D, H: H**-0.5, attend=_causally),
    "has_one_head": lambda x, W_q, W_k, W_v, W_o, heads: _multi_head(attend=_causally)(x, W_q, W_k, W_v, W_o, 1),
}


def _cases() -> tuple[dict[str, tuple], dict[str, tuple]]:
    draw = torch.Generator().manual_seed(6)
    random = lambda *shape: torch.randn(*shape, generator=draw).round(decimals=2)  # noqa: E731
    splits = {
        "two_heads_of_2": (torch.arange(12.0).view(1, 3, 4), 2),
        "three_heads_of_2": (random(2, 5, 6), 3),
        "one_head": (random(2, 3, 4), 1),
    }
    layers = {
        "two_heads_of_2": (random(1, 3, 4), *(random(4, 4) for _ in range(4)), 2),
        "two_heads_of_3": (random(2, 5, 6), *(random(6, 6) for _ in range(4)), 2),
        "three_heads_of_2": (random(2, 5, 6), *(random(6, 6) for _ in range(4)), 3),
    }
    return splits, layers


_SPLITS, _LAYERS = _cases()
