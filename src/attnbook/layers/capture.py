"""Attention weights on demand, and nothing kept when nobody asks."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from attnbook.errors import meant
from attnbook.layers._watch import PARTS, Attended, AttentionLayer, Watcher, unseen, watching


@contextmanager
def capture_attention(
    model: nn.Module,
    *,
    layers: Iterable[str | int] | str | int | None = None,
    what: str = "weights",
    keep: Callable[[Tensor], Tensor] | None = None,
) -> Iterator[dict[str, Tensor]]:
    """The weights of every attention in `model`, by the name of the module that computes it; `""` is the model itself.

    >>> from attnbook import DotProductAttention
    >>> layer, x_BLD = DotProductAttention(), torch.zeros(1, 2, 8)
    >>> with capture_attention(layer) as maps:
    ...     _ = layer(x_BLD, x_BLD, x_BLD)
    >>> maps[""]
    tensor([[[0.5000, 0.5000],
             [0.5000, 0.5000]]])

    It may be anybody's model: seen are the layers of attnbook, nn.MultiheadAttention and all that is made of it, and
    whatever calls F.scaled_dot_product_attention, as most models do, or flex_attention.

    >>> block, x_BLD = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True).eval(), torch.randn(1, 3, 8)
    >>> with capture_attention(block) as maps:
    ...     _ = block(x_BLD)
    >>> {name: tuple(weights.shape) for name, weights in maps.items()}
    {'self_attn': (1, 2, 3, 3)}

    What other people's layers compute is the same to the last bit. Layers of attnbook take the readable path, which has
    weights to show. A module that attends more than once in one call has maps `name`, `name#2` and so on; of one called
    twice, the last call is shown. The maps are detached, and taken before dropout.

    layers   only these, by name, or by number in the order in which they first attend: `list(maps)` has that order
    what     instead of the weights, what they came from or led to, for each head: "queries", "keys", "values" (as they
             meet, with their positions in them), "scores" (of which the weights are the softmax), "outputs" (before the
             heads are joined). For several, open one `capture_attention` inside another.
    keep     what to keep of each map, such as `lambda weights: weights.half().cpu()`

    >>> with capture_attention(block) as maps, capture_attention(block, what="scores") as scores:
    ...     _ = block(x_BLD)
    >>> torch.allclose(scores["self_attn"].softmax(-1), maps["self_attn"])
    True
    """
    capture = _Capture(model, layers, what, keep)
    with watching(capture):
        yield capture.maps
    capture.check_met()
    if hidden := unseen(model):
        some = "the model itself" if hidden == [""] else ", ".join(map(repr, hidden))
        told = f"torch.jit made {some}: if it attends, that can't be seen. Look into the module from which it was made."
        if not capture.maps:
            raise ValueError(told)
        warnings.warn(f"{told} The other maps are there.", stacklevel=3)
    if not capture.maps and not any(isinstance(module, AttentionLayer) for module in capture.names):
        raise ValueError(
            f"{type(model).__name__} holds no attention layer of attnbook, and called none of PyTorch's: there was "
            "nothing to capture. Did you call model(x) inside, not model.forward(x)? If it computes "
            "softmax(QKᵀ) by hand, let it call F.scaled_dot_product_attention; a model of transformers does with "
            "attn_implementation='sdpa'."
        )


class _Capture(Watcher):
    """Keeps what it sees."""

    def __init__(
        self,
        model: nn.Module,
        layers: Iterable[str | int] | str | int | None,
        what: str,
        keep: Callable[[Tensor], Tensor] | None,
    ):
        if what not in PARTS:
            ways = ", ".join(map(repr, PARTS))
            raise ValueError(f"what must be one of {ways}; got {what!r}. {meant(what, PARTS)}".rstrip())
        super().__init__(model, layers)
        self.what, self.keep, self.maps = what, keep, {}
        self.looks_inside = what != "weights"

    def see(self, name: str, seen: Attended) -> None:
        with torch.no_grad():
            part = seen.part(self.what).detach()
            self.maps[name] = part if self.keep is None else self.keep(part)
