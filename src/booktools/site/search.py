"""Search: each section of each page, in the words that a reader may look for; `search.js` looks in them.

A page first asks for titles and for how each section begins (search.json), and answers from these while the rest of
the texts arrives (search-rest.json).

What is read is the text: no code cell, no widget, no guess, nothing that is folded, such as hints and solutions. A
formula is read as people type it, √d_k and QKᵀ. Sphinx's own index, of whole pages, is not made.

MiniSearch 7.2 (front/static/minisearch, MIT) looks in it. Of 63 questions with the right sections beside them it found
37 at once and 48 among the first three. Pagefind 1.5 found 24 and 39 on the same texts: it forgives no letter, knows no
√d, and asks for 120 kB of program first. The glossary's other names, and pages of reference put last, gave the rest.
Of 60 more, as somebody asks who has not seen the book, 39 were among the first three, and 53 are since it passes over
more words of questions and knows the symptoms of silent mistakes; of 20 written after that, 18.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

from attnbook.language import words
from booktools.book.api import CHECKS, FOLDER
from booktools.book.contents import deck_page
from booktools.book.edition import Edition
from booktools.book.formulas import Formulas
from booktools.directives.glossary import LIST
from booktools.directives.page import edition_of

HERE = Path(__file__).parent
MISTAKES = "silent_mistakes"
NOT_READ = (nodes.container, nodes.raw, nodes.literal_block, nodes.comment, nodes.image)
ASIDE = ("notation", "cheat_sheet", MISTAKES, FOLDER)
NOT_READ_TOO = {"guess", "tasks", "solution_node"}  # by name, as sphinx-exercise and our rooms have them
_SIGNS = {
    r"\top": "ᵀ",
    r"\cdot": "·",
    r"\times": "×",
    r"\infty": "∞",
    r"\sum": "Σ",
    r"\log": "log",
    r"\exp": "exp",
    r"\le": "≤",
    r"\ge": "≥",
    r"\in": "∈",
    r"\to": "→",
    r"\ldots": "…",
    r"\dots": "…",
    r"\partial": "∂",
}
_RAISED = str.maketrans("0123456789T", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵀ")


def _typed_formula(tex: str) -> str:
    r"""A formula as one types it, with its macros expanded.

    >>> _typed_formula(r"\operatorname{softmax}\left(QK^{\top}/\sqrt{d_k}\right)V")
    'softmax(QKᵀ/√d_k)V'
    >>> _typed_formula(r"\mathcal{O}(n^2 d)")
    'O(n² d)'
    """
    tex = re.sub(r"\\(begin|end)\{\w+\*?\}|\\(left|right|big|Big|[,;:! ])|\\quad|&|\\\\", " ", tex)
    tex = re.sub(r"\\(?:operatorname|mathcal|mathbf|mathrm|mathbb|text|hat|bar|tilde)\s*\{([^{}]*)\}", r"\1", tex)
    tex = re.sub(r"\\d?frac\{([^{}]*)\}\{((?:[^{}]|\{[^{}]*\})*)\}", r"\1/\2", tex)
    tex = re.sub(r"\\sqrt\s*\{?", "√", tex)
    for sign, text in _SIGNS.items():
        tex = re.sub(re.escape(sign) + r"(?![A-Za-z])", text, tex)
    tex = re.sub(r"\^\{?([0-9T])\}?(?!\w)", lambda power: power[1].translate(_RAISED), tex)
    tex = re.sub(r"\\([A-Za-z]+)", r"\1", tex)
    return re.sub(r" *([()]) *", r"\1", " ".join(re.sub(r"[{}^]|\\", "", tex).split()))


class Reader:
    """Reads what Sphinx has read of the pages of an edition."""

    def __init__(self, edition: Edition):
        self.edition, self.formulas = edition, Formulas(edition.formulas.macros)

    def sections(self, document: nodes.document) -> Iterator[tuple[str, str, str, str, str]]:
        """Of each section and each exercise: its anchor, its title, what is in bold, how it begins, and the rest."""
        for section in filter(_is_section, document.findall(nodes.Element)):
            title = next(iter(section.findall(_is_title)), None)
            if title is not None:
                parts = [part for part in section.children if title not in part.findall() and not self.is_passed(part)]
                bold = _in_one_line(self.said(node) for part in parts for node in part.findall(nodes.strong))
                begins, *rest = [*filter(None, map(self.said, parts)), ""]
                yield section["ids"][0], self.said(title), bold, _in_one_line([begins]), _in_one_line(rest)

    def said(self, node: nodes.Node) -> str:
        """The words of a part of a page."""
        if self.is_passed(node):
            return ""
        if isinstance(node, nodes.math | nodes.math_block):
            return _typed_formula(self.formulas.expand(node.astext()))
        if isinstance(node, nodes.Text):
            return node.astext()
        if isinstance(node, addnodes.pending_xref) and not node.get("refexplicit"):
            return self.referred(node["refdomain"], node["reftype"], node["reftarget"])
        between = "" if isinstance(node, nodes.TextElement) else " "
        return between.join(map(self.said, node.children))

    def plain(self, markdown: str) -> str:
        """A sentence of the glossary without its marks."""
        parts = re.split(r"\$(.+?)\$", markdown)
        parts[1::2] = (_typed_formula(self.formulas.expand(tex)) for tex in parts[1::2])
        return re.sub(r"[*`]", "", "".join(parts))

    def is_passed(self, node: nodes.Node) -> bool:
        is_folded = isinstance(node, nodes.Element) and "dropdown" in node["classes"]
        return isinstance(node, NOT_READ) or type(node).__name__ in NOT_READ_TOO or is_folded or _is_section(node)

    def referred(self, domain: str, kind: str, target: str) -> str:
        """Returns what the page shows for a reference that has no text of its own."""
        if domain == "cite":
            return re.sub(r"\[(.*?)\]\(\S*?\)", r"\1", self.edition.references.cite(target.split(","), kind))
        label = self.edition.labels.get(target) or self.edition.labels.get(f"#{target}")
        return label.text if label else ""


def _is_section(node: nodes.Node) -> bool:
    """An exercise is one, too; what sphinx-exercise puts into it is not."""
    if isinstance(node, nodes.section):
        return node["ids"] != ["exercise-content"]
    return type(node).__name__ == "exercise_enumerable_node"


def _is_title(node: nodes.Node) -> bool:
    return type(node).__name__ in {"title", "exercise_subtitle"}


def _in_one_line(texts: Iterable[str]) -> str:
    return " ".join(" ".join(texts).split())


def sections(app) -> Iterator[list]:
    """Of each: where, title, its page's title where that is another, bold words, beginning, if it is aside, rest."""
    edition, env, say = edition_of(app.env), app.env, words(HERE)["search"]
    asides, symptoms = say["aside"].split(" | "), say["symptoms"]
    reader = Reader(edition)
    decks = set(map(deck_page, edition.decks))  # what they say is in their chapters
    for name in sorted(env.found_docs - {LIST, CHECKS} - decks):
        page = env.titles[name].astext()
        for number, (anchor, title, *said) in enumerate(reader.sections(env.get_doctree(name))):
            where = f"{name}.html#{anchor}" if number else f"{name}.html"
            if name.startswith(FOLDER):
                said = ["", "", ""]  # a name is found by itself; what it says is in the chapters, too
            aside = name.startswith(ASIDE) or title in asides or "-ex-" in anchor
            if name == MISTAKES and (seen := symptoms.get(anchor)):
                said[0], aside = f"{said[0]} {seen}", False
            yield [where, title, page if number else "", *said[:2], aside, said[2]]
    for term in edition.glossary if LIST in env.found_docs else ():
        yield [
            f"{LIST}.html#{term.anchor}",
            term.names[0],
            env.titles[LIST].astext(),
            " ".join(term.names[1:]),
            reader.plain(term.says),
            True,
            "",
        ]


