"""A chapter's own code in one file: `{from-scratch}` leads to it, and a page shows it."""

from pathlib import PurePosixPath

from sphinx.util.docutils import SphinxDirective

from attnbook.language import words
from booktools.book import HERE as BOOK
from booktools.book import BookError
from booktools.book.from_scratch import FOLDER
from booktools.directives import Room
from booktools.directives.page import edition_of, raw


class FromScratch(SphinxDirective):
    def run(self):
        name = PurePosixPath(self.env.docname).name
        say, file = words(BOOK)["scratch"], f"../{FOLDER}/{name}"
        links = {
            "read": f'<a href="{file}.html">{say["read"]}</a>',
            "download": f'<a href="{file}.py" download>{say["download"]}</a>',
        }
        try:
            return [raw(f"<p>{_link_label(edition_of(self.env), name, links)}</p>")]
        except BookError as error:
            raise self.error(str(error)) from None


def plain(_directive, page):
    name, say = PurePosixPath(page.page).stem, words(BOOK)["scratch"]
    file = f"{page.edition.here.site}{FOLDER}/{name}"
    links = {"read": f"[{say['read']}]({file}.html)", "download": f"[{say['download']}]({file}.py)"}
    return _link_label(page.edition, name, links)


def _link_label(edition, name, links):
    if name not in edition.from_scratch:
        raise BookError(f"chapter {name} keeps nothing to take along; tag its cells `keep`.")
    return words(BOOK)["scratch"]["told"].format(lines=len(edition.from_scratch[name].splitlines()), **links)


def pages(app):
    """A page for each file, in the frame of the book."""
    edition, say = edition_of(app.env), words(BOOK)["scratch"]
    for chapter in edition.chapters:
        text = edition.from_scratch.get(chapter.stem)
        if not text or not edition.has(edition.page_of(chapter)):
            continue
        listing = app.builder.highlighter.highlight_block(text, "python")
        told = say["back"].format(
            lines=len(text.splitlines()),
            chapter=f'<a href="../chapters/{chapter.stem}.html">{chapter.title}</a>',
            take=f'<a href="{chapter.stem}.py" download>{say["take"]}</a>',
        )
        title = say["title"].format(title=chapter.title)
        body = (
            f'<section><h1>{title}</h1><p>{told}</p><div class="highlight-python notranslate">{listing}</div></section>'
        )
        meta = {"description": say["description"].format(n=chapter.number, title=chapter.title)}
        yield f"{FOLDER}/{chapter.stem}", {"title": title, "body": body, "meta": meta}, "page.html"


def setup(app):
    app.add_directive("from-scratch", FromScratch)
    app.connect("html-collect-pages", pages)


ROOM = Room(("from-scratch",), setup, plain)
