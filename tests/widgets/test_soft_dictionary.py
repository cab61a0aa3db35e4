"""SoftDictionary: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from attnbook.widgets import SoftDictionary
from tests.browser.hands import bring, middle
from tests.widgets.laws import Laws
from tests.widgets.reading import numbers, parsed
from tests.widgets.steps import choose, drag, slide

READ = """(node) => {
    const parts = (selector, within = node) => [...within.querySelectorAll(selector)];
    const texts = (cells) => cells.map((cell) => cell.textContent.split(" ")[0]); // without °C
    const [exact, soft] = parts("dd");
    const places = (selector) => parts(selector).map((dot) => ["cx", "cy"].map((name) => dot.getAttribute(name)));
    return {
        numbers: parts("tbody tr").map((row) => texts(parts(".ab-number", row))),
        bars: parts(".ab-bar").map((bar) => bar.style.getPropertyValue("--w")),
        pulls: parts(".ab-pull").map((line) => line.getAttribute("stroke-width")),
        points: parts("svg text").map((text) => text.textContent.match(/[−\\d]+/)[0]),
        query: places(".ab-query"),
        keys: places(".ab-key"),
        exact: exact.matches("[data-nothing]") ? [] : texts([exact]),
        soft: texts([soft]),
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
        "points": values,
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


def to_the_town(node):
    return bring(node.locator(".ab-tip")), middle(node.locator(".ab-key").nth(3))


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
    drags = {
        "place": (SoftDictionary(), slide("East", "x", last=10.0)),
        "query": (SoftDictionary(), drag("the query", to_the_town, {"x": 5.0, "y": 4.0})),
    }
    by_finger = ("query",)
    errors = [
        (lambda: SoftDictionary(values_M=[1, 2]), r"each key has one name and one value; got \[5, 5, 2\] names, keys"),
        (lambda: SoftDictionary(temperature=0), r"'temperature' trait .* not be less than 0.1"),
    ]


def test_table_of_a_soft_dictionary():
    assert "2.0" in parsed(SoftDictionary(x=9.0, y=8.0, temperature=0.1)).caption.text
    assert_close(numbers(SoftDictionary(temperature=1000.0))[:, 0], torch.full((5,), 0.2), rtol=0, atol=0.02)
