"""SoftDictionary: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from attnbook.widgets import SoftDictionary
from tests.widgets.laws import Laws
from tests.widgets.reading import numbers, parsed
from tests.widgets.steps import choose, pull, slide, spot

READ = """(node) => {
    const parts = (selector, within = node) => [...within.querySelectorAll(selector)];
    const texts = (cells) => cells.map((cell) => cell.textContent.split(" ")[0]); // without °C
    const [soft, exact] = parts("dd");
    const places = (selector) => parts(selector).map((dot) => ["cx", "cy"].map((name) => dot.getAttribute(name)));
    return {
        numbers: parts("tbody tr").map((row) => texts(parts(".ab-number", row))),
        lights: parts("td.ab-weight").map((cell) => cell.style.getPropertyValue("--w")),
        field: parts(".ab-field rect").map((cell) => cell.style.getPropertyValue("--w")),
        pulls: parts(".ab-pull").map((line) => line.getAttribute("stroke-width")),
        points: parts(".ab-station").map((text) => text.textContent.match(/[−\\d]+/)[0]),
        answer: texts(parts(".ab-answer")),
        said: node.querySelector(".ab-tip").getAttribute("aria-valuetext").match(/[\\d.]+/g),
        query: places(".ab-query"),
        keys: places(".ab-key"),
        exact: exact.dataset.says === "nothing" ? [] : texts([exact]),
        soft: texts([soft]),
    };
}"""


def all_places() -> Tensor:
    steps = torch.linspace(-1, 11, 25, dtype=torch.float64)
    return torch.cartesian_prod(steps, steps).flip(-1)


def scores(widget, places) -> Tensor:
    keys = torch.tensor(widget.keys_MK, dtype=torch.float64)
    return places @ keys.T if widget.score == "dot" else -torch.cdist(places, keys).square()


def answers(widget, places) -> Tensor:
    values = torch.tensor(widget.values_M, dtype=torch.float64)[:, None]
    nothing = torch.zeros(len(places), 1, dtype=torch.float64), torch.zeros(len(values), 1, dtype=torch.float64)
    return F.scaled_dot_product_attention(*nothing, values, scores(widget, places) / widget.temperature)[:, 0]


def expected(widget) -> dict[str, Tensor]:
    keys = torch.tensor(widget.keys_MK, dtype=torch.float64)
    values = torch.tensor(widget.values_M, dtype=torch.float64)
    place = torch.tensor([widget.x, widget.y], dtype=torch.float64)
    weights = F.softmax(scores(widget, place[None])[0] / widget.temperature, -1)
    flip = torch.tensor([20.0, -20.0], dtype=torch.float64)
    answer = answers(widget, place[None])
    return {
        "numbers": torch.stack([scores(widget, place[None])[0], weights, values], -1),
        "lights": weights,
        "field": (answers(widget, all_places()) - values.min()) / (values.max() - values.min()),
        "pulls": 12 * weights,
        "points": values,
        "query": place * flip + torch.tensor([0, 200]),
        "said": place,
        "keys": keys * flip + torch.tensor([0, 200]),
        "exact": values[(keys == place).all(-1)],
        "soft": answer,
        "answer": answer,
    }


def to(x, y):
    return spot((20 * x + 12) / 224, (20 * (10 - y) + 12) / 224)


class TestSoftDictionary(Laws):
    kind = SoftDictionary
    read = READ
    expected = staticmethod(expected)
    steps = [
        *pull("The query on the map", to(10, 11), ["End", "PageUp"], {"x": 10.0, "y": 10.0}),
        *pull("The query on the map", to(0, 10), ["Home"], {"x": 0.0}),
        *pull("The query on the map", to(0.5, 9.25), ["ArrowRight"] * 2 + ["ArrowDown"] * 3, {"x": 0.5, "y": 9.25}),
        *slide("Softmax temperature", "temperature", last=1000.0, first=0.1),
        *choose("score", "dot", "near"),
    ]
    changes = [{"x": 5.0}, {"y": 4.0}, {"temperature": 0.5}, {"score": "dot"}, {"values_M": [1, 2, 3, 4, 5]}]
    states = {
        "a step from a station": SoftDictionary(x=5.0, y=4.25),
        "at a station": SoftDictionary(x=5.0, y=4.0, temperature=0.1),
        "far from all, by dot product": SoftDictionary(x=0.0, y=10.0, score="dot", temperature=1000.0),
    }
    drags = {
        "temperature": (SoftDictionary(), slide("Softmax temperature", "temperature", last=1000.0)),
        "query": (SoftDictionary(), pull("The query on the map", to(5, 4), [], {"x": 5.0, "y": 4.0})),
    }
    by_finger = ("query",)
    errors = [
        (lambda: SoftDictionary(values_M=[1, 2]), r"each key has one name and one value; got \[5, 5, 2\] names, keys"),
        (lambda: SoftDictionary(temperature=0), r"'temperature' trait .* not be less than 0.1"),
    ]


def test_table_of_a_soft_dictionary():
    assert "2.0" in parsed(SoftDictionary(x=9.0, y=8.0, temperature=0.1)).caption.text
    assert_close(numbers(SoftDictionary(temperature=1000.0))[:, 0], torch.full((5,), 0.2), rtol=0, atol=0.02)
