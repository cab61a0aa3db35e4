"""A figure that travels is the figure that was drawn, in fewer bytes."""

import gzip
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image

from attnbook import plots
from attnbook.plots.renderings import light
from booktools.site.figures import pack_svg


def a_line():
    ax = plots.axes()
    ax.semilogx([1, 10, 100], [0.1, 0.5, 0.4], label="√d & θ")
    ax.set(title="A title, with words", xlabel="steps", ylabel="share right")
    return plots.label(ax)


def weights():
    return plots.heatmap(
        torch.rand(5, 5, generator=torch.manual_seed(0)).softmax(-1), "the bank of a river", list("abcde")
    )


def cells():
    left, right = plots.axes(2)
    plots.cells(torch.rand(30, 40, generator=torch.manual_seed(0)).round(decimals=1).numpy(), left)
    return plots.cells(np.eye(12), right, gap=1.2)


@pytest.mark.parametrize("draw", [a_line, weights, cells])
def test_no_eye_sees_it(browser, draw):
    page = browser.new_page(viewport={"width": 1200, "height": 900}, device_scale_factor=2)

    def seen(svg):
        page.set_content(f'<body style="margin: 0; zoom: 1.6">{svg}')
        return np.asarray(Image.open(BytesIO(page.screenshot())).convert("L"), dtype=float)

    drawn = light(draw().figure)
    before, after = seen(drawn), seen(pack_svg(drawn))
    page.close()
    assert before.std() > 1, "something is drawn"
    assert np.abs(before - after).mean() < 0.05, "of 255"
    assert np.abs(before - after).max() < 90, "an edge is a fraction of a pixel off, no stroke is missing"
    assert len(gzip.compress(pack_svg(drawn).encode())) < 0.9 * len(gzip.compress(drawn.encode()))
    assert pack_svg(pack_svg(drawn)) == pack_svg(drawn)
