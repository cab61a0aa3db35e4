"""ScaleLab: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import pytest
import torch
import torch.nn.functional as F
from playwright.sync_api import expect
from torch import Tensor
from torch.testing import assert_close

from attnbook.widgets import ScaleLab
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.random import normals
from tests.browser.pages import bare
from tests.widgets.laws import Laws, live
from tests.widgets.reading import numbers
from tests.widgets.steps import slide

READ = """(node) => {
        const panels = [...node.querySelectorAll(".ab-panel")];
        const heights = (place) => panels.map((panel) =>
            [...panel.querySelectorAll("svg")[place].children].map((bar) => bar.getAttribute("height")));
        return {
            numbers: panels.map((panel) => [...panel.querySelectorAll("dd")].map((number) => number.textContent)),
            histogram: heights(0),
            weights: heights(1),
        };
    }"""


def expected(widget) -> dict[str, Tensor]:
    width = widget.width
    q, k = (normals(widget.seed, 96 * 1024).view(96, 1024)[:, :width] * widget.size).split([32, 64])
    numbers, histograms, weights = [], [], []
    for divisor in (1, width**0.5, width):
        scores = q @ k.T / divisor
        p = F.softmax(scores, -1)
        jacobian = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
        gradient = jacobian.flatten(1).norm(dim=1).median()
        entropy = torch.special.entr(p).sum(-1).mean()
        numbers.append(torch.stack([scores.std(correction=0), p.amax(-1).mean(), entropy, gradient]))
        counts = torch.histc(scores.clamp(-8, 8), 33, -8, 8)
        histograms.append(40 * counts / counts.max())
        weights.append(40 * p[0])
    return {"numbers": torch.stack(numbers), "histogram": torch.stack(histograms), "weights": torch.stack(weights)}


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


def test_a_slider_tells_the_value_in_use_also_between_its_stops(visit):
    page = visit("bare.html", served={"bare.html": bare(ScaleLab(width=100))})
    slider = live(page).locator("input[type=range]").first
    expect(slider).to_have_attribute("aria-valuetext", "100")
    expect(live(page).locator(".ab-value").first).to_have_text("100")
    assert slider.input_value() == "7", "128 is the nearest stop"


def test_a_widget_without_a_table_says_so():
    with pytest.raises(NotImplementedError, match=r"ScaleLab needs a table\(\)"):
        BookWidget.table(ScaleLab())


def test_scale_lab_table_is_its_summary_and_shows_why_sqrt():
    widget = ScaleLab(width=256)
    assert_close(
        numbers(widget), torch.tensor([list(row.values()) for row in widget.summary().values()]), rtol=0, atol=0.006
    )
    assert 14 < widget.summary()["none"]["spread of scores"] < 18  # √256
    assert 0.9 < widget.summary()["√d"]["spread of scores"] < 1.1
