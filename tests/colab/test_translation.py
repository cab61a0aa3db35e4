"""Chapters in another language: texts by cell, beside the English, with the hash of what was translated."""

import json
import re
import subprocess
from copy import deepcopy
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attnbook import plots
from attnbook.language import PSEUDO, speaking, words
from attnbook.plots.renderings import light
from attnbook.widgets import PaintMask
from booktools import cli
from booktools.book import BookError
from booktools.book.contents import edition_language, read_notebook
from booktools.book.edition import Edition
from booktools.book.localize import localize
from booktools.book.translation import digest, translate, translate_page
from booktools.directives import assignment, exercise
from booktools.printers import colab, setup_cells, student
from tests import ROOT
from tests.pseudo import linked_book, translate_pages
from tests.widgets.forgotten import forgotten_in_table, left_over

PAGE = "chapters/05_dots.ipynb"
TITLE, WHY = "# 5. Dots", "Why divide?\n\n- Because."
WHY_ZH = "为什么除？\n\n- 因为。"
CODE = "x = 1  # why divide?\n'# 5. Dots'"


def small():
    shown = new_output("execute_result", {"text/html": PaintMask().page_html()}, execution_count=1)
    figure = {"image": {"alt": "Two dots."}, "figure": {"caption": "Dots meet.", "name": "ch05-fig-dots"}}
    cells = [
        new_markdown_cell(TITLE, id="title"),
        new_code_cell(CODE, id="code", outputs=[shown], metadata={"mystnb": figure}),
        new_markdown_cell(WHY, id="why"),
        new_markdown_cell("Not yet.", id="late"),
    ]
    return new_notebook(cells=cells, metadata={"description": "On dots."})


def write(root, text, page=PAGE, tag="zh"):
    path = (root / "translations" / tag / page).with_suffix(".md")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def block(name, english, text):
    return f"+++ {name} {digest(english)}\n\n{text}\n\n"


def in_chinese(root):
    with speaking("zh"):
        return translate(small(), PAGE, root)


def test_texts_are_translated_and_code_is_not(tmp_path):
    blocks = {
        "title": TITLE,
        "why": WHY,
        ":description": "On dots.",
        "code:alt": "Two dots.",
        "code:caption": "Dots meet.",
    }
    write(tmp_path, "".join(block(name, english, f"{name}译\n\n- 文") for name, english in blocks.items()))
    made = in_chinese(tmp_path)
    assert [cell.source for cell in made.cells] == ["title译\n\n- 文", CODE, "why译\n\n- 文", "Not yet."]
    assert made.metadata.description == ":description译\n\n- 文"
    assert made.cells[1].metadata.mystnb.image.alt == "code:alt译\n\n- 文"
    assert made.cells[1].metadata.mystnb.figure == {"caption": "code:caption译\n\n- 文", "name": "ch05-fig-dots"}
    assert [cell.id for cell in made.cells] == [cell.id for cell in small().cells]


def test_english_and_what_has_no_translation_stay_as_they_are(tmp_path):
    write(tmp_path, block("title", TITLE, "# 5. 点"))
    assert translate(small(), PAGE, tmp_path) == small()
    with speaking("pt"):
        assert translate(small(), PAGE, tmp_path) == small()
    with speaking("zh-Hans"):
        assert translate(small(), PAGE, tmp_path).cells[0].source == "# 5. 点"


OLDER = "\n\n[此处的英文后来有改动，译文尚未跟上。]{.older}"


def test_a_stale_text_stays_with_a_note_while_both_count_the_same(tmp_path):
    write(tmp_path, block("title", "# 5. Points", "# 5. 点") + block("code:alt", "Dots.", "两个点。"))
    made = in_chinese(tmp_path)
    assert made.cells[0].source == f"# 5. 点{OLDER}"
    assert made.cells[1].metadata.mystnb.image.alt == "两个点。"


@pytest.mark.parametrize(
    "text", ["# 5. 点\n\n2 个", "5. 点", "# 5. `dots`", "# 5. 点\n\n- 点", "# 5. [点](dots.md)", "# 5. $n$"]
)
def test_a_stale_text_that_counts_otherwise_is_shown_in_english(tmp_path, text):
    write(tmp_path, block("title", "# 5. Points", text))
    assert in_chinese(tmp_path).cells[0].source == TITLE


