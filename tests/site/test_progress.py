"""Whoever waits at a terminal sees how far a command has come; a file gets only what the command says."""

import io
import sys
from types import SimpleNamespace

from booktools.progress import progress, say
from booktools.site import build_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_sees_what_is_done_and_how_far_it_is(monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    bar = progress(["a", "b"], "opening pages")
    for _ in bar:
        say("a page is open")
    assert "opening pages: " in terminal.getvalue()
    assert "2 of 2" in bar.format_meter(2, 2, 0, bar_format=bar.bar_format, ncols=100)


def test_a_file_gets_nothing_of_it(capsys):
    for _ in progress(["a", "b"], "opening pages"):
        say("a page is open")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("a page is open\n" * 2, "")


def test_sphinx_tells_of_every_page_that_it_reads_and_writes(monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    bar, listeners = progress(doing="reading pages", of=0), {}
    bar.mininterval = 0  # drawn at each step, however fast they come
    monkeypatch.setattr(build_progress, "progress", lambda **_: bar)
    app = SimpleNamespace(connect=listeners.__setitem__, config=SimpleNamespace(html_additional_pages={"404": ""}))
    build_progress.setup(app)
    listeners["env-before-read-docs"](app, None, ["index", "notation"])
    listeners["source-read"](app, "notation", [""])
    assert "reading pages" in terminal.getvalue()
    for name in ("index", "notation", "404", "from_scratch/05_dots"):
        listeners["html-page-context"](app, name, "page.html", {}, None)
    listeners["build-finished"](app, None)
    assert "writing pages" in terminal.getvalue()
