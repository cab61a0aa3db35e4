"""Make words.bin and vectors.bin, real word vectors for the widgets, from vectors.npz.

    python -m booktools.make.words

words.bin: the most frequent 4,000 words; of each vector the first 16 principal components, stretched to length √16 (so
that its numbers have typical size 1, as random ones would), in steps of 1/32. vectors.bin: all of vectors.npz as it is.
Each is a line of JSON, then a signed byte for each number of each vector. NOTICE says where the vectors come from.
"""

import json
from collections.abc import Iterable

import numpy as np

from attnbook.data import FOLDER

WORDS, WIDTH, UNIT = 4000, 16, 1 / 32


def make() -> dict[str, bytes]:
    """Each file's name and content."""
    with np.load(FOLDER / "vectors.npz") as source:
        words, steps, scale = source["words"], source["vectors"], source["scale"].item()
    few = steps[:WORDS, :WIDTH].astype(float)
    few *= WIDTH**0.5 / np.linalg.norm(few, axis=1, keepdims=True)
    few = (few / UNIT).round().clip(-127, 127).astype(np.int8)
    return {"words.bin": table_bytes(words[:WORDS], few, UNIT), "vectors.bin": table_bytes(words, steps, scale)}


def table_bytes(words: Iterable[str], steps: np.ndarray, unit: float, **more) -> bytes:
    """What else is given goes into the first line."""
    header = json.dumps({"width": steps.shape[1], "unit": unit, "words": " ".join(words)} | more)
    return header.encode() + b"\n" + steps.tobytes()


if __name__ == "__main__":
    for name, content in make().items():
        (FOLDER / name).write_bytes(content)
