"""Make date_transformer.bin, the weights of a `Transformer` that has learned the dates, for the LiveTransformer.

    python -m booktools.make.networks.date_transformer

The recipe is chapter 9's; `stored` says what the file is like.
"""

from attnbook.data import FOLDER
from attnbook.data.stored import to_bytes
from attnbook.device import seed_everything
from attnbook.learning.training import fit
from attnbook.learning.translation import Translation
from attnbook.models.transformer import Transformer
from attnbook.tasks.dates import date_pairs


def make() -> bytes:
    task = Translation(date_pairs(30_000))
    seed_everything(0)
    model = Transformer(len(task.vocabulary), D=32, heads=4, hidden=128, layers=1, dropout=0.0, norm="pre")
    fit(model, task.loss, task.batch(64), 1000, lr=1e-2, seed=0)
    return to_bytes({"writer": model}, letters="".join(task.vocabulary.tokens[3:]), heads=4)


if __name__ == "__main__":
    (FOLDER / "date_transformer.bin").write_bytes(make())
