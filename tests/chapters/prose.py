"""The numbers of a chapter's words, and where each comes from: an output, code in sight, or a `says`."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from attnbook.telling import numbers_in
from booktools.book.myst import INLINE, Directive, blocks, lines_of

# What is not computed here: years, and the numbers of other places, such as chapter 13, D2L 11.7 or mistake 2.
YEAR = re.compile(r"(?<![\w.,])(?:19|20)\d\d\b(?![,.]\d)")
PLACES = "chapter|exercise|section|mistake|figure|table|equation|task|part|question|version|D2L"
PLACE = re.compile(rf"\b(?:{PLACES})s?\s+\d+(?:\.\d+)*(?:(?:,| and| to|–|-)\s*\d+(?:\.\d+)*)*", re.IGNORECASE)
SHAPE = re.compile(r"\(\s*(?:\w+\s*,\s*)*\w+\s*,?\s*\)|\b\d+ × \d+\b")
DRAGGED = re.compile(r"\{drag\}`([^`<]+?)\s*<[^`]*>`")  # a number, with the trait that it moves
LITERAL = re.compile(r"-?\d[\d.,:/−–-]*")  # inline code that is all number: a date


@dataclass
class Section:
    """From one heading of the second rank to the next: words, each with the place of its cell, and cells of code."""

    title: str
    words: list[tuple[int, str]] = field(default_factory=list)
    code: list[tuple[int, Any]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return _one_line(" ".join(words for _, words in self.words))


def sections(notebook) -> list[Section]:
    found = [Section("")]
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            found[-1].code.append((place, cell))
            said = cell.metadata.get("mystnb", {})
            found[-1].words += [
                (place, said[kind][part]) for kind, part in (("figure", "caption"), ("image", "alt")) if kind in said
            ]
            continue
        for piece in re.split(r"^(?=## )", DRAGGED.sub(r"\1", cell.source), flags=re.MULTILINE):
            if title := re.match(r"## (.+)", piece):
                found.append(Section(title[1]))
            found[-1].words.append((place, piece))
    return found


def prose(source: str) -> str:
    """What is read as text, with inline code that is all number; no formulas, other code, links' targets or roles.

    >>> prose("Of $n$ words, 9 % ([chapter 2](x.md)) are `1913-11-12`, not `x_B1`.")
    'Of   words, 9 % (chapter 2) are `1913-11-12`, not  .'
    """
    return "\n".join(_pieces(source))


def _pieces(source: str) -> Iterator[str]:
    lines = source.split("\n")
    for block in blocks(source):
        start, end = lines_of(block)
        if block.type in ("inline", "heading"):
            yield INLINE.sub(_read, "\n".join(lines[start:end]))
        elif block.type in ("fence", "colon_fence") and (directive := Directive.of(block)):
            if directive.name == "guess":
                yield _truth(directive)
            elif directive.name not in ("math", "code-block", "code"):
                yield prose(directive.argument)
                yield prose(directive.body)


def _read(mark: re.Match) -> str:
    if mark["code"]:
        return mark["code"] if LITERAL.fullmatch(mark["code"].strip("`").strip()) else " "
    if mark["target"] is not None or mark["span"]:
        return "" if mark["image"] else INLINE.sub(_read, mark["text"])
    return mark[0] if mark["escape"] else " "


def _truth(directive: Directive) -> str:
    """A question, of its answers the right one, and why."""
    lines = directive.body.split("\n")
    wrong = [line for line in lines if line.startswith("- ") and "{right}" not in line]
    read = [prose("\n".join(line for line in lines if line not in wrong)), directive.options.get("number", "")]
    return " ".join([*read, prose(directive.options.get("because", ""))])


def numbers_without_source(section: Section) -> Iterator[tuple[str, str]]:
    """The numbers for which nothing in a section stands, each with the words around it."""
    said = [_one_line(phrase) for _, cell in section.code for phrase in _phrases_said(cell)]
    written = {
        token for _, cell in section.code if not is_check(cell) for token in _numbers_shown(_literals(cell.source))
    }
    for place, source in section.words:
        above = {
            token for at, cell in section.code if at < place or at == place for token in _numbers_shown(_printed(cell))
        }
        text = _one_line(prose(source))
        covered = [found.span() for phrase in said for found in _find_phrase(phrase, text)]
        for number, start, end in numbers_to_check(text):
            if number not in above | written and not any(a <= start and end <= b for a, b in covered):
                yield number, text[max(0, start - 40) : end + 20]


def numbers_to_check(text: str) -> Iterator[tuple[str, int, int]]:
    """The numbers of a text that must come from somewhere, and where they stand.

    >>> text = "In 2017, 9 % of 1,000 were `1913-11-12`; see chapter 13, (2, 11) and 12."
    >>> [number for number, *_ in numbers_to_check(text)]
    ['9 %', '1000', '1913-11-12']
    """
    literals = [(found[1].strip(), *found.span()) for found in re.finditer(r"`([^`]+)`", text)]
    free = list(text)
    for pattern in (r"`[^`]+`", YEAR, PLACE, SHAPE):
        for found in re.finditer(pattern, text):
            free[slice(*found.span())] = "·" * len(found[0])
    numbers = [number for number in numbers_in("".join(free)) if not number.aside]
    yield from sorted(
        [*literals, *((_normalized_number(number.text), number.place.start, number.place.stop) for number in numbers)],
        key=lambda found: found[1],
    )


def _numbers_shown(text: str) -> set[str]:
    """The numbers that an output or code shows, as the words would have them."""
    numbers = {_normalized_number(number.text) for number in numbers_in(text)}
    return numbers | {_normalized_number(found) for found in re.findall(r"[\d.,:/+-]*\d[\d.,:/+-]*", text)}


def _normalized_number(number: str) -> str:
    """
    >>> _normalized_number("31,392"), _normalized_number("9\u00a0%"), _normalized_number("−3.2")
    ('31392', '9 %', '-3.2')
    """
    number = re.sub(r"[\s\u00a0\u202f]*%", " %", number.replace("−", "-").strip())
    return re.sub(r"(?<=\d),(?=\d{3}\b)", "", number)


def _printed(cell) -> str:
    """What a cell prints as text."""
    outputs = cell.get("outputs", [])
    return "\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)


def is_check(cell) -> bool:
    return "checks" in cell.metadata.get("tags", [])


def _literals(source: str) -> str:
    """Numbers and texts that code is written with; 30_000 is 30000."""
    nodes = ast.walk(ast.parse(source))
    return "\n".join(str(node.value) for node in nodes if isinstance(node, ast.Constant))


def _phrases_said(cell) -> Iterator[str]:
    """The first arguments of a cell's `says`."""
    if "says" not in cell.source:
        return
    for node in ast.walk(ast.parse(cell.source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "says":
            first = node.args[0] if node.args else None
            yield first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def phrases_not_found(section: Section) -> Iterator[str]:
    """The phrases of a section's `says` that do not stand in its words."""
    text = section.text
    for _, cell in section.code:
        yield from (
            phrase for phrase in _phrases_said(cell) if not phrase or not any(_find_phrase(_one_line(phrase), text))
        )


def _find_phrase(phrase: str, text: str) -> Iterator[re.Match]:
    """Where a phrase stands, and no number goes on beyond its ends: not `9 %` in `19 %`."""
    before = r"(?<![\d.,−-])" if phrase[:1].isdigit() else ""
    after = r"(?![\d]|[.,]\d)" if phrase[-1:].isdigit() else ""
    return re.finditer(f"{before}{re.escape(phrase)}{after}", text)


def _one_line(text: str) -> str:
    return re.sub(r"[\s\u00a0\u202f]+", " ", text).strip()
