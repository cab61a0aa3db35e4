"""The frame of a widget on a page: its name, the tasks that the chapter sets, and what can be done with its state.

A chapter writes the tasks near the widget, each with the state that shows it was done:

    :::{touch}
    Guess before each move.

    1. Choose the *causal* mask. Which row has only one word left? {when}`mask: causal`
    2. Which word gets most of *bank*?

       - *the*
       - *river* {right}`✓`
    :::

A task of doing is done when the widget is in the state of one of its marks, a question when the right choice is
pressed. A state names traits and their values: a value, `'>= 4'` or `'<= 4'` for a number or a length, `reordered` for
a list whose items changed places, `changed` for another text or list. `says: mistaken` is what the widget itself says
in `data-says`.

Tasks belong to the widget that stands before them in their section, and else to the next one. The frame stands where
the later of the two does. `touch.js` makes it work.
"""

import json
from collections import Counter
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from attnbook.language import words
from attnbook.widgets import all_widgets
from booktools.book.widget_html import widgets_in
from booktools.directives import Room
from booktools.directives.guess import RIGHT
from booktools.directives.page import edition_of, raw

HERE = Path(__file__).parent
SAYS = "says"  # no trait, but what a widget says of its state
PLACES = ("small", "narrow", "middle", "wide")  # two phones, a tablet, a desk

log = logging.getLogger(__name__)


class tasks(nodes.General, nodes.Element):
    """What a chapter asks its readers to do with a widget."""


class Touch(SphinxDirective):
    """Tasks, as a list that may follow a few words."""

    has_content = True

    def run(self):
        node = tasks()
        self.set_source_info(node)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]


def when(_role, rawtext, text, _lineno, _inliner, options=None, content=None):
    """The role `when`: a state that shows that a task was done.

    >>> print(when("", "", "mask: causal", 0, None)[0][0].astext())
    <span class="when" data-when="{&quot;mask&quot;: &quot;causal&quot;}"></span>
    """
    state = yaml.safe_load(f"{{{text}}}")
    mark = raw(f'<span class="when" data-when="{escape(json.dumps(state))}"></span>')
    mark["state"] = state
    return [mark], []


class Frames(SphinxPostTransform):
    """Puts a frame around each widget, and its tasks into it."""

    default_priority = 410  # after the outputs of notebooks have become HTML
    formats = ("html",)

    def run(self):
        names = Counter()
        for widget, asked, place in self.widgets_with_tasks():
            kind = kind_of(widget)
            names[kind.name] += 1
            name = kind.name.replace("_", "-") + (f"-{names[kind.name]}" if names[kind.name] > 1 else "")
            if name in self.document.ids:  # a heading's
                name += "-widget"
            heights = self.heights(name)
            if "hero" in place["classes"]:
                widget.replace_self(
                    [raw(f'<div class="touch" id="{name}"{heights}>'), raw(widget.astext()), raw("</div>")]
                )
                continue
            if asked:
                check(asked, kind)
            at = place.parent.index(place) + 1
            place.parent[at:at] = framed(widget, asked, kind, name, heights)
            remove(widget)
            if asked:
                remove(asked)

    def heights(self, name):
        """The style by which a widget's place is kept free; see booktools/make/site/heights.py."""
        folder, page = edition_of(self.env).folder, f"{self.env.docname}#{name}"
        known = _measured_heights().get(f"{folder}{page}") or _measured_heights().get(page, [])
        return f' style="{"".join(f"--{place}:{high}px;" for place, high in zip(PLACES, known, strict=False))}"'

    def widgets_with_tasks(self):
        """Each widget, its tasks or None, and the node after which the frame will stand."""
        found, waiting = [], None
        for node in list(self.document.findall(lambda node: isinstance(node, tasks) or is_widget(node))):
            last = found[-1] if found else None
            if is_widget(node):
                found.append((node, waiting, _cell_of(node)))
                waiting = None
            elif last and last[1] is None and section_of(last[0]) is section_of(node):
                found[-1] = (last[0], node, node)
            else:
                _warn_of_lost(waiting)
                waiting = node
        _warn_of_lost(waiting)
        return found


