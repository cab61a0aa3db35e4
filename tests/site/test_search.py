"""Search in the page: what readers type is found, by section; by mouse, finger, keyboard and screen reader."""

import json
import re
import tomllib

import pytest
from axe_playwright_python.sync_playwright import Axe
from docutils import nodes
from playwright.sync_api import expect

from attnbook.language import words
from booktools.book.edition import edition
from booktools.site.search import HERE, MISTAKES, Reader
from tests import ROOT
from tests.browser.pages import AXE, PHONE
from tests.sizes import is_light, zipped

QUESTIONS = tomllib.loads((ROOT / "tests/site/questions.toml").read_text("utf-8"))
FIVE = "chapters/05_scaled_dot_product_attention.html"
LOOK = """async ([folder, asked]) => {
    const { Book } = await import(`${folder}search/look.js`);
    const content = async (name) => (await fetch(`${folder}${name}.json`)).json();
    const book = await Book.read(await content("search"), await content("search-rest"));
    return asked.map((typed) => book.look(typed).slice(0, 3).map(({ where }) => where));
}"""
MARKED = "[...(CSS.highlights.get('found') ?? [])].map((range) => range.toString())"


def in_short(where):
    """chapters/05_scaled….html#the-layer is 05#the-layer."""
    return re.sub(r"^chapters/(\d+)_[^.]*", r"\1", where).replace(".html", "")


def part(site, name):
    return json.loads(site.text(f"_static/{name}.json"))


@pytest.fixture(scope="module")
def index(site):
    return part(site, "search")


@pytest.fixture
def found(visit):
    """The first three sections for each thing typed."""

    def look(asked):
        page = visit("search.html")
        folder = page.evaluate("new URL('_static/', location).href")
        return dict(zip(asked, page.evaluate(LOOK, [folder, asked]), strict=True))

    return look


def type_into(page, typed):
    """What is found, when it is there: the first search of a page reads the whole book."""
    page.get_by_role("combobox").fill(typed, timeout=30_000)
    options = page.get_by_role("option")
    expect(options.first).to_be_visible(timeout=30_000)
    return options


@pytest.mark.parametrize(("kind", "least"), [("fresh", 50), ("unseen", 16)])
def test_what_somebody_asks_who_has_not_seen_the_book(found, kind, least):
    """Of 60 questions 50 find their section among the first three, and of 20 that nothing was changed for, 16."""
    right = QUESTIONS[kind]
    late = {typed: got for typed, got in found(list(right)).items() if not {*right[typed]} & {*map(in_short, got)}}
    assert len(right) - len(late) >= least, late


def test_a_question_what_something_is_finds_the_glossary_first(found):
    for typed, first in {
        "what is a query": "glossary#term-query",
        "query": "03#three-roles",
        "define temperature": "glossary#term-temperature",
    }.items():
        assert in_short(found([typed])[typed][0]) == first


def test_symptoms_belong_to_silent_mistakes(index):
    there = {in_short(where) for where, *_ in index["sections"]}
    assert not {f"{MISTAKES}#{name}" for name in words(HERE)["search"]["symptoms"]} - there


def test_sixty_questions(found, index):
    """At least 55 have their section first, and all among the first three."""
    kinds = [kind for name, kind in QUESTIONS.items() if name not in ("fresh", "unseen")]
    right = {typed: sections for kind in kinds for typed, sections in kind.items()}
    assert len(right) >= 60
    there = {in_short(where) for where, *_ in index["sections"]}
    assert not [section for sections in right.values() for section in sections if section not in there]
    got = {typed: [in_short(where) for where in found_] for typed, found_ in found(list(right)).items()}
    places = {typed: [section in right[typed] for section in sections] for typed, sections in got.items()}
    late = {typed: got[typed] for typed, place in places.items() if place[:1] != [True]}
    assert not {typed: sections for typed, sections in late.items() if not any(places[typed])}
    assert len(right) - len(late) >= 55, late


def test_the_first_search_asks_for_little(site):
    files = [site / "_static/search.json", site / "_static/minisearch/minisearch.min.js"]
    files += (site / "_static/search").glob("*.js")
    is_light("the first search", {file.name: zipped(file.read_bytes()) for file in files})


def test_what_is_typed_before_the_search_has_come_is_not_lost(visit):
    page, held = visit(FIVE), []
    page.route("**/search/search.js", lambda route: held.append(route))
    page.keyboard.type("/soft")
    page.keyboard.type("-cap")
    (route,) = held
    route.continue_()
    field = page.get_by_role("combobox")
    expect(field).to_be_focused()
    page.keyboard.type("ping")
    expect(field).to_have_value("soft-capping")
    expect(page.get_by_role("option").first).to_contain_text("Where the root stops helping")


def test_the_rest_comes_after_the_first_answer(visit):
    page, held = visit(FIVE), []
    page.route("**/search-rest.json", lambda route: held.append(route))
    page.keyboard.press("/")
    expect(type_into(page, "soft-capping").first).to_contain_text("Where the root stops helping")
    page.get_by_role("combobox").fill("newspaper")
    expect(page.get_by_role("status").filter(visible=True)).to_contain_text("newspaper")
    assert page.get_by_role("option").count() == 0
    (route,) = held
    route.continue_()
    expect(page.get_by_role("option").first.locator("mark")).to_have_text("newspaper", timeout=30_000)
    expect(page.get_by_role("combobox")).to_be_focused()


