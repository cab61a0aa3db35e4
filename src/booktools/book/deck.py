"""A deck: what of a chapter goes on a wall, in an outline of its own, `slides/05_dots.slides.md`.

    ## A score of 0 is not a weight of 0

    ```{take} hand-weights
    :show: output
    ```
    +++
    A little: 9 %.

    +++ notes hand-weights-remark
    Ask for hands first.

A heading starts a slide; the first one has the chapter's title, and what stands before all headings. `take` brings a
cell of the chapter by its id: `show` code or output alone, `cut` it to lines, light `lines` one step after the other
(`1|2-4`), `set` a widget's state; of a text, the `nth` `part` of a kind, and of a formula `only` a piece.

`+++` ends what is seen at first: what follows comes with the next key. With a word it does something else:

    +++ instead            what follows takes the place of what came last
    +++ beside             a second column
    +++ set {scale: none}  a step at which the slide's widget changes
    +++ minutes 3          how long the slide takes, else one
    +++ pairs 2            the same, and a clock that runs for pairs
    +++ notes id, id/part  what only the speaker sees: cells, and words of one's own

No number is typed that the chapter doesn't say: each has to stand in a cell that its slide takes or notes.
"""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from textwrap import dedent

import nbformat
import yaml
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook

from attnbook.language import words
from attnbook.telling import numbers_in
from attnbook.widgets import all_widgets
from booktools.book import HERE, BookError
from booktools.book.contents import Chapter
from booktools.book.edition import Edition
from booktools.book.excerpt import part, spoken
from booktools.book.myst import Directive, blocks, lines_of
from booktools.book.widget_html import widgets_shown_by

FOLDS = {"hide-input", "hide-output", "checks", "ours"}  # a slide shows what it is asked for
SHOWS = {"": [], "output": ["remove-input"], "code": ["remove-output"]}
OPTIONS = {"code": {"show", "lines", "cut", "set"}, "markdown": {"part", "nth", "only"}}
COMMANDS = ("instead", "beside", "set", "minutes", "pairs", "notes")


@dataclass
class Slide:
    """A slide: the cells it is made of, and what is known of it."""

    title: str
    cells: list[NotebookNode] = field(default_factory=list)
    words: list[str] = field(default_factory=list)  # the outline's own, on the wall
    notes: list[str] = field(default_factory=list)  # the outline's own, for the speaker
    leans: list[NotebookNode] = field(default_factory=list)  # cells of the chapter that it takes or notes
    widget: str = ""  # the name of the one that it shows
    states: list[tuple[str, dict]] = field(default_factory=list)  # its widget's name and state, step by step
    minutes: int = 1


@dataclass(frozen=True)
class Deck:
    chapter: Chapter
    slides: list[Slide]

    @property
    def minutes(self) -> int:
        return sum(slide.minutes for slide in self.slides)

    @classmethod
    def read(cls, edition: Edition, chapter: Chapter) -> "Deck":
        """The deck of a chapter; where its outline asks for what the chapter doesn't have, the error says what."""
        page = edition.decks[chapter.stem]
        outline = Outline(edition.notebook(edition.page_of(chapter)).cells)
        slides = []
        try:
            for slide in outline.slides(f"# {chapter.title}\n\n{edition.text(page)}"):
                slides.append(slide)
                if strange := _untied(slide):
                    raise BookError(f"it says {strange}, and no cell that it takes or notes does")
        except (BookError, ValueError, yaml.YAMLError) as why:
            at = outline.slide.title
            raise BookError(f"{page}, slide {at!r}: {why}.") from why
        return cls(chapter, slides)

    def notebook(self) -> NotebookNode:
        """A notebook that Sphinx reads as it reads a chapter."""
        about = words(HERE)["deck"].format(title=self.chapter.title)
        made = new_notebook(metadata={"description": about, "orphan": True, "deck": True})
        made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
        made.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
        made.cells = [cell for slide in self.slides for cell in slide.cells]
        made.cells.append(_mark("chapter"))
        for place, cell in enumerate(made.cells):
            cell.id = f"slide-{place}"
        return made


