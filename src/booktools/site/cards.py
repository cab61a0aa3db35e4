"""What introduces a chapter: its card in the contents of the book, and the head of its page."""

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from attnbook.language import count, whole, words
from booktools.book.contents import chapters
from booktools.book.minutes import Minutes
from booktools.site.book_map import draw_file, draw_map, draw_small

HERE = Path(__file__).parent
PAGE = re.compile(r"chapters/(\d\d)_")


@dataclass(frozen=True)
class Card:
    """A chapter in the contents; one to come has no address yet, and takes no time."""

    number: int
    title: str
    address: str = ""
    minutes: int = 0

    def html(self) -> str:
        say = words(HERE)
        title, about = escape(self.title), say["card"]["to_come"]
        if self.address:
            title = f'<a href="{escape(self.address)}">{title}</a>'
            about = count(say["card"]["minutes"], self.minutes)
        return (
            f'<li class="{"card" if self.address else "card to-come"}" data-chapter="{self.number}">'
            f'{pictogram(self.number)}<p class="about">{self.number} · {about}'
            f'<span class="been" hidden>{say["card"]["been"]}</span></p>'
            f"<h3>{title}</h3><p>{escape(say['promises'][str(self.number)])}</p></li>"
        )


class Place(nodes.General, nodes.Element):
    """Where the map stands, or the contents, until all titles and addresses are known."""


class Map(SphinxDirective):
    """The map as a figure."""

    kind = "map"

    def run(self):
        return [Place(kind=self.kind)]


class Contents(Map):
    """The contents of the book: the map, and a card for each chapter."""

    kind = "contents"

    def run(self):
        for chapter in chapters(Path(self.env.srcdir)):  # whose minutes change with it
            self.env.note_dependency(str(chapter.path))
        return super().run()


def visit_place(translator, node):
    known = cards(translator.builder, translator.builder.current_docname)
    drawn = draw_map({card.number: (card.title, card.address) for card in known}, shapes=node["kind"] == "map")
    if node["kind"] == "map":
        translator.body.append(f'<figure class="map-figure ab-stage">{drawn}</figure>')
    else:
        coming = [Card(int(number), title) for number, title in words(HERE)["to_come"].items()]
        listed = "".join(card.html() for card in [*known, *coming])
        go_on = f'<p class="go-on" data-words="{escape(words(HERE)["go_on"])}" hidden></p>'  # book.js fills it in
        translator.body.append(
            f'<div class="contents" id="map"><div class="ab-stage">{go_on}{drawn}</div>'
            f'<ol class="cards">{listed}</ol></div>'
        )
    raise nodes.SkipNode


def cards(builder, page: str) -> list[Card]:
    """A card for each chapter of this edition, with addresses as seen from a page."""
    found = []
    for name in sorted(filter(PAGE.match, builder.env.found_docs)):
        title, address = builder.env.titles[name].astext(), builder.get_relative_uri(page, name)
        time = Minutes.read(Path(builder.env.doc2path(name)))
        found.append(Card(number_of(name), without_number(title), address, time.reading + time.touching))
    return found


def chapter_head(heading: str, page: str, source: Path, root: str, links: str) -> str:
    """The head of a chapter's page around its <h1>: number, title, minutes, links, and where in the map it stands."""
    say, number, time = words(HERE), number_of(page), Minutes.read(source)
    counted = {"words": whole(time.words), "cells": time.cells}
    minutes = (
        f'<span title="{say["time"]["of"].format(**counted)}">{say["time"]["reading"].format(n=time.reading)}</span>',
        *(f"<span>{say['time'][part].format(n=getattr(time, part))}</span>" for part in ("touching", "exercises")),
    )
    return (
        f'<header class="chapter-head"><p class="number">{say["number"].format(n=number)}</p>{without_number(heading)}'
        f'<div class="about"><p>{"".join(minutes)}</p>{links}</div>'
        f'<a class="lead-picture ab-stage" href="{root}index.html#map" aria-label="{escape(say["to_map"])}">'
        f"{pictogram(number)}{draw_small(number)}</a></header>"
    )


def pictogram(number: int) -> str:
    return re.sub(r"\n *", "", (HERE / f"front/pictograms/{number:02}.svg").read_text("utf-8"))


def number_of(page: str) -> int:
    """
    >>> number_of("chapters/05_dots")
    5
    """
    found = PAGE.match(page)
    assert found
    return int(found[1])


def without_number(title: str) -> str:
    """
    >>> without_number("5. Dots"), without_number("<h1>5. Dots</h1>")
    ('Dots', '<h1>Dots</h1>')
    """
    return re.sub(r"^((?:<h1>)?)\d+\. ", r"\1", title)


def copy_files(app):
    """The map as a picture, which the notebooks for Colab show."""
    if app.builder.format == "html":
        target = Path(app.outdir, "_static/map.svg")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(draw_file(), "utf-8")


def setup(app):
    app.add_node(Place, html=(visit_place, None))
    app.add_directive("map", Map)
    app.add_directive("chapters", Contents)
    app.connect("builder-inited", copy_files)
