"""What page forms have in common: raw HTML, the edition that is being printed, a row of buttons, a QR code."""

from base64 import b64encode
from html import escape
from io import BytesIO
from pathlib import Path

import segno
from docutils import nodes

from booktools.book.edition import Edition, edition


def raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


def edition_of(env) -> Edition:
    """The edition whose pages Sphinx is making."""
    return edition(Path(env.srcdir))


def relative_uri(edition: Edition, builder, page: str, target: str) -> str:
    """The way from a page to another; one that the edition lacks is in the book's own, a folder above."""
    if edition.has(edition.source_of(target)):
        return builder.get_relative_uri(page, target)
    return f"{'../' * (page.count('/') + 1)}{target}.html"


def buttons(here, stem: str, root: str, folder: str, say: dict[str, str], more: str = "") -> str:
    """A row of buttons that `say` what they do: run a notebook in Colab, or take it home; and what more there is."""
    return (
        f'<p class="run-row"><a class="button" href="{here.colab(stem, folder)}">{say["open"]}</a>'
        f'<a class="button" href="{root}{folder}/{stem}.ipynb" download>{say["download"]}</a>{more}</p>'
    )


def qr_code(address: str) -> str:
    """An address as a QR code, which is said as it is read."""
    made = BytesIO()
    segno.make(address, micro=False).save(made, kind="svg", border=0, xmldecl=False, svgns=True)
    data = b64encode(made.getvalue()).decode()
    return f'<img class="code" alt="{escape(address)}" src="data:image/svg+xml;base64,{data}">'
