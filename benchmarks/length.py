"""Multi-head attention against d2l's and PyTorch's, where nothing changes but the length."""

from benchmarks.multi_head import D2L_MULTI_HEAD, TORCH, multi_head
from benchmarks.tables import COLUMNS, NO_GOALS, rows, table, versus

LENGTHS = [256, 512, 1024, 2048, 4096]


def section() -> str:
    peers = [
        case
        for n in LENGTHS
        for case in versus(multi_head, (1, n, 512, 8, "causal"), {D2L_MULTI_HEAD: NO_GOALS, TORCH: NO_GOALS})
    ]
    return f"""## Only the length: peer ÷ `MultiHeadAttention`

One text of n tokens, D = 512, 8 heads, a causal mask made beforehand. Above 1: ours is faster, or needs less memory.

{table(["peer", "B, n, D, heads", "mask", *COLUMNS], rows(peers))}
"""
