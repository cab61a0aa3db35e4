"""The pictures of stories: SVG in the book's colours, drawn from numbers that are computed here.

A part with the class `from-2` is there from step 2 on, one with `until-2` goes after it; `fades-2` pales at step 2.
What moves at step 2 has the class `moves-2` and in its style where it was before: `--before`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path

from attnbook.language import words

HERE = Path(__file__).parent
Matrix = Sequence[Sequence[float]]


def one_pass() -> str:
    """Softmax of four scores in two blocks: what is kept after the first is rescaled, and the second is added.

    >>> "2.054" in one_pass()
    True
    """
    say = words(HERE)["one-pass"]
    blocks = [((1, 4), (3, 0)), ((2, 8), (5, 2))]
    xs = [[24, 76], [146, 198]]
    first, last = (max(score for score, _ in keys) for keys in (blocks[0], sum(blocks, ())))
    factor = math.exp(first - last)
    parts = [text(10, 16, say["scores"], "name start"), text(10, 182, say["powers"], "name start")]
    parts += [line(10, 136, 244), line(10, 312, 244)]
    for at, (keys, places) in enumerate(zip(blocks, xs, strict=True)):
        seen = "fades-2" if at == 0 else "from-2"
        bars = [
            bar(x, 136, 20 * score, "score") + text(x + 18, 130 - 20 * score, score)
            for (score, _), x in pairs(keys, places)
        ]
        values = [text(x + 18, 154, say["value"].format(value=value), "small") for (_, value), x in pairs(keys, places)]
        parts.append(group("".join(bars + values), seen))
        powers = [100 * math.exp(score - last) for score, _ in keys]
        drawn = "".join(bar(x, 312, high, "power") for high, x in pairs(powers, places))
        if at == 0:
            parts.append(group(drawn, "moves-2", f"--before:scaleY({1 / factor:.4f});transform-origin:0 312px"))
        else:
            parts.append(group(drawn, "from-3"))
    fall = f"--before:translateY({20 * (last - first)}px)"
    parts.append(group(line(10, 136 - 20 * last, 244, "water"), "moves-2", fall))

    def sums(keys, top):
        powers = [math.exp(score - top) for score, _ in keys]
        return sum(powers), sum(power * value for power, (_, value) in zip(powers, keys, strict=True))

    total, output = sums(blocks[0], first)
    kept = [(first, total, output, "until-1"), (last, factor * total, factor * output, "from-2 until-2")]
    kept.append((last, *sums(sum(blocks, ()), last), "from-3"))
    parts += [
        text(270, y, name, "name start") for y, name in ((66, say["maximum"]), (116, say["sum"]), (166, say["output"]))
    ]
    for top, total, output, when in kept:
        shown = [text(270, 84, top, "kept start"), text(270, 134, f"{total:.3f}", "kept start")]
        parts.append(group("".join([*shown, text(270, 184, f"{output:.3f}", "kept start")]), when))
    parts.append(group(text(270, 214, f"× {factor:.3f}", "glow start"), "from-2 until-2"))
    answer = text(270, 250, say["answer"], "name start") + text(270, 270, f"{output / total:.3f}", "kept glow start")
    parts.append(group(answer, "from-4"))
    return drawing(370, 322, say["about"], parts)


def one_update() -> str:
    """One step of skip-gram for chapter 1's *king*: a real context pulls its vector, two drawn ones push it away."""
    say = words(HERE)["one-update"]
    word = (1.0, 1.0)
    contexts = {"throne": (1.5, 0.5), "farm": (-1.0, 0.0), "olives": (-0.5, 0.5)}

    def scores(vector: tuple[float, float]) -> list[float]:
        return [sum(a * b for a, b in zip(vector, context, strict=True)) for context in contexts.values()]

    def chances(vector: tuple[float, float]) -> list[float]:
        return [1 / (1 + math.exp(-score)) for score in scores(vector)]

    def place(vector: tuple[float, float]) -> tuple[float, float]:
        return 160 + 120 * vector[0], 166 - 120 * vector[1]

    tip, arrows = word, []
    for real, chance, context in zip((1, 0, 0), chances(word), contexts.values(), strict=True):
        start, (x, y) = tip, context
        tip = start[0] + (real - chance) * x, start[1] + (real - chance) * y
        arrows.append(arrow(place(start), place(tip), "move"))
    moved = tip
    turn = math.degrees(math.atan2(moved[1], moved[0]) - math.atan2(word[1], word[0]))
    shrink = math.hypot(*word) / math.hypot(*moved)
    x, y = place((0, 0))
    before = f"--before:rotate({turn:.3f}deg) scale({shrink:.4f});transform-origin:{x:g}px {y:g}px"

    parts = [
        arrow((x, y), place(context), "key" if name == "throne" else "key drawn") for name, context in contexts.items()
    ]
    parts += [arrow((x, y), place(word), "query ghost"), group(arrow((x, y), place(moved), "query"), "moves-4", before)]
    parts += [group(arrows[0], "from-2"), group("".join(arrows[1:]), "from-3")]
    labels = {"throne": (352, 128), "farm": (26, 186), "olives": (82, 99)}
    parts += [text(*at, name, "name key") for name, at in labels.items()]
    parts.append(group(text(262, 38, "king", "name query"), "until-3"))
    parts.append(group(text(384, 66, "king", "name query"), "from-4"))
    columns = (184, 270, 356)
    parts += [text(at, 226, name, "name key") for at, name in pairs(columns, contexts)]
    parts += [text(0, 250, say["score"], "name start"), text(0, 274, say["real"], "name start")]
    for vector, when in ((word, "until-3"), (moved, "from-4")):
        shown = [text(at, 250, f"{score:.2f}".replace("-", "−")) for at, score in pairs(columns, scores(vector))]
        shown += [text(at, 274, f"{chance:.2f}") for at, chance in pairs(columns, chances(vector))]
        parts.append(group("".join(shown), when))
    return drawing(404, 284, say["about"], parts)


