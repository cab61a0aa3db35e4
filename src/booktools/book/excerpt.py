"""What of a chapter's cell goes on a slide: a part of its text, or its words as a speaker reads them."""

import re
from collections.abc import Iterator

from booktools.book import BookError
from booktools.book.myst import INLINE, Directive, blocks, lines_of, parser, split_target

# What a part may be, beside a directive by its name: by the tokens of the parser that begin it.
BLOCKS = {
    "math": {"math_block", "math_block_label", "amsmath"},
    "list": {"bullet_list_open", "ordered_list_open"},
    "table": {"table_open"},
    "paragraph": {"paragraph_open"},
}
FORMULAS = BLOCKS["math"]
UNSAID = {"heading", "myst_target", "myst_line_comment"}
ON_A_PAGE_ONLY = {"assignment", "from-scratch", "story"}
_SENTENCE = re.compile(r"(?=\S)(?:\*\*.+?\*\*|.)+?(?:[.?!](?=\s|$)|[。？！][”’）]?|(?<=[。？！]\*\*))", re.DOTALL)
_OF_ITS_PLACE = re.compile(r":(label|hides):")


def part(source: str, kind: str, nth: int = 1) -> str:
    """The nth part of a kind: math, formula (in a line), sentence, paragraph, list, table, or a directive by its name.

    >>> part("It is $x^2$. And $y$!", "formula", 2), part("It is so. And $y$!", "sentence", 2)
    ('$$\\ny\\n$$', 'And $y$!')
    >>> part("分数是 0.5。**那么呢？** 再看。", "sentence", 2)
    '**那么呢？**'
    """
    found = list(_parts(source, kind))
    if not 0 < nth <= len(found):
        raise BookError(f"it has {len(found)} of the kind {kind}, asked for number {nth}")
    return found[nth - 1]


def _parts(source: str, kind: str) -> Iterator[str]:
    lines = source.split("\n")
    if kind in ("formula", "sentence"):
        for text in (block.content for block in blocks(source) if block.type == "inline"):
            if kind == "sentence":
                yield from _SENTENCE.findall(text)
            else:
                yield from (f"$$\n{each['formula']}\n$$" for each in INLINE.finditer(text) if each["formula"])
        return
    for token in parser().parse(source):
        if token.level == 0 and token.type in BLOCKS.get(kind, ()):
            text = "\n".join(lines[slice(*lines_of(token))])
            yield _unlabelled(token.content) if kind == "math" and token.type != "amsmath" else text.strip()
        elif "fence" in token.type and (named := Directive.of(token)) and named.name == kind:
            opening, *rest = lines[slice(*lines_of(token))]
            hides = [":hides: 0"] * (kind == "guess")  # its answer stands elsewhere
            yield "\n".join([opening, *hides, *(line for line in rest if not _OF_ITS_PLACE.match(line))])


def _unlabelled(tex: str) -> str:
    return f"$$\n{tex.strip()}\n$$"


def spoken(source: str) -> str:
    """The words of a cell as a speaker reads them: no heading, no label, nothing that only a page can do.

    >>> print(spoken("## Why?\\n\\nIt {drag}`grows <width 1..9>`{when}`width: 9`.\\n\\n:::{note}\\nSo *much*.\\n:::"))
    It grows.
    <BLANKLINE>
    So *much*.
    """
    lines, said, end = source.split("\n"), [], 0
    for block in blocks(source):
        first, last = lines_of(block)
        said += lines[end:first] + _said(block, lines[first:last])
        end = last
    return INLINE.sub(_plain_role, "\n".join(said)).strip()


def _said(block, lines: list[str]) -> list[str]:
    if block.type in UNSAID:
        return []
    if block.type in FORMULAS - {"amsmath"}:
        return [_unlabelled(block.content)]
    named = Directive.of(block) if "fence" in block.type else None
    if named:
        return [] if named.name in ON_A_PAGE_ONLY else [spoken(named.body)]
    return lines


def _plain_role(found: re.Match) -> str:
    match found["role"]:
        case "drag":
            return split_target(found["content"])[0] or found["content"]
        case "when":
            return ""
        case "right":
            return found["content"]
    return found[0]
