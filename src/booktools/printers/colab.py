"""The Colab edition: a chapter that installs the book's package first, in Markdown that Colab knows."""

from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path

import nbformat

from attnbook.language import words
from booktools.book import BookError
from booktools.book.cell_kinds import fold_in_colab
from booktools.book.contents import Chapter
from booktools.book.edition import Edition
from booktools.book.myst import Directive, blocks, lines_of
from booktools.book.widget_html import drop_states
from booktools.printers.plain import Plain
from booktools.printers.setup_cells import set_up, setup_cell
from booktools.progress import progress

HERE = Path(__file__).parent


def for_colab(notebook, page: str, edition: Edition):
    """The Colab notebook of a chapter; `page` is its path in the repository. Code cells stay as they are, but for a
    title on those that are folded. Where the peer is missing, those that compare with it fail, and the next one runs.
    """
    plain = Plain(page, edition)
    notebook = deepcopy(notebook)
    notebook.cells = [part for cell in notebook.cells for part in apart(cell)]
    for cell in markdown(notebook):  # a first reading: a list of references must know what is cited after it
        convert(cell, plain)
    for cell in markdown(notebook):
        cell.source = convert(cell, plain)
    for cell in notebook.cells:
        fold_in_colab(cell)
        if cell.cell_type == "code" and "peers.d2l()" in cell.source:
            cell.metadata["tags"] = [*cell.metadata.get("tags", []), "raises-exception"]
    title, *written = [cell for cell in notebook.cells if cell.source]
    for cell in written:
        for output in cell.get("outputs", []):
            if html := output.get("data", {}).get("text/html"):
                output.data["text/html"] = drop_states(html)
    notebook.cells = [title, *(part for cell in written for part in (cell, *captions(cell, plain)))]
    note = words(HERE)["colab"].format(chapter=plain.link("", Path(page).name))
    set_up(notebook, note, setup_cell(edition, notebook, peer=True))
    folded = [cell.id for cell in written if cell.metadata.get("jp-MarkdownHeadingCollapsed")]
    notebook.metadata.pop("attnbook", None)  # what the chapter is, which the site tells
    notebook.metadata["colab"] = {"toc_visible": True, "collapsed_sections": folded}
    nbformat.validate(notebook)
    return notebook


def markdown(notebook) -> list:
    return [cell for cell in notebook.cells if _is_markdown(cell)]


def _is_markdown(cell) -> bool:
    return cell.cell_type == "markdown"


def apart(cell) -> list:
    """A cell in which a solution with code begins, as three: what is before, a heading that is folded, the solution."""
    starts = (
        [lines_of(block) for block in blocks(cell.source) if _is_solution_start(block)] if _is_markdown(cell) else []
    )
    if not starts:
        return [cell]
    lines = cell.source.split("\n")
    start, end = starts[0]
    cell.source = "\n".join(lines[:start])
    name = f"{cell.id}-folded"
    folded = {"id": name, "jp-MarkdownHeadingCollapsed": True}  # Colab goes by the name, JupyterLab by the mark
    heading = nbformat.v4.new_markdown_cell("\n".join(lines[start:end]), id=name, metadata=folded)
    return [cell, heading, nbformat.v4.new_markdown_cell("\n".join(lines[end:]), id=f"{name}-text")]


def captions(cell, plain: Plain) -> list:
    """The caption of what a cell draws, as a cell after it: only the site reads metadata."""
    figure = cell.metadata.get("mystnb", {}).get("figure")
    if not figure:
        return []
    text = plain.caption(figure["name"], figure["caption"])
    return [nbformat.v4.new_markdown_cell(text, id=f"{cell.id}-caption")]


def _is_solution_start(block) -> bool:
    directive = Directive.of(block) if block.type in ("fence", "colon_fence") else None
    return directive is not None and directive.name == "solution-start"


def convert(cell, plain: Plain) -> str:
    try:
        return plain.convert(cell.source)
    except BookError as error:
        raise BookError(f"{plain.page}, cell {cell.id}: {error}") from None


def write_notebooks(edition: Edition, folder: Path, chapters: Iterable[Chapter] | None = None) -> list[Path]:
    """Write the Colab notebooks of chapters, or of all, into a folder; where they went."""
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    with edition.spoken():
        for chapter in progress(edition.chapters if chapters is None else list(chapters), "writing notebooks"):
            page = edition.page_of(chapter)
            nbformat.write(for_colab(edition.notebook(page), page, edition), folder / chapter.path.name)
            written.append(folder / chapter.path.name)
    return written
