"""The glossary: terms that say what is needed, their page, and first uses that explain themselves."""

import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from playwright.sync_api import expect

from booktools.book import BookError, glossary
from booktools.book.edition import edition
from booktools.book.glossary import Term
from booktools.directives import glossary as room
from booktools.directives.guess import guess
from booktools.printers.plain import Plain
from tests import ROOT
from tests.browser.clocks import at_rest, frames
from tests.browser.pages import CHAPTERS, PHONE
from tests.site.test_notes import note_of

TERMS = glossary.read_terms(ROOT / glossary.FILE)
TWO = "chapters/02_masked_softmax.html"
PAGE = "glossary.html"
ASKED_FOR = {
    "attention": "注意力",
    "query": "查询",
    "key": "键",
    "value": "值",
    "mask": "掩码",
    "padding": "填充",
    "head": "注意力头",
    "token": "词元",
    "embedding": "嵌入",
    "residual connection": "残差连接",
    "positional encoding": "位置编码",
    "rotary positions": "旋转位置编码",
    "perplexity": "困惑度",
    "beam search": "束搜索",
    "key-value cache": "KV 缓存",
    "logit": "logits",
}
each_chapter = pytest.mark.parametrize("path", [f"chapters/{path.stem}.html" for path in CHAPTERS])


# ---- the file ----

GOOD = """[[term]]
name = "mask"
zh = "掩码"
section = "chapters/02_masks#a-mask"
says = "Who may see whom."
"""
NEXT = GOOD.replace('"mask"', '"query"')


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOOD.replace('zh = "掩码"\n', ""), "mask: zh is missing"),
        (GOOD + 'see = "query"\n', "mask: see is missing, or no field"),
        (GOOD.replace('"Who may see whom."', '""'), "mask: says must be a text"),
        (GOOD + 'also = "masks"\n', "mask: also must be a list of texts"),
        (NEXT + GOOD, "sorted by name: mask stands behind query"),
        (GOOD + GOOD, "has mask twice"),
        (GOOD + NEXT + 'also = ["mask"]\n', "has mask twice"),
    ],
)
def test_what_is_wrong_with_a_term_is_told(tmp_path, text, told):
    path = tmp_path / glossary.FILE
    path.write_text(GOOD + NEXT, "utf-8")
    assert [each.name for each in glossary.read_terms(path)] == ["mask", "query"]
    path.write_text(text, "utf-8")
    with pytest.raises(BookError, match=told):
        glossary.read_terms(path)


def test_a_section_that_does_not_exist_is_told():
    mask = Term("mask", "chapters/02_masks#a-mask", "Who may see whom.", "")
    glossary.check_sections([mask], {"chapters/02_masks#a-mask": "A mask"})
    with pytest.raises(BookError, match="mask: the book has no chapters/02_masks#a-mask"):
        glossary.check_sections([mask], {"chapters/02_masks#masks": "Masks"})


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.anchor)
def test_a_term_is_said_in_one_or_two_sentences_that_begin_with_it(term):
    bare = re.sub(r"\$[^$]*\$|`[^`]*`|\*", "", term.says)
    assert 1 <= len(re.findall(r"[.?](?=\s|$)", bare)) <= 2
    assert len(term.says) <= 260
    assert bare.endswith(".")
    first = re.split(r"(?<=[.?]) ", bare)[0]
    names = "|".join(re.escape(word) for word in [*term.also, term.name])
    named = [*re.finditer(rf"(?<![\w-])(?:{names})", first, re.IGNORECASE)]
    assert named, "a sentence names what it is about"
    assert named[0].start() <= len("A symmetric matrix S is "), "the term comes first"
    assert first.lower().count(term.name.lower()) <= 1, "it explains itself by itself"


def test_terms_that_were_asked_for_have_the_chinese_that_was_asked_for():
    chinese = {term.name: term.zh.partition("（")[0] for term in TERMS}  # and in brackets its short form
    assert {name: chinese[name] for name in ASKED_FOR} == ASKED_FOR
    assert chinese["teacher forcing"].startswith("强制教学")


# ---- first uses ----


def edition_with(terms):
    return SimpleNamespace(glossary=terms, has=lambda page: True, source_of=lambda name: f"{name}.md")


