"""Additive attention against d2l's: same weights, same inputs, same mask."""

import os
import shutil

import torch

from attnbook import AdditiveAttention
from attnbook.peers import copy_weights, d2l
from benchmarks.inputs import masked, one_pass
from benchmarks.measure import Work, in_child
from benchmarks.tables import COLUMNS, progress, rows, table, versus

D2L_ADDITIVE, COMPILED = "d2l.AdditiveAttention", "under torch.compile"
SIZES = (8, 512, 128, 128, "padding")
GOALS, COMPILED_GOALS = ((10, 42), (10.7, 45)), ((30, 64), (27, 98))


def additive(
    who: str, B: int, n: int, D: int, hidden: int, kind: str, backward: bool, device="cpu", dtype=torch.float32
) -> Work:
    torch.manual_seed(0)
    layer = AdditiveAttention(D, D, hidden).to(device, dtype)
    qkv = [torch.randn(B, n, D).to(device, dtype).requires_grad_(backward) for _ in range(3)]
    mask, lengths = masked(kind, B, n, device)
    if who == D2L_ADDITIVE:
        theirs = d2l().AdditiveAttention(hidden, dropout=0).to(device, dtype)
        theirs(*(x[:, :1] for x in qkv), None)  # makes its weights
        copy_weights(layer, theirs)
        return one_pass(lambda: theirs(*qkv, lengths), [*qkv, *theirs.parameters()], backward)
    call = torch.compile(layer) if who == COMPILED else layer
    return one_pass(lambda: call(*qkv, mask), [*qkv, *layer.parameters()], backward)


def why_not_compiled() -> str:
    """Why there is nothing to measure under torch.compile; empty where there is."""
    compiler = next(filter(None, map(shutil.which, ("g++", "c++", "clang++"))), None)
    if compiler is None:
        return "no C++ compiler"
    os.environ.setdefault("CXX", compiler)
    try:
        in_child(lambda: bool(additive(COMPILED, 1, 2, 2, 2, "padding", False)().numel()))
    except Exception as error:
        return f"torch.compile fails: {type(error).__name__}"
    return ""


def section() -> str:
    found = [["as it is", *row] for row in rows(versus(additive, SIZES, {D2L_ADDITIVE: GOALS}))]
    if why := why_not_compiled():
        found.append(progress([COMPILED, D2L_ADDITIVE, why]))
    else:
        found += [[COMPILED, *row] for row in rows(versus(additive, SIZES, {D2L_ADDITIVE: COMPILED_GOALS}, COMPILED))]
    return f"""## Additive attention: peer ÷ `AdditiveAttention`

d2l's layer runs as it is, ours also compiled where there is a C++ compiler. Above 1: ours is faster, or needs less
memory. Bold: short of the goal.

{table(["ours", "peer", "B, n, D, hidden", "mask", *COLUMNS], found)}

On an Intel Xeon with AVX-512 d2l's layer has a fast tanh, and ours goes over each tile three times, .44 ns for a
number: the two forward calls are 6.5 and 16 times as fast as d2l's (2026-11-29).
"""
