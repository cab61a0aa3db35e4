"""The `attnbook` command."""

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from attnbook.language import ENGLISH, speaking
from booktools.book import BookError

# Each command imports what it needs itself, so that `attnbook --help` and the package stay light.


def run(args) -> None:
    from booktools.rehearsal.run import run_all

    run_all(args.notebooks)


def processors(args) -> None:
    from booktools.rehearsal.processors import PROCESSORS, run_everywhere

    known = {processor.name: processor for processor in PROCESSORS}
    if unknown := set(args.only or known) - known.keys():
        raise BookError(f"{', '.join(sorted(unknown))} is no processor; expected one of {', '.join(known)}")
    run_everywhere(args.notebooks, [known[name] for name in args.only or known], args.jobs)


def colab(args) -> None:
    from booktools.book.contents import read_chapter
    from booktools.book.edition import edition
    from booktools.printers.colab import write_notebooks

    print(*write_notebooks(edition(Path()), args.to, map(read_chapter, args.notebooks)), sep="\n")


def lengths(args) -> None:
    from booktools.book.contents import read_chapter
    from booktools.directives.minutes import Minutes, most

    print(f"{'':34}  words  at most  cells  at most  minutes: reading  touching  exercises")
    for path in args.notebooks:
        time, (words, cells, _) = Minutes.read(path), most(read_chapter(path).long)
        minutes = f"{time.reading:>16}  {time.touching:>8}  {time.exercises:>9}"
        print(f"{path.stem:34}  {time.words:>5,}  {words:>7,}  {time.cells:>5}  {cells:>7}  {minutes}")


def address(args) -> None:
    from booktools.book.address import sync_address

    stale = sync_address(write=not args.check)
    if args.check and stale:
        raise BookError(f"{' and '.join(stale)} disagree with _config.yml or the chapters. Run `attnbook address`.")
    for name in stale:
        print(f"{name}: brought up to date")


def book(args) -> None:
    from booktools.book.edition import edition
    from booktools.printers.site import print_site

    print_site(edition(Path()), args.html)
    print(f"The book is in {args.html}, its first page {args.html / 'index.html'}")


def dev(args) -> None:
    from booktools.dev import dev as serve

    serve(Path.cwd(), args.html.resolve(), args.port)


def rehearse(args) -> None:
    from booktools.rehearsal.rehearse import colab_packages, notebooks, report
    from booktools.rehearsal.rehearse import rehearse as rehearse_all

    packages, green = colab_packages(Path(), args.packages), args.folder / "last-green.json"
    names = args.only or notebooks(args.html)
    if not args.only:
        green.unlink(missing_ok=True)
    runs = rehearse_all(args.html, Path(), packages, names, args.folder, jobs=args.jobs, python=args.python)
    if faulty := [run.name for run in runs if run.faults]:
        raise BookError(f"{len(faulty)} of {len(runs)} notebooks would not do in Colab: {', '.join(faulty)}")
    if not args.only:
        green.write_text(report(runs, packages), encoding="utf-8")


def student(args) -> None:
    from booktools.book.assignment import Assignment
    from booktools.book.edition import edition
    from booktools.printers.student import write_copies

    book = edition(Path())
    with book.spoken():
        chosen = [Assignment.read(path, args.overlay, Path()) for path in args.notebooks]
    print(*write_copies(book, args.to, chosen), sep="\n")


def translation(args) -> None:
    from booktools.book.assignment import assignment_paths
    from booktools.book.contents import pages
    from booktools.book.translation import digest, state, texts_of, write_missing

    root = Path()
    with speaking(args.language):
        for path in args.pages or [*pages(root), *assignment_paths(root)]:
            page = path.as_posix()
            english = texts_of(page, root)
            if args.write:
                write_missing(english, page, root)
            found = state(english, page, root)
            print(f"{page}: {len(found.translated)} of {len(english)} translated")
            for name in found.stale:
                print(f"    stale: {name}, whose English is {digest(english[name])} now")
            if found.missing:
                print(f"    missing: {', '.join(found.missing)}")


def prove(args) -> None:
    from booktools.grading.fork_server import ForkServer
    from booktools.grading.prove import Proof, prove_all

    proofs = [Proof.read(path, args.overlay) for path in args.notebooks]
    with ForkServer(walled=not args.unsafe) as server:
        prove_all(proofs, server)


