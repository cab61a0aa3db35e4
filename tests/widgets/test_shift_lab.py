"""ShiftLab: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
from torch import Tensor

from attnbook import sinusoidal
from attnbook.widgets import ShiftLab
from attnbook.widgets.shift_lab import KEY, QUERY
from tests.widgets.laws import Laws
from tests.widgets.steps import choose, slide

READ = """(node) => {
        const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        return {
            numbers: seen("td.ab-number").map((cell) => cell.textContent),
            heads: seen("thead th").flatMap((head) => head.textContent.match(/\\d+$/) ?? []),
            hands: seen("line").map((line) => ["x2", "y2"].map((end) => line.getAttribute(end))),
            scores: seen("dd").map((score) => score.textContent),
            moves: seen("caption").flatMap((caption) => caption.textContent.match(/[-−]?\\d+/g) ?? []),
        };
    }"""


def expected(widget) -> dict[str, Tensor]:
    """The matrix is found, not written down: the one that takes every position to the one so many later."""
    i, apart = widget.position, widget.apart
    if widget.mode == "moved":
        P = sinusoidal(80, 4, base=100.0, dtype=torch.float64)
        matrix = torch.linalg.lstsq(P[10:70], P[10 + apart : 70 + apart]).solution.T
        shown = torch.stack([P[i], P[i + apart]])
        columns = [*matrix.T, P[i], matrix @ P[i], P[i + apart]]
        heads, scores, moves = [1, 1, 2, 2, i, i + apart], [], [apart, i]
    else:
        q, k = torch.tensor([QUERY, KEY], dtype=torch.float64)
        angles = torch.tensor([[i], [i + apart]]) * torch.tensor([1, 0.1], dtype=torch.float64)
        pairs = torch.view_as_complex(torch.stack([q, k]).unflatten(-1, (2, 2))) * torch.exp(1j * angles)
        shown = torch.view_as_real(pairs).flatten(-2)
        columns, heads, moves = [q, shown[0], k, shown[1]], [i, i + apart], []
        added = (q + sinusoidal(1, 4, start=i, base=100.0, dtype=torch.float64)[0]) @ (
            k + sinusoidal(1, 4, start=i + apart, base=100.0, dtype=torch.float64)[0]
        )
        scores = [(shown[0] @ shown[1]).item(), added.item()]
    return {
        "numbers": torch.stack(columns, -1),
        "heads": torch.tensor(heads),
        "hands": (shown.unflatten(-1, (2, 2)) * torch.tensor([34, -34])).transpose(0, 1),
        "scores": torch.tensor(scores, dtype=torch.float64),
        "moves": torch.tensor(moves),
    }


class TestShiftLab(Laws):
    kind = ShiftLab
    read = READ
    expected = staticmethod(expected)
    steps = [
        *slide("Position i", "position", last=50),
        *slide("Distance", "apart", first=-10, last=10),
        *choose("mode", "turned"),
        *slide("Distance", "apart", first=-10),
        *slide("Position i", "position", first=10),
        *choose("mode", "moved"),
    ]
    changes = [{"apart": -10}, {"mode": "turned"}, {"position": 50}, {"apart": 10}, {"mode": "moved"}]
    states = {"turned apart the other way": ShiftLab(mode="turned", position=10, apart=-10)}
    drags = {"distance": (ShiftLab(), slide("Distance", "apart", last=10))}
    errors = [(lambda: ShiftLab(position=9), r"'position' trait .* not be less than 10")]
