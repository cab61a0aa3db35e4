"""Make words.bin, small word vectors for the widgets, from vectors.bin.

    python -m booktools.make.words

It has the most frequent 4,000 words; of each vector the first 16 principal components, stretched to length √16 (so
that its numbers have typical size 1, as random ones would), in steps of 1/32. Both files are a line of JSON, then a
signed byte for each number of each vector. NOTICE says where the vectors come from.
"""

import json
from collections.abc import Iterable

import numpy as np

from attnbook.data import FOLDER, table

WORDS, WIDTH, UNIT = 4000, 16, 1 / 32


def make() -> dict[str, bytes]:
    """Each file's name and content."""
    words, steps, _ = table("vectors.bin")
    few = steps[:WORDS, :WIDTH].numpy().astype(float)
    few *= WIDTH**0.5 / np.linalg.norm(few, axis=1, keepdims=True)
    few = (few / UNIT).round().clip(-127, 127).astype(np.int8)
    return {"words.bin": table_bytes(words[:WORDS], few, UNIT)}


def table_bytes(words: Iterable[str], steps: np.ndarray, unit: float) -> bytes:
    """What `attnbook.data.table` reads."""
    header = json.dumps({"width": steps.shape[1], "unit": unit, "words": " ".join(words)})
    return header.encode() + b"\n" + steps.tobytes()


if __name__ == "__main__":
    for name, content in make().items():
        (FOLDER / name).write_bytes(content)
