"""ShiftLab: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

from itertools import pairwise

import torch
from torch import Tensor
from torch.testing import assert_close

from attnbook import sinusoidal
from attnbook.widgets import ShiftLab
from attnbook.widgets.shift_lab import KEY, QUERY
from tests.widgets.laws import Laws
from tests.widgets.reading import codes, numbers, parsed
from tests.widgets.steps import choose, slide

READ = """(node) => {
    const isSeen = (part) => part.checkVisibility({ visibilityProperty: true });
    const seen = (selector) => [...node.querySelectorAll(selector)].filter(isSeen);
    const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
    const texts = (selector) => seen(selector).map((part) => part.textContent);
    return {
        numbers: texts("td.ab-number"),
        named: codes([...texts("caption"), ...texts("thead th"), node.querySelector(".ab-circles").ariaLabel]),
        here: seen(".ab-small > div").map((spot) => String(Number(spot.matches(".ab-here")))),
        hands: seen("line").map((line) => ["x2", "y2"].map((end) => line.getAttribute(end))),
        scores: texts("dd"),
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    """The matrix is found, not written down: the one that takes every position to the one so many later."""
    i, apart, say = widget.position, widget.apart, widget.edition_words()
    everywhere = [i, *range(10, 51, 5)]
    here, there = (say["at"].format(i=place) for place in (i, i + apart))
    if widget.mode == "moved":
        P = sinusoidal(80, 4, base=100.0, dtype=torch.float64)
        matrix = torch.linalg.lstsq(P[10:70], P[10 + apart : 70 + apart]).solution.T
        hands = torch.stack([torch.stack([P[place], P[place + apart]]) for place in everywhere])
        columns = [*matrix.T, P[i], matrix @ P[i], P[i + apart]]
        heads, scores = ["sin 1", "cos 1", "sin 2", "cos 2", here, say["product"], there], []
    else:
        q, k = torch.tensor([QUERY, KEY], dtype=torch.float64)
        places = torch.tensor(everywhere)[:, None, None] + torch.tensor([[0], [apart]])
        angles = places * torch.tensor([1, 0.1], dtype=torch.float64)
        pairs = torch.view_as_complex(torch.stack([q, k]).unflatten(-1, (2, 2))) * torch.exp(1j * angles)
        hands = torch.view_as_real(pairs).flatten(-2)
        shown = hands[0]
        columns, heads = [q, shown[0], k, shown[1]], [say["query"], here, say["key"], there]
        added = (q + sinusoidal(1, 4, start=i, base=100.0, dtype=torch.float64)[0]) @ (
            k + sinusoidal(1, 4, start=i + apart, base=100.0, dtype=torch.float64)[0]
        )
        scores = [(shown[0] @ shown[1]).item(), added.item()]
    caption = say["captions"][widget.mode].format(i=i, apart=str(apart).replace("-", "−"))
    return {
        "numbers": torch.stack(columns, -1),
        "named": codes(caption, *heads, say["picture"][widget.mode]),
        "hands": (hands.unflatten(-1, (2, 2)) * torch.tensor([20.0, -20.0])).permute(2, 0, 1, 3),
        "here": torch.tensor([place == i for _ in range(2) for place in range(10, 51, 5)]),
        "scores": torch.tensor(scores, dtype=torch.float64),
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


def test_tables_of_a_move_and_of_a_turn():
    moved = numbers(ShiftLab(position=20, apart=-7))
    assert_close(moved[:, 5], moved[:, 6])
    assert_close(moved[:, :4] @ moved[:, 4], moved[:, 5], rtol=0, atol=0.02)
    page = parsed(ShiftLab(position=20, apart=-7))
    assert page.caption.text == "The matrix that moves by −7"
    assert [head.text for head in page.select("th[scope=col]")[4:]] == ["position 20", "product", "position 13"]
    page = parsed(ShiftLab(mode="turned"))
    assert page.caption.text == "Score −0.11; with positions added 0.28"
    assert [head.text for head in page.select("th[scope=col]")] == ["query", "turned to 12", "key", "turned to 15"]


def test_what_chapter_8_says_of_it():
    scores = {apart: ShiftLab(apart=apart).scores() for apart in range(-10, 11)}
    assert sorted(scores, key=lambda apart: -scores[apart][0])[:2] == [8, 7]
    turned, added = zip(*(ShiftLab(position=i, apart=3).scores() for i in range(10, 51)), strict=True)
    assert {round(score, 4) for score in turned} == {-0.1142}
    assert min(abs(a - b) for a, b in pairwise(added)) > 1e-4
