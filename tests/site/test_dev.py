"""`make dev`: what is saved arrives, by the shortest way, and the page is told; the built site knows nothing of it."""

import http.client
import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from attnbook.widgets.shared import files
from booktools import dev
from booktools.site.style import PARTS
from tests import ROOT

PAGE = "<!DOCTYPE html><html><body><p>Attention</p></body></html>"
SCRIPT = Path("scale_lab/scale_lab.js")


class Sphinx:
    """Notes what it is asked to make, and makes nothing."""

    def __init__(self, *folders):
        self.asked = []

    def changed_pages(self):
        self.asked.append("changed pages")
        return True

    def everything(self):
        self.asked.append("everything")
        return True


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A folder laid out as the book's, its widgets in it, and a site of one page."""
    for name in ("chapters", "assignments", dev.STATIC, "_build/html"):
        (tmp_path / name).mkdir(parents=True)
    rooms = tmp_path / "src/attnbook/widgets"
    shutil.copytree(ROOT / "src/attnbook/widgets", rooms, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(files, "ROOMS", rooms)
    monkeypatch.setattr(files, "SHARED", rooms / "shared")
    (tmp_path / "_build/html/index.html").write_text(PAGE)
    for part in PARTS:  # those that Sphinx and its extensions bring stay as they are
        style = tmp_path / f"_build/html/_static/{part}.css"
        style.parent.mkdir(parents=True, exist_ok=True)
        style.write_text("")
    return tmp_path


@pytest.fixture
def served(book, monkeypatch):
    """The address of the book while `make dev` runs."""
    ready = threading.Event()

    class Server(dev.Server):
        def serve_forever(self):
            self.served_at = self.server_port
            servers.append(self)
            ready.set()
            super().serve_forever()

    servers = []
    monkeypatch.setattr(dev, "Server", Server)
    monkeypatch.setattr(dev, "Builder", Sphinx)
    threading.Thread(target=dev.dev, args=[book, book / "_build/html", 0], daemon=True).start()
    assert ready.wait(10)
    yield servers[0].server_port
    servers[0].shutdown()


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path)
    return connection.getresponse()


def news(feed):
    """What the open page is told next."""
    while not (line := feed.readline()).startswith(b"data: "):
        assert line, "the feed ended"
    return line.removeprefix(b"data: ").strip().decode()


def test_a_saved_script_arrives_and_the_page_is_told(book, served):
    page = get(served, "/").read().decode()
    feed = get(served, dev.FEED)
    assert f'"{news(feed)}"' in page, "a page that is up to date must not load itself again"
    told = threading.Event()

    def save():  # again and again: nobody says when the folders are being watched
        while not told.wait(0.3):
            (book / "src/attnbook/widgets" / SCRIPT).write_text("export default {saved:1};")

    threading.Thread(target=save, daemon=True).start()
    version = news(feed)
    told.set()
    assert f'"{version}"' not in page
    script = get(served, f"/_static/widgets/{SCRIPT.as_posix()}?v=0123")
    assert script.read() == b"export default {saved:1};"
    assert script.headers["Cache-Control"] == "no-store"


def test_nothing_of_it_is_in_the_site(book, served):
    assert dev.FEED in get(served, "/").read().decode()
    assert (book / "_build/html/index.html").read_text() == PAGE


@pytest.mark.parametrize(
    ("names", "asked"),
    [
        (["src/attnbook/widgets/scale_lab/scale_lab.css"], []),
        ([f"{dev.STATIC}/frame.css", f"{dev.STATIC}/wall.png"], []),
        (["chapters/05_dots.ipynb"], ["changed pages"]),
        (["notation.md", f"{dev.STATIC}/book.js"], ["changed pages"]),
        (["references.bib"], ["changed pages"]),
        (["_toc.yml"], ["everything"]),
        (["translations/zh/chapters/05_dots.md"], ["changed pages"]),
        (["src/booktools/site/frame.py"], ["everything"]),
        (["src/booktools/site/front/templates/layout.html", "chapters/05_dots.ipynb"], ["everything"]),
        (["src/attnbook/widgets/scale_lab/en.json"], ["everything"]),
        (["assignments/source/05_dots.ipynb"], ["everything"]),
    ],
)
def test_the_shortest_way(book, names, asked):
    sphinx = Sphinx(book)
    assert dev.update({book / name for name in names}, book, book / "_build/html", sphinx)
    assert sphinx.asked == asked


def test_a_saved_style_is_in_the_style_of_all_pages_and_its_address_is_new(book):
    site, style = book / "_build/html", book / dev.STATIC / "frame.css"
    (site / "index.html").write_text('<link rel="stylesheet" href="_static/style.css?v=">')
    addresses = set()
    for colour in ("red", "green"):
        style.write_text(f"a {{ color: {colour}; }}")
        assert dev.update({style}, book, site, Sphinx(book))
        assert colour in (site / "_static/style.css").read_text()
        addresses.add((site / "index.html").read_text())
    assert len(addresses) == 2


@pytest.mark.parametrize("name", ["chapters/.~05_dots.ipynb", "src/frame.py~", "src/__pycache__/a.pyc", "src/4913"])
def test_what_an_editor_leaves_beside_a_file_is_no_change(book, name):
    assert not dev.Sources()(dev.Change.modified, str(book / name))


def test_without_a_site_it_says_what_to_do(tmp_path):
    with pytest.raises(dev.BookError, match=r"holds no index\.html\. Build the book first: `make dev` does both\."):
        dev.dev(tmp_path, tmp_path, 0)


@pytest.mark.slow
def test_sphinx_waits_and_makes_what_changed(tmp_path, monkeypatch):
    """Only the changed page is written again; of code, what stands there when everything is asked for."""
    imported, extension, html = tmp_path / "imported", tmp_path / "own.py", tmp_path / "_build/html"
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters: [{file: two}, {file: three}]\n")
    (tmp_path / "_config.yml").write_text(
        "title: Book\nsphinx: {config: {extensions: [myst_nb, jupyter_book, "
        "sphinx_external_toc, sphinx_comments, sphinx_book_theme, own], html_copy_source: false}}\n"
    )
    for name in ("index", "two", "three"):
        (tmp_path / f"{name}.md").write_text(f"# Page {name}\n")

    def write_extension(said):
        extension.write_text(f"open('imported', 'w')\ndef setup(app): app.add_js_file(None, body='{said}')")

    write_extension("old code")
    builder = dev.Builder(tmp_path, html)
    assert builder.changed_pages()
    before = (html / "three.html").stat().st_mtime_ns
    (tmp_path / "two.md").write_text("# Page two\n\nMore of it.\n")
    assert builder.changed_pages()
    imported.unlink()
    assert "More of it." in (html / "two.html").read_text()
    assert (html / "three.html").stat().st_mtime_ns == before
    while not imported.exists():  # the next one begins to wait, with code that is soon old
        assert builder.waiting.poll() is None
        time.sleep(0.1)
    write_extension("new code")
    assert builder.everything()
    assert "new code" in (html / "three.html").read_text()
    extension.write_text("def setup(")
    assert not builder.everything()
    builder.waiting.communicate("")
