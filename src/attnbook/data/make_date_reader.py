"""Make date_reader.bin, the weights of a `Seq2Seq` that has learned the dates, for the AlignmentPlayer.

    python src/attnbook/data/make_date_reader.py

The recipe is chapter 4's. The file is a line of JSON, then all parameters, one after the other, each number in two
bytes, as steps of 1/4096.
"""

import json
from pathlib import Path

from torch import nn

from attnbook.data.dates import date_pairs
from attnbook.device import seed_everything
from attnbook.seq2seq import Seq2Seq
from attnbook.training import fit
from attnbook.translation import Translation

HERE = Path(__file__).parent
SEED, UNIT = 3, 1 / 4096


def make() -> bytes:
    task = Translation(date_pairs(60_000))
    seed_everything(SEED)
    model = Seq2Seq(len(task.vocabulary), D=32)
    fit(model, task.loss, task.batch(64), 400, lr=3e-2, seed=SEED)
    return packed(model, task.vocabulary.tokens[3:])


def packed(model: nn.Module, letters: list[str]) -> bytes:
    shapes = {name: list(x.shape) for name, x in model.named_parameters()}
    header = json.dumps({"letters": "".join(letters), "unit": UNIT, "shapes": shapes}) + "\n"
    numbers = nn.utils.parameters_to_vector(model.parameters()).detach().numpy()
    steps = (numbers / UNIT).round().clip(-32767, 32767).astype("<i2")
    return header.rjust(len(header) + len(header) % 2).encode() + steps.tobytes()  # the numbers begin at an even place


if __name__ == "__main__":
    (HERE / "date_reader.bin").write_bytes(make())
