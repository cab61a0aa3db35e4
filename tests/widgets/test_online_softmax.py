"""OnlineSoftmax: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import math
from itertools import pairwise

import torch
import torch.nn.functional as F
from playwright.sync_api import expect
from torch import Tensor
from torch.testing import assert_close

from attnbook.widgets import OnlineSoftmax
from attnbook.widgets.online_softmax import SCORES, values
from tests.browser.pages import bare
from tests.widgets.laws import Moving, live
from tests.widgets.reading import codes, numbers, parsed
from tests.widgets.steps import choose, press, slide

READ = """(node) => {
    const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const texts = (selector) => seen(selector).map((part) => part.textContent);
    const codes = (text) => [...text].map((letter) => String(letter.codePointAt(0)));
    const parts = (selector) => [...node.querySelectorAll(selector)];
    const drawn = (selector, name) => parts(selector).map((part) => part.style.getPropertyValue(name));
    const is = (selector, name) => seen(selector).map((part) => String(Number(part.matches(name))));
    const verdict = node.querySelector(".ab-verdict");
    return {
        tape: texts(".ab-tape tbody td").filter((text) => text !== ""),
        colours: seen(".ab-tape .ab-weight").map((cell) => cell.style.getPropertyValue("--w")),
        heights: drawn(".ab-score td", "--h"),
        parts: drawn(".ab-part td", "--h"),
        shrinks: drawn(".ab-shrinks", "--was"),
        factor: texts(".ab-part b").map((text) => text.slice(2)).filter(Boolean),
        line: drawn("[data-line]", "--m"),
        before: drawn("[data-line]", "--was"),
        read: is(".ab-tape thead th:not(:first-child)", ".ab-read"),
        now: is(".ab-tape thead th:not(:first-child)", ".ab-now"),
        log: texts(".ab-log tbody td").filter((text) => text !== ""),
        here: is(".ab-log tbody tr", ".ab-here"),
        verdict: String(["early", "same", "different"].indexOf(verdict.dataset.verdict)),
        said: codes(verdict.textContent),
        at: codes(node.querySelector("input[type=range]").getAttribute("aria-valuetext")),
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    """Running sums, each a sum of exponentials by its definition; the weights by `softmax`."""
    scores = torch.tensor(SCORES[widget.scores]).double()
    values, block = torch.tensor([4.0, 0, 8, 2, 6, 10, 0, 4]).double(), widget.block
    step = min(range(8 // block + 1), key=lambda n: abs(n * block - widget.read))  # the nearest
    tops = scores.cummax(0).values[block - 1 :: block]  # after each block
    mine = tops.repeat_interleave(block)  # what was subtracted from a score when it was read
    log, parts = [], scores[:0]
    for n in range(1, step + 1):
        read = scores[: n * block]
        if widget.way == "rescale":
            m, parts = tops[n - 1], (read - tops[n - 1]).exp()
        elif widget.way == "forget":
            m, parts = tops[n - 1], (read - mine[: n * block]).exp()
        else:
            m, parts = torch.tensor(0.0), read.exp()
        before = tops[n - 2] if n > 1 else -torch.inf
        factor = (tops[n - 1] - before).neg().exp() if widget.way == "rescale" else 1.0
        output = parts @ values[: n * block]
        log += [m, factor, parts.sum(), output, output / parts.sum()]
    here, whole = (
        torch.arange(8) // block,
        F.scaled_dot_product_attention(
            torch.ones(1, 1, 1).double(), scores.view(1, 8, 1), values.view(1, 8, 1), scale=1.0
        ),
    )
    so_far, at_once = parts / parts.sum(), scores.softmax(0)
    right = step and abs(log[-1] - whole) < 1e-9
    verdict, say = "early" if step < 8 // block else "same" if right else "different", widget.edition_words()
    low, high = scores.min() - 1, scores.max()
    drawn = step and widget.way != "no maximum"
    old = scores[: max(step - 1, 0) * block] - (tops[step - 2] if step > 1 else 0)
    shrinks = step > 1 and widget.way == "rescale" and factor < 1
    below = tops[step - 2 : step - 1] if step > 1 else low[None]
    return {
        "shrinks": old.exp() if shrinks else torch.tensor([]),
        "factor": factor if shrinks else torch.tensor([]),
        "before": (below - low) / (high - low) if drawn else torch.tensor([]),
        "heights": (scores - low) / (high - low),
        "parts": F.pad(parts.clamp(max=1), (0, 8 - len(parts))),
        "line": (tops[step - 1 : step] - low) / (high - low) if drawn else torch.tensor([]),
        "tape": torch.cat([scores, values, *((100 * x + 0.5).floor() for x in (so_far, at_once))]),  # halves go up
        "colours": torch.cat([so_far[so_far.isfinite()], at_once]),
        "read": here < step,
        "now": here == step - 1,
        "log": torch.tensor([0.0 if widget.way == "no maximum" else -torch.inf, *log]),
        "here": torch.arange(8 // block + 1) == step,
        "verdict": torch.tensor(["early", "same", "different"].index(verdict)),
        "said": codes(say["verdict"][verdict].format(exact=f"{whole.item():.3f}")),
        "at": codes(f"{step} of {8 // block}"),
    }


class TestOnlineSoftmax(Moving):
    kind = OnlineSoftmax
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("Forward", {"read": 4}),
        *choose("block", 1),
        *slide("Blocks read", "read", last=8, first=0),
        *press("Forward", {"read": 1}),
        *choose("scores", "rising", "falling", "huge"),
        *choose("block", 4),
        *slide("Blocks read", "read", last=8),
        *choose("way", "forget", "no maximum"),
        *choose("scores", "mixed"),
        *press("Back", {"read": 4}),
        *choose("block", 8),
        *press("Forward", {"read": 8}),
        *press("Back", {"read": 0}),
    ]
    happens = press("Forward", {"read": 4})
    changes = [{"read": 0}, {"read": 4}, {"way": "forget"}, {"scores": "huge"}, {"block": 1}, {"way": "no maximum"}]
    states = {
        "before the first block": OnlineSoftmax(read=0),
        "a sum that forgets": OnlineSoftmax(scores="rising", block=1, way="forget", read=8),
        "an overflow": OnlineSoftmax(scores="huge", block=4, way="no maximum", read=3),
        "nothing to rescale": OnlineSoftmax(scores="falling", way="forget", read=7),
    }
    drags = {"blocks read": (OnlineSoftmax(block=1, read=0), slide("Blocks read", "read", last=8))}
    errors = [
        (lambda: OnlineSoftmax(read=9), r"'read' trait .* not be greater than 8"),
        (lambda: OnlineSoftmax(block=3), r"'block' trait .* any of \[1, 2, 4, 8\]"),
        (lambda: OnlineSoftmax(way="forgot"), r"'way' trait .* any of \['rescale', 'forget', 'no maximum'\]"),
    ]


def test_bars_end_as_high_as_their_shares(visit):
    """Old ones shrink by the factor, and new ones come to stand beside them."""
    page = visit("bare.html", served={"bare.html": bare(OnlineSoftmax())})
    node = live(page)
    node.get_by_role("button", name="Forward").click()
    expect(node.locator("[data-moving]")).to_have_count(1)
    expect(node.locator("[data-moving]")).to_have_count(0)
    bars = "(bars) => bars.map((bar) => bar.getBoundingClientRect().height / (bar.parentNode.clientHeight))"
    high = torch.tensor(node.locator(".ab-part i").evaluate_all(bars))[:4]
    assert_close(high, torch.tensor([-4.0, -2, -3, 0]).exp(), atol=0.02, rtol=0)


def test_table_of_one_pass():
    exact = torch.tensor(SCORES["mixed"]).double().softmax(0) @ values()
    table = numbers(OnlineSoftmax(block=4))
    assert table.shape == (2, 4)
    assert_close(table[-1, -1], exact.float(), atol=5e-4, rtol=0)
    assert (numbers(OnlineSoftmax(way="forget"))[-1, -1] - exact).abs() > 0.1
    page = parsed(OnlineSoftmax())
    assert page.caption.text == f"In one pass; all at once it is {exact:.3f}"
    assert [head.text for head in page.select("th")[:4]] == ["maximum", "sum", "output", "output / sum"]
    last = page.select("tr")[-1]
    assert last.th.text == "after block 4"
    assert [cell.text for cell in last.select("td")] == ["5.000", "1.646", "6.264", "3.805"]
    overflow = parsed(OnlineSoftmax(scores="huge", way="no maximum"))
    assert [cell.text for cell in overflow.select("td")[-4:]] == ["0.000", "∞", "NaN", "NaN"]


def test_what_chapter_10_says_of_it():
    factors = [math.exp(a - b) for (a, _), (b, _) in pairwise(OnlineSoftmax().states())]
    assert f"{factors[0]:.3f}" == "0.135"
    for block in (1, 2, 4, 8):
        (m, parts), values_M = OnlineSoftmax(block=block).states()[-1], values()
        assert (m, f"{parts.sum():.3f}", f"{parts @ values_M:.3f}") == (5.0, "1.646", "6.264")
    _, parts = OnlineSoftmax(way="forget").states()[-1]
    right = torch.tensor(SCORES["mixed"]).double().softmax(0)
    assert f"{parts[1] / parts.sum():.0%} {right[1]:.0%}" == "38% 8%"
    assert (parts / parts.sum() > right).nonzero()[:, 0].tolist() == [0, 1], "those read before the maximum grew"
    _, parts = OnlineSoftmax(way="forget", scores="falling").states()[-1]
    assert_close(parts / parts.sum(), torch.tensor(SCORES["falling"]).double().softmax(0))
    _, parts = OnlineSoftmax(way="no maximum", scores="huge").states()[-1]
    assert not (parts / parts.sum()).isfinite().any()
    _, parts = OnlineSoftmax(scores="huge").states()[-1]
    assert_close(parts / parts.sum(), (torch.tensor(SCORES["huge"]).double() - 1000).softmax(0))
