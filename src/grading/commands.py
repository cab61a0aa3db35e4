"""The commands that instructors type: `attnbook student`, `prove`, `grade` and `similar`, with their arguments.

`attnbook` finds them by the entry point `attnbook.commands` of this package. Each imports what it needs when it is
called, so that `attnbook --help` stays light.
"""

import argparse
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

from booktools.arguments import ASSIGNMENT, Argument, command, folder, jobs, notebook, notebooks, positive, spoken, to


def secret(name: str) -> Path:
    try:
        text = _text_of(Path(name)) or ""
    except (OSError, UnicodeDecodeError):
        raise argparse.ArgumentTypeError(f"{name} is no file with a text in it") from None
    if len(text) < 16:
        raise argparse.ArgumentTypeError(f"{name} holds {len(text)} characters; a secret has 16 or more")
    return Path(name)


def _text_of(secret: Path | None) -> str | None:
    return secret.read_text(encoding="utf-8").strip() if secret else None


def table(name: str) -> Path:
    if not Path(name).is_file():
        raise argparse.ArgumentTypeError(f"{name} is not there; expected a CSV file")
    return Path(name)


def percent(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1
    if not 0 <= number <= 100:
        raise argparse.ArgumentTypeError(f"expected a percentage from 0 to 100, such as 10, got {text!r}")
    return number


def shard(text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(f"expected which part of how many, such as 2/8, got {text!r}")
    return int(number), int(of)


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a time such as 2026-11-30T23:59, got {text!r}") from None


OVERLAY = Argument(
    "--overlay",
    type=folder,
    metavar="FOLDER",
    help="your private folder: a notebook there with cells of the same id replaces those cells",
)
SECRET = Argument(
    "--secret",
    type=secret,
    metavar="FILE",
    help="a file with your course's secret, from which each student's variant is drawn, with the login",
)
LANGUAGE = Argument(
    "--language",
    type=spoken,
    metavar="TAG",
    help="of copies and feedback, such as zh (default: the book's own); grade in the one that you handed out in",
)
UNSAFE = Argument(
    "--unsafe",
    action="store_true",
    help="run students' code without a sandbox: it can read, change and send whatever you can",
)
SUBMISSIONS = Argument(
    "submissions",
    type=folder,
    nargs="+",
    metavar="SUBMISSIONS",
    help="a folder of STUDENT.ipynb, of STUDENT/ASSIGNMENT/NAME.ipynb as nbgrader collects them, or, with a roster, "
    "as Canvas, Moodle or Gradescope name them; of several rounds the earlier folder first",
)
VARIANTS = Path("assignments/variants")
WITHOUT_VARIANTS = "the instructors' page says how to vary an assignment"
CLASS = "the class"
ROSTER = Argument(
    "--roster",
    type=table,
    group=CLASS,
    metavar="FILE",
    help="a CSV with the columns login and name, and where you like email, id, deadline, extension, handed in",
)
LATE = "lateness"
LATENESS = (
    Argument(
        "--deadline",
        type=_moment,
        group=LATE,
        metavar="TIME",
        help="what is handed in later has the status late: 2026-11-30T23:59, your time",
    ),
    Argument(
        "--grace",
        type=positive,
        default=0,
        group=LATE,
        metavar="MINUTES",
        help="so much after the deadline is in time",
    ),
    Argument(
        "--late-penalty",
        type=percent,
        default=0,
        group=LATE,
        metavar="PERCENT",
        help="of all points, for each day begun after the deadline (default: nothing)",
    ),
    Argument(
        "--late-most",
        type=percent,
        default=100,
        group=LATE,
        metavar="PERCENT",
        help="of all points, the most that lateness costs (default: all)",
    ),
    Argument(
        "--timestamps",
        action="store_true",
        group=LATE,
        help="believe the timestamp.txt beside a notebook: nbgrader writes it, but a student's own zip may hold one",
    ),
)


@command(
    "Write students' copies of assignments: no solutions, no hidden tests.",
    notebooks(ASSIGNMENT),
    to("where they go; a folder for each student, where students have variants"),
    OVERLAY,
    ROSTER,
    SECRET,
    LANGUAGE,
)
def student(args) -> None:
    from booktools.book.assignment import Assignment
    from booktools.book.edition import edition
    from booktools.printers.student import write_copies, write_variants
    from grading.roster import Roster

    book = edition(Path(), args.language)
    with book.spoken():
        chosen = [Assignment.read(path, args.overlay, Path()) for path in args.notebooks]
    if args.roster:
        logins = list(Roster.read(args.roster).students)
        print(*write_variants(book, args.to, chosen, logins, _text_of(args.secret)), sep="\n")
        for name in (one.name for one in chosen if not one.variant_cell):
            known = VARIANTS / f"{name}.ipynb"
            todo = f"--overlay {VARIANTS} has them" if known.is_file() and not args.overlay else WITHOUT_VARIANTS
            print(f"{name} is the same for everybody: it has no variants; {todo}.")
    else:
        print(*write_copies(book, args.to, chosen), sep="\n")


@command(
    "Prove assignments: solutions pass, empty copies don't, every known wrong answer fails.",
    notebooks(ASSIGNMENT),
    OVERLAY,
    Argument(
        "--variants",
        type=positive,
        default=50,
        metavar="N",
        help="of an assignment that is another one for each student, so many are proven (default: %(default)s)",
    ),
    UNSAFE,
)
def prove(args) -> None:
    from grading.prove import Proof, prove_all
    from grading.sandbox.fork_server import ForkServer

    proofs = [Proof.read(path, args.overlay, args.variants) for path in args.notebooks]
    with ForkServer(walled=not args.unsafe) as server:
        prove_all(proofs, server)


@command(
    "Grade a class. Interrupted, it goes on where it was; a second run grades what has changed.",
    Argument("source", type=notebook, metavar="NOTEBOOK", help=ASSIGNMENT),
    SUBMISSIONS,
    to("where grades and feedback go"),
    jobs(),
    Argument(
        "--shard",
        type=shard,
        metavar="I/N",
        help="grade only this part of the class, into FOLDER/results; without it, all results there make the tables",
    ),
    ROSTER,
    Argument(
        "--adjustments",
        type=table,
        group=CLASS,
        metavar="FILE",
        help="a CSV of login, exercise, points to add and a comment: what you change by hand, and keep",
    ),
    Argument(
        "--questions",
        type=table,
        group=CLASS,
        metavar="FILE",
        help="a CSV of login, exercise and question: who asks for a regrade stands first on by_hand.html",
    ),
    Argument(
        "--attempts",
        choices=["best", "last"],
        group=CLASS,
        help="which counts of several submissions of a student (default: several are a fault)",
    ),
    *LATENESS,
    Argument(
        "--seconds",
        type=positive,
        default=120,
        help="the most that one submission may take in all, a sixth of it for one cell (default: %(default)s)",
    ),
    OVERLAY,
    SECRET,
    LANGUAGE,
    UNSAFE,
)
def grade(args) -> None:
    from booktools.book.edition import edition

    with edition(Path(), args.language).spoken():
        _grade(args)


def _grade(args) -> None:
    from booktools.book.limits import Limits
    from grading.adjustments import read_adjustments
    from grading.by_hand import read_questions, write_by_hand
    from grading.classroom import Classwork, grade_all
    from grading.lateness import Rules
    from grading.platforms import platform_of
    from grading.reports import write_all
    from grading.roster import Roster
    from grading.sandbox.fork_server import ForkServer
    from grading.scores import Scoring, warnings
    from grading.summary import write_summary
    from grading.wording import say

    roster = Roster.read(args.roster) if args.roster else None
    rules = Rules.checked(roster, args.deadline, args.late_penalty, args.late_most, timedelta(minutes=args.grace))
    about = {"stamped": args.timestamps, "roster": roster, "several": bool(args.attempts)}
    private = [path for path in (args.secret, args.roster, args.adjustments, args.questions) if path]
    work = Classwork.read(args.source, args.submissions, args.overlay, _text_of(args.secret), private, Path(), **about)
    students = {submission.student for submission in work.submissions}
    adjustments = read_adjustments(args.adjustments, work.assignment, students) if args.adjustments else {}
    questions = read_questions(args.questions, work.assignment, students) if args.questions else {}
    scoring = Scoring(work.assignment, rules, roster, adjustments, args.attempts or "last")
    part = work.shard(*args.shard) if args.shard else work
    with ForkServer(walled=not args.unsafe) as server:
        grades = grade_all(part, args.to, server, jobs=args.jobs, limits=Limits.within(args.seconds))
    if args.shard:
        number, of = args.shard
        print(f"Part {number} of {of}: {len(grades)} of {len(work.submissions)} submissions; see {args.to / 'results'}")
        return
    scores = scoring.scores(work.submissions, grades)
    write_all(args.to, work.assignment, scores)
    write_summary(args.to, work.assignment, scores)
    write_by_hand(args.to / "by_hand.html", work.assignment, scores, work.secret, adjustments, questions)
    counts = Counter(score.status for score in scores)
    print(f"{', '.join(f'{count} {status}' for status, count in counts.items())}; see {args.to / 'grades.csv'}")
    platform = "" if roster else platform_of(args.submissions)
    for sentence in (*warnings(scores, rules), *([say("foreign", platform=platform)] if platform else ())):
        print(sentence)


@command(
    "Which students' code is alike: hints where to look, and not evidence. Nothing is run.",
    Argument("source", type=notebook, metavar="NOTEBOOK", help=ASSIGNMENT),
    SUBMISSIONS,
    to("where similar.html and similar.csv go"),
    ROSTER,
    Argument(
        "--threshold",
        type=percent,
        default=40,
        metavar="PERCENT",
        help="how much of the shorter work both must have to be told (default: %(default)s)",
    ),
    OVERLAY,
    SECRET,
    LANGUAGE,
)
def similar(args) -> None:
    from booktools.book.edition import edition

    with edition(Path(), args.language).spoken():
        _similar(args)


def _similar(args) -> None:
    from grading.classroom import Classwork
    from grading.roster import Roster
    from grading.similar_work import similar_pairs, write_similar_work

    roster = Roster.read(args.roster) if args.roster else None
    work = Classwork.read(args.source, args.submissions, args.overlay, root=Path(), roster=roster, several=True)
    assignment = work.assignment.variant("", _text_of(args.secret))
    codes, pairs = similar_pairs(assignment, work.submissions, args.threshold / 100)
    write_similar_work(args.to, assignment, codes, pairs)
    found = f"Pairs that are alike, among {len(codes)} students: {len(pairs)}."
    print(f"{found} A hint, no evidence: {args.to / 'similar.html'}")
