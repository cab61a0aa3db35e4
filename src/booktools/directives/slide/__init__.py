"""The slides of a deck: what comes step by step, what stands beside, what only the speaker sees; links to decks.

Outlines are read in `book/deck.py`, which sets the marks from which boxes are made here. `slide.js` makes a talk of
the page, and `slide.desk.js` the window of whoever speaks.
"""

from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from attnbook.language import words
from booktools.book.contents import Chapter, deck_page
from booktools.book.deck import Deck
from booktools.book.edition import Edition
from booktools.directives import Room
from booktools.directives.page import edition_of, qr_code, raw, relative_uri

HERE = Path(__file__).parent


class mark(nodes.General, nodes.Element):
    """Where a slide changes: `kind` says how, `told` to what."""


class Slide(SphinxDirective):
    has_content = True
    required_arguments = 1

    def run(self):
        return [mark(kind=self.arguments[0], told="\n".join(self.content).strip())]


class Boxes(SphinxPostTransform):
    """Makes boxes of what stands between marks, and takes the other slides out of the first."""

    default_priority = 430  # after guesses have become cards and widgets have got their frames
    formats = ("html",)

    def run(self):
        if not self.env.metadata[self.env.docname].get("deck"):
            return
        edition = edition_of(self.env)
        chapter = edition.taught(self.env.docname)
        first = next(iter(self.document.findall(nodes.section)))
        rest = [child for child in first.children if isinstance(child, nodes.section)]
        for section in rest:
            first.remove(section)
        first.parent += nodes.section("", *rest)  # one level down, so that the first alone has an <h1>
        for section in (first, *rest):
            title, *children = section.children
            section["classes"].append("slide")
            section.children = []
            section += [title, *boxes(section, children, _to_chapter(edition, chapter))]


def boxes(section, children, chapter):
    """The columns of a slide, with its steps in them, and its notes."""
    column, notes = nodes.container(classes=["column"]), nodes.container(classes=["notes"])
    columns, place = [column], column
    for child in children:
        kind = child["kind"] if isinstance(child, mark) else ""
        if not kind:
            place += child
        elif kind in ("step", "instead"):
            place = nodes.container(classes=["step", kind])
            column += place
        elif kind == "beside":
            place = column = nodes.container(classes=["column"])
            columns.append(column)
        elif kind == "notes":
            place = notes
        elif kind in ("minutes", "pairs"):
            section["classes"] += [f"minutes-{child['told']}", kind]
        elif kind == "chapter":
            columns.append(nodes.container("", raw(chapter), classes=["column"]))
        else:
            place += raw(f'<template class="{kind}" data-told="{escape(child["told"])}"></template>')
    section["classes"].append(f"columns-{len(columns)}")
    return [nodes.container("", *columns, classes=["wall"]), notes]


def _to_chapter(edition: Edition, chapter) -> str:
    """Where the chapter is: as a code for those who look at the wall, and as a link."""
    address = edition.here.page(edition.page_of(chapter))
    said = words(HERE)["to_chapter"].format(n=chapter.number)
    return (
        f'<p class="to-chapter"><a href="../chapters/{chapter.stem}.html">{qr_code(address)}<span>{said}</span></a></p>'
    )


class Decks(SphinxDirective):
    """A list of all decks, with how long each takes; `attnbook slides` adds what it has printed of them."""

    def run(self):
        edition, say = edition_of(self.env), words(HERE)["list"]
        items = []
        for chapter in edition.chapters:
            if page := edition.outlines.get(chapter.stem):
                self.env.note_dependency(page)
                self.env.note_dependency(edition.page_of(chapter))
                deck = Deck.read(edition if edition.has(page) else edition.own, chapter)
                there, abroad = _to_deck(self.env, chapter)
                marked = f' class="{abroad}"' if abroad else ""
                link = f'<a{marked} href="{there}">{chapter.number}. {escape(chapter.title)}</a>'
                said = say["about"].format(deck=link, slides=len(deck.slides), minutes=deck.minutes)
                items.append(f'<li>{said}<span data-printed="{chapter.stem}"></span></li>')
        return [raw(f'<ul class="decks">{"".join(items)}</ul>')]


def deck(_role, rawtext, text, lineno, inliner, options=None, content=None):
    """A chapter by its number, as a link to its deck where it has one."""
    env = inliner.document.settings.env
    edition = edition_of(env)
    chapter = next((each for each in edition.chapters if str(each.number) == text), None)
    if not chapter:
        return [], [inliner.reporter.error(f"deck is followed by a chapter's number, got {rawtext}", line=lineno)]
    title = f"{chapter.number}. {chapter.title}"
    if chapter.stem not in edition.outlines:
        return [nodes.Text(title)], []
    env.note_dependency(edition.page_of(chapter))
    there, abroad = _to_deck(env, chapter)
    return [nodes.reference("", title, refuri=there, classes=abroad.split())], []


def _to_deck(env, chapter: Chapter) -> tuple[str, str]:
    """The way to a chapter's deck; and a class, where that is in the book's own language and the page is not."""
    edition = edition_of(env)
    there = relative_uri(edition, env.app.builder, env.docname, deck_page(chapter.stem))
    return there, "" if chapter.stem in edition.decks else "abroad"


def setup(app):
    app.add_node(mark)
    app.add_role("deck", deck)
    app.add_directive("slide", Slide)
    app.add_directive("decks", Decks)
    app.add_post_transform(Boxes)


ROOM = Room(("slide", "decks"), setup, lambda directive, page: None, is_read=False)
