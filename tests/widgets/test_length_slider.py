"""LengthSlider: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from attnbook.widgets import LengthSlider
from tests.browser.hands import bring
from tests.widgets.laws import Laws
from tests.widgets.reading import numbers
from tests.widgets.steps import drag, slide

READ = """(node) => {
    const parts = (selector) => [...node.querySelectorAll(selector)];
    const nearer = (cell) => cell.dataset.nearer === "both" ? "both" : cell.textContent;
    return {
        numbers: parts("td.ab-number").map((cell) => cell.textContent),
        nearer: parts(".ab-nearer").map((cell) => String(["both", "a", "b"].indexOf(nearer(cell)))),
        arrows: parts(".ab-shaft").map((shaft) => shaft.getAttribute("d").slice(5).split(" ")),
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    angles = torch.deg2rad(torch.tensor([0.0, widget.angle_a, widget.angle_b], dtype=torch.float64))
    lengths = torch.tensor([1.0, widget.length_a, widget.length_b], dtype=torch.float64)
    arrows = torch.stack([lengths * angles.cos(), lengths * angles.sin()], -1)
    both = torch.stack([arrows[1:] @ arrows[0], F.cosine_similarity(arrows[1:], arrows[:1])])
    same = (both[:, 0] - both[:, 1]).abs() < 1e-9
    nearer = torch.where(same, 0, 1 + both.argmax(-1))
    return {"numbers": both, "nearer": nearer, "arrows": arrows * torch.tensor([40, -40])}


def three_units_up(node):
    """From the tip of a to three units above the middle of the picture."""
    start, box = bring(node.locator(".ab-tip").first), node.locator("svg").bounding_box()
    return start, (box["x"] + box["width"] / 2, box["y"] + (0.5 - 3 / 8.6) * box["height"])


class TestLengthSlider(Laws):
    kind = LengthSlider
    read = READ
    expected = staticmethod(expected)
    steps = [
        *slide("Angle of a", "angle_a", last=180, first=-180),
        *slide("Length of a", "length_a", last=4.0, first=0.1),
        *slide("Angle of b", "angle_b", last=180, first=-180),
        *slide("Length of b", "length_b", last=4.0, first=0.1),
    ]
    changes = [{"angle_a": 45}, {"length_b": 2.0}]
    states = {
        "at a right angle": LengthSlider(angle_a=90, angle_b=-90),
        "opposite": LengthSlider(angle_a=180, length_a=4.0, angle_b=-180),
        "an angle between the stops": LengthSlider(angle_a=33, length_b=1.234),
    }
    drags = {
        "angle": (LengthSlider(), slide("Angle of a", "angle_a", last=180)),
        "tip": (LengthSlider(), drag("a by its tip", three_units_up, {"angle_a": 90, "length_a": 3.0})),
    }
    by_finger = ("tip",)
    errors = [
        (lambda: LengthSlider(length_a=0), r"'length_a' trait .* not be less than 0.1"),
        (lambda: LengthSlider(angle_b=181), r"'angle_b' trait .* not be greater than 180"),
    ]


def test_table_of_arrows():
    widget = LengthSlider(angle_a=60, length_a=3.0, angle_b=180, length_b=0.5)
    assert_close(numbers(widget), torch.tensor([[1.5, 0.5], [-0.5, -1.0]]))
