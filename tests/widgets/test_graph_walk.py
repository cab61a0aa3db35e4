"""GraphWalk: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

from functools import cache
from itertools import combinations

import torch
from torch import Tensor, nn

from attnbook import EncoderBlock
from attnbook.widgets import GraphWalk
from tests.browser.pages import bare
from tests.widgets.laws import Laws, agree, live
from tests.widgets.reading import codes, parsed
from tests.widgets.steps import choose, press, slide, stroke

READ = """(node) => {
    const all = (selector) => [...node.querySelectorAll(selector)];
    const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
    const is = (parts, name) => parts.map((part) => String(Number(part.matches(name))));
    const cells = all("[role=gridcell]");
    return {
        heard: all("g").map((part) => part.dataset.heard),
        knows: is(all("g"), ".ab-knows"),
        marked: is(all("g"), ".ab-marked"),
        ways: all("path").map((part) => part.dataset.way),
        told: is(all("path"), ".ab-told"),
        hears: is(cells, ".ab-yes, .ab-itself"),
        labels: codes(cells.map((cell) => cell.ariaLabel)),
        undo: is(all(".ab-mask button").filter((key) => key.checkVisibility({ visibilityProperty: true })), "*"),
        said: codes(all(".ab-said p").map((part) => part.textContent)),
    };
}"""


@cache
def blocks() -> nn.ModuleList:
    torch.manual_seed(0)
    return nn.ModuleList(EncoderBlock(8, 2, 16, 0.0, norm="pre").double() for _ in range(8))


@torch.no_grad()
def knowing(mask: Tensor, marked: int, layers: int) -> Tensor:
    """Which nodes' vectors change with the marked one's, after so many blocks with this mask."""
    x = torch.randn(2, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    unmarked = torch.arange(8) != marked
    x[1, unmarked] = x[0, unmarked]
    for block in blocks()[:layers]:
        x = block(x, mask)
    return (x[0] != x[1]).any(-1)


def expected(widget) -> dict[str, Tensor]:
    """Who has heard is asked of real blocks, whose attention gets the mask."""
    mask = widget.mask()
    by_layer = torch.stack([knowing(mask, widget.marked, layers) for layers in range(8)])
    knows, pairs = by_layer[widget.layers], [(i, j) for j, i in combinations(range(8), 2)]
    pairs.sort()
    before = by_layer[max(widget.layers - 1, 0)] if widget.layers else torch.zeros(8, dtype=torch.bool)
    told = [(mask[i, j] and before[j]) or (mask[j, i] and before[i]) for i, j in pairs]
    say = widget.edition_words()
    label = lambda i, j: say["cell"]["itself" if i == j else "yes" if mask[i, j] else "no"]  # noqa: E731
    return {
        "heard": torch.where(knows, by_layer.int().argmax(0), -1),
        "knows": knows,
        "marked": torch.arange(8) == widget.marked,
        "ways": torch.tensor([mask[i, j] + 2 * mask[j, i] for i, j in pairs]),
        "told": torch.tensor(told),
        "hears": mask,
        "labels": codes(*(label(i, j).format(row=i + 1, column=j + 1) for i in range(8) for j in range(8))),
        "undo": torch.ones(int(len(widget.flipped) > 0)),
        "said": codes(*widget.said()),
    }


class TestGraphWalk(Laws):
    kind = GraphWalk
    read = READ
    expected = staticmethod(expected)
    steps = [
        *slide("Layers", "layers", first=0, last=7),
        *choose("graph", "ring", "star", "parts"),
        *slide("Marked node", "marked", last=7, first=0),
        *stroke([[4, 0], [4, 1]], "flipped"),
        *press("Undo all changes", {"flipped": []}),
    ]
    changes = [
        {"layers": 0},
        {"graph": "star"},
        {"marked": 5},
        {"layers": 1},
        {"flipped": [[0, 5], [3, 3], [9, 0], [4, 5]]},
        {"graph": "parts"},
    ]
    states = {
        "one way only": GraphWalk(flipped=[[0, 1], [7, 0]], marked=3, layers=3),
        "a bridge": GraphWalk(graph="parts", flipped=[[4, 0], [0, 4]], layers=3),
        "everyone": GraphWalk(graph="star", marked=4, layers=2),
    }
    drags = {"edges": (GraphWalk(), stroke([[4, 0], [4, 1]], "flipped"))}
    by_finger = ("edges",)
    errors = [
        (lambda: GraphWalk(graph="tree"), r"'graph' trait .* any of \['chain', 'ring', "),
        (lambda: GraphWalk(layers=8), r"'layers' trait .* not be greater than 7"),
    ]


def test_a_press_on_a_node_marks_it(visit):
    page = visit("bare.html", served={"bare.html": bare(GraphWalk(graph="ring"))})
    node = live(page)
    node.locator("g").nth(5).locator("circle").click()
    agree(node, GraphWalk(graph="ring", marked=5), "a press on the sixth")


def test_table_of_the_mask():
    page = parsed(GraphWalk(graph="star"))
    assert page.caption.text == "The mask: rows hear columns"
    hears = torch.tensor([cell.text == "hears" for cell in page.select("td")[1:]]).view(8, 8)
    assert torch.equal(hears, GraphWalk(graph="star").mask())


def test_what_chapter_15_says_of_it():
    assert max(GraphWalk(graph="chain").distances()) == 7
    joined = GraphWalk(graph="chain", flipped=[[0, 7], [7, 0]])
    assert torch.equal(joined.mask(), GraphWalk(graph="ring").mask())
    assert max(joined.distances()) == 4
    star = [max(GraphWalk(graph="star", marked=marked).distances()) for marked in range(8)]
    assert star == [1] + 7 * [2]
    assert GraphWalk(graph="parts").distances().count(-1) == 4
    once = GraphWalk(graph="chain", flipped=[[i, i + 1] for i in range(7)])
    assert torch.equal(once.mask(), once.mask().tril())
    assert [GraphWalk(graph="chain", flipped=once.flipped, marked=m).distances().count(-1) for m in (0, 7)] == [0, 7]
