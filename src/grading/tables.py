"""Reads and writes tables of spreadsheets: CSV as Excel writes it, and cells that no spreadsheet runs."""

import csv
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from booktools.book import BookError

FORMULA = re.compile(r"""(^|[;,|])[\s"']*(?=[=+\-@＝＋－＠])""")
NOT_UTF8 = "{path} is not UTF-8 text. In Excel, save it as “CSV UTF-8”."


def read_table(
    path: Path, columns: Mapping[str, tuple[str, ...]], needed: Collection[str]
) -> Iterator[tuple[str, dict]]:
    """The rows of a CSV file that are not empty: where each stands, and its cells by column.

    Each of the `columns` has the headings that it goes by; others are left alone. Between cells is a comma, a
    semicolon or a tab, whichever the first row has most of.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise BookError(NOT_UTF8.format(path=path)) from None
    first = text.partition("\n")[0]
    lines = csv.reader(text.splitlines(keepends=True), delimiter=max(",;\t", key=first.count), strict=True)
    try:
        heading, *rows = list(lines) or [[]]
    except csv.Error as error:
        raise BookError(f"{path}: a quote is opened and not closed, or stands within a cell ({error}).") from None
    known = {alias: column for column, aliases in columns.items() for alias in (column, *aliases)}
    places = {}
    for place, name in enumerate(heading):
        if column := known.get(" ".join(re.split(r"[\s_-]+", name.strip().lower()))):
            if column in places:
                raise BookError(f"{path}: two columns say {column}. Rename one of them.")
            places[column] = place
    if missing := [column for column in needed if column not in places]:
        found = ", ".join(name for name in heading if name.strip()) or "nothing"
        raise BookError(f"{path}: the first row must name the column {missing[0]}; it names {found}.")
    for number, row in enumerate(rows, start=2):
        if any(cell.strip() for cell in row[len(heading) :]):
            raise BookError(
                f"{path}, row {number}: {len(row)} cells under {len(heading)} headings. "
                "A cell with a comma or a semicolon in it needs quotes round it."
            )
        cells = {column: " ".join(row[place].split()) if place < len(row) else "" for column, place in places.items()}
        if any(cells.values()):
            yield f"{path}, row {number}", cells


def row_of(place: str) -> str:
    """
    >>> row_of("class/roster.csv, row 3")
    'row 3'
    """
    return place.rpartition(", ")[2]


def write_table(path: Path, columns: list[str], rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="", extrasaction="ignore")
        writer.writeheader()
        writer.writerows({name: _without_formula(value) for name, value in row.items()} for row in rows)


def _without_formula(value):
    """
    A spreadsheet takes a text that starts with = for a formula, and would run it. Some take ; for the end of a cell.

    >>> _without_formula("=1+1"), _without_formula("ada"), _without_formula(2.0), _without_formula("a;\\t@b")
    ("'=1+1", 'ada', '2', "a; '@b")
    """
    if isinstance(value, float | int):
        return f"{value:g}"
    return FORMULA.sub(r"\g<0>'", re.sub(r"[\r\n\t]+", " ", value))
