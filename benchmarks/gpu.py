"""The layers on a GPU, from short sequences to long ones; `python -m benchmarks.gpu` rehearses that without one."""

import gc
from collections.abc import Callable
from datetime import date
from functools import partial
from itertools import product
from typing import NamedTuple

import torch

from benchmarks import writing
from benchmarks.additive import D2L_ADDITIVE, additive
from benchmarks.measure import Build, Work, interleaved, processor_seconds, warmed
from benchmarks.multi_head import BARE, D2L_MULTI_HEAD, TORCH, multi_head
from benchmarks.tables import NO_ROOM, PASSES, cell, progress, same, table, versus

LENGTHS = [512, 2048, 8192, 16384]
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
MULTI_HEAD = {D2L_MULTI_HEAD: {}, TORCH: dict.fromkeys(LENGTHS, 1), BARE: dict.fromkeys(LENGTHS, 0.95)}  # time to reach
ADDITIVE = {D2L_ADDITIVE: {n: 12 if n >= 8192 else 1 for n in LENGTHS}}
HIDDEN = 64


class Meters(NamedTuple):
    """Ratios, theirs to ours."""

    time: Callable[[Build, Build], float]
    memory: Callable[[Build, Build], float]


def event_seconds(call: Work) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1000


def peak(build: Build) -> int:
    """Bytes of the GPU that the call adds at most."""
    call = warmed(build)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    return torch.cuda.max_memory_allocated() - before


CUDA = Meters(
    time=partial(interleaved, seconds=event_seconds, pairs=25, patience=2),
    memory=lambda theirs, ours: peak(theirs) / peak(ours),
)
REHEARSAL = Meters(  # it only shows that every line runs: its numbers mean nothing
    time=partial(interleaved, seconds=processor_seconds, pairs=3),
    memory=lambda theirs, ours: warmed(theirs)().numel() / warmed(ours)().numel(),
)


class Place(NamedTuple):
    """Where to measure, with what, and how far."""

    device: str = "cuda"
    meters: Meters = CUDA
    lengths: list[int] = LENGTHS


def line(names: list[str], builds: list[tuple[Build, Build]], place: Place, goals: dict[int, float]) -> list[str]:
    """A row: time and memory at each length."""
    cells = []
    for n, (theirs, ours) in zip(place.lengths, builds, strict=True):
        text = cell(place.meters.time, theirs, ours, goals.get(n))
        if text != NO_ROOM:
            text += f" / {cell(place.meters.memory, theirs, ours)}"
        elif cell(place.meters.memory, ours, ours) == NO_ROOM:
            text += ", ours too"
        cells.append(text)
        gc.collect()
        torch.cuda.empty_cache()
    return progress([*names, *cells, " to ".join(f"{goal:g}" for goal in sorted(set(goals.values())))])


def to_peers(make: Callable[..., Work], widths: tuple, peers: dict, masks: list[str], place: Place) -> list[list[str]]:
    found = []
    for (peer, goals), mask, (name, dtype) in product(peers.items(), masks, TYPES.items()):
        where = {"device": place.device, "dtype": dtype}
        cases = [versus(make, (1, n, *widths, mask), {peer: None}, **where)[0] for n in place.lengths]
        same(*cases[0].builds(False))
        for backward, what in enumerate(PASSES):
            builds = [case.builds(bool(backward)) for case in cases]
            found.append(line([peer, mask, name, what], builds, place, goals))
    return found


def section(place: Place | None = None) -> str:
    if place is None and not torch.cuda.is_available():
        return ""  # what was measured elsewhere stays
    place = place or Place()
    card = torch.cuda.get_device_name() if place.device == "cuda" else "a rehearsal without one"
    head = ["peer", "mask", "type", "pass", *(f"n = {n}" for n in place.lengths), "goal, time"]
    multi_head_rows = to_peers(multi_head, (256, 4), MULTI_HEAD, ["causal", "padding"], place)
    additive_rows = to_peers(additive, (HIDDEN, HIDDEN), ADDITIVE, ["padding"], place)
    return f"""## On a GPU: {card}

Measured on {date.today():%Y-%m-%d} with PyTorch {torch.__version__}. Time by CUDA events, medians of interleaved
pairs; memory as the most that PyTorch allocated. Each cell is time / memory, peer ÷ ours; above 1: ours is faster, or
needs less. Bold: short of the goal. "Out of memory": the peer does not fit.

### On a GPU, peer ÷ `MultiHeadAttention`, B = 1, D = 256, 4 heads

{table(head, multi_head_rows)}

### On a GPU, peer ÷ `AdditiveAttention`, B = 1, D = {HIDDEN}, {HIDDEN} hidden features

{table(head, additive_rows)}

{writing.section() if place.device == "cuda" else ""}
"""


if __name__ == "__main__":
    print(section(Place("cpu", REHEARSAL, [16, 32])))
