"""Multi-head attention against d2l's and PyTorch's: same weights, same input, same mask."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from attnbook import MultiHeadAttention, blocked
from attnbook.peers import copy_weights, d2l
from benchmarks.inputs import masked, one_pass
from benchmarks.measure import Work
from benchmarks.tables import COLUMNS, rows, table, versus

D2L_MULTI_HEAD, TORCH = "d2l.MultiHeadAttention", "nn.MultiheadAttention"
BARE = "F.scaled_dot_product_attention, same projections"
TO_D2L = {
    (8, 256, 256, 8, "padding"): ((1.5, 3.0), (1.6, 4.5)),
    (1, 1024, 512, 8, "causal"): ((1.95, 4.3), (2.6, 5.6)),
    (1, 2048, 512, 8, "padding"): ((2.7, 10), (2.6, 14)),
    (1, 4096, 512, 8, "causal"): ((2.6, 22), (4.4, 30)),
}
TO_TORCH = ((1.0, None), (1.0, 1.5))


def ours(layer: MultiHeadAttention, x: Tensor, mask: Tensor, lengths: Tensor) -> tuple[nn.Module, Callable]:
    return layer, lambda: layer(x, mask=mask)


def of_d2l(layer: MultiHeadAttention, x: Tensor, mask: Tensor, lengths: Tensor) -> tuple[nn.Module, Callable]:
    theirs = d2l().MultiHeadAttention(x.shape[-1], layer.heads, dropout=0).to(x)
    theirs(x[:, :1], x[:, :1], x[:, :1], None)  # makes its weights
    copy_weights(layer, theirs)
    return theirs, lambda: theirs(x, x, x, lengths)


def of_torch(layer: MultiHeadAttention, x: Tensor, mask: Tensor, lengths: Tensor) -> tuple[nn.Module, Callable]:
    theirs = nn.MultiheadAttention(x.shape[-1], layer.heads, bias=False, batch_first=True).to(x)
    copy_weights(layer, theirs)
    causal = mask.ndim == 2
    hidden = {"attn_mask": blocked(mask)} if causal else {"key_padding_mask": blocked(mask[:, 0])}
    return theirs, lambda: theirs(x, x, x, need_weights=False, is_causal=causal, **hidden)[0]


def bare(layer: MultiHeadAttention, x: Tensor, mask: Tensor, lengths: Tensor) -> tuple[nn.Module, Callable]:
    """Our projections around PyTorch's function, with nothing checked: what no layer can outrun."""
    seen = {"is_causal": True} if mask.ndim == 2 else {"attn_mask": mask[:, None]}

    def call() -> Tensor:
        qkv = (project(x) for project in (layer.query, layer.key, layer.value))
        heads = (x.unflatten(-1, (layer.heads, -1)).transpose(1, 2) for x in qkv)
        return layer.output(scaled_dot_product_attention(*heads, **seen).transpose(1, 2).flatten(2))

    return layer, call


LAYERS = {"ours": ours, D2L_MULTI_HEAD: of_d2l, TORCH: of_torch, BARE: bare}


def multi_head(
    who: str, B: int, n: int, D: int, heads: int, kind: str, backward: bool, device="cpu", dtype=torch.float32
) -> Work:
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(D, heads).to(device, dtype), torch.randn(B, n, D).to(device, dtype)
    layer, call = LAYERS[who](layer, x.requires_grad_(backward), *masked(kind, B, n, device))
    return one_pass(call, [x, *layer.parameters()], backward)


def section() -> str:
    peers = [versus(multi_head, sizes, {D2L_MULTI_HEAD: goals, TORCH: TO_TORCH}) for sizes, goals in TO_D2L.items()]
    return f"""## Multi-head attention: peer ÷ `MultiHeadAttention`

Self-attention, with a mask made beforehand, as a model makes one for all its layers; `nn.MultiheadAttention` with
`need_weights=False`. Above 1: ours is faster, or needs less memory. Bold: short of the goal.

{table(["peer", "B, n, D, heads", "mask", *COLUMNS], rows([case for cases in peers for case in cases]))}
"""
