"""One thing has one name wherever readers meet it, and figures are told by what stays so by night."""

import ast
import json
import re
import tomllib
from collections.abc import Iterator

import nbformat
import pytest

from booktools.book.myst import INLINE
from tests import ROOT

# What a thing is called now, and the names that it has no more.
WITHDRAWN = {
    "position": r"places?",
    "space, or empty": r"blanks?",
    "probability": r"chances?",
    "previous-token head, or looks at the previous token": r"looks? one back",
    "backward pass": r"way back",
    "minimum": r"least values?",
    "integer": r"whole numbers?",
    "training runs": r"trainings",
    "metadata": r"(?:weights|counts)(?:,| and) facts",
    "character, or signed": r"printable sign|byte with a sign|(?:number|integer) without (?:a )?sign",
    "Rows are queries, columns are keys": r"rows ask|columns are (?:asked|found)",
    "random split": r"(?:split|held out) by chance",
    "activation patching": r"exchang\w+ (?:of )?the (?:residual )?stream",
    "per": r"(?:numbers?|bits?|bytes?|operations?) an? (?:word|token|letter|number|weight|query|key|second|byte)",
    "differs": r"is another (?:in|on) (?:each|the)",
}

# Where such a word is meant: it says something else there.
MEANT = {
    "position": [
        r"(?:in|takes?) (?:its|the|their|each) place (?:of|in)",  # instead of it
        r"in place(?: of)?|(?:in|takes?) (?:its|their) place|takes? the place of|other's place|first place",
        r"(?:swap|change|exchanged) places|(?:right|wrong|same|good|best) place|in one place",
        r"three places in the layer|places where such code",
        r"(?:words \*|not be )places|has one place, however|One place is not enough",  # where a word lies on a map
        r"its place and how warm|places on the map|with the place\?|from one place|its place is an ordinary number",
        r"at (?:every|each) place(?:: the warmer|, by the mean)|\*water, money, place",
        r"your place|code and place|a place without",  # where a reader is
    ],
    "space, or empty": [r"class 0 is a blank|the blanks?|a blank before"],  # CTC's own word
    "probability": [r"by chance", r"(?:is|be) chance", r"better chance"],  # luck
}

# Of a figure, by day: its colours turn with the page. Elsewhere light shows where a head looks.
BY_DAY = r"dark(?:er|est)?|light(?:er|est)|black|white"
BY_DAY_IN_FIGURES = rf"{BY_DAY}|light|bright(?:er|est)?"
MEANT_BY_NIGHT = [r"the white mouse"]

