"""Pages in the language of their edition: texts from its translation, widgets' tables from their Python."""

import json
import re
from pathlib import Path

from attnbook.language import ENGLISH, language
from booktools.book.translation import translate

WIDGET = re.compile(
    r'<div class="ab-widget" data-afm="(\w+)">.*?<script type="application/json">(.*?)</script></div>', re.DOTALL
)


def in_its_language(notebook, page: str, root: Path):
    """A notebook of the book, whose path in it is `page`, in the language spoken now."""
    translate(notebook, page, root)
    if language() != ENGLISH:  # stored outputs are English
        for cell in notebook.cells:
            for output in cell.get("outputs", []):
                if html := output.get("data", {}).get("text/html"):
                    output.data["text/html"] = remake_widgets(html)
    return notebook


def remake_widgets(html: str) -> str:
    """An output with its widgets' tables in the language spoken now."""
    return WIDGET.sub(lambda found: remade(found[1], json.loads(found[2])), html)


def remade(name: str, state: dict) -> str:
    from attnbook.widgets import all_widgets  # which loads torch, and nothing in English needs it
    from attnbook.widgets.shared.files import Asset

    kind = next(kind for kind in all_widgets() if kind.name == name)
    traits = {trait: state[trait] for trait, about in kind.inputs().items() if not isinstance(about, Asset)}
    return kind(**traits).page_html()