def _warn_of_lost(asked):
    if asked:
        log.warning("this {touch} has no widget, neither before it in its section nor after it", location=asked)


def check(asked, kind):
    """Each task is done by a state of traits that the widget has, or answered by one choice of several."""
    for item in _tasks_in(asked):
        states = [mark["state"] for mark in item.findall(nodes.raw) if "state" in mark]
        rights = [mark for mark in item.findall(nodes.raw) if mark.astext() == RIGHT]
        if bool(states) == (len(rights) == 1) or len(rights) > 1:
            log.warning("a task needs {when}`trait: value`, or choices of which one is {right}`✓`", location=asked)
        for state in states:
            if unknown := state.keys() - kind.inputs().keys() - {SAYS}:
                log.warning("%s has no %s", kind.__name__, ", ".join(unknown), location=asked)
            if f'"{state.get(SAYS)}"' not in kind.module and SAYS in state:
                log.warning("%s never says %s", kind.__name__, state[SAYS], location=asked)


def _tasks_in(asked) -> list[Any]:
    return [item for steps in asked.children if isinstance(steps, nodes.enumerated_list) for item in steps.children]


def is_widget(node):
    return isinstance(node, nodes.raw) and bool(widgets_in(node.astext()))


def kind_of(widget):
    """The class of the widget that a node shows."""
    (name,) = widgets_in(widget.astext())
    return next(kind for kind in all_widgets() if kind.name == name)


def section_of(node):
    return node if isinstance(node, nodes.section | nodes.document) else section_of(node.parent)


def _cell_of(node):
    """The part of its section in which a node lies."""
    return node if node.parent is section_of(node) else _cell_of(node.parent)


def remove(node):
    """Takes a node out, and with it whatever held nothing else."""
    parent = node.parent
    parent.remove(node)
    if not parent.children and not isinstance(parent, nodes.section):
        remove(parent)


def framed(widget, asked, kind, name, heights):
    say = {text: escape(said) for text, said in words(HERE)["frame"].items()}
    told = "".join(f' data-{text}="{say[text]}"' for text in ("copied", "address", "done", "at", "yes", "no"))
    head = f"""<div class="touch ab-stage" id="{name}" role="group" aria-labelledby="{name}-name"{told}{heights}>
<header><p id="{name}-name"><b>{say["touch"]}</b> {escape(kind.edition_words()["name"])}</p>
<p class="said" role="status"></p><p class="acts" hidden>
<button type="button" data-act="reset">{say["reset"]}</button>
<button type="button" data-act="link" aria-label="{say["link"]}">{say["short"]}</button>
<button type="button" data-act="full" aria-label="{say["full"]}">⤢</button></p></header><div class="bench">"""
    turner = f"""<p class="turner" hidden><button type="button" aria-label="{say["back"]}">‹</button><span></span>
<button type="button" aria-label="{say["on"]}">›</button>
<button type="button" aria-label="{say["whole"]}" aria-expanded="true"></button></p>"""
    for item in _tasks_in(asked) if asked else []:
        if any(isinstance(part, nodes.bullet_list) for part in item.children):
            item.append(raw('<p class="told" role="status"></p>'))
    aside = [raw('<div class="tasks">'), *asked.children, raw(f"{turner}</div>")] if asked else []
    return [raw(head), raw(widget.astext()), *aside, raw("</div></div>")]


@cache
def _measured_heights():
    """The height of each widget in each of the PLACES, by page#frame."""
    lines = map(str.split, HERE.joinpath("heights.txt").read_text("utf-8").splitlines())
    return {name: high for name, *high in lines}


def plain(directive, page):
    gap = "\n\n" if directive.body.startswith("1.") else " "
    return page.convert(f"{words(HERE)['plain']}{gap}{directive.body}")


def setup(app):
    app.add_node(tasks)
    app.add_directive("touch", Touch)
    app.add_role("when", when)
    app.add_post_transform(Frames)


ROOM = Room(("touch",), setup, plain)
