"""HeadSplit: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
from einops import rearrange
from torch import Tensor

from attnbook.widgets import HeadSplit
from tests.widgets.laws import Moving
from tests.widgets.reading import codes, parsed
from tests.widgets.steps import choose

READ = """(node) => {
    const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const number = (name) => String("abcdef".indexOf(name[0]) * 6 + Number(name[1]));
    const told = (selector) => [...node.querySelectorAll(selector)].filter((part) => !part.hidden); // in a fold, too
    const codes = (parts) => parts.flatMap((part) => [...part.textContent].map((c) => String(c.codePointAt(0))));
    const put = (axes) => (part) => [...axes].map((axis) => part.style.getPropertyValue(`--${axis}`));
    return {
        step: seen("input[name^=step-]").map((line) => String(Number(line.checked))),
        names: seen(".ab-cell").map((cell) => number(cell.textContent)),
        places: seen(".ab-cell").map(put("xy")),
        frames: seen(".ab-frame").map(put("xywh")),
        heads: codes(told("th")),
        words: told("tbody td").flatMap((cell) => cell.textContent.split(" ").map(number)),
        shapes: seen(".ab-code small").map((shape) => shape.textContent.match(/\\d+/g)),
        note: codes(seen(".ab-texts p")),
        mixing: String(seen(".ab-mixing").length),
    };
}"""


def axes_at(step, way):
    if step in (0, 5):
        return "B L D"
    return "B L H K" if way == "transpose" and step in (1, 4) else "B H L K"


def tensor_at(step, way, H):
    x = torch.arange(36).view(2, 3, 6)
    if way == "view":
        return x if step in (0, 5) else x.view(2, H, 3, 6 // H)
    return x if step in (0, 5) else rearrange(x, f"B L (H K) -> {axes_at(step, way)}", H=H)


def expected(widget) -> dict[str, Tensor]:
    H, step, way = widget.heads, widget.step, widget.way
    axes, now, K = axes_at(step, way), tensor_at(step, way, H), 6 // H
    rows = now if now.ndim == 3 else rearrange(now, f"{axes} -> B L H K")  # as they are drawn: heads beside one another
    cut, apart = axes == "B L H K", axes == "B H L K"
    across, down = (0.2 if cut else 1.5 / (H - 1) if apart else 0), 0.2 * cut
    left, top = (1.5 - (H - 1) * across) / 2, (0.4 - 2 * down) / 2
    row, column = torch.meshgrid(torch.arange(3), torch.arange(6), indexing="ij")
    one = torch.stack([left + column + column // K * across, top + row * (1 + down)], -1).view(18, 2)
    places = torch.cat([one, one])[rows.flatten().argsort()]
    if cut:
        frames = [(left, top + l * 1.2, 7.5 - 2 * left, 1) for l in range(3)]
    else:
        frames = [(left + h * (K + across), top, K, 3) for h in range(H)] if apart else [(left, top, 6, 3)]
    say = widget.edition_words()
    names = [say["head"].format(n=h + 1) for h in range(H)] if cut or apart else "012345"
    names = [*names, *([say["row"].format(n=i + 1) for i in range(3)] if apart else "abc")]
    notes = {
        "transpose": ["queries", "cut", "front", "mixed", "back", "joined"],
        "view": ["queries", "fits", "asked", "unnoticed", "still", "undone"],
    }
    return {
        "step": torch.arange(6) == step,
        "names": torch.arange(36),
        "places": places,
        "frames": torch.tensor(frames * 2),
        "heads": codes(*names),
        "words": rows[0],
        "shapes": torch.cat([torch.tensor(tensor_at(i, way, H).shape) for i in range(6)]),
        "note": codes(say["notes"][notes[way][step]]),
        "mixing": torch.tensor(step == 3),
    }


class TestHeadSplit(Moving):
    kind = HeadSplit
    read = READ
    expected = staticmethod(expected)
    steps = [
        *choose("step", 1, 2),
        *choose("heads", 3, 6, 2),
        *choose("way", "view", "transpose"),
        *choose("step", 3, 5, 0),
    ]
    happens = choose("step", 1, 2)
    changes = [{"step": 2}, {"heads": 3}, {"way": "view"}, {"step": 5}, {"heads": 6}]
    states = {
        "cut into two heads": HeadSplit(heads=2, step=1),
        "six heads to the front": HeadSplit(heads=6, step=3),
        "three heads, on the way back": HeadSplit(heads=3, step=4),
        "three heads by view alone": HeadSplit(heads=3, step=2, way="view"),
        "six heads by view alone": HeadSplit(heads=6, step=4, way="view"),
    }
    errors = [
        (lambda: HeadSplit(heads=4), r"'heads' trait .* any of \[2, 3, 6\]"),
        (lambda: HeadSplit(step=6), r"'step' trait .* not be greater than 5"),
    ]


def test_table_of_what_each_head_gets():
    view = [cell.text for cell in parsed(HeadSplit(way="view")).select("td")]
    assert view[1:7] == ["a0 a1 a2", "a3 a4 a5", "b0 b1 b2", "b3 b4 b5", "c0 c1 c2", "c3 c4 c5"]
    heads = [cell.text for cell in parsed(HeadSplit()).select("td")]
    assert heads[1:7] == ["a0 a1 a2", "b0 b1 b2", "c0 c1 c2", "a3 a4 a5", "b3 b4 b5", "c3 c4 c5"]
