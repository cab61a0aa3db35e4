"""Make three_matrices.bin, the weights of a `ThreeMatrices` that has learned ten meanings, for BankInContext.

    python -m booktools.make.networks.three_matrices

The recipe is chapter 7's; `stored` says what the file is like.
"""

from attnbook.data import FOLDER
from attnbook.data.stored import to_bytes
from attnbook.device import seed_everything
from attnbook.learning.training import fit
from attnbook.tasks.senses import ThreeMatrices, texts_to_read


def make() -> ThreeMatrices:
    seed_everything(7)
    model = ThreeMatrices()
    fit(model, ThreeMatrices.loss, texts_to_read(64), 150, lr=2e-2, seed=7)
    return model


if __name__ == "__main__":
    (FOLDER / "three_matrices.bin").write_bytes(to_bytes({"reader": make()}))
