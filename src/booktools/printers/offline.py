"""The book without a network: a service worker that knows the files of its build, and which of them each page needs."""

import json
import re
from hashlib import sha256
from pathlib import Path, PurePosixPath
from posixpath import normpath

from attnbook.colours import LIGHT, STAGE
from attnbook.language import words

HERE = Path(__file__).parent
# A published model is asked for by itself; the whole book, as PDF, EPUB or zip, is for another place.
LEFT_OUT = ("_static/models/", "colab/", "assignments/", "404.html", "attention-you-can-touch")
TEXT = (".html", ".css", ".js", ".mjs", ".json")
# Where a name in a script may begin: at the script, at the files of the site, at those of widgets.
FOLDERS = ("_static", "_static/widgets")


def add_worker(html: Path) -> None:
    """Add `offline.js` and what makes the book one that can be installed, once all that is kept is there."""
    say = words(HERE.parent / "site")
    icons = [
        {"src": "_static/favicon.svg", "sizes": "any", "type": "image/svg+xml"},
        {"src": "_static/icon.png", "sizes": "512x512", "type": "image/png", "purpose": "any maskable"},
    ]
    about = {"name": say["title"], "description": say["description"], "start_url": "index.html", "icons": icons}
    about |= {
        "display": "standalone",
        "background_color": str(LIGHT["ab-paper"]),
        "theme_color": str(STAGE["ab-paper"]),
    }
    (html / "book.webmanifest").write_text(json.dumps(about, ensure_ascii=False), "utf-8")
    book = json.dumps(manifest(html), ensure_ascii=False)
    (html / "offline.js").write_text(f"self.BOOK = {book};\n" + (HERE / "offline.js").read_text("utf-8"), "utf-8")


def manifest(html: Path) -> dict:
    """The files that pages need, each with a digest and its size; and by pages, which they are.

    A folder that has a worker of its own, such as zh/, is left to it.
    """
    left_out = (*LEFT_OUT, *(f"{path.parent.name}/" for path in html.glob("*/offline.js")))
    there = {path.relative_to(html).as_posix(): path for path in html.rglob("*") if path.is_file()}
    contents = {name: path.read_bytes() for name, path in sorted(there.items()) if not name.startswith(left_out)}
    texts = {name: content.decode() for name, content in contents.items() if name.endswith(TEXT)}
    named = {name: named_files(name, text, set(contents)) for name, text in texts.items()}
    pages = {name: sorted(_needed_files(name, named)) for name in named if name.endswith(".html")}
    files = sorted({name for needed in pages.values() for name in needed} | set(pages))
    place = {name: n for n, name in enumerate(files)}
    known = {name: (sha256(contents[name]).hexdigest()[:16], len(contents[name])) for name in files}
    say = words(HERE)["offline"] | {"titles": {name: title(texts[name]) for name in pages}}
    needed = {page: [place[name] for name in names] for page, names in pages.items()}
    version = sha256(json.dumps([known, needed, say]).encode()).hexdigest()[:16]
    return {"version": version, "say": say, "files": known, "pages": needed}


def named_files(name: str, text: str, there: set[str]) -> set[str]:
    """The files of the site that a text names in quotes or in `url()`, as a page, a style or a script does.

    A page names its widgets, each of which has a folder.
    """
    written_in = set(re.findall(r"""["'`(]([\w./-]{1,120}\.\w{2,5})[?#"'`)]""", text))
    for widget in re.findall(r'data-afm="(\w+)"', text):
        written_in |= {f"{widget}/{widget}.js", f"{widget}/{widget}.css"}
    found = set()
    for written in written_in:
        for folder in (PurePosixPath(name).parent.as_posix(), *FOLDERS):
            if (file := normpath(f"{folder}/{written}")) in there:
                found.add(file)
                break
    return found


def _needed_files(page: str, named: dict[str, set[str]]) -> set[str]:
    """All that a page needs, and what that needs; other pages and what one downloads aside.

    >>> named = {"a.html": {"b.html", "a.js"}, "a.js": {"c.js"}, "b.html": {"b.js"}, "c.js": {"a.js"}}
    >>> sorted(_needed_files("a.html", named))
    ['a.js', 'c.js']
    """
    found, open_ = set(), [page]
    while open_:
        for name in named.get(open_.pop(), set()) - found:
            if not name.endswith((".html", ".ipynb", ".py", ".whl", ".zip", ".xml", ".pdf", ".epub")):
                found.add(name)
                open_.append(name)
    return found


def title(page: str) -> str:
    return page.partition("<title>")[2].partition("</title>")[0].strip()
