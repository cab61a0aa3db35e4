"""The arguments that commands of `attnbook` share, and how each is read."""

import argparse
import os
import re
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from attnbook.language import ENGLISH

Command = Callable[[argparse.Namespace], None]


class Argument:
    """An argument of a command, as `add_argument` takes it; the help shows those of a group together."""

    def __init__(self, *names: str, group: str = "", **about: Any):
        self.names, self.group, self.about = names, group, about


def command(text: str, *arguments: Argument) -> Callable[[Command], Command]:
    """Makes a function the command of the same name."""

    def known(function: Command) -> Command:
        COMMANDS[function.__name__] = text, arguments, function
        return function

    return known


COMMANDS: dict[str, tuple[str, tuple[Argument, ...], Command]] = {}


def parser() -> argparse.ArgumentParser:
    """Builds the parser of the command line, with the commands that other packages add."""
    for package in entry_points(group="attnbook.commands"):
        package.load()
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


def translatable(name: str) -> Path:
    path = Path(name)
    if not (path.suffix in (".ipynb", ".md") or path.name in ("en.json", "glossary.toml")) or not path.is_file():
        told = "expected the path of an existing .ipynb, .md or en.json file, or glossary.toml"
        raise argparse.ArgumentTypeError(f"{name} can't be translated; {told}")
    return path


def tag(text: str) -> str:
    if not re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]+)*", text) or text == ENGLISH:
        raise argparse.ArgumentTypeError(f"{text} is no language to translate into; expected a tag such as zh or pt-BR")
    return text


def spoken(text: str) -> str:
    known = sorted({ENGLISH, *(path.name for path in Path("translations").glob("*") if path.is_dir())})
    if text not in known:
        raise argparse.ArgumentTypeError(f"the book is not translated into {text}; expected one of {', '.join(known)}")
    return text


def folder(name: str) -> Path:
    if not Path(name).is_dir():
        raise argparse.ArgumentTypeError(f"{name} is not a folder")
    return Path(name)


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected an integer from 1 on, got {text!r}")
    return int(text)


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