def grade(args) -> None:
    from booktools.grading.classroom import Classwork, grade_all
    from booktools.grading.fork_server import ForkServer
    from booktools.grading.reports import write_all
    from booktools.grading.sandbox import Limits

    work, limits = Classwork.read(args.source, args.submissions, args.overlay), Limits(total=args.seconds)
    with ForkServer(walled=not args.unsafe) as server:
        grades = grade_all(work, args.to, server, jobs=args.jobs, limits=limits, deadline=args.deadline)
    write_all(args.to, work.assignment, grades)
    counts = Counter(grade.status for grade in grades)
    print(f"{', '.join(f'{count} {status}' for status, count in counts.items())}; see {args.to / 'grades.csv'}")


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="attnbook", description="Tools of the book. Run them in its folder.")
    commands = top.add_subparsers(required=True, metavar="command")

    def command(function: Callable, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(function.__name__, help=text, description=text)
        sub.set_defaults(function=function)
        return sub

    def notebooks(sub: argparse.ArgumentParser, which: str = "a chapter, chapters/NN_….ipynb") -> None:
        sub.add_argument("notebooks", nargs="+", type=notebook, metavar="NOTEBOOK", help=which)

    def overlay(sub: argparse.ArgumentParser) -> None:
        text = "your private folder: a notebook there with cells of the same id replaces those cells"
        sub.add_argument("--overlay", type=folder, metavar="FOLDER", help=text)

    def unsafe(sub: argparse.ArgumentParser) -> None:
        text = "run students' code without a sandbox: it can read, change and send whatever you can"
        sub.add_argument("--unsafe", action="store_true", help=text)

    notebooks(command(run, "Run chapters and store clean outputs: a second run changes no byte."))

    text = "Run notebooks as other processors would: each must print what is stored."
    sub = command(processors, text)
    notebooks(sub, "a chapter or an assignment")
    sub.add_argument("--only", nargs="+", metavar="PROCESSOR", help="of the processors only these, such as AVX2")
    text = "how many at a time (default: %(default)s)"
    sub.add_argument("-j", dest="jobs", type=positive, default=os.cpu_count() or 1, metavar="N", help=text)

    notebooks(command(lengths, "How long chapters are, up to *Going further*, and how long they may be."))

    sub = command(colab, "Write the Colab edition of chapters.")
    notebooks(sub)
    sub.add_argument("--to", type=Path, default=Path("_build/colab"), metavar="FOLDER", help="default: %(default)s")

    sub = command(address, "Bring the repository's address from _config.yml to README.md and CITATION.cff.")
    sub.add_argument("--check", action="store_true", help="write nothing; fail where a file disagrees")

    sub = command(book, "Print the site, with the wheel and the Colab notebooks, or bring it up to date.")
    sub.add_argument("html", type=Path, metavar="HTML_FOLDER", help="where it goes, such as _build/html")

    sub = command(dev, "Serve the built site; bring it up to date and show it again when a file is saved.")
    sub.add_argument("html", type=folder, metavar="HTML_FOLDER", help="the built site, _build/html")
    sub.add_argument("--port", type=positive, default=8000, metavar="N", help="default: %(default)s")

    text = "Run the site's Colab notebooks on Colab's packages, in environments made for it."
    sub = command(rehearse, text)
    sub.add_argument("html", type=folder, metavar="HTML_FOLDER", help="the built site, _build/html")
    text = "of the site's notebooks only these, such as colab/05_dots"
    sub.add_argument("--only", nargs="+", metavar="NAME", help=text)
    text = "Colab's list of today, as `pip freeze` prints it (default: colab/constraints.txt)"
    sub.add_argument("--packages", type=Path, metavar="FILE", help=text)
    text = "the Python of the environments; Colab's is 3.13 (default: the one that runs this)"
    sub.add_argument("--python", metavar="PYTHON", help=text)
    text = "where environments are made, and last-green.json is left when all went well (default: %(default)s)"
    sub.add_argument("--folder", type=Path, default=Path("_build/rehearsal"), metavar="FOLDER", help=text)
    text = "how many at a time (default: %(default)s)"
    few = min(os.cpu_count() or 1, 4)  # each has an environment of its own
    sub.add_argument("-j", dest="jobs", type=positive, default=few, metavar="N", help=text)

    sources = "an assignment, assignments/source/NN_….ipynb"
    sub = command(student, "Write students' copies of assignments: no solutions, no hidden tests.")
    notebooks(sub, sources)
    sub.add_argument("-o", dest="to", type=Path, required=True, metavar="FOLDER", help="where they go")
    overlay(sub)

    text = "How far a translation is: what is stale or missing is shown in English."
    sub = command(translation, text)
    sub.add_argument("language", type=tag, metavar="LANGUAGE", help="such as zh or pt-BR")
    text = "a page or assignment, chapters/NN_….ipynb (default: all)"
    sub.add_argument("pages", nargs="*", type=page, metavar="PAGE", help=text)
    text = "write what is missing to translations/, in English, to be written over"
    sub.add_argument("--write", action="store_true", help=text)

    sub = command(prove, "Prove assignments: solutions pass, empty copies don't, every known wrong answer fails.")
    notebooks(sub, sources)
    overlay(sub)
    unsafe(sub)

    sub = command(grade, "Grade a class. Interrupted, it goes on where it was; a second run grades what has changed.")
    sub.add_argument("source", type=notebook, metavar="NOTEBOOK", help=sources)
    text = "a folder of STUDENT.ipynb, or of STUDENT/ASSIGNMENT/NAME.ipynb as nbgrader collects them"
    sub.add_argument("submissions", type=folder, metavar="SUBMISSIONS", help=text)
    sub.add_argument("-o", dest="to", type=Path, required=True, metavar="FOLDER", help="where grades and feedback go")
    text = "how many at a time (default: %(default)s)"
    sub.add_argument("-j", dest="jobs", type=positive, default=os.cpu_count() or 1, metavar="N", help=text)
    text = "what is handed in later has the status late: 2026-11-30T23:59, your time"
    sub.add_argument("--deadline", type=moment, metavar="TIME", help=text)
    text = "the most that one submission may take in all (default: %(default)s)"
    sub.add_argument("--seconds", type=positive, default=120, help=text)
    overlay(sub)
    unsafe(sub)
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


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 when it succeeded, 1 when the book is at fault, 2 when the command line is."""
    args = parser().parse_args(argv)
    try:
        args.function(args)
    except BookError as error:
        print(f"attnbook: {error}", file=sys.stderr)
        return 1
    return 0
