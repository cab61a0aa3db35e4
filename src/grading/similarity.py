"""Which two students' code has long stretches in common. A hint where to look, and not evidence of anything.

Code is compared as a sequence of tokens, without comments and layout, and with every name that a student may choose
written alike (Schleimer, Wilkerson & Aiken, 2003, whose fingerprints are these before they are thinned out: a class's
code is short enough to keep all). A line put in between breaks every stretch across it, so whole statements are
compared as well, in any order. What was handed out, what the published solution has, and what many have, is set aside
first.
"""

import ast
import builtins
import io
import keyword
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from copy import copy
from dataclasses import dataclass
from itertools import combinations

LONG = 12  # tokens of a stretch
FULL = 8  # tokens of a statement; shorter ones are written alike by many
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
LEAST = 40  # stretches of somebody's work, below which nothing is said
MANY = 10  # students with the same stretch: from more on, that is how one writes it
CELL_MAGIC = re.compile(r"\A\s*%%.*")
LINE_MAGIC = re.compile(r"^([ \t]*)%\w+[ \t]*", re.MULTILINE)
SHELL = re.compile(r"^([ \t]*)[!?].*", re.MULTILINE)

Place = tuple[int, int]  # a cell's number, and a line in it


@dataclass(frozen=True)
class Pair:
    """Two students, how much of the shorter work the other has, too, and the lines where."""

    names: tuple[str, str]
    share: float
    lines: tuple[list[Place], list[Place]]


def similar(codes: dict[str, list[str]], given: list[str], solution: list[str], threshold: float) -> list[Pair]:
    """The pairs of students whose cells have at least this share in common, the most alike first.

    What was `given` is nobody's work. What is in the published `solution` is everybody's, so it counts as work, and
    never as something that two have in common.
    """
    pieces = {name: _of_all(cells, stretches) for name, cells in codes.items()}
    handed_out = _of_all(given, stretches).keys()
    written = {name: codes[name] for name, found in pieces.items() if len(found.keys() - handed_out) >= LEAST}
    best: dict[tuple[str, str], Pair] = {}
    for cut in (stretches, statements):
        for pair in _pairs(written, _of_all(given, cut).keys(), _of_all(solution, cut).keys(), cut):
            if pair.share >= threshold and (pair.names not in best or pair.share > best[pair.names].share):
                best[pair.names] = pair
    return sorted(best.values(), key=lambda pair: (-pair.share, pair.names))


def _pairs(codes: dict[str, list[str]], given: Collection, public: Collection, cut: Callable) -> Iterator[Pair]:
    """Yields all pairs, and what each has in common of the pieces into which `cut` cuts a cell."""
    work = {name: _of_all(cells, cut) for name, cells in codes.items()}
    work = {name: {piece: found[piece] for piece in found if piece not in given} for name, found in work.items()}
    spread = Counter(piece for found in work.values() for piece in found)
    telling = {
        name: {piece for piece in found if piece not in public and spread[piece] <= MANY}
        for name, found in work.items()
    }
    size = {name: sum(map(len, found)) for name, found in work.items()}
    for names in combinations(work, 2):
        one, other = names
        shared = telling[one] & telling[other]
        share = sum(map(len, shared)) / max(1, min(size[one], size[other]))
        mine, theirs = (sorted(set().union(*(work[name][piece] for piece in shared))) for name in names)
        yield Pair(names, share, (mine, theirs))


def _of_all(cells: list[str], cut: Callable) -> dict[tuple, set[Place]]:
    """The pieces of all cells of a student, and the lines that each stands in."""
    found = defaultdict(set)
    for number, source in enumerate(cells):
        for piece, lines in cut(source).items():
            found[piece] |= {(number, line) for line in lines}
    return found


def stretches(source: str, long: int = LONG) -> dict[tuple, set[int]]:
    """Every sequence of so many tokens in a cell, and the lines that it stands in.

    >>> mine, yours = (stretches(text, 5) for text in ("total = x + 1  # so", "s = (  \\n y + 1)"))
    >>> list(mine), list(stretches("a = b.sum() + 1", 5))[-1]
    ([('·', '=', '·', '+', '1')], ('sum', '(', ')', '+', '1'))
    """
    words = list(_words(source))
    found = defaultdict(set)
    for start in range(len(words) - long + 1):
        piece = words[start : start + long]
        found[tuple(word for word, _ in piece)] |= {line for _, line in piece}
    return found


def statements(source: str, full: int = FULL) -> dict[tuple, set[int]]:
    """Every statement of so many tokens in a cell, of a compound one its first line, and the lines that it stands in.

    >>> list(statements("for n in range(3):\\n    pass; total += n * n", 5))
    [('for', '·', 'in', 'range', '(', '3', ')', ':'), ('·', '+=', '·', '*', '·')]
    """
    nodes = [node for node in ast.walk(_parsed(source)) if isinstance(node, ast.stmt)]
    found = defaultdict(set)
    for node in nodes:
        own = copy(node)
        inner = {name: block for name in BLOCKS if isinstance(block := getattr(node, name, None), list)}
        for name in inner:
            setattr(own, name, [])
        try:
            piece = tuple(word for word, _ in _words(ast.unparse(own)))  # a pair of parentheses makes no difference
        except RecursionError:  # a sum of hundreds can be parsed, and not be written
            continue
        last = inner["body"][0].lineno - 1 if inner.get("body") else node.end_lineno or 0
        if len(piece) >= full:
            found[piece] |= set(range(node.lineno, max(node.lineno, last) + 1))
    return found


def _parsed(source: str) -> ast.Module:
    """A cell's code, also where it has magics: their names go, and what they run stays in its line.

    >>> ast.unparse(_parsed("%%time\\nx = 1\\n%time y = 2\\n!ls"))
    'x = 1\\ny = 2\\npass'
    """
    for text in (source, SHELL.sub(r"\1pass", LINE_MAGIC.sub(r"\1", CELL_MAGIC.sub("", source)))):
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return ast.Module([], [])


def _words(source: str) -> Iterator[tuple[str, int]]:
    """The tokens of a cell with their lines; of a cell that is no Python, those before that shows."""
    before = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in (tokenize.NAME, tokenize.NUMBER, tokenize.OP):
                chosen = token.type == tokenize.NAME and before != "." and not _is_common(token.string)
                yield "·" if chosen else token.string, token.start[0]
            elif token.type == tokenize.STRING:
                yield "''", token.start[0]
            before = token.string
    except (tokenize.TokenError, SyntaxError):
        return


def _is_common(name: str) -> bool:
    return keyword.iskeyword(name) or hasattr(builtins, name)
