"""Which two students' code has long stretches in common. A hint where to look, and not evidence of anything.

Code is compared as a sequence of tokens, without comments and layout, and with every name that a student may choose
written alike (Schleimer, Wilkerson & Aiken, 2003, whose fingerprints are these before they are thinned out: a class's
code is short enough to keep all). What was handed out, what the published solution has, and what many have, is set
aside first.
"""

import builtins
import io
import keyword
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

LONG = 12  # tokens of a stretch
LEAST = 40  # stretches of somebody's work, below which nothing is said
MANY = 10  # students with the same stretch: from more on, that is how one writes it

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
    handed_out, public = (set().union(*map(stretches, sources)) for sources in (given, solution))
    work = {name: _of_all(cells, handed_out) for name, cells in codes.items()}
    spread = Counter(stretch for found in work.values() for stretch in found)
    telling = {
        name: {stretch for stretch in found if stretch not in public and spread[stretch] <= MANY}
        for name, found in work.items()
    }
    pairs = []
    for names in combinations([name for name, found in work.items() if len(found) >= LEAST], 2):
        one, other = names
        shared = telling[one] & telling[other]
        share = len(shared) / min(len(work[one]), len(work[other]))
        if share >= threshold:
            mine, theirs = (sorted(set().union(*(work[name][stretch] for stretch in shared))) for name in names)
            pairs.append(Pair(names, share, (mine, theirs)))
    return sorted(pairs, key=lambda pair: (-pair.share, pair.names))


def _of_all(cells: list[str], handed_out: set[tuple]) -> dict[tuple, set[Place]]:
    """The stretches in all cells of a student, and the lines that each stands in."""
    found = defaultdict(set)
    for number, source in enumerate(cells):
        for stretch, lines in stretches(source).items():
            if stretch not in handed_out:
                found[stretch] |= {(number, line) for line in lines}
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
