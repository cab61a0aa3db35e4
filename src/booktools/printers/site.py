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
from booktools.book.edition import Edition, editions
from booktools.book.edition import edition as current_edition
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
FOLDERS = ("src/attnbook", "src/booktools", "src/handful", "assignments/source", "colab")


def print_site(edition: Edition, to: Path) -> None:
    """Bring the site in a folder up to date; from nothing, where what makes all pages has changed."""
    with edition.spoken():
        known = doctrees(edition.root, to) / "made-by"
        made_by = digest(edition)
        if not known.is_file() or known.read_text() != made_by or not to.is_dir():
            shutil.rmtree(to, ignore_errors=True)
            shutil.rmtree(known.parent, ignore_errors=True)
        known.unlink(missing_ok=True)  # what fails now is made from nothing next time, with all that Sphinx has to say
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
        doctreedir=doctrees(root, to).absolute(),
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


def doctrees(root: Path, to: Path) -> Path:
    """Returns the folder where Sphinx keeps what it has read for a site, beside that and not in it."""
    html = to.parent if current_edition(root).folder else to
    return html.parent / f".{'-'.join([html.name, *to.relative_to(html).parts])}-read"


def digest(edition: Edition) -> str:
    """A hash of what makes more than one page, such as titles and numbers, to which others refer."""
    offered = [(each.language, each.offered) for each in (*editions(edition.root), edition)]
    made_by = sha256(repr((edition.root, edition.labels, list(edition.decks), offered)).encode())
    for path in _what_makes_pages(edition.root, edition.language):
        made_by.update(path.relative_to(edition.root).as_posix().encode() + path.read_bytes())
    return made_by.hexdigest()


def _what_makes_pages(root: Path, language: str) -> Iterator[Path]:
    """The files, without words that only another language has. (Of translations, each page knows its own.)"""
    yield from (path for name in FILES if (path := root / name).is_file())
    for shared in ("terms.md", "figures.toml"):
        yield from sorted(root.glob(f"translations/{language.partition('-')[0]}*/{shared}"))
    for folder in FOLDERS:
        for path in sorted(path for path in (root / folder).rglob("*") if path.is_file() and path.suffix != ".pyc"):
            is_words = path.suffix == ".json" and path.with_name("en.json").is_file() and "booktools" in path.parts
            if not is_words or path.stem == "en" or language.startswith(path.stem):
                yield path


def _load_extensions(root: Path) -> None:
    """Import what Sphinx will load, which takes longer than to make a page."""
    from sphinx.application import builtin_extensions

    for name in ("jupyter_book.sphinx", "myst_nb.sphinx_ext", *builtin_extensions):
        importlib.import_module(name)
    for name in settings(root)["sphinx"]["config"]["extensions"]:
        importlib.import_module(name)
