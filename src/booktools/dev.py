"""The book while it is written: served, brought up to date when a file is saved, and shown again."""

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from io import BytesIO
from pathlib import Path

from watchfiles import Change, DefaultFilter, watch

from attnbook.widgets.shared.files import page_files
from booktools import live
from booktools.book import BookError
from booktools.book.edition import edition
from booktools.directives import front
from booktools.live import EARLY
from booktools.serving import Quiet
from booktools.site.style import join_styles

FOLDERS = ("assignments", "chapters", "slides", "src", "translations")
STATIC = "src/booktools/site/front/static"
FEED = "/changes"
# Goes into a page when it is served: the site itself holds nothing of it.
RELOAD = """<script>
new EventSource("{feed}").addEventListener("message", ({{ data }}) => data === "{version}" || location.reload());
</script></body>"""
# Sphinx with all that the book loads into it takes longer to start than to make a page: it starts before it is needed.
WAIT_AND_PRINT = """
import sys
from pathlib import Path
from booktools.printers.site import _load_extensions, print_pages
_load_extensions(Path())
if asked := sys.stdin.read():
    print_pages(Path(), Path(sys.argv[1]), everything=asked == "everything")
"""


class Server(ThreadingHTTPServer):
    """Serves a folder. Its pages load themselves again after `changed()`."""

    def __init__(self, folder: Path, port: int):
        self.version, self.change = time.time_ns(), threading.Condition()
        super().__init__(("127.0.0.1", port), partial(Handler, directory=str(folder)))

    def changed(self) -> None:
        with self.change:
            self.version = time.time_ns()
            self.change.notify_all()

    def version_after(self, seen: int) -> int:
        """The version that is not the one seen, when there is one."""
        with self.change:
            self.change.wait_for(lambda: self.version != seen)
            return self.version


class Handler(Quiet):
    server: Server

    def do_GET(self) -> None:
        if self.path == FEED:
            self.feed()
        else:
            super().do_GET()

    def feed(self) -> None:
        """Tells a page the version of the site, and each one that follows, for as long as the page is open."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        seen = 0
        try:
            while True:
                seen = self.server.version_after(seen)
                self.wfile.write(f"data: {seen}\n\n".encode())
        except ConnectionError:
            pass

    def send_head(self):
        version = self.server.version
        page = Path(self.translate_path(self.path))
        if page.is_dir() and self.path.endswith("/"):
            page /= "index.html"
        if page.suffix != ".html" or not page.is_file():
            return super().send_head()
        script = RELOAD.format(feed=FEED, version=version)
        body = page.read_text(encoding="utf-8").replace("</body>", script).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return BytesIO(body)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()


def dev(root: Path, html: Path, port: int) -> None:
    """Serve the site, and bring it up to date with what is saved, until somebody stops it."""
    if not (html / "index.html").is_file():
        raise BookError(f"{html} holds no index.html. Build the book first: `make dev` does both.")
    build = Builder(root, html)
    beside = (
        edition(root).folder if os.environ.get("ATTNBOOK_LANGUAGE") else ""
    )  # whose pages lead to others, a folder above
    with Server(html.parent if beside else html, port) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"The book is at http://127.0.0.1:{server.server_port}/{beside}  (Ctrl-C stops it)", flush=True)
        try:
            for changed in _saved(root):
                start, names = time.perf_counter(), ", ".join(sorted(path.name for path in changed))
                done = update(changed, root, html, build)
                print(f"{names}: {time.perf_counter() - start:.1f} s{'' if done else ', in vain'}", flush=True)
                if done and any(path.suffix == ".py" for path in changed):
                    os.execv(sys.executable, [sys.executable, *sys.argv])  # begins again, with the modules as they are
                server.changed()
        except KeyboardInterrupt:
            print()


class Builder:
    """Calls Sphinx, which says itself what it minds."""

    def __init__(self, root: Path, html: Path):
        self.root, self.html = root, html
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-W", "ignore::FutureWarning", "-c", WAIT_AND_PRINT, str(self.html)]
        stdin, stdout = subprocess.PIPE, subprocess.DEVNULL
        self.waiting = subprocess.Popen(
            command, cwd=self.root, stdin=stdin, stdout=stdout, text=True, start_new_session=True
        )

    def changed_pages(self) -> bool:
        """Make the pages whose text changed; whether Sphinx came to an end."""
        return self.run("pages")

    def everything(self) -> bool:
        """Make all pages, with the code as it is now; whether Sphinx came to an end."""
        self.waiting.communicate("")
        self.start()
        return self.run("everything")

    def run(self, asked: str) -> bool:
        sphinx = self.waiting
        sphinx.communicate(asked)
        self.start()
        return sphinx.returncode == 0


def _saved(root: Path) -> Iterator[set[Path]]:
    """Sets of files that were saved, as they are saved."""
    changes: queue.SimpleQueue[set[Path]] = queue.SimpleQueue()

    def follow(wanted: DefaultFilter, *places: Path, recursive: bool) -> None:
        for found in watch(*places, watch_filter=wanted, recursive=recursive, raise_interrupt=False):
            changes.put({Path(name) for _, name in found})

    folders = [root / name for name in FOLDERS if (root / name).is_dir()]
    for wanted, places in (Sources(), folders), (Pages(), [root]):
        options = {"recursive": places is folders}
        threading.Thread(target=follow, args=[wanted, *places], kwargs=options, daemon=True).start()
    while True:
        yield changes.get()


class Sources(DefaultFilter):
    """Files of which something is made, and not what an editor puts beside them."""

    def __call__(self, change: Change, path: str) -> bool:
        name = Path(path)
        return super().__call__(change, path) and name.suffix != "" and not name.name.startswith(".")


class Pages(Sources):
    """Of the files beside the folders those that Sphinx reads."""

    def __call__(self, change: Change, path: str) -> bool:
        return super().__call__(change, path) and path.endswith((".md", ".bib", ".yml", ".toml"))


def update(changed: set[Path], root: Path, html: Path, build: Builder) -> bool:
    """Bring the site up to date by the shortest way that the changed files allow; whether it worked.

    What readers download (the package, the Colab edition) stays as `make book` made it.
    """
    static = root / STATIC
    scripts = {path for path in changed if path.suffix in (".js", ".css") or path.is_relative_to(static)}
    scripts -= {path for path in scripts if _is_in_a_pages_address(path, root)}
    written = {root: (".md", ".bib", ".ipynb"), root / "chapters": (".ipynb",), root / "slides": (".md",)}
    overlays = {
        path
        for path in changed
        if path.suffix == ".md" and path.is_relative_to(root / "translations") and path.name != "terms.md"
    }
    pages = {path for path in changed if path.suffix in written.get(path.parent, ())} | overlays
    if changed - scripts - pages:
        return build.everything()
    if scripts:
        _copy_static(static, html / "_static")
        join_styles(html)
    return build.changed_pages() if pages else True


def _is_in_a_pages_address(script: Path, root: Path) -> bool:
    """Whether pages ask for a script by an address made of its content."""
    engine = script.is_relative_to(root / "src/handful") or script.is_relative_to(root / "src/booktools/live")
    return engine and script.name not in EARLY


def _copy_static(static: Path, to: Path) -> None:
    """The scripts and styles of widgets and pages, where they differ from what is there."""
    files = {path.relative_to(static).as_posix(): path.read_bytes() for path in static.rglob("*") if path.is_file()}
    files |= front() | live.early_files() | {f"widgets/{name}": content for name, content in page_files().items()}
    for name, content in files.items():
        target = to / name
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
