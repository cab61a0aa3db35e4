"""Decoding token by token: with the keys and values kept, and with all positions computed again at each step."""

from functools import partial

import torch
from torch import Tensor, nn

from attnbook import LanguageModel, State, Transformer, greedy
from attnbook.peers import copy_weights
from benchmarks.measure import Work, in_child, time_ratio
from benchmarks.tables import cell, progress, same, table

TOKENS, SOURCE = 256, 64  # written, and read by the Transformer
N, D, HEADS, LAYERS = 1000, 256, 8, 4
PEER = "nn.TransformerEncoder"
CASES = {  # what to reach, by batch size
    ("LanguageModel", "itself"): {1: 16, 8: 34},
    ("LanguageModel", PEER): {1: None},
    ("Transformer", "itself"): {1: None},
}


def recomputed(scores, prompt: Tensor) -> Tensor:
    """Greedily by the scores (B, L, N) of everything so far; 0, padding, is not written."""
    ids = prompt
    while ids.shape[1] < TOKENS:
        best = scores(ids)[:, -1, 1:].argmax(-1, keepdim=True) + 1
        ids = torch.cat([ids, best], 1)
    return ids


def with_their_blocks(model: LanguageModel) -> Work:
    """The scores of a LanguageModel whose stack of blocks is PyTorch's."""
    block = nn.TransformerEncoderLayer(D, HEADS, 4 * D, 0.0, batch_first=True)
    stack = nn.TransformerEncoder(block, LAYERS).eval()
    for number, layer in enumerate(stack.layers):
        copy_weights(model.decoder.get_submodule(str(number)), layer)

    def scores(ids: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        return model.tokens.scores(stack(model.tokens(ids), mask, is_causal=True))

    return scores


def decoding(name: str, who: str, B: int) -> Work:
    torch.manual_seed(0)
    model = {"LanguageModel": LanguageModel, "Transformer": Transformer}[name](N, D, HEADS, 4 * D, LAYERS, 0.0).eval()
    prompt, source = torch.ones(B, 1, dtype=torch.int64), None
    if name == "Transformer":
        source = torch.randint(1, N, (B, SOURCE))
    if who == "ours":
        return lambda: greedy(model, prompt, source, stop=None, length=TOKENS)
    if who == PEER:
        scores = with_their_blocks(model)
    elif name == "LanguageModel":
        scores = model
    else:  # what was read of the source is kept
        read = torch.no_grad()(model.start)(source)

        def scores(ids: Tensor) -> Tensor:
            return model.step(ids, State(model.decoder.new_caches(), read.memory, read.memory_mask))

    return torch.no_grad()(lambda: recomputed(scores, prompt))


def section() -> str:
    found = []
    for (name, who), goals in CASES.items():
        for B, goal in goals.items():
            builds = partial(decoding, name, who, B), partial(decoding, name, "ours", B)
            in_child(partial(same, *builds))
            found.append(progress([name, who, str(B), cell(time_ratio, *builds, goal), f"{goal or ''}"]))
    return f"""## Decoding {TOKENS} tokens: recomputation ÷ `greedy`

{LAYERS} layers of width {D} with {HEADS} heads, a vocabulary of {N}; a `Transformer` reads {SOURCE} tokens first. How
many times longer it takes to compute all positions again at each step, by the model itself or with PyTorch's blocks in
it, than to keep their keys and values. Bold: short of the goal.

{table(["model", "computed again by", "B", "time", "goal"], found)}
"""
