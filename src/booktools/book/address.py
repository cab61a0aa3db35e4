"""Where the book lives, written once: `repository.url` in `_config.yml`. Everything else is derived from it."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from booktools.book import BookError
from booktools.book.contents import settings

NOBODY = "OWNER"  # stands for whoever will publish the book


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