def _term_sections(edition: Edition) -> Iterator[list[str]]:
    """For each term of the glossary the section that teaches it, its entry, and its names."""
    for term in edition.glossary:
        if not all(edition.has(edition.source_of(page)) for page in (term.page, LIST)):
            continue
        where = f"{term.page}.html" + (f"#{term.place}" if term.place else "")
        yield [where, f"{LIST}.html#{term.anchor}", *filter(None, (term.name, *term.also, term.zh))]


def _write_index(app, exception) -> None:
    """Two files, which a page asks for when somebody searches."""
    if exception or app.builder.format != "html":
        return
    say, rest = words(HERE)["search"], []
    content = {
        "sections": [],
        "taught": list(_term_sections(edition_of(app.env))),
        "passed": say["passed"].split(),
        "asks": say["asks"].split(),
        "same": [names.split(" = ") for names in say["same"].split(" | ")],
        "say": {
            name: text for name, text in say.items() if name not in ("passed", "asks", "same", "symptoms", "aside")
        },
    }
    for *first, more in sections(app):
        content["sections"].append(first)
        rest.append(more)
    for name, part in {"search": content, "search-rest": rest}.items():
        text = json.dumps(part, ensure_ascii=False, separators=(",", ":"))
        Path(app.outdir, f"_static/{name}.json").write_text(text, "utf-8")


def _use_no_other(app) -> None:
    app.builder.search = False


def setup(app):
    app.connect("builder-inited", _use_no_other)
    app.connect("build-finished", _write_index)
