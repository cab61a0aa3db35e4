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
    """One of a command's, as `add_argument` takes it."""

    def __init__(self, *names: str, **about: Any):
        self.names, self.about = names, about

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(*self.names, **self.about)


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
        for argument in arguments:
            argument.add_to(sub)
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


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")
    return int(text)


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
UNSAFE = Argument(
    "--unsafe",
    action="store_true",
    help="run students' code without a sandbox: it can read, change and send whatever you can",
)
