"""Every widget in a real JupyterLab, light and dark: it comes alive, and names stand by their values as on a page."""

import json
import os
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from attnbook.widgets import all_widgets
from tests.browser.pages import bare
from tests.browser.servers import served
from tests.browser.visiting import browser, home, visit

__all__ = ["browser", "home", "visit"]

KINDS = all_widgets()
LISTS = """(body) => [...body.querySelectorAll("dt, dd")].map((node) => {
    const [mine, around] = [node, node.closest("dl")].map((each) => each.getBoundingClientRect());
    return [node.tagName, Math.round(mine.x - around.x), Math.round(mine.width)];
})"""
SETTLED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


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


@pytest.fixture(scope="module", params=["light", "dark"])
def lab(request, browser, tmp_path_factory):
    """A notebook with one cell for every widget, run from top to bottom."""
    folder = tmp_path_factory.mktemp("lab")
    settings(folder / "settings", request.param)
    cells = [new_code_cell("import attnbook.widgets as shown")]
    cells += [new_code_cell(f"shown.{kind.__name__}()") for kind in KINDS]
    (folder / "home").mkdir()
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=cells, metadata=spec), folder / "home/widgets.ipynb")
    command = [sys.executable, "-m", "jupyterlab", folder / "home", "--expose-app-in-browser"]
    command += ["--ServerApp.token=", "--ServerApp.password="]
    told = os.environ | {"JUPYTERLAB_SETTINGS_DIR": str(folder / "settings")}
    with served(command, folder / "server.log", env=told) as address:
        page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        page.goto(f"{address}lab/tree/widgets.ipynb?reset")
        page.locator(".jp-Notebook .jp-CodeCell").nth(len(KINDS)).wait_for(state="attached", timeout=60_000)
        page.locator("[data-status='idle']").first.wait_for(state="attached", timeout=60_000)
        page.evaluate("() => { jupyterapp.commands.execute('notebook:run-all-cells'); }")
        page.locator(".ab-widget .ab-body").nth(len(KINDS) - 1).wait_for(state="attached", timeout=60_000)
        yield page
        page.close()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_names_stand_by_their_values(lab, visit, kind):
    here = lab.locator(".jp-CodeCell").nth(KINDS.index(kind) + 1).locator(".ab-widget")
    here.scroll_into_view_if_needed()
    width = here.evaluate("(node) => node.getBoundingClientRect().width")
    html = bare(kind()).replace("<body>", f'<body><div style="width: {width}px">')
    page = visit("widget.html", served={"widget.html": html}, motion="reduce")
    page.locator("[data-mounted]").wait_for()
    there = page.locator("[data-afm] .ab-body")
    found = []
    for each in (here.locator(".ab-body"), there):
        each.page.locator("[aria-busy]").wait_for(state="detached")
        each.evaluate(SETTLED)
        found.append(each.evaluate(LISTS))
    in_lab, on_a_page = found
    for one, other in zip(in_lab, on_a_page, strict=True):
        assert one == [other[0], pytest.approx(other[1], abs=3), pytest.approx(other[2], abs=3)]
