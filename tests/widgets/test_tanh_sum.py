"""TanhSum: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import additive_scores
from attnbook.widgets import TanhSum
from tests.widgets.laws import Laws
from tests.widgets.reading import parsed
from tests.widgets.steps import pull, spot

READ = """(node) => {
    const places = (path) => path.getAttribute("d").slice(1).split("L").map((pair) => pair.split(" "));
    const parts = (selector) => [...node.querySelectorAll(selector)];
    const at = (part, ...names) => names.map((name) => part.getAttribute(name));
    const tips = parts(".ab-tip");
    return {
        numbers: parts("td.ab-number").map((cell) => cell.textContent).filter(Boolean),
        curves: ["first", "second", "sum", "dot"].map((name) => places(node.querySelector(`.ab-plot .ab-${name}`))),
        dots: parts(".ab-at-dot, .ab-at-sum").map((dot) => at(dot, "cx", "cy")),
        line: at(node.querySelector(".ab-here"), "x1", "x2"),
        parts: parts(".ab-part").map((part) => at(part, "y1", "y2")),
        tips: tips.map((tip) => at(tip, "cx", "cy")),
        mirrored: node.querySelector(".ab-mirrored").getAttribute("cx"),
        said: tips.map((tip) => tip.getAttribute("aria-valuetext")),
        labels: parts("svg text[translate]").map((text) => text.textContent.split(" ")[1]).filter(Boolean),
        key: node.querySelector("caption span").textContent,
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    w = torch.tensor([[widget.w1, widget.w2]], dtype=torch.float64)
    q, k = (torch.tensor([[x]], dtype=torch.float64) for x in (widget.q, widget.k))
    both = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)

    def scores(keys):
        units = torch.tanh(F.linear(q, both) + F.linear(keys, both.abs()))
        additive = additive_scores(F.linear(q, both), F.linear(keys, both.abs()), w[0])
        return torch.cat([units * w, additive.T, keys @ q], -1)

    keys = torch.linspace(-6, 6, 97, dtype=torch.float64)[:, None]
    first, second, total, product = here = scores(k)[0]
    units = torch.tanh(torch.stack([k + q, k - q]).flatten())
    curves = torch.stack([keys.expand(-1, 4), -scores(keys)], -1).transpose(0, 1)
    dots = torch.stack([k[0, 0] * torch.ones(2), -here[[3, 2]]], -1)
    ends = scores(torch.tensor([[5.5], [3.7]], dtype=torch.float64))
    flat = torch.tensor([26.0, 21.0], dtype=torch.float64)
    tips = [[widget.k, 4.1], [widget.q, 0.0], [5.5, -ends[0, 0]], [3.7, -ends[1, 1]]]
    said = torch.tensor([widget.k, widget.q, widget.w1, widget.w2])
    return {
        "numbers": torch.stack([units[0], first, units[1], second, total, product]),
        "curves": flat * curves,
        "dots": flat * dots,
        "line": 26 * k.expand(2, 1),
        "parts": -21 * torch.stack([torch.zeros(()), first, first, total]),
        "tips": flat * torch.tensor(tips, dtype=torch.float64),
        "mirrored": -26 * q,
        "said": said,
        "labels": said,
        "key": k,
    }


def to(key, score):
    """A place in the picture, by the numbers on its axes."""
    return spot(0.5 + 26 * key / 330, 0.5 - 21 * score / 207, ".ab-plot")


class TestTanhSum(Laws):
    kind = TanhSum
    read = READ
    expected = staticmethod(expected)
    steps = [
        *pull("Query q", to(3, 0), ["End"], {"q": 3.0}),
        *pull("Query q", to(-1.5, 0), ["ArrowLeft"] * 9, {"q": -1.5}),
        *pull("Weight w₁", to(0, 2.4), ["PageUp"], {"w1": 2.0}),
        *pull("Weight w₁", to(0, -1), ["ArrowDown"] * 6, {"w1": -1.0}),
        *pull("Weight w₂", to(0, -4), ["Home"], {"w2": -2.0}),
        *pull("Weight w₂", to(0, -0.5), ["ArrowUp"] * 3, {"w2": -0.5}),
        *pull("Key k", to(6.3, 0), ["End"], {"k": 6.0}),
        *pull("Key k", to(-2, 1), ["Home"] + ["ArrowRight"] * 8, {"k": -2.0}),
    ]
    changes = [{"q": -3.0}, {"w2": -1.5}, {"k": 6.0}, {"w1": 0.0}]
    states = {
        "weights of both signs": TanhSum(q=2.0, w1=-2.0, w2=2.0),
        "a window": TanhSum(q=3.0, w1=1.0, w2=-1.0, k=-6.0),
        "a key between the stops": TanhSum(q=-1.3, k=0.7, w1=0.25),
    }
    drags = {"key": (TanhSum(), pull("Key k", to(-7, 0), [], {"k": -6.0}))}
    by_finger = ("key",)
    errors = [
        (lambda: TanhSum(w1=3), r"'w1' trait .* not be greater than 2"),
        (lambda: TanhSum(k=-7), r"'k' trait .* not be less than -6"),
    ]


def test_table_of_additive_scores():
    cells = [cell.text for cell in parsed(TanhSum(q=2.0, k=-2.0, w1=1.0, w2=-0.5)).select("td")[1:]]
    assert cells == ["0.00", "1.00", "0.00", "−1.00", "−0.50", "0.50", "", "", "0.50", "", "", "−4.00"]
