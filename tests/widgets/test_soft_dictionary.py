"""SoftDictionary: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.widgets import SoftDictionary
from tests.browser.hands import Finger, Mouse, bring, middle, stops
from tests.browser.pages import bare
from tests.widgets.laws import COUNT_ELEMENTS, Laws, agree, live
from tests.widgets.steps import choose, slide

READ = """(node) => {
        const rows = [...node.querySelectorAll("tbody tr")];
        const texts = (nodes) => [...nodes].map((cell) => cell.textContent.replace(" °C", ""));
        const [exact, soft] = texts(node.querySelectorAll("dd"));
        const [query] = node.querySelectorAll(".ab-query");
        const place = (dot) => ["cx", "cy"].map((name) => dot.getAttribute(name));
        const places = (name) => [...node.querySelectorAll(name)].map(place);
        return {
            numbers: rows.map((row) => texts(row.querySelectorAll(".ab-number"))),
            bars: rows.map((row) => row.querySelector(".ab-bar").style.getPropertyValue("--w")),
            pulls: [...node.querySelectorAll(".ab-pull")].map((line) => line.getAttribute("stroke-width")),
            query: places(".ab-query"),
            keys: places(".ab-key"),
            exact: exact.startsWith("nothing") ? [] : [exact],
            soft,
        };
    }"""


def expected(widget) -> dict[str, Tensor]:
    keys = torch.tensor(widget.keys_MK, dtype=torch.float64)
    values = torch.tensor(widget.values_M, dtype=torch.float64)
    place = torch.tensor([widget.x, widget.y], dtype=torch.float64)
    far = torch.cdist(place[None], keys)[0]
    scores = keys @ place if widget.score == "dot" else -far.square()
    weights = F.softmax(scores / widget.temperature, -1)
    flip = torch.tensor([20.0, -20.0], dtype=torch.float64)
    return {
        "numbers": torch.stack([scores, weights, values], -1),
        "bars": weights,
        "pulls": 12 * weights,
        "query": place * flip + torch.tensor([0, 200]),
        "keys": keys * flip + torch.tensor([0, 200]),
        "exact": values[far == 0],
        "soft": F.scaled_dot_product_attention(
            torch.zeros(1, 1, dtype=torch.float64),
            torch.zeros(len(keys), 1, dtype=torch.float64),
            values[:, None],
            (scores / widget.temperature)[None],
        ),
    }


class TestSoftDictionary(Laws):
    kind = SoftDictionary
    read = READ
    expected = staticmethod(expected)
    steps = [
        *slide("East", "x", last=10.0, first=0.0),
        *slide("North", "y", last=10.0, first=0.0),
        *slide("Temperature", "temperature", last=1000.0, first=0.1),
        *choose("score", "dot", "near"),
    ]
    changes = [{"x": 5.0}, {"y": 4.0}, {"temperature": 0.5}, {"score": "dot"}, {"values_M": [1, 2, 3, 4, 5]}]
    states = {
        "a step from a station": SoftDictionary(x=5.0, y=4.25),
        "at a station": SoftDictionary(x=5.0, y=4.0, temperature=0.1),
        "far from all, by dot product": SoftDictionary(x=0.0, y=10.0, score="dot", temperature=1000.0),
    }
    drags = {"place": (SoftDictionary(), slide("East", "x", last=10.0))}
    errors = [
        (lambda: SoftDictionary(values_M=[1, 2]), r"each key has one name and one value; got \[5, 5, 2\] names, keys"),
        (lambda: SoftDictionary(temperature=0), r"'temperature' trait .* not be less than 0.1"),
    ]


@pytest.mark.parametrize("hand", [Mouse, Finger])
def test_the_query_is_dragged_over_the_map(visit, hand):
    page = visit("bare.html", touch=hand is Finger, served={"bare.html": bare(SoftDictionary())})
    node = live(page)
    node.evaluate(COUNT_ELEMENTS)
    start, end = bring(node.locator(".ab-tip")), middle(node.locator(".ab-key").nth(3))  # the town, at (5, 4)
    hand(page).drag([start, *stops(start, end)])
    agree(node, SoftDictionary(x=5.0, y=4.0), "dragged to the town")
    assert page.evaluate("created") == 0
