"""How time and memory grow with the length of the sequence, in our layers and in d2l's."""

from collections.abc import Callable
from functools import partial

from benchmarks.additive import D2L_ADDITIVE, additive
from benchmarks.measure import Work, memory_ratio, time_ratio
from benchmarks.multi_head import D2L_MULTI_HEAD, multi_head
from benchmarks.tables import PASSES, cell, progress, table

LENGTHS = [256, 512, 1024, 2048, 4096]
LAYERS: dict[str, tuple[Callable[..., Work], str, tuple[int, int]]] = {  # who, of what sizes after B and n
    "MultiHeadAttention": (multi_head, "ours", (256, 8)),
    D2L_MULTI_HEAD: (multi_head, D2L_MULTI_HEAD, (256, 8)),
    "AdditiveAttention": (additive, "ours", (64, 64)),
    D2L_ADDITIVE: (additive, D2L_ADDITIVE, (64, 64)),
}
LONGEST = {(D2L_ADDITIVE, True): 2048}  # with backward, four tensors of n × n × hidden: 17 GB at 4096


def growth_rows() -> list[list[str]]:
    found = []
    for backward, what in enumerate(PASSES):
        for name, (make, who, widths) in LAYERS.items():
            builds = {n: partial(make, who, 1, n, *widths, "padding", bool(backward)) for n in LENGTHS}
            fits = [n <= LONGEST.get((name, bool(backward)), n) for n in LENGTHS]
            for measured, ratio in (("time", time_ratio), ("memory", memory_ratio)):
                cells = [
                    cell(ratio, builds[n], builds[LENGTHS[0]]) if fit else "–"
                    for n, fit in zip(LENGTHS, fits, strict=True)
                ]
                found.append(progress([name, what, measured, *cells]))
    return found


def section() -> str:
    times = [n // LENGTHS[0] for n in LENGTHS]
    laws = [["n", "", "", *(f"{x}" for x in times)], ["n²", "", "", *(f"{x * x}" for x in times)]]
    return f"""## Growth with the length n

What a sequence of n takes, divided by what one of {LENGTHS[0]} takes; B = 1, padding, D = 256 and 8 heads or 64 hidden
features. The two last lines are what growth in proportion to n and to its square would be. (`AdditiveAttention` holds
n² weights; d2l's holds n² × 64 features.)

{table(["layer", "pass", "", *(f"n = {n}" for n in LENGTHS)], growth_rows() + laws)}
"""
