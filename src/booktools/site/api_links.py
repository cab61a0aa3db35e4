"""Public names of the package in a chapter's code: where one is used first in the open, it leads to its entry."""

import ast
import re
from collections.abc import Iterable
from functools import cache

from booktools.book import api

# A cell, or a name in its code, with the one that it is taken from; no name of an argument.
_PART = re.compile(
    r'<div class="cell(?P<tags>(?: [^"]*)?)"'
    r'|(?:<span class="n">(?P<owner>\w+)</span><span class="o">\.</span>)?'
    r'<span class="n">(?P<name>\w+)</span>(?!<span class="o">[=.])'
)
_FOLDED = ("hide-input", "tag_stub", "tag_mistake")


@cache
def _entry_addresses() -> dict[str, str]:
    """The address of each entry, by all that a chapter may call it."""
    found = {}
    for room, names in api.names().items():
        for name in names:
            place = f"{api.FOLDER}/{room}.html#{name.anchor}"
            found |= {name.written: place, f"attnbook.{name.written}": place}
            if room == "widgets":
                found[name.anchor] = place
    return found


def _imported_names(sources: Iterable[str]) -> set[str]:
    """Returns the names that code imports from the package and does not define anew.

    >>> sources = ["import attnbook\\nfrom attnbook import attention, causal, plots", "def causal(L): ..."]
    >>> sorted(_imported_names(sources))
    ['attention', 'attnbook', 'plots']
    """
    taken, own = set(), set()
    for node in (node for source in sources for node in ast.walk(ast.parse(source))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("attnbook"):
            taken |= {each.name for each in node.names if not each.asname}
        elif isinstance(node, ast.Import):
            taken |= {each.name for each in node.names if each.name == "attnbook"}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            own.add(node.name)
    return taken - own


def link_names(body: str, taken: set[str], root: str) -> str:
    """
    >>> cell = '<div class="cell container"><span class="n">causal</span>(<span class="n">L</span>)'
    >>> link_names(cell, {"causal"}, "../").removeprefix('<div class="cell container">')
    '<a href="../api/layers.html#causal">causal</a>(<span class="n">L</span>)'
    """
    known, told, tags = _entry_addresses(), set(), ""

    def lead(found: re.Match) -> str:
        nonlocal tags
        if found["tags"] is not None:
            tags = found["tags"]
            return found[0]
        owner, name = found["owner"], found["name"]
        whole = f"{owner}.{name}" if owner else name
        if whole in told or whole not in known or (owner or name) not in taken or any(tag in tags for tag in _FOLDED):
            return found[0]
        told.add(whole)
        return found[0].replace(f'<span class="n">{name}</span>', f'<a href="{root}{known[whole]}">{name}</a>')

    return _PART.sub(lead, body)


def link_api_names(page) -> None:
    if page.chapter and f"{api.FOLDER}/{api.MORE}.md" in page.edition.pages:
        cells = page.edition.notebook(f"{page.name}.ipynb").cells
        sources = [cell.source for cell in cells if cell.cell_type == "code"]
        more = f"{api.FOLDER}/{api.MORE}.md"
        root = page.root if page.edition.has(more) else f"{page.root}../"
        page.body = link_names(page.body, _imported_names(sources), root)
