"""ScaleLab: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from attnbook.widgets import ScaleLab
from attnbook.widgets.shared.random import normals
from tests.widgets.laws import Laws
from tests.widgets.reading import numbers
from tests.widgets.steps import slide

READ = """(node) => {
    const panels = [...node.querySelectorAll(".ab-panel")];
    const all = (selector, name) => panels.map((panel) =>
        [...panel.querySelectorAll(selector)].map((part) => part.style.getPropertyValue(name)));
    const values = [...node.querySelectorAll(".ab-control .ab-value")];
    const sliders = [...node.querySelectorAll("input[type=range]")];
    return {
        numbers: panels.map((panel) => [...panel.querySelectorAll("dd")].map((number) => number.textContent)),
        most: panels.map((panel) => panel.querySelector("dt:nth-of-type(2)").textContent.match(/[\\d.]+/)[0]),
        weights: all(".ab-light rect", "--w"),
        cones: all(".ab-cone", "--wide"),
        histogram: all(".ab-figure > svg rect", "--w"),
        values: [values.map((value) => value.textContent), sliders.map((slider) => slider.ariaValueText)],
        stops: sliders.map((slider) => slider.value),
    };
}"""
STOPS = {"width": [2**power for power in range(11)], "size": [0.25, 0.5, 1, 1.5, 2, 3, 4]}


def expected(widget) -> dict[str, Tensor]:
    width = widget.width
    q, k = (normals(widget.seed, 96 * 1024).view(96, 1024)[:, :width] * widget.size).split([32, 64])
    numbers, histograms, weights, cones = [], [], [], []
    middle = [*range(0, 64, 2), *range(63, 0, -2)]  # of weights by size: the largest two in the middle
    for divisor in (1, width**0.5, width):
        scores = q @ k.T / divisor
        p = F.softmax(scores, -1)
        jacobian = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
        gradient = jacobian.flatten(1).norm(dim=1).median()
        entropy = torch.special.entr(p).sum(-1).mean()
        numbers.append(torch.stack([p.amax(-1).mean(), entropy, gradient, scores.std(correction=0)]))
        counts = torch.histc(scores.clamp(-8, 8), 33, -8, 8)
        histograms.append(counts / counts.max())
        weights.append(p[0].sort().values[middle])
        cones.append(torch.special.entr(p[0]).sum().exp() / 64)  # as many keys as would have that entropy alike
    values = [widget.width, widget.size]  # which a slider tells also where they lie between its stops
    away = [abs(torch.tensor(STOPS[trait]) - getattr(widget, trait)) for trait in STOPS]
    return {
        "numbers": torch.stack(numbers),
        "most": torch.tensor([64.0] * 3).log(),
        "histogram": torch.stack(histograms),
        "weights": torch.stack(weights),
        "cones": torch.stack(cones),
        "values": torch.tensor([values, values]),
        "stops": torch.stack([stops.argmin() for stops in away]),
    }


class TestScaleLab(Laws):
    kind = ScaleLab
    read = READ
    expected = staticmethod(expected)
    steps = [
        *slide("Width", "width", last=1024, first=1),
        *slide("Typical size", "size", last=4.0, first=0.25),
        *slide("Width", "width", last=1024),
        (
            "new q and k",
            lambda hand, node: hand.press(node.get_by_role("button")),
            {"seed": lambda twin: twin.seed + 1},
        ),
    ]
    changes = [{"width": 8}, {"size": 2.0}]
    states = {
        "the narrowest": ScaleLab(width=1, size=0.25),
        "the widest": ScaleLab(width=1024, size=4.0, seed=12345),
        "a width between the stops": ScaleLab(width=100, seed=2**31 - 1),
        "a seed below zero": ScaleLab(seed=-7),
    }
    drags = {
        "width": (ScaleLab(), slide("Width", "width", first=1)),
        "size": (ScaleLab(), slide("Typical size", "size", last=4.0)),
    }
    errors = [
        (lambda: ScaleLab(size=-1), r"'size' trait .* not be less than 0"),
        (lambda: ScaleLab(width=0), r"'width' trait .* not be less than 1"),
        (lambda: ScaleLab(width=1025), r"'width' trait .* not be greater than 1024"),
        (lambda: ScaleLab(seed="one"), r"'seed' trait .* expected an int"),
    ]


def test_scale_lab_table_is_its_summary_and_shows_why_sqrt():
    widget = ScaleLab(width=256)
    assert_close(
        numbers(widget), torch.tensor([list(row.values()) for row in widget.summary().values()]), rtol=0, atol=0.006
    )
    assert 14 < widget.summary()["none"]["spread"] < 18  # √256
    assert 0.9 < widget.summary()["sqrt"]["spread"] < 1.1
