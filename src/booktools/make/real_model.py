"""Make real_model.bin, what the heads of a published model look at in some texts, and what it takes to come next.

    python -m booktools.make.real_model

SmolLM2-135M-Instruct is run by `attnbook.pretrained`. The first line says how a site calls the model and how large it
is, the texts, their tokens, and the likeliest next tokens with their chances. Then come the maps: of each text, token
by token, what each head of each block looks at from there, as square roots of weights in steps of 1/255.
first.real_model.bin has the maps of the first text alone.
"""

import json

import torch
from torch import Tensor

from attnbook import capture_attention, pretrained
from attnbook.data import FOLDER
from attnbook.learning.bytepairs import BytePairs
from attnbook.models.transformer import LanguageModel
from attnbook.widgets.real_model import HEADS, LAYERS, TEXTS
from attnbook.widgets.shared.pairs import shown_token

SHOWN = 8  # tokens that could come next


def make(model: LanguageModel, pairs: BytePairs) -> dict[str, bytes]:
    """Each file's name and content."""
    known = pretrained.KNOWN["smollm2"]
    about = {"model": known.sha256[:16], "size": known.path.stat().st_size, "texts": TEXTS}
    about |= {"layers": LAYERS, "heads": HEADS}
    pictures, maps = zip(*(picture(model, pairs, text) for text in TEXTS), strict=True)
    return {
        "real_model.bin": packed(about | {"pictures": pictures}, maps),
        "first.real_model.bin": packed(about | {"pictures": pictures[:1], "part": True}, maps[:1]),
    }


def packed(head: dict, maps: tuple[bytes, ...]) -> bytes:
    return (json.dumps(head, ensure_ascii=False, separators=(",", ":")) + "\n").encode() + b"".join(maps)


@torch.no_grad()
def picture(model: LanguageModel, pairs: BytePairs, text: str) -> tuple[dict, bytes]:
    """What is said of a text, and its maps."""
    ids = pairs.encode(text)
    with capture_attention(model) as maps:
        chances, likeliest = model(ids[None])[0, -1].softmax(-1).topk(SHOWN)
    tokens = [shown_token(pairs.tokens[token]) for token in ids]
    following = [
        [shown_token(pairs.tokens[token]), round(chance, 4)]
        for token, chance in zip(likeliest.tolist(), chances.tolist(), strict=True)
    ]
    return {"tokens": tokens, "next": following}, steps(torch.cat([*maps.values()]))


def steps(maps_NHLL: Tensor) -> bytes:
    """A causal map's rows, one after the other, as far as they see."""
    steps_NHLL = (maps_NHLL.sqrt() * 255).round().to(torch.uint8)
    return b"".join(steps_NHLL[:, :, i, : i + 1].numpy().tobytes() for i in range(maps_NHLL.shape[-1]))


if __name__ == "__main__":
    for name, content in make(*pretrained.load()).items():
        (FOLDER / name).write_bytes(content)
