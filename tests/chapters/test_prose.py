"""No number in words is typed: each comes from an output above it, from code, or from a `says`."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests import ROOT
from tests.chapters.prose import numbers_to_check, numbers_without_source, phrases_not_found, prose, sections

CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))


def complaints(notebook):
    for section in sections(notebook):
        for phrase in phrases_not_found(section):
            yield f"“{section.title}”: says({phrase!r}, …) stands in its words nowhere; the text must be as there"
        for number, around in numbers_without_source(section):
            yield f"“{section.title}”: where does {number} come from? (… {around} …) Print it above, or says it"


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_number_comes_from_somewhere(path):
    found = list(complaints(nbformat.read(path, as_version=4)))
    assert not found, "\n".join(found)


# The rule, tried


ANSWER = """:::{admonition} What you should have seen
:class: dropdown
1. It writes `1913-11-12`, with 0.99.
:::"""
SOLUTION = """```{solution} ch05-ex-one
:class: dropdown
They are 124,439,808.
```"""
TABLE = """| rows | share |
|---|---|
| 25 | 2.12 |"""
GUESS = """:::{guess}
:because: Of 40, 7 are wrong.
How many of 40?

- 17
- 33 {right}`✓`
:::"""


def sound():
    caption = {"figure": {"caption": "The curve ends at 0.75."}, "image": {"alt": "A curve that rises to 0.75."}}
    return new_notebook(
        cells=[
            new_markdown_cell("# 5. Dots\n\nIn 2017 {cite:p}`vaswani2017`, see chapter 13, of shape (2, 11)."),
            new_code_cell("Widget()", metadata={"tags": ["remove-input"]}),
            new_markdown_cell(ANSWER),
            new_code_cell('says("`1913-11-12`", w)\nsays("with 0.99", p)', metadata={"tags": ["checks"]}),
            new_markdown_cell("## Scores\n\nThe scores of 30,000 draws:"),
            new_code_cell("draw(30_000)", outputs=[new_output("stream", text="scores 7.88 and 2.12\n")]),
            new_code_cell('says("9 % of all", share)', metadata={"tags": ["checks"]}),
            new_markdown_cell(f"They are 7.88 and 2.12; 9 % of all. $x = 3.14$\n\n{TABLE}\n\n{GUESS}"),
            new_code_cell("rows(25, 40), 33"),
            new_code_cell("plot()", metadata={"mystnb": caption}),
            new_code_cell('says("ends at 0.75", y)\nsays("rises to 0.75", y)', metadata={"tags": ["checks"]}),
            new_markdown_cell(f"## Exercises\n\n{SOLUTION}"),
            new_code_cell('says("124,439,808", n)', metadata={"tags": ["checks"]}),
        ]
    )


def test_the_sound_notebook_is_sound():
    assert list(complaints(sound())) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("9 % of all. $", "19 % of all. $", "where does 19 % come from"),
        ("are 7.88", "are 6.88", "where does 6.88 come from"),
        ("`1913-11-12`, with", "`1913-11-13`, with", "where does 1913-11-13 come from"),
        ("with 0.99", "with 0.98", "where does 0.98 come from"),
        ("curve ends at 0.75", "curve ends at 0.85", "where does 0.85 come from"),
        ("rises to 0.75", "rises to 0.57", "where does 0.57 come from"),
        ("They are 124,439,808", "They are 117,439,808", "where does 117439808 come from"),
        ("| 25 | 2.12 |", "| 25 | 2.21 |", "where does 2.21 come from"),
        ("| 25 | 2.12 |", "| 52 | 2.12 |", "where does 52 come from"),
        ("33 {right}", "34 {right}", "where does 34 come from"),
        ("of 40?", "of 48?", "where does 48 come from"),
        ("Of 40, 7", "Of 47, 7", "where does 47 come from"),
        ("30,000 draws", "20,000 draws", "where does 20000 come from"),
        ("In 2017 {", "In 20,170 {", "where does 20170 come from"),
    ],
)
def test_a_changed_number_is_found(old, new, said):
    notebook = sound()
    changed = 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and old in cell.source:
            cell.source, changed = cell.source.replace(old, new), changed + 1
        for part in cell.metadata.get("mystnb", {}).values():
            for name, text in part.items():
                part[name], changed = text.replace(old, new), changed + (old in text)
    assert changed == 1
    assert said in "\n".join(complaints(notebook))


def test_a_phrase_of_another_section_is_found():
    notebook = sound()
    notebook.cells.append(new_code_cell('says("9 % of all", share)', metadata={"tags": ["checks"]}))
    assert "says('9 % of all', …) stands in its words nowhere" in "\n".join(complaints(notebook))


def test_a_number_below_which_it_is_printed_does_not_count():
    notebook = sound()
    notebook.cells[4].source += "\n\nThey will be 7.88."
    assert "where does 7.88 come from" in "\n".join(complaints(notebook))


def test_code_that_only_checks_is_no_source():
    notebook = sound()
    notebook.cells[4].source += "\n\nNearly 0.333."
    notebook.cells.insert(5, new_code_cell("assert x < 0.333", metadata={"tags": ["checks"]}))
    assert "where does 0.333 come from" in "\n".join(complaints(notebook))


@pytest.mark.parametrize(
    ("source", "numbers"),
    [
        ("Between 1950 and 2049, GPT-2 and T5, the 23rd, [D2L 11.7](x.html), mistake 2, exercises 3 and 14", []),
        ("`x_B1` of `11/12/13` in `[:-1]` and `23rd of october 1962`", ["11/12/13"]),
        ("$0.9^8 = 0.43$ and {eq}`eq-17` and {cite:p}`dong2021`\n\n$$\nx = 99\n$$\n\n```\n77\n```", []),
        ("- one in 20\n- 5 % of 12\n\n| 0.5 |\n|---|\n| 13 |", ["20", "5 %", "0.5", "13"]),
        ("```{exercise} Of 100\n:label: ch05-ex-77\nWhy 0.25?\n```", ["100", "0.25"]),
    ],
)
def test_which_numbers_are_asked_for(source, numbers):
    assert [number for number, *_ in numbers_to_check(prose(source))] == numbers
