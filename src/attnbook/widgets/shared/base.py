"""One class, three places: an anywidget in Jupyter and Colab, a self-running part of a page, else a table.

A widget has a room, the folder NAME: its Python (a `BookWidget` of traits and a table), NAME.js (one ES module that may
import from ../shared) and NAME.css. Its traits are inputs only, never results: JavaScript computes, tests compare with
PyTorch.
"""

import hashlib
import html
import json
import re
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import anywidget
import torch
import traitlets
from torch import Tensor

from attnbook import language
from attnbook.colours import css
from attnbook.data import FOLDER as DATA
from attnbook.widgets import all_widgets, room

ROOMS = Path(__file__).parents[1]
SHARED = ROOMS / "shared"
_IMPORT = re.compile(r'^import \{\s*([^{}]+?),?\s*\} from "(\.{1,2}/(?:\w+/)*)(\w+)\.js";$', re.M)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.M)
_COMMENT = re.compile(r"^ *(?://.*|/\*\*(?s:.*?)\*/)\n", re.M)
_FOREIGN = re.compile(
    r"^\s*import\b.*|\bimport\(.*|^export (?!default|const |class |function |async function ).*", re.M
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

    def page_files(self) -> dict[str, bytes]:
        """What a site has of it, by name: the part with which a widget starts comes first."""
        start = {f"first.{self.page_name}": self.first.read_bytes()} if self.first else {}
        return start | {self.page_name: self.default()}


class BookWidget(anywidget.AnyWidget):
    """A widget of the book: subclass it in the room NAME, beside NAME.js and NAME.css, as the class called Name."""

    module: str  # what a notebook loads

    def __init_subclass__(cls, **kwargs):
        if cls.__base__ is BookWidget:  # and not a class that traitlets derives for one instance
            cls.name = room(cls.__name__)
            own = ROOMS / cls.name / cls.name
            cls._esm = cls.module = one_module(own.with_suffix(".js"))
            cls._css = _shared_style() + own.with_suffix(".css").read_text("utf-8")
        super().__init_subclass__(**kwargs)

    _words = traitlets.Dict().tag(sync=True)

    @traitlets.default("_words")
    def _words_of_its_edition(self) -> dict:
        return self.script_words()

    def __init__(self, **traits):
        if unknown := traits.keys() - self.trait_names():
            raise TypeError(f"{type(self).__name__} has no {', '.join(unknown)}; it takes {', '.join(self.inputs())}")
        super().__init__(**traits)

    @classmethod
    def inputs(cls) -> dict[str, traitlets.TraitType]:
        """The widget's own traits: what JavaScript reads and the reader changes."""
        inherited = anywidget.AnyWidget.class_traits()
        return {n: t for n, t in cls.class_traits(sync=True).items() if n not in inherited and not n.startswith("_")}

    @classmethod
    def early_assets(cls) -> list[str]:
        """The files that it needs to start, by their names on the site."""
        assets = [t for t in cls.inputs().values() if isinstance(t, Asset) and not t.later]
        return [next(iter(asset.page_files())) for asset in assets]

    @classmethod
    def edition_words(cls) -> dict:
        """The texts that the widget says, by their ids, in the language spoken now."""
        return language.marks() | language.words(SHARED) | language.words(ROOMS / cls.name)

    @classmethod
    def script_words(cls) -> dict:
        """Of these, what its script may say: not the widget's name, nor the shared texts that it never mentions."""
        unsaid = {name for name in language.words(SHARED) if f".{name}" not in cls.module} | {"name"}
        return {name: text for name, text in cls.edition_words().items() if name not in unsaid}

    def table(self) -> str:
        """What the widget shows, as an HTML table: for a page without JavaScript, a printout, a screen reader."""
        raise NotImplementedError(f"{type(self).__name__} needs a table()")

    def page_html(self) -> str:
        """The widget as a part of a page: host.js makes it live, the table stands in where it can't."""
        state = {n: t.page_name if isinstance(t, Asset) else getattr(self, n) for n, t in self.inputs().items()}
        return (
            f'<div class="ab-widget" data-afm="{self.name}"><div class="ab-fallback">{self.table()}</div>'
            f'<script type="application/json">{_json(state)}</script></div>'
        )

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:  # an old ipywidgets shows itself
            return None
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return data | {"text/html": self.page_html(), "text/plain": repr(self)}, metadata

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def page_words(kinds: Iterable[type[BookWidget]]) -> str:
    """The words of the widgets of a page, each kind's once, for host.js."""
    return "".join(
        f'<script type="application/json" data-words="{kind.name}">{_json(kind.script_words())}</script>'
        for kind in kinds
    )


def _json(content: dict) -> str:
    """JSON that can stand in a page."""
    return json.dumps(content, ensure_ascii=False).replace("<", "\\u003c")


def page_files() -> dict[str, bytes]:
    """Everything the widgets need on a site, by the name it has there (under `_static/widgets/`)."""
    files = sorted(path for path in ROOMS.glob("*/*") if path.suffix in (".js", ".css"))
    code = {path.relative_to(ROOMS).as_posix(): _without_comments(path).encode() for path in files}
    style = {"shared/base.css": _shared_style().encode()}
    assets = [t for widget in all_widgets() for t in widget.inputs().values() if isinstance(t, Asset)]
    return code | style | {name: content for asset in assets for name, content in asset.page_files().items()}


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


def _without_comments(path: Path) -> str:
    """A script or style as it travels: the lines that only comment stay at home, and with them a good tenth."""
    return _COMMENT.sub("", path.read_text("utf-8"))


def _shared_style() -> str:
    """The style of all widgets: the palettes, and what uses them."""
    return css() + (SHARED / "base.css").read_text("utf-8")


def one_module(path: Path) -> str:
    """The ES module `path` with what it imports inside it, since Jupyter loads a widget from a single text.

    Each `import { a } from "../shared/x.js";` becomes the module x itself, in a function.
    """
    parts: dict[str, str] = {}

    def inline(path: Path) -> str:
        text = _IMPORT.sub(partial(bind, path.parent), _without_comments(path))
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


def painted(cells: Iterable[Sequence[int]], L: int, M: int) -> Tensor:
    """True in each of the cells (row, column) that lie within L × M.

    >>> painted([[0, 1], [7, 7], [-1, 0]], 2, 2).tolist()
    [[False, True], [False, False]]
    """
    mask = torch.zeros(L, M, dtype=torch.bool)
    for i, j in cells:
        if 0 <= i < L and 0 <= j < M:
            mask[i, j] = True
    return mask


class Verbatim(str):
    """Data in a table, such as a token: the same in every language."""


def html_table(caption: str, columns: Sequence[str], rows: Iterable[tuple[str, Iterable[str]]]) -> str:
    """An HTML table with a heading for every column and row.

    >>> html_table("Weights", ["cat"], [("the", ["0.50"])])
    '<table><caption>Weights</caption><tr><td></td><th scope="col">cat</th></tr>\
<tr><th scope="row">the</th><td>0.50</td></tr></table>'
    """

    def cell(text: str, tag: str = "td", attributes: str = "") -> str:
        kept = ' translate="no"' if isinstance(text, Verbatim) else ""
        return f"<{tag}{attributes}{kept}>{html.escape(text)}</{tag}>"

    head = "".join(cell(name, "th", ' scope="col"') for name in columns)
    lines = (cell(name, "th", ' scope="row"') + "".join(map(cell, cells)) for name, cells in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><caption>{html.escape(caption)}</caption><tr><td></td>{head}</tr>{body}</table>"
