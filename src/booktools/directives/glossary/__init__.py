"""The glossary: `{glossary}` lists all terms, and the first use of each in a chapter's prose leads there.

`notes.js` of the site reads the sentence from that list when a reader points at such a use; without scripts it is a
link. What stands in boxes, tables and headings is left alone. So is a word in italics or bold, since there the text
itself explains it.
"""

import json
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from attnbook.language import marks, words
from booktools.book import glossary
from booktools.book.edition import Edition
from booktools.book.glossary import Term
from booktools.directives import Room
from booktools.directives.guess import guess
from booktools.directives.page import edition_of, raw, relative_uri
from booktools.directives.touch import tasks

HERE = Path(__file__).parent
LIST = Path(glossary.PAGE).stem
APART = (guess, tasks, nodes.Admonition, nodes.table, nodes.caption)
EXPLAINING = (nodes.emphasis, nodes.strong)


class Glossary(SphinxDirective):
    """All terms by their letters, with a field that `glossary.js` brings to life."""

    def run(self):
        say, letters = words(HERE), glossary.by_letter(edition_of(self.env).glossary)
        links = " ".join(f'<a href="#letter-{letter}">{letter}</a>' for letter, _ in letters)
        told = escape(json.dumps(say["found"]))
        field = (
            f'<p class="find-term" hidden><label>{say["filter"]} <input type="search" autocomplete="off"></label> '
            f'<span role="status" data-found="{told}"></span></p>'
            f'<nav class="letters" aria-label="{say["letters"]}">{links}</nav>'
        )
        listed = nodes.container("", raw(field), classes=["terms"])
        for letter, some in letters:
            listed += raw(f'<h2 id="letter-{letter}">{letter}</h2>')
            listed += nodes.definition_list("", *map(self.entry, some))
        return [listed]

    def entry(self, term: Term) -> nodes.definition_list_item:
        first, *more = term.names
        name = nodes.term("", first, ids=[term.anchor])
        if term.symbol:
            name += [nodes.Text(" "), nodes.math("", term.symbol)]
        for english in more:
            name += raw(f' <span lang="en">{escape(english)}</span>')
        if term.zh not in ("", *term.names, term.name):  # some words are the same
            name += raw(f' <span lang="zh">{escape(term.zh)}</span>')
        if term.also:
            name += raw(f" <small>{escape(also(term))}</small>")
        said, _ = self.state.inline_text(term.says, self.lineno)
        where, _ = self.state.inline_text(place(term, edition_of(self.env)), self.lineno)
        there = f"{relative_uri(edition_of(self.env), self.env.app.builder, self.env.docname, term.page)}#{term.place}"
        link = nodes.paragraph("", "", nodes.reference("", "", *where, refuri=there, internal=True))
        return nodes.definition_list_item("", name, nodes.definition("", nodes.paragraph("", "", *said), link))


class FirstUses(SphinxPostTransform):
    """In a chapter's prose, the first use of each term becomes a link to what it means."""

    default_priority = 390  # before guesses, tasks and dropdowns have become HTML
    formats = ("html",)

    def run(self):
        edition = edition_of(self.env)
        terms = edition.glossary
        if not terms or not self.env.docname.startswith("chapters/"):
            return
        page = relative_uri(edition, self.app.builder, self.env.docname, LIST)
        find, told = glossary.term_finder(terms), set()
        for node in list(self.document.findall(_is_prose)):
            said, parts, done = node.astext(), [], 0
            for start, end, term in find(said):
                if term.anchor not in told and not isinstance(node.parent, EXPLAINING):
                    there = f"{page}#{term.anchor}"
                    link = nodes.reference("", said[start:end], refuri=there, internal=True, classes=["term"])
                    parts += [nodes.Text(said[done:start]), link]
                    done = end
                told.add(term.anchor)
            if parts:
                node.parent.replace(node, [*parts, nodes.Text(said[done:])])


def _is_prose(node) -> bool:
    """Text of a paragraph, and no part of a link, a formula or code, nor of what stands apart from the text."""
    if not isinstance(node, nodes.Text):
        return False
    node = node.parent
    while isinstance(node, (nodes.inline, *EXPLAINING)):
        node = node.parent
    return isinstance(node, nodes.paragraph) and not _stands_apart(node)


def _stands_apart(node) -> bool:
    return node is not None and (isinstance(node, APART) or _stands_apart(node.parent))


def plain(_directive, page):
    return "\n".join(
        f"- **{term.names[0]}**{_in_brackets(term)}: {page.inline(term.says)} "
        f"[{page.inline(place(term, page.edition))}]({_page_address(term, page.edition)}#{term.place})"
        for _, some in glossary.by_letter(page.edition.glossary)
        for term in some
    )


def _in_brackets(term: Term) -> str:
    """What else it is called, in the other of the two languages."""
    others = {term.name, term.zh} - {*term.names[:1], ""}
    return "".join(f" ({other})" for other in others)


def _page_address(term: Term, edition: Edition) -> str:
    return edition.address_of(edition.source_of(term.page))


def place(term: Term, edition: Edition) -> str:
    """Where the book teaches a term, in words."""
    section, number = edition.sections[term.section], Path(term.page).name[:2]
    say = words(HERE)["where"]
    if number.isdigit():
        return say["chapter"].format(n=int(number), section=section)
    return say["page"].format(section=section)


def also(term: Term) -> str:
    return words(HERE)["also"].format(names=marks()["list"].join(term.also))


def setup(app):
    app.add_directive_to_domain("std", "glossary", Glossary, override=True)  # Sphinx has one that is called so, too
    app.add_post_transform(FirstUses)


ROOM = Room(("glossary",), setup, plain, is_read=False)
