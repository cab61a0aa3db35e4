"""Make date_reader.bin, the weights of a `Seq2Seq` that has learned the dates, for the AlignmentPlayer.

    python -m booktools.make.networks.date_reader

The recipe is chapter 4's; `stored` says what the file is like.
"""

from attnbook.data import FOLDER
from attnbook.data.stored import to_bytes
from attnbook.device import seed_everything
from attnbook.learning.training import fit
from attnbook.learning.translation import Translation
from attnbook.models.seq2seq import Seq2Seq
from attnbook.tasks.dates import date_pairs

SEED = 3


def make() -> bytes:
    task = Translation(date_pairs(60_000))
    seed_everything(SEED)
    model = Seq2Seq(len(task.vocabulary), D=32)
    fit(model, task.loss, task.batch(64), 400, lr=3e-2, seed=SEED)
    return to_bytes({"reader": model}, letters="".join(task.vocabulary.tokens[3:]))


if __name__ == "__main__":
    (FOLDER / "date_reader.bin").write_bytes(make())
