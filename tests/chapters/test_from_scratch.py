"""A chapter's own code, in one file, needs nothing of the book; `make rehearse` runs each in an empty folder."""

import subprocess
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from attnbook.language import PSEUDO, speaking
from booktools.book import BookError
from booktools.book.address import address
from booktools.book.contents import Chapter
from booktools.book.edition import edition
from booktools.book.from_scratch import from_scratch
from tests import ROOT

CHAPTERS = [path.stem for path in sorted((ROOT / "chapters").glob("*.ipynb"))]


def test_every_chapter_has_one():
    assert list(edition(ROOT).from_scratch) == CHAPTERS


@pytest.mark.parametrize("name", CHAPTERS)
def test_it_is_code_as_a_formatter_leaves_it(name, tmp_path):
    assert unformatted(edition(ROOT).from_scratch[name], tmp_path / f"{name}.py") == ""


def unformatted(text, path):
    """What a formatter and a linter would change."""
    path.write_text(text, encoding="utf-8")
    ruff, said = Path(sys.executable).with_name("ruff"), ""
    for command in (["check", "--select", "F,E,I"], ["format", "--diff"]):
        options = ["--config", ROOT / "chapters/ruff.toml", "--no-cache", path]
        done = subprocess.run([ruff, *command, *options], capture_output=True, text=True)
        said += done.stdout + done.stderr if done.returncode else ""
    return said


# The file, from small cells

IMPORTS = """import torch
from torch.utils.data import (
    DataLoader,
    TensorDataset,
)
import math, random
import numpy as np
import torch.nn.functional as F
import torch.utils.checkpoint
from torch import nn, Tensor as T, optim
from torch.nn import Module, init, GELU
from torch.nn import Embedding, LayerNorm, Linear, ModuleList, Parameter, ReLU
from collections import Counter
from torch.testing import assert_close

from attnbook import causal, fit
from einops import rearrange"""


def made(*sources):
    """From a notebook's imports, and kept cells."""
    cells = [
        new_code_cell(source, id=f"cell-{n}", metadata={"tags": ["keep"]}) for n, source in enumerate(sources, start=1)
    ]
    other = new_code_cell("unkept = fit(1)")
    chapter = Chapter(5, "Dots", Path("chapters/05_dots.ipynb"))
    return from_scratch(new_notebook(cells=[new_code_cell(IMPORTS), other, *cells]), chapter, address(ROOT))


def test_imports_stand_once_and_only_those_that_are_used(tmp_path):
    text = made(
        "x = F.relu(torch.ones(3))",
        "class Layer(Module):\n    def forward(self, x: T):\n        return init.zeros_(nn.Identity()(x))",
        "print(Layer(), random.random(), Counter(x))\nDataLoader(TensorDataset(x))",
    )
    imports, _, rest = text.split('"""\n\n', 1)[1].partition("\n\nx = ")
    assert imports.split("\n") == [
        "import random",
        "from collections import Counter",
        "",
        "import torch",
        "import torch.nn.functional as F",
        "import torch.utils.checkpoint",  # it binds torch, too
        "from torch import Tensor as T",
        "from torch import nn",
        "from torch.nn import Module, init",
        "from torch.utils.data import DataLoader, TensorDataset",
    ]
    assert rest.startswith("F.relu(torch.ones(3))\n\n\nclass Layer(Module):")
    assert unformatted(text, tmp_path / "05_dots.py") == ""


def test_many_names_of_one_module_stand_one_below_the_other(tmp_path):
    text = made("print(GELU, Embedding, LayerNorm, Linear)", "print(Module, ModuleList, Parameter, ReLU)")
    assert "from torch.nn import (\n    GELU,\n    Embedding,\n" in text
    assert unformatted(text, tmp_path / "05_dots.py") == ""


def test_what_is_defined_has_two_blank_lines_around(tmp_path):
    text = made("y = 1", "def f():\n    return 1", "x = f()")
    assert text.endswith('"""\n\ny = 1\n\n\ndef f():\n    return 1\n\n\nx = f()\n')
    assert unformatted(text, tmp_path / "05_dots.py") == ""


def test_the_file_says_where_it_comes_from():
    text = made("x = 1")
    assert text.startswith('"""Dots, from scratch\n\nThe code of chapter 5, ')
    assert f"\n{address(ROOT).page('chapters/05_dots.ipynb')}\n" in text
    with speaking(PSEUDO):
        assert made("x = 1").startswith('"""⟦Dots')


def test_a_chapter_that_keeps_nothing_has_no_file():
    assert made() == ""


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        (["x = 1", "def f():\n    return causal(3)"], "cell-2 is kept and uses causal, which comes from attnbook"),
        (["rearrange"], "cell-1 is kept and uses rearrange, which comes from einops"),
        (["np.ones(3)"], "cell-1 is kept and uses np, which comes from numpy"),
        (["print(unkept)"], "cell-1 is kept and uses unkept, which no kept cell defines"),
        (["def f():\n    a = 1", "def g():\n    return a"], "cell-2 is kept and uses a, which no kept cell defines"),
        (["class A:\n    n = 1", "def g(n):\n    pass", "n"], "cell-3 is kept and uses n, which no kept cell defines"),
        (["import math\n\nmath.pi"], "cell-1 is kept and imports something"),
        (["def f():\n    import numpy"], "cell-1 is kept and imports something"),
    ],
)
def test_what_only_the_book_has_is_refused(sources, said):
    with pytest.raises(BookError, match=f"^chapters/05_dots.ipynb, cell {said}"):
        made(*sources)
