"""Guesses: what they ask for is out of sight until the reader has committed, and never without scripts."""

import sys
from types import SimpleNamespace

import pytest
from docutils import nodes
from playwright.sync_api import expect

from tests import ROOT

FIVE = "chapters/05_scaled_dot_product_attention.html"


@pytest.fixture(scope="module")
def guess():
    sys.path.insert(0, str(ROOT / "theme"))
    import guess

    yield guess
    sys.path.remove(str(ROOT / "theme"))


def test_choices(visit):
    page = visit(FIVE)
    card, answer = page.locator("#guess-1"), page.get_by_text("tensor([0.2447, 0.6652, 0.0900])")
    expect(answer).to_be_hidden()
    card.get_by_role("button", name="a third").click()
    expect(answer).to_be_visible()
    expect(card.get_by_role("status")).to_have_text("You said a third. It is: a little.")
    expect(page.locator(".veiled.guess-1")).to_have_count(0)
    assert page.locator(".veiled").count(), "the other guesses are still open"


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("0", "Right: 0."),
        ("0,5", "You said 0.5, it is 0: too high by 0.5."),
        ("-1", "You said -1, it is 0: too low by 1."),
        ("no idea", ""),
    ],
)
def test_a_number(visit, said, reply):
    page = visit(FIVE)
    card = page.locator(".guess:has(input)").first
    card.get_by_role("textbox").fill(said)
    card.get_by_role("button", name="Guess", exact=True).click()
    expect(card.get_by_role("status")).to_have_text(reply)
    assert bool(page.locator(f".veiled.{card.get_attribute('id')}").count()) == (not reply)


def test_whoever_would_rather_see_it_sees_it(visit):
    page = visit(FIVE)
    page.locator("#guess-1").get_by_role("button", name="Just show me").click()
    expect(page.get_by_text("tensor([0.2447, 0.6652, 0.0900])")).to_be_visible()
    expect(page.locator("#guess-1").get_by_role("status")).to_be_empty()


def test_without_scripts_and_on_paper_all_is_open(visit):
    page = visit(FIVE, javascript=False)
    expect(page.get_by_text("tensor([0.2447, 0.6652, 0.0900])")).to_be_visible()
    expect(page.locator(".guess button:visible")).to_have_count(0)
    page = visit(FIVE)
    page.emulate_media(media="print")
    expect(page.get_by_text("tensor([0.2447, 0.6652, 0.0900])")).to_be_visible()


def test_a_number_must_stand_in_what_is_hidden(guess, monkeypatch):
    said = []
    monkeypatch.setattr(guess.log, "warning", lambda *words, **_: said.append(words))

    def warnings(number):
        asked = guess.guess("", nodes.paragraph("", "How many?"), number=number, hides=1)
        document = nodes.section("", asked, nodes.paragraph("", "12 of 40"), nodes.paragraph("", "7"))
        guess.Cards.run(SimpleNamespace(document=document))
        return len(said)

    assert warnings("12") == 0
    assert warnings("7") == 1, "that stands behind what is hidden"
