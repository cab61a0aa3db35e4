"""The book packed: unpacked somewhere else, it starts with Python alone, and computes."""

import re
import shutil
import subprocess
import sys
from zipfile import ZipFile

import pytest
from playwright.sync_api import expect

from booktools.book.edition import edition, editions
from booktools.printers.zipped import FOLDER, MODEL, MODELS, NAME, print_zip
from tests import ROOT
from tests.browser.clocks import until
from tests.sizes import is_light

FIVE, TWELVE = "chapters/05_scaled_dot_product_attention.html", "chapters/12_a_real_one.html"


@pytest.fixture(scope="module")
def packed(site, tmp_path_factory):
    """A site beside which a PDF was printed before, and what was packed of it."""
    copy = tmp_path_factory.mktemp("packed") / "site"
    shutil.copytree(site.folder, copy, ignore=shutil.ignore_patterns(f"{FOLDER}*"))
    (copy / f"{FOLDER}.pdf").write_bytes(b"%PDF" * 250_000)
    return print_zip(edition(ROOT), copy)


@pytest.fixture
def address(packed, tmp_path):
    """Both unpacked, and started."""
    for file in packed:
        ZipFile(file).extractall(tmp_path)
    command = [sys.executable, "-I", tmp_path / FOLDER / "start.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"BROWSER": "true", "PATH": ""}) as server:
        yield re.search(r"http://\S+", server.stdout.readline())[0]
        server.terminate()


def files_in(packed):
    return {name for name in ZipFile(packed).namelist() if not name.endswith("/")}


def test_each_file_is_one_that_pages_are_served_with(packed):
    assert [file.name for file in packed] == [NAME, MODEL]
    book, model = packed
    others = {each.folder: 0 for each in editions(ROOT) if each.folder}
    for file in ZipFile(book).infolist():
        for folder in others:
            others[folder] += file.compress_size * file.filename.startswith(f"{FOLDER}/book/{folder}")
    is_light("the zip", book.stat().st_size - sum(others.values()))
    for size in others.values():
        is_light("another edition in the zip", size)
    is_light("the zip of the published model", model.stat().st_size)


def test_all_of_the_site_is_in_one_of_them(packed):
    site = packed[0].parent
    every = (path.relative_to(site) for path in site.rglob("*") if path.is_file())
    there = {path.as_posix() for path in every if "jupyter_execute" not in path.parts}
    models = {name for name in there if name.startswith(MODELS)}
    pages = there - models - {NAME, MODEL, f"{FOLDER}.pdf"}
    beside = {f"{FOLDER}/start.py", f"{FOLDER}/READ ME.txt"}
    assert files_in(packed[0]) == {f"{FOLDER}/book/{name}" for name in pages} | beside
    assert files_in(packed[1]) == {f"{FOLDER}/book/{name}" for name in models}


def test_the_first_page_offers_what_is_beside_it_and_no_more(packed, address, browser):
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"file://{packed[0].parent}/index.html")
        links = page.locator(".paper a").evaluate_all("(all) => all.map((link) => link.getAttribute('href'))")
        assert links == [f"{FOLDER}.pdf", NAME, MODEL]
        page.goto(address)
        expect(page.locator(".paper")).to_be_hidden()


def test_started_by_python_alone_it_computes(address, browser):
    with browser.new_context(base_url=address) as context:
        page = context.new_page()
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        for chapter in (FIVE, TWELVE):
            page.goto(chapter)
            expect(page.locator("[data-mounted]").first).to_be_attached(timeout=60_000)
        until(page, "async () => (await caches.keys()).length > 0")  # and is kept, too
        assert all(url.startswith((address, "data:", "blob:")) for url in asked)
