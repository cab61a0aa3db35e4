"""The book for a reading device: the chapters of a printed site as EPUB 3, with formulas as MathML."""

import re
from html import escape
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote, urlsplit
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from playwright.sync_api import Browser

from attnbook.language import words
from booktools.book.edition import Edition
from booktools.printers.book_files import list_on_first_page
from booktools.printers.browser_pages import Part, book_parts, call_javascript, new_page, site_in_browser
from booktools.printers.feed import latest
from booktools.progress import progress

HERE = Path(__file__).parent
NAME = "attention-you-can-touch.epub"
KINDS = {"png": "image/png", "svg": "image/svg+xml", "webp": "image/webp", "jpg": "image/jpeg"}
CONTAINER = (
    '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)


def print_epub(edition: Edition, html: Path) -> Path:
    """Print the site in a folder as EPUB beside its pages; where it went."""
    with edition.spoken(), site_in_browser(html) as (browser, address):
        pages = book_parts(edition, browser, address, pictures=True)
        files = assemble(edition, html, browser, address, pages)
    (html / NAME).write_bytes(zip_book(files))
    list_on_first_page(html)
    return html / NAME


def zip_book(files: dict[str, str | bytes]) -> bytes:
    """The files of a book as one, of which a reading device is told first what it is."""
    made = BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as book:
        book.writestr("mimetype", "application/epub+zip", ZIP_STORED)
        for name, content in files.items():
            book.writestr(name, content)
    return made.getvalue()


def assemble(edition: Edition, html: Path, browser: Browser, address: str, pages: list[Part]) -> dict[str, str | bytes]:
    """The files of the book, by their names in it, of pages with pictures of their widgets."""
    page = new_page(browser, service_workers="block")
    page.goto(f"{address}index.html")
    say, site = words(HERE.parent)["epub"], words(HERE.parents[1] / "site")
    files: dict[str, str | bytes] = {
        "META-INF/container.xml": CONTAINER,
        "style.css": (HERE / "epub.css").read_text("utf-8"),
    }
    listed, items = [], []
    for part in progress(pages, "binding"):
        given = {"part": part.name, "html": part.html, "pictures": list(part.pictures), "say": say}
        made = call_javascript(page, address, HERE / "chapter.js", "chapter", given)
        for source in made["images"]:
            path = unquote(urlsplit(source).path).lstrip("/")
            files[f"images/{Path(path).name}"] = (html / path).read_bytes()
        files |= {f"images/{part.name}--{id}.png": picture for id, picture in part.pictures.items()}
        files[f"{part.name}.xhtml"] = _xhtml(edition.language, part.heading, made["body"], part.name)
        holds = " ".join({"math": "mathml", "svg": "svg"}[kind] for kind in ("math", "svg") if made[kind])
        items.append((part.name, holds))
        listed.append(f'<li><a href="{part.name}.xhtml">{escape(part.heading)}</a></li>')
    contents = f'<nav epub:type="toc"><h1>{say["contents"]}</h1><ol>{"".join(listed)}</ol></nav>'
    files["contents.xhtml"] = _xhtml(edition.language, say["contents"], contents)
    page.close()
    files["book.opf"] = package(edition, site, items, [name for name in files if name.startswith("images/")])
    return files


def _xhtml(language: str, title: str, body: str, part: str = "") -> str:
    body = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "", body)
    id_ = f' id="{part}"' if part else ""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" '
        f'xmlns:epub="http://www.idpf.org/2007/ops" lang="{language}" xml:lang="{language}"><head>'
        f'<title>{escape(title)}</title><link rel="stylesheet" href="style.css"/></head><body{id_}>{body}</body></html>'
    )


def package(edition: Edition, site: dict, items: list[tuple[str, str]], images: list[str]) -> str:
    """What is in the book, and in which order it is read."""
    chapters = [
        f'<item id="part-{name}" href="{name}.xhtml" media-type="application/xhtml+xml"'
        + (f' properties="{holds}"/>' if holds else "/>")
        for name, holds in items
    ]
    pictures = [
        f'<item id="image-{n}" href="{name}" media-type="{KINDS[name.rpartition(".")[2]]}"/>'
        for n, name in enumerate(images)
    ]
    return (
        (HERE / "book.opf")
        .read_text("utf-8")
        .format(
            language=edition.language,
            here=escape(edition.here.site),
            title=escape(site["title"]),
            description=escape(site["description"]),
            day=latest(edition.root),
            items="\n".join(chapters + pictures),
            order="".join(f'<itemref idref="part-{name}"/>' for name, _ in items),
        )
    )
