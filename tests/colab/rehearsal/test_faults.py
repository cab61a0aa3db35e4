"""What would go wrong in Colab turns the rehearsal red: planted, each kind once."""

import asyncio
import shutil
import zipfile

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from booktools.book import BookError
from booktools.book.address import address
from booktools.rehearsal import machine as machine_module
from booktools.rehearsal import rehearse
from booktools.rehearsal.machine import Machine
from booktools.rehearsal.rehearse import BuiltSite
from booktools.serving import serving
from tests import ROOT

TABLE = new_output("execute_result", {"text/html": '<div data-afm="head_split"></div>', "text/plain": "HeadSplit()"})
SITE = address(ROOT).site
ONCE = "from importlib.util import find_spec\nif not find_spec('attnbook'):\n    "


def small_wheel(folder, name, version):
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    about = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{name}/__init__.py", "")
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return wheel.name


@pytest.fixture
def run(machine, wheel, tmp_path):
    """Rehearse a notebook of these cells on a site of its own, where Colab has the package `there`."""
    (tmp_path / "colab").mkdir()
    shutil.copy(wheel, tmp_path)
    machine.uv("pip", "install", "--offline", str(tmp_path / small_wheel(tmp_path, "there", "1.0")))

    def rehearsed(*cells, wheels=(), site=SITE, knowing=ONCE):
        line = " ".join(site + name for name in [wheel.name, *wheels])
        setup = new_code_cell(f"{knowing}%pip install -q --no-deps {line}", id="setup")
        cells = [
            new_markdown_cell("# 5. Dots", id="title"),
            setup,
            new_code_cell("import attnbook", id="imports"),
            *cells,
        ]
        nbformat.write(new_notebook(cells=cells), tmp_path / "colab/05_dots.ipynb")
        with serving(tmp_path, at="/a-book/") as served:
            return asyncio.run(BuiltSite(tmp_path, ROOT, served).run("colab/05_dots", machine, tmp_path / "content"))

    yield rehearsed
    machine.uv("pip", "uninstall", "attnbook", "there", "more")


def test_nothing_wrong(run):
    made = run(new_code_cell("from attnbook.widgets import HeadSplit\nHeadSplit()", id="widget", outputs=[TABLE]))
    assert made.faults == []
    assert made.widgets == 1
    assert 0 < made.ready <= made.seconds


def test_every_fault_is_told(run, tmp_path):
    wheels = [small_wheel(tmp_path, "there", "2.0"), small_wheel(tmp_path, "more", "1.0")]
    made = run(
        new_code_cell("from attnbook.widgets import HeadSplit, HeadBudget\nimport IPython.display as d", id="names"),
        new_code_cell("HeadSplit(); d.HTML('<p data-afm=\"head_split\">')", id="table", outputs=[TABLE]),
        new_code_cell("d.display(HeadSplit()); HeadSplit()", id="twice", outputs=[TABLE]),
        new_code_cell("w = HeadBudget(); w._esm = ''; w", id="lifeless", outputs=[TABLE]),
        new_code_cell("import sphinx", id="lacking"),
        new_code_cell(f"open({str(ROOT / '_config.yml')!r})", id="book"),
        new_code_cell("1 / 0", id="error"),
        wheels=wheels,
    )
    missing = f"[Errno 2] No such file or directory: {str(ROOT / '_config.yml')!r}"
    assert made.faults == [
        "replaced what Colab has: there",
        "installed more than the book: more",
        f"cell lacking: ModuleNotFoundError: No module named 'sphinx'{rehearse.LACKING}",
        f"cell book: FileNotFoundError: {missing}",
        "cell error: ZeroDivisionError: division by zero",
        "cell table: shows 0 widgets, not 1",
        "cell table: shows a widget's table beside the widget",
        "cell twice: shows 2 widgets, not 1",
        "cell lifeless: shows a widget that nothing was sent to draw with",
    ]


def test_it_runs_as_on_the_processor_that_most_readers_have(run, monkeypatch):
    monkeypatch.setattr(machine_module, "as_most_readers_have", lambda: {"ATEN_CPU_CAPABILITY": "default"})
    ask = new_code_cell("import torch; assert torch.backends.cpu.get_cpu_capability() == 'DEFAULT'", id="cpu")
    assert run(ask).faults == []


def test_a_set_up_cell_that_installs_again_what_is_there(run):
    (fault,) = run(knowing="").faults
    assert fault.startswith("the set-up cell does not know what it installed: ")


def test_dead_kernel(run):
    made = run(
        new_code_cell("from attnbook.widgets import HeadSplit\nHeadSplit()", id="widget", outputs=[TABLE]),
        new_code_cell("import os; os._exit(1)", id="last"),
        new_code_cell("1", id="never", outputs=[TABLE]),
    )
    assert made.faults == [
        f"cell {name}: did not run to its end" for name in ("last", "never", "setup-again", "question")
    ]
    assert str(made).startswith(f"colab/05_dots: ready after {made.ready:.1f} s, ")


def test_package_from_elsewhere(run):
    elsewhere = "import sys, types; sys.modules['attnbook'].__file__ = '/elsewhere/attnbook/__init__.py'"
    made = run(new_code_cell(elsewhere, id="elsewhere"))
    assert made.faults == ["imports /elsewhere/attnbook/__init__.py, which a reader does not have"]


def test_widgets_that_nobody_asked_colab_for(run):
    forget = "import google.colab.output as o; o._widgets._installed_url = None"
    show = "from attnbook.widgets import HeadSplit\nHeadSplit()"
    made = run(new_code_cell(show, id="widget", outputs=[TABLE]), new_code_cell(forget, id="forget"))
    assert made.faults == ["no widget asked Colab to show widgets that are not its own"]


def test_a_warning_is_no_answer(run):
    made = run(new_code_cell("import sys, warnings; print('careful', file=sys.stderr)", id="warns"))
    assert made.faults == []


def test_the_next_notebook_gets_a_clean_machine(run, machine, wheel, tmp_path, monkeypatch):
    """The first leaves a package behind, so a new machine is built; the second leaves nothing."""
    built, names = [], ["colab/05_dots", "colab/06_heads"]
    monkeypatch.setattr(Machine, "build", lambda *_: built.append(machine.uv("pip", "uninstall", "more")) or machine)
    run(new_code_cell("one = 1", id="any"))
    small_wheel(tmp_path, "more", "1.0")
    first = tmp_path / "colab/05_dots.ipynb"
    shutil.copy(first, tmp_path / "colab/06_heads.ipynb")
    more = f"{wheel.name} {SITE}more-1.0-py3-none-any.whl"
    first.write_text(first.read_text().replace(wheel.name, more))
    machine.uv("pip", "uninstall", "attnbook")
    runs = rehearse.rehearse(tmp_path, ROOT, None, names, tmp_path, jobs=1, python=None)
    assert [made.faults for made in runs] == [["installed more than the book: more"], []]
    assert len(built) == 2


def test_set_up_from_another_site(run):
    with pytest.raises(BookError, match=r"05_dots: the set-up cell must install from .*, got `from importlib"):
        run(site="https://elsewhere.org/")