CHECK = "assert f(1) == 2, f'no {f(1)}'\nassert f(2) == 4, f\"twice 2 is 4, got {f(2)}\""
SAYS = "twice 2 is 4, got {f(2)}"


def graded(check=CHECK):
    """A part of an assignment: a check, and the cell that draws a variant."""
    about = {"nbgrader": {"grade": True}, "attnbook": {"tries": "larger numbers"}}
    drawing = 'seen = choice(text("hidden"), text("in sight"), \'a, b\')'
    cells = [
        new_code_cell(check, id="test", metadata=about),
        new_code_cell(drawing, id="variant", metadata={"tags": ["variant"]}),
    ]
    return new_notebook(cells=cells)


def test_of_code_what_it_says_to_students_is_translated(tmp_path):
    written = block("test:tries", "larger numbers", "更大的数") + block("test:says", SAYS, "2 的两倍是 4，得到 {f(2)}")
    write(tmp_path, written + block("variant:says", "hidden\nin sight", "藏起来\n看得见"))
    with speaking("zh"):
        check, drawing = translate(graded(), PAGE, tmp_path).cells
    assert check.source == CHECK.replace(SAYS, "2 的两倍是 4，得到 {f(2)}")
    assert check.metadata.attnbook.tries == "更大的数"
    assert drawing.source == 'seen = choice(text("藏起来"), text("看得见"), \'a, b\')'


@pytest.mark.parametrize(
    "text", ["2 的两倍是 4", "2 的两倍是 4，得到 {f(3)}", '2 的"两倍"是 4，得到 {f(2)}', "2、4 {f(2)}\n二"]
)
def test_what_code_says_keeps_its_fields_and_lines(tmp_path, monkeypatch, capsys, text):
    (tmp_path / "chapters").mkdir()
    nbformat.write(graded(), tmp_path / PAGE)
    write(tmp_path, block("test:says", SAYS, text))
    with speaking("zh"):
        assert translate(graded(), PAGE, tmp_path).cells[0].source == CHECK
    monkeypatch.chdir(tmp_path)
    assert cli.main(["translation", "zh", PAGE]) == 1
    assert "wrong: test:says " in capsys.readouterr().out


def test_what_code_says_is_english_once_that_has_changed(tmp_path):
    """A note can't stand in code, so nothing old is said."""
    write(tmp_path, block("test:says", SAYS, "2 的两倍是 4，得到 {f(2)}"))
    changed = CHECK.replace("twice", "double")
    with speaking("zh"):
        assert translate(graded(changed), PAGE, tmp_path).cells[0].source == changed


def test_a_page_is_one_text(tmp_path):
    write(tmp_path, block("page", "# Hello", "# 你好"), page="index.md")
    with speaking("zh"):
        assert translate_page("# Hello", "index.md", tmp_path) == "# 你好"
        assert translate_page("# Hello 2", "index.md", tmp_path) == "# Hello 2"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (block("wye", WHY, "为什么？"), "there is no cell wye"),
        (block("code", CODE, "x = 2"), "there is no cell code"),
        (block("why", WHY, "一") + block("why", WHY, "二"), "has the cell why twice"),
        ("为什么？\n", "must open with a line `+++ CELL HASH`, got '为什么？'"),
    ],
)
def test_a_wrong_translation_gets_a_sentence(tmp_path, text, said):
    write(tmp_path, text)
    with pytest.raises(BookError, match=re.escape(said)):
        in_chinese(tmp_path)


def test_what_is_stale_or_missing_is_listed_and_can_be_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chapters").mkdir()
    nbformat.write(small(), tmp_path / PAGE)
    write(tmp_path, block("why", WHY, WHY_ZH) + block("title", "# 5. Points", "# 5. 点"))
    assert cli.main(["translation", "zh", PAGE]) == 0
    listed = f"{PAGE}: 2 of 6 translated, 1 changed\n    changed: title\n"
    listed += "    missing: :description, code:alt, code:caption, late\n    in translations/zh/chapters/05_dots.md\n"
    assert capsys.readouterr().out == listed
    for _ in range(2):
        assert cli.main(["translation", "zh", PAGE, "--write"]) == 0
        assert capsys.readouterr().out == listed, "English that is written down is not translated yet"
    written = (tmp_path / "translations/zh/chapters/05_dots.md").read_text(encoding="utf-8")
    kept = f"+++ title {digest('# 5. Points')}\n\n# 5. 点\n\n"
    fresh = f"+++ late {digest('Not yet.')}\n\nNot yet.\n"
    assert kept in written
    assert written.endswith(fresh)
    assert [cell.source for cell in in_chinese(tmp_path).cells] == [f"# 5. 点{OLDER}", CODE, WHY_ZH, "Not yet."]


