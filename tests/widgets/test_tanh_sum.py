"""TanhSum: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import additive_scores
from attnbook.widgets import TanhSum
from tests.browser.hands import Finger, Mouse, bring, middle, stops
from tests.browser.pages import bare
from tests.widgets.laws import COUNT_ELEMENTS, Laws, agree, live
from tests.widgets.reading import parsed
from tests.widgets.steps import slide

READ = """(node) => {
    const places = (path) => path.getAttribute("d").slice(1).split("L").map((pair) => pair.split(" "));
    const dots = [...node.querySelectorAll("circle")];
    return {
        numbers: [...node.querySelectorAll("td.ab-number")].map((cell) => cell.textContent).filter(Boolean),
        curves: ["first", "second", "sum", "dot"].map((name) => places(node.querySelector(`.ab-plot .ab-${name}`))),
        dots: dots.map((dot) => ["cx", "cy"].map((name) => dot.getAttribute(name))),
        line: ["x1", "x2"].map((end) => node.querySelector(".ab-here").getAttribute(end)),
        tip: node.querySelector(".ab-tip").getAttribute("x"),
        key: node.querySelector("caption span").textContent,
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    w = torch.tensor([[widget.w1, widget.w2]], dtype=torch.float64)
    q, k = (torch.tensor([[x]], dtype=torch.float64) for x in (widget.q, widget.k))
    both = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)

    def scores(keys):
        units = torch.tanh(F.linear(q, both) + F.linear(keys, both.abs()))
        additive = additive_scores(F.linear(q, both), F.linear(keys, both.abs()), w[0])
        return torch.cat([units * w, additive.T, keys @ q], -1)

    keys = torch.linspace(-6, 6, 97, dtype=torch.float64)[:, None]
    first, second, total, product = here = scores(k)[0]
    units = torch.tanh(torch.stack([k + q, k - q]).flatten())
    curves = torch.stack([keys.expand(-1, 4), -scores(keys)], -1).transpose(0, 1)
    dots = torch.stack([k[0, 0] * torch.ones(2), -here[[3, 2]]], -1)
    return {
        "numbers": torch.stack([units[0], first, units[1], second, total, product]),
        "curves": 26 * curves,
        "dots": 26 * dots,
        "line": 26 * k.expand(2, 1),
        "tip": 26 * k - 18,
        "key": k,
    }


class TestTanhSum(Laws):
    kind = TanhSum
    read = READ
    expected = staticmethod(expected)
    steps = [
        *slide("Query", "q", last=3.0, first=-3.0),
        *slide("Weight w₁", "w1", last=2.0, first=-2.0),
        *slide("Weight w₂", "w2", last=2.0, first=-2.0),
        *slide("Key", "k", last=6.0, first=-6.0),
    ]
    changes = [{"q": -3.0}, {"w2": -1.5}, {"k": 6.0}, {"w1": 0.0}]
    states = {
        "weights of both signs": TanhSum(q=2.0, w1=-2.0, w2=2.0),
        "a window": TanhSum(q=3.0, w1=1.0, w2=-1.0, k=-6.0),
        "a key between the stops": TanhSum(q=-1.3, k=0.7, w1=0.25),
    }
    drags = {"tanh": (TanhSum(), slide("Query", "q", last=3.0))}
    errors = [
        (lambda: TanhSum(w1=3), r"'w1' trait .* not be greater than 2"),
        (lambda: TanhSum(k=-7), r"'k' trait .* not be less than -6"),
    ]


def test_the_key_is_dragged_along_the_curves(visit):
    page = visit("bare.html", touch=True, served={"bare.html": bare(TanhSum(), TanhSum())})
    for place, hand in enumerate([Mouse, Finger]):
        node = live(page, place)
        node.evaluate(COUNT_ELEMENTS)
        start = bring(node.locator(".ab-tip"))
        unit = node.locator(".ab-plot").bounding_box()["width"] / 12
        hand(page).drag([start, *stops(start, (start[0] - 3 * unit, start[1] - 20))])
        agree(node, TanhSum(k=-2.0), "the key dragged three to the left")
        start = middle(node.locator(".ab-tip"))
        hand(page).drag([start, *stops(start, (start[0] - 7 * unit, start[1]))])
        agree(node, TanhSum(k=-6.0), "the key dragged out of the picture")
        assert page.evaluate("created") == 0


def test_table_of_additive_scores():
    cells = [cell.text for cell in parsed(TanhSum(q=2.0, k=-2.0, w1=1.0, w2=-0.5)).select("td")[1:]]
    assert cells == ["0.00", "1.00", "0.00", "−1.00", "−0.50", "0.50", "", "", "0.50", "", "", "−4.00"]
