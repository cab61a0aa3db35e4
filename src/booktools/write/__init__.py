"""Write it here: what a reader writes in a page is run and checked in the page, by the checks of `attnbook.checks`.

a stub on the page   write.js makes it an editor, and asks a worker for a verdict
picture.js           draws a tensor that a reader's code shows, and the result of a right answer
worker.js            holds MicroPython (micropython/, as its npm package has it) with Python of ours (python/)
python/torch         the names of PyTorch, over the tensors of Handful (src/handful)
checks.py            sends a check as it is: its source, its tensors, its sentences
"""

import ast
import json
import re
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path

from attnbook.language import words
from attnbook.widgets.shared.files import one_module, without_comments
from booktools.book.checked import stub
from booktools.write.checks import HANDFUL, judging_source
from booktools.write.source import NotForThePage, without_docstring
from booktools.write.stubs import sent

HERE = Path(__file__).parent
EARLY = ("write.js", "write.css")
_CELL = re.compile(r'<div class="cell (?=[^"]*\btag_stub\b)')


@cache
def engine() -> tuple[str, dict[str, bytes]]:
    """A folder's name, made of what is in it, and what is fetched at the first press."""
    front = (path for path in sorted((HERE / "front").iterdir()) if path.name not in EARLY)
    files = {path.name: without_comments(path).encode() for path in front}
    files |= {name: (HERE / "micropython" / name).read_bytes() for name in ("micropython.mjs", "micropython.wasm")}
    files["handful.js"] = re.sub(r"^ +", "", one_module(HANDFUL / "handful.js"), flags=re.M).encode()
    files["python.json"] = as_json({"files": python(), "say": words(HERE)["verdict"] | words(HERE)["picture"]})
    version = sha256(b"".join(files.values())).hexdigest()[:8]
    return f"write/{version}/", files


def early() -> dict[str, bytes]:
    """What a page has before somebody presses, by the names on the site."""
    return {name: without_comments(HERE / "front" / name).encode() for name in EARLY}


def front() -> dict[str, bytes]:
    """All of it, as the site serves it, by the names there."""
    folder, files = engine()
    return early() | {folder + name: content for name, content in files.items()}


def python() -> dict[str, str]:
    """The page's own modules, and the one of sentences and comparisons, which is the book's."""
    folder = HERE / "python"
    files = {path.relative_to(folder).as_posix(): terse(path) for path in sorted(folder.rglob("*.py"))}
    given = "NotImplementedError, page_because, page_cut, page_ordered, page_stepped"
    judging = f"from plain import {given}\n{judging_source()}\n"
    return files | {"attnbook/checks/judging.py": judging}


def terse(path: Path) -> str:
    """A module as it travels: without comments and docstrings, and indented by ones."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.body = without_docstring(node.body)
    return re.sub(r"^(?: {4})+", lambda spaces: " " * (len(spaces[0]) // 4), ast.unparse(tree), flags=re.M)


def stubs(stem: str, cells: list) -> dict[str, tuple[str, bytes]]:
    """What is sent for each stub of a notebook, by the name of its file, with the name of what is checked."""
    found = {}
    for place, cell in enumerate(cells):
        if asked := stub(cell):
            before = [each.source for each in cells[:place] if each.cell_type == "code"]
            found[f"{stem[:2]}-{cell.id}.json"] = (asked[1], as_json(sent(asked[0], before)))
    return found


def marked(body: str, files: dict[str, tuple[str, bytes]]) -> str:
    """A page whose stubs know what to ask for, with the words of their editors."""
    said = {"engine": engine()[0], "say": words(HERE)["page"]}
    asked = (
        f'<div data-write="{name}?v={sha256(content).hexdigest()[:8]}" data-name="{escape(checks)}" class="cell '
        for name, (checks, content) in files.items()
    )
    text = as_json(said).decode().replace("<", "\\u003c")
    return _CELL.sub(lambda _: next(asked), body) + f'<script type="application/json" id="write">{text}</script>'


def as_json(content: dict) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


__all__ = ["HANDFUL", "NotForThePage", "early", "front", "marked", "stubs"]
