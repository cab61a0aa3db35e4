"""OnlineSoftmax: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.widgets import OnlineSoftmax
from attnbook.widgets import online_softmax as online_softmax_module
from tests.widgets.laws import Laws
from tests.widgets.steps import choose, press, slide

READ = """(node) => {
        const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        const texts = (selector) => seen(selector).map((part) => part.textContent);
        const verdict = node.querySelector(".ab-verdict").textContent;
        return {
            tape: texts(".ab-tape tbody td").filter((text) => text !== ""),
            colours: seen(".ab-tape .ab-weight").map((cell) => cell.style.getPropertyValue("--w")),
            read: seen(".ab-tape thead th:not(:first-child)").map((head) => String(Number(head.matches(".ab-read")))),
            now: seen(".ab-tape thead th:not(:first-child)").map((head) => String(Number(head.matches(".ab-now")))),
            log: texts(".ab-log tbody td").filter((text) => text !== ""),
            here: seen(".ab-log tbody tr").map((row) => String(Number(row.matches(".ab-here")))),
            exact: verdict.match(/[\\d.]+\\d/),
            same: String(["Not all", "The same", "Not the"].findIndex((start) => verdict.includes(`. ${start}`))),
            at: node.querySelector("input[type=range]").getAttribute("aria-valuetext").match(/\\d+/g),
        };
    }"""


def expected(widget) -> dict[str, Tensor]:
    """Running sums, each a sum of exponentials by its definition; the weights by `softmax`."""
    scores = torch.tensor(online_softmax_module.SCORES[widget.scores]).double()
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
    answer = log[-1] if log else torch.nan
    return {
        "tape": torch.cat([scores, values, *((100 * x + 0.5).floor() for x in (so_far, at_once))]),  # halves go up
        "colours": torch.cat([so_far[so_far.isfinite()], at_once]),
        "read": here < step,
        "now": here == step - 1,
        "log": torch.tensor([0.0 if widget.way == "no maximum" else -torch.inf, *log]),
        "here": torch.arange(step + 1) == step,
        "exact": whole,
        "same": torch.tensor(0 if step < 8 // block else 1 if abs(answer - whole) < 1e-9 else 2),
        "at": torch.tensor([step, 8 // block]),
    }


class TestOnlineSoftmax(Laws):
    kind = OnlineSoftmax
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("Forward", {"read": 2}),
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
    changes = [{"read": 4}, {"way": "forget"}, {"scores": "huge"}, {"block": 1}, {"way": "no maximum"}]
    states = {
        "a sum that forgets": OnlineSoftmax(scores="rising", block=1, way="forget", read=8),
        "an overflow": OnlineSoftmax(scores="huge", block=4, way="no maximum", read=3),
        "nothing to rescale": OnlineSoftmax(scores="falling", way="forget", read=7),
    }
    drags = {"blocks read": (OnlineSoftmax(block=1), slide("Blocks read", "read", last=8))}
    errors = [
        (lambda: OnlineSoftmax(read=9), r"'read' trait .* not be greater than 8"),
        (lambda: OnlineSoftmax(block=3), r"'block' trait .* any of \[1, 2, 4, 8\]"),
        (lambda: OnlineSoftmax(way="forgot"), r"'way' trait .* any of \['rescale', 'forget', 'no maximum'\]"),
    ]
