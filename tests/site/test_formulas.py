"""Formulas are drawn when the book is built: complete on every page, with what screen readers and copiers need."""

import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document
from fontTools.ttLib import TTFont

from booktools.site import formulas
from tests import ROOT
from tests.browser.pages import PAGES

MACROS = {"Q": r"\class{attn-query}{Q}", "softmax": r"\operatorname{softmax}"}


def drawn(tex, display=False):
    here = SimpleNamespace(config=SimpleNamespace(formula_macros=MACROS))
    return formulas.draw(here, nodes.math("", tex), display)


def test_macros_keep_their_colours_and_are_copied_without_them():
    html = drawn(r"\softmax(\Q)")
    assert 'class="enclosing attn-query"' in html
    assert r">\operatorname{softmax}({Q})</annotation>" in html
    assert "<math " in html


@pytest.mark.parametrize(
    ("tex", "rows"), [(r"a \\ b", 2), ("a < b", 1), (r"\begin{aligned}a &= b \\ c &= d\end{aligned}", 2)]
)
def test_rows_and_signs(tex, rows):
    html = drawn(tex, display=True)
    assert max(1, html.count("<mtr>")) == rows
    assert html.count("katex-display") == 1


def test_a_formula_that_cannot_be_drawn_is_a_warning_which_says_where(monkeypatch):
    said = []
    monkeypatch.setattr(formulas.log, "warning", lambda *what, location: said.append(what))
    assert drawn(r"\frac{a < b") == r"\frac{a &lt; b"
    ((_, error),) = said
    assert str(error).startswith("Unexpected end of input")


@pytest.mark.parametrize(
    ("after", "kept", "rest"), [(", then", ",", " then"), ("). So", ").", " So"), (" then", None, "")]
)
def test_a_formula_keeps_its_comma(after, kept, rest):
    document = new_document("", get_default_settings())
    document += nodes.paragraph("", "", nodes.math("", "d"), nodes.Text(after))
    formulas.KeepStops(document).run()
    first, *others = document[0].children
    if kept:
        assert first["classes"] == ["unbroken"]
        assert first.astext() == f"d{kept}"
        assert others[0] == rest
    else:
        assert document[0].astext() == f"d{after}"


@pytest.mark.parametrize("path", PAGES)
def test_no_page_holds_latex(site, path):
    """Formulas stand there as HTML, and beside it as MathML; the source of each is where nobody sees it."""
    page = site.soup(path)
    for formula in page.select(".math"):
        assert formula.select_one(".katex-html")
        assert formula.select_one("math annotation")
    assert not page.select(".katex-error")
    hidden = {id(text) for part in page.select("annotation, pre, code, script, style") for text in part.strings}
    read = "".join(text for text in page.strings if id(text) not in hidden)
    assert not re.findall(r"\\[a-zA-Z(\[]+", read), "LaTeX that was left as it is"


def test_fonts_are_there_and_in_one_format(site):
    style = site.text("_static/katex/katex.css")
    fonts = re.findall(r"url\((.*?)\)", style)
    assert len(fonts) == 20
    for font in fonts:
        assert (site / f"_static/katex/{font}").read_bytes()[:4] == b"wOF2"


def test_fonts_hold_what_formulas_need_and_little_else(site):
    signs = {sign for path in PAGES for part in site.soup(path).select(".katex-html") for sign in part.get_text()}
    name = "fonts/KaTeX_Main-Regular.woff2"
    full, kept = (
        TTFont(path).getBestCmap()
        for path in (ROOT / "src/booktools/site/front/katex" / name, site / f"_static/katex/{name}")
    )
    assert {ord(sign) for sign in signs} & full.keys() <= kept.keys()
    assert len(kept) < len(full) / 2


def test_copied_formulas_are_their_source(visit):
    page = visit("chapters/05_scaled_dot_product_attention.html")
    copied = page.locator("div.math").first.evaluate(
        """(formula) => {
            getSelection().selectAllChildren(formula);
            const copy = new ClipboardEvent("copy", { clipboardData: new DataTransfer(), bubbles: true });
            formula.dispatchEvent(copy);
            return copy.clipboardData.getData("text/plain");
        }"""
    )
    (source,) = re.findall(r"\$\$(.*)\$\$", copied)
    assert source.startswith(r"\operatorname{attention}({Q}")
    assert "\\softmax" not in source, "a command that only this book has"
