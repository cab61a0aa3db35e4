"""The parts of the rehearsal that need no machine; with one, `make rehearse` tests the rest."""

import json
from pathlib import Path

import pytest

from attnbook import cli
from attnbook.editions import rehearse
from attnbook.editions.rehearse import Run, colab_packages, notebooks, replaced

ROOT = Path(__file__).parents[1]
FREEZE = "# written by pip\nabsl-py==1.4.0\nnumpy==9.9.9\nPyYAML==8.0\ntorch==7.0.0+cpu\ngoogle-colab @ file:///colab.tar.gz\n"


def test_what_colab_had():
    packages = colab_packages(ROOT)
    assert packages.date == "2026-08-19"
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


def test_every_notebook_that_the_site_offers(tmp_path):
    assert notebooks(site(tmp_path)) == ["colab/05_dots", "assignments/05_dots"]


@pytest.mark.parametrize("faults", [[], ["cell a: did not run"]])
def test_only_green_is_written_down(faults, tmp_path, monkeypatch, capsys):
    def rehearsed(html, root, packages, names, folder, **how):
        return [Run(name, faults, 1.0, 12.4, 2, {"python": "3.13.1", "device": "CPU"}) for name in names]

    monkeypatch.setattr(rehearse, "rehearse", rehearsed)
    monkeypatch.chdir(ROOT)
    status = cli.main(["rehearse", str(site(tmp_path)), "--folder", str(tmp_path)])
    told = tmp_path / "last-green.json"
    assert status == bool(faults)
    if faults:
        assert "2 of 2 notebooks would not do in Colab: colab/05_dots, assignments/05_dots" in capsys.readouterr().err
        assert not told.exists()
    else:
        green = json.loads(told.read_text())
        assert green["seconds"] == {"assignments/05_dots": 12, "colab/05_dots": 12}
        assert green["packages"] == "2026-08-19"
