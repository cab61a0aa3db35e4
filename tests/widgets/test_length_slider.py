"""LengthSlider: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from attnbook.widgets import LengthSlider
from tests.widgets.laws import Laws
from tests.widgets.reading import numbers
from tests.widgets.steps import pull, spot

READ = """(node) => {
    const parts = (selector) => [...node.querySelectorAll(selector)];
    const nearer = (cell) => cell.dataset.nearer === "both" ? "both" : cell.textContent;
    const ends = (name) => parts(`.ab-${name}`).map((part) => part.getAttribute("d").split("L")[1].split(" "));
    const tips = parts(".ab-tip");
    return {
        numbers: parts("td.ab-number").map((cell) => cell.textContent),
        lit: parts("td.ab-number").map((cell) => String(Number(cell.matches("[data-lit]")))),
        nearer: parts(".ab-nearer").map((cell) => String(["both", "a", "b"].indexOf(nearer(cell)))),
        arrows: ends("shaft"),
        shadows: ends("shadow").map(([end]) => end),
        plumbs: ends("plumb"),
        tips: tips.map((tip) => ["cx", "cy"].map((name) => tip.getAttribute(name))),
        said: tips.map((tip) => tip.getAttribute("aria-valuetext").match(/[−\\d.]+/g)),
        angles: parts("svg text").map((text) => text.textContent.match(/[−\\d]+/)).filter(Boolean).flat(),
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    angles = torch.deg2rad(torch.tensor([0.0, widget.angle_a, widget.angle_b], dtype=torch.float64))
    lengths = torch.tensor([1.0, widget.length_a, widget.length_b], dtype=torch.float64)
    arrows = torch.stack([lengths * angles.cos(), lengths * angles.sin()], -1)
    both = torch.stack([arrows[1:] @ arrows[0], F.cosine_similarity(arrows[1:], arrows[:1])])
    same = (both[:, 0] - both[:, 1]).abs() < 1e-9
    ends = arrows * torch.tensor([56, -56])
    degrees = torch.tensor([widget.angle_a, widget.angle_b])
    return {
        "numbers": both.T,
        "lit": (both.amax(-1) - 1e-9 <= both.T),
        "nearer": torch.where(same, 0, 1 + both.argmax(-1)),
        "arrows": ends,
        "shadows": 56 * both[0],
        "plumbs": ends[1:] * torch.tensor([1, 0]),
        "tips": ends[1:],
        "said": torch.stack([degrees, lengths[1:]], -1),
        "angles": degrees,
    }


def to(right, up):
    """So many units from where the arrows start."""
    return spot(0.5 + right / 6.1, 0.5 - up / 6.1)


class TestLengthSlider(Laws):
    kind = LengthSlider
    read = READ
    expected = staticmethod(expected)
    steps = [
        *pull("Tip of a", to(0, 2), ["ArrowRight"] * 14 + ["ArrowUp"] * 10, {"angle_a": 90, "length_a": 2.0}),
        *pull("Tip of b", to(-3, 0.001), ["End", "PageUp"], {"angle_b": 180, "length_b": 2.5}),
        *pull("Tip of a", to(0, 0.1), ["PageDown"], {"length_a": 0.1}),
        *pull("Tip of b", to(-1.5, 0.001), ["ArrowDown"] * 10, {"length_b": 1.5}),
    ]
    changes = [{"angle_a": 45}, {"length_b": 2.0}]
    states = {
        "at a right angle": LengthSlider(angle_a=90, angle_b=-90),
        "opposite": LengthSlider(angle_a=180, length_a=2.5, angle_b=-180),
        "an angle between the stops": LengthSlider(angle_a=33, length_b=1.234),
    }
    drags = {
        "tip": (LengthSlider(), pull("Tip of b", to(0, -2), [], {"angle_b": -90, "length_b": 2.0})),
    }
    by_finger = ("tip",)
    errors = [
        (lambda: LengthSlider(length_a=0), r"'length_a' trait .* not be less than 0.1"),
        (lambda: LengthSlider(angle_b=181), r"'angle_b' trait .* not be greater than 180"),
    ]


def test_table_of_arrows():
    widget = LengthSlider(angle_a=60, length_a=2.0, angle_b=180, length_b=0.5)
    assert_close(numbers(widget), torch.tensor([[1.0, 0.5], [-0.5, -1.0]]))
