"""Make seeds.json.

python -m booktools.make.seeds                    all of it
python -m booktools.make.seeds numbers readers    these, and the rest as it is
"""

import json
import sys

from attnbook.data import FOLDER
from booktools.make.seeds.beyond_text import (
    counts,
    images,
    looks_and_covers,
    orders,
    pairs,
    questions_and_pictures,
    reach,
)
from booktools.make.seeds.heads import copiers, deep, joint, wider
from booktools.make.seeds.positions import places
from booktools.make.seeds.real_heads import copying, facts, head_kinds, names, said_twice, sink
from booktools.make.seeds.recurrent import numbers, rates_4, readers, readers_slower
from booktools.make.seeds.small_models import loops, parts, sizes, twice, vocabularies
from booktools.make.seeds.today import experts, lengths, loud, recall, silent, windows
from booktools.make.seeds.tones import listeners, without
from booktools.make.seeds.transformers import dates, phrases, rates, warm_up
from booktools.make.seeds.word_vectors import plays


def main() -> None:
    path = FOLDER / "seeds.json"
    measured = json.loads(path.read_text("utf-8"))
    kinds = {
        "plays": (plays, 3),
        "phrases": (phrases, 5),
        "dates": (dates, 3),
        "rates": (rates, 3),
        "warm_up": (warm_up, 3),
        "numbers": (numbers, 3),
        "rates_4": (rates_4, 3),
        "readers": (readers, 3),
        "readers_slower": (readers_slower, 3),
        "joint": (joint, 10),
        "deep": (deep, 10),
        "copiers": (copiers, 3),
        "wider": (wider, 3),
        "vocabularies": (vocabularies, 3),
        "parts": (parts, 3),
        "sizes": (sizes, 3),
        "loops": (loops, 3),
        "twice": (twice, 3),
        "head_kinds": (head_kinds, 2),
        "copying": (copying, 2),
        "said_twice": (said_twice, 3),
        "sink": (sink, 8),
        "names": (names, 2),
        "facts": (facts, 7),
        "windows": (windows, 2),
        "silent": (silent, 3),
        "loud": (loud, 3),
        "lengths": (lengths, 3),
        "experts": (experts, 3),
        "recall": (recall, 3),
        "images": (images, 5),
        "orders": (orders, 3),
        "looks": (looks_and_covers, 3),
        "questions": (questions_and_pictures, 3),
        "pairs": (pairs, 3),
        "counts": (counts, 3),
        "reach": (reach, 3),
        "listeners": (listeners, 3),
    }
    once = {"places": places, "without": without}
    for name in sys.argv[1:] or [*kinds, *once]:
        if name in once:
            measured[name] = once[name]()
            continue
        measure, count = kinds[name]
        measured[name] = [measure(seed) for seed in range(count)]
    path.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
