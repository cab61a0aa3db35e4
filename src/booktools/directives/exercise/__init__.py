"""Exercises and their solutions. Their page form is that of sphinx-exercise, which numbers them as the book does."""

from pathlib import Path

from attnbook.language import words
from booktools.book import HERE as BOOK
from booktools.directives import Room

HERE = Path(__file__).parent


def plain(directive, page):
    argument, body = directive.argument, directive.body
    match directive.name:
        case "exercise" | "exercise-start":
            title = " — ".join(filter(None, [exercise(directive.label, page), page.inline(argument)]))
            return f"### {title}\n\n{page.convert(body)}".rstrip()
        case "solution":
            return page.box(solution(argument, page), body, True)
        case "solution-start":
            return f"#### {solution(argument, page)}\n\n{page.convert(body)}".rstrip()
    return ""  # an end


def exercise(label, page):
    return page.label_text(label) if label else words(BOOK)["exercise"]


def solution(label, page):
    return words(HERE)["solution"].format(exercise=exercise(label, page))


def setup(app):
    """Sphinx gets them from sphinx-exercise, which _config.yml names."""


NAMES = ("exercise", "exercise-start", "exercise-end", "solution", "solution-start", "solution-end")
ROOM = Room(NAMES, setup, plain, is_read=False)
