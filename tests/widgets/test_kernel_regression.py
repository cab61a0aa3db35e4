"""KernelRegression: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from attnbook import masked_softmax
from attnbook.widgets import KernelRegression
from tests.browser.hands import bring, middle
from tests.widgets.laws import Laws
from tests.widgets.reading import numbers
from tests.widgets.steps import drag, slide

READ = """(node) => {
    const place = (dot) => ["cx", "cy"].map((name) => dot.getAttribute(name));
    const circles = (name) => [...node.querySelectorAll(name)].map(place);
    const index = (name, of) => String([...node.querySelectorAll(of)].findIndex((part) => part.matches(name)));
    return {
        numbers: [...node.querySelectorAll("dd")].map((cell) => cell.textContent),
        curve: node.querySelector(".ab-curve").getAttribute("d").slice(1).split("L").map((pair) => pair.split(" ")),
        points: circles(".ab-point"),
        answer: circles(".ab-answer"),
        heat: [...node.querySelectorAll(".ab-heat i")].map((cell) => cell.style.getPropertyValue("--w")),
        here: index(".ab-here", ".ab-heat > div"),
        chosen: index(".ab-chosen", ".ab-point"),
        height: [...node.querySelectorAll(".ab-value")].at(-1).textContent,
    };
}"""


def lifted(twin, y):
    """The points, the chosen one at another height."""
    return [[x, y if j == twin.chosen else old] for j, (x, old) in enumerate(twin.points)]


def merged(twin):
    return [twin.points[7] if j == 4 else point for j, point in enumerate(twin.points)]


def expected(widget) -> dict[str, Tensor]:
    x, y = torch.tensor(widget.points, dtype=torch.float64).T

    def weights(queries, mask=None):
        far = torch.cdist(queries[:, None], x[:, None]) / widget.width
        return masked_softmax(-far.square() / 2, mask)

    places, rows = torch.linspace(0, 5, 101, dtype=torch.float64), torch.linspace(0, 5, 21, dtype=torch.float64)
    query = torch.tensor([widget.query], dtype=torch.float64)
    answer = weights(query) @ y
    errors = [F.mse_loss(weights(x, mask) @ y, y) for mask in (None, ~torch.eye(len(x)).bool())]
    draw = lambda x, y: torch.stack([40 * x, 240 - 40 * y], -1)  # noqa: E731
    return {
        "numbers": torch.stack([answer[0], *errors]),
        "curve": draw(places, weights(places) @ y),
        "points": draw(x, y),
        "answer": draw(query, answer),
        "heat": weights(rows),
        "here": (rows - widget.query).abs().argmin(),
        "chosen": torch.tensor(min(widget.chosen, len(x) - 1)),
        "height": y[min(widget.chosen, len(x) - 1)],
    }


def onto_another(node):
    return bring(node.locator(".ab-tip").nth(4)), middle(node.locator(".ab-point").nth(7))


class TestKernelRegression(Laws):
    kind = KernelRegression
    read = READ
    expected = staticmethod(expected)
    steps = [
        *slide("Width", "width", last=100.0, first=0.02),
        *slide("Query", "query", last=5.0, first=0.0),
        *slide("Point to move", "chosen", last=11),
        *slide("its value", "points", last=lambda twin: lifted(twin, 6.0), first=lambda twin: lifted(twin, 0.0)),
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
        "point": (KernelRegression(), drag("one point onto another", onto_another, {"points": merged, "chosen": 4})),
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
