"""Make date_transformer.bin, the weights of a `Transformer` that has learned the dates, for the LiveTransformer.

    python src/attnbook/data/make_date_transformer.py

The recipe is chapter 9's; `stored` says what the file is like.
"""

from pathlib import Path

from attnbook.data.dates import date_pairs
from attnbook.data.stored import packed
from attnbook.device import seed_everything
from attnbook.training import fit
from attnbook.transformer import Transformer
from attnbook.translation import Translation

HERE = Path(__file__).parent


def make() -> bytes:
    task = Translation(date_pairs(30_000))
    seed_everything(0)
    model = Transformer(len(task.vocabulary), D=32, heads=4, hidden=128, layers=1, dropout=0.0, norm="pre")
    fit(model, task.loss, task.batch(64), 1000, lr=1e-2, seed=0)
    return packed({"writer": model}, letters="".join(task.vocabulary.tokens[3:]), heads=4)


if __name__ == "__main__":
    (HERE / "date_transformer.bin").write_bytes(make())
