"""Importing the book is cheap, and its vocabulary is complete."""

import subprocess
import sys

import pytest

import attnbook


def test_every_public_name_is_there():
    for name in attnbook.__all__:
        assert getattr(attnbook, name) is not None
    assert set(dir(attnbook)) >= set(attnbook.__all__)


def test_an_unknown_name_lists_the_known():
    with pytest.raises(AttributeError, match=r"attnbook has no 'atention'. Did you mean 'attention'\? It has .*beam"):
        attnbook.atention  # noqa: B018


@pytest.mark.slow
@pytest.mark.parametrize("names", ["", "attention, causal, DotProductAttention, capture_attention"])
def test_the_maths_loads_no_plotting_widgets_or_notebook(names):
    code = f"import sys, attnbook\n{'from attnbook import ' + names if names else ''}\n"
    code += "print(sorted({'matplotlib', 'anywidget', 'IPython', 'd2l', 'attnbook.widgets'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
