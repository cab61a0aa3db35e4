"""The map of the book as a figure, `{map}`; and the contents, `{chapters}`: the map, and a card for each chapter."""

import json
import re
from base64 import b64encode
from dataclasses import dataclass
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from attnbook.language import count, words
from booktools.book.contents import Chapter, read_notebook
from booktools.book.edition import Edition
from booktools.directives import Room
from booktools.directives.map.drawing import Lead, draw_file, draw_map
from booktools.directives.minutes import Minutes, tasks_in
from booktools.directives.page import edition_of, relative_uri

HERE = Path(__file__).parent
PAPER = '<p class="paper" hidden></p>'  # names the whole book as PDF and other files, once they are there


@dataclass(frozen=True)
class Card:
    """A chapter in the contents."""

    number: int
    title: str
    promise: str
    pictogram: str
    address: str
    minutes: int
    tasks: dict[str, int]
    is_abroad: bool  # in the book's own language, and not in the edition's

    def html(self) -> str:
        say = words(HERE)["card"]
        title = f'<a href="{escape(self.address)}">{escape(self.title)}</a>'
        about = count(say["minutes"], self.minutes)
        abroad = f"<small>{say['abroad']}</small>" if self.is_abroad else ""
        tasks = "".join(f' data-{name}="{n}"' for name, n in self.tasks.items())
        return (
            f'<li class="card" data-chapter="{self.number}"{tasks}>'
            f'{pictogram_svg(self.pictogram)}<p class="about">{self.number} · {about}'
            f'<span class="been" data-been="{say["been"]}" data-done="{say["done"]}" data-all="{say["all"]}" hidden>'
            f"{say['been']}</span>{abroad}</p>"
            f"<h3>{title}</h3><p>{escape(self.promise)}</p></li>"
        )


class Place(nodes.General, nodes.Element):
    """Where the map stands, or the contents, until all titles and addresses are known."""


class Map(SphinxDirective):
    """The map as a figure."""

    kind = "map"

    def run(self):
        for chapter in edition_of(self.env).chapters:  # whose titles and minutes it tells
            self.env.note_dependency(str(chapter.path))
        return [Place(kind=self.kind)]


class Contents(Map):
    kind = "contents"


def _visit_place(translator, node):
    edition, page = edition_of(translator.builder.env), translator.builder.current_docname
    drawn = draw_map(chapter_leads(edition, translator.builder, page), shapes=node["kind"] == "map")
    if node["kind"] == "map":
        translator.body.append(f'<figure class="map-figure ab-stage">{drawn}</figure>')
    else:
        listed = "".join(card.html() for card in cards(edition, translator.builder, page))
        go_on = f'<p class="go-on" data-words="{escape(words(HERE)["go_on"])}" hidden></p>'  # book.js fills it in
        translator.body.append(
            f'<div class="contents" id="map"><div class="ab-stage">{go_on}{drawn}</div>'
            f'<ol class="cards">{listed}</ol>{_take_along()}{_keep_here()}{PAPER}</div>'
        )
    raise nodes.SkipNode


def _take_along() -> str:
    """Returns the HTML that progress_file.js needs to save a reader's code and place, and to bring them back."""
    say = words(HERE)["take"]
    texts = json.dumps(
        {
            name: say[name]
            for name in ("file", "head", "nothing", "saved", "brought", "differ", "strange", "sure", "cleared")
        }
    )
    buttons = "".join(f'<button type="button">{say[name]}</button>' for name in ("save", "bring", "clear"))
    return (
        f'<div class="take" data-words="{escape(texts)}" hidden><p>{say["why"]}</p>{buttons}'
        '<input type="file" accept=".py,text/*" hidden><output role="status"></output></div>'
    )


def _keep_here() -> str:
    """What keep_offline.js needs to keep all of the book in a browser."""
    say = words(HERE)["keep"]
    return (
        f'<div class="keep" data-words="{escape(json.dumps(say))}" hidden><p>{say["why"]}</p>'
        '<button type="button"></button><output role="status"></output></div>'
    )


def chapter_leads(edition: Edition, builder=None, page: str = "") -> list[Lead]:
    """The parts of each chapter, with addresses as seen from a page."""
    return [
        Lead(each.number, each.map, each.title, address(edition, each, builder, page) if builder else "")
        for each in edition.chapters
    ]


def cards(edition: Edition, builder, page: str) -> list[Card]:
    found = []
    for each in edition.chapters:
        notebook = read_notebook(each.path)  # in English: minutes and tasks are the same in every language
        time, to = Minutes.of(notebook), address(edition, each, builder, page)
        minutes = time.reading + time.touching
        is_abroad, tasks = not edition.has(edition.page_of(each)), tasks_in(notebook)
        found.append(Card(each.number, each.title, each.promise, each.pictogram, to, minutes, tasks, is_abroad))
    return found


def address(edition: Edition, chapter: Chapter, builder, page: str) -> str:
    return relative_uri(edition, builder, page, f"chapters/{chapter.stem}")


def pictogram_svg(pictogram: str) -> str:
    """A pictogram as it stands in a page; its lines have the colour of the text."""
    lines = re.sub(r"\n *", "", pictogram)
    return (
        '<svg class="pictogram" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 64" fill="none" '
        'stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round" '
        f'aria-hidden="true">{lines}</svg>'
    )


def plain(directive, page):
    if directive.name == "map":
        picture = b64encode(draw_file(chapter_leads(page.edition)).encode()).decode()
        return f"![{words(HERE)['map']['description']}](data:image/svg+xml;base64,{picture})"


def setup(app):
    app.add_node(Place, html=(_visit_place, None))
    app.add_directive("map", Map)
    app.add_directive("chapters", Contents)


ROOM = Room(("map", "chapters"), setup, plain)
