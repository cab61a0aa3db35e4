"""Make vectors.bin, 8,000 real word vectors, from the model all-MiniLM-L6-v2.

    python -m booktools.make.vectors MODEL_FOLDER

The folder holds the model's model.safetensors and vocab.txt; `pip install safetensors` reads the first. Of the model's
table of word embeddings this takes whole lower-case words, the most frequent first, without the indecent; centred,
projected on the first 128 principal components, in steps of one scale. NOTICE says where the table comes from.
"""

import hashlib
import re
import sys
from pathlib import Path

import torch
from torch import Tensor

from attnbook.data import FOLDER
from booktools.make.words import table_bytes

WORDS, WIDTH = 8000, 128
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
INDECENT = re.compile(
    "fuck|shit|bitch|cunt|nigg|fagg|whore|slut|porn|rape|dick|cock|pussy|asshole|bastard|penis|vagina|tits|boob|cum|nazi|"
    "nude|naked|sex"
)
DECENT = re.compile(  # though an indecent word is part of them
    "document(s|ed|ary|aries|ation)?|cumberland|cumulative|circumstances|circumference|accumulated|cucumber|peacock|"
    "hancock|cock(ed|tail|pit)|dick(ens|inson|son)|(g|c|d)rapes?|draped|scraped|titsch|(sus|es|middle)sex|therapeutic|"
    "skyscrapers?|sexes"
)


def fit(word: str) -> bool:
    decent = DECENT.fullmatch(word) or not INDECENT.search(word)
    return word.isascii() and word.isalpha() and len(word) > 1 and bool(decent)


def make(table: Tensor, vocabulary: list[str]) -> bytes:
    rows = [row for row, word in enumerate(vocabulary) if fit(word)][:WORDS]
    vectors = table[rows].double()
    vectors = vectors - vectors.mean(0)
    _, _, components = torch.linalg.svd(vectors, full_matrices=False)
    largest = components.gather(1, components.abs().argmax(1, keepdim=True))
    projected = vectors @ (components * largest.sign())[:WIDTH].T  # a component's sign is a matter of taste
    scale = projected.abs().max() / 127
    steps = (projected / scale).round().to(torch.int8).numpy()
    return table_bytes([vocabulary[row] for row in rows], steps, scale.float().item())


def main(folder: Path) -> None:
    from safetensors.torch import load_file  # pyrefly: ignore[missing-import] (only this needs it)

    weights = folder / "model.safetensors"
    if hashlib.sha256(weights.read_bytes()).hexdigest() != SHA256:
        sys.exit(f"{weights} is not the published file.")
    table = load_file(weights)["embeddings.word_embeddings.weight"]
    vocabulary = (folder / "vocab.txt").read_text("utf-8").splitlines()
    (FOLDER / "vectors.bin").write_bytes(make(table, vocabulary))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
