"""A widget as files: one script for a notebook, which loads a single text; scripts, style and data for a site."""

import hashlib
import json
import re
from base64 import b64encode
from functools import partial
from pathlib import Path

import traitlets

from attnbook.colours import css
from attnbook.data import FOLDER as DATA
from attnbook.language import words
from attnbook.widgets import all_widgets

ROOMS = Path(__file__).parents[1]
SHARED = ROOMS / "shared"
_IMPORT = re.compile(r'^import \{\s*([^{}]+?),?\s*\} from "((?:\.{1,2}/)+(?:\w+/)*)(\w+)\.js";$', re.M)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.M)
_COMMENT = re.compile(r"^ *(?://.*\n|/\*\*(?s:.*?)\*/\n|\n)", re.M)
_INDENT = re.compile(r"^ +", re.M)
_FOREIGN = re.compile(
    r"^\s*import\b(?!\().*|\bimport\((?!new URL\().*|^export (?!default|const |class |function |async function ).*",
    re.M,
)


class Asset(traitlets.Bytes):
    """A file of `attnbook/data` that the widget's JavaScript reads with `await asset(model, name)`.

    In Jupyter its bytes travel with the widget. A page fetches it from its own site: at once if its first widget needs
    it to start, and when it is first needed if that is `later`. With `first` a small part is enough to start: the file
    first.NAME.bin, read with `await asset(model, name, "first.")`.
    """

    def __init__(self, file: str, *, later: bool = False, first: bool = False):
        self.path, self.later = DATA / file, later
        self.first = self.path.with_name(f"first.{file}") if first else None
        super().__init__()
        self.tag(sync=True)

    def default(self, obj=None) -> bytes:
        return self.path.read_bytes()

    @property
    def page_name(self) -> str:
        """The file's name on the site: its content is part of it, so a cached copy is never stale."""
        return f"{self.path.stem}.{hashlib.sha256(self.path.read_bytes()).hexdigest()[:8]}{self.path.suffix}"

    def inside(self) -> str:
        """The file itself, as the address of what a page holds."""
        return f"data:application/octet-stream;base64,{b64encode(self.default()).decode()}"

    def page_files(self) -> dict[str, bytes]:
        """What a site has of it, by name: the part with which a widget starts comes first."""
        start = {f"first.{self.page_name}": self.first.read_bytes()} if self.first else {}
        return start | {self.page_name: self.default()}


def page_files() -> dict[str, bytes]:
    """Everything the widgets need on a site, by the name it has there (under `_static/widgets/`).

    Words that a widget's script asks for later stand in the folder `later` of its room.
    """
    styles = {path: tight_style(path.read_text("utf-8")) for path in ROOMS.glob("*/*.css")}
    scripts = {path: without_comments(path) for path in ROOMS.glob("*/*.js")}
    code = {path.relative_to(ROOMS).as_posix(): text.encode() for path, text in sorted((styles | scripts).items())}
    style = {"shared/base.css": shared_style().encode()}
    assets = [t for widget in all_widgets() for t in widget.inputs().values() if isinstance(t, Asset)]
    later = {
        f"{path.parts[-3]}/later.json": json.dumps(words(path.parent)).encode()
        for path in ROOMS.glob("*/later/en.json")
    }
    return code | style | later | {name: content for asset in assets for name, content in asset.page_files().items()}


def modules_of(name: str) -> list[str]:
    """The script of a widget and all that it imports, by the names they have on a site.

    >>> modules_of("scale_lab")[0]
    'scale_lab/scale_lab.js'
    """
    found, left = [], [(ROOMS / name / f"{name}.js").resolve()]
    while left:
        path = left.pop(0)
        if path not in found:
            found.append(path)
            imports = _IMPORT.finditer(path.read_text("utf-8"))
            left += [(path.parent / line[2] / f"{line[3]}.js").resolve() for line in imports]
    return [path.relative_to(ROOMS.resolve()).as_posix() for path in found]


def without_comments(path: Path) -> str:
    """A script or style as it travels: comments and indents stay at home, and with them a sixth of its weight."""
    return _INDENT.sub("", _COMMENT.sub("", path.read_text("utf-8")))


def tight_style(style: str) -> str:
    """A style without what only its authors read: a fifth of what travels.

    >>> tight_style('/* loud */\\na,\\nb :is(i, p) {\\n  margin: 0 1rem;\\n  content: "✓ ";\\n}\\n')
    'a,b :is(i,p){margin:0 1rem;content:"✓ "}'
    """
    style = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
    style = re.sub(r"\s*([{};,])\s*", r"\1", re.sub(r"\s+", " ", style))
    return style.replace(": ", ":").replace(";}", "}").strip()


def shared_style() -> str:
    """The style of all widgets: the palettes, and what uses them."""
    return css() + without_comments(SHARED / "base.css")


def style_of(path: Path) -> str:
    """The style of a widget, and what all widgets share before it."""
    return shared_style() + path.read_text("utf-8")


def for_a_notebook(name: str, script: str, style: Path) -> tuple[str, str]:
    """A widget's script and style for a page where others stand, too, and each kind brings the shared style once more.

    The script gives its place a class of its kind, and the style holds within it: what another kind brings later can't
    undo it, and it counts for more than Jupyter's rules for tables and buttons.
    """
    base = (SHARED / "base.css").read_text("utf-8").replace(".ab-widget {", "& {", 1)
    placed = script.replace('classList.add("ab-widget")', f'classList.add("ab-widget", "ab-in-{name}")')
    return placed, f"{css()}.ab-widget.ab-in-{name} {{\n{base}{style.read_text('utf-8')}}}\n"


def one_module(path: Path) -> str:
    """The ES module `path` with what it imports inside it, since Jupyter loads a widget from a single text.

    Each `import { a } from "../shared/x.js";` becomes the module x itself, in a function.
    """
    parts: dict[str, str] = {}

    def inline(path: Path) -> str:
        text = _IMPORT.sub(partial(bind, path.parent), without_comments(path))
        if left := _FOREIGN.search(text):
            instead = 'write `import { a } from "../shared/x.js";`'
            raise ValueError(f"{path.name}: can't inline `{left[0].strip()}`; {instead}")
        return text

    def bind(folder: Path, line: re.Match) -> str:
        names, name = line[1].replace(" as ", ": "), line[3]
        if name not in parts:
            text = inline(folder / line[2] / f"{name}.js")
            exports = ", ".join(found[1] for found in _EXPORT.finditer(text))
            parts[name] = f"const ${name} = (() => {{\n{_EXPORT.sub('', text)}\nreturn {{ {exports} }};\n}})();\n"
        return f"const {{ {names} }} = ${name};"

    body = inline(path)
    return "".join(parts.values()) + body
