"""The parts of the rehearsal that need no machine; with one, `make rehearse` tests the rest."""

import json
import re

import pytest

from booktools import cli
from booktools.book import BookError
from booktools.rehearsal import rehearse
from booktools.rehearsal.rehearse import Run, colab_packages, notebooks, replaced
from tests import ROOT

FREEZE = "# written by pip\nabsl-py==1.4.0\nnumpy==9.9.9\nPyYAML==8.0\ntorch==7.0.0+cpu\ngoogle-colab @ file:///colab.tar.gz\n"


def test_what_colab_had():
    packages = colab_packages(ROOT)
    assert re.match(rf"# .* on {packages.date} ", (ROOT / "colab/constraints.txt").read_text())
    assert packages.versions["ipywidgets"] == "7.7.1"
    assert f"torch=={packages.versions['torch']}\n" in (ROOT / "requirements.txt").read_text()


def test_what_colab_has_now(tmp_path):
    freeze = tmp_path / "freeze.txt"
    freeze.write_text(FREEZE)
    assert colab_packages(ROOT, freeze).pins == ["torch==7.0.0", "numpy==9.9.9", "pyyaml==8.0"]


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ({"lib/site-packages/numpy/a.py": 1, "bin/x": 1}, []),
        ({"lib/site-packages/numpy/a.py": 2, "bin/x": 1}, ["replaced what Colab has: numpy"]),
        ({"bin/x": 1, "bin/attnbook": 1, "lib/site-packages/d2l/b.py": 1}, ["replaced what Colab has: numpy"]),
        ({"lib/site-packages/numpy/a.py": 1}, ["replaced what Colab has: x"]),
        (
            {"lib/site-packages/numpy/a.py": 1, "bin/x": 1, "lib/site-packages/six-1.dist-info/RECORD": 1},
            ["installed more than the book: six"],
        ),
    ],
)
def test_replaced(after, said):
    assert list(replaced({"lib/site-packages/numpy/a.py": 1, "bin/x": 1}, after)) == said


def site(folder):
    for name in ("colab/05_dots", "assignments/05_dots", "_images/no"):
        (folder / name).parent.mkdir(parents=True)
        (folder / f"{name}.ipynb").touch()
    return folder


def test_a_list_without_pytorch_is_not_colabs(tmp_path):
    freeze = tmp_path / "freeze.txt"
    freeze.write_text("numpy==9.9.9\n")
    with pytest.raises(BookError, match="names no version of torch; is it what `pip freeze` prints"):
        colab_packages(ROOT, freeze)


@pytest.mark.parametrize("names", [[], ["colab/5_dots"]])
def test_names_are_looked_at_before_anything_is_built(names, tmp_path):
    with pytest.raises(BookError, match="offers colab/05_dots, assignments/05_dots; got"):
        rehearse.rehearse(site(tmp_path), ROOT, colab_packages(ROOT), names, tmp_path, jobs=1, python=None)


def test_every_notebook_that_the_site_offers(tmp_path):
    assert notebooks(site(tmp_path)) == ["colab/05_dots", "assignments/05_dots"]


@pytest.mark.parametrize("faults", [[], ["cell a: did not run"]])
def test_only_green_is_written_down(faults, tmp_path, monkeypatch, capsys):
    def rehearsed(html, root, packages, names, folder, **how):
        return [Run(name, faults, 1.0, 12.4, 2, {"python": "3.13.1", "device": "CPU"}) for name in names]

    monkeypatch.setattr(rehearse, "rehearse", rehearsed)
    monkeypatch.chdir(ROOT)
    told = tmp_path / "last-green.json"
    told.write_text("old")
    command = ["rehearse", str(site(tmp_path)), "--folder", str(tmp_path)]
    assert cli.main([*command, "--only", "colab/05_dots"]) == bool(faults)
    assert told.read_text() == "old"  # one is not all
    status = cli.main(command)
    assert status == bool(faults)
    if faults:
        assert "2 of 2 notebooks would not do in Colab: colab/05_dots, assignments/05_dots" in capsys.readouterr().err
        assert not told.exists()
    else:
        green = json.loads(told.read_text())
        assert green["seconds"] == {"assignments/05_dots": 12, "colab/05_dots": 12}
        assert green["packages"] == colab_packages(ROOT).date
