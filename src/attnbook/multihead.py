"""Multi-head attention: several small attentions side by side, each looking for something of its own."""

import torch
from einops import rearrange, repeat
from torch import Tensor, nn

from attnbook.dot_product import DotProductAttention
from attnbook.inputs import check_mask, check_sequences, check_width
from attnbook.masks import only_seen
from attnbook.positions import ALiBi, RelativeBias, Rotary


class KVCache:
    """The keys and values of one layer for every position so far, so that no position is ever projected twice.

    >>> layer, cache, x_BLD = MultiHeadAttention(D=8, heads=2), KVCache(), torch.ones(1, 3, 8)
    >>> for token in x_BLD.split(1, dim=1):  # one position at a time
    ...     y = layer(token, cache=cache)
    >>> len(cache)
    3

    For a layer that attends to a context the cache keeps the context's keys and values: they are projected once.
    """

    def __init__(self):
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def __len__(self) -> int:
        return 0 if self.keys is None else self.keys.shape[-2]

    @property
    def nbytes(self) -> int:
        return 0 if self.keys is None else self.keys.nbytes + self.values.nbytes

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values, the new ones last."""
        if self.keys is not None:
            if k.shape[:-2] != self.keys.shape[:-2]:
                held, new = tuple(self.keys.shape[:-2]), tuple(k.shape[:-2])
                raise ValueError(
                    f"this cache holds keys for a batch and heads of {held}, the new ones are {new}. "
                    "A cache belongs to one layer and one batch; for a new one, make a KVCache()."
                )
            k, v = torch.cat([self.keys, k], -2), torch.cat([self.values, v], -2)
        self.keys, self.values = k, v
        return k, v

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order: what beam search does between two steps."""
        if self.keys is not None:
            self.keys, self.values = self.keys[rows], self.values[rows]


class MultiHeadAttention(DotProductAttention):
    """`heads` attentions in parallel over learned projections, their outputs side by side mixed by one more.

    >>> layer = MultiHeadAttention(D=8, heads=2)
    >>> x_BLD = torch.ones(1, 3, 8)
    >>> layer(x_BLD).shape  # self-attention; with a context, cross-attention
    torch.Size([1, 3, 8])

    key_size, value_size   width of the context's keys and values, where it is not D
    d_k, d_v               width of one head's keys and of its values; D / heads unless given
    kv_heads               so many heads of keys and values, each shared by heads / kv_heads queries (1: multi-query)
    rotary, score_bias     relative positions: `Rotary` turns queries and keys, `ALiBi` or `RelativeBias` add to scores

    Calls are `layer(x, context=None, mask=None, cache=None)`; the context is one tensor or (keys, values). A mask
    (B, L, M) holds for all heads, (B, heads, L, M) for each. With a cache, M counts what it holds already.
    """

    def __init__(
        self,
        D: int,
        heads: int,
        *,
        key_size: int | None = None,
        value_size: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        kv_heads: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
        rotary: Rotary | None = None,
        score_bias: RelativeBias | ALiBi | None = None,
    ):
        super().__init__(dropout)
        kv_heads = heads if kv_heads is None else kv_heads
        if heads < 1 or kv_heads < 1 or heads % kv_heads:
            raise ValueError(f"heads must be a multiple of kv_heads, both at least 1; got {heads} and {kv_heads}.")
        if D % heads and (d_k is None or d_v is None):
            raise ValueError(
                f"D = {D} does not split into {heads} heads of one width; try another, or give d_k and d_v."
            )
        d_k, d_v = D // heads if d_k is None else d_k, D // heads if d_v is None else d_v
        key_size, value_size = D if key_size is None else key_size, D if value_size is None else value_size
        if rotary is not None and d_k != rotary.K:
            raise ValueError(f"rotary turns vectors of width {rotary.K}, but one head's are of width d_k = {d_k}.")
        if score_bias is not None and score_bias.heads != heads:
            raise ValueError(f"score_bias is for {score_bias.heads} heads, this layer has {heads}.")
        self.heads, self.kv_heads = heads, kv_heads
        self.query = nn.Linear(D, heads * d_k, bias)
        self.key = nn.Linear(key_size, kv_heads * d_k, bias)
        self.value = nn.Linear(value_size, kv_heads * d_v, bias)
        self.output = nn.Linear(heads * d_v, D, bias)
        self.rotary, self.score_bias = rotary, score_bias

    def forward(
        self,
        x: Tensor,
        context: Tensor | tuple[Tensor, Tensor] | None = None,
        mask: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        past = len(cache) if context is None and cache is not None else 0
        keys, values = context if isinstance(context, tuple) else (x, x) if context is None else (context, context)
        self._check(x, keys, values, mask, past, cross=context is not None)
        if mask is not None and 3 <= mask.ndim <= x.ndim:  # one for all heads
            mask = mask.unsqueeze(-3)
        q_BHLK = self._turned(rearrange(self.query(x), "... L (H K) -> ... H L K", H=self.heads), past)
        filled = context is not None and cache  # a context is projected once
        if filled and (held := (*cache.keys.shape[:-3], len(cache))) != keys.shape[:-1]:
            raise ValueError(f"this cache was filled from a context of {held} positions, got {tuple(keys.shape[:-1])}.")
        k_BHMK, v_BHMV = (cache.keys, cache.values) if filled else self._project(keys, values, past, cache)
        bias = None if self.score_bias is None else self.score_bias(x.shape[-2], k_BHMK.shape[-2]).to(q_BHLK.dtype)
        k_BHMK = only_seen(self._shared(k_BHMK), mask)  # under the old names, so that what they held can go
        v_BHMV = only_seen(self._shared(v_BHMV), mask)
        y_BHLV = self._attend(q_BHLK, k_BHMK, v_BHMV, mask, bias)
        return self.output(rearrange(y_BHLV, "... H L V -> ... L (H V)"))

    def _project(self, keys: Tensor, values: Tensor, past: int, cache: KVCache | None) -> tuple[Tensor, Tensor]:
        """Keys and values in heads, after those that the cache holds."""
        k_BHMK = self._turned(rearrange(self.key(keys), "... M (H K) -> ... H M K", H=self.kv_heads), past)
        v_BHMV = rearrange(self.value(values), "... M (H V) -> ... H M V", H=self.kv_heads)
        return (k_BHMK, v_BHMV) if cache is None else cache.append(k_BHMK, v_BHMV)

    def _turned(self, x_BHLK: Tensor, start: int) -> Tensor:
        return x_BHLK if self.rotary is None else self.rotary(x_BHLK, start)

    def _shared(self, x_BHMK: Tensor) -> Tensor:
        """Each head of keys or values, once for every head of queries that shares it."""
        share = self.heads // self.kv_heads
        return x_BHMK if share == 1 else repeat(x_BHMK, "... H M K -> ... (H share) M K", share=share)

    def extra_repr(self) -> str:
        return f"heads={self.heads}, kv_heads={self.kv_heads}, {super().extra_repr()}"

    def _check(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, past: int, cross: bool) -> None:
        check_sequences(x=x, keys=keys, values=values)
        for name, tensor, layer in (("x", x, self.query), ("keys", keys, self.key), ("values", values, self.value)):
            width = layer.in_features
            check_width(name, tensor, width, f"This layer was made for {name} of width {width}.")
        if cross and (self.rotary is not None or self.score_bias is not None):
            raise ValueError("relative positions compare places in one sequence; with a context there are two.")
        heads = (self.heads,) if isinstance(mask, Tensor) and mask.ndim > x.ndim else ()
        check_mask(mask, x, (*x.shape[:-2], *heads, x.shape[-2], past + keys.shape[-2]))