class Outline:
    """Reads an outline, slide by slide, with the cells of its chapter."""

    def __init__(self, cells: list[NotebookNode]):
        self.cells = {cell.id: cell for cell in cells}
        self.slide = Slide("")

    def slides(self, text: str) -> Iterator[Slide]:
        lines, end, noting = text.split("\n"), 0, False
        for block in blocks(text):
            is_heading, is_break = block.type == "heading", block.type == "myst_block_break"
            named = Directive.of(block) if "fence" in block.type else None
            if not (is_heading or is_break or (named and named.name == "take")):
                continue
            first, last = lines_of(block)
            self.say("\n".join(lines[end:first]), noting)
            end = last
            if is_heading:
                if self.slide.cells:
                    yield self.slide
                self.slide, noting = Slide(block.content), False
                self.say("\n".join(lines[first:last]), noting)
            elif named:
                self.take(named)
            else:
                noting = self.command(*block.content.partition(" ")[::2])
        self.say("\n".join(lines[end:]), noting)
        yield self.slide

    def say(self, text: str, noting: bool) -> None:
        """Words of the outline's own."""
        if text.strip():
            self.slide.cells.append(new_markdown_cell(text.strip()))
            (self.slide.notes if noting else self.slide.words).append(text.strip())

    def command(self, name: str, rest: str) -> bool:
        """Do what stands behind `+++`; whether what follows is for the speaker alone."""
        if name not in ("", *COMMANDS):
            raise BookError(f"after +++ stands nothing, or one of {', '.join(COMMANDS)}; got {name!r}")
        if name in ("minutes", "pairs"):
            if not rest.isdigit():
                raise BookError(f"+++ {name} is followed by an integer, got {rest!r}")
            self.slide.minutes = int(rest)
        if name == "set":
            rest = self.state(rest)
        self.slide.cells.append(_mark(name or "step", rest))
        if name == "notes":
            for asked in re.findall(r"[^\s,]+", rest):
                cell, _, which = asked.partition("/")
                kind, _, nth = which.partition("/")
                source = self.lean(cell).source
                self.bring(spoken(part(source, kind, int(nth or 1)) if kind else source))
        return name == "notes"

    def state(self, asked: str) -> str:
        """What the state of the slide's widget becomes, as JSON."""
        told = yaml.safe_load(asked)
        if not self.slide.widget:
            raise BookError("+++ set and :set: change a widget, and this slide has taken none so far")
        kind = next(kind for kind in all_widgets() if kind.name == self.slide.widget)
        if not isinstance(told, dict) or not told or set(told) - set(kind.inputs()):
            known = ", ".join(kind.inputs())
            raise BookError(f"{kind.__name__} is set by {{name: value}}, of the names {known}; got {asked}")
        before = self.slide.states[-1][1] if self.slide.states else {}
        self.slide.states.append((kind.name, before | told))
        return json.dumps(told)

    def lean(self, name: str) -> NotebookNode:
        if name not in self.cells:
            raise BookError(f"it asks for the cell {name}, which its chapter doesn't have")
        self.slide.leans.append(self.cells[name])
        return self.cells[name]

    def bring(self, text: str) -> None:
        """Words of the chapter, whose links lead where they led."""
        if text:
            self.slide.cells.append(new_markdown_cell(re.sub(r"\]\((?=\d\d_)", "](../chapters/", text)))

    def take(self, asked: Directive) -> None:
        """Put a cell on the slide, or the part of it that is asked for."""
        options, cell = asked.options, self.lean(asked.argument)
        known = OPTIONS[cell.cell_type]
        if strange := {*options} - known:
            kind = "code" if cell.cell_type == "code" else "text"
            told = f"of a cell of {kind} take knows {', '.join(sorted(known))}"
            raise BookError(f"{told}; {asked.argument} got {', '.join(sorted(strange))}")
        if cell.cell_type == "code":
            self.take_code(cell, options)
            return
        kind, only = options.get("part", ""), options.get("only", "")
        text = part(cell.source, kind, int(options.get("nth", 1))) if kind else cell.source
        if only not in text:
            raise BookError(f"the {kind} of {asked.argument} does not hold {only}")
        self.bring(f"$$\n{only}\n$$" if only else text)

    def take_code(self, cell: NotebookNode, options: dict[str, str]) -> None:
        """Put a cell of code on the slide; lines are lit in it, and what is set is its widget."""
        shown, (show, lines) = _shown(cell, options), map(options.get, ("show", "lines"))
        if lines and show == "output":
            raise BookError(f"lines are lit in code, and of {cell.id} only the output is shown")
        if lines:
            self.slide.cells.append(_mark("lines", _lit(shown.source, lines)))
        self.slide.cells.append(shown)
        names = [] if show == "code" else widgets_shown_by(cell)
        if names and self.slide.widget:
            raise BookError(
                f"a slide has room for one widget; it has {self.slide.widget}, and {cell.id} brings another"
            )
        self.slide.widget = self.slide.widget or "".join(names)
        if "set" in options and not names:
            raise BookError(f":set: changes the widget of its own cell, and what is taken of {cell.id} shows none")
        if "set" in options:
            self.slide.cells.append(_mark("first", self.state(options["set"])))


