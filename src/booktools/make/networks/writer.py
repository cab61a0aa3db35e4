"""Make pairs.bin, tokens learned on Shakespeare's plays, and writer.bin, a model that writes in them.

    python -m booktools.make.networks.writer

Nine tenths of the plays are read; the last tenth measures, and nothing is chosen by it. The model is chapter 11's:
three blocks, RMSNorm before attention and SwiGLU, rotary positions in neighbouring pairs. It sees 2,400 batches of 16
pieces of 128 tokens, each token some nine times, in about five minutes of one processor. A parameter is then rounded to
one byte. What that costs is printed: bits per character of the last tenth before and after. first.writer.bin is what
TextGenerator needs of it to start.
"""

import json
import math

import torch
from torch import Tensor, nn

from attnbook.data import FOLDER
from attnbook.data.stored import to_single_bytes
from attnbook.device import seed_everything
from attnbook.learning.bytepairs import BytePairs
from attnbook.learning.training import fit
from attnbook.models.transformer import LanguageModel
from attnbook.tasks.writing import CONTEXT, HEADS, N, next_token_loss, pieces, plays, untrained, writer
from attnbook.widgets.text_generator import TextGenerator

STEPS, RATE = 2400, 5e-3


def make(ids: Tensor) -> LanguageModel:
    model = untrained()
    seed_everything(0)
    for x in model.parameters():
        if x.ndim == 2:
            nn.init.normal_(x, std=x.shape[1] ** -0.5)
    fit(model, next_token_loss, pieces(ids, 16), STEPS, lr=RATE, warm_up=100, seed=0)
    return model


@torch.no_grad()
def bits_per_character(model: nn.Module, pairs: BytePairs, text: str) -> float:
    """Over pieces as long as those that were learned from, side by side."""
    ids = pairs.encode(text)
    rows = ids[: len(ids) // (CONTEXT + 1) * (CONTEXT + 1)].view(-1, CONTEXT + 1)
    return next_token_loss(model, rows).item() / math.log(2) * len(ids) / len(text)


def first() -> bytes:
    """What the widget shows first: the scores of all tokens, and where each head looks from the last of its prompt."""
    generator = TextGenerator()
    scores, weights = generator.read()
    header = json.dumps({"part": True, "prompt": generator.prompt, "heads": len(weights), "N": len(scores)}) + "\n"
    numbers = torch.cat([scores, weights[:, -1].flatten()]).float().numpy()
    return header.rjust(len(header) + -len(header) % 4).encode() + numbers.astype("<f4").tobytes()


if __name__ == "__main__":
    read, held_out = plays()
    pairs = BytePairs.learn(read, N)
    merges = [[part.decode("latin-1") for part in pair] for pair in pairs.merges]
    (FOLDER / "pairs.bin").write_text(json.dumps({"merges": merges}, separators=(",", ":")) + "\n", "ascii")
    model = make(pairs.encode(read))
    (FOLDER / "writer.bin").write_bytes(to_single_bytes(model, heads=HEADS))
    (FOLDER / "first.writer.bin").write_bytes(first())
    for name, one in {"trained": model, "rounded": writer()}.items():
        print(f"{name}: {bits_per_character(one, pairs, held_out):.3f} bits per character")