def formula() -> str:
    """The attention of three words by hand, as in chapter 5: scores, scaled, weights, output."""
    q = [(2.0, 0.0, 1.0, 1.0), (0.0, 0.0, 0.0, 2.0), (0.0, 2.0, 0.0, 0.0)]
    k = [(0.5, 0, 1, 0), (1, 0, 1, 1), (0, 1.0, 0, 0)]
    v = [(5.0, 5.0), (10.0, 0.0), (0.0, 10.0)]
    scores = [[sum(a * b for a, b in zip(row, key, strict=True)) for key in k] for row in q]
    scaled = [[score / math.sqrt(len(k[0])) for score in row] for row in scores]
    powers = [[math.exp(score) for score in row] for row in scaled]
    weights = [[power / sum(row) for power in row] for row in powers]
    output = [[sum(w * value[n] for w, value in zip(row, v, strict=True)) for n in range(2)] for row in weights]
    say, tokens = words(HERE)["formula"], ("bank", "river", "money")
    parts = [text(46, 183 + 28 * i, word, "small end") for i, word in enumerate(tokens)]
    parts += [text(225 + 38 * i, 40, word, "small") for i, word in enumerate(tokens)]
    parts += [text(128, 264, say["queries"], "name query"), text(263, 22, say["keys"], "name key")]
    parts += [grid(52, 164, q, "query"), grid(207, 46, list(zip(*k, strict=True)), "key")]
    for numbers, said, when in (
        (scores, say["scores"], "until-1"),
        (scaled, say["scaled"], "from-2 until-2"),
        (weights, say["weights"], "from-3"),
    ):
        lit = weights if numbers is weights else None
        parts.append(group(grid(207, 164, numbers, "score", lit) + text(263, 264, said, "name"), when))
    result = grid(326, 74, v, "value") + text(364, 66, say["values"], "name value")
    parts.append(group(result + grid(326, 164, output, "value") + text(364, 264, say["output"], "name"), "from-4"))
    return drawing(404, 274, say["about"], parts)


