"""A guess: a question whose answer stays out of sight until the reader has committed, or would rather see it.

    :::{guess}
    How much of the attention does *money* get?

    - nothing
    - a little {right}`✓`
    - a third
    :::

A list gives the choices, with the right one marked; `:number: 0.0900` asks for a number, which then has to stand in
what is hidden; with neither, the reader only says that they have guessed. `:because: Why it is so.` ends the reply.
Hidden is what the next cell prints, and with `:hides: 2` what follows it, too. `guess.js` makes it work; without
scripts and on paper all is open.
"""

from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst.directives import nonnegative_int, unchanged
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from attnbook.language import words
from booktools.directives import Room
from booktools.directives.page import raw

HERE = Path(__file__).parent
RIGHT = '<span class="right"></span>'
log = logging.getLogger(__name__)


class guess(nodes.General, nodes.Element):
    """A question, perhaps with choices."""


class Guess(SphinxDirective):
    has_content = True
    option_spec = {"number": unchanged, "hides": nonnegative_int, "because": unchanged}  # noqa: RUF012

    def run(self):
        node = guess(number=self.options.get("number", ""), hides=self.options.get("hides", 1))
        self.set_source_info(node)
        self.state.nested_parse(self.content, self.content_offset, node)
        if because := self.options.get("because"):
            node += nodes.line("", "", *self.state.inline_text(because, self.lineno)[0])
        return [node]


def right(_role, rawtext, text, _lineno, _inliner, options=None, content=None):
    """The role `right`, at the end of the right choice."""
    return [raw(RIGHT)], []


class Cards(SphinxPostTransform):
    """Makes each guess a card, and marks what it hides."""

    default_priority = 420
    formats = ("html",)

    def run(self):
        for count, node in enumerate(list(self.document.findall(guess)), start=1):
            at = node.parent.index(node)
            following: list[Any] = node.parent[at + 1 :]
            hidden = [after for after in following if not isinstance(after, nodes.section)][: node["hides"]]
            if hidden and node["number"] not in "".join(shown(after) for after in hidden):
                log.warning("the number of a guess must stand in what it hides: %s", node["number"], location=node)
            for after in hidden:
                after["classes"] += ["veiled", f"guess-{count}"]
            if seen := [after for after in hidden if not _is_cell(after) or _outputs_of(after)]:
                place = node.parent.index(seen[0]) + _is_cell(seen[0])  # what a cell prints stands last in it
                node.parent.insert(place, raw(veil(f"guess-{count}")))
            node.parent[at : at + 1] = card(node, f"guess-{count}")


def shown(node):
    """What a reader sees of a node: of a cell what it prints, and else its text."""
    return "".join(part.astext() for part in _outputs_of(node) or [node])


def _is_cell(node):
    return "cell" in node["classes"]


def _outputs_of(node):
    return [part for part in node.findall(nodes.container) if "cell_output" in part["classes"]]


def veil(name):
    """The line that stands for what is hidden."""
    say = words(HERE)["card"]
    return (
        f'<p class="veil {name}">{escape(say["hidden"])} · <button type="button">{escape(say["unveil"])}</button></p>'
    )


def card(node, name):
    say = {text: escape(said) for text, said in words(HERE)["card"].items()}
    told = "".join(f' data-{text}="{say[text]}"' for text in ("yes", "no", "close", "high", "low", "shown", "wanted"))
    number = escape(node["number"])
    field = (
        f'<input inputmode="decimal" autocomplete="off" aria-label="{say["field"]}"><button>{say["commit"]}</button>'
        if number
        else ""
    )
    choices = [part for part in node.children if isinstance(part, nodes.bullet_list)]
    because = [part for line in node.children if isinstance(line, nodes.line) for part in line.children]
    question = [part for part in node.children if part not in choices and not isinstance(part, nodes.line)]
    commit = "" if number or choices else f'<button type="button" data-show>{say["guessed"]}</button>'
    return [
        raw(f'<form class="guess" id="{name}" data-number="{number}"{told}><div><strong>{say["first"]}</strong> '),
        *question,
        raw("</div>"),
        *choices,
        raw(
            f'<p class="acts">{field}{commit}<button type="button" data-show>{say["show"]}</button></p>'
            '<p class="said" role="status" tabindex="-1"></p><p class="because">'
        ),
        *because,
        raw("</p></form>"),
    ]


def plain(directive, page):
    return page.convert(f"{words(HERE)['plain']} {directive.body}")


def setup(app):
    app.add_node(guess)
    app.add_directive("guess", Guess)
    app.add_role("right", right)
    app.add_post_transform(Cards)


ROOM = Room(("guess",), setup, plain)
