"""Parts of the book, as tests prove them, and the files that each is made of.

Files lie in rooms. What lies in the room of a chapter, an assignment, a widget, a directive, a page or a test file is
only in the parts that need the room; what lies in none is everybody's. So a part is made of all that is everybody's, of
the machine, and of its rooms. The pages of the built site have rooms, too.
"""

import json
import platform
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache, cached_property
from hashlib import blake2b
from importlib.metadata import distributions
from pathlib import Path, PurePath
from shutil import which

import torch

from attnbook.widgets import __all__ as WIDGETS
from attnbook.widgets import room
from booktools.book.package import version
from tests.browser.pages import PAGES

SITE = "_build/html"
EVERYBODYS = "everybody's"
ALL = frozenset("*")
WIDGET = re.compile(rf"data-afm=\\*\"(\w+)|\b({'|'.join(WIDGETS)})\b")
# Sites and programs to be printed, and packages: tests make their own.
NOT_READ = (".pdf", ".epub", ".zip", ".whl")


def room_of(path: PurePath) -> str:
    """The room in which a file of the repository lies.

    >>> room_of(PurePath("src/attnbook/widgets/scale_lab/en.json")), room_of(PurePath("assignments/wrong/05_dots.toml"))
    ('widgets/scale_lab', 'assignments/05_dots')
    >>> room_of(PurePath("src/attnbook/layers/masks.py")), room_of(PurePath("_build/html/chapters/05_dots.html"))
    ("everybody's", 'site/chapters/05_dots.html')
    """
    match path.parts:
        case ["_build", "html", "_static", "widgets", name, _, *_] if name != "shared":
            return f"site/widgets/{name}"
        case ["_build", "html", "_static", ("widgets" | "models") as folder, *_]:
            return f"site/{folder}"
        case ["_build", "html", folder, *_, name] if name.endswith(".html") or folder in ("_images", "colab"):
            return str(path).replace(SITE, "site", 1)
        case ["_build", "html", name] if name.endswith(".html"):
            return f"site/{name}"
        case ["_build", "html", top, *_]:
            return f"site/{top}"
        case ["chapters", _]:
            return f"chapters/{path.stem}"
        case ["assignments", "source" | "wrong" | "variants", _]:
            return f"assignments/{path.stem}"
        case ["src", "attnbook", "widgets", name, _, *_] if name != "shared":
            return f"widgets/{name}"
        case ["src", "booktools", "directives", name, _, *_]:
            return f"directives/{name}"
        case ["tests", *_, name] if name.startswith("test_"):
            return str(path)
        case [name] if name.endswith((".md", ".ipynb")):
            return f"pages/{path.stem}"
    return EVERYBODYS


@dataclass(frozen=True)
class Part:
    """What a few tests prove, and what it is made of: rooms, some of them as patterns, and texts of its own."""

    name: str
    file: str  # its tests
    rooms: frozenset[str]
    texts: tuple[str, ...] = ()


