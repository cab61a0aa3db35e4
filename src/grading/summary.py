"""Shows which checks most of a class failed: a table, and a page with a picture."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from statistics import mean, median

from attnbook.language import number, plain, whole
from booktools.book.assignment import Assignment, Exercise, marks
from grading.pages import page_html, write_text
from grading.run_tests import Outcome
from grading.scores import Score
from grading.tables import write_table
from grading.wording import say

KINDS = ("unwritten", "visible", "hidden", "forbidden")  # how one falls over a check, in the order of the bars
WIDTH, LINE, BAR = 320, 38, 12
STYLE = """
body { max-width: 80rem; }
:root { --unwritten: #707070; --visible: #b3541e; --hidden: #2b6cb0; --forbidden: #7a3e9d; --rest: #dcdcdc; }
@media (prefers-color-scheme: dark) {
  :root { --unwritten: #b0b0b0; --visible: #e08a55; --hidden: #6aa9e9; --forbidden: #b98ad6; --rest: #3a3a3a; }
}
.both { display: grid; gap: 2rem; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 60rem) { .both { grid-template-columns: 20rem minmax(0, 1fr); } }
svg { width: 100%; max-width: 20rem; height: auto; font: 13px system-ui, sans-serif; fill: currentColor; }
.key { list-style: none; padding: 0; margin: 0 0 1rem; }
.key i { display: inline-block; inline-size: .8rem; block-size: .8rem; margin-inline-end: .5rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { vertical-align: top; padding: .3rem 1rem .3rem 0; border-block-end: 1px solid var(--rest); }
th { font-weight: 600; }
td.n { font-variant-numeric: tabular-nums; white-space: nowrap; }
th[scope=row] { min-width: 8rem; }
td.how { min-width: 9rem; }
td.said { min-width: 14rem; overflow-wrap: anywhere; }
caption { text-align: start; }
"""


@dataclass
class CheckFailures:
    """How many students failed a check, in which way, and what it said most often."""

    exercise: Exercise
    number: int
    of: int = 0
    how: Counter = field(default_factory=Counter)
    said: list[str] = field(default_factory=list)

    @property
    def points(self) -> float:
        return self.exercise.tests[self.number - 1].points

    @property
    def count(self) -> int:
        return self.how.total()

    @property
    def sentence(self) -> tuple[str, int]:
        """Returns the message that most students got from the check, whatever the numbers in it, and how many did."""
        alike = Counter(map(_without_numbers, self.said))
        if not alike:
            return "", 0
        ((most, count),) = alike.most_common(1)
        return next(text for text in self.said if _without_numbers(text) == most), count


def failures_by_check(assignment: Assignment, scores: list[Score]) -> list[CheckFailures]:
    """Returns the checks of an assignment, those that most students failed first."""
    outcomes = [score.grade.outcome for score in scores if score.grade.outcome]
    checks = [CheckFailures(exercise, n + 1) for exercise in assignment.exercises for n in range(len(exercise.tests))]
    for check in checks:
        for outcome in outcomes:
            check.of += 1
            for how, said in _failures(outcome, check.exercise, check.number):
                check.how[how] += 1
                check.said += [said] if said else []
    return sorted(checks, key=lambda check: -check.count)


def _failures(outcome: Outcome, exercise: Exercise, number: int) -> Iterator[tuple[str, str]]:
    """Yields how one student failed a check, and what it said; nothing if the check passed."""
    result = outcome.results[exercise.tests[number - 1].id]
    if calls := outcome.used.get(exercise.id):
        yield "forbidden", say("calls", calls=", ".join(calls))
    elif result.visible == say("unwritten"):
        yield "unwritten", ""
    elif result.visible:
        yield "visible", result.visible
    elif result.hidden:
        yield "hidden", result.hidden


def _without_numbers(text: str) -> str:
    """
    >>> _without_numbers("w[0]: expected -0.5, got 1e-3") == _without_numbers("w[12]: expected 2, got nan")
    False
    >>> _without_numbers("w[0]: expected -0.5, got 1e-3") == _without_numbers("w[12]: expected 2, got 7")
    True
    """
    return re.sub(r"[-−]?\d[\d.,]*(e[-+]?\d+)?", "#", text)


def write_summary(out: Path, assignment: Assignment, scores: list[Score]) -> None:
    """`summary.csv` and `summary.html`, for the instructor alone: hidden tests speak in them."""
    checks = failures_by_check(assignment, scores)
    columns = ["exercise", "check", "points", "graded", "fell", *KINDS, "said most often", "times"]
    rows = [
        {"exercise": check.exercise.title, "check": check.number, "points": check.points, "graded": check.of}
        | {"fell": check.count, "said most often": check.sentence[0], "times": check.sentence[1]}
        | {kind: check.how[kind] for kind in KINDS}
        for check in checks
    ]
    write_table(out / "summary.csv", columns, rows)
    title = say("summary", title=assignment.title)
    body = [f"<h1>{escape(title)}</h1>", f"<p>{escape(say('summary_private'))}</p>", *_about(assignment, scores)]
    picture = f"<div>{_key()}{_picture(checks)}</div>"
    table = f'<div class="table" role="region" aria-labelledby="table" tabindex="0">{_table(checks)}</div>'
    body.append(f'<div class="both">{picture}{table}</div>')
    write_text(out / "summary.html", page_html(title, "\n".join(body), STYLE))


def _about(assignment: Assignment, scores: list[Score]) -> Iterator[str]:
    """Yields the number of submissions of each status, and the mean and median of the points."""
    counts = Counter(say(f"status_{score.status}") for score in scores)
    listed = ", ".join(f"{whole(count)} {status}" for status, count in counts.items())
    yield f"<p>{escape(listed)}.</p>"
    if totals := [score.total for score in scores if score.total is not None]:
        about = {"mean": number(mean(totals), 1), "median": plain(median(totals)), "points": marks(assignment.points)}
        yield f"<p>{escape(say('summary_points', **about))}</p>"


def _key() -> str:
    items = (f'<li><i style="background: var(--{kind})"></i>{escape(say(f"fell_{kind}"))}</li>' for kind in KINDS)
    return f'<ul class="key">{"".join(items)}</ul>'


def _picture(checks: list[CheckFailures]) -> str:
    """A bar for each check: as long as those who fell are many, coloured by how they fell."""
    parts = [f'<title id="picture">{escape(say("summary_picture"))}</title>']
    for line, check in enumerate(checks):
        top, left = LINE * line, 0.0
        parts.append(f'<text x="0" y="{top + 14}">{escape(_name(check, most=30))}</text>')
        parts.append(f'<text x="{WIDTH}" y="{top + 14}" text-anchor="end">{whole(check.count)}</text>')
        parts.append(f'<rect y="{top + 20}" width="{WIDTH}" height="{BAR}" fill="var(--rest)"/>')
        for kind in KINDS:
            if wide := WIDTH * check.how[kind] / max(check.of, 1):
                box = f'x="{left:.1f}" y="{top + 20}" width="{wide - 1:.1f}" height="{BAR}"'
                parts.append(f'<rect {box} fill="var(--{kind})"/>')
                left += wide
    box = f'viewBox="0 0 {WIDTH} {LINE * len(checks)}"'
    return f'<svg {box} role="img" aria-labelledby="picture">{"".join(parts)}</svg>'


def _name(check: CheckFailures, most: int = 100) -> str:
    return say("check_of", title=_shortened(check.exercise.title, most), number=whole(check.number))


def _shortened(text: str, most: int) -> str:
    """
    >>> _shortened("1. Shares", 5)
    '1. S…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _table(checks: list[CheckFailures]) -> str:
    heads = [say(head) for head in ("check", "points", "fell", "how", "said_most")]
    lines = ["".join(f'<th scope="col">{escape(head)}</th>' for head in heads)]
    for check in checks:
        numbers = [plain(check.points), say("count_of", count=whole(check.count), all=whole(check.of))]
        text, times = check.sentence
        said = say("times", text=_shortened(text, 300), times=whole(times)) if times > 1 else _shortened(text, 300)
        how = ", ".join(f"{whole(check.how[kind])} {say(f'fell_{kind}')}" for kind in KINDS if check.how[kind])
        cells = (
            "".join(f'<td class="n">{escape(cell)}</td>' for cell in numbers) + f'<td class="how">{escape(how)}</td>'
        )
        lines.append(f'<th scope="row">{escape(_name(check))}</th>{cells}<td class="said">{escape(said)}</td>')
    head, *rows = (f"<tr>{line}</tr>" for line in lines)
    caption = f'<caption id="table">{escape(say("summary_table"))}</caption>'
    return f"<table>{caption}<thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
