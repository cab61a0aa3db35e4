"""ClockHands: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from attnbook import sinusoidal
from attnbook.widgets import ClockHands
from tests.browser.hands import bring
from tests.widgets.laws import Laws
from tests.widgets.reading import codes, numbers, parsed
from tests.widgets.steps import drag, slide

READ = """(node) => {
    const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const at = (part, ...names) => names.map((name) => part.getAttribute(name));
    const codes = (text) => [...text].map((letter) => String(letter.codePointAt(0)));
    const [alike, apart, period] = seen("dd");
    return {
        hands: seen(".ab-faces line").map((line) => at(line, "x2", "y2")),
        clocks: codes(node.querySelector(".ab-faces").getAttribute("aria-label")),
        curve: node.querySelector(".ab-curve").getAttribute("d").slice(1).split("L").map((pair) => pair.split(" ")),
        marks: seen(".ab-plot circle:not(.ab-grip)").map((mark) => at(mark, "cx", "cy")),
        found: node.querySelector(".ab-found").textContent,
        named: codes(node.querySelector("dt").textContent),
        figures: [alike.textContent, apart.textContent, period.dataset.n],
        period: codes(period.textContent),
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    P = sinusoidal(60, widget.width, base=widget.base, dtype=torch.float64)
    both = P[[widget.other, widget.position]].unflatten(-1, (-1, 2))  # sine goes right, cosine up
    alike = F.cosine_similarity(P[widget.position], P)
    curve = torch.stack([torch.arange(60) * 590 / 59, 65 * (1 - alike)], -1)
    period = torch.tensor(2 * math.pi * widget.base ** (1 - 2 / widget.width), dtype=torch.float64)
    say = widget.edition_words()
    return {
        "hands": (both * torch.tensor([20, -20])).transpose(0, 1),
        "clocks": codes(say["clocks"]["other"].format(n=widget.width // 2, i=widget.position, other=widget.other)),
        "curve": curve,
        "marks": curve[[widget.position, widget.other]],
        "found": alike[widget.other],
        "named": codes(say["alike"].format(i=widget.position, other=widget.other)),
        "figures": torch.stack([alike[widget.other], torch.tensor(abs(widget.position - widget.other)), period]),
        "period": codes(say["positions"]["other"].format(n=f"{period:,.0f}" if period >= 1000 else f"{period:.1f}")),
    }


def grip(n, way):
    """One of the dots on the curve, pulled so far to the right."""

    def ends(node):
        x, y = bring(node.locator(".ab-grip").nth(n))
        return (x, y), (x + way, y)

    return ends


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
    drags = {
        "position": (ClockHands(width=32), slide("Position i:", "position", last=59)),
        "dot": (
            ClockHands(position=30, other=5),
            [*drag("i", grip(0, 900), {"position": 59}), *drag("i′", grip(1, -900), {"other": 0})],
        ),
    }
    by_finger = ("dot",)
    errors = [(lambda: ClockHands(width=5), r"'width' trait .* any of \[4, 8, 16, 32\]")]


def test_table_of_two_positions():
    assert_close(numbers(ClockHands(position=0, other=1, width=4))[0], torch.tensor([0.0, 1, 0.84, 0.54]))
    page = parsed(ClockHands(position=5, other=8))
    assert page.caption.text == "Positions 5 and 8 are 0.69 alike"
    assert [cell.text for cell in page.select("th")[:5]] == ["sin 5", "cos 5", "sin 8", "cos 8", "hand 1"]


def test_what_chapter_8_says_of_it():
    def alike(**traits):
        return ClockHands(**traits).alike().item()

    assert round(alike(position=5, other=8), 2) == round(alike(position=45, other=48), 2) == 0.69
    assert [round(alike(position=0, other=i, base=2), 2) for i in (4, 8)] == [-0.82, 0.4]
    assert round(min(alike(position=0, other=i, base=100_000) for i in range(60)), 2) == 0.28
    slow = ClockHands(width=4).vectors()
    assert 0.55 < slow[59, 2].asin() < 0.6
    assert (slow[2, :2] - slow[46, :2]).norm() < 0.02
    assert (slow[1:, 2:] - slow[:-1, 2:]).norm(dim=-1).max() < 0.0101
    assert round(torch.cdist(slow, slow).fill_diagonal_(9).min().item(), 2) == 0.24
