"""A chapter's own code in one file: `{from-scratch}` leads to it, and a page shows it."""

from functools import cache
from pathlib import Path

from sphinx.util.docutils import SphinxDirective

from attnbook.language import words
from booktools.book import HERE as BOOK
from booktools.book import BookError
from booktools.book.address import address
from booktools.book.contents import read_chapter, read_notebook
from booktools.book.from_scratch import FOLDER, from_scratch, kept
from booktools.site.cards import PAGE, number_of, without_number
from booktools.site.touch import raw


@cache
def code(path, root):
    """The file of a chapter; empty where it keeps nothing."""
    notebook = read_notebook(path)
    return from_scratch(notebook, read_chapter(path), address(root)) if kept(notebook) else ""


class FromScratch(SphinxDirective):
    def run(self):
        page, root = self.env.docname, Path(self.env.srcdir)
        try:
            text = code(Path(self.env.doc2path(page)), root)
        except BookError as error:
            raise self.error(str(error)) from None
        if not text:
            raise self.error(f"{page} keeps nothing to take along; tag its cells `keep`")
        say, file = words(BOOK)["scratch"], f"../{FOLDER}/{Path(page).name}"
        links = {
            "read": f'<a href="{file}.html">{say["read"]}</a>',
            "download": f'<a href="{file}.py" download>{say["download"]}</a>',
        }
        return [raw(f"<p>{say['told'].format(lines=len(text.splitlines()), **links)}</p>")]


def pages(app):
    """A page for each file, in the frame of the book."""
    root, say = Path(app.srcdir), words(BOOK)["scratch"]
    for page in sorted(filter(PAGE.match, app.env.found_docs)):
        text = code(Path(app.env.doc2path(page)), root)
        if not text:
            continue
        stem, chapter = Path(page).name, without_number(app.env.titles[page].astext())
        title = say["title"].format(title=chapter)
        listing = app.builder.highlighter.highlight_block(text, "python")
        told = say["back"].format(
            lines=len(text.splitlines()),
            chapter=f'<a href="../{page}.html">{chapter}</a>',
            take=f'<a href="{stem}.py" download>{say["take"]}</a>',
        )
        body = (
            f'<section><h1>{title}</h1><p>{told}</p><div class="highlight-python notranslate">{listing}</div></section>'
        )
        meta = {"description": say["description"].format(n=number_of(page), title=chapter)}
        yield f"{FOLDER}/{stem}", {"title": title, "body": body, "meta": meta}, "page.html"


def setup(app):
    app.add_directive("from-scratch", FromScratch)
    app.connect("html-collect-pages", pages)
