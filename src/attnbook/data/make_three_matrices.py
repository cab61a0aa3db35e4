"""Make three_matrices.bin, the weights of a `ThreeMatrices` that has learned ten meanings, for BankInContext.

    python src/attnbook/data/make_three_matrices.py

The recipe is chapter 7's; `stored` says what the file is like.
"""

from pathlib import Path

from attnbook.data.senses import ThreeMatrices, texts_to_read
from attnbook.data.stored import packed
from attnbook.device import seed_everything
from attnbook.training import fit

HERE = Path(__file__).parent


def make() -> ThreeMatrices:
    seed_everything(7)
    model = ThreeMatrices()
    fit(model, ThreeMatrices.loss, texts_to_read(64), 150, lr=2e-2, seed=7)
    return model


if __name__ == "__main__":
    (HERE / "three_matrices.bin").write_bytes(packed({"reader": make()}))