def three_steps() -> str:
    """Four words of three numbers each, as in chapter 7: the third asks, then all of them."""
    say = words(HERE)["three-steps"]
    x = [(1.0, 0.0, 1.0), (0.0, 2.0, 0.0), (1.0, 1.0, 0.0), (0.0, 0.0, 2.0)]
    scores = [[sum(a * b for a, b in zip(row, other, strict=True)) for other in x] for row in x]
    powers = [[math.exp(score) for score in row] for row in scores]
    weights = [[power / sum(row) for power in row] for row in powers]
    output = [[sum(w * word[n] for w, word in zip(row, x, strict=True)) for n in range(3)] for row in weights]
    asks, wide = 2, 34
    others = [i for i in range(len(x)) if i != asks]

    def rows(left: float, numbers: Matrix, kind: str, which: Iterable[int], lit: Matrix | None = None) -> str:
        lights = [[lit[i]] if lit else None for i in range(len(x))]
        return "".join(grid(left, 164 + 28 * i, [numbers[i]], kind, lights[i], wide) for i in which)

    parts = [text(36, 182 + 28 * i, f"x{'₁₂₃₄'[i]}", "end") for i in range(len(x))]
    parts += [rows(42, x, "query", [asks]), group(rows(42, x, "query", others), "from-4")]
    parts += [text(220, 58, say["all"], "name key"), grid(152, 68, list(zip(*x, strict=True)), "key", wide=wide)]
    parts.append(group(rows(152, scores, "score", [asks]) + text(220, 292, say["scores"], "name"), "until-1"))
    lit = rows(152, weights, "score", [asks], weights) + text(220, 292, say["weights"], "name")
    parts.append(group(lit, "from-2"))
    values = text(347, 32, say["all"], "name value") + grid(296, 40, x, "value", wide=wide)
    parts.append(group(values + rows(296, output, "value", [asks]) + text(347, 292, say["blend"], "name"), "from-3"))
    rest = rows(152, weights, "score", others, weights) + rows(296, output, "value", others)
    parts.append(group(rest, "from-4"))
    return drawing(404, 300, say["about"], parts)


def three_masks() -> str:
    """The three attentions of a Transformer and their masks, for four tokens and padding, and a target of four."""
    say = words(HERE)["three-masks"]
    real, target = (1, 1, 1, 1, 0), (1, 1, 1, 1)
    left, right = 132, 346

    def vectors(centre: float, y: float, kind: str, tokens: Sequence[int]) -> str:
        kinds = [f"cell {kind}" if token else f"cell {kind} absent" for token in tokens]
        xs = [centre - 12 * len(tokens) + 24 * i + 2 for i in range(len(tokens))]
        places = [f'x="{x:g}" y="{y}" width="20" height="14" rx="3"' for x in xs]
        return "".join(f'<rect class="{kind}" {place}/>' for kind, place in pairs(kinds, places))

    def mask(centre: float, y: float, rows: Matrix, name: str) -> str:
        start = centre - 6 * len(rows[0])
        places = [(start + 12 * j, y + 12 * i, seen) for i, row in enumerate(rows) for j, seen in enumerate(row)]
        cells = [
            f'<rect class="cell score" style="--w:{seen}" x="{x:g}" y="{y:g}" width="11" height="11"/>'
            for x, y, seen in places
        ]
        names = "".join(text(start - 8, y + 20 + 17 * line, part, "end") for line, part in enumerate(say[name]))
        return "".join(cells) + names

    def asks(centre: float, y: float, to: float, out: float) -> str:
        """From a row of vectors around its right side to the rows of a mask."""
        return _bent("query", (centre + out, y + 7), (centre + 74, y + 7), (centre + 74, to), (centre + 36, to))

    def up(centre: float, y: float, to: float, kind: str = "flow") -> str:
        return _bent(kind, (centre, y), (centre, to))

    def box(centre: float, y: float) -> str:
        frame = f'<rect class="cell plain" x="{centre - 56}" y="{y}" width="112" height="24" rx="4"/>'
        return frame + text(centre, y + 17, say["feed_forward"])

    encoder = [vectors(left, 368, "plain", real), up(left, 366, 350, "key"), asks(left, 368, 316, 60)]
    encoder += [mask(left, 286, [real] * 5, "self"), up(left, 284, 270), box(left, 244), up(left, 242, 228)]
    encoder += [
        vectors(left, 212, "key", real),
        text(left, 204, say["memory"], "name key"),
        text(left, 399, say["source"], "name"),
    ]
    causal = [[int(j <= i) for j in range(len(target))] for i in range(len(target))]
    own = [vectors(right, 368, "plain", target), up(right, 366, 350, "key"), asks(right, 368, 322, 48)]
    own += [mask(right, 298, causal, "self"), up(right, 296, 284), vectors(right, 268, "plain", target)]
    own.append(text(right, 399, say["target"], "name"))
    memory = _bent("key", (left + 60, 219), (left + 104, 219), (left + 104, 256), (right, 256), (right, 242))
    cross = [memory, asks(right, 268, 214, 48), mask(right, 190, [real] * len(target), "cross")]
    cross += [up(right, 188, 176), vectors(right, 160, "plain", target)]
    top = [up(right, 158, 144), box(right, 118), up(right, 116, 102), vectors(right, 86, "plain", target)]
    top += [up(right, 84, 70), text(right, 60, say["logits"], "name")]
    parts = [text(34, 30, say["queries"], "name query start"), _bent("query", (0, 26), (28, 26))]
    parts += [text(34, 54, say["keys"], "name key start"), _bent("key", (0, 50), (28, 50))]
    parts += [*encoder, group("".join(own), "from-2")]
    parts += [group("".join(cross), "from-3"), group("".join(top), "from-4")]
    return drawing(432, 406, say["about"], parts)


