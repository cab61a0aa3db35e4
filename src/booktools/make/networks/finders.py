"""Make finders.bin, the weights of three `Finder`s with 1, 2 and 4 heads, for the HeadAblation.

    python -m booktools.make.networks.finders

Chapter 6 trains the same network by a loop of its own, for fewer steps. `stored` says what the file is like.
"""

from attnbook.data import FOLDER
from attnbook.data.stored import to_bytes
from attnbook.device import seed_everything
from attnbook.learning.training import fit
from attnbook.tasks.marks import Finder, marked_letters


def make(heads: int) -> Finder:
    seed_everything(6)
    model = Finder(heads)
    fit(model, Finder.loss, marked_letters(128), 300, lr=2e-2, seed=6)
    return model


if __name__ == "__main__":
    (FOLDER / "finders.bin").write_bytes(to_bytes({f"{heads}": make(heads) for heads in (1, 2, 4)}))
