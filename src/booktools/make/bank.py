"""Make bank.bin, the sentences to try in BankInContext and the vectors of their words, a small part of vectors.npz.

    python -m booktools.make.bank

Its first picture needs no more than these. The file is like vectors.bin; its first line also says which sentences,
which words lie beside them, and between which two meanings a needle stands.
"""

import numpy as np

from attnbook.data import FOLDER, english_vectors
from attnbook.widgets.bank_in_context import BETWEEN, TRAY, TRIES
from booktools.make.words import table_bytes


def make() -> bytes:
    words = sorted({*" ".join(TRIES).split(), *TRAY, *BETWEEN, *(word for pair in BETWEEN.values() for word in pair)})
    with np.load(FOLDER / "vectors.npz") as source:
        steps, scale = source["vectors"], source["scale"].item()
    rows = [english_vectors().index[word] for word in words]
    return table_bytes(words, steps[rows], scale, tries=TRIES, tray=TRAY, between=BETWEEN)


if __name__ == "__main__":
    (FOLDER / "bank.bin").write_bytes(make())