def grid(x: float, y: float, numbers: Matrix, kind: str, lit: Matrix | None = None, wide: int = 38) -> str:
    """A cell a number, so wide and 28 high; `lit` says how brightly it glows."""
    cells = []
    for i, row in enumerate(numbers):
        for j, number in enumerate(row):
            glow = f' style="--w:{lit[i][j]:.3f}"' if lit else ""
            at = f'x="{x + wide * j}" y="{y + 28 * i}" width="{wide - 2}" height="26" rx="4"'
            cells.append(f'<rect class="cell {kind}"{glow} {at}/>')
            cells.append(text(x + wide * j + wide / 2 - 1, y + 28 * i + 18, short(number), "number"))
    return "".join(cells)


def short(number: float) -> str:
    """At most two decimals, and none where none is needed.

    >>> short(2.0), short(0.5), short(0.0900)
    ('2', '0.5', '0.09')
    """
    return f"{number:.2f}".rstrip("0").rstrip(".")


def pairs(a: Iterable, b: Iterable) -> Iterable:
    return zip(a, b, strict=True)


def bar(x: float, base: float, high: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{x}" y="{base - high:.2f}" width="36" height="{high:.2f}"/>'


def line(x: float, y: float, to: float, kind: str = "rule") -> str:
    return f'<path class="{kind}" d="M{x} {y}H{to}"/>'


def text(x: float, y: float, said: object, kind: str = "number") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(str(said))}</text>'


def _bent(kind: str, *points: tuple[float, float]) -> str:
    """Straight lines from point to point, and an arrow at the end of the last."""
    lines = "".join(f"{'L' if i else 'M'}{x:g} {y:g}" for i, (x, y) in enumerate(points[:-1]))
    return f'<path class="arrow {kind}" d="{lines}"/>' + arrow(points[-2], points[-1], kind)


def arrow(start: tuple[float, float], end: tuple[float, float], kind: str) -> str:
    (x, y), (to_x, to_y) = start, end
    way, head = math.atan2(to_y - y, to_x - x), min(9, math.hypot(to_x - x, to_y - y) / 2)
    sides = [(to_x - head * math.cos(way + turn), to_y - head * math.sin(way + turn)) for turn in (0.45, -0.45)]
    points = [f"{x:.1f} {y:.1f}" for x, y in (start, end, sides[0], end, sides[1])]
    return f'<path class="arrow {kind}" d="M{"L".join(points[:2])}M{"L".join(points[2:])}"/>'


def group(inside: str, kind: str, style: str = "") -> str:
    return f'<g class="{kind}"' + (f' style="{style}"' if style else "") + f">{inside}</g>"


def drawing(width: int, height: int, about: str, parts: Iterable[str]) -> str:
    inside = "".join(parts)
    return f'<svg viewBox="-6 0 {width + 6} {height}" role="img" aria-label="{escape(about)}">{inside}</svg>'


DRAWINGS: dict[str, Callable[[], str]] = {
    "one-pass": one_pass,
    "one-update": one_update,
    "formula": formula,
    "three-steps": three_steps,
    "three-masks": three_masks,
}
