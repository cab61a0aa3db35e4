"""Formulas as HTML and MathML when the book is built: no page holds LaTeX, and none needs a script to show mathematics.

KaTeX (front/katex, MIT, as its npm package 0.19.1 has it) runs in QuickJS, which is a wheel.
"""

import json
import re
from collections.abc import Callable
from functools import cache
from html import escape, unescape
from logging import WARNING, getLogger
from pathlib import Path
from shutil import copy

import quickjs
from docutils import nodes
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from sphinx.locale import _
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

from booktools.book.formulas import Formulas, with_environment

KATEX = Path(__file__).parent / "front/katex"
RENDER = """
const module = { exports: {} }, exports = module.exports;
%s
const katex = module.exports;
function render(tex, displayMode, macros) {
    // As JSON, since a text that was put together piece by piece does not leave QuickJS.
    return JSON.stringify(
        katex.renderToString(tex, { displayMode, macros: JSON.parse(macros), trust: true, strict: "ignore" }),
    );
}
"""
log = logging.getLogger(__name__)
getLogger("fontTools").setLevel(WARNING)  # it would tell of each glyph that it keeps


class FormulaError(Exception):
    """A formula that can't be drawn; the text says where it breaks."""


@cache
def _render_html(tex: str, display: bool, macros: str) -> str:
    r"""A formula as HTML, with MathML for screen readers and its source for whoever copies it; `macros` is JSON.

    >>> "<annotation" in _render_html(r"\sqrt d", False, "{}")
    True
    >>> _render_html(r"\frac{", False, "{}")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    booktools.site.formulas.FormulaError: Unexpected end of input in a macro argument, ...
    """
    try:
        return json.loads(_katex()(tex, display, macros))
    except quickjs.JSException as error:
        what = re.search(r"KaTeX parse error: (.*)", str(error))
        raise FormulaError(what[1] if what else str(error)) from None


@cache
def _katex() -> Callable[[str, bool, str], str]:
    context = quickjs.Context()
    context.eval(RENDER % (KATEX / "katex.min.js").read_text("utf-8"))
    return context.get("render")


def draw(translator, node, display: bool) -> str:
    """A formula as HTML; who copies it gets what any LaTeX understands."""
    macros, tex = translator.config.formula_macros, node.astext().strip()
    known = json.dumps({f"\\{name}": body.replace(r"\class", r"\htmlClass") for name, body in macros.items()})
    if display:
        tex = with_environment(tex)
    source = escape(Formulas(macros).expand(tex))
    try:
        return re.sub(r"(<annotation [^>]*>)[^<]*", lambda start: start[1] + source, _render_html(tex, display, known))
    except FormulaError as error:
        log.warning("a formula can't be drawn: %s", error, location=node)
        return escape(node.astext())


def _visit_inline(translator, node):
    translator.body.append(f'<span class="math">{draw(translator, node, display=False)}</span>')
    raise nodes.SkipNode


def _visit_block(translator, node):
    translator.body += [translator.starttag(node, "div", CLASS="math"), draw(translator, node, display=True)]
    if node["number"]:
        translator.body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})')
        translator.add_permalink_ref(node, _("Link to this equation"))
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


class KeepStops(SphinxPostTransform):
    """A formula and the punctuation after it stay on one line."""

    default_priority = 900
    formats = ("html",)

    def run(self):
        for formula in list(self.document.findall(nodes.math)):
            parent, after = formula.parent, formula.next_node(descend=False, siblings=True)
            if isinstance(after, nodes.Text) and (stop := re.match(r"[.,;:!?)]+", after.astext())):
                kept = nodes.inline("", "", formula.deepcopy(), nodes.Text(stop[0]), classes=["unbroken"])
                parent.replace(after, nodes.Text(after.astext()[stop.end() :]))
                parent.replace(formula, kept)


def _copy_files(app):
    """The style, whose fonts are WOFF2 alone: every browser that shows the book reads it."""
    if app.builder.format == "html":
        static = Path(app.outdir, "_static/katex")
        static.mkdir(parents=True, exist_ok=True)
        style = (KATEX / "katex.min.css").read_text("utf-8")
        style = re.sub(r",url\([^)]*\.(?:woff|ttf)\) format\(\"\w+\"\)", "", style)
        (static / "katex.css").write_text(style, "utf-8")
        copy(KATEX / "copy-tex.min.js", static)


def _keep_used_glyphs(app, exception):
    """Of each font, the glyphs that some formula of the book needs: less than half of what there is."""
    if exception or app.builder.format != "html":
        return
    pages = (page.read_text("utf-8") for page in Path(app.outdir).rglob("*.html"))
    formulas = "".join(
        part for page in pages for part in re.findall(r'(?s)class="katex-html".*?(?=</p|</div|</td|</h)', page)
    )
    used = sorted({ord(sign) for sign in unescape(re.sub(r"<[^>]*>", "", formulas))} | {ord(" ")})
    fonts, known = Path(app.outdir, "_static/katex/fonts"), Path(app.doctreedir, "glyphs")
    if fonts.is_dir() and known.is_file() and known.read_text() == str(used):
        return
    fonts.mkdir(exist_ok=True)
    for name in sorted((KATEX / "fonts").glob("*.woff2")):
        font = TTFont(name, recalcTimestamp=False)
        options = Options(flavor="woff2", layout_features=["*"], notdef_outline=True)
        subsetter = Subsetter(options)
        subsetter.populate(unicodes=used)
        subsetter.subset(font)
        font.save(fonts / name.name)
    known.write_text(str(used))


def setup(app):
    app.add_config_value("formula_macros", {}, "env", dict)
    app.add_html_math_renderer("katex", (_visit_inline, None), (_visit_block, None))
    app.add_post_transform(KeepStops)
    app.connect("builder-inited", _copy_files)
    app.connect("build-finished", _keep_used_glyphs)
