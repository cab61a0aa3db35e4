"""The `attnbook` command."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from attnbook.editions import BookError

# Each command imports what it needs itself, so that `attnbook --help` and the package stay light.


def run(args) -> None:
    from attnbook.editions.run import run_all

    run_all(args.notebooks)


def colab(args) -> None:
    from attnbook.editions.colab import Book, write_edition

    book = Book.read(Path())
    for path in args.notebooks:
        print(write_edition(path, args.to, book))


def address(args) -> None:
    from attnbook.editions.address import carry

    stale = carry(write=not args.check)
    if args.check and stale:
        raise BookError(f"{' and '.join(stale)} disagree with _config.yml or the chapters. Run `attnbook address`.")
    for name in stale:
        print(f"{name}: brought up to date")


def site(args) -> None:
    from attnbook.editions.site import complete

    complete(args.html, Path())


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="attnbook", description="Tools of the book. Run them in its folder.")
    commands = top.add_subparsers(required=True, metavar="command")

    def command(function: Callable, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(function.__name__, help=text, description=text)
        sub.set_defaults(function=function)
        return sub

    def notebooks(sub: argparse.ArgumentParser) -> None:
        sub.add_argument(
            "notebooks", nargs="+", type=notebook, metavar="NOTEBOOK", help="a chapter, chapters/NN_….ipynb"
        )

    notebooks(command(run, "Run chapters and store clean outputs: a second run changes no byte."))

    sub = command(colab, "Write the Colab edition of chapters.")
    notebooks(sub)
    sub.add_argument("--to", type=Path, default=Path("_build/colab"), metavar="FOLDER", help="default: %(default)s")

    sub = command(address, "Carry the repository's address from _config.yml to README.md and CITATION.cff.")
    sub.add_argument("--check", action="store_true", help="write nothing; fail where a file disagrees")

    sub = command(site, "Add the wheel and the Colab notebooks to the built site.")
    sub.add_argument("html", type=Path, metavar="HTML_FOLDER", help="what jupyter-book made, _build/html")
    return top


def notebook(name: str) -> Path:
    path = Path(name)
    if path.suffix != ".ipynb" or not path.is_file():
        raise argparse.ArgumentTypeError(f"{name} is not a notebook; expected the path of an existing .ipynb file")
    return path


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 when it succeeded, 1 when the book is at fault, 2 when the command line is."""
    args = parser().parse_args(argv)
    try:
        args.function(args)
    except BookError as error:
        print(f"attnbook: {error}", file=sys.stderr)
        return 1
    return 0
