"""Digits drawn by rule as people draw them with a finger: the ways to write each, bent, slanted, small or large.

A way is written as its strokes, "/" between them, each a row of points "xy" from 00 to 99, from the top left; a line
goes through them smoothly, and turns sharply at a point that is written twice. No person has drawn any of these digits.
"""

import math
import random
from itertools import chain
from operator import mul

import torch
from torch import Tensor

from attnbook.widgets.draw_digit import SIDE, reduced

WAYS = [
    ["40 12 05 28 59 88 94 71 40", "40 12 05 28 59 88 94 71 50 30", "30 71 94 88 59 28 05 12 50"],
    ["50 59", "23 50 50 59", "14 50 50 59", "23 50 50 59 / 29 89", "23 50 50 59 / 09 99", "50 59 / 29 89"],
    ["12 40 80 93 65 09 09 99", "12 40 80 93 65 08 17 48 99", "01 01 90 90 09 09 99"],
    ["11 40 82 73 44 44 85 97 69 29 07", "00 90 90 44 44 85 97 69 29 07", "11 50 92 64 34 64 96 79 39 08"],
    [
        "30 05 05 95 / 70 69",
        "10 04 15 45 84 / 80 89",
        "69 60 60 06 06 96",
        "10 06 06 96 / 54 59",
        "00 04 25 84 / 80 80 89",
    ],
    [
        "90 10 10 04 04 53 95 87 48 08",
        "10 04 04 53 95 87 48 08 / 10 90",
        "90 11 04 53 95 87 48 08",
        "90 20 20 14 54 86 69 09",
    ],
    ["70 32 05 18 49 88 86 55 26 17", "60 05 18 49 88 86 55 06", "91 50 12 05 18 49 88 86 54 25 07"],
    [
        "00 90 90 39",
        "00 90 90 39 / 25 85",
        "02 00 00 90 90 39",
        "02 00 00 90 90 39 / 15 75",
        "00 90 90 54 39",
        "00 90 90 89",
    ],
    [
        "81 40 12 34 65 87 49 07 25 64 82 70",
        "40 12 44 82 50 30 / 44 07 49 97 54 34",
        "80 11 87 49 07 81 80",
        "40 12 34 75 97 49 07 25 74 82 50",
    ],
    [
        "92 50 12 25 64 91 91 89",
        "82 50 12 25 64 91 91 86 59 18",
        "82 40 02 24 63 91 88 59 19",
        "92 50 12 25 64 91 91 49",
        "71 40 12 35 74 82 71 71 69",
    ],
]
# One way of each that is never learned from.
NEW_WAYS = [
    ["40 12 05 28 59 88 94 71 50 33"],
    ["14 50 50 59 / 29 89"],
    ["02 40 81 84 47 19 17 37 69 98"],
    ["11 40 82 63 34 44 53 75 97 69 29 07"],
    ["60 06 06 96 / 60 69"],
    ["91 50 11 34 74 97 69 29 07"],
    ["30 16 39 78 76 45 18"],
    ["01 90 90 65 59"],
    ["44 12 40 82 44 07 49 97 44"],
    ["81 40 02 14 54 82 80 80 79"],
]


def drawn(way: str, dice: random.Random) -> list[list[int]]:
    """The cells of each stroke of a digit written that way, anywhere on the sheet of DrawDigit."""
    strokes = [_smooth(_points(stroke, dice)) for stroke in way.split("/")]
    slant, turn, narrow = dice.gauss(-0.12, 0.18), dice.gauss(0, 0.08), dice.uniform(0.45, 0.95)
    waves = [(dice.gauss(0, 0.35), dice.uniform(0, 6.3), dice.uniform(0.2, 0.6)) for _ in range(2)]
    sway, sag = ((lambda z, far=far, at=at, long=long: far * math.sin(at + long * z)) for far, at, long in waves)

    def bent(x: float, y: float) -> tuple[float, float]:
        x, y = narrow * (x + sway(y) - 4.5) + slant * (y - 4.5), y + sag(x) - 4.5
        return x * math.cos(turn) - y * math.sin(turn), x * math.sin(turn) + y * math.cos(turn)

    strokes = [[bent(*point) for point in stroke] for stroke in strokes]
    low, high = ([end(xs) for xs in zip(*chain(*strokes), strict=True)] for end in (min, max))
    height = dice.uniform(6, SIDE - 0.5)
    scale = min(height / (high[1] - low[1]), (SIDE - 0.5) / max(high[0] - low[0], 1e-9))
    starts = [dice.uniform(0, SIDE - 0.01 - scale * (high[axis] - low[axis])) for axis in (0, 1)]
    hurry = dice.choice([1, 1, 2, 3]) if height > 9 else 1
    placed = [
        [[scale * (z - low[axis]) + starts[axis] for axis, z in enumerate(point)] for point in line] for line in strokes
    ]
    return [_cells(line, hurry) for line in placed]


def _points(stroke: str, dice: random.Random) -> list[tuple[float, float]]:
    """Its points, each put a little aside; two that are the same stay so."""
    moved = {xy: (int(xy[0]) + dice.gauss(0, 0.45), int(xy[1]) + dice.gauss(0, 0.4)) for xy in stroke.split()}
    return [moved[xy] for xy in stroke.split()]


def _smooth(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """A curve through the points (Catmull and Rom)."""
    line = []
    for before, a, b, after in zip([points[0], *points], points, points[1:], [*points[2:], points[-1]], strict=False):
        for t in (k / 12 for k in range(13)):
            shares = (-t + 2 * t**2 - t**3, 2 - 5 * t**2 + 3 * t**3, t + 4 * t**2 - 3 * t**3, t**3 - t**2)
            x, y = (sum(map(mul, shares, zs)) / 2 for zs in zip(before, a, b, after, strict=True))
            line.append((x, y))
    return line


def _cells(line: list[list[float]], hurry: int) -> list[int]:
    """The cells under a line: every one, or every second or third, as a fast hand reaches them."""
    cells = [SIDE * int(y) + int(x) for x, y in line]
    cells = [cell for before, cell in zip([None, *cells], cells, strict=False) if cell != before]
    return [*cells[:-1:hurry], cells[-1]]


def drawings(n: int, seed: int, ways: list[list[str]] = WAYS) -> tuple[Tensor, Tensor]:
    """So many of each digit as the network is given them (B, 8, 8), and which they are (B,)."""
    dice = random.Random(seed)
    labels = [digit for _ in range(n) for digit in range(10)]
    images = [reduced(drawn(dice.choice(ways[digit]), dice)) for digit in labels]
    return torch.stack(images) / 16, torch.tensor(labels)
