"""Chapter 6: one tensor in heads, and multi-head attention."""

from collections.abc import Callable

import torch
from einops import rearrange
from torch import Tensor

from attnbook.checks.judging import Wrong, call, compare, exercise, explained
from attnbook.layers.dot_product import attention


@exercise
def split_heads(answer: Callable[[Tensor, int], Tensor]) -> None:
    """`answer(x_BLD, heads)` has shape (B, H, L, K): head h gets the h-th piece of every token's features."""
    answers = {case: call(answer, *inputs) for case, inputs in _SPLITS.items()}
    for case, got in answers.items():
        x, heads = _SPLITS[case]
        want = _right(x, heads)
        compare(case, got, want, ("text", "head", "token", "feature"), lambda: explained(answers, WRONG_SPLIT, _SPLITS))


@exercise
def multi_head(answer: Callable[..., Tensor]) -> None:
    """`answer(x_BLD, W_q, W_k, W_v, W_o, heads)`, each matrix (D, D), is multi-head self-attention (B, L, D)."""
    answers = {case: call(answer, *inputs) for case, inputs in _LAYERS.items()}
    for case, got in answers.items():
        if isinstance(got, tuple):
            raise Wrong(f"{case}: return the output alone, got {len(got)} things")
        want = _multi_head()(*_LAYERS[case])
        compare(case, got, want, ("text", "token", "feature"), lambda: explained(answers, WRONG_MULTI_HEAD, _LAYERS))


def _right(x: Tensor, H: int) -> Tensor:
    return rearrange(x, "B L (H K) -> B H L K", H=H)


def _view(x: Tensor, H: int) -> Tensor:
    B, L, D = x.shape
    return x.reshape(B, H, L, D // H)


def _every(x: Tensor, H: int) -> Tensor:
    return rearrange(x, "B L (K H) -> B H L K", H=H)


WRONG_SPLIT: dict[str, Callable[[Tensor, int], Tensor]] = {
    "views without a transpose: its rows are no longer tokens": _view,
    "gives each head every H-th feature, and not a piece": _every,
    "has heads in the wrong order": lambda x, H: _right(x, H).flip(1),
}


def _multi_head(
    split: Callable = _right, join: str = "B H L K -> B L (H K)", scale: Callable = lambda D, H: 1.0, output=True
) -> Callable[..., Tensor]:
    def layer(x, W_q, W_k, W_v, W_o, heads):
        q, k, v = (split(x @ W.T, heads) for W in (W_q, W_k, W_v))
        y, _ = attention(q * scale(x.shape[-1], heads), k, v)
        y = y.reshape(x.shape) if split is _view else rearrange(y, join)
        return y @ W_o.T if output else y

    return layer


# What real code has got wrong, each as a function with the signature of the exercise.
WRONG_MULTI_HEAD: dict[str, Callable[..., Tensor]] = {
    "views without a transpose, so that heads mix pieces of one token": _multi_head(_view),
    "joins the heads without a transpose back": lambda x, W_q, W_k, W_v, W_o, heads: (
        attention(*(_right(x @ W.T, heads) for W in (W_q, W_k, W_v)))[0].reshape(x.shape) @ W_o.T
    ),
    "lets the heads of one token attend to each other, and not the tokens": lambda x, W_q, W_k, W_v, W_o, heads: (
        attention(*(_right(x @ W.T, heads).transpose(1, 2) for W in (W_q, W_k, W_v)))[0].reshape(x.shape) @ W_o.T
    ),
    "divides the scores by √D, and not by √K": _multi_head(scale=lambda D, H: H**-0.5),
    "does not divide the scores": _multi_head(scale=lambda D, H: (D // H) ** 0.5),
    "leaves W_o out": _multi_head(output=False),
    "joins the heads in the wrong order": _multi_head(join="B H L K -> B L (K H)"),
    "has one head, whatever it is told": lambda x, W_q, W_k, W_v, W_o, heads: _multi_head()(x, W_q, W_k, W_v, W_o, 1),
    "multiplies by the matrices, and not by their transposes": lambda x, W_q, W_k, W_v, W_o, heads: _multi_head()(
        x, W_q.T, W_k.T, W_v.T, W_o.T, heads
    ),
}


def _cases() -> tuple[dict[str, tuple], dict[str, tuple]]:
    draw = torch.Generator().manual_seed(6)
    random = lambda *shape: torch.randn(*shape, generator=draw)  # noqa: E731
    splits = {
        "B=1, L=3, D=4, 2 heads": (torch.arange(12.0).view(1, 3, 4), 2),
        "B=2, L=5, D=6, 3 heads": (random(2, 5, 6), 3),
        "one head": (random(2, 3, 4), 1),
    }
    layers = {
        "B=1, L=3, D=4, 2 heads": (random(1, 3, 4), *(random(4, 4) for _ in range(4)), 2),
        "B=2, L=5, D=6, 2 heads": (random(2, 5, 6), *(random(6, 6) for _ in range(4)), 2),
        "B=2, L=5, D=6, 3 heads": (random(2, 5, 6), *(random(6, 6) for _ in range(4)), 3),
    }
    return splits, layers


_SPLITS, _LAYERS = _cases()
