"""WordMap: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import re

import pytest
import torch
import torch.nn.functional as F
from playwright.sync_api import expect
from torch import Tensor
from torch.testing import assert_close

from attnbook.data import english_vectors
from attnbook.language import PSEUDO, speaking
from attnbook.widgets import WordMap
from attnbook.widgets.word_map import EXAMPLES
from tests.browser.hands import Finger, Mouse, bring, stops, swiped
from tests.browser.pages import PHONE, bare
from tests.widgets.forgotten import forgotten
from tests.widgets.laws import COUNT_ELEMENTS, Laws, live, shown
from tests.widgets.oracles import doubles
from tests.widgets.reading import codes, parsed
from tests.widgets.steps import fill, press, slide, there

READ = """(node) => {
    const parts = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const texts = (selector) => parts(selector).map((part) => part.textContent);
    const codes = (selector) => [...texts(selector).join("")].map((letter) => String(letter.codePointAt(0)));
    const chosen = node.querySelector(".ab-marks").getAttribute("d");
    const [left, top, wide, tall] = node.querySelector("svg").getAttribute("viewBox").split(" ").map(Number);
    const box = node.querySelector("svg").getBoundingClientRect();
    const arches = [...node.querySelectorAll(".ab-arch")].map((arch) => arch.style.getPropertyValue("--w"));
    return {
        view: [left + wide / 2, top + tall / 2, 2 / wide].map((x) => x.toFixed(6)),
        stretched: (wide / tall / (box.width / box.height)).toFixed(2),
        arches: arches.filter(Number),
        words: codes("li button"),
        cosines: texts("li .ab-number"),
        kept: texts(".ab-kept"),
        chosen: chosen ? chosen.slice(1).split("h")[0].split(" ") : [],
        label: codes(".ab-view .ab-chosen"),
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    x, y, zoom = widget.x, widget.y, widget.zoom
    view = {"view": torch.tensor([x, y, zoom], dtype=torch.float64), "stretched": torch.tensor(1)}
    if not widget.word:
        names = ["words", "cosines", "arches", "kept", "chosen", "label"]
        return view | dict.fromkeys(names, torch.tensor([]))
    row, vectors, places = english_vectors().index[widget.word], doubles(), widget.places()
    cosines = F.cosine_similarity(vectors[row], vectors, dim=-1)
    cosines[row] = -2
    best = cosines.topk(10)
    on_map = (places - places[row]).square().sum(-1).topk(11, largest=False).indices
    off = zoom * (places[row] - torch.tensor([x, y])).abs()  # from the middle; at the edge 1, or less above and below
    return view | {
        "words": codes(*(word for word, _ in widget.neighbours())),
        "cosines": best.values,
        "arches": best.values,
        "kept": torch.isin(best.indices, on_map).sum(),
        "chosen": places[row],
        "label": codes(widget.word) if off.max() < 0.5 else torch.tensor([]),
    }


def pressed_in_the_middle(twin):
    there = (WordMap.places() - torch.tensor([twin.x, twin.y])).square().sum(-1).argmin()
    return english_vectors().words[there]


def key(name, **changes):
    def act(hand, node):
        node.locator("svg").focus()
        hand.page.keyboard.press(name)

    return [(f"the key {name}", act, changes)]


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
    drags = {
        "zoom": (WordMap("river"), slide("Zoom", "zoom", last=24.0)),
        "a dot, and the map stays": (
            WordMap(x=0.3, y=0.1, zoom=4.0),
            [("the map pressed", lambda hand, node: hand.press(node.locator("svg")), {"word": pressed_in_the_middle})],
        ),
        "keys": (
            WordMap(),
            [
                *key("+", zoom=1.5),
                *key("=", zoom=2.0),
                *key("ArrowRight", x=0.125),
                *key("ArrowDown", y=0.125),
                *key("ArrowLeft", x=0.0),
                *key("ArrowUp", y=0.0),
                *key("-", zoom=1.5),
            ],
        ),
    }
    by_finger = ("a dot, and the map stays",)
    errors = [
        (lambda: WordMap("rivver"), r"no vector for 'rivver'; try 'river'"),
        (lambda: WordMap(zoom=0.5), r"'zoom' trait .* not be less than 1"),
    ]


@pytest.mark.parametrize("word", ["", "thursday"])
def test_the_map_starts_with_the_commonest_words(visit, word):
    """No name changes when the others come, and who asks for one of those meanwhile waits."""
    page, held = visit("404.html", served={"bare.html": bare(WordMap())}), []
    page.route("**/widgets/word_map.*.bin", lambda route: held.append(route))
    page.goto(f"{visit.home}bare.html")
    node = live(page)
    names = "(node) => [...node.querySelectorAll('.ab-view span')].map((name) => name.textContent)"
    faint = "() => document.querySelector('.ab-stars').getAttribute('d')"
    before = node.evaluate(names)
    assert len(set(before)) == 40
    assert page.evaluate(faint) == ""
    if word:
        node.get_by_role("combobox", name="Find a word").fill(word)
        page.keyboard.press("Enter")
        expect(page.locator("[aria-busy]")).to_have_count(1)
    (route,) = held
    route.continue_()
    page.wait_for_function(faint)
    if word:
        expect(node.locator(".ab-view .ab-chosen")).to_have_text(word)
    else:
        assert node.evaluate(names) == before


def two_fingers(page, *places):
    """Two fingers on the map, from place to place: the middle between them, and how far apart they are."""
    session = page.context.new_cdp_session(page)
    for kind, (x, y, apart) in zip(["touchStart", *["touchMove"] * (len(places) - 1)], places, strict=True):
        fingers = [{"x": x - apart / 2, "y": y, "id": 0}, {"x": x + apart / 2, "y": y, "id": 1}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_the_map_is_dragged_and_pinched(visit):
    page = visit("bare.html", touch=True, served={"bare.html": bare(WordMap(zoom=4.0), WordMap(zoom=4.0))})
    for place, hand in enumerate((Mouse, Finger)):
        node = live(page, place)
        x, y = bring(node.locator("svg"))
        width = node.locator(".ab-view").bounding_box()["width"]
        node.evaluate(COUNT_ELEMENTS)
        if hand is Mouse:
            hand(page).drag([(x, y), *stops((x, y), (x + 40, y - 20))])
        else:
            two_fingers(page, (x, y, 80), (x + 10, y - 5, 80), (x + 40, y - 20, 80))
        moved = [-2 * 40 / width / 4, 2 * 20 / width / 4, 4]
        assert_close(torch.tensor([*map(float, shown(node)["view"])]), torch.tensor(moved), rtol=0, atol=0.01)
        assert page.evaluate("created") == 0
        expect(node.locator("li button").filter(visible=True)).to_have_count(0)  # a drag chooses nothing
    two_fingers(page, (x, y, 60), (x, y, 90), (x, y, 120))
    assert_close(torch.tensor([*map(float, shown(node)["view"])]), torch.tensor([*moved[:2], 8]), rtol=0, atol=0.01)


def test_one_finger_scrolls_the_page(visit):
    space = '<p style="height: 3000px">A long page.</p>'
    html = bare(WordMap(zoom=4.0)).replace("<body>", f"<body>{space}").replace("</body>", f"{space}</body>")
    page = visit("bare.html", viewport=PHONE, touch=True, served={"bare.html": html})
    before = shown(live(page))
    assert swiped(page, bring(live(page).locator("svg"))) > 50
    assert shown(live(page)) == before


def test_words_are_offered_while_one_types(visit):
    with speaking(PSEUDO):  # which shows that the hint is in a file of words, too
        page = visit("bare.html", served={"bare.html": bare(WordMap())})
    field = live(page).get_by_role("combobox", name="Find a word")
    held = []  # the words beyond the commonest, until one has typed
    page.route(re.compile(r"/word_map\.\w+\.bin"), lambda route: held.append(route))
    page.reload(wait_until="domcontentloaded")
    field.press_sequentially("Riv")
    expected = [word for word in english_vectors().words if word.startswith("riv")][:8]
    offers = page.locator("datalist option")
    expect(offers.nth(0)).to_have_attribute("value", expected[0])
    held[0].continue_()
    expect(offers.nth(len(expected) - 1)).to_have_attribute("value", expected[-1])  # when all words have arrived
    assert offers.evaluate_all("(all) => all.map((offer) => offer.value).filter(Boolean)") == expected
    field.fill("zyzzyva")
    field.press("Enter")
    expect(page.locator(".ab-word [role=status]")).to_contain_text("zyzzyva")
    expect(field).to_have_value("")
    assert not forgotten(live(page))


def test_table_of_words():
    assert [head.text for head in parsed(WordMap()).select("th[scope=row]")] == EXAMPLES
    near = [cell.text for cell in parsed(WordMap("river")).select("table td")[1:]]
    assert near == [word for word, _ in english_vectors().neighbours("river", 5)]


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
