"""Make digit_reader.bin, the weights of a vision Transformer for DrawDigit, and held_out.bin, digits for it to read.

    python -m booktools.make.networks.digit_reader

It learns from the digits of eleven forms and from drawings (`strokes`), as many of these, each moved a little whenever
it is seen. The digits to read are those of the other three forms: a byte for each of their 64 numbers and one for the
label. `stored` says what the first file is like; its first line also has the mean of all digits of the eleven forms,
which of the others it gets wrong, and the share of new drawings that it reads: of ways it has learned from, and others.
"""

import torch

from attnbook.data import FOLDER
from attnbook.data.stored import to_single_bytes, unpack_single
from attnbook.device import seed_everything
from attnbook.learning.training import fit
from attnbook.tasks.digits import VisionTransformer, digit_loss, digits, draws, reader_untrained, right
from booktools.make.networks.strokes import NEW_WAYS, drawings

HEADS, STEPS = 4, 3000
DRAWINGS, TESTED = 400, 50  # of each digit


def train() -> VisionTransformer:
    images, labels = zip(*[digits(by="form")] * 3, drawings(DRAWINGS, seed=0), strict=True)
    seed_everything(0)
    model = reader_untrained()
    draw = draws((torch.cat(images), torch.cat(labels)), 128, move=0.1)
    fit(model, digit_loss, draw, STEPS, lr=4e-3, seed=0, device="cpu")
    return model


def of_drawings(model: VisionTransformer) -> dict[str, float]:
    """The share of new drawings that it reads, written in the ways that it has learned from, and in others."""
    tests = {"known": drawings(TESTED, seed=1), "new": drawings(TESTED, seed=1, ways=NEW_WAYS)}
    return {ways: round(right(model, test), 3) for ways, test in tests.items()}


def held_out(by: str = "form") -> bytes:
    images_BHW, labels_B = digits(held_out=True, by=by)
    return torch.cat([16 * images_BHW.flatten(1), labels_B[:, None]], 1).to(torch.uint8).numpy().tobytes()


def to_bytes(model: VisionTransformer, drawn: dict[str, float]) -> bytes:
    """What the page reads; `model` has the parameters of the file, a byte each, and reads such shares `of_drawings`."""
    images_BHW, labels_B = digits(held_out=True, by="form")
    wrong = (model(images_BHW).argmax(-1) != labels_B).nonzero()[:, 0].tolist()
    mean = [round(x, 3) for x in digits(by="form")[0].mean(0).flatten().tolist()]
    return to_single_bytes(model, heads=HEADS, mean=mean, wrong=wrong, drawn=drawn)


if __name__ == "__main__":
    path = FOLDER / "digit_reader.bin"
    path.write_bytes(to_single_bytes(train()))
    rounded = reader_untrained()
    unpack_single(path, rounded)
    path.write_bytes(to_bytes(rounded, of_drawings(rounded)))
    (FOLDER / "held_out.bin").write_bytes(held_out())
