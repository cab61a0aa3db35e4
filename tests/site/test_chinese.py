"""How Chinese is set: what its style can't see, and how a page of it looks."""

import re

import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document

from booktools.book.edition import editions
from booktools.site import chinese
from tests import ROOT
from tests.browser.pages import DESKTOP, PHONE, settle
from tests.site.test_pages import keeps_places

_, ZH = editions(ROOT)
OFFERED = [re.sub(r"\.\w+$", ".html", page) for page in ZH.offered]
FIVE, TEN = "chapters/05_scaled_dot_product_attention.html", "zh/chapters/10_fast_attention.html"
KEPT = [f"zh/{FIVE}", TEN]  # where a line would begin with one
WIDE = ["chapters/03_queries_keys_values.html", FIVE, "chapters/15_sound_sets_graphs.html"]


def document(*parts: nodes.Node) -> nodes.document:
    made = new_document("", get_default_settings())
    made += nodes.paragraph("", "", *parts)
    return made


def set_as_chinese(*parts: nodes.Node) -> nodes.Node:
    made = document(*parts)
    chinese.set_chinese(made)
    return made[0]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("发生的一切，\n都在图里", "发生的一切，都在图里"),
        ("图和互动图\n都用它", "图和互动图都用它"),
        ("一行\nPyTorch", "一行PyTorch"),
        ("有 超过 99 % 的把握。 然后", "有 超过 99 % 的把握。然后"),
        ("two words\nin English", "two words\nin English"),
    ],
)
def test_blanks_that_chinese_has_not_are_left_out(said, shown):
    made = document(nodes.Text(said))
    chinese.leave_no_blanks(made)
    assert made.astext() == shown


def test_the_blank_that_markdown_needs_after_bold_is_left_out_and_code_stays():
    made = document(nodes.strong("", "相互的。"), nodes.Text(" 一，"), nodes.literal("", "a， b"), nodes.Text(" 二"))
    chinese.leave_no_blanks(made)
    assert made.astext() == "相互的。一，a， b 二"


@pytest.mark.parametrize("before", [nodes.math("", "d"), nodes.literal("", "d")])
@pytest.mark.parametrize(
    ("after", "parts"), [("。然后", ["d", "。", "然后"]), ("）。", ["d", "）。", ""]), ("是", ["d", "是"])]
)
def test_a_stop_after_a_formula_or_code_is_told_apart(before, after, parts):
    made = set_as_chinese(before.deepcopy(), nodes.Text(after))
    assert [part.astext() for part in made.children] == parts
    assert [part["classes"] for part in made.findall(nodes.inline)] == [["stop"]] * (len(parts) - 2)


def test_emphasis_without_chinese_is_slanted_and_within_it_is_not_dotted():
    latin, mixed = set_as_chinese(nodes.emphasis("", "et al."), nodes.emphasis("", "cat 可以看什么")).children
    assert latin["classes"] == ["latin"]
    assert not mixed["classes"]
    assert [(part.astext(), part["classes"]) for part in mixed.findall(nodes.inline)] == [("cat ", ["latin"])]
    assert mixed.astext() == "cat 可以看什么"


def test_cells_of_sentences_have_a_least_width():
    cells = [nodes.entry("", nodes.paragraph("", text)) for text in ("每个词元看一样多", "头", "128")]
    made = document()
    made += nodes.row("", *cells)
    chinese.set_chinese(made)
    assert [cell["classes"] for cell in cells] == [["han"], [], []]


# ---- the site ----

# The stops that begin a line, each with what is before it.
BEGIN = """() => {
    const found = [];
    for (const block of document.querySelectorAll("article :is(p, li)")) {
        if (block.closest(".touch, .cell, [hidden]")) continue;
        const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
        let before = null;
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            const { parentElement, data } = node;
            if (parentElement.closest(".katex-mathml")) continue;
            const range = new Range();
            for (const { index } of data.matchAll(/\\S/g)) {
                range.setStart(node, index);
                range.setEnd(node, index + 1);
                const box = (parentElement.closest(".katex-base") ?? range).getBoundingClientRect();
                const begins = before && box.left < before.left - 2 && box.top > before.top + 2;
                if (begins && /[，。、；：！？）]/.test(data[index])) found.push(data.slice(0, index + 4));
                if (box.width) before = box;
            }
        }
    }
    return found;
}"""
UNKEPT = """() => {
    const style = new CSSStyleSheet();
    style.replaceSync(".katex-base, code, .stop { margin-inline: 0 !important }");
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, style];
}"""


@pytest.mark.parametrize("path", KEPT)
def test_no_line_begins_with_a_stop(visit, path):
    page = visit(path, viewport=PHONE)
    assert page.evaluate(BEGIN) == []
    page.evaluate(UNKEPT)
    assert page.evaluate(BEGIN)


WIDER = """() => [...document.querySelectorAll("div.math")]
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
    .map((formula) => formula.querySelector("annotation").textContent)"""


@pytest.mark.parametrize("path", [each for path in WIDE for each in (path, f"zh/{path}")])
def test_no_formula_is_wider_than_the_text(visit, path):
    assert visit(path, viewport=DESKTOP).evaluate(WIDER) == []


@pytest.mark.parametrize("path", OFFERED)
def test_no_text_has_a_blank_after_a_full_width_sign(site, path):
    page = BeautifulSoup(site.text(f"zh/{path}"), "html.parser")
    for node in page.select("article :is(pre, code, .math, .touch, .cell, .raw, script, small)"):
        node.replace_with("x")
    texts = [text.get_text() for text in page.select("article :is(p, li, h1, h2, h3, h4)")]
    assert [found for text in texts for found in re.findall(r".{0,9}[，。、；：！？）] +\S.{0,9}", text)] == []


@pytest.mark.parametrize("path", ["zh/chapters/02_masked_softmax.html", "zh/chapters/09_the_transformer.html"])
def test_the_place_of_a_widget_is_as_high_as_it_is_in_chinese(visit, path):
    """Its words take fewer lines than in English."""
    keeps_places(settle(visit(path, viewport=DESKTOP)))


LOOK = """(selector) => {
    const { fontStyle, textEmphasisStyle, wordBreak, fontFamily } = getComputedStyle(document.querySelector(selector));
    return { fontStyle, textEmphasisStyle, wordBreak, fontFamily };
}"""


def test_headings_emphasis_and_widgets_are_set_as_chinese(visit):
    page = visit(TEN)
    assert page.evaluate(LOOK, "h2")["wordBreak"] == "keep-all"
    latin, han = page.evaluate(LOOK, "em.latin"), page.evaluate(LOOK, "article em:not(.latin, .term *)")
    assert (latin["fontStyle"], latin["textEmphasisStyle"]) == ("italic", "none")
    assert (han["fontStyle"], han["textEmphasisStyle"]) == ("normal", "dot")
    assert page.evaluate(LOOK, ".ab-widget")["fontFamily"].startswith('"Latin Sans"')
