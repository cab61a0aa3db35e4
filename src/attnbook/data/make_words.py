"""Make words.bin, the small vocabulary of the attention heat map, from the table of 8,000 real word vectors.

    python src/attnbook/data/make_words.py vectors.npz

The most frequent 4,000 words; of each vector the first 16 principal components, stretched to length √16 (so that its
numbers have typical size 1, as random ones would), in steps of 1/32. NOTICE says where the vectors come from.
"""

import json
import sys
from pathlib import Path

import numpy as np

WORDS, WIDTH, UNIT = 4000, 16, 1 / 32


def make(table: Path) -> bytes:
    """A line of JSON, then a signed byte for each number of each vector."""
    with np.load(table) as source:
        words, vectors = source["words"][:WORDS], source["vectors"][:WORDS, :WIDTH].astype(float)
    vectors *= WIDTH**0.5 / np.linalg.norm(vectors, axis=1, keepdims=True)
    steps = (vectors / UNIT).round().clip(-127, 127).astype(np.int8)
    header = json.dumps({"width": WIDTH, "unit": UNIT, "words": " ".join(words)})
    return header.encode() + b"\n" + steps.tobytes()


if __name__ == "__main__":
    Path(__file__).with_name("words.bin").write_bytes(make(Path(sys.argv[1])))