HIDDEN = re.compile(
    r"""
      ^`{3,} (?: \w+ | \{widget\} [^\n]* ) \n .*? ^`{3,}$   # code, and a widget's traits
    | ^`{3,} (?: \{solution [^\n]* )? $                      # where a directive ends, and what it answers
    | ^:(?: label | name | number ):[^\n]*$ | ^\([\w-]+\)=$
    | \$ [^$]* \$ | \{[\w-]+\}`[^`]*`
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


def what_is_read() -> Iterator[tuple[str, str]]:
    """Every text that readers meet, and where it stands."""
    for path in notebooks():
        for cell in nbformat.read(path, as_version=4).cells:
            where = f"{path.relative_to(ROOT)}, {cell.id}"
            if cell.cell_type == "markdown":
                yield where, words(cell.source)
            yield from ((where, text) for text in said_of_figures(cell))
    for path in [*ROOT.glob("*.md"), *ROOT.glob("api/*.md")]:
        if path.name != "CHANGELOG.md":  # which tells what was
            yield path.name, words(path.read_text("utf-8"))
    for path in (ROOT / "src").glob("**/en.json"):
        for text in texts_of(json.loads(path.read_text("utf-8"))):
            yield str(path.relative_to(ROOT)), re.sub(r"\{\w+\}", "…", text)
    for path in (ROOT / "src").glob("**/*.py"):
        yield from ((f"{path.relative_to(ROOT)}, an error", text) for text in said_of_errors(path.read_text("utf-8")))
    for term in tomllib.loads((ROOT / "glossary.toml").read_text("utf-8"))["term"]:
        yield f"glossary.toml, {term['name']}", words(" ".join([term["name"], *term.get("also", []), term["says"]]))


def notebooks():
    return [p for folder in ("chapters", ".", "assignments/source") for p in sorted((ROOT / folder).glob("*.ipynb"))]


def said_of_figures(cell) -> Iterator[str]:
    """A figure's caption, and what it shows to those who can't see it."""
    parts = cell.metadata.get("mystnb", {})
    yield from (parts[kind][name] for kind, name in (("figure", "caption"), ("image", "alt")) if kind in parts)


def said_of_errors(code: str) -> Iterator[str]:
    """What errors say that the code raises.

    >>> list(said_of_errors("raise ValueError(f'{name} must be ' 'an integer')"))
    ['… must be an integer']
    """
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield from filter(None, map(literal, node.exc.args))


def literal(node: ast.expr | ast.FormattedValue) -> str:
    """The text of an expression, with … for what is computed."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(literal, node.values))
    if isinstance(node, ast.BinOp):
        return literal(node.left) + literal(node.right)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "…"


def texts_of(value) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_of(part)


def words(markdown: str) -> str:
    r"""What is read of Markdown, without code, formulas, labels and where links lead.

    >>> words("A `place` in [a text](#place-in-batch), $place$.\n:label: place\nAnd on.")
    'A … in a text, …. … And on.'
    """
    seen = INLINE.sub(lambda mark: mark["text"] or "…" if mark["target"] else mark[0], HIDDEN.sub("…", markdown))
    return " ".join(re.sub(r"`[^`\n]*`", "…", seen).split())


def withdrawn_names(text: str) -> Iterator[str]:
    for name, old in WITHDRAWN.items():
        for found in hits(old, MEANT.get(name, []), text):
            yield f"“{found}”: the book says {name}"


def told_by_day(text: str, pattern: str = BY_DAY_IN_FIGURES) -> Iterator[str]:
    """What is said of a figure that is wrong by night."""
    for found in hits(pattern, MEANT_BY_NIGHT, text):
        yield f"“{found}”: by night it is the other way; say strong, pale, filled or empty"


def hits(pattern: str, meant: list[str], text: str) -> Iterator[str]:
    """Where a pattern is found, with the words around it, unless it stands in a phrase that is meant."""
    kept = [found.span() for phrase in meant for found in re.finditer(phrase, text, re.IGNORECASE)]
    for found in re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE):
        start, end = found.span()
        if not any(first <= start and end <= last for first, last in kept):
            yield text[max(0, start - 40) : end + 30]


def test_one_thing_has_one_name():
    found = [f"{where}: {name}" for where, text in what_is_read() for name in withdrawn_names(text)]
    assert not found, "\n".join(found)


def test_figures_are_told_by_what_stays_by_night():
    found = []
    for path in notebooks():
        for cell in nbformat.read(path, as_version=4).cells:
            told = [told for text in said_of_figures(cell) for told in told_by_day(text)]
            if cell.cell_type == "markdown":
                told += told_by_day(words(cell.source), BY_DAY)
            found += [f"{path.name}, {cell.id}: {what}" for what in told]
    assert not found, "\n".join(found)


# The rules, tried


@pytest.mark.parametrize(
    "text",
    [
        "the token at place 3",
        "Places are counted from 0.",
        "A blank belongs to the word after it.",
        "It says E, with chance 0.9.",
        "Four heads look one back.",
        "On the way back the gradient shrinks.",
        "a scale and a least value",
        "a whole number from 0 to 15",
        "three of the five trainings",
        "counts and facts",
        "Rows ask, columns are asked.",
        "on digits held out by chance",
        "384 numbers a word",
        "Moodle's number is another in each assignment",
    ],
)
def test_a_withdrawn_name_is_found(text):
    assert list(withdrawn_names(text))


@pytest.mark.parametrize(
    "text", ["It takes its place, in place of tanh.", "more often than by chance", "Your place is here."]
)
def test_what_is_meant_is_left(text):
    assert not list(withdrawn_names(text))


@pytest.mark.parametrize("text", ["One dark cell in each row.", "the darker, the larger", "a bright diagonal"])
def test_what_turns_by_night_is_found(text):
    assert list(told_by_day(text))


def test_a_withdrawn_name_is_found_in_an_error():
    said = said_of_errors('raise ValueError(f"{name} must be a whole number, got {size}.")')
    assert [name for text in said for name in withdrawn_names(text)]


def test_every_exception_is_needed():
    read = [text for _, text in what_is_read()]
    for phrase in [phrase for phrases in MEANT.values() for phrase in phrases] + MEANT_BY_NIGHT:
        assert any(re.search(phrase, text, re.IGNORECASE) for text in read), f"nobody says {phrase} any more"
