"""PaintMask: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

from functools import cache

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

from attnbook import attention, peers
from attnbook.widgets import PaintMask
from attnbook.widgets.paint_mask import LATER
from tests.browser.pages import bare
from tests.widgets.laws import Laws, agree, live
from tests.widgets.reading import numbers
from tests.widgets.steps import choose, press, slide, stroke

READ = """(node) => {
        const scores = node.querySelector("[role=grid]");
        const [exps, weights] = node.querySelectorAll(".ab-steps table");
        const cells = (table) => [...table.querySelectorAll("tbody tr")]
            .map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent));
        return {
            scores: cells(scores),
            exps: cells(exps),
            weights: cells(weights),
            hatched: [...scores.querySelectorAll("tbody td")].map((c) => String(Number(c.matches(".ab-blocked")))),
            colours: [...weights.querySelectorAll(".ab-weight")].map((cell) => cell.style.getPropertyValue("--w")),
            shares: [...node.querySelectorAll(".ab-share span")].map((part) => part.style.getPropertyValue("--w")),
            off: [...weights.querySelectorAll(".ab-sum[class]:is(td)")]
                .map((cell) => String(Number(cell.matches(".ab-off")))),
            pressed: [...node.querySelectorAll(".ab-presets button")]
                .map((preset) => String(Number(preset.ariaPressed === "true"))),
            answers: [...node.querySelectorAll(".ab-answers")].filter((table) => table.checkVisibility()).map(cells),
        };
    }"""


@cache
def answers_for_an_empty_row(M: int) -> Tensor:
    """What each code gives, asked here and now; values are the identity matrix, so that outputs are weights."""
    none, eye, d2l = torch.zeros(M, M, dtype=torch.bool), torch.eye(M), peers.d2l()
    mha = nn.MultiheadAttention(M, 1, bias=False, batch_first=True)
    with torch.no_grad():
        mha.in_proj_weight.copy_(eye.repeat(3, 1))
        mha.out_proj.weight.copy_(eye)
        _, weights = mha(eye, eye, eye, attn_mask=~none)
        unasked, _ = mha(eye, eye, eye, attn_mask=~none, need_weights=False)
    nothing = torch.zeros(1, M).long()
    rows = [
        attention(eye, eye, eye, none)[1],
        torch.full((M, M), -torch.inf).softmax(-1),
        F.scaled_dot_product_attention(eye, eye, eye, none),
        weights,
        unasked,
        d2l.masked_softmax(torch.eye(M)[None], nothing)[0],
        d2l.masked_softmax(torch.eye(M)[None].half(), nothing)[0].float(),
    ]
    return torch.stack([row[0] for row in rows])


CAUSAL = [[i, j] for i in range(4) for j in range(4) if j > i]


def expected(widget) -> dict[str, Tensor]:
    scores = torch.tensor(widget.scores_LM, dtype=torch.float64)
    M = len(scores)
    mask = torch.ones(M, M, dtype=torch.bool)
    for i, j in widget.blocked:
        mask[i : i + 1, j : j + 1] = False  # a slice: a cell need not be there
    shown = (
        scores.masked_fill(~mask, {"before": -torch.inf, "zero": 0}[widget.hide]) if widget.hide != "after" else scores
    )
    exps = (shown / widget.temperature).exp()
    weights = exps / exps.sum(-1, keepdim=True)
    weights = weights.nan_to_num(0) * (mask if widget.hide == "after" else 1)
    sums = weights.sum(-1, keepdim=True)
    places = torch.arange(M)
    later, pads = places > places[:, None], torch.isin(places, torch.tensor(widget.pads)).expand(M, M)
    row = (places == min(1, M - 1))[:, None].expand(M, M)
    presets = [torch.zeros_like(later), later, pads, later | pads, row]
    return {
        "scores": shown,
        "exps": torch.cat([exps, exps.sum(-1, keepdim=True)], -1),
        "weights": torch.cat([weights, sums], -1),
        "hatched": (~mask).flatten(),
        "colours": weights,
        "shares": weights,
        "pressed": torch.tensor([float(hidden.nonzero().tolist() == sorted(widget.blocked)) for hidden in presets]),
        "off": (sums - 1).abs().flatten() > 1e-9,
        "answers": torch.tensor([]) if mask.any(-1).all() else answers_for_an_empty_row(M),
    }


class TestPaintMask(Laws):
    kind = PaintMask
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("what comes later", {"blocked": CAUSAL}),
        *choose("hide", "zero", "after"),
        *press("padding", {"blocked": [[i, 3] for i in range(4)]}),
        *choose("hide", "before"),
        *slide("Temperature", "temperature", last=10.0, first=0.1),
        *press("both", {"blocked": sorted([*CAUSAL, [3, 3]])}),
        *press("a whole row", {"blocked": [[1, j] for j in range(4)]}),
        *press("nothing", {"blocked": []}),
        *stroke([[0, 0], [0, 1], [0, 2]], "blocked"),
        *stroke([[0, 1]], "blocked"),
    ]
    changes = [
        {"blocked": [[0, 1], [2, 2], [-1, 0], [9, 9]]},
        {"hide": "zero"},
        {"temperature": 0.3},
        {"tokens": ["a", "b"], "scores_LM": [[1.0, 2.0], [3.0, 4.0]], "pads": [1]},
        {"scores_LM": [[5.0]], "tokens": ["c"]},
    ]
    states = {
        "long words": PaintMask(["international"] * 4),
        "nothing but padding": PaintMask(["(pad)"], [[0.0]], pads=[0], blocked=[[0, 0]]),
        "padding on the left, and causal": PaintMask(
            ["(pad)", "a", "b"],
            [[0, 0, 0], [0, 2, 1], [0, 1, 2]],
            pads=[0],
            blocked=[[0, 0], [0, 1], [0, 2], [1, 0], [1, 2]],
        ),
        "large scores": PaintMask(["a", "b"], [[20.0, -20.0], [7.0, 6.0]], temperature=0.3),
        "all hidden by zeros": PaintMask(blocked=[[0, j] for j in range(4)], hide="zero"),
        "all hidden afterwards": PaintMask(blocked=[[0, j] for j in range(4)], hide="after"),
    }
    drags = {"hidden scores": (PaintMask(), stroke([[1, 0], [1, 1], [1, 2], [1, 3]], "blocked"))}
    by_finger = ("hidden scores",)
    errors = [
        (lambda: PaintMask(["a", "b"], [[1.0, 2.0]]), r"2 tokens need 2 rows of 2 scores; got rows of \[2\]"),
        (lambda: PaintMask(["a", "b"], [[1.0], [2.0]]), r"2 tokens need 2 rows of 2 scores; got rows of \[1, 1\]"),
        (lambda: PaintMask(list("abcdefg"), [[0] * 7] * 7), r"'tokens' trait .* length 1 <= L <= 4"),
        (lambda: PaintMask(hide="never"), r"'hide' trait .* any of \['before', 'zero', 'after'\]"),
    ]


def test_a_share_that_is_pressed_goes_to_the_others(visit):
    """The parts of a bar are as wide as their weights, and fill it; pressed again in the grid, the score is back."""
    page = visit("bare.html", motion="reduce", served={"bare.html": bare(PaintMask())})
    node = live(page)
    widths = "(bar) => [...bar.children].map((part) => part.getBoundingClientRect().width / bar.clientWidth)"
    bar, twin = node.locator(".ab-share").nth(1), PaintMask(blocked=[*LATER, [1, 1]])
    node.locator(".ab-share span").nth(5).click()
    agree(node, twin, "cat's share of cat pressed")
    assert_close(torch.tensor(bar.evaluate(widths)), twin.weights()[1].float(), rtol=0, atol=0.01)
    node.locator("[role=gridcell]").nth(5).click()
    agree(node, PaintMask(), "the score pressed")


@pytest.mark.parametrize("hide", ["before", "zero", "after"])
def test_table_of_a_painted_mask(hide):
    blocked = [[0, 0], [1, 0], [1, 1], [5, 5]]
    widget = PaintMask(["a", "b"], [[2.0, 1.0], [0.0, 3.0]], pads=[], blocked=blocked, hide=hide, temperature=2.0)
    e = torch.tensor(0.5).exp().item()
    want = {
        "before": [[0, 1], [0, 0]],
        "zero": [[1 / (1 + e), e / (1 + e)], [0.5, 0.5]],
        "after": [[0, 1 / (1 + e)], [0, 0]],
    }
    assert_close(numbers(widget), torch.tensor(want[hide], dtype=torch.float32), rtol=0, atol=0.00501)
