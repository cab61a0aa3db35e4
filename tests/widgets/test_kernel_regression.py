"""KernelRegression: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from attnbook import masked_softmax
from attnbook.widgets import KernelRegression
from tests.widgets.laws import Laws
from tests.widgets.reading import numbers
from tests.widgets.steps import pull, slide, spot

READ = """(node) => {
    const place = (dot) => ["cx", "cy"].map((name) => dot.getAttribute(name));
    const circles = (name) => [...node.querySelectorAll(name)].map(place);
    const index = (name, of) => String([...node.querySelectorAll(of)].findIndex((part) => part.matches(name)));
    const line = (name) =>
        node.querySelector(name).getAttribute("d").split("V")[0].slice(1).split("L").map((pair) => pair.split(" "));
    return {
        numbers: [...node.querySelectorAll("dd")].map((cell) => cell.textContent),
        curve: line(".ab-curve"),
        points: circles(".ab-point"),
        answer: circles(".ab-answer"),
        heat: [...node.querySelectorAll(".ab-heat i")].map((cell) => cell.style.getPropertyValue("--w")),
        here: index(".ab-here", ".ab-heat > div"),
        chosen: index(".ab-chosen", ".ab-point"),
        said: [...node.querySelectorAll(".ab-tip")].map((tip) => tip.getAttribute("aria-valuetext").match(/[\\d.]+/g)),
        bell: line(".ab-bell"),
        beams: [...node.querySelectorAll(".ab-beam")].map((beam) => beam.getAttribute("stroke-width")),
        label: node.querySelector("svg text").textContent,
    };
}"""


def moved(j, x, y):
    """The points, one of them somewhere else, or only so high or so far to the side."""

    def points(twin):
        old_x, old_y = twin.points[j]
        place = [old_x if x is None else x, old_y if y is None else y]
        return [place if k == j else point for k, point in enumerate(twin.points)]

    return points


def to(x, y):
    """A place in the picture, by the numbers on its axes."""
    return spot((80 * x + 14) / 428, (56 * (6 - y) + 34) / 384)


def expected(widget) -> dict[str, Tensor]:
    x, y = torch.tensor(widget.points, dtype=torch.float64).T

    def weights(queries, mask=None):
        far = torch.cdist(queries[:, None], x[:, None]) / widget.width
        return masked_softmax(-far.square() / 2, mask)

    places, rows = torch.linspace(0, 5, 101, dtype=torch.float64), torch.linspace(0, 5, 21, dtype=torch.float64)
    query = torch.tensor([widget.query], dtype=torch.float64)
    answer = weights(query) @ y
    errors = [F.mse_loss(weights(x, mask) @ y, y) for mask in (None, ~torch.eye(len(x)).bool())]
    draw = lambda x, y: torch.stack([80 * x, 336 - 56 * y], -1)  # noqa: E731
    return {
        "numbers": torch.stack([answer[0], *errors]),
        "curve": draw(places, weights(places) @ y),
        "points": draw(x, y),
        "answer": draw(query, answer),
        "heat": weights(rows),
        "here": (rows - widget.query).abs().argmin(),
        "chosen": torch.tensor(min(widget.chosen, len(x) - 1)),
        "said": torch.cat([torch.stack([x, y], -1).flatten(), query]),
        "bell": draw(places, torch.exp(-((places - widget.query) ** 2) / (2 * widget.width**2))),
        "beams": 9 * weights(query),
        "label": answer,
    }


class TestKernelRegression(Laws):
    kind = KernelRegression
    read = READ
    expected = staticmethod(expected)
    steps = [
        *slide("Width", "width", last=100.0, first=0.02),
        *pull("Query x", to(5.2, 6), ["End"], {"query": 5.0}),
        *pull("Query x", to(-0.1, 6), ["Home"], {"query": 0.0}),
        *pull("Query x", to(0.2, 6), ["ArrowRight", "ArrowUp"], {"query": 0.2}),
        *pull("Point 12", to(4.8, 6), ["PageUp"], {"chosen": 11, "points": moved(11, 4.8, 6.0)}),
        *pull("Point 12", to(4.9, 5.8), ["ArrowRight", "ArrowDown", "ArrowDown"], {"points": moved(11, 4.9, 5.8)}),
        *pull("Point 2", to(0.6, -1), ["PageDown"], {"chosen": 1, "points": moved(1, 0.6, 0.0)}),
    ]
    changes = [
        {"width": 1.0},
        {"query": 0.0},
        {"points": [[i / 3, i / 2] for i in range(12)]},
        {"chosen": 3},
    ]
    states = {
        "two points": KernelRegression(points=[[1.0, 2.0], [4.0, 5.0]], chosen=7, query=0.0),
        "a kernel that sees nothing but itself": KernelRegression(width=0.02, query=5.0),
    }
    drags = {
        "kernel": (KernelRegression(), slide("Width", "width", last=100.0)),
        "point": (KernelRegression(), pull("Point 5", to(3.1, 0.6), [], {"points": moved(4, 3.1, 0.6), "chosen": 4})),
    }
    by_finger = ("point",)
    errors = [
        (lambda: KernelRegression(points=[[0, 0]]), r"'points' trait .* length 2 <= L <= 12"),
        (lambda: KernelRegression(width=0), r"'width' trait .* not be less than 0.02"),
    ]


def test_table_of_a_kernel():
    itself, others = KernelRegression(width=0.02).errors()
    assert itself < 1e-9 < 0.3 < others
    assert KernelRegression(width=0.3).errors()[1] < others
    assert_close(numbers(KernelRegression(width=100.0))[:, 2], torch.full((12,), 1 / 12), rtol=0, atol=0.00501)
