"""HeadSplit: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
from einops import rearrange
from torch import Tensor

from attnbook.widgets import HeadSplit
from tests.widgets.laws import Laws
from tests.widgets.reading import parsed
from tests.widgets.steps import choose, press, slide

KINDS = ["number", "word", "head", "row"]  # of what a column or row of the table may be
READ = """(node) => {
    const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const number = (name) => String("abcdef".indexOf(name[0]) * 6 + Number(name[1]));
    const inText = (text) => text.match(/\\d+|^[a-f]$/)[0].replace(/[a-f]/, (letter) => "abcdef".indexOf(letter));
    return {
        step: node.querySelector("input[type=range]").value,
        said: node.querySelector(".ab-value").textContent.match(/\\d+/g),
        places: [...node.querySelectorAll(".ab-cell")].map((c) => c.getAttribute("transform").match(/[\\d.]+/g)),
        heads: seen("th").map((th) => [String(KINDS.indexOf(th.dataset.kind)), inText(th.textContent)]),
        words: seen("tbody td").flatMap((cell) => cell.textContent.split(" ").map(number)),
        shape: node.querySelector(".ab-shape").textContent.split("=")[1].match(/\\d+/g),
    };
}""".replace("KINDS", str(KINDS))


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
    columns = "number" if words_in_rows else "word" if by_word else "head"
    rows = "word" if words_in_rows else "head" if by_word else "row"
    heads = [(columns, i) for i in range(6 if words_in_rows else 3 if by_word else H)]
    heads += [(rows, i) for i in range(H if by_word else 3)]
    return {
        "step": torch.tensor(step),
        "said": torch.tensor([step, 5]),
        "places": torch.stack([left.flatten()[order], top.flatten()[order]], -1),
        "heads": torch.tensor([(KINDS.index(kind), i + (kind in ("head", "row"))) for kind, i in heads]),
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


def test_table_of_what_each_head_gets():
    view = [cell.text for cell in parsed(HeadSplit(way="view")).select("td")]
    assert view[1:7] == ["a0 a1 a2", "a3 a4 a5", "b0 b1 b2", "b3 b4 b5", "c0 c1 c2", "c3 c4 c5"]
    heads = [cell.text for cell in parsed(HeadSplit()).select("td")]
    assert heads[1:7] == ["a0 a1 a2", "b0 b1 b2", "c0 c1 c2", "a3 a4 a5", "b3 b4 b5", "c3 c4 c5"]
