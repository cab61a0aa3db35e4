"""AskPicture: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import pytest
import torch
from torch import Tensor

from attnbook.data import FOLDER
from attnbook.data.stored import unpack_single
from attnbook.tasks.digits import digits, patches
from attnbook.tasks.pictures import HELD_OUT, QUESTIONS, Asker, answer, asked, held_out_pictures
from attnbook.widgets import AskPicture
from attnbook.widgets.ask_picture import about, model
from booktools.make.networks.asker import to_bytes
from booktools.make.networks.digit_reader import held_out
from tests.sizes import is_light
from tests.widgets.laws import Laws
from tests.widgets.reading import parsed
from tests.widgets.steps import choose, press

READ = """(node) => {
        const patches = [...node.querySelectorAll(".ab-pair > span")];
        const answers = [...node.querySelectorAll("li")];
        const marked = (name) => answers.map((answer) => String(Number(answer.matches(name))));
        return {
            ink: [...node.querySelectorAll(".ab-pair i")].map((pixel) => pixel.style.getPropertyValue("--ink")),
            weights: patches.map((patch) => patch.dataset.weight),
            halves: [...node.querySelectorAll(".ab-halves span")].map((half) => `${parseInt(half.textContent)}e0`),
            chances: answers.map((answer) => answer.dataset.chance),
            first: marked(".ab-first"),
            truth: marked(".ab-truth"),
            told: node.querySelector(".ab-hint").textContent.match(/\\d+/g).slice(0, 2),
        };
    }"""


def expected(widget) -> dict[str, Tensor]:
    chances = widget.scores().softmax(-1)
    right = HELD_OUT - len(about()["wrong"][widget.question])
    return {
        "ink": patches(widget.image()[None]).flatten(),
        "weights": widget.looks(),
        "halves": (100 * widget.halves()).round(),
        "chances": chances,
        "first": torch.arange(19) == chances.argmax(),
        "truth": torch.arange(19) == widget.truth(),
        "told": torch.tensor([HELD_OUT, right]),
    }


def next_wrong(twin):
    wrong = about()["wrong"][twin.question]
    return next((n for n in wrong if n > twin.picture), wrong[0])


class TestAskPicture(Laws):
    kind = AskPicture
    read = READ
    expected = staticmethod(expected)
    steps = [
        *choose("question", "the right digit"),
        *press("Swap the digits", {"swapped": lambda twin: not twin.swapped}),
        *choose("question", "the sum", "the larger digit", "the smaller digit"),
        *press("Next mistake", {"picture": next_wrong, "swapped": False}),
        *choose("word", 2, 3, 1, 0),
        *choose("head", 1, 2, 3, 4, 0),
        *choose("question", "the left digit"),
        *press("Next picture", {"picture": lambda twin: twin.picture % HELD_OUT + 1}),
        *press("Previous", {"picture": lambda twin: (twin.picture - 2) % HELD_OUT + 1}),
    ]
    changes = [
        {"question": "the sum"},
        {"word": 3},
        {"head": 4},
        {"swapped": True},
        {"picture": 360},
        {"head": 0},
        {"word": 0},
        {"question": "the smaller digit"},
        {"swapped": False},
    ]
    states = {
        "the last, whose right digit is one of the first": AskPicture(picture=360, question="the right digit"),
        "wrong": AskPicture(picture=2, question="the left digit"),
        "two that are alike": AskPicture(picture=1, question="the larger digit", head=2),
        "the blank of the sum": AskPicture(question="the sum", word=3, swapped=True),
    }
    errors = [
        (lambda: AskPicture(picture=361), r"'picture' trait .* not be greater than 360"),
        (lambda: AskPicture(question="the product"), r"'question' trait .* any of \['the left digit'"),
        (lambda: AskPicture(head=5), r"'head' trait .* not be greater than 4"),
    ]


@pytest.mark.slow
def test_the_files_are_those_of_the_network():
    rounded = Asker()
    unpack_single(FOLDER / "asker.bin", rounded)
    stored = (FOLDER / "asker.bin").read_bytes()
    assert to_bytes(rounded) == stored
    is_light("asker.bin", len(stored))
    assert (FOLDER / "held_out_digits.bin").read_bytes() == held_out("digit")


@pytest.mark.slow
def test_how_well_it_answers():
    """About as chapter 14's networks do: four questions it has learned, and the sum it has not."""
    pictures_BHW, numbers_B2 = held_out_pictures()
    assert {*map(tuple, numbers_B2.tolist())} == {(left, right) for left in range(10) for right in range(10)}
    for question, ids_3 in zip(QUESTIONS, asked(5), strict=True):
        said = model()(pictures_BHW.double(), ids_3.expand(HELD_OUT, -1)).argmax(-1).tolist()
        right = [answer(question, *numbers) for numbers in numbers_B2.tolist()]
        wrong = [n for n, (a, b) in enumerate(zip(said, right, strict=True), start=1) if a != b]
        assert wrong == about()["wrong"][question]
        share = 1 - len(wrong) / HELD_OUT
        assert share < 0.4 if question == "the sum" else share > 0.85
        assert about()["most"][question] < share


def test_it_is_less_sure_when_it_is_wrong():
    """Least about the sum."""
    sure = about()["sure"]
    assert sure["the sum"] < 0.3 < min(sure[question] for question in QUESTIONS[:4])


@pytest.mark.slow
@pytest.mark.parametrize(("question", "half"), [("the left digit", 0), ("the right digit", 1)])
def test_it_looks_at_the_side_that_it_is_asked_for(question, half):
    shares = torch.stack([AskPicture(picture=n, question=question).halves() for n in range(1, 41)])
    assert shares[:, half].mean() > 0.75
    torch.testing.assert_close(shares.sum(1), torch.ones(40, dtype=torch.float64))


@pytest.mark.slow
def test_two_words_share_the_digits_that_are_compared():
    """Asked for the larger one, "the" looks at the left digit and "digit" at the right one."""
    left = [
        torch.stack([AskPicture(picture=n, question="the larger digit", word=word).halves()[0] for n in range(1, 41)])
        for word in (1, 3)
    ]
    assert left[0].mean() > 0.95
    assert left[1].mean() < 0.2


def test_swapped_digits_are_the_same_picture_the_other_way_round():
    images_BHW, labels_B = digits(held_out=True)
    widget, other = (AskPicture(picture=9, swapped=swapped) for swapped in (False, True))
    assert torch.equal(widget.image()[:, :8].float(), images_BHW[8])
    assert torch.equal(widget.image()[:, :8], other.image()[:, 8:])
    assert widget.digits() == other.digits()[::-1]
    assert widget.truth() == labels_B[8]


def test_table():
    rows = parsed(AskPicture()).select("tr")[1:]
    assert [row.th.text for row in rows] == [*QUESTIONS]
    assert all(abs(sum(float(cell.text) for cell in row.select("td")[3:]) - 1) < 0.02 for row in rows)
