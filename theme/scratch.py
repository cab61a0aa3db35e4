"""A chapter's own code in one file: `{from-scratch}` leads to it, and a page shows it."""

from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from attnbook.language import words
from booktools.core import HERE as CORE
from booktools.core.address import address
from booktools.core.contents import chapters
from booktools.editions.from_scratch import FOLDER, files


@cache
def code(root):
    return files(address(root), root)


class FromScratch(SphinxDirective):
    def run(self):
        stem, root = Path(self.env.docname).name, Path(self.env.srcdir)
        if stem not in code(root):
            raise self.error(f"{self.env.docname} keeps nothing to take along; tag its cells `keep`")
        say, file = words(CORE)["scratch"], f"../{FOLDER}/{stem}"
        links = {
            "read": f'<a href="{file}.html">{say["read"]}</a>',
            "download": f'<a href="{file}.py" download>{say["download"]}</a>',
        }
        told = say["told"].format(lines=len(code(root)[stem].splitlines()), **links)
        return [nodes.raw("", f"<p>{told}</p>", format="html")]


def pages(app):
    """A page for each file, in the frame of the book."""
    root, say = Path(app.srcdir), words(CORE)["scratch"]
    for chapter in chapters(root):
        text = code(root).get(chapter.stem)
        if text is None:
            continue
        title = say["title"].format(title=chapter.title)
        listing = app.builder.highlighter.highlight_block(text, "python")
        told = say["back"].format(
            lines=len(text.splitlines()),
            chapter=f'<a href="../chapters/{chapter.stem}.html">{chapter.title}</a>',
            take=f'<a href="{chapter.stem}.py" download>{say["take"]}</a>',
        )
        body = (
            f'<section><h1>{title}</h1><p>{told}</p><div class="highlight-python notranslate">{listing}</div></section>'
        )
        meta = {"description": say["description"].format(n=chapter.number, title=chapter.title)}
        yield f"{FOLDER}/{chapter.stem}", {"title": title, "body": body, "meta": meta}, "page.html"


def setup(app):
    app.add_directive("from-scratch", FromScratch)
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
