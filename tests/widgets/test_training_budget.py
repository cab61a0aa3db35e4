"""TrainingBudget: what it shows and what was measured, how it is worked, what is known of it besides."""

import math

import pytest
import torch
from torch import Tensor

from attnbook.widgets import TrainingBudget
from tests.widgets.laws import Laws
from tests.widgets.reading import parsed
from tests.widgets.steps import slide

READ = """(node) => {
    const all = (selector) => [...node.querySelectorAll(selector)];
    const flags = (selector, name) => all(selector).map((part) => String(Number(part.matches(name))));
    return {
        dots: all("circle").map((dot) => [dot.getAttribute("cx"), dot.getAttribute("cy")]),
        beyond: flags("circle", ".ab-beyond"),
        best: flags("circle", ".ab-best"),
        parameters: all("tbody th").map((cell) => cell.textContent),
        longest: all("tbody tr").map((row) => /\\d/.test(row.cells[1].textContent) ? row.cells[1].textContent : "0"),
        bits: all("tbody tr").map((row) => row.cells[2].textContent || "0"),
        row: flags("tbody tr", ".ab-best"),
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    runs, bought = widget.runs(), widget.bought()
    of_each = [[run for run in runs if run.parameters == n] for n in sorted({run.parameters for run in runs})]
    longest = [max((run for run in model if run in bought), default=None) for model in of_each]
    return {
        "dots": torch.tensor(
            [
                (
                    400 * math.log2(run.operations / 12e9) / math.log2(500),
                    190 * (3.3 - run.bits) / (3.3 - 2.4) if run in bought else 190,
                )
                for run in runs
            ],
            dtype=torch.float64,
        ),
        "beyond": torch.tensor([run not in bought for run in runs]),
        "best": torch.tensor([run == widget.best() for run in runs]),
        "parameters": torch.tensor([model[0].parameters for model in of_each]),
        "longest": torch.tensor([run.steps if run else 0 for run in longest]),
        "bits": torch.tensor([run.bits if run else 0.0 for run in longest]),
        "row": torch.tensor([run == widget.best() for run in longest]),
    }


class TestTrainingBudget(Laws):
    kind = TrainingBudget
    read = READ
    expected = staticmethod(expected)
    steps = slide("Operations to spend", "billions", last=5000, first=16)
    changes = [{"billions": 250}, {"billions": 5000}, {"billions": 32}]
    states = {f"{n} billion": TrainingBudget(billions=n) for n in (64, 500, 1000, 2000)}
    drags = {"billions": (TrainingBudget(), slide("Operations to spend", "billions", last=5000))}
    errors = [(lambda: TrainingBudget(billions=17), r"'billions' trait")]


@pytest.mark.parametrize("size", [12_416, 86_400, 500_736])
def test_a_longer_run_of_a_model_is_better(size):
    """So the longest run that a budget buys is a model's best, which is what the table says."""
    bits = [run.bits for run in TrainingBudget.runs() if run.parameters == size]
    assert bits == sorted(bits, reverse=True)


def test_every_budget_buys_one_run_more():
    counts = [len(TrainingBudget(billions=n).bought()) for n in TrainingBudget.billions.values]
    assert counts == sorted({*counts})
    assert counts[-1] == len(TrainingBudget.runs())


def test_table_of_a_budget():
    page = parsed(TrainingBudget(billions=32))
    assert [cell.text for cell in page.select("th[scope=row]")] == ["12,416", "12,416"]
