"""CueScene: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from attnbook.widgets import CueScene
from tests.widgets.laws import Laws
from tests.widgets.reading import numbers
from tests.widgets.steps import slide

READ = """(node) => {
    const rows = [...node.querySelectorAll("tbody tr:not(.ab-asks)")];
    const texts = (nodes) => [...nodes].map((cell) => cell.textContent);
    return {
        numbers: rows.map((row) => texts(row.querySelectorAll(".ab-number"))),
        query: texts(node.querySelectorAll(".ab-asks .ab-number")),
        bars: rows.map((row) => row.querySelector(".ab-bar").style.getPropertyValue("--w")),
        lights: [...node.querySelectorAll(".ab-gaze")].map((light) => light.getAttribute("r")),
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    keys = torch.tensor(widget.keys_MK, dtype=torch.float64)
    query = torch.tensor([widget.salience, widget.wish], dtype=torch.float64)
    scores = keys @ query
    weights = F.softmax(scores, -1)
    return {
        "numbers": torch.cat([keys, scores[:, None], weights[:, None]], -1),
        "query": query,
        "bars": weights,
        "lights": 48 * weights.sqrt(),
    }


class TestCueScene(Laws):
    kind = CueScene
    read = READ
    expected = staticmethod(expected)
    steps = [
        *slide("What stands out", "salience", last=8.0),
        *slide("I want to read", "wish", last=8.0, first=0.0),
    ]
    changes = [{"salience": 2.0}, {"wish": 5.0}, {"keys_MK": [[0, 1], [1, 0], [0.5, 0.5], [1, 1], [0, 0]]}]
    states = {"a crowd": CueScene("crowd", wish=1.5), "no query": CueScene(salience=0.0)}
    drags = {"wish": (CueScene(), slide("I want to read", "wish", last=8.0))}
    by_finger = ("wish",)
    errors = [
        (lambda: CueScene("beach"), r"'scene' trait .* any of \['desk', 'crowd'\]"),
        (lambda: CueScene(wish=9), r"'wish' trait .* not be greater than 8"),
    ]


def test_table_of_a_gaze():
    weights = numbers(CueScene(salience=4.0, wish=6.0))[:, 2]
    keys = torch.tensor([[0.2, 0.6], [0.1, 0.3], [1.0, 0.0], [0.2, 0.4], [0.1, 1.0]])
    assert_close(weights, (keys @ torch.tensor([4.0, 6.0])).softmax(-1), rtol=0, atol=0.00501)
