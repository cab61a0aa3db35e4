"""Where the book lives, written once: `repository.url` in `_config.yml`. Everything else is derived from it."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from booktools.book import BookError
from booktools.book.contents import Chapter, chapters, settings

BEGIN, END = "<!-- chapters: made by make book -->", "<!-- end of chapters -->"
NOBODY = "OWNER"  # stands for whoever will publish the book
UNPUBLISHED = "The book has no public site yet, but `make serve` shows it. These links lead to its notebooks."
PUBLISHED = "The book is at <{site}>. Colab runs a chapter in your browser, without an installation."


@dataclass(frozen=True)
class Address:
    """The addresses that follow from that of the repository.

    >>> here = Address("https://github.com/ada/book")
    >>> here.site
    'https://ada.github.io/book/'
    >>> here.page("chapters/05_dots.ipynb")
    'https://ada.github.io/book/chapters/05_dots.html'
    >>> here.colab("05_dots")
    'https://colab.research.google.com/github/ada/book/blob/gh-pages/colab/05_dots.ipynb'
    >>> Address("https://github.com/ada/ada.github.io").site
    'https://ada.github.io/'
    >>> Address("https://github.com/ada/book", "zh/").page("index.md")
    'https://ada.github.io/book/zh/index.html'
    """

    repository: str
    folder: str = ""  # of an edition that stands beside the book's own

    @property
    def full_name(self) -> str:
        return self.repository.removeprefix("https://github.com/")

    @property
    def is_published(self) -> bool:
        """Whether `_config.yml` names an owner in place of the one who stands for nobody."""
        return not self.full_name.startswith(f"{NOBODY}/")

    @property
    def site(self) -> str:
        owner, name = self.full_name.split("/")
        host = f"{owner}.github.io"
        return f"https://{host}/{'' if name.lower() == host.lower() else f'{name}/'}{self.folder}"

    @property
    def own(self) -> "Address":
        """That of the edition in the book's own language, which has files that all others share."""
        return replace(self, folder="")

    def page(self, source: str) -> str:
        """The page made from a source file, given by its path in the repository."""
        return self.site + re.sub(r"\.(ipynb|md)$", ".html", source)

    def colab(self, stem: str, folder: str = "colab") -> str:
        """Where Colab opens a notebook that the site holds in a folder."""
        return f"https://colab.research.google.com/github/{self.full_name}/blob/gh-pages/{self.folder}{folder}/{stem}.ipynb"


def address(root: Path | str = ".") -> Address:
    """The address in `_config.yml`, checked."""
    url = str((settings(Path(root)).get("repository") or {}).get("url", ""))
    if not re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+(?<!\.git)", url):
        raise BookError(
            f"repository.url in _config.yml must look like https://github.com/owner/name, got {url or 'nothing'}."
        )
    return Address(url)


def sync_address(root: Path | str = ".", *, write: bool = True) -> list[str]:
    """Bring the address and the chapters to the files that repeat them; the names of those that disagreed."""
    root = Path(root)
    here = address(root)
    derived = {"README.md": _with_chapters, "CITATION.cff": _with_address, "pyproject.toml": _with_urls}
    stale = []
    for name, rewrite in derived.items():
        path = root / name
        if not path.is_file():
            raise BookError(f"{path} is missing; the book's address is repeated there.")
        before = path.read_text(encoding="utf-8")
        after = rewrite(before, here, root)
        if after != before:
            stale.append(name)
            if write:
                path.write_text(after, encoding="utf-8")
    return stale


def _with_chapters(readme: str, here: Address, root: Path) -> str:
    if readme.count(BEGIN) != 1 or readme.count(END) != 1 or readme.index(BEGIN) > readme.index(END):
        raise BookError(
            f"README.md must hold these two lines, once each; the table between them is made:\n{BEGIN}\n{END}"
        )
    before, rest = readme.split(BEGIN)
    return "\n".join([f"{before}{BEGIN}", *listed(chapters(root), here), f"{END}{rest.split(END)[1]}"])


def listed(found: list[Chapter], here: Address) -> list[str]:
    """The lines of README that list the chapters: on the site and in Colab, or where they are written."""
    if not here.is_published:
        rows = [f"| {chapter.number} | [{chapter.title}](chapters/{chapter.path.name}) |" for chapter in found]
        return [UNPUBLISHED, "", "| | chapter |", "|--:|---|", *rows]
    rows = [
        f"| {chapter.number} | [{chapter.title}]({here.page(f'chapters/{chapter.path.name}')}) "
        f"| [run in Colab]({here.colab(chapter.stem)}) |"
        for chapter in found
    ]
    return [PUBLISHED.format(site=here.site), "", "| | chapter | |", "|--:|---|---|", *rows]


def _with_address(citation: str, here: Address, root: Path) -> str:
    return _with_lines("CITATION.cff", citation, {"repository-code: ": here.repository, "url: ": here.site})


def _with_urls(project: str, here: Address, root: Path) -> str:
    """The links that the package's page on PyPI has."""
    urls = {
        "Homepage = ": here.site,
        "Documentation = ": here.page("api.md"),
        "Source = ": here.repository,
        "Issues = ": f"{here.repository}/issues",
        "Changelog = ": f"{here.repository}/blob/HEAD/CHANGELOG.md",
    }
    return _with_lines("pyproject.toml", project, urls)


def _with_lines(name: str, text: str, values: dict[str, str]) -> str:
    """A file's text in which the line that starts with each of these keys has this value."""
    for key, value in values.items():
        text, found = re.subn(rf"^{key.rstrip()}.*$", f'{key}"{value}"', text, flags=re.M)
        if found != 1:
            raise BookError(f"{name} must hold one line that starts with `{key.rstrip()}`, found {found}.")
    return text
