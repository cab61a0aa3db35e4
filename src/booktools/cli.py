"""The `attnbook` command. What instructors type is in the package `grading`, which adds it."""

import os
import sys
from pathlib import Path

from attnbook.language import speaking
from booktools.arguments import (
    BUILT,
    Argument,
    command,
    jobs,
    notebooks,
    only,
    parser,
    positive,
    tag,
    translatable,
)
from booktools.book import BookError

TRACEBACK = "ATTNBOOK_TRACEBACK"

# Each command imports what it needs itself, so that `attnbook --help` and the package stay light.


@command("Run chapters and store clean outputs: a second run changes no byte.", notebooks())
def run(args) -> None:
    from booktools.rehearsal.run import run_all

    run_all(args.notebooks)


@command(
    "Run notebooks as other processors would: each must print what is stored.",
    notebooks("a chapter or an assignment"),
    only("PROCESSOR", "of the processors only these, such as AVX2"),
    jobs(),
)
def processors(args) -> None:
    from booktools.rehearsal.processors import PROCESSORS, run_everywhere, usual

    known = {processor.name: processor for processor in PROCESSORS}
    if unknown := set(args.only or known) - known.keys():
        raise BookError(f"{', '.join(sorted(unknown))} is no processor; expected one of {', '.join(known)}")
    run_everywhere(args.notebooks, [known[name] for name in args.only or ()] or [usual()], args.jobs)


@command("How long chapters are, up to *Going further*.", notebooks())
def lengths(args) -> None:
    from booktools.directives.minutes import Minutes

    print(f"{'':34}  words  cells  minutes: reading  touching  exercises")
    for path in args.notebooks:
        time = Minutes.read(path)
        minutes = f"{time.reading:>16}  {time.touching:>8}  {time.exercises:>9}"
        print(f"{path.stem:34}  {time.words:>5,}  {time.cells:>5}  {minutes}")


@command(
    "Write the Colab edition of chapters.",
    notebooks(),
    Argument("--to", type=Path, default=Path("_build/colab"), metavar="FOLDER", help="default: %(default)s"),
)
def colab(args) -> None:
    from booktools.book.contents import read_chapter
    from booktools.book.edition import edition
    from booktools.printers.colab import write_notebooks

    print(*write_notebooks(edition(Path()), args.to, map(read_chapter, args.notebooks)), sep="\n")


@command(
    "Bring the repository's address from _config.yml to the READMEs, CITATION.cff and pyproject.toml.",
    Argument("--check", action="store_true", help="write nothing; fail where a file disagrees"),
)
def address(args) -> None:
    from booktools.book.repeated import sync_address

    stale = sync_address(write=not args.check)
    if args.check and stale:
        raise BookError(f"{', '.join(stale)} disagree with _config.yml or the chapters. Run `attnbook address`.")
    for name in stale:
        print(f"{name}: brought up to date")


@command(
    "Print the site in all its languages, with the wheel and the Colab notebooks, or bring it up to date.",
    Argument("html", type=Path, metavar="HTML_FOLDER", help="where it goes, such as _build/html"),
)
def book(args) -> None:
    from booktools.book.edition import to_print
    from booktools.printers.book_files import any_missing
    from booktools.printers.site import print_site

    for each, html in to_print(args.html):
        print_site(each, html)
    print(f"The book is in {args.html}, its first page {args.html / 'index.html'}")
    if any_missing(args.html):
        print("A published site also offers the book as PDF, EPUB and zip: `make site` adds them.")


@command(
    "Print the site in all its languages once more as PDF, for paper and for a screen, and offer it on the first page.",
    Argument("html", type=Path, metavar="HTML_FOLDER", help="where the site is, such as _build/html"),
)
def pdf(args) -> None:
    from booktools.book.edition import to_print
    from booktools.printers.pdf import print_pdf

    for each, html in to_print(args.html):
        print(*print_pdf(each, html), sep="\n")


@command(
    "Print the decks in all languages as PDF: a slide a page, with the speaker's notes, and as a handout to write on.",
    Argument("html", type=Path, metavar="HTML_FOLDER", help="where the site is, such as _build/html"),
)
def slides(args) -> None:
    from booktools.book.edition import to_print
    from booktools.printers.slides import print_decks

    for each, html in to_print(args.html):
        if each.decks:
            print(*print_decks(each, html), sep="\n")


@command(
    "Print the site in all its languages once more as EPUB, for a reading device, and offer it on the first page.",
    Argument("html", type=Path, metavar="HTML_FOLDER", help="where the site is, such as _build/html"),
)
def epub(args) -> None:
    from booktools.book.edition import to_print
    from booktools.printers.epub import print_epub

    for each, html in to_print(args.html):
        print(print_epub(each, html))


