"""Guesses: what they ask for is out of sight until the reader has committed, and never without scripts."""

import json
import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from playwright.sync_api import expect

from booktools.directives import guess
from tests import ROOT

FIVE = "chapters/05_scaled_dot_product_attention.html"
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
ASKED = re.compile(r":::\{guess\}\n(.*?)\n:::", re.DOTALL)


def test_choices(visit):
    page = visit(FIVE)
    card, answer = page.locator("#guess-1"), page.get_by_text("tensor([0.2447, 0.6652, 0.0900])")
    expect(answer).to_be_hidden()
    card.get_by_role("button", name="a third").click()
    expect(answer).to_be_visible()
    told = re.compile(
        r"^You said a third\. It is: a little\. .+ small compared with the other two powers, but it is not zero\.$"
    )
    expect(card.get_by_role("status")).to_have_text(told)
    expect(page.locator(".veiled.guess-1")).to_have_count(0)
    assert page.locator(".veiled").count(), "the other guesses are still open"


def test_a_guess_stands_there_when_one_comes_back(visit):
    page = visit(FIVE)
    page.locator("#guess-1").get_by_role("button", name="a third").click()
    page.goto(f"{visit.home}{FIVE}")
    told = re.compile(r"^You said a third\. It is: a little\.")
    expect(page.locator("#guess-1").get_by_role("status")).to_have_text(told)
    expect(page.locator("#guess-1 .chosen")).to_have_text("a third")
    expect(page.locator(".veiled.guess-1")).to_have_count(0)
    assert page.locator(".veiled").count(), "the other guesses are still open"
    assert page.evaluate("document.activeElement === document.body"), "and nobody's focus goes there"


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("0", r"^Right: 0\. Every entry is .+ is not 0, the bracket is 0\.$"),
        ("0,5", r"^You said 0\.5, it is 0: too high by 0\.5\. Every"),
        ("-1", r"^You said -1, it is 0: too low by 1\. Every"),
        ("no idea", r"^A number, please, such as 0\.5\.$"),
    ],
)
def test_a_number(visit, said, reply):
    page = visit(FIVE)
    card = page.locator(".guess:has(input)").first
    card.get_by_role("textbox").fill(said)
    card.get_by_role("button", name="Guess", exact=True).click()
    expect(card.get_by_role("status")).to_have_text(re.compile(reply))
    assert bool(page.locator(f".veiled.{card.get_attribute('id')}").count()) == ("please" in reply)


def test_what_is_hidden_is_one_line_until_it_is_shown(visit):
    page = visit(FIVE)
    line, prints = page.locator(".veil.guess-3"), page.locator(".veiled.guess-3")
    expect(prints).to_have_count(4)
    expect(line).to_have_text("Hidden until you guess · show")
    assert line.bounding_box()["height"] < 60
    assert all(output.bounding_box() is None for output in page.locator(".veiled.guess-3 > .cell_output").all())
    line.get_by_role("button").press("Enter")
    expect(line).to_have_count(0)
    expect(prints).to_have_count(0)
    expect(page.locator("#guess-3").get_by_role("status")).to_be_focused()
    expect(page.locator(".guess-3 > .cell_output").first).to_be_visible()


def test_whoever_would_rather_see_it_sees_it(visit):
    page = visit(FIVE)
    page.locator("#guess-1").get_by_role("button", name="Just show me").click()
    expect(page.get_by_text("tensor([0.2447, 0.6652, 0.0900])")).to_be_visible()
    expect(page.locator("#guess-1").get_by_role("status")).to_have_text(re.compile(r"^It is: a little\. "))


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_every_reply_says_why(chapter):
    assert not [
        asked for asked in ASKED.findall(prose(chapter)) if not re.search(r"^:because: .+\.$", asked, re.MULTILINE)
    ]


def test_without_scripts_and_on_paper_all_is_open(visit):
    page = visit(FIVE, javascript=False)
    expect(page.get_by_text("tensor([0.2447, 0.6652, 0.0900])")).to_be_visible()
    expect(page.locator(".guess button:visible")).to_have_count(0)
    expect(page.locator("#guess-1 .because")).to_be_visible()
    expect(page.locator(".veil:visible")).to_have_count(0)
    page = visit(FIVE)
    page.emulate_media(media="print")
    expect(page.get_by_text("tensor([0.2447, 0.6652, 0.0900])")).to_be_visible()
    expect(page.locator(".veil:visible")).to_have_count(0)


def test_a_number_must_stand_in_what_is_hidden(monkeypatch):
    said = []
    monkeypatch.setattr(guess.log, "warning", lambda *words, **_: said.append(words))

    def warnings(number):
        asked = guess.guess("", nodes.paragraph("", "How many?"), number=number, hides=1)
        document = nodes.section("", asked, nodes.paragraph("", "12 of 40"), nodes.paragraph("", "7"))
        guess.Cards.run(SimpleNamespace(document=document))
        return len(said)

    assert warnings("12") == 0
    assert warnings("7") == 1, "that stands behind what is hidden"


def prose(chapter):
    cells = json.loads(chapter.read_text())["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def stands(answer, text):
    """Whether text has this answer, as a word or number of its own and in any brackets."""
    answer, text = (part.lower().replace("[", "(").replace("]", ")") for part in (answer, text))
    start = r"(?<![\w.])" if answer[0].isalnum() else ""
    return bool(re.search(rf"{start}{re.escape(answer)}(?!\w|\.\d)", text))


@pytest.mark.parametrize(
    ("answer", "text", "there"),
    [
        ("0", "x[0]", True),
        ("0", "10, 0.5, x_0", False),
        ("0.", "tensor(0.)", True),
        ("0.", "[1.0, 0.0]", False),
        ("NaN", "is NaN", True),
        ("NaN", "nan_to_num", False),
        ("(12, 15)", "torch.zeros(12, 15)", True),
        ("(2, 5)", "torch.Size([2, 5])", True),
        ("(2, 5)", "L, M, K = 2, 5, 3", False),
    ],
)
def test_an_answer_is_found(answer, text, there):
    assert stands(answer, text) == there


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_a_guess_has_a_card(chapter):
    text = re.sub(r":::\{touch\}\n.*?\n:::", "", ASKED.sub("", prose(chapter)), flags=re.DOTALL)
    assert not re.findall(r".*\b(?:Guess|[Yy]our guess)\b.*", text)
