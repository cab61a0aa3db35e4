"""What a text and its translation have in common: numbers, formulas, code, roles, links, labels, lists and headings.

So a number in Chinese words is held, too: English is tied to what cells print, and the translation to the English.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from booktools.book.myst import INLINE, Directive, blocks, lines_of, parser, split_target
from booktools.book.variants import GAP

# A difference that is meant stands in the translation, in a line of its own: `% meant: number 10.1, link map.md`.
MEANT = re.compile(r"^% meant: (.*)\n?", re.MULTILINE)
_SAID = {"query", "key", "value"}  # roles that colour a word, which each language has
_TITLED = {"admonition", "exercise", "exercise-start", "slide"}  # directives whose argument is words
_WORDS = {"because"}  # options that are words
_NUMBER = re.compile(r"(?<![A-Za-z0-9_.)])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?!\d)", re.ASCII)
_FIELD = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")  # of a formatted text
_STARRED = re.compile(r"\*\*")
_CODE = re.compile(r"^```\w*\n.*?^```$", re.MULTILINE | re.DOTALL)


def differences(english: str, translated: str) -> list[str]:
    """What only one of two texts has, and its translation does not mean to change: *lacks number 0.5*.

    >>> differences("Of 1,000 words $n$ are [his](his.md).", "1000 个词里，$m$ 个是[他的](his.md)。")
    ['lacks formula n', 'has formula m']
    >>> differences("In 2026, at −0.5, of 2–3.", "在2026年，到0.5处，2–3里。")
    ['lacks number −0.5', 'has number 0.5']
    >>> differences("In 11.1.", "% meant: number 10.1, number 11.1\\n见第 10.1 节。")
    []
    """
    return _differences(english, translated, _common)


def differences_in_code(english: str, translated: str) -> list[str]:
    """The same of what code says, line by line, with the fields of formatted texts.

    >>> differences_in_code("2 rows, got {len(x)}\\nno", "2 行，得到 {len(y)}\\n不")
    ['lacks line 1: {len(x)}', 'has line 1: {len(y)}']
    """
    return _differences(english, translated, _common_in_code)


def _differences(english: str, translated: str, common: Callable[[str], Iterator[str]]) -> list[str]:
    meant = {each.strip() for line in MEANT.findall(translated) for each in line.split(",")}
    ours, theirs = Counter(common(english)), Counter(common(MEANT.sub("", translated)))
    lacks, has = list((ours - theirs).elements()), list((theirs - ours).elements())
    found = [("lacks", each) for each in lacks] + [("has", each) for each in has]
    return [f"{verb} {each}" for verb, each in found if each not in meant]


def raw_stars(text: str) -> list[str]:
    """Pieces of a text in which `**` is read as two stars: Markdown wants a blank, or a sign of no punctuation, there.

    >>> raw_stars("一**键。**二"), raw_stars("一**键**。二")
    (['一**键。**二'], [])
    >>> raw_stars("```python\\nK**0.5\\n```")
    []
    """
    without = _CODE.sub("", text)
    without = re.sub(r"\$[^$\n]+\$", "x", re.sub(r"^[`:]{3,}.*$", "", without, flags=re.MULTILINE))
    tokens = (child for token in parser().parse(without) for child in token.children or ())
    return [token.content for token in tokens if token.type == "text" and _STARRED.search(token.content)]


def _common(text: str) -> Iterator[str]:
    """The names of all that both must have."""
    for block in blocks(text):
        if block.type in ("fence", "colon_fence") and (directive := Directive.of(block)):
            yield from _of_directive(directive)
        elif block.type in ("fence", "colon_fence", "code_block"):
            yield f"code {block.content.strip()}"
        elif block.type in ("math_block", "math_block_label", "amsmath"):
            yield f"formula {_formula(block.content)}"
            if block.type == "math_block_label":
                yield f"label {block.info}"
        elif block.type == "myst_target":
            yield f"label {block.content}"
        elif block.type in ("inline", "heading", "html_block"):
            start, end = lines_of(block)
            lines = "\n".join(text.split("\n")[start:end])
            if block.type == "heading":
                yield f"heading {re.match('[ >]*(#*)', lines)[1]}"  # pyrefly: ignore[unsupported-operation]
            elif re.match(r"\s*(?:[-*+]|\d+[.)]) ", lines):
                yield "item of a list"
            yield from _of_line(re.sub(r"^[\s>]*(?:[-*+]|\d+[.)]|#+(?: \d+\.)?) +", "", lines))


def _of_directive(directive: Directive) -> Iterator[str]:
    yield f"block {directive.name}"
    yield from (f"option {name} {value}" for name, value in directive.options.items() if name not in _WORDS)
    yield from (item for name in _WORDS for item in _of_line(directive.options.get(name, "")))
    if directive.name in _TITLED:
        yield from _of_line(directive.argument)
    elif directive.argument:
        yield f"argument {directive.argument}"
    if directive.name == "math":
        yield f"formula {_formula(directive.body)}"
    else:
        yield from _common(directive.body)


def _of_line(line: str) -> Iterator[str]:
    """What a paragraph has, and the numbers in the rest of it."""
    done = 0
    for mark in INLINE.finditer(line):
        yield from _numbers(line[done : mark.start()])
        done = mark.end()
        if (role := mark["role"]) in _SAID:
            yield f"role {role}"
        elif role in ("ref", "numref", "doc"):
            said, target = split_target(mark["content"])
            yield f"link {target}"
            yield from _of_line(said or "")
        elif role:
            yield f"role {role} {' '.join(mark['content'].split())}"
        elif mark["formula"]:
            yield f"formula {_formula(mark['formula'])}"
        elif mark["code"] and mark["ticks"]:
            yield f"code {mark['code'].strip('` ')}"
        elif mark["substitution"]:
            yield f"substitution {mark['substitution']}"
        elif mark["target"] is not None:
            yield f"{'image' if mark['image'] else 'link'} {mark['target']}"
            yield from _of_line(mark["text"])
        elif mark["span"]:
            yield from _of_line(mark["text"])
    yield from _numbers(line[done:])


def _common_in_code(text: str) -> Iterator[str]:
    for n, line in enumerate(text.split("\n"), start=1):
        rest = _FIELD.sub("", line)
        marks = re.findall(r"[\"\\]", rest)  # which would end the text, or mean something else in it
        yield f"line {n}"
        yield from (f"line {n}: {each}" for each in (*_FIELD.findall(line), *_numbers(rest), *marks))


def _numbers(text: str) -> Iterator[str]:
    """The numbers in a text, and the gaps that a student's variant fills."""
    yield from (f"gap {name}" for name in GAP.findall(text))
    for digits in _NUMBER.findall(text):
        if digits not in "-−":
            yield f"number {digits.replace(',', '').replace('-', '−')}"


def _formula(tex: str) -> str:
    """A formula, without words that stand in it."""
    return " ".join(re.sub(r"\\text\{[^}]*\}", r"\\text", tex).split())