def first_uses(*parts):
    """What becomes of a chapter's parts in a book that has two terms."""
    document = nodes.section("", *parts)
    terms = [Term("mask", "", "", ""), Term("causal mask", "", "", "", also=("causal",))]
    builder = SimpleNamespace(get_relative_uri=lambda here, there: f"../{there}.html")
    env = SimpleNamespace(docname="chapters/02_masks")
    step = SimpleNamespace(document=document, env=env, app=SimpleNamespace(builder=builder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "edition_of", lambda env: edition_with(terms))
        room.FirstUses.run(step)
    return document, [(link.astext(), link["refuri"]) for link in document.findall(nodes.reference) if link["classes"]]


def text(*parts):
    return nodes.paragraph("", "", *(nodes.Text(part) if isinstance(part, str) else part for part in parts))


def test_the_first_use_of_a_term_becomes_a_link():
    document, links = first_uses(text("Unmasked. Masks and a causal\nmask; a mask."), text("A mask, causal."))
    assert links == [
        ("Masks", "../glossary.html#term-mask"),
        ("causal\nmask", "../glossary.html#term-causal-mask"),
    ]
    assert document.astext() == "Unmasked. Masks and a causal\nmask; a mask.\n\nA mask, causal."


@pytest.mark.parametrize(
    "apart",
    [
        nodes.title("", "A mask"),
        text(nodes.literal("", "mask")),
        text(nodes.math("", "mask")),
        text(nodes.reference("", "mask", refuri="elsewhere")),
        nodes.tip("", text("A mask")),
        guess("", text("A mask?"), number="", hides=1),
        nodes.figure("", nodes.caption("", "A mask")),
        nodes.table("", text("mask")),
    ],
)
def test_what_stands_apart_from_the_text_is_left_alone(apart):
    _, links = first_uses(apart, text("The second mask."))
    assert [link for link, _ in links] == ["mask"]
    assert not [link for link in apart.findall(nodes.reference) if "term" in link["classes"]]


@pytest.mark.parametrize("kind", [nodes.strong, nodes.emphasis])
def test_a_word_that_the_text_is_explaining_needs_no_link(kind):
    assert first_uses(text("This is a ", kind("", "mask"), "."), text("A mask."))[1] == []


@each_chapter
def test_a_chapter_explains_each_term_at_most_once_and_only_in_its_prose(site, path):
    links = site.soup(path).select("a.term")
    assert len(links) >= 8
    assert len({link["href"] for link in links}) == len(links)
    known = {f"../{PAGE}#{term.anchor}": term for term in TERMS}
    for link in links:
        word = re.sub(r"\s+", " ", link.get_text()).lower()
        assert word.startswith(tuple(word.lower() for word in known[str(link["href"])].words)), link
        assert link.find_parent("p"), link
        assert not link.find_parent(["pre", "code", "table", "figcaption", "details", "form", "h2"]), link
        assert not link.find_parent(class_=["admonition", "tasks", "touch", "guess", "math", "cell"]), link


@pytest.mark.parametrize("how", ["hover", "focus", "tap"])
def test_a_first_use_explains_itself(visit, how):
    page = visit(TWO, viewport=PHONE, touch=True)
    assert not [url for url in visit.requests if PAGE in url], "nobody asked yet"
    term = page.locator("a.term", has_text="mask").first
    note = note_of(page, term, how)
    expect(note).to_contain_text("A mask is a table of yes and no, with a row for each query")
    expect(note.get_by_role("link")).to_have_attribute("href", re.compile(rf"/{TWO}#two-sentences-in-one-batch$"))
    expect(term).to_have_accessible_description(re.compile("A mask is a table of yes and no"))
    page.keyboard.press("Escape")
    expect(note).to_be_hidden()
    note_of(page, page.locator("a.term", has_text="Transformer").first, how)
    expect(note).to_contain_text("in a stack of blocks")
    assert len([url for url in visit.requests if PAGE in url]) == 1, "it is asked for once"


def test_the_link_in_a_note_leads_to_the_section(visit):
    page = visit(TWO, viewport=PHONE, touch=True)
    note = note_of(page, page.locator("a.term", has_text="Transformer").first, "tap")
    note.get_by_role("link").tap()
    page.wait_for_url("**/chapters/09_the_transformer.html#the-whole-before-the-parts")


def test_a_second_tap_leads_to_the_glossary(visit):
    page = visit(TWO, viewport=PHONE, touch=True)
    term = page.locator("a.term", has_text="mask").first
    note_of(page, term, "tap")
    term.tap()
    page.wait_for_url(f"**/{PAGE}#term-mask")


def test_a_term_that_is_left_meanwhile_shows_nothing(visit):
    page, held = visit(TWO), []
    page.context.route(f"**/{PAGE}", lambda route: held.append(route))
    with page.expect_request(f"**/{PAGE}"):
        page.locator("a.term", has_text="mask").first.focus()
    page.keyboard.press("Escape")
    with page.expect_event("requestfinished"):
        held[0].continue_()
    page.context.unroute(f"**/{PAGE}")
    page.evaluate("(path) => fetch(path).then((answer) => answer.text())", f"../{PAGE}")  # read after the note's own
    frames(page)
    expect(page.locator("#note")).to_be_hidden()


def test_without_the_glossary_a_term_is_still_a_link(visit):
    page = visit(TWO, viewport=PHONE, touch=True)
    page.context.route(f"**/{PAGE}", lambda route: route.abort())
    term = page.locator("a.term", has_text="mask").first
    term.scroll_into_view_if_needed()
    at_rest(page)
    with page.expect_event("requestfailed"):
        term.tap()
    expect(page.locator("#note")).to_be_hidden()
    page.context.unroute(f"**/{PAGE}")
    term.tap()
    page.wait_for_url(f"**/{PAGE}#term-mask")
    assert all("ERR_FAILED" in said for said in visit.complaints)
    visit.complaints.clear()


def test_without_scripts_a_first_use_is_a_link_and_on_paper_a_word(visit):
    page = visit(TWO, javascript=False)
    page.locator("a.term", has_text="mask").first.click()
    page.wait_for_url(f"**/{PAGE}#term-mask")
    page = visit(TWO)
    line = "link => getComputedStyle(link).textDecorationLine"
    assert page.locator("a.term").first.evaluate(line) == "underline"
    page.emulate_media(media="print")
    assert page.locator("a.term").first.evaluate(line) == "none"


# ---- the page ----


def test_the_page_has_every_term_with_its_sentence_its_chinese_and_its_section(site):
    names, entries = (site.soup(PAGE).select(f".terms {part}") for part in ("dt", "dd"))
    assert [name["id"] for name in names] == [term.anchor for term in TERMS]
    for term, name, entry in zip(TERMS, names, entries, strict=True):
        said, where = entry.select("p")
        assert re.findall(r"\w+", term.says)[-1] in said.get_text()
        assert where.select("a")[0]["href"] == f"{term.page}.html#{term.place}"
        assert [part.get_text() for part in name.select("[lang=zh]")] == [term.zh] * (term.zh not in ("", term.name))
        assert bool(name.select(".katex")) == bool(term.symbol)
        assert [also.get_text() for also in name.select("small")] == [room.also(term)] * bool(term.also)


def test_letters_lead_to_their_terms(visit):
    page = visit(PAGE)
    letters = page.get_by_role("navigation", name="Letters").get_by_role("link")
    assert letters.all_inner_texts() == sorted({term.name[0].upper() for term in TERMS})
    letters.get_by_text("S", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="S", exact=True)).to_be_in_viewport()


