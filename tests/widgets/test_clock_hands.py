"""ClockHands: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import sinusoidal
from attnbook.widgets import ClockHands
from tests.widgets.laws import Laws
from tests.widgets.steps import slide

READ = """(node) => {
        const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        const at = (part, ...names) => names.map((name) => part.getAttribute(name));
        return {
            hands: seen(".ab-faces line").map((line) => at(line, "x2", "y2")),
            said: node.querySelector(".ab-faces").getAttribute("aria-label").match(/\\d+/g),
            curve: node.querySelector(".ab-curve").getAttribute("d").slice(1).split("L").map((pair) => pair.split(" ")),
            marks: seen(".ab-plot circle").map((mark) => at(mark, "cx", "cy")),
            figures: seen("dd").map((figure) => figure.textContent.replace(/,| positions/g, "")),
        };
    }"""


def expected(widget) -> dict[str, Tensor]:
    P = sinusoidal(60, widget.width, base=widget.base, dtype=torch.float64)
    both = P[[widget.other, widget.position]].unflatten(-1, (-1, 2))  # sine goes right, cosine up
    alike = F.cosine_similarity(P[widget.position], P)
    curve = torch.stack([torch.arange(60) * 590 / 59, 60 * (1 - alike)], -1)
    period = 2 * math.pi * widget.base ** (1 - 2 / widget.width)
    return {
        "hands": (both * torch.tensor([20, -20])).transpose(0, 1),
        "said": torch.tensor([widget.width // 2, widget.position, widget.other]),
        "curve": curve,
        "marks": curve[[widget.position, widget.other]],
        "figures": torch.tensor(
            [alike[widget.other], abs(widget.position - widget.other), round(period) if period >= 1000 else period],
            dtype=torch.float64,
        ),
    }


class TestClockHands(Laws):
    kind = ClockHands
    read = READ
    expected = staticmethod(expected)
    steps = [
        *slide("Position i:", "position", last=59, first=0),
        *slide("Position i′:", "other", first=0, last=59),
        *slide("Width", "width", first=4, last=32),
        *slide("Base", "base", last=100_000, first=2),
    ]
    changes = [{"position": 59}, {"width": 4}, {"base": 2}, {"other": 59}, {"width": 32}]
    states = {
        "two slow hands": ClockHands(position=59, other=0, width=4, base=100_000),
        "sixteen fast hands": ClockHands(position=30, other=31, width=32, base=2),
    }
    drags = {"position": (ClockHands(width=32), slide("Position i:", "position", last=59))}
    errors = [(lambda: ClockHands(width=5), r"'width' trait .* any of \[4, 8, 16, 32\]")]
