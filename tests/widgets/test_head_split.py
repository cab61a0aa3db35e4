"""HeadSplit: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
from einops import rearrange
from torch import Tensor

from attnbook.widgets import HeadSplit
from tests.widgets.laws import Laws
from tests.widgets.steps import choose, press, slide

READ = """(node) => {
        const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        const number = (name) => String("abcdef".indexOf(name[0]) * 6 + Number(name[1]));
        return {
            step: node.querySelector(".ab-value").textContent[0],
            places: [...node.querySelectorAll(".ab-cell")].map((c) => c.getAttribute("transform").match(/[\\d.]+/g)),
            heads: seen("th").flatMap((th) => [...th.textContent].map((c) => String(c.codePointAt(0)))),
            words: seen("tbody td").flatMap((cell) => cell.textContent.split(" ").map(number)),
            shape: node.querySelector(".ab-shape").textContent.split("=")[1].match(/\\d+/g),
        };
    }"""


def expected(widget) -> dict[str, Tensor]:
    H, step = widget.heads, widget.step
    x = torch.arange(36).view(2, 3, 6)
    split = rearrange(x, "B L (H K) -> B L H K", H=H)
    now = {0: x, 5: x, 1: split, 4: split}.get(step, rearrange(split, "B L H K -> B H L K"))
    if widget.way == "view" and 0 < step < 5:
        now = x.view(2, H, 3, 6 // H)
    blocks = now if now.ndim == 4 else now[:, None]
    Y, Z = blocks.shape[2:]
    b, block, row, column = torch.meshgrid(*map(torch.arange, blocks.shape), indexing="ij")
    left, top = block * (30 * Z + 12) + 30 * column, b * (30 * Y + 24) + 30 * row
    order = blocks.flatten().argsort()
    words_in_rows, by_word = now.ndim == 3, widget.way == "transpose" and step in (1, 4)
    numbered = lambda name, n: [f"{name} {i + 1}" for i in range(n)]  # noqa: E731
    columns = list("012345") if words_in_rows else list("abc") if by_word else numbered("head", H)
    rows = list("abc") if words_in_rows else numbered("head", H) if by_word else numbered("row", 3)
    return {
        "step": torch.tensor(step),
        "places": torch.stack([left.flatten()[order], top.flatten()[order]], -1),
        "heads": torch.tensor([ord(letter) for head in columns + rows for letter in head]),
        "words": rearrange(blocks[0], "X Y Z -> Y X Z"),
        "shape": torch.tensor(now.shape),
    }


class TestHeadSplit(Laws):
    kind = HeadSplit
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("Forward", {"step": 1}),
        *press("Forward", {"step": 2}),
        *choose("heads", 3, 6, 2),
        *choose("way", "view", "transpose"),
        *press("Back", {"step": 1}),
        *slide("Step", "step", last=5, first=0),
    ]
    changes = [{"step": 2}, {"heads": 3}, {"way": "view"}, {"step": 5}, {"heads": 6}]
    states = {
        "cut into two heads": HeadSplit(heads=2, step=1),
        "six heads to the front": HeadSplit(heads=6, step=3),
        "three heads, on the way back": HeadSplit(heads=3, step=4),
        "three heads by view alone": HeadSplit(heads=3, step=2, way="view"),
        "six heads by view alone": HeadSplit(heads=6, step=4, way="view"),
    }
    drags = {"step": (HeadSplit(), slide("Step", "step", last=5))}
    errors = [
        (lambda: HeadSplit(heads=4), r"'heads' trait .* any of \[2, 3, 6\]"),
        (lambda: HeadSplit(step=6), r"'step' trait .* not be greater than 5"),
    ]
