"""Latent attention: all heads' keys and values are unpacked from one short vector a token, and only that is kept."""

from collections.abc import Callable

import torch
from einops import rearrange
from torch import Tensor, nn

from attnbook._inputs import check_fits, check_mask, check_sequences, check_sizes
from attnbook.layers._sight import clean, zero_unseen_keys
from attnbook.layers.dot_product import DotProductAttention
from attnbook.layers.multihead import KVCache, by_sequence_and_head
from attnbook.layers.positions import Rotary


class LatentAttention(DotProductAttention):
    """Self-attention whose keys and values are W_k c and W_v c, of latent vectors c = norm(W_c x), as in DeepSeek-V2.

    >>> layer, cache = LatentAttention(D=64, heads=8, latent=12, rotary=Rotary(4)), KVCache()
    >>> layer(torch.ones(1, 3, 64), cache=cache).shape
    torch.Size([1, 3, 64])
    >>> cache.nbytes // (4 * len(cache))  # numbers per token; 8 heads of 8 + 8 would be 128
    16

    latent          width of c
    d_k, d_v        width of one head's keys, as unpacked, and of its values; D / heads unless given
    rotary          turns further features, of each head's queries and of one key that all heads share; what is unpacked
                    stays as it is, or it could not be left packed
    norm_layer      makes the norm of c
    bias, dropout   a bias in what x is projected by and in the output; the share of weights to drop in training

    While a cache holds something, nothing in it is unpacked: q·(W_k c) is (W_kᵀ q)·c, so queries go to where c is, and
    W_v comes after the weighted sum. A mask is one of `MultiHeadAttention`.
    """

    def __init__(
        self,
        D: int,
        heads: int,
        *,
        latent: int,
        d_k: int | None = None,
        d_v: int | None = None,
        rotary: Rotary | None = None,
        norm_layer: Callable[[int], nn.Module] = nn.RMSNorm,
        bias: bool = False,
        dropout: float = 0.0,
    ):
        super().__init__(dropout)
        check_sizes(D=D, heads=heads, latent=latent)
        if D % heads and (d_k is None or d_v is None):
            raise ValueError(f"D = {D} does not split into {heads} heads; try another, or give d_k and d_v.")
        d_k, d_v = D // heads if d_k is None else d_k, D // heads if d_v is None else d_v
        check_sizes(d_k=d_k, d_v=d_v)
        self.heads, self.d_k, self.rotary = heads, d_k, rotary
        turned = 0 if rotary is None else rotary.K
        self.query = nn.Linear(D, heads * (d_k + turned), bias)
        self.down, self.norm = nn.Linear(D, latent, bias), norm_layer(latent)
        self.key, self.value = nn.Linear(latent, heads * d_k, bias=False), nn.Linear(latent, heads * d_v, bias=False)
        self.shared_key = None if rotary is None else nn.Linear(D, turned, bias)
        self.output = nn.Linear(heads * d_v, D, bias)

    def new_cache(self) -> KVCache:
        return KVCache()

    def forward(self, x: Tensor, mask: Tensor | None = None, cache: KVCache | None = None) -> Tensor:
        check_sequences(x=x)
        check_fits("x", x, self.query, "x")
        past, L = 0 if cache is None else len(cache), x.shape[-2]
        heads = (self.heads,) if mask is not None and mask.ndim > x.ndim else ()
        check_mask(mask, x, (*x.shape[:-2], *heads, L, past + L), f"The cache holds {past} positions." if past else "")
        by_sequence, mask = by_sequence_and_head(mask, x.ndim)
        q = x
        if cache is None:
            q, x, _ = clean(x, x, x, by_sequence)
        q_BHLK = rearrange(self.query(q), "... L (H K) -> ... H L K", H=self.heads)
        c_B1MC = self.norm(self.down(x)).unsqueeze(-3)
        turned_B1MR = c_B1MC[..., :0]
        if self.rotary is not None and self.shared_key is not None:
            turned_B1MR = self.rotary(self.shared_key(x).unsqueeze(-3), past)
            q_BHLK = torch.cat([q_BHLK[..., : self.d_k], self.rotary(q_BHLK[..., self.d_k :], past)], -1)
        if cache is not None:
            c_B1MC, turned_B1MR = cache.append(c_B1MC, turned_B1MR)
            seen = mask if mask is None or mask.ndim < 3 else mask.any(-3, keepdim=True)
            c_B1MC, turned_B1MR = zero_unseen_keys(c_B1MC, seen), zero_unseen_keys(turned_B1MR, seen)
        y_BHLV = (self._absorbed if past else self._unpacked)(q_BHLK, c_B1MC, turned_B1MR, mask)
        return self.output(rearrange(y_BHLV, "... H L V -> ... L (H V)"))

    def _unpacked(self, q_BHLK: Tensor, c_B1MC: Tensor, turned_B1MR: Tensor, mask: Tensor | None) -> Tensor:
        """Attends as any layer does: first it makes keys and values for each head."""
        k_BHMK, v_BHMV = (
            rearrange(part(c_B1MC.squeeze(-3)), "... M (H K) -> ... H M K", H=self.heads)
            for part in (self.key, self.value)
        )
        turned_BHMR = turned_B1MR.expand(*k_BHMK.shape[:-1], -1)
        return self._attend(q_BHLK, torch.cat([k_BHMK, turned_BHMR], -1), v_BHMV, mask)

    def _absorbed(self, q_BHLK: Tensor, c_B1MC: Tensor, turned_B1MR: Tensor, mask: Tensor | None) -> Tensor:
        """The same from the latent vectors themselves, which all heads share: keys and values at once."""
        W_k, W_v = (rearrange(part.weight, "(H K) C -> H K C", H=self.heads) for part in (self.key, self.value))
        q_BHLC = torch.cat([q_BHLK[..., : self.d_k] @ W_k, q_BHLK[..., self.d_k :]], -1)
        q_BHLC = q_BHLC * (q_BHLC.shape[-1] / q_BHLK.shape[-1]) ** 0.5  # `_attend` divides by the root of the new width
        k_B1MC = torch.cat([c_B1MC, turned_B1MR], -1)
        return self._attend(q_BHLC, k_B1MC, k_B1MC, mask)[..., : c_B1MC.shape[-1]] @ W_v.mT

    def extra_repr(self) -> str:
        return f"heads={self.heads}, {super().extra_repr()}"
