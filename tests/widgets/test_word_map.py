"""WordMap: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import pytest
import torch
import torch.nn.functional as F
from playwright.sync_api import expect
from torch import Tensor

from attnbook.data import english_vectors
from attnbook.widgets import (
    WordMap,
)
from tests.browser.hands import Finger, Mouse, bring, stops
from tests.browser.pages import bare
from tests.widgets.laws import COUNT_ELEMENTS, Laws, agree, live, shown
from tests.widgets.oracles import doubles
from tests.widgets.steps import fill, press, slide, there

READ = """(node) => {
        const parts = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        const texts = (selector) => parts(selector).map((part) => part.textContent);
        const chosen = node.querySelector(".ab-marks").getAttribute("d");
        return {
            view: node.querySelector("svg").getAttribute("viewBox").split(" "),
            cosines: texts("li .ab-number"),
            kept: texts(".ab-kept"),
            chosen: chosen ? chosen.slice(1).split("h")[0].split(" ") : [],
        };
    }"""


def expected(widget) -> dict[str, Tensor]:
    x, y, zoom = widget.x, widget.y, widget.zoom
    view = torch.tensor([x - 1 / zoom, y - 0.8 / zoom, 2 / zoom, 1.6 / zoom], dtype=torch.float64)
    nothing = torch.tensor([])
    if not widget.word:
        return {"view": view, "cosines": nothing, "kept": nothing, "chosen": nothing}
    row, vectors, places = english_vectors().index[widget.word], doubles(), widget.places()
    cosines = F.cosine_similarity(vectors[row], vectors, dim=-1)
    cosines[row] = -2
    best = cosines.topk(10)
    on_map = (places - places[row]).square().sum(-1).topk(11, largest=False).indices
    kept = torch.isin(best.indices, on_map).sum()
    return {"view": view, "cosines": best.values, "kept": kept, "chosen": places[row]}


class TestWordMap(Laws):
    kind = WordMap
    read = READ
    expected = staticmethod(expected)
    steps = [
        *fill("Find a word", "river", there("river")),
        *press("Go to rivers", there("rivers")),
        *slide("Zoom", "zoom", last=24.0, first=1.0),
        *fill("Find a word", "monday", there("monday")),
    ]
    changes = [{"word": "river"}, {"zoom": 3.0}]
    states = {
        "a word and where it is": WordMap("bank"),
        "its tenth on the map is a neighbour": WordMap("blue"),
        "the one after its tenth is": WordMap("king"),
        "a word that is out of sight": WordMap("bank", x=-0.9, y=0.9, zoom=24.0),
        "the edge of the map": WordMap(x=1.0, y=-1.0, zoom=2.0),
    }
    drags = {"zoom": (WordMap("river"), slide("Zoom", "zoom", last=24.0))}
    errors = [
        (lambda: WordMap("rivver"), r"no vector for 'rivver'; try 'river'"),
        (lambda: WordMap(zoom=0.5), r"'zoom' trait .* not be less than 1"),
    ]


def test_the_word_map_names_the_nearest(visit):
    page = visit("bare.html", served={"bare.html": bare(WordMap("bank"))})
    expect(live(page).locator("li button")).to_have_text([word for word, _ in WordMap("bank").neighbours()])
    expect(page.locator(".ab-view .ab-chosen")).to_have_text("bank")


@pytest.mark.parametrize("hand", [Mouse, Finger])
def test_a_dot_that_is_pressed_is_chosen_and_the_map_stays(visit, hand):
    twin = WordMap(x=0.3, y=0.1, zoom=4.0)
    page = visit("bare.html", touch=hand is Finger, served={"bare.html": bare(twin)})
    hand(page).press(live(page).locator("svg"))
    nearest = (WordMap.places() - torch.tensor([0.3, 0.1])).square().sum(-1).argmin()
    agree(live(page), WordMap(english_vectors().words[nearest], x=0.3, y=0.1, zoom=4.0), "a press in the middle")


@pytest.mark.parametrize("hand", [Mouse, Finger])
def test_the_map_is_dragged(visit, hand):
    page = visit("bare.html", touch=hand is Finger, served={"bare.html": bare(WordMap(zoom=4.0))})
    node = live(page)
    x, y = bring(node.locator("svg"))
    box = node.locator(".ab-view").bounding_box()
    node.evaluate(COUNT_ELEMENTS)
    hand(page).drag([(x, y), *stops((x, y), (x + 40, y - 20))])
    left, top, *_ = (float(number) for number in shown(node)["view"])
    width = box["width"]
    assert abs(left - (-0.25 - 2 * 40 / width / 4)) < 0.01
    assert abs(top - (-0.2 + 2 * 20 / width / 4)) < 0.01
    assert page.evaluate("created") == 0
    expect(node.locator("li button").filter(visible=True)).to_have_count(0)  # a drag chooses nothing


def test_the_map_obeys_the_keyboard(visit):
    page = visit("bare.html", served={"bare.html": bare(WordMap())})
    node, twin = live(page), WordMap()
    node.locator("svg").focus()
    for key, changes in {
        "+": {"zoom": 1.5},
        "=": {"zoom": 2.0},
        "ArrowRight": {"x": 0.125},
        "ArrowDown": {"y": 0.125},
        "ArrowLeft": {"x": 0.0},
        "ArrowUp": {"y": 0.0},
        "-": {"zoom": 1.5},
    }.items():
        page.keyboard.press(key)
        for name, value in changes.items():
            setattr(twin, name, value)
        agree(node, twin, key)


def test_words_are_offered_while_one_types(visit):
    page = visit("bare.html", served={"bare.html": bare(WordMap())})
    field = live(page).get_by_role("combobox", name="Find a word")
    field.press_sequentially("Riv")
    offers = page.locator("datalist option").evaluate_all("(all) => all.map((offer) => offer.value).filter(Boolean)")
    assert offers == [word for word in english_vectors().words if word.startswith("riv")][:8]
    field.fill("zyzzyva")
    field.press("Enter")
    expect(page.get_by_text("“zyzzyva” is not among the 8,000 words.")).to_be_visible()
    expect(field).to_have_value("")


def test_a_map_that_is_given_a_word_goes_there():
    x, y = WordMap.place("river")
    widget = WordMap("river")
    assert abs(widget.x - x) + abs(widget.y - y) < 1e-3
    assert widget.zoom == 6
    assert (WordMap("river", x=0.5).x, WordMap("river", x=0.5).zoom) == (0.5, 1)


def test_the_map_keeps_neighbours_together():
    """Of the ten nearest words, four on average are among the ten nearest on the map; by chance, 0.01 would be."""
    places, units = WordMap.places(), torch.nn.functional.normalize(english_vectors().vectors, dim=-1)
    some = torch.arange(0, 8000, 20)
    cosines = units[some] @ units.T
    far = torch.cdist(places[some], places)
    for measure, least in ((cosines, -2), (far, 9)):
        measure[torch.arange(len(some)), some] = least
    near, on_map = cosines.topk(10).indices, far.topk(10, largest=False).indices
    assert (near[:, :, None] == on_map[:, None]).any(-1).sum(-1).double().mean() > 4
    assert places.abs().max() == 1
