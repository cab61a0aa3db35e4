"""The files that repeat where the book lives and what its chapters are; both are known from elsewhere."""

import re
from pathlib import Path

from attnbook.language import ENGLISH, words
from booktools.book import HERE, BookError
from booktools.book.address import Address, address
from booktools.book.edition import Edition

READMES = {"README.md": ENGLISH, "README.zh-CN.md": "zh"}  # a book has the first, and may have the others
BEGIN, END = "<!-- chapters: made by make book -->", "<!-- end of chapters -->"


def sync_address(root: Path | str = ".", *, write: bool = True) -> list[str]:
    """Bring the address and the chapters to the files that repeat them; the names of those that disagreed."""
    root = Path(root)
    here = address(root)
    brought = {}
    for name, language in READMES.items():
        if language == ENGLISH or (root / name).is_file():
            brought[name] = _with_chapters(name, _read(root / name), Edition(root, language))
    brought["CITATION.cff"] = _with_address(_read(root / "CITATION.cff"), here)
    brought["pyproject.toml"] = _with_urls(_read(root / "pyproject.toml"), here)
    stale = [name for name, text in brought.items() if text != _read(root / name)]
    for name in stale if write else ():
        (root / name).write_text(brought[name], encoding="utf-8")
    return stale


def _read(path: Path) -> str:
    if not path.is_file():
        raise BookError(f"{path} is missing; the book's address is repeated there.")
    return path.read_text(encoding="utf-8")


def _with_chapters(name: str, readme: str, edition: Edition) -> str:
    if readme.count(BEGIN) != 1 or readme.count(END) != 1 or readme.index(BEGIN) > readme.index(END):
        raise BookError(f"{name} must hold these two lines, once each; the table between them is made:\n{BEGIN}\n{END}")
    before, rest = readme.split(BEGIN)
    return "\n".join([f"{before}{BEGIN}", *_listed(edition), f"{END}{rest.split(END)[1]}"])


def _listed(edition: Edition) -> list[str]:
    """The lines of a README that list the chapters: on the site and in Colab, or where they are written."""
    with edition.spoken():
        say = words(HERE)["readme"]
    rows = []
    for chapter in edition.chapters:
        page = edition.page_of(chapter)
        home = edition.home_of(page)
        link = home.page(page) if home.is_published else page
        colab = f" [{say['colab']}]({home.colab(chapter.stem)}) |" if home.is_published else ""
        rows.append(f"| {chapter.number} | [{chapter.title}]({link}) |{colab}")
    if not edition.here.is_published:
        return [say["unpublished"], "", f"| | {say['chapter']} |", "|--:|---|", *rows]
    return [say["published"].format(site=edition.here.site), "", f"| | {say['chapter']} | |", "|--:|---|---|", *rows]


def _with_address(citation: str, here: Address) -> str:
    return _with_lines("CITATION.cff", citation, {"repository-code: ": here.repository, "url: ": here.site})


def _with_urls(project: str, here: Address) -> str:
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
