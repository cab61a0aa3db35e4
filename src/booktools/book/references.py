"""The literature in references.bib, as author-year links."""

from dataclasses import dataclass
from pathlib import Path

from pybtex.database import BibliographyData, Entry, parse_file
from pybtex.exceptions import PybtexError
from pybtex.plugin import find_plugin
from pybtex.richtext import Text

from attnbook.language import words
from booktools.book import HERE, BookError


@dataclass(frozen=True)
class References:
    """
    >>> from pybtex.database import parse_string
    >>> bib = "@article{bahdanau2015, author={Bahdanau, D. and Cho, K. and Bengio, Y.}, year=2015, doi={10.1/x}}"
    >>> References(parse_string(bib, "bibtex")).cite(["bahdanau2015"], "t")
    '[Bahdanau et al. (2015)](https://doi.org/10.1/x)'
    """

    entries: BibliographyData
    page: str = ""  # where all of them are listed, for one that has no address of its own

    @classmethod
    def read(cls, files: list[Path], page: str = "") -> "References":
        entries = BibliographyData()
        for file in files:
            try:
                entries.add_entries(parse_file(file).entries.items())
            except PybtexError as error:
                raise BookError(f"{file.name}: {error}") from None
        return cls(entries, page)

    def cite(self, keys: list[str], form: str) -> str:
        """Links for a citation in the text (t) or in parentheses (p)."""
        if form == "t":
            return ", ".join(self.link(key, "{} ({})") for key in keys)
        return f"({'; '.join(self.link(key, '{}, {}') for key in keys)})"

    def link(self, key: str, form: str) -> str:
        entry = self.entry(key)
        said = form.format(_authors(entry), entry.fields.get("year", words(HERE)["undated"]))
        address = _web_address(entry) or self.page
        return f"[{said}]({address})" if address else said

    def entry(self, key: str) -> Entry:
        if key not in self.entries.entries:
            raise BookError(f"references.bib has no entry {key}. Add it, or correct the key.")
        return self.entries.entries[key]

    def listed(self, keys: list[str]) -> str:
        """A list of the works, as in a bibliography."""
        style, markdown = (
            find_plugin("pybtex.style.formatting", "plain")(),
            find_plugin("pybtex.backends", "markdown")(),
        )
        works = style.sort([self.entry(key) for key in dict.fromkeys(keys)])
        try:
            texts = [work.text.render(markdown) for work in style.format_entries(works)]
        except PybtexError as error:
            raise BookError(f"references.bib: {error}") from None
        return "\n".join("- " + text.replace("\n", " ") for text in texts)


def _authors(entry: Entry) -> str:
    people = entry.persons.get("author") or entry.persons.get("editor") or []
    names = [str(Text.from_latex(" ".join(person.prelast_names + person.last_names))) for person in people]
    if len(names) > 2:
        return words(HERE)["authors"]["many"].format(first=names[0])
    if len(names) == 2:
        return words(HERE)["authors"]["two"].format(first=names[0], second=names[1])
    return names[0] if names else entry.fields.get("title", entry.key)


def _web_address(entry: Entry) -> str | None:
    if doi := entry.fields.get("doi"):
        return f"https://doi.org/{doi}"
    if arxiv := entry.fields.get("eprint"):
        return f"https://arxiv.org/abs/{arxiv}"
    return entry.fields.get("url")
