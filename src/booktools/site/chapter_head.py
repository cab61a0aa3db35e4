"""The head of a chapter's page, and its foot: number, title, minutes, links, its place in the map; when it last ran."""

import json
import re
from datetime import date
from html import escape
from pathlib import Path

from attnbook.language import day, whole, words
from booktools.book.contents import Chapter, deck_page, without_number
from booktools.book.edition import Edition
from booktools.book.from_scratch import FOLDER
from booktools.directives.map import chapter_leads, pictogram_svg
from booktools.directives.map.drawing import draw_small
from booktools.directives.minutes import Minutes
from booktools.directives.page import buttons

HERE = Path(__file__).parent


def chapter_head(heading: str, chapter: Chapter, edition: Edition, root: str) -> str:
    """The head around its <h1>."""
    say, time = words(HERE), Minutes.read(chapter.path)
    counted = {"words": whole(time.words), "cells": time.cells}
    minutes = (
        f'<span title="{say["time"]["of"].format(**counted)}">{say["time"]["reading"].format(n=time.reading)}</span>',
        *(f"<span>{say['time'][part].format(n=getattr(time, part))}</span>" for part in ("touching", "exercises")),
    )
    own = f'<a href="{root}index.html#how-to-read-it">{say["own"]}</a>'
    if chapter.stem in edition.decks:
        own += f' <a href="{root}{deck_page(chapter.stem)}.html">{say["slides"]["open"]}</a>'
    links = buttons(edition.here, chapter.stem, root, "colab", say["notebook"], own)
    titled = re.sub(r"(?<=<h1>)(.*?)(?=<)", lambda text: without_number(text[1]), heading)
    return (
        f'<header class="chapter-head"><p class="number">{say["number"].format(n=chapter.number)}</p>{titled}'
        f'<div class="about"><p>{"".join(minutes)}</p>{links}</div>'
        f'<a class="lead-picture ab-stage" href="{root}index.html#map" aria-label="{escape(say["to_map"])}">'
        f"{pictogram_svg(chapter.pictogram)}{draw_small(chapter_leads(edition), chapter.number)}</a></header>"
    )


def ending(chapter: Chapter, edition: Edition, root: str) -> str:
    """The end of a chapter: a question to go on with, the file to take along, and what is done (ending.js)."""
    say, chapters = words(HERE)["ending"], edition.chapters
    at = chapters.index(chapter) + 1
    to, label = f"{root}index.html#map", say["map"]
    if at < len(chapters):
        beside = "" if edition.has(edition.page_of(chapters[at])) else "../"  # in the book's own language
        to = f"{root}{beside}chapters/{chapters[at].stem}.html"
        label = say["next"].format(n=chapters[at].number, title=chapters[at].title)
    question = say["questions"].get(str(chapter.number), "")
    told = {kind: say[kind] for kind in ("tasks", "guesses", "code", "exercises")}
    room = "".join(f"<li>{escape(text.format(n=0, all=9))}</li>" for text in told.values())  # for what a script tells
    go_on = say["go_on"].format(question=f"<em>{escape(question)}</em>", link=f'<a href="{to}">{escape(label)}</a>')
    file = f'<a href="{root}{FOLDER}/{chapter.stem}.py" download>{chapter.stem}.py</a>'
    along = f"<p>{say['file'].format(link=file)}</p>" if chapter.stem in edition.from_scratch else ""
    return (
        f'<aside class="ending" data-words="{escape(json.dumps(told))}" aria-label="{escape(say["title"])}">'
        f"<p><strong>{escape(say['title'])}</strong></p><ul hidden>{room}</ul>{along}<p>{go_on}</p></aside>"
    )


def first_slide(heading: str, chapter: Chapter) -> str:
    """The head of a deck around its <h1>."""
    say = words(HERE)
    place = f'<p class="number">{say["title"]} · {say["number"].format(n=chapter.number)}</p>'
    return f'<div class="first"><div>{place}{heading}</div>{pictogram_svg(chapter.pictogram)}</div>'


def last_run(green, name):
    """When a notebook was last found to run with what Colab has; book.js knows of later times.

    >>> print(last_run({"date": "2026-11-02", "seconds": {"colab/05_dots": 9}}, "colab/05_dots"))
    <p class="ran">Last tried with Colab's packages on \
<time datetime="2026-11-02">2 November 2026</time>.</p>
    >>> last_run({}, "colab/05_dots")
    ''
    """
    if name not in green.get("seconds", {}):
        return ""
    when = date.fromisoformat(green["date"])
    told = words(HERE)["tried"].format(date=f'<time datetime="{when}">{day(when)}</time>')
    return f'<p class="ran">{told}</p>'
