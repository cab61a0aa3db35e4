"""Make word_map.bin, a place on a flat map for each of the 8,000 words of vectors.bin, for the WordMap.

    pip install scikit-learn==1.9.1
    python -m booktools.make.word_map

t-SNE puts words close together whose vectors point the same way; what is far apart, or which way is up, means nothing.
The file is a line of JSON, then two signed 16-bit numbers for each word, in steps of 1/32767.
"""

import json
from collections.abc import Iterable

import numpy as np

from attnbook.data import FOLDER, table


def make() -> bytes:
    from sklearn.manifold import TSNE  # pyrefly: ignore[missing-import] (only this needs it)

    words, steps, _ = table("vectors.bin")
    vectors = steps.numpy().astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return places_bytes(words, TSNE(perplexity=30, init="pca", max_iter=1000, random_state=0).fit_transform(vectors))


def places_bytes(words: Iterable[str], places: np.ndarray) -> bytes:
    places = places - (places.max(0) + places.min(0)) / 2
    steps = (places / np.abs(places).max() * 32767).round().astype("<i2")
    header = json.dumps({"words": " ".join(words)}) + "\n"
    return header.rjust(len(header) + len(header) % 2).encode() + steps.tobytes()  # the numbers begin at an even place


if __name__ == "__main__":
    (FOLDER / "word_map.bin").write_bytes(make())