@command(
    "Pack the site, and apart the published model, for a place without a network, and offer both on the first page.",
    Argument("html", type=Path, metavar="HTML_FOLDER", help="where the site is, such as _build/html"),
)
def zip(args) -> None:
    from booktools.book.edition import edition
    from booktools.printers.zipped import print_zip

    print(*print_zip(edition(Path()), args.html), sep="\n")


@command("Follow every link that leads out of the book, which needs a network.")
def links(args) -> None:
    from booktools.book.edition import edition
    from booktools.printers.site import check_links

    check_links(edition(Path()), Path("_build/links"))


@command(
    "Write the chapters' notebooks for one's own Jupyter into a folder. Those that are there stay as they are.",
    Argument("folder", type=Path, metavar="FOLDER", help="where they go, such as lab"),
)
def lab(args) -> None:
    from booktools.book.edition import edition
    from booktools.printers.colab import write_notebooks

    book = edition(Path())
    missing = [chapter for chapter in book.chapters if not (args.folder / chapter.path.name).exists()]
    write_notebooks(book, args.folder, missing)
    kept = len(book.chapters) - len(missing)
    stay = f" {kept} were there before and stay as they are; delete one to get it afresh." if kept else ""
    print(f"{args.folder} has all {len(book.chapters)} chapters.{stay}")


@command(
    "Serve the built site; bring it up to date and show it again when a file is saved.",
    BUILT,
    Argument("--port", type=positive, default=8000, metavar="N", help="default: %(default)s"),
)
def dev(args) -> None:
    from booktools.dev import dev as serve

    serve(Path.cwd(), args.html.resolve(), args.port)


@command(
    "Run the site's Colab notebooks on Colab's packages, in environments made for it.",
    BUILT,
    only("NAME", "of the site's notebooks only these, such as colab/05_dots"),
    Argument(
        "--packages",
        type=Path,
        metavar="FILE",
        help="Colab's list of today, as `pip freeze` prints it (default: colab/constraints.txt)",
    ),
    Argument(
        "--python",
        metavar="PYTHON",
        help="the Python of the environments; Colab's is 3.13 (default: the one that runs this)",
    ),
    Argument(
        "--folder",
        type=Path,
        default=Path("_build/rehearsal"),
        metavar="FOLDER",
        help="where environments are made, and last-green.json is left when all went well (default: %(default)s)",
    ),
    jobs(most=4),  # each has an environment of its own
)
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


@command(
    "Make the room of a new widget, with its test: a small one that works, to be changed.",
    Argument("name", metavar="NAME", help="two words or more, such as SoftLamp"),
)
def widget(args) -> None:
    from booktools.make.widget import make_room

    print(*make_room(Path(), args.name), sep="\n")
    print("Put it on a page, then: make book; python -m booktools.make.site.heights; make book; make test")


@command(
    "How far a translation is, and what has changed since; fails where numbers, formulas, code or links differ.",
    Argument("language", type=tag, metavar="LANGUAGE", help="such as zh or pt-BR"),
    Argument(
        "pages",
        nargs="*",
        type=translatable,
        metavar="PAGE",
        help="a page, an assignment, or words, such as src/booktools/site/en.json (default: all)",
    ),
    Argument(
        "--write",
        action="store_true",
        help="write what is missing to translations/, in English, to be written over",
    ),
    Argument("--seen", action="store_true", help="note that all of the named pages agrees with today's English"),
)
def translation(args) -> None:
    from booktools.book import glossary
    from booktools.book.assignment import assignment_paths, variant_paths
    from booktools.book.contents import deck_paths, pages
    from booktools.book.translation import word_files, write_missing, write_seen
    from booktools.book.translation_report import report

    if args.seen and not args.pages:
        raise BookError("--seen needs the pages that you have looked at.")
    root, faulty = Path(), 0
    with speaking(args.language):
        for path in args.pages or [
            *pages(root),
            *deck_paths(root).values(),
            *root.glob(glossary.FILE),
            *assignment_paths(root),
            *variant_paths(root),
            *word_files(root),
        ]:
            page = path.as_posix()
            for wanted, write in ((args.write, write_missing), (args.seen, write_seen)):
                if wanted:
                    write(page, root)
            lines, faults = report(page, root)
            print(*lines, sep="\n")
            faulty += faults
    if faulty:
        raise BookError(f"{faulty} texts do not say what their English says, or print stars. Lines with “wrong” tell.")


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 when it succeeded, 1 when the book is at fault, 2 when the command line is, 130 if stopped."""
    args = parser().parse_args(argv)
    try:
        args.function(args)
    except (BookError, OSError) as error:
        print(f"attnbook: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("attnbook: stopped", file=sys.stderr)
        return 130
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        print(f"attnbook: {type(error).__name__}: {error}\n{TRACEBACK}=1 in front of it shows where.", file=sys.stderr)
        return 1
    return 0
