"""The site, printed by Sphinx with booktools.site: all of it, or the pages that changed since it was printed last."""

import gc
import importlib
import re
import shutil
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

from booktools.book import BookError
from booktools.book.contents import settings
from booktools.book.edition import Edition
from booktools.printers.site_files import add_site_files

# What more than one page is made of: when some of it has changed, no page stands as it was.
FILES = (
    "_config.yml",
    "_toc.yml",
    "references.bib",
    "notation.md",
    "glossary.toml",
    "pyproject.toml",
    "requirements.txt",
    "README.md",
    "LICENSE",
)
FOLDERS = ("src/attnbook", "src/booktools", "src/handful", "translations", "assignments/source", "colab")


def print_site(edition: Edition, to: Path) -> None:
    """Bring the site in a folder up to date; from nothing, where what makes all pages has changed."""
    known = doctrees(to) / "made-by"
    made_by = digest(edition)
    if not known.is_file() or known.read_text() != made_by:
        shutil.rmtree(to, ignore_errors=True)
        shutil.rmtree(doctrees(to), ignore_errors=True)
    known.unlink(missing_ok=True)  # what fails now is made from nothing next time, with all that Sphinx has to say
    with edition.spoken():
        print_pages(edition.root, to, strict=True)
    add_site_files(edition, to)
    known.write_text(made_by)


def check_links(edition: Edition, to: Path, *, patience: int = 30) -> None:
    """Follow the links that lead out of the book. Each is asked for three times, and may take so many seconds.

    What is under the book's own address is there once it is published; tests look for it in the printed site. A host
    that answers "forbidden" takes us for a machine: the link leads somewhere.
    """
    here = edition.here
    own = (here.repository, here.site.removesuffix("/"), here.colab("").rsplit("/", 2)[0])
    config = {
        "linkcheck_ignore": [re.escape(link) for link in own],
        "linkcheck_timeout": patience,
        "linkcheck_retries": 3,
    }
    config |= {"linkcheck_anchors": False, "linkcheck_report_timeouts_as_broken": True}
    shutil.rmtree(to, ignore_errors=True)
    try:
        with edition.spoken():
            print_pages(edition.root, to, builder="linkcheck", config=config)
    except BookError:
        found = (to / "output.txt").read_text("utf-8").splitlines()
        broken = [line for line in found if "[broken]" in line and " 403 Client Error" not in line]
        if broken:
            raise BookError("\n".join(["these links lead nowhere:", *broken])) from None


def print_pages(
    root: Path,
    to: Path,
    *,
    everything: bool = False,
    strict: bool = False,
    builder: str = "html",
    config: Mapping[str, object] = MappingProxyType({}),
) -> None:
    """Let Sphinx make the pages that changed, or all; where it is strict, a warning is an error."""
    from jupyter_book.sphinx import build_sphinx
    from sphinx_external_toc import collectors

    collectors.gc = Found  # pyrefly: ignore[bad-assignment]
    done = build_sphinx(
        root.absolute(),
        to.absolute(),
        noconfig=True,
        path_config=root / "_config.yml",
        confoverrides={
            "external_toc_path": str(root.absolute() / "_toc.yml"),
            "latex_individualpages": False,
            "nitpicky": True,
            **config,
        },
        builder=builder,
        doctreedir=doctrees(to).absolute(),
        force_all=everything,
        quiet=True,
        warningiserror=strict,
        keep_going=strict,
    )
    if done:
        raise BookError("the site is not printed; above, Sphinx says why.")


class Found:
    """For sphinx_external_toc, which looks for Sphinx's own contents among all objects of the process: `isinstance`
    raises where a weak proxy has lost its object, and parts of PyTorch warn that they are deprecated.
    """

    @staticmethod
    def get_objects() -> list:
        from sphinx.environment.collectors.toctree import TocTreeCollector

        return [each for each in gc.get_objects() if issubclass(type(each), TocTreeCollector)]


def doctrees(to: Path) -> Path:
    """Returns the folder where Sphinx keeps what it has read for a site."""
    return to.parent / f".{to.name}-read"


def digest(edition: Edition) -> str:
    """A hash of what makes more than one page, such as titles and numbers, to which others refer."""
    made_by = sha256(repr((edition.root, edition.language, edition.labels, list(edition.decks))).encode())
    for path in _what_makes_pages(edition.root):
        made_by.update(path.relative_to(edition.root).as_posix().encode() + path.read_bytes())
    return made_by.hexdigest()


def _what_makes_pages(root: Path) -> Iterator[Path]:
    yield from (path for name in FILES if (path := root / name).is_file())
    for folder in FOLDERS:
        yield from sorted(path for path in (root / folder).rglob("*") if path.is_file() and path.suffix != ".pyc")


def _load_extensions(root: Path) -> None:
    """Import what Sphinx will load, which takes longer than to make a page."""
    from sphinx.application import builtin_extensions

    for name in ("jupyter_book.sphinx", "myst_nb.sphinx_ext", *builtin_extensions):
        importlib.import_module(name)
    for name in settings(root)["sphinx"]["config"]["extensions"]:
        importlib.import_module(name)