def test_who_has_seen_what_changed_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chapters").mkdir()
    nbformat.write(small(), tmp_path / PAGE)
    write(tmp_path, block("title", "# 5. Points", "# 5. 点"))
    assert cli.main(["translation", "zh", "--seen"]) == 1
    assert "--seen needs the pages" in capsys.readouterr().err
    (tmp_path / "chapters/of_this_nothing.md").write_text("# Nothing\n")
    assert cli.main(["translation", "zh", "chapters/of_this_nothing.md", "--seen"]) == 1
    assert "Name the English page" in capsys.readouterr().err
    assert not (tmp_path / "translations/zh/chapters/of_this_nothing.md").exists()
    assert cli.main(["translation", "zh", PAGE, "--seen"]) == 0
    assert in_chinese(tmp_path).cells[0].source == "# 5. 点"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("为什么除？", "wrong: why lacks item of a list"),
        ("为什么除以 2？\n\n- 因为。", "wrong: why has number 2"),
        ("**为什么除？**因为", "wrong: why has ** in"),
        ("% meant: number 2\n为什么除以 2？\n\n- 因为。", ""),
    ],
)
def test_a_translation_that_says_something_else_is_red(tmp_path, monkeypatch, capsys, text, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chapters").mkdir()
    nbformat.write(small(), tmp_path / PAGE)
    write(tmp_path, block("why", WHY, text))
    assert cli.main(["translation", "zh", PAGE]) == bool(told)
    assert told in capsys.readouterr().out
    assert "% meant" not in in_chinese(tmp_path).cells[2].source


def git(root, *command):
    name = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", *name, *command], cwd=root, check=True, capture_output=True)


def test_the_report_shows_which_words_changed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q")
    (tmp_path / "chapters").mkdir()
    notebook = small()
    for late in ("Not yet, but later.", "Not yet, but much later."):
        notebook.cells[3].source = late
        nbformat.write(notebook, tmp_path / PAGE)
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-qm", late)
    write(tmp_path, block("late", "Not yet, but later.", "还没有，以后再说。"))
    assert cli.main(["translation", "zh", PAGE]) == 0
    assert "changed: late\n        Not yet, but {+much+} later.\n" in capsys.readouterr().out


def test_words_have_a_lock_of_hashes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    room = tmp_path / "src/room"
    room.mkdir(parents=True)
    english = {"on": "Next", "back": "Back", "found": {"one": "{n} word", "other": "{n} words"}}
    (room / "en.json").write_text(json.dumps(english), "utf-8")
    (room / "zh.json").write_text('{"on": "下一个", "found": {"other": "{n} 个词"}}', "utf-8")
    page = "src/room/en.json"
    assert cli.main(["translation", "zh", page, "--seen"]) == 0
    assert capsys.readouterr().out == f"{page}: 2 of 3 translated\n    missing: back\n"
    (room / "en.json").write_text(json.dumps(english | {"on": "Next one"}), "utf-8")
    assert cli.main(["translation", "zh", page]) == 0
    assert "2 of 3 translated, 1 changed\n    changed: on\n" in capsys.readouterr().out


def test_labels_of_figures_that_have_no_name_are_listed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chapters").mkdir()
    notebook = small()
    drawn = light(plots.axes(height=1).set(xlabel="step")[0].figure)
    notebook.cells[1].outputs.append(new_output("display_data", {"image/svg+xml": drawn}))
    nbformat.write(notebook, tmp_path / PAGE)
    write(tmp_path, block("title", TITLE, "# 5. 点"))
    assert cli.main(["translation", "zh", PAGE]) == 0
    assert "figures say in English: step\n" in capsys.readouterr().out
    (tmp_path / "translations/zh/figures.toml").write_text('step = "步"', "utf-8")
    with speaking("zh"):
        made = localize(notebook, PAGE, tmp_path)
    assert ">步</text>" in made.cells[1].outputs[1].data["image/svg+xml"]


def test_what_the_book_has_of_translations_is_in_order(capsys, monkeypatch):
    """Of a text whose English has not changed: the same numbers, formulas, code and links."""
    monkeypatch.chdir(ROOT)
    for folder in (ROOT / "translations").iterdir():
        assert cli.main(["translation", folder.name]) == 0, capsys.readouterr().out


def test_an_edition_has_the_language_of_its_settings_or_of_the_command(tmp_path, monkeypatch):
    monkeypatch.delenv("ATTNBOOK_LANGUAGE", raising=False)
    (tmp_path / "_config.yml").write_text("author: somebody\n")
    assert edition_language(tmp_path) == "en"
    (tmp_path / "_config.yml").write_text("sphinx:\n  config:\n    language: zh\n")
    assert edition_language(tmp_path) == "zh"
    monkeypatch.setenv("ATTNBOOK_LANGUAGE", "pt")
    assert edition_language(tmp_path) == "pt"


@pytest.mark.parametrize("tag", ["en", "Chinese", "../zh"])
def test_a_language_is_a_tag(tag, capsys):
    with pytest.raises(SystemExit):
        cli.main(["translation", tag])
    assert "expected a tag such as zh" in capsys.readouterr().err


def test_stored_widgets_speak_the_language_of_the_edition(tmp_path):
    before = small()
    assert localize(deepcopy(before), PAGE, tmp_path) == before
    with speaking(PSEUDO):
        made = localize(small(), PAGE, tmp_path)
    html = made.cells[1].outputs[0].data["text/html"]
    assert "<caption>⟦" in html
    assert re.findall(r"<script.*", html) == re.findall(r"<script.*", PaintMask().page_html()), "the state is the same"


# ---- in the language of nobody ----

CHAPTER = "chapters/02_masked_softmax.ipynb"
ASSIGNMENT = "assignments/source/02_masked_softmax.ipynb"
# What is not words in plain Markdown: code, formulas, addresses, tags.
NO_WORDS = re.compile(r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|\]\([^)]*\)|<[^>]*>", re.DOTALL)