@pytest.mark.parametrize(
    ("typed", "names", "said"),
    [
        ("rope", ["rotary-positions"], "1 term"),
        ("困惑度", ["perplexity"], "1 term"),
        ("mqa", ["multi-query-attention"], "1 term"),
        ("look-ahead", ["causal-mask"], "1 term"),
        ("drafts a few", ["speculative-decoding"], "1 term"),
        ("retrieval of", [], "0 terms"),
        ("multi-", ["multi-head-attention", "multi-query-attention"], "2 terms"),
    ],
)
def test_the_field_leaves_what_holds_what_is_typed(visit, typed, names, said):
    page = visit(PAGE)
    field, status = page.get_by_role("searchbox", name="Find a term"), page.locator(".find-term [role=status]")
    field.fill(typed)
    shown = page.locator("dt:visible").evaluate_all("terms => terms.map((term) => term.id)")
    assert shown == [f"term-{name}" for name in names]
    expect(status).to_have_text(said)
    assert page.locator(".terms h2:visible").all_inner_texts() == sorted({name[0].upper() for name in names})
    field.fill("")
    expect(page.locator("dt:visible")).to_have_count(len(TERMS))
    expect(status).to_have_text("")


def test_without_scripts_and_on_paper_there_is_no_dead_field(visit):
    page = visit(PAGE, javascript=False)
    expect(page.locator(".find-term")).to_be_hidden()
    expect(page.locator("dt").last).to_be_visible()
    page = visit(PAGE)
    page.emulate_media(media="print")
    expect(page.locator(".find-term")).to_be_hidden()
    expect(page.locator(".letters")).to_be_hidden()


def test_in_a_notebook_it_is_a_list():
    written = Plain(glossary.PAGE, edition(ROOT)).convert("```{glossary}\n```")
    assert len(written.splitlines()) == len(TERMS)
    (line,) = [line for line in written.splitlines() if line.startswith("- **beam search**")]
    assert line.startswith("- **beam search** (束搜索): Beam search is a way to write with a few candidates")
    assert line.endswith(
        f"[Chapter 9, Greedy and beam]({edition(ROOT).here.site}chapters/09_the_transformer.html#greedy-and-beam)"
    )
