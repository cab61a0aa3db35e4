"""HeadBudget: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
from torch import Tensor

from attnbook import MultiHeadAttention
from attnbook.learning.complexity import SelfAttention
from attnbook.widgets import HeadBudget
from tests.browser.hands import bring, middle
from tests.widgets.laws import Laws
from tests.widgets.reading import codes, parsed
from tests.widgets.steps import drag, slide

READ = """(node) => {
    const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
    const percent = (part, name) => part.getAttribute(name).slice(0, -1);
    return {
        numbers: seen(".ab-number").map((cell) => cell.textContent),
        pieces: seen(".ab-ribbon rect:not([class])").map((piece) => [percent(piece, "x"), percent(piece, "width")]),
        cuts: seen(".ab-ribbon rect[class]").map((part) => percent(part, "x")),
        patterns: String(seen(".ab-patterns i").length),
        said: seen(".ab-hint span").map((part) => part.textContent),
        times: codes(seen(".ab-times").map((cell) => cell.textContent)),
        same: seen("tbody tr").map((row) => String(Number(row.matches(".ab-same")))),
    };
}"""


def to_the_middle(node):
    """The cut, from where it is to the middle of the ribbon."""
    cut, ribbon = node.locator(".ab-cut"), node.locator(".ab-ribbon")
    return bring(cut), middle(ribbon)


def times(now, single):
    """How many times as much, or as little, it is."""
    ratio = max(now, single) / min(now, single)
    return f"{'×' if now > single else '÷'} {round(ratio, 2):g}" if ratio > 1 else ""


def expected(widget) -> dict[str, Tensor]:
    D, L = widget.width, widget.length

    def figures(H):
        cost = SelfAttention(H).cost(L, D)
        layer = MultiHeadAttention(D, H)
        parameters = sum(x.numel() for x in layer.parameters())
        each = layer.query.out_features // H
        return [each, parameters, cost.operations // 2, H, cost.memory - 5 * L * D, min(each, L)]

    now, single = torch.tensor(figures(widget.heads)), torch.tensor(figures(1))
    return {
        "numbers": torch.stack([now, single], -1),
        "pieces": torch.tensor([(100 * h / widget.heads, 100 / widget.heads) for h in range(widget.heads)]),
        "cuts": torch.tensor([100 / widget.heads] * 2),
        "patterns": torch.tensor(widget.heads),
        "said": torch.tensor([widget.heads, D // widget.heads, L, L]),
        "times": codes(*map(times, now.tolist(), single.tolist())),
        "same": now == single,
    }


class TestHeadBudget(Laws):
    kind = HeadBudget
    read = READ
    expected = staticmethod(expected)
    steps = [
        *slide("Heads", "heads", last=64, first=1),
        *slide("Width", "width", last=1024, first=64),
        *slide("Words", "length", last=4096, first=16),
    ]
    changes = [{"heads": 64}, {"width": 768}, {"length": 16}]
    states = {"more words than a head has numbers": HeadBudget(width=64, heads=64, length=4096)}
    drags = {
        "heads": (HeadBudget(), slide("Heads", "heads", last=64)),
        "cut": (HeadBudget(), drag("the first cut", to_the_middle, {"heads": 2})),
    }
    by_finger = ("cut",)
    errors = [(lambda: HeadBudget(width=100), r"'width' trait .* any of \[64, ")]


def test_table_of_figures():
    page = parsed(HeadBudget())
    assert page.caption.text == "D = 512, 8 heads, 256 words"
    assert [cell.text for cell in page.select("td")[1:4]] == ["64", "1.0 million", "335.5 million"]