class Checkout:
    """All files of a checkout, and of the site that is built in it, by their rooms."""

    def __init__(self, root: Path):
        self.root = root
        told = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root,
            capture_output=True,
            check=True,
            text=True,
        )
        files = {Path(name) for name in told.stdout.split("\0") if name}
        files |= {path.relative_to(root) for path in (root / SITE).rglob("*") if path.suffix not in NOT_READ}
        self.rooms = defaultdict(list)
        for path in sorted(files):
            if (root / path).is_file():
                self.rooms[room_of(path)].append(path)

    @cache  # noqa: B019 (there is one)
    def digest(self, room: str) -> str:
        made = blake2b()
        for path in self.rooms[room]:
            content = (self.root / path).read_bytes()
            if path.suffix == ".html":
                content = content.replace(self.version, b"")  # which every change of the package changes
            made.update(f"{path} {blake2b(content).hexdigest()}\n".encode())
        return made.hexdigest()

    def read(self) -> None:
        """All of it, as it is now, whatever becomes of it while tests run."""
        for name in self.rooms:
            self.digest(name)

    @cached_property
    def version(self) -> bytes:
        return version(self.root).encode()

    def key(self, part: Part, tests: list[str]) -> str:
        """What a part is made of, as one number."""
        rooms = [name for name in sorted(self.rooms) if any(fnmatch(name, wanted) for wanted in part.rooms)]
        about = {name: self.digest(name) for name in [EVERYBODYS, *rooms]}
        return blake2b(json.dumps([about, part.texts, sorted(tests), machine()]).encode(), digest_size=16).hexdigest()

    # what tests need

    def part_of(self, item) -> Part:
        """The part of the book that a test proves something of."""
        params = item.callspec.params.values() if hasattr(item, "callspec") else ()
        pages = [] if getattr(item, "originalname", "") in MORE_THAN_A_PAGE else filter(None, map(self.named, params))
        return self.part(item.path.relative_to(self.root), *pages)

    @cache  # noqa: B019 (there is one)
    def part(self, file: Path, *named: str) -> Part:
        """The part of the tests of a file whose parameters name these pages."""
        name, tests = str(file), self.behind_tests(file)
        match file.parts:
            case ["chapters" | "assignments", *_] | [_]:
                return Part(
                    name, name, frozenset({room_of(file), *(f"widgets/{one}" for one in self.widgets_on(file))})
                )
            case ["tests", "widgets", _] if (widget := file.stem.removeprefix("test_")) in self.widgets:
                rooms = {f"{kind}/{one}" for one in self.widgets_of(widget) for kind in ("widgets", "site/widgets")}
                return Part(name, name, frozenset(tests | rooms | WIDGETS_LOAD), self.states(widget))
            case ["tests", "grading", _]:
                rooms = {f"assignments/{stem}" for stem in named} or {"assignments/*"}
                return Part(" ".join([name, *named]), name, frozenset(tests | rooms))
            case ["tests", "library", _]:
                return Part(name, name, frozenset(tests))
            case ["tests", "site" | "directives", _] if named:
                return Part(" ".join([name, *named]), name, frozenset(tests.union(*map(self.rooms_of_page, named))))
        return Part(name, name, ALL)

    def behind(self, part: Part, seen: set[str]) -> set[str]:
        """What a part is made of whose tests have read these rooms.

        If nobody knew before, there is also what they read without being seen: an edition of all chapters and pages,
        and the Python of directives, are read once in a process, by whoever comes first; and with a widget on a page
        come its twin in Python and the test file that says what it should show.
        """
        if part.rooms != ALL:
            return {*part.rooms, *seen - ALL}
        widgets = {name.rpartition("/")[2] for name in seen if name.startswith(("widgets/", "site/widgets/"))}
        tests = [Path(part.file), *(Path(f"tests/widgets/test_{one}.py") for one in widgets)]
        read = {*seen, "chapters/*", "pages/*", "directives/*", *(f"widgets/{one}" for one in widgets)}
        return read.union(*map(self.behind_tests, tests))

    @cached_property
    def widgets(self) -> frozenset[str]:
        return frozenset(map(room, WIDGETS))

    def named(self, value) -> str:
        """The page, chapter or assignment that a test's parameter names."""
        stem = str(getattr(value, "stem", value)).removeprefix("chapters/").removesuffix(".html")
        return stem if stem in PAGE_OF else ""

    def rooms_of_page(self, stem: str) -> set[str]:
        """A page of the site, what it loads, and the tests of the widgets on it, which say what they should show."""
        page = Path(SITE, PAGE_OF[stem])
        widgets = self.widgets_on(page)
        return {
            *PAGES_LOAD,
            room_of(page),
            f"chapters/{stem}",
            *(f"site/_images/{name}" for name in re.findall(r"_images/([\w.-]+)", self.text(page))),
            *(f"{kind}/{one}" for one in widgets for kind in ("widgets", "site/widgets")),
            *(test for one in widgets for test in self.behind_tests(Path(f"tests/widgets/test_{one}.py"))),
        }

    @cache  # noqa: B019
    def text(self, path: Path) -> str:
        return (self.root / path).read_text("utf-8") if (self.root / path).is_file() else ""

    def widgets_in(self, path: Path) -> set[str]:
        """The widgets that a page or notebook shows or names."""
        return {shown or room(name) for shown, name in WIDGET.findall(self.text(path))} & self.widgets

    def widgets_on(self, path: Path) -> set[str]:
        """Those, and others that they use."""
        return {other for one in self.widgets_in(path) for other in self.widgets_of(one)}

    @cache  # noqa: B019
    def widgets_of(self, widget: str) -> set[str]:
        """A widget, and others that its files use."""
        found, left = set(), {widget}
        while left:
            one = left.pop()
            found.add(one)
            code = "".join(self.text(path) for path in self.rooms[f"widgets/{one}"] if path.suffix in (".py", ".js"))
            used = re.findall(r"\.\./(\w+)/|attnbook\.widgets\.(\w+)", code)
            left |= {name for names in used for name in names if f"widgets/{name}" in self.rooms} - found
        return found

    def states(self, widget: str) -> tuple[str, ...]:
        """How the pages of the site show a widget."""
        state = re.compile(rf'data-afm="{widget}">.*?<script type="application/json">(.*?)</script>', re.DOTALL)
        return tuple(found for page in PAGES for found in state.findall(self.text(Path(SITE, page))))

    def behind_tests(self, file: Path) -> set[str]:
        """The test files behind one, and the widgets and directives that they name: their Python may be read before."""
        tests = self.test_files(file)
        rooms = {f"widgets/{one}" for test in tests for one in self.widgets_on(Path(test))}
        used = re.compile(r"booktools\.directives(?:\.| import )(\w+)")
        return {*tests, *rooms, *(f"directives/{one}" for test in tests for one in used.findall(self.text(Path(test))))}

    @cache  # noqa: B019
    def test_files(self, file: Path) -> set[str]:
        """A test file, and those that it imports from."""
        found, left = set(), {str(file)}
        while left:
            found.add(one := left.pop())
            names = re.findall(r"^ *from (tests\.[\w.]*\.test_\w+) import", self.text(Path(one)), re.MULTILINE)
            left |= {f"{name.replace('.', '/')}.py" for name in names} - found
        return found


PAGE_OF = {path.removesuffix(".html").removeprefix("chapters/"): path for path in PAGES}
# What every bare page of widgets loads; and every page of the site, or where a test comes from when it goes there.
WIDGETS_LOAD = {"site/widgets", "site/models", "site/404.html"}
PAGES_LOAD = {"site/_static", "site/widgets", "site/404.html", "site/glossary.html", "site/colab/last-green.json"}
# Whose parameter is a page, and which look at others, too.
MORE_THAN_A_PAGE = {
    "test_every_link_leads_somewhere",
    "test_buttons_of_a_chapter",
    "test_the_chapter_leads_to_its_file_and_back",
}


@cache
def machine() -> list[str]:
    """What it is proven on: Python, its packages, the processor, the programs that tests use."""
    packages = sorted(f"{one.metadata['Name']} {one.version}" for one in distributions())
    programs = [which("chromium-headless-shell"), which("chromium"), which("bwrap")]
    told = [
        subprocess.run([program, "--version"], capture_output=True, text=True).stdout for program in programs if program
    ]
    processor = [platform.machine(), torch.backends.cpu.get_cpu_capability()]
    return [sys.version, *processor, *told, *packages]
