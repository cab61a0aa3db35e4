"""The package as PyPI has it: what its metadata say, and what works without figures and widgets."""

import re
import subprocess
import sys
from importlib.metadata import PathDistribution

import pytest
from hatchling.build import prepare_metadata_for_build_wheel

import attnbook
from attnbook._public import BOOK
from tests import ROOT


@pytest.fixture
def about(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    return PathDistribution(tmp_path / prepare_metadata_for_build_wheel(str(tmp_path)))


def test_metadata_are_complete(about):
    said = about.metadata
    assert said["Author"] == "The authors of Attention You Can Touch"
    assert all(said[name] for name in ("Summary", "Keywords", "License-Expression", "Requires-Python"))
    assert len(said.get_all("License-File")) == 3
    assert {url.partition(",")[0] for url in said.get_all("Project-URL")} >= {"Homepage", "Source", "Changelog"}
    classifiers = said.get_all("Classifier")
    assert "Typing :: Typed" in classifiers
    assert not [name for name in classifiers if name.startswith("License")], "the expression says it"
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", said["Version"])
    needed = {re.match(r"\w+", line)[0]: "extra == 'book'" in line for line in said.get_all("Requires-Dist")}
    light, more = dict.fromkeys(["torch", "numpy", "einops", "tqdm"], False), dict.fromkeys(BOOK.values(), True)
    assert needed == light | more


def test_what_pypi_shows_needs_no_other_file(about):
    """No link, no picture; and its example runs."""
    said = about.metadata.get_payload()
    assert "](" not in said
    (example,) = re.findall(r"```python\n(.*?)```", said, re.DOTALL)
    exec(example, space := {})
    assert space["maps"][""].shape == (1, 8, 10, 10)


@pytest.mark.parametrize(("module", "package"), BOOK.items())
def test_who_lacks_figures_or_widgets_hears_how_to_get_them(module, package, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(f"attnbook.{module}")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=rf'need {package}, which `pip install "attnbook\[book\]"` brings'):
        attnbook.__getattr__(module)


LIGHT = """
import sys
absent = {"matplotlib", "anywidget", "traitlets", "ipywidgets", "IPython", "PIL", "pandas", "scipy", "d2l"}
sys.modules |= dict.fromkeys(absent)
import torch
from attnbook import *

ids = torch.ones(1, 4, dtype=torch.long)
model = LanguageModel(N=5, D=8, heads=2, hidden=16, layers=1)
fit(model, lambda model, ids: model(ids).square().mean(), lambda generator: ids, steps=2)
with capture_attention(model) as maps:
    greedy(model, ids, stop=None, length=6)
assert maps and diagnose(MultiHeadAttention(8, 2)) and check.attention and pretrained.load and peers.copy_weights
print("plots" in dir() or "widgets" in dir(), {"matplotlib", "anywidget"} & {n for n, m in sys.modules.items() if m})
"""


@pytest.mark.slow
def test_all_else_works_without_their_packages():
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("False set()\n", 0), done.stderr
