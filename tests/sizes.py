"""How many bytes things may have, and why: whoever needs more argues with the reason that stands here.

What a browser fetches is counted as a host sends it: by gzip where that helps. On a slow phone (1.6 Mbit/s, which is
what Lighthouse measures with) 100,000 bytes take half a second.
"""

import gzip
from functools import cache
from pathlib import Path

MAIL = "It can be sent by mail: most mail hosts take attachments of 25 MB."
OF_A_WIDGET = "A widget waits for it, and whoever installs the library downloads it."
PICTURED = "The page loads it, and draws all its answers from it."

# By what is weighed: bytes at most, and the reason.
LIMITS = {
    # What a reader of the site waits for
    "a page as it opens": (295_000, "A reader on a slow phone has text, fonts and the first widget in 1.5 s."),
    "a page to its last line": (395_000, "All that a page ever fetches by itself is there in 2 s on a slow phone."),
    "the next chapter": (120_000, "Whoever goes on has fonts and shared scripts already: 0.6 s on a slow phone."),
    "a widget": (12_000, "A chapter has up to four, and each may be the first on its page: script, style and words."),
    "writing on the page, at rest": (4_000, "Most readers of a page press nothing in its editors."),
    "the first verdict": (262_000, "It brings a Python, once in all the book: 1.3 s on a slow phone."),
    "the pictures of what code shows": (2_500, "They come with the first verdict that has something to draw."),
    "the first search": (100_000, "Half a second on a slow phone until the first letter is answered."),
    "vectors of the sentences shown": (40_000, "Vectors of all words come only for a sentence of a reader's own."),
    # Networks and texts that the repository, the wheel and pages hold
    "writer.bin": (400_000, OF_A_WIDGET),
    "date_reader.bin": (70_000, OF_A_WIDGET),
    "date_transformer.bin": (70_000, OF_A_WIDGET),
    "three_matrices.bin": (50_000, OF_A_WIDGET),
    "asker.bin": (40_000, OF_A_WIDGET),
    "digit_reader.bin": (45_000, OF_A_WIDGET),
    "real_model.bin": (200_000, PICTURED),
    "model_map.bin": (90_000, "The map moves 1.5 s after it is opened on a slow phone, with its page and its fonts."),
    "model_map_vectors.bin": (470_000, "It comes with the first look into a head, and a slow phone has it in 2 s."),
    "first.real_model.bin": (12_000, "What RealModel shows at first comes before the rest."),
    "shakespeare.txt.xz": (370_000, "The plays of chapters 1 and 11; whoever installs the library downloads them."),
    # What is passed on
    "the card of a link": (30_000, "Messengers load it for every link, and some leave out what is slow."),
    "the PDF": (16_000_000, MAIL),
    "the EPUB": (25_000_000, MAIL),
    "the zip": (13_000_000, "The book without the published model, to take along where the network is slow."),
    "another edition in the zip": (9_000_000, "What its pages load is there once more, with figures in its own words."),
    "the zip of the published model": (100_000_000, "GitHub Pages takes no file that is larger."),
}


def is_light(what: str, sizes: int | dict[str, int]) -> None:
    """Fails where something has more bytes than its limit, and names the heaviest of its parts."""
    most, why = LIMITS[what]
    parts = sizes if isinstance(sizes, dict) else {what: sizes}
    size, heaviest = sum(parts.values()), sorted(parts.items(), key=lambda pair: -pair[1])[:6]
    assert size <= most, f"{what} has {size - most:,} bytes more than its {most:,}. {why} Heaviest: {heaviest}"


def zipped(content: bytes) -> int:
    """How many bytes a host sends."""
    return min(len(content), len(gzip.compress(content)))


@cache
def on_its_way(file: Path) -> int:
    return zipped(file.read_bytes())
