"""Every widget in a real JupyterLab, light and dark: alive, laid out as on a page; and a table when reopened."""

import json
import os
import sys
from contextlib import contextmanager

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import expect

from attnbook.widgets import all_widgets
from tests import ROOT
from tests.browser.pages import bare
from tests.browser.servers import served
from tests.browser.visiting import browser, home, visit

__all__ = ["browser", "home", "visit"]

KINDS = all_widgets()
MINUTES_5 = 300_000  # a notebook of all widgets, on a machine with other work: no verdict, only an end
# What can be seen: where each element lies in the widget, and how large its letters are. (SVG is drawn by numbers.)
LAYOUT = """(body) => {
    const around = body.getBoundingClientRect();
    const parts = [...body.querySelectorAll(":not(svg *)")].filter((part) => part.checkVisibility());
    return parts.map((part) => {
        const [box, letters] = [part.getBoundingClientRect(), parseFloat(getComputedStyle(part).fontSize)];
        const name = `${part.tagName} ${part.getAttribute("class") ?? ""}`;
        return [name, box.x - around.x, box.y - around.y, box.width, box.height, letters];
    });
}"""
SETTLED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
RUN_ALL = """async () => {
    const { sessionContext } = jupyterapp.shell.currentWidget.context;
    await sessionContext.ready;
    await sessionContext.session.kernel.info;
    await jupyterapp.commands.execute("notebook:run-all-cells");
}"""


def settings(folder, theme):
    """What JupyterLab is told: to keep all cells on the page, and to ask for no news."""
    chosen = {
        "notebook-extension/tracker": {"windowingMode": "none"},
        "apputils-extension/notification": {"fetchNews": "false"},
        "apputils-extension/themes": {"theme": f"JupyterLab {theme.title()}"},
    }
    for name, values in chosen.items():
        path = folder / f"@jupyterlab/{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))


def notebook(folder, theme, kinds):
    """One cell for every widget, in a folder for JupyterLab."""
    settings(folder / "settings", theme)
    cells = [new_code_cell("import attnbook.widgets as shown")]
    cells += [new_code_cell(f"shown.{kind.__name__}()") for kind in kinds]
    (folder / "home").mkdir()
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=cells, metadata=spec), folder / "home/widgets.ipynb")
    return folder / "home/widgets.ipynb"


@contextmanager
def opened(browser, folder, cells):
    """The notebook on the page of a JupyterLab that was started as `make lab` starts it."""
    command = [sys.executable, "-m", "jupyterlab", folder / "home", "--expose-app-in-browser"]
    command += ["--ServerApp.token=", "--ServerApp.password="]
    told = {"JUPYTERLAB_SETTINGS_DIR": folder / "settings", "JUPYTER_CONFIG_PATH": ROOT / "src/booktools/jupyter"}
    told = os.environ | {name: str(path) for name, path in told.items()}
    with served(command, folder / "server.log", env=told) as address:
        page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        page.set_default_timeout(MINUTES_5)
        page.goto(f"{address}lab/tree/widgets.ipynb?reset")
        page.locator(".jp-Notebook .jp-CodeCell").nth(cells - 1).wait_for(state="attached")
        yield page
        page.close()


def run_all(page, widgets):
    page.evaluate(RUN_ALL)
    page.locator(".ab-widget .ab-body").nth(widgets - 1).wait_for(state="attached")


@pytest.fixture(scope="module", params=["light", "dark"])
def lab(request, browser, tmp_path_factory):
    """A notebook of all widgets, run from top to bottom."""
    folder = tmp_path_factory.mktemp("lab")
    notebook(folder, request.param, KINDS)
    with opened(browser, folder, 1 + len(KINDS)) as page:
        run_all(page, len(KINDS))
        yield page


# A notebook has no place for a model to run, nor for scripts that come later: on the page they do nothing.
WITHOUT_A_MODEL = "(side) => { side.querySelector('.ab-start').remove(); side.lastChild.textContent = ''; }"
COME_LATER = {
    "_static/widgets/model_map/film.js": "export const film = () => ({ draw() {}, play() {}, end() {} });",
    "_static/widgets/model_map/more.js": "export const more = async () => () => {};",
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_it_is_laid_out_as_on_a_page(lab, visit, kind):
    here = lab.locator(".jp-CodeCell").nth(KINDS.index(kind) + 1).locator(".ab-widget")
    here.scroll_into_view_if_needed()
    width = here.evaluate("(node) => node.getBoundingClientRect().width")
    html = bare(kind()).replace("<body>", f'<body><div style="width: {width}px">')
    page = visit("widget.html", served={"widget.html": html} | COME_LATER, motion="reduce")
    page.locator("[data-mounted]").wait_for()
    if kind.name == "real_model":
        page.locator(".ab-side").evaluate(WITHOUT_A_MODEL)
    in_lab, on_a_page = [], []
    for body, found in ((here.locator(".ab-body"), in_lab), (page.locator("[data-afm] .ab-body"), on_a_page)):
        body.locator("xpath=..").locator("[aria-busy]").wait_for(state="detached")
        body.evaluate(SETTLED)
        found += body.evaluate(LAYOUT)
    assert [name for name, *_ in in_lab] == [name for name, *_ in on_a_page]
    for (name, *one), (_, *other) in zip(in_lab, on_a_page, strict=True):
        assert one == pytest.approx(other, abs=2), name


def test_saved_and_opened_again_it_is_a_table(browser, tmp_path):
    """The kernel is gone, and the widget's model with it; while it was there, saving left the widget alive."""
    kinds = KINDS[:2]
    path = notebook(tmp_path, "light", kinds)
    with opened(browser, tmp_path, 3) as page:
        run_all(page, 2)
        page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")
        outputs = [data for cell in nbformat.read(path, 4).cells for data in cell.outputs]
        assert len(outputs) == 2, "saved"
        expect(page.locator(".ab-widget .ab-body")).to_have_count(2)
    with opened(browser, tmp_path, 3) as page:
        expect(page.locator(".jp-OutputArea-output .ab-fallback table")).to_have_count(2, timeout=MINUTES_5)
        page.evaluate("async () => { await jupyterapp.shell.currentWidget.context.sessionContext.ready; }")
        expect(page.get_by_text("model not found")).to_have_count(0)
        run_all(page, 2)
