"""Every widget in a notebook whose front end is Colab's generation of ipywidgets, with a kernel behind it."""

import time

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from attnbook.widgets import HeadSplit, all_widgets
from tests.browser.hands import Keyboard, Mouse
from tests.browser.servers import served
from tests.widgets.laws import differences, laws_of, shown

ASK = """(code) => new Promise((done) => {
    const heard = ({ content }) => done(content.text ?? content.evalue);
    Jupyter.notebook.kernel.execute(code, { iopub: { output: heard } });
})"""


@pytest.fixture(scope="module")
def page(machine, wheel, browser, tmp_path_factory):
    """A notebook with one cell for every widget, run from top to bottom."""
    folder = tmp_path_factory.mktemp("content")
    names = [kind.__name__ for kind in all_widgets()]
    cells = [new_code_cell("import attnbook.widgets as shown")]
    cells += [new_code_cell(f"{name} = shown.{name}()\n{name}") for name in names]
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=cells, metadata=spec), folder / "widgets.ipynb")
    machine.uv("pip", "install", "--offline", "--no-deps", str(wheel))
    command = [machine.python, "-m", "notebook", "--NotebookApp.token=", "--NotebookApp.password="]
    try:
        with served(command, folder / "server.log", cwd=folder) as address:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            with page.expect_console_message(looked_for_widgets):
                page.goto(f"{address}notebooks/widgets.ipynb")
            page.evaluate("() => Jupyter.notebook.execute_all_cells()")
            yield page
            page.close()
    finally:
        machine.uv("pip", "uninstall", "attnbook")


def looked_for_widgets(said):
    """The front end has asked the kernel for widgets of an earlier visit, found none, and is ready."""
    return "jupyter.widget.control" in said.text


def output(page, kind):
    place = all_widgets().index(kind) + 1
    return page.locator(".code_cell").nth(place).locator(".output_wrapper")


def agrees(node, twin, seconds=60):
    """Whether the widget comes to show what PyTorch makes of its twin's traits; what it shows is behind the kernel."""
    end = time.monotonic() + seconds
    while wrong := differences(shown(node), twin):
        if time.monotonic() > end:
            pytest.fail(f"{twin.name}: " + "; ".join(wrong[:6]))
    return True


@pytest.mark.parametrize("kind", all_widgets(), ids=lambda kind: kind.__name__)
def test_alive_and_shown_once(page, kind):
    nodes, twin = output(page, kind).locator(".ab-widget"), kind()
    nodes.wait_for()
    assert nodes.count() == 1
    assert output(page, kind).locator(".output_area").count() == 1
    assert output(page, kind).locator(".ab-fallback").count() == 0
    nodes.evaluate("(node, name) => { node.dataset.afm = name; }", twin.name)
    assert agrees(nodes, twin)
    for change in laws_of(twin.name).changes:
        for name, value in change.items():
            said = page.evaluate(ASK, f"{kind.__name__}.{name} = {value!r}; print({kind.__name__}.{name} == {value!r})")
            setattr(twin, name, value)
            assert said.strip() == str(getattr(twin, name) == value)
        assert agrees(nodes, twin)


@pytest.mark.parametrize(("hand", "heads"), [(Mouse, 6), (Keyboard, 3)])
def test_what_a_reader_does_reaches_python(page, hand, heads):
    node = output(page, HeadSplit).locator(".ab-widget")
    hand(page).choose(node.locator(f"input[name^='heads-'][value='{heads}']"))
    end = time.monotonic() + 10  # the front end sends what changed when the kernel has answered the change before
    while page.evaluate(ASK, "print(HeadSplit.heads)").strip() != str(heads):
        assert time.monotonic() < end