def test_without_a_network_titles_answer(visit):
    page = visit(FIVE)
    page.route("**/search-rest.json", lambda route: route.abort())
    page.keyboard.press("/")
    expect(type_into(page, "soft-capping").first).to_contain_text("Where the root stops helping")
    assert all("ERR_FAILED" in said for said in visit.complaints)
    visit.complaints.clear()


def test_code_answers_and_buttons_are_not_looked_in(site, index):
    rest = part(site, "search-rest")
    assert len(rest) == len(index["sections"])
    text = "\n".join([*(" ".join(section[1:5]) for section in index["sections"]), *rest])
    for passed in ("import torch", "from attnbook", "Copy to clipboard", "Open in Colab", "Show the code"):
        assert passed not in text
    assert "nothing a little a third" not in text  # a guess


def test_a_section_ends_where_the_next_begins():
    inner = nodes.section("", nodes.title("", "Inner"), nodes.paragraph("", "below"), ids=["inner"])
    outer = nodes.section("", nodes.title("", "Outer"), ids=["outer"])
    outer += [
        nodes.paragraph("", "", nodes.Text("a "), nodes.strong("", "term")),
        nodes.literal_block("", "x = 1"),
        nodes.paragraph("", "and more"),
        inner,
    ]
    document = nodes.document(None, None)
    document += outer
    got = list(Reader(edition(ROOT)).sections(document))
    assert got == [("outer", "Outer", "term", "a term", "and more"), ("inner", "Inner", "", "below", "")]


@pytest.mark.parametrize("keys", ["/", "Control+k"])
def test_from_the_keyboard_to_the_section(visit, keys):
    page = visit(FIVE)
    link = page.locator("#search-link")
    expect(link).to_have_attribute("aria-keyshortcuts", "/ Control+K")
    page.keyboard.press(keys)
    field = page.get_by_role("combobox")
    expect(field).to_be_focused(timeout=30_000)
    options = type_into(page, "kv cache")
    expect(options.first).to_contain_text("Prefill, decode and a cache")
    expect(options.first.locator("mark").first).to_be_visible()
    expect(page.get_by_role("status").filter(visible=True)).to_contain_text("sections")
    expect(field).to_have_attribute("aria-activedescendant", options.first.get_attribute("id"))
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator("#prefill-decode-and-a-cache h2")).to_be_in_viewport()
    page.wait_for_function(f"() => {MARKED}.length", timeout=30_000)
    assert {word.lower().strip(".,;:’s") for word in page.evaluate(MARKED)} >= {"cache"}


def test_a_section_of_the_same_page_is_shown_without_a_new_start(visit):
    page = visit(FIVE)
    page.evaluate("window.still = true")
    page.keyboard.press("/")
    type_into(page, "soft-capping").filter(has_text="Where the root stops helping").click()
    expect(page.get_by_role("heading", name="Where the root stops helping")).to_be_in_viewport()
    expect(page.locator("dialog.seek")).to_be_hidden()
    assert page.evaluate("still")
    assert page.evaluate(MARKED)
    page.go_back()
    page.wait_for_function("() => !location.search")
    assert not page.evaluate(MARKED)


def test_a_slash_in_a_field_is_a_slash(visit):
    page = visit(FIVE)
    field = page.locator("textarea").first
    field.focus()
    page.keyboard.press("/")
    expect(page.get_by_role("combobox")).to_have_count(0)
    assert "/" in field.input_value()


def test_with_a_finger_on_a_phone(visit):
    page = visit(FIVE, touch=True)
    page.set_viewport_size(PHONE)
    page.locator("#search-link").tap()
    type_into(page, "perplexty")
    page.get_by_role("combobox").fill("zqxj")
    expect(page.locator("dialog.seek").get_by_role("status")).to_contain_text("zqxj")
    type_into(page, "perplexty").first.tap()
    expect(page.locator("#how-good-is-a-prediction h2")).to_be_in_viewport()
    page.locator("#search-link").tap()
    page.locator("dialog.seek button").tap()
    expect(page.locator("dialog.seek")).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_for_a_screen_reader(visit, theme):
    page = visit(FIVE, theme=theme)
    page.locator("#search-link").click()
    type_into(page, "dot product")
    found = Axe().run(page, context={"include": ["dialog.seek"]}, options=AXE)  # the page below it: test_pages.py
    assert not found.response["violations"], found.generate_report()


def test_its_page_begins_with_what_the_address_asks(visit):
    page = visit("search.html?q=beam search")
    expect(page.get_by_role("combobox")).to_have_value("beam search")
    expect(page.get_by_role("option").first).to_contain_text("Greedy and beam")


def test_without_scripts_its_page_says_so(visit):
    page = visit(FIVE, javascript=False)
    page.locator("#search-link").click()
    expect(page.locator(".admonition.warning")).to_contain_text("scripts")
