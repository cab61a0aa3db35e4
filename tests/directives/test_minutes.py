"""The minutes of a chapter are counted: what is read, touched and done changes them, and nothing else does."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from booktools.book.edition import edition
from booktools.directives.minutes import Minutes
from tests import ROOT

TEXT = "word " * 180
WIDGET = new_output("display_data", {"text/html": '<div class="ab-widget" data-afm="scale_lab"></div>'})
EXERCISE = "```{exercise} One\n:label: ch05-ex-one\nTry.\n```"


def chapter(*cells):
    return new_notebook(cells=[new_markdown_cell(f"# 5. Dots\n\n{TEXT * 10}"), new_code_cell("1"), *cells])


def text(source):
    return new_markdown_cell(source)


def code(source="1", tags=(), outputs=()):
    return new_code_cell(source, metadata={"tags": list(tags)}, outputs=list(outputs))


BEFORE = Minutes(words=1801, cells=2, reading=11, touching=0, exercises=0)  # 1,801 words and two cells


def test_the_rule():
    assert Minutes.of(chapter(code())) == BEFORE


@pytest.mark.parametrize(
    ("cells", "more"),
    [
        ([text(TEXT)], (1, 0, 0)),
        ([text(f":::{{note}}\n{TEXT}\n:::")], (1, 0, 0)),
        ([code(), code()], (1, 0, 0)),
        ([code(tags=["remove-input"], outputs=[WIDGET])], (0, 3, 0)),
        ([text("```{widget} scale_lab.ScaleLab\n```")], (0, 3, 0)),
        ([text(EXERCISE)], (0, 0, 7)),
        ([text("## Exercises"), text(EXERCISE), code(), text(TEXT)], (0, 0, 7)),
        ([text(f"{TEXT}\n\n## Exercises\n\n{TEXT}\n\n{EXERCISE}\n\n{EXERCISE}")], (1, 0, 14)),
    ],
)
def test_what_counts(cells, more):
    got = Minutes.of(chapter(code(), *cells))
    assert (got.reading, got.touching, got.exercises) == tuple(
        had + added for had, added in zip((11, 0, 0), more, strict=True)
    )


@pytest.mark.parametrize(
    "cell",
    [
        text(f":::{{admonition}} Answer\n:class: dropdown\n{TEXT}\n:::"),
        text(f"```{{solution}} ch05-ex-one\n:class: dropdown\n{TEXT}\n```"),
        text(f"~~~text\n{TEXT}\n~~~"),
        text(f"| {TEXT} |\n|---|\n| {TEXT} |"),
        text(f"$$\n{TEXT}\n$$"),
        text("$x$ `code` " * 100),
        text(f"## Going further\n\n{TEXT}"),
        code("import torch", tags=["hide-input"]),
        code("assert x", tags=["checks"]),
    ],
)
def test_what_does_not_count(cell):
    assert Minutes.of(chapter(code(), cell)) == BEFORE


def test_our_solution_counts_though_it_is_folded():
    cells = [code(), code("x = 1", tags=["ours"])]
    assert Minutes.of(chapter(*cells)).cells == Minutes.of(chapter(*cells[:1])).cells + 1


@pytest.mark.parametrize("chapter", edition(ROOT).chapters, ids=lambda chapter: chapter.stem)
def test_a_chapter_is_an_evening(chapter):
    minutes = Minutes.read(chapter.path)
    assert 15 <= minutes.reading <= 60
    assert minutes.touching >= 3
    assert minutes.exercises >= 42


def test_a_guess_counts_unless_it_is_folded():
    asked = f":::{{guess}}\n{TEXT}\n:::"
    assert Minutes.of(chapter(code(), text(asked))).reading == 12
    assert Minutes.of(chapter(code(), text(asked.replace("{guess}\n", "{guess}\n:class: dropdown\n")))) == BEFORE
