"""Make induction.bin, the weights of two `Copier`s with one layer and with two, for the InductionLab.

    python -m booktools.make.networks.induction

They learn from random letters said twice. `stored` says what the file is like.
"""

from attnbook.data import FOLDER
from attnbook.data.stored import to_bytes
from attnbook.device import seed_everything
from attnbook.learning.training import fit
from attnbook.tasks.repeats import Copier, repeats


def make(layers: int) -> Copier:
    seed_everything(3)
    model = Copier(layers)
    fit(model, Copier.loss, repeats(64), 1000, lr=1e-2, seed=3)
    return model


if __name__ == "__main__":
    models = {f"{layers}": make(layers) for layers in (1, 2)}
    (FOLDER / "induction.bin").write_bytes(to_bytes(models, heads=2))
