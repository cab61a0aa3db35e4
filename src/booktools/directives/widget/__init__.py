"""A live widget on a page that has no code: `module.Class`, and its traits as YAML. And the scale of its colours."""

import importlib
from inspect import getfile

import yaml
from sphinx.util.docutils import SphinxDirective

from attnbook.language import number
from booktools.directives import Room
from booktools.directives.page import raw


class Widget(SphinxDirective):
    required_arguments = 1
    has_content = True

    def run(self):
        module_name, name = self.arguments[0].split(".")
        module = importlib.import_module(f"attnbook.widgets.{module_name}")
        self.env.note_dependency(getfile(module))
        traits = yaml.safe_load("\n".join(self.content)) or {}
        return [raw(getattr(module, name)(**traits).page_html())]


class Scale(SphinxDirective):
    """The colours of the weights 0, 0.1, … 1."""

    def run(self):
        tenths = (tenth / 10 for tenth in range(11))
        cells = (f'<span class="ab-weight" style="--w:{x}">{number(x, 1)}</span>' for x in tenths)
        return [raw(f'<p class="scale ab-stage">{"".join(cells)}</p>')]


def plain(_directive, _page):
    """Returns None, because in a notebook a cell of code shows the widget."""


def setup(app):
    app.add_directive("widget", Widget)
    app.add_directive("scale", Scale)


ROOM = Room(("widget", "scale"), setup, plain, is_read=False)
