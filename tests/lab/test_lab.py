"""Every widget in a real JupyterLab: laid out as on a page of nothing but itself, light and dark."""

import json
import os
import socket
import subprocess
import sys
import time
from urllib.request import urlopen

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from attnbook.widgets import all_widgets
from tests.browser.pages import bare
from tests.browser.visiting import browser, home, visit

__all__ = ["browser", "home", "visit"]

KINDS = all_widgets()
GEOMETRY = """(body) => {
    const { x: left, y: top } = body.getBoundingClientRect();
    const place = (node) => {
        const { x, y, width, height } = node.getBoundingClientRect();
        return [node.tagName, ...[x - left, y - top, width, height].map(Math.round)];
    };
    const seen = (node) => node.checkVisibility() && !node.closest("svg *");
    return [...body.querySelectorAll("*")].filter(seen).map(place);
}"""
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
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser"]
    command += ["--ServerApp.token=", "--ServerApp.password=", "--ip=127.0.0.1", f"--port={port}", str(folder / "home")]
    told = os.environ | {"JUPYTERLAB_SETTINGS_DIR": str(folder / "settings")}
    with (
        (folder / "server.log").open("w") as log,
        subprocess.Popen(command, env=told, stdout=log, stderr=log) as server,
    ):
        page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        try:
            arrive(f"http://127.0.0.1:{port}/api", server, folder / "server.log")
            page.goto(f"http://127.0.0.1:{port}/lab/tree/widgets.ipynb?reset")
            page.locator(".jp-Notebook .jp-CodeCell").nth(len(KINDS)).wait_for(state="attached", timeout=60_000)
            page.locator("[data-status='idle']").first.wait_for(state="attached", timeout=60_000)
            page.evaluate("() => { jupyterapp.commands.execute('notebook:run-all-cells'); }")
            page.locator(".ab-widget .ab-body").nth(len(KINDS) - 1).wait_for(state="attached", timeout=60_000)
            yield page
        except Exception:
            page.screenshot(path="/tmp/w/bad/labfail.png"); print(page.evaluate("[...document.querySelectorAll('[data-status]')].map(n=>n.className+' '+n.dataset.status)"))
            raise
        finally:
            page.close()
            server.terminate()
            server.wait()


def arrive(address, server, log, seconds=60):
    for _ in range(10 * seconds):
        if server.poll() is not None:
            pytest.fail(f"JupyterLab stopped:\n{log.read_text()}")
        try:
            return urlopen(address)
        except OSError:
            time.sleep(0.1)
    return pytest.fail(f"JupyterLab did not answer in {seconds} s")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_laid_out_as_on_a_page(lab, visit, kind):
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
        found.append(each.evaluate(GEOMETRY))
    ours, theirs = found
    apart = [
        f"{one[0]} is at {two[1:]}, on a page at {one[1:]}"
        for one, two in zip(theirs, ours, strict=True)
        if max(abs(a - b) for a, b in zip(one[1:], two[1:], strict=True)) > 2
    ]
    assert not apart, "; ".join(apart[:4])
