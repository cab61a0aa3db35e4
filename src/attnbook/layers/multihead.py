"""Multi-head attention: several small attentions side by side, each looking for something of its own."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook._inputs import check_fits, check_mask, check_sequences, check_sizes, kind_of
from attnbook.layers._sight import any_head, clean, each_head, zero_unseen_keys
from attnbook.layers.dot_product import DotProductAttention, shared
from attnbook.layers.masks import sliding_window
from attnbook.layers.positions import ALiBi, RelativeBias, Rotary


class KVCache:
    """The keys and values of one layer for every position so far, so that no position is ever projected twice.

    >>> layer, cache, x_BLD = MultiHeadAttention(D=8, heads=2), KVCache(), torch.ones(1, 3, 8)
    >>> for token in x_BLD.split(1, dim=1):  # one position at a time
    ...     y = layer(token, cache=cache)
    >>> len(cache)
    3

    A prompt of several positions still needs its mask: causal(L, len(cache) + L). For a layer that attends to a context
    the cache keeps the context's keys and values. One cache belongs to one layer and one sequence or context. A layer
    with a window lets it forget what has moved out of sight; its length is how many positions there were, all the same.
    """

    def __init__(self):
        self.keys: Tensor | None = None
        self.values: Tensor | None = None
        self.complete = False  # a context is
        self.first, self.forgotten = 0, 0  # how many positions were kept, and how many after them were not

    def __len__(self) -> int:
        return 0 if self.keys is None else self.keys.shape[-2] + self.forgotten

    @property
    def nbytes(self) -> int:
        return sum(held.nbytes for held in (self.keys, self.values) if held is not None)

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values, the new ones last."""
        if self.complete:
            raise ValueError("this cache holds a context, which does not grow; for x, make another KVCache().")
        if self.keys is not None and self.values is not None:
            for name, new, held in (("keys", k, self.keys), ("values", v, self.values)):
                if (*new.shape[:-2], new.shape[-1]) != (*held.shape[:-2], held.shape[-1]):
                    raise ValueError(
                        f"this cache holds {name} of shape {tuple(held.shape)}, the new ones are {tuple(new.shape)}; "
                        "only the length may differ. It belongs to one layer and one batch: make another KVCache()."
                    )
            k, v = torch.cat([self.keys, k], -2), torch.cat([self.values, v], -2)
        self.keys, self.values = k, v
        return k, v

    def forget(self, window: int, sinks: int) -> None:
        """Drop what no later query sees: all but the first `sinks` positions and the last window - 1."""
        if self.keys is not None and self.values is not None:
            over = self.keys.shape[-2] - sinks - (window - 1)
            if over > 0:
                self.keys, self.values = (
                    torch.cat([x[..., :sinks, :], x[..., sinks + over :, :]], -2) for x in (self.keys, self.values)
                )
                self.first, self.forgotten = sinks, self.forgotten + over

    def places(self, M: int, device: torch.device) -> Tensor:
        """Where the last M positions that it gave stand in the text: the first ones, then those after the gap."""
        held = torch.arange(M, device=device)
        return held + self.forgotten * (held >= self.first)

    def keep(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """The keys and values of a context, which are all there at once."""
        self.keys, self.values, self.complete = k, v, True
        return k, v

    def recall(self, context: Tensor) -> tuple[Tensor, Tensor]:
        """What was kept of this context. (Whether it is this one, only its shape can tell.)"""
        if not self.complete or self.keys is None or self.values is None:
            raise ValueError("this cache holds earlier positions of x; for a context, make another KVCache().")
        kept = (*self.keys.shape[:-3], len(self))
        if kept != context.shape[:-1]:
            raise ValueError(
                f"this cache holds a context of batch and length {kept}, got {tuple(context.shape[:-1])}. "
                "For another context, make another KVCache()."
            )
        return self.keys, self.values

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order: what beam search does between two steps."""
        if self.keys is not None and self.values is not None:
            if self.keys.ndim < 4:
                raise ValueError(
                    "select picks rows of a batch, but this cache holds one sequence without a batch axis."
                )
            self.keys, self.values = self.keys[rows], self.values[rows]


class FixedCache(KVCache):
    """A static KV cache: memory for some positions more than another has, the next written where a tensor says.

    One step then differs from another in nothing but the numbers in its tensors, so a CUDA graph can replay it. What
    moves on, the caches of all layers share:

    place    (1,), where the position of this step stands
    hidden   (1, M), added to the scores: -inf where nothing stands yet
    """

    keys: Tensor
    values: Tensor

    def __init__(self, cache: KVCache, place: Tensor, hidden: Tensor):
        super().__init__()
        self.place, self.hidden = place, hidden
        if cache.keys is None or cache.values is None or cache.complete or cache.forgotten:
            raise ValueError("a cache of fixed size goes on from one that holds all positions so far.")
        more = hidden.shape[-1] - cache.keys.shape[-2]
        self.keys, self.values = (F.pad(held, (0, 0, 0, more)) for held in (cache.keys, cache.values))

    def __len__(self) -> int:
        return int(self.place) + 1

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values, those to come among them: zeros, and hidden."""
        return self.keys.index_copy_(-2, self.place, k), self.values.index_copy_(-2, self.place, v)

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order, where they are."""
        for held in (self.keys, self.values):
            held.copy_(held[rows])


class MultiHeadAttention(DotProductAttention):
    """concat(head_1, ..., head_H) W_o, where each head is attention(x W_q, c W_k, c W_v) with weights of its own.

    The context c is x itself unless given.

    >>> layer = MultiHeadAttention(D=8, heads=2)
    >>> x_BLD = torch.ones(1, 3, 8)
    >>> layer(x_BLD).shape  # self-attention; with a context, cross-attention
    torch.Size([1, 3, 8])

    key_size, value_size   width of the context's keys and values, where it is not D
    d_k, d_v               width of one head's keys and of its values; D / heads unless given
    kv_heads               heads of keys and values, each shared by heads / kv_heads heads of queries (1: multi-query)
    bias, dropout          a bias in all four projections; the share of attention weights to drop in training
    rotary, score_bias     relative positions, for self-attention: `Rotary` turns queries and keys, `ALiBi` or
                           `RelativeBias` add to the scores
    qk_norm                makes a norm of a width, such as nn.RMSNorm: one for each head's queries, one for its keys
    softcap                scores become softcap · tanh(score / softcap); no fused kernel does that
    window, sinks          for self-attention, causal: only the last `window` positions are seen, the query's own
                           included, and the first `sinks`; a cache keeps no more than these
    learned_sink           each head has a learned score for nothing: a key, as it were, whose value is zero

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
        qk_norm: Callable[[int], nn.Module] | None = None,
        softcap: float | None = None,
        window: int | None = None,
        sinks: int = 0,
        learned_sink: bool = False,
    ):
        super().__init__(dropout)
        kv_heads = heads if kv_heads is None else kv_heads
        check_sizes(D=D, heads=heads, kv_heads=kv_heads)
        if heads % kv_heads:
            raise ValueError(f"heads must be a multiple of kv_heads; got {heads} and {kv_heads}.")
        if D % heads and (d_k is None or d_v is None):
            raise ValueError(
                f"D = {D} does not split into {heads} heads of one width; try another, or give d_k and d_v."
            )
        d_k, d_v = D // heads if d_k is None else d_k, D // heads if d_v is None else d_v
        key_size, value_size = D if key_size is None else key_size, D if value_size is None else value_size
        check_sizes(d_k=d_k, d_v=d_v, key_size=key_size, value_size=value_size)
        if rotary is not None and d_k != rotary.K:
            raise ValueError(f"rotary turns vectors of width {rotary.K}, but one head's are of width d_k = {d_k}.")
        if score_bias is not None and score_bias.heads != heads:
            raise ValueError(f"score_bias is for {score_bias.heads} heads, this layer has {heads}.")
        if softcap is not None and not softcap > 0:
            raise ValueError(f"softcap is the score that none exceeds, above 0; got {softcap}.")
        check_sizes(window=1 if window is None else window)
        check_sizes(0, sinks=sinks)
        if sinks and window is None:
            raise ValueError(f"sinks are seen beyond a window; got sinks = {sinks} and no window.")
        self.heads, self.kv_heads = heads, kv_heads
        self.softcap, self.window, self.sinks = softcap, window, sinks
        self.query = nn.Linear(D, heads * d_k, bias)
        self.key = nn.Linear(key_size, kv_heads * d_k, bias)
        self.value = nn.Linear(value_size, kv_heads * d_v, bias)
        self.output = nn.Linear(heads * d_v, D, bias)
        self.rotary, self.score_bias = rotary, score_bias
        self.query_norm, self.key_norm = (None if qk_norm is None else qk_norm(d_k) for _ in range(2))
        self.sink = nn.Parameter(torch.zeros(heads)) if learned_sink else None

    def new_cache(self) -> KVCache:
        return KVCache()

    def forward(
        self,
        x: Tensor,
        context: Tensor | tuple[Tensor, Tensor] | None = None,
        mask: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        if isinstance(cache, FixedCache):
            return self._next(x, cache)
        past = len(cache) if context is None and cache is not None else 0
        named = _named(x, context)
        self._check(x, named, mask, past)
        (_, keys), (_, values) = named
        L, M = x.shape[-2], past + keys.shape[-2]
        if self.window is not None:
            local = sliding_window(L, M, window=self.window, sinks=self.sinks, device=x.device)
            mask = local if mask is None else mask & local
        by_sequence, mask = by_sequence_and_head(mask, x.ndim)
        zeroed = False
        if cache is None:  # a NaN that meets the projections would reach their gradients
            x, keys, clean_values = clean(x, keys, values, by_sequence)
            zeroed = clean_values is not values and self.value.bias is None and _for_all(mask)
            values = clean_values
        q_BHLK = self._placed(self.query(x), self.heads, self.query_norm, past)
        k_BHMK, v_BHMV = self._keys_and_values(keys, values, cache, cross=context is not None)
        bias = None if self.score_bias is None else self.score_bias(L, M).to(q_BHLK.dtype)
        if cache is not None:
            if self.window is not None and mask is not None:
                places = cache.places(k_BHMK.shape[-2], x.device)
                mask, bias = mask[..., places], None if bias is None else bias[..., places]
                cache.forget(self.window, self.sinks)
            if not _for_all(mask):  # one head may see what another does not
                k_BHMK, v_BHMV = shared(k_BHMK, q_BHLK), shared(v_BHMV, q_BHLK)
            # What it holds stays as it is: a later mask may show more.
            k_BHMK, v_BHMV = zero_unseen_keys(k_BHMK, mask), zero_unseen_keys(v_BHMV, mask)
        y_BHLV = self._attend(q_BHLK, k_BHMK, v_BHMV, mask, bias, softcap=self.softcap, sink=self.sink, zeroed=zeroed)
        return self.output(_side_by_side(y_BHLV))

    def _next(self, x: Tensor, cache: FixedCache) -> Tensor:
        """One more position, by the same operations on the same memory at every step."""
        q_BHLK = self._in_heads(self.query(x), self.heads, self.query_norm)
        k_BHLK = self._in_heads(self.key(x), self.kv_heads, self.key_norm)
        if self.rotary is not None:  # both at once
            turned = self.rotary(torch.cat([q_BHLK, k_BHLK], -3), cache.place)
            q_BHLK, k_BHLK = turned.split([self.heads, self.kv_heads], -3)
        k_BHMK, v_BHMV = cache.append(k_BHLK, self._in_heads(self.value(x), self.kv_heads, None))
        bias = cache.hidden
        if self.score_bias is not None:
            bias = bias + self.score_bias(cache.place, k_BHMK.shape[-2]).to(q_BHLK.dtype)
        y_BHLV = self._attend(q_BHLK, k_BHMK, v_BHMV, None, bias, softcap=self.softcap, sink=self.sink)
        return self.output(_side_by_side(y_BHLV))

    def _keys_and_values(
        self, keys: Tensor, values: Tensor, cache: KVCache | None, cross: bool
    ) -> tuple[Tensor, Tensor]:
        """Splits keys and values into heads, puts them into the cache, and returns all that it holds then."""
        held = 0 if cache is None else len(cache)
        if cache is not None and cross and held:
            return cache.recall(keys)
        k_BHMK = self._placed(self.key(keys), self.kv_heads, self.key_norm, held)
        v_BHMV = self._in_heads(self.value(values), self.kv_heads, None)
        return (k_BHMK, v_BHMV) if cache is None else (cache.keep if cross else cache.append)(k_BHMK, v_BHMV)

    def _placed(self, x: Tensor, heads: int, norm: nn.Module | None, start: int) -> Tensor:
        """Queries or keys in heads, turned by their positions, where that is wanted."""
        x_BHLK = self._in_heads(x, heads, norm)
        return x_BHLK if self.rotary is None else self.rotary(x_BHLK, start)

    def _in_heads(self, x: Tensor, heads: int, norm: nn.Module | None) -> Tensor:
        """Splits vectors into heads, and normalises each of them if there is a norm (QK-norm)."""
        x_BHLK = x.unflatten(-1, (heads, -1)).transpose(-2, -3)
        return x_BHLK if norm is None else norm(x_BHLK)

    def extra_repr(self) -> str:
        options = {name: getattr(self, name) for name in ("softcap", "window", "sinks")}
        given = "".join(f"{name}={option}, " for name, option in options.items() if option)
        return f"heads={self.heads}, kv_heads={self.kv_heads}, {given}{super().extra_repr()}"

    def _check(self, x: Tensor, named: tuple[tuple[str, Tensor], ...], mask: Tensor | None, past: int) -> None:
        (keys_name, keys), (values_name, values) = named
        check_sequences(**{"x": x, keys_name: keys, values_name: values})
        check_fits("x", x, self.query, "x")
        check_fits(keys_name, keys, self.key, "keys")
        check_fits(values_name, values, self.value, "values")
        if keys_name != "x" and (self.rotary is not None or self.score_bias is not None):
            raise ValueError("relative positions compare tokens of one sequence; with a context there are two.")
        if keys_name != "x" and self.window is not None:
            raise ValueError("a window is counted back from the query's own position; with a context there is none.")
        axes, L, M = getattr(mask, "shape", ()), x.shape[-2], past + keys.shape[-2]
        if isinstance(mask, Tensor) and mask.is_floating_point() and axes in (x.shape, keys.shape):
            raise ValueError(
                f"mask must be boolean, got {kind_of(mask)}, as queries or keys are. Call layer(x, context, mask): "
                "try layer(x, (keys, values))."
            )
        hint = ""
        if past:
            hint = f"The cache holds {past} positions already; try causal({L}, {M})."
        elif axes[:-2] == (self.heads,):
            hint = "For one mask a head, try mask[None]."
        heads = (self.heads,) if len(axes) > x.ndim else ()
        check_mask(mask, x, (*x.shape[:-2], *heads, L, M), hint)


def _named(x: Tensor, context: Tensor | tuple[Tensor, Tensor] | None) -> tuple[tuple[str, Tensor], ...]:
    """Keys and values, each under the name that the caller knows it by."""
    if context is None:
        return ("x", x), ("x", x)
    if isinstance(context, Tensor):
        return ("context", context), ("context", context)
    if not isinstance(context, tuple) or len(context) != 2:
        size = f" of {len(context)}" if isinstance(context, tuple | list) else ""
        raise ValueError(f"context must be one tensor or a tuple (keys, values), got a {type(context).__name__}{size}.")
    return ("keys", context[0]), ("values", context[1])


def _side_by_side(y_BHLV: Tensor) -> Tensor:
    """The outputs of all heads, as one vector for each position."""
    return y_BHLV.transpose(-2, -3).flatten(-2)


def _for_all(mask: Tensor | None) -> bool:
    """Whether all heads may see the same."""
    return mask is None or mask.ndim < 3 or mask.shape[-3] == 1


def by_sequence_and_head(mask: Tensor | None, axes: int) -> tuple[Tensor | None, Tensor | None]:
    """What is allowed in a sequence (..., L, M) by any head, and in each head (..., H, L, M); x has so many axes."""
    if mask is None or mask.ndim < 3:
        return mask, mask
    return (mask, each_head(mask)) if mask.ndim <= axes else (any_head(mask), mask)
