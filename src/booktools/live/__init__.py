"""Write it here: what a reader writes in a page is run there, and checked by the checks of `attnbook.checks`.

write.js               makes a stub on the page an editor, and asks a worker for a verdict
picture.js             draws a tensor that a reader's code shows; and results, a wrong one beside the right one
syntax.js              says why Python does not read some code
worker.js              holds MicroPython (micropython/, as its npm package has it) with the modules that follow
micropython_modules/   modules of Python by the names that code imports; torch is over the tensors of Handful
                       (src/handful). CPython never imports them
checks.py              sends a check as it is: its source, its tensors, its sentences
mistakes.py            sends what a chapter's mistake needs from the cells above it
definitions.py         sends what the chapter defines above a stub, for code that asks for it
"""

import ast
import json
import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path

from attnbook.language import words
from attnbook.widgets.shared.files import one_module, without_comments
from booktools.book.cell_kinds import stub_check
from booktools.book.statements import statements
from booktools.live.checks import HANDFUL, judging_source
from booktools.live.definitions import names_above
from booktools.live.mistakes import runnable_mistakes
from booktools.live.source import NotForThePage, without_docstring
from booktools.live.stubs import sent_stub

HERE = Path(__file__).parent
EARLY = ("write.js", "write.css")
FRONT = ("ask.js", "picture.js", "picture.css", "syntax.js")  # which a page asks for when they are needed
_CELL = re.compile(r'<div class="cell (?=[^"]*\btag_(?:stub|mistake)\b)')


@dataclass(frozen=True)
class Editor:
    file: str  # with what the page is sent, on the site
    checks: str  # the name of what is checked; none where code is only run
    content: bytes  # none where a cell stays as it is
    above: tuple[str, bytes] = ("", b"")  # a file of what the chapter defines, if code asks for it
    caught: str = ""  # the stub above whose check catches such mistakes

    @property
    def div(self) -> str:
        """What its cell begins with."""
        if not self.content:
            return '<div class="cell '
        checks = f'data-name="{escape(self.checks)}" ' if self.checks else ""
        checks += f'data-caught="{escape(self.caught)}" ' if self.caught else ""
        return f'<div data-write="{_versioned(self.file, self.content)}" {checks}class="cell '


def _versioned(file: str, content: bytes) -> str:
    return f"{file}?v={sha256(content).hexdigest()[:8]}"


@cache
def engine_files() -> tuple[str, dict[str, bytes]]:
    """Returns a folder, named by a hash of its files, and the files, which are fetched at the first press or later."""
    files = {name: without_comments(HERE / "front" / name).encode() for name in FRONT}
    files["worker.js"] = one_module(HERE / "front/worker.js").encode()
    files |= {name: (HERE / "micropython" / name).read_bytes() for name in ("micropython.mjs", "micropython.wasm")}
    files["more.js"] = without_comments(HANDFUL / "more.js").encode()
    files |= {f"{name}.json": as_json(words(HERE)[name]) for name in ("picture", "syntax")}
    modules = micropython_modules()
    for name in RARE:
        files[f"{name}.json"] = as_json({path: modules.pop(path) for path in [*modules] if name in path})
    more = {"names": "|".join(names_in_more()), "modules": RARE}
    files["python.json"] = as_json({"files": modules, "say": words(HERE)["verdict"]} | more)
    version = sha256(b"".join(files.values())).hexdigest()[:8]
    return f"write/{version}/", files


def early_files() -> dict[str, bytes]:
    """Returns the files that a page loads before a reader presses anything, by their names on the site."""
    return {name: without_comments(HERE / "front" / name).encode() for name in EARLY}


def served_files() -> dict[str, bytes]:
    """Returns all files that the site serves for editors, by their names there."""
    folder, files = engine_files()
    return early_files() | {folder + name: content for name, content in files.items()}


RARE = ("autograd", "einops", "optim", "testing")  # modules of Python that are fetched where code names them


def names_in_more() -> list[str]:
    """Returns the names that Handful knows only once it has loaded more.js."""
    specs = re.findall(r'\bop\(\s*"([\w/]+)', (HANDFUL / "more.js").read_text("utf-8"))
    return [name for spec in specs for name in spec.split("/")]


def micropython_modules() -> dict[str, str]:
    """The page's own modules, and the one of sentences and comparisons, which is the book's."""
    folder = HERE / "micropython_modules"
    files = {path.relative_to(folder).as_posix(): _minified(path) for path in sorted(folder.rglob("*.py"))}
    given = "NotImplementedError, page_because, page_cut, page_ordered, page_stepped"
    judging = f"from plain import {given}\n{judging_source()}\n"
    return files | {"attnbook/checks/judging.py": judging}


def _minified(path: Path) -> str:
    """A module as it travels: without comments and docstrings, and indented by ones."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.body = without_docstring(node.body)
    return re.sub(r"^(?: {4})+", lambda spaces: " " * (len(spaces[0]) // 4), ast.unparse(tree), flags=re.M)


def editors(stem: str, cells: list) -> list[Editor]:
    """The cells of a notebook that are written in on its page, in order; and its mistakes that can't be run there."""
    code = statements(cells)
    mistakes, found, written, parameters = runnable_mistakes(cells, code), [], [], {}
    asked_for = names_above(code, {place for place, cell in enumerate(cells) if stub_check(cell)})
    further = f"{stem[:2]}-above.json", as_json(asked_for)
    for place, cell in enumerate(cells):
        file = f"{stem[:2]}-{cell.id}.json"
        if asked := stub_check(cell):
            before = [each for each in code if each.place < place]
            names = sorted({name for at, name, _ in asked_for["definitions"] if at < place})
            more = {"place": place, "defined": names, "above": _versioned(*further), "written": [*written]}
            found.append(Editor(file, asked[1], as_json(sent_stub(asked[0], before) | more), further))
            written.append((cell.id, asked[1]))
            parameters |= function_parameters(cell.source)
        elif cell.id in mistakes:
            what = mistakes[cell.id]
            content = b"" if isinstance(what, NotForThePage) else as_json(what)
            caught = (name for name, given in parameters.items() if given in function_parameters(cell.source).values())
            found.append(Editor(file, "", content, caught=next(caught, "")))
    return found


def function_parameters(source: str) -> dict[str, list[str]]:
    """The parameters of the functions that code defines; what has the same as a stub is a way to write it."""
    functions = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    return {each.name: [arg.arg for arg in each.args.args] for each in functions}


def mark_page(body: str, editors: list[Editor]) -> str:
    """A page whose cells to write in know what to ask for, with the words of their editors."""
    said = {"engine": engine_files()[0], "say": words(HERE)["page"]}
    divs = (editor.div for editor in editors)
    text = as_json(said).decode().replace("<", "\\u003c")
    return _CELL.sub(lambda _: next(divs), body) + f'<script type="application/json" id="write">{text}</script>'


def as_json(content: dict) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


__all__ = ["HANDFUL", "NotForThePage", "early_files", "editors", "mark_page", "served_files"]
