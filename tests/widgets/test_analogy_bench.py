"""AnalogyBench: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import pytest
import torch
import torch.nn.functional as F
from playwright.sync_api import expect
from torch import Tensor

from attnbook.data import english_vectors
from attnbook.widgets import (
    AnalogyBench,
)
from tests.browser.pages import bare
from tests.widgets.laws import Laws, live
from tests.widgets.oracles import doubles
from tests.widgets.steps import choose, fill, press

READ = """(node) => {
        const shown = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        return {
            cosines: shown("tbody .ab-number").map((part) => part.textContent),
            bars: shown(".ab-bar i").map((bar) => bar.style.getPropertyValue("--w")),
            asked: shown("tbody tr").map((row) => String(Number(row.classList.contains("ab-asked")))),
            figures: shown("dd").map((part) => part.textContent),
            ways: shown("svg").flatMap((svg) => { // in the picture, two sides and the dashed line, over the first side
                const pairs = (path) => path.getAttribute("d").match(/[-\\d.e]+ [-\\d.e]+/g);
                const ends = (path) => pairs(path).map((pair) => pair.split(" ").map(Number));
                const [a, b, corner, c] = ends(svg.querySelector(".ab-shape"));
                const [, answer] = ends(svg.querySelector(".ab-error"));
                const far = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]);
                const ways = far(a, b) ? [far(a, c), far(b, corner), far(corner, answer)] : [];
                return ways.map((way) => String(way / far(a, b)));
            }),
        };
    }"""


def expected(widget) -> dict[str, Tensor]:
    if not widget.asked:
        return dict.fromkeys(["cosines", "bars", "asked", "figures", "ways"], torch.tensor([]))
    rows = torch.tensor([english_vectors().index[word] for word in (widget.a, widget.b, widget.c)])
    units = F.normalize(doubles(), dim=-1)
    a, b, c = units[rows]
    corner = b - a + c
    cosines = F.cosine_similarity(corner, units, dim=-1)
    if widget.queries == "out":
        cosines[rows] = -2
    best = cosines.topk(8)
    gap = units[best.indices[0]] - corner
    plane = torch.stack([b - a, c - a], -1)
    flat = plane @ torch.linalg.lstsq(plane, gap[:, None], driver="gelsd").solution[:, 0]  # its shadow on the plane
    first, second, shadow = (b - a).norm(), (c - a).norm(), flat.norm()
    return {
        "cosines": best.values,
        "bars": best.values.clamp(min=0),
        "asked": torch.isin(best.indices, rows),
        "figures": torch.stack([first, second, gap.norm(), (gap - flat).norm()]),
        "ways": torch.stack([second, second, shadow]) / first if first else torch.tensor([]),
    }


class TestAnalogyBench(Laws):
    kind = AnalogyBench
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("Find the fourth word", {"asked": True}),
        *choose("queries", "in", "out"),
        *fill("This word", "uncle", {"a": "uncle"}),
        *fill("is to this one", "aunt", {"b": "aunt"}),
        *fill("as this one", "brother", {"c": "brother"}),
        *press("france paris japan", {"a": "france", "b": "paris", "c": "japan"}),
    ]
    changes = [{"asked": True}, {"c": "prince"}, {"queries": "in"}]
    states = {
        "an analogy": AnalogyBench("big", "bigger", "cold", asked=True),
        "an analogy of one word": AnalogyBench("river", "river", "river", asked=True, queries="in"),
        "an analogy with itself": AnalogyBench("king", "queen", "king", asked=True, queries="in"),
    }
    errors = [
        (lambda: AnalogyBench("man", "woman", "zyzzyva"), r"no vector for 'zyzzyva'"),
        (lambda: AnalogyBench("man", "", "king"), r"no vector for ''"),
    ]


@pytest.mark.parametrize("queries", ["out", "in"])
def test_the_analogy_bench_names_what_the_book_computes(visit, queries):
    twin = AnalogyBench("man", "woman", "king", queries=queries, asked=True)
    page = visit("bare.html", served={"bare.html": bare(twin)})
    expect(live(page).locator("tbody th")).to_have_text([word for word, _ in twin.ranking()])
    expect(page.locator("svg text")).to_have_text(["man", "woman", "king", twin.ranking()[0][0]])