def forgotten(notebook) -> list[str]:
    """What of a notebook's Markdown is in no file of words and no translation."""
    return [
        rest for cell in notebook.cells if cell.cell_type == "markdown" and (rest := left_over(visible(cell.source)))
    ]


def visible(source: str) -> str:
    return NO_WORDS.sub(" ", source)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = linked_book(tmp_path_factory.mktemp("book"))
    translate_pages(root, [CHAPTER, ASSIGNMENT])
    return root


@pytest.fixture(scope="module")
def book(root):
    return Edition(root, PSEUDO)


def made_for_colab(book):
    with speaking(PSEUDO):
        return colab.for_colab(book.notebook(CHAPTER), CHAPTER, book)


def made_for_students(book, folder):
    (path,) = student.write_copies(book, folder, [book.assignments[Path(ASSIGNMENT).stem]])
    return read_notebook(path)


@pytest.mark.slow
def test_every_text_of_a_notebook_is_in_a_file_of_words(book, tmp_path):
    made = made_for_colab(book)
    assert forgotten(made) == []
    painted = [
        o
        for cell in made.cells
        for o in cell.get("outputs", [])
        if "paint_mask" in o.get("data", {}).get("text/html", "")
    ]
    assert painted
    assert not any(forgotten_in_table(output.data["text/html"]) for output in painted)
    copy = made_for_students(book, tmp_path)
    assert forgotten(copy) == []
    assert copy.metadata.language == PSEUDO


def without(*path):
    """The words of a folder, but for one that somebody wrote into the code."""

    def spoken(folder):
        said = deepcopy(words(folder))
        group = said
        for name in path[:-1]:
            group = group.get(name, {})
        if path[-1] in group:
            with speaking("en"):
                english = words(folder)
            for name in path:
                english = english[name]
            group[path[-1]] = english
        return said

    return spoken


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "path", "noticed"),
    [
        (colab, ("colab",), "Run the cell below first"),
        (setup_cells, ("jupyter",), "In Colab"),
        (exercise, ("solution",), "Solution to"),
        (assignment, ("plain", "links"), "or"),
        (student, ("student", "begin"), "Run the cell below first"),
    ],
)
def test_a_forgotten_text_is_noticed(book, tmp_path, monkeypatch, module, path, noticed):
    monkeypatch.setattr(module, "words", without(*path))
    made = made_for_students(book, tmp_path) if module is student else made_for_colab(book)
    assert any(noticed in text for text in forgotten(made))
