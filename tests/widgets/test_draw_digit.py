"""DrawDigit: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import random
from itertools import chain

import pytest
import torch
from torch import Tensor

from attnbook.data import FOLDER
from attnbook.data.stored import unpack_single
from attnbook.tasks.digits import digit_reader, digits, reader_untrained, right
from attnbook.widgets import DrawDigit
from attnbook.widgets.draw_digit import SIDE, about, inks, model
from booktools.make.networks.digit_reader import held_out, of_drawings, to_bytes
from booktools.make.networks.strokes import NEW_WAYS, WAYS
from booktools.make.networks.strokes import drawn as drawing
from tests.sizes import is_light
from tests.widgets.laws import Laws
from tests.widgets.reading import parsed
from tests.widgets.steps import choose, paint, press

READ = """(node) => {
        const cells = [...node.querySelectorAll("[role=gridcell]:has(i)")];
        const texts = (selector) => [...node.querySelectorAll(selector)].map((part) => part.textContent);
        return {
            ink: cells.flatMap((cell) => [...cell.querySelectorAll("i")].map((i) => i.style.getPropertyValue("--ink"))),
            numbers: texts("[role=gridcell] b"),
            chances: texts("td.ab-number"),
            chosen: [...node.querySelectorAll("tr:has(.ab-bar)")]
                .map((row) => String(Number(row.matches(".ab-chosen")))),
            covered: cells.map((cell) => String(Number(cell.ariaSelected === "true"))),
        };
    }"""


def expected(widget) -> dict[str, Tensor]:
    scores = widget.scores()
    return {
        "ink": inks(16 * widget.image()).flatten(),
        "numbers": widget.numbers(),
        "chances": scores.softmax(-1),
        "chosen": torch.arange(10) == scores.argmax(),
        "covered": torch.tensor([[i, j] in widget.covered for i in range(4) for j in range(4)]),
    }


def drawn(cells):
    """Cells, each beside the one before: one stroke, whichever hand draws it."""

    def after(twin):
        return [*([] if twin.digit else twin.strokes), [SIDE * i + j for i, j in cells]]

    return [(f"drawn {cells}", paint(cells)[0][1], {"strokes": after, "digit": 0})]


def next_wrong(twin):
    return next((n for n in about()["wrong"] if n >= twin.digit), about()["wrong"][0]) + 1


class TestDrawDigit(Laws):
    kind = DrawDigit
    read = READ
    expected = staticmethod(expected)
    steps = [
        *choose("view", "costs"),
        *press("One that it gets wrong", {"digit": next_wrong, "covered": []}),
        *choose("view", "first"),
        *press("A digit it has not learned from", {"digit": lambda twin: twin.digit + 1, "covered": []}),
        *drawn([(2, 8), (3, 8), (4, 8), (5, 8), (6, 8), (7, 8)]),
        *drawn([(11, 3), (11, 4), (11, 5)]),
        *press("Undo a stroke", {"strokes": lambda twin: twin.strokes[:-1]}),
        *press("Clear", {"strokes": [], "covered": []}),
    ]
    changes = [
        {"view": "costs"},
        {"covered": [[1, 1], [2, 2]]},
        {"digit": 5},
        {"view": "first"},
        {"digit": 382},
        {"digit": 0},
        {"strokes": [[0, 15], [240]]},
        {"covered": []},
    ]
    states = {
        "nothing drawn": DrawDigit(strokes=[]),
        "a dot": DrawDigit(strokes=[[100]], view="costs"),
        "a line across, and nothing": DrawDigit(strokes=[[112, 127], []], view="first"),
        "read wrong": DrawDigit(digit=139, view="costs"),
        "all covered": DrawDigit(covered=[[i, j] for i in range(4) for j in range(4)]),
    }
    errors = [
        (lambda: DrawDigit(strokes=[[256]]), r"256|not be greater than 255"),
        (lambda: DrawDigit(digit=383), r"'digit' trait .* not be greater than 382"),
        (lambda: DrawDigit(view="last"), r"'view' trait .* any of \['first', 'second', 'costs'\]"),
    ]


def test_what_is_drawn_is_made_as_tall_as_the_bitmap_wherever_it_is():
    small = DrawDigit(strokes=[[SIDE * row + 3 for row in range(9, 14)]])
    large = DrawDigit(strokes=[[SIDE * row + 12 for row in range(1, 13)]])
    assert torch.equal(large.counts(), large.counts().flip(1)), "a line in the middle"
    assert large.counts().any(1).all()
    assert (small.counts() <= large.counts()).all()


@pytest.mark.parametrize("digit", [1, 200, 382])
def test_digits_held_out_are_shown_as_they_are(digit):
    images_BHW, labels_B = digits(held_out=True, by="form")
    widget = DrawDigit(digit=digit)
    assert torch.equal(widget.counts() / 16, images_BHW[digit - 1])
    assert widget.label() == labels_B[digit - 1]


def test_the_files_are_those_of_the_network():
    reader = reader_untrained()
    unpack_single(FOLDER / "digit_reader.bin", reader)
    stored = (FOLDER / "digit_reader.bin").read_bytes()
    assert to_bytes(reader, about()["drawn"]) == stored
    is_light("digit_reader.bin", len(stored))
    assert (FOLDER / "held_out.bin").read_bytes() == held_out()


def test_how_well_it_reads():
    """Digits of people of whom it has seen none; not all."""
    images_BHW, labels_B = digits(held_out=True, by="form")
    wrong = (model()(images_BHW.double()).argmax(-1) != labels_B).nonzero()[:, 0].tolist()
    assert wrong == about()["wrong"]
    assert 0 < len(wrong) <= 12
    assert right(model(), (images_BHW.double(), labels_B)) >= 0.97


SEVENS = {
    "plain": [[35, 37, 39, 41, 43, 58, 73, 88, 103, 119, 135, 151, 167, 183, 199]],
    "with a bar": [[35, 37, 39, 41, 43, 58, 73, 88, 103, 119, 135, 151, 167, 183, 199], [117, 119, 121]],
    "small, in a corner": [[11, 13, 14, 29, 44, 60, 76]],
}


@pytest.mark.parametrize("seven", SEVENS)
def test_a_seven_is_read_as_people_draw_it(seven):
    scores = DrawDigit(strokes=SEVENS[seven]).scores()
    assert scores.argmax() == 7


@pytest.mark.slow
def test_how_well_it_reads_what_is_drawn():
    """In ways that it has learned from, and in others. No person drew these."""
    assert of_drawings(digit_reader()) == pytest.approx(about()["drawn"], abs=0.005)
    assert about()["drawn"]["known"] > 0.95
    assert about()["drawn"]["new"] > 0.85


@pytest.mark.parametrize("digit", range(10))
def test_drawings_are_strokes_on_the_sheet_wherever_and_however_large(digit):
    dice, heights = random.Random(digit), set()
    for way in WAYS[digit] + NEW_WAYS[digit]:
        strokes = drawing(way, dice)
        assert [len(stroke) > 1 for stroke in strokes] == [True] * len(way.split("/"))
        cells = [*chain(*strokes)]
        assert min(cells) >= 0
        assert max(cells) < SIDE * SIDE
        heights.add(max(cells) // SIDE - min(cells) // SIDE)
        assert not {*NEW_WAYS[digit]} & {*WAYS[digit]}
    assert len(heights) > 1


def test_table():
    rows = parsed(DrawDigit()).select("tr")[1:]
    assert len(rows) == 10
    assert abs(sum(float(row.td.text) for row in rows) - 1) < 0.02
