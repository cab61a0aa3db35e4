"""Importing the book is cheap, and its vocabulary is complete."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import torch

import attnbook
from booktools.make.stub import stub


def test_every_public_name_is_there():
    for name in attnbook.__all__:
        assert getattr(attnbook, name) is not None
    assert set(dir(attnbook)) >= set(attnbook.__all__)


def test_the_peers_show_what_is_theirs():
    assert dir(attnbook.peers) == ["copy_weights", "d2l"]


def test_an_unknown_name_lists_the_known():
    with pytest.raises(AttributeError, match=r"attnbook has no 'atention'. Did you mean 'attention'\? It has .*beam"):
        attnbook.atention  # noqa: B018


@pytest.mark.slow
@pytest.mark.parametrize("names", ["", "attention, causal, DotProductAttention, capture_attention"])
def test_the_maths_loads_no_plotting_widgets_or_notebook(names):
    code = f"import sys, attnbook\n{'from attnbook import ' + names if names else ''}\n"
    code += "print(sorted({'matplotlib', 'anywidget', 'IPython', 'd2l', 'attnbook.widgets'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_what_type_checkers_read_is_what_is_there():
    written = Path(attnbook.__file__).with_suffix(".pyi").read_text("utf-8")
    assert written == stub(), "make it anew: python -m booktools.make.stub"
    assert attnbook.__version__ == version("attnbook")


SOUND = """import torch
from attnbook import KVCache, MultiHeadAttention, attention, causal, check, fit, plots

layer: MultiHeadAttention = MultiHeadAttention(16, 4, kv_heads=2)
output, weights = attention(torch.ones(2, 8), torch.ones(3, 8), torch.ones(3, 8))
mask: torch.Tensor = causal(3)
held: int = len(KVCache())
axes = plots.axes(2)
"""
MISTAKES = {
    "MultiHeadAttention(16, 4, kv_haeds=2)": "kv_haeds",
    "causal('3')": "Literal['3']",
    "attention(torch.ones(2, 8), torch.ones(3, 8))": "v",
    "KVCache().apend": "apend",
    "plots.axis(2)": "axis",
    "fit(layer, None, None, 'ten')": "Literal['ten']",
}


@pytest.mark.slow
def test_a_users_type_checker_finds_mistakes(tmp_path):
    file = tmp_path / "mine.py"
    (tmp_path / "pyrefly.toml").write_text('preset = "default"')

    def complaints(code):
        file.write_text(SOUND + code)
        command = [sys.executable, "-m", "pyrefly", "check", "--output-format", "json"]
        command += ["--python-interpreter-path", sys.executable, str(file)]
        said = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False).stdout
        return [error["description"] for error in json.loads(said)["errors"] if error["severity"] == "error"]

    assert complaints("") == []
    found = "\n".join(complaints("\n".join(MISTAKES)))
    assert [mistake for mistake, word in MISTAKES.items() if f"`{word}`" not in found] == []


LAYERS = {
    "MultiHeadAttention": (attnbook.MultiHeadAttention(16, 4, kv_heads=2, rotary=attnbook.Rotary(4)), 1),
    "LatentAttention": (attnbook.LatentAttention(16, 4, latent=8), 1),
    "LinearAttention": (attnbook.LinearAttention(16, 4), 1),
    "DotProductAttention": (attnbook.DotProductAttention(), 3),
    "AdditiveAttention": (attnbook.AdditiveAttention(16, 16, 8), 3),
}


@pytest.mark.filterwarnings("ignore")  # torch.jit is deprecated, and warns of each Python number
@pytest.mark.parametrize(("layer", "inputs"), LAYERS.values(), ids=LAYERS)
def test_a_layer_can_be_traced(layer, inputs):
    given = [torch.randn(2, 5, 16) for _ in range(inputs)]
    want = layer.eval()(*given)  # rotary's table is made
    torch.testing.assert_close(torch.jit.trace(layer, given)(*given), want)
