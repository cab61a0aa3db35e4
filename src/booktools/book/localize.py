"""Pages in the language of their edition: texts from its translation, labels of figures, widgets' tables."""

from pathlib import Path

from attnbook.language import ENGLISH, language
from booktools.book.translation import translate
from booktools.book.widget_html import remake_widgets


def localize(notebook, page: str, root: Path):
    """A notebook of the book, whose path in it is `page`, in the language spoken now."""
    translate(notebook, page, root)
    if language() != ENGLISH:  # stored outputs are English
        from booktools.book.figure_labels import figures_of, read_table, relabel  # which load Matplotlib

        if table := read_table(root, page):
            for data in figures_of(notebook):
                data["image/svg+xml"] = relabel(data["image/svg+xml"], table)
        for cell in notebook.cells:
            for output in cell.get("outputs", []):
                if html := output.get("data", {}).get("text/html"):
                    output.data["text/html"] = remake_widgets(html, _localized_widget)
    return notebook


def _localized_widget(name: str, state: dict) -> str:
    """A widget with its table in the language spoken now."""
    from attnbook.widgets import all_widgets  # which loads torch, and nothing in English needs it
    from attnbook.widgets.shared.files import Asset

    kind = next(kind for kind in all_widgets() if kind.name == name)
    traits = {trait: state[trait] for trait, about in kind.inputs().items() if not isinstance(about, Asset)}
    return kind(**traits).page_html()
