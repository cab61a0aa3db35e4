"""A part is proven again when something changed that it is made of, and only then."""

import subprocess
from types import SimpleNamespace

import nbformat
import pytest

from tests import ROOT
from tests.proven import parts
from tests.proven.parts import Checkout, Part

NOTEBOOK = "chapters/05_scaled_dot_product_attention.ipynb"
WIDGET = '<div data-afm="scale_lab"><script type="application/json">{}</script></div>'
FILES = {
    NOTEBOOK: '{"cells": ["data-afm=\\"scale_lab\\""]}',
    "chapters/06_multi_head_attention.ipynb": "{}",
    "assignments/source/05_scaled_dot_product_attention.ipynb": "{}",
    "assignments/wrong/05_scaled_dot_product_attention.toml": "",
    "src/attnbook/layers/masks.py": "",
    "src/attnbook/data/words.bin": "0",
    "src/attnbook/widgets/shared/core.js": "",
    "src/attnbook/widgets/scale_lab/scale_lab.js": 'import { a } from "../tanh_sum/curve.js";',
    "src/attnbook/widgets/tanh_sum/curve.js": "",
    "src/attnbook/widgets/word_map/word_map.js": "",
    "src/booktools/directives/touch/touch.js": "",
    "tests/browser/pages.py": "",
    "tests/widgets/test_scale_lab.py": "from tests.widgets.test_shared import looks\n",
    "tests/widgets/test_shared.py": "",
    "tests/widgets/test_word_map.py": "",
    "tests/site/test_pages.py": "",
    "tests/grading/test_grading.py": "",
    "tests/library/test_masks.py": "from attnbook.widgets import WordMap\nfrom booktools.directives import touch\n",
    "requirements.txt": "torch==2",
    "notation.md": "",
    "pyproject.toml": '[project]\nversion = "1"\n',
    "_build/html/chapters/05_scaled_dot_product_attention.html": f'<img src="../_images/a.svg">{WIDGET}',
    "_build/html/chapters/06_multi_head_attention.html": "",
    "_build/html/_images/a.svg": "",
    "_build/html/_images/b.svg": "",
    "_build/html/_static/book.js": "",
    "_build/html/_static/widgets/scale_lab/scale_lab.js": "",
    "_build/html/_static/widgets/word_map/word_map.js": "",
    ".gitignore": "_build/\n",
}
SHOWN = ["src/attnbook/widgets/scale_lab/", "src/attnbook/widgets/tanh_sum/"]
# Of each part, what it is made of beside what is everybody's: all of these, and none of the other rooms.
MADE_OF = {
    (NOTEBOOK, ""): [NOTEBOOK, *SHOWN],
    ("assignments/source/05_scaled_dot_product_attention.ipynb", ""): [
        "assignments/source/05_",
        "assignments/wrong/05_",
    ],
    ("tests/widgets/test_scale_lab.py", ""): [
        *SHOWN,
        "_static/widgets/scale_lab/",
        "tests/widgets/test_scale_lab",
        "tests/widgets/test_shared",
        "_build/html/chapters/05_",  # how it is shown there
    ],
    ("tests/site/test_pages.py", "chapters/05_scaled_dot_product_attention.html"): [
        NOTEBOOK,
        "_build/html/chapters/05_",
        "_build/html/_images/a.svg",
        "_static/book.js",
        "_static/widgets/scale_lab/",
        *SHOWN,
        "tests/widgets/test_scale_lab",
        "tests/widgets/test_shared",
        "tests/site/test_pages",
    ],
    ("tests/grading/test_grading.py", "05_scaled_dot_product_attention"): [
        "assignments/source/05_",
        "assignments/wrong/05_",
        "tests/grading/",
    ],
    ("tests/library/test_masks.py", ""): ["tests/library/", "src/attnbook/widgets/word_map/", "directives/touch/"],
    ("tests/site/test_pages.py", ""): [""],  # of all
}
EVERYBODYS = [
    "src/attnbook/layers/",
    "src/attnbook/data/",
    "src/attnbook/widgets/shared/",
    "tests/browser/",
    "requirements.txt",
]


@pytest.fixture
def book(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def key(book, file, page=""):
    params = {"callspec": SimpleNamespace(params={"path": page})} if page else {}
    checkout = Checkout(book)
    part = checkout.part_of(SimpleNamespace(path=book / file, originalname="test_it", **params))
    return checkout.key(part, ["test_it"])


@pytest.mark.parametrize(("file", "page"), MADE_OF, ids=lambda name: name or "whole")
def test_a_change_of_what_it_is_made_of_is_seen_and_no_other(book, file, page):
    first, rooms = key(book, file, page), [*MADE_OF[file, page], *EVERYBODYS, "pyproject.toml", ".gitignore"]
    for name, text in FILES.items():
        (book / name).write_text(text.replace(">{}<", ">[]<") + " ")
        changed = key(book, file, page) != first
        assert changed == any(room in name for room in rooms), (
            f"{name} was changed, and the part is proven again: {changed}"
        )
        (book / name).write_text(text)
    assert key(book, file, page) == first


def test_another_machine_and_another_test_are_other_keys(book, monkeypatch):
    checkout, part = Checkout(book), Part("dots", "dots.py", frozenset())
    keys = {checkout.key(part, ["a"]), checkout.key(part, ["a", "b"])}
    for told in (["Python 4"], ["Python 4", "Chromium 999"]):
        monkeypatch.setattr(parts, "machine", lambda told=told: told)
        keys.add(checkout.key(part, ["a"]))
    assert len(keys) == 4


def test_the_version_of_the_package_in_a_page_is_no_change_of_the_page(book, monkeypatch):
    page = "chapters/05_scaled_dot_product_attention.html"
    keys = set()
    for version in ("1+aaaa", "1+bbbb"):
        (book / "_build/html" / page).write_text(f"{FILES[f'_build/html/{page}']} {version}")
        monkeypatch.setattr(parts, "version", lambda root, version=version: version)
        keys.add(key(book, "tests/site/test_pages.py", page))
    assert len(keys) == 1


def test_every_chapter_is_found_to_show_its_widgets():
    checkout = Checkout(ROOT)
    for chapter in (ROOT / "chapters").glob("*.ipynb"):
        outputs = [out for cell in nbformat.read(chapter, 4).cells for out in cell.get("outputs", ())]
        shown = "".join(out.get("data", {}).get("text/html", "") for out in outputs).count("data-afm=")
        assert bool(checkout.widgets_in(chapter.relative_to(ROOT))) == bool(shown)


def test_a_part_of_whatever_its_tests_have_read():
    """With a widget come others that its test imports from; and what is read once in a process is always in."""
    checkout, part = Checkout(ROOT), Part("search", "tests/site/test_search.py", frozenset("*"))
    found = checkout.behind(part, {"site/chapters/05_dots.html", "site/widgets/scale_lab"})
    assert found >= {
        "site/chapters/05_dots.html",
        "site/widgets/scale_lab",
        "widgets/scale_lab",
        "chapters/*",
        "pages/*",
    }
    assert found >= {"tests/site/test_search.py", "tests/widgets/test_scale_lab.py"}
    assert "widgets/tanh_sum" not in found
