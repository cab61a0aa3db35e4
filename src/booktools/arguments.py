"""What the commands of `attnbook` are given: the arguments that they share, and how each is read."""

import argparse
import os
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from attnbook.language import ENGLISH

Command = Callable[[argparse.Namespace], None]


class Argument:
    """One of a command's, as `add_argument` takes it; the help shows those of a group together."""

    def __init__(self, *names: str, group: str = "", **about: Any):
        self.names, self.group, self.about = names, group, about


def command(text: str, *arguments: Argument) -> Callable[[Command], Command]:
    """Make a function a command of its name."""

    def known(function: Command) -> Command:
        COMMANDS[function.__name__] = text, arguments, function
        return function

    return known


COMMANDS: dict[str, tuple[str, tuple[Argument, ...], Command]] = {}


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="attnbook", description="Tools of the book. Run them in its folder.")
    commands = top.add_subparsers(required=True, metavar="command")
    for name, (text, arguments, function) in COMMANDS.items():
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(function=function)
        groups = {name: sub.add_argument_group(name) for name in {one.group: None for one in arguments if one.group}}
        for argument in arguments:
            groups.get(argument.group, sub).add_argument(*argument.names, **argument.about)
    return top


def notebook(name: str) -> Path:
    path = Path(name)
    if path.suffix != ".ipynb" or not path.is_file():
        raise argparse.ArgumentTypeError(f"{name} is not a notebook; expected the path of an existing .ipynb file")
    return path


def page(name: str) -> Path:
    path = Path(name)
    if path.suffix not in (".ipynb", ".md") or not path.is_file():
        raise argparse.ArgumentTypeError(f"{name} is no page; expected the path of an existing .ipynb or .md file")
    return path


def tag(text: str) -> str:
    if not re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]+)*", text) or text == ENGLISH:
        raise argparse.ArgumentTypeError(f"{text} is no language to translate into; expected a tag such as zh or pt-BR")
    return text


def folder(name: str) -> Path:
    if not Path(name).is_dir():
        raise argparse.ArgumentTypeError(f"{name} is not a folder")
    return Path(name)


def secret(name: str) -> str:
    try:
        text = Path(name).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise argparse.ArgumentTypeError(f"{name} is no file with a text in it") from None
    if len(text) < 16:
        raise argparse.ArgumentTypeError(f"{name} holds {len(text)} characters; a secret has 16 or more")
    return text


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")
    return int(text)


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


def moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a time such as 2026-11-30T23:59, got {text!r}") from None


def notebooks(which: str = "a chapter, chapters/NN_….ipynb") -> Argument:
    return Argument("notebooks", nargs="+", type=notebook, metavar="NOTEBOOK", help=which)


def jobs(most: int | None = None) -> Argument:
    many = min(os.cpu_count() or 1, most or 1_000)
    text = "how many at a time (default: %(default)s)"
    return Argument("-j", dest="jobs", type=positive, default=many, metavar="N", help=text)


def to(text: str) -> Argument:
    return Argument("-o", dest="to", type=Path, required=True, metavar="FOLDER", help=text)


def only(metavar: str, text: str) -> Argument:
    return Argument("--only", nargs="+", metavar=metavar, help=text)


ASSIGNMENT = "an assignment, assignments/source/NN_….ipynb"
BUILT = Argument("html", type=folder, metavar="HTML_FOLDER", help="the built site, _build/html")
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
        type=moment,
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
