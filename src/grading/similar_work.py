"""Pairs of students whose code is alike, as a table and as a page to read them side by side."""

from collections.abc import Iterator
from html import escape
from pathlib import Path

from attnbook.language import whole
from booktools.book.assignment import Assignment
from grading.pages import page_html, write_text
from grading.similarity import Pair, Place, similar
from grading.submissions import Submission, Unreadable, printable, read_code, truncated
from grading.tables import write_table
from grading.wording import say

STYLE = """
body { max-width: 80rem; }
.pair { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 50rem) { .pair { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
pre { overflow-wrap: anywhere; font-size: .85rem; margin: 0 0 1rem; }
mark { background: #ffe08a; color: #1a1a1a; }
@media (prefers-color-scheme: dark) { mark { background: #6b5200; color: #fff; } }
"""


def similar_pairs(assignment: Assignment, submissions: list[Submission], threshold: float) -> tuple[dict, list[Pair]]:
    """Returns the code of each student whose notebook can be read, cell by cell, and the pairs that are alike."""
    codes = {}
    for submission in submissions:
        try:
            cells = read_code(submission.path, assignment).cells if submission.path else []
        except (Unreadable, OSError):
            continue
        codes[submission.student] = truncated([cell["source"] for cell in cells])
    given = [cell.source for cell in assignment.student().cells if cell.cell_type == "code"]
    solution = [exercise.source for exercise in assignment.exercises]
    return codes, similar(codes, given, solution, threshold)


def write_similar_work(out: Path, assignment: Assignment, codes: dict[str, list[str]], pairs: list[Pair]) -> None:
    """Writes `similar.csv` and `similar.html` into the folder `out`."""
    rows = [{"student": pair.names[0], "and": pair.names[1], "alike, %": round(100 * pair.share)} for pair in pairs]
    write_table(out / "similar.csv", ["student", "and", "alike, %"], rows)
    title = say("similar", title=assignment.title)
    told = [f"<p>{escape(say(text))}</p>" for text in ("similar_hint", "similar_how")]
    body = [f"<h1>{escape(title)}</h1>", *told, *(_side_by_side(codes, pair) for pair in pairs)]
    if not pairs:
        body.append(f"<p>{escape(say('similar_none'))}</p>")
    write_text(out / "similar.html", page_html(title, "\n".join(body), STYLE))


def _side_by_side(codes: dict[str, list[str]], pair: Pair) -> str:
    about = dict(zip(("one", "other"), map(printable, pair.names), strict=True))
    title = say("similar_pair", percent=whole(round(100 * pair.share)), **about)
    sides = [
        f"<section><h3>{escape(printable(name))}</h3>{''.join(_marked(codes[name], lines))}</section>"
        for name, lines in zip(pair.names, pair.lines, strict=True)
    ]
    return f'<h2>{escape(title)}</h2><div class="pair">{"".join(sides)}</div>'


def _marked(cells: list[str], places: list[Place]) -> Iterator[str]:
    """The cells that others have something of, with those lines marked."""
    for number in sorted({cell for cell, _ in places}):
        lines = [
            f"<mark>{escape(printable(line))}</mark>" if (number, place) in places else escape(printable(line))
            for place, line in enumerate(cells[number].splitlines(), start=1)
        ]
        yield f"<pre>{chr(10).join(lines)}</pre>"
