"""One class, three places: an anywidget in Jupyter and Colab, a self-running part of a page, else a table.

A widget has a room, the folder NAME: its Python (a `BookWidget` of traits and a table), NAME.js (one ES module that may
import from ../shared) and NAME.css. Its traits are inputs only, never results: JavaScript computes, tests compare with
PyTorch.
"""

import html
import json
from collections.abc import Iterable
from pathlib import Path

import anywidget
import traitlets

from attnbook import language
from attnbook._inputs import check_options
from attnbook.widgets import room
from attnbook.widgets.shared.files import ROOMS, SHARED, Asset, for_a_notebook, one_module, style_of, without_comments


class BookWidget(anywidget.AnyWidget):
    """A widget of the book: subclass it in the room NAME, beside NAME.js and NAME.css, as the class called Name."""

    module: str  # all of its script
    sheet: str  # and of its style

    def __init_subclass__(cls, **kwargs):
        if cls.__base__ is BookWidget:  # and not a class that traitlets derives for one instance
            cls.name = room(cls.__name__)
            own = ROOMS / cls.name / cls.name
            cls.module, cls.sheet = one_module(own.with_suffix(".js")), style_of(own.with_suffix(".css"))
            cls._esm, cls._css = for_a_notebook(cls.name, cls.module, own.with_suffix(".css"))
        super().__init_subclass__(**kwargs)

    _words = traitlets.Dict().tag(sync=True)

    @traitlets.default("_words")
    def _words_of_its_edition(self) -> dict:
        return self.script_words()

    def __init__(self, **traits):
        check_options(type(self).__name__, traits.keys() - self.trait_names(), [*self.inputs()])
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
        """Of these, what its script may say: not its name and table, nor the shared texts that it never mentions."""
        unsaid = {name for name in language.words(SHARED) if f".{name}" not in cls.module} | {"name", "table"}
        return {name: text for name, text in cls.edition_words().items() if name not in unsaid}

    def table(self) -> str:
        """What the widget shows, as an HTML table: for a page without JavaScript, a printout, a screen reader."""
        raise NotImplementedError(f"{type(self).__name__} needs a table()")

    def save(self, path: str | Path) -> Path:
        """The widget as a file NAME.html to keep or to send, as it is now; it needs no Python and no network."""
        path = Path(path)
        if path.suffix != ".html":
            raise ValueError(f"path must end in .html, got {str(path)!r}.")
        if "import(" in self.module:
            raise ValueError(
                f"{type(self).__name__} can't be one file: it loads parts of the site when they are needed."
            )
        path.write_text(alone(self), "utf-8")
        return path

    def page_html(self, *, whole: bool = False) -> str:
        """The widget as a part of a page: host.js makes it live, the table stands in where it can't.

        Its data are files beside the page, or inside it if it is the `whole` page.
        """
        state = {
            name: (trait.inside() if whole else trait.page_name) if isinstance(trait, Asset) else getattr(self, name)
            for name, trait in self.inputs().items()
        }
        return (
            f'<div class="ab-widget" data-afm="{self.name}"><div class="ab-fallback">{self.table()}</div>'
            f'<script type="application/json">{as_json(state)}</script></div>'
        )

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:  # an old ipywidgets shows itself
            return None
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return data | {"text/html": self.page_html(), "text/plain": repr(self)}, metadata

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def alone(widget: BookWidget) -> str:
    """A page of nothing but the widget, as it is now, with all that it needs. It opens from a disk."""
    host = without_comments(SHARED / "host.js").replace("export async function", "async function")
    module = widget.module.replace("export default", "return")
    node = widget.page_html(whole=True).replace(
        "<div", "<div data-mounted", 1
    )  # by the script below, and not by its host
    return (
        f'<!DOCTYPE html><html lang="{language.language()}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(widget.edition_words()['name'])}</title><style>{widget.sheet}"
        "body { max-inline-size: 62rem; margin: 1rem auto; padding: 0 1rem }</style></head>"
        f"<body>{node}{page_words([type(widget)])}"
        f'<script type="module">{host}\nconst widget = (() => {{\n{module}\n}})();\n'
        'mount(document.querySelector("[data-afm]"), { default: widget });</script></body></html>'
    )


def page_words(kinds: Iterable[type[BookWidget]]) -> str:
    """The words of the widgets of a page, each kind's once, for host.js."""
    return "".join(
        f'<script type="application/json" data-words="{kind.name}">{as_json(kind.script_words())}</script>'
        for kind in kinds
    )


def as_json(content: dict) -> str:
    """JSON that can stand in a page."""
    return json.dumps(content, ensure_ascii=False).replace("<", "\\u003c")