def _shown(cell: NotebookNode, options: dict[str, str]) -> NotebookNode:
    """A cell of code as a slide shows it: unfolded, with what it is asked for, and what is said of its figure."""
    if (show := options.get("show", "")) not in SHOWS:
        raise BookError(f"show is followed by code or output, got {show!r}")
    cell = deepcopy(cell)
    tags = [tag for tag in cell.metadata.get("tags", []) if tag not in FOLDS]
    said = {name: value for name, value in cell.metadata.get("mystnb", {}).items() if name == "image"}
    cell.metadata = nbformat.from_dict({"tags": [*tags, *SHOWS[show]], "mystnb": said})
    if cut := options.get("cut"):
        start, _, end = cut.partition("-")
        lines = cell.source.split("\n")
        if not 0 < int(start) <= int(end or start) <= len(lines):
            raise BookError(f"cut asks for lines {cut} of {len(lines)}")
        cell.source = dedent("\n".join(lines[int(start) - 1 : int(end or start)]))
    return cell


def _lit(source: str, lines: str) -> str:
    """Lines as a page counts them, which has one blank line where the code has two.

    >>> _lit("import math\\n\\n\\ndef f(): ...", "1|4")
    '1|3'
    """

    def on_page(line: re.Match) -> str:
        before = source.split("\n")[: int(line[0])]
        if len(before) < int(line[0]):
            raise BookError(f"lines asks for line {line[0]} of {len(before)}")
        return str(len("\n".join(before).replace("\n\n\n", "\n\n").split("\n")))

    return re.sub(r"\d+", on_page, lines)


def _mark(kind: str, told: str = "") -> NotebookNode:
    """What `directives/slide` makes boxes of."""
    return new_markdown_cell(f"```{{slide}} {kind}\n{told}\n```")


def _untied(slide: Slide) -> str:
    """The first number in the outline's own words that no cell of its slide says; notes may count to twelve."""
    said = [number.value for cell in slide.leans for text in _texts(cell) for number in numbers_in(text)]
    for texts, is_wall in ((slide.words, True), (slide.notes, False)):
        for written in numbers_in(_unmarked(" ".join(texts))):
            is_said = any(written.fits(value) or value == written.value for value in said)
            if not is_said and (is_wall or not written.aside):
                return written.text
    return ""


def _texts(cell: NotebookNode) -> Iterator[str]:
    yield _unmarked(cell.source)
    for output in cell.get("outputs", ()):
        yield _unmarked(str(output.get("text") or output.get("data", {}).get("text/plain", "")))


def _unmarked(text: str) -> str:
    """A text without the signs of code and formulas, behind which its numbers hide, and without what a guess hides.

    >>> _unmarked("$2\\\\cdot1 = x_{2}$, [1,024; 0.5]\\n:hides: 0").split()
    ['2', '1', 'x', '2', '1,024', '0.5']
    """
    return re.sub(r"(?m)^:hides:.*$|\\[A-Za-z]+|,(?!\d{3}\b)|[\[\](){};$^_=*`|]", " ", text)
