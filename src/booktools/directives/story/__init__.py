"""A story: a picture that stays in sight while the text steps through it.

    :::{story} one-pass
    1. The first block alone: its largest score is 3.
    2. The second block has a larger one.
    :::

The body is a list, an item a step. The picture has the name of a function in `drawings.py`, which computes what it
draws; its classes say at which step a part comes and goes. `story.js` tells the picture which step is being read.
Without scripts, with reduced motion and on paper it shows the end of the story beside all of its steps.
"""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from booktools.directives import Room
from booktools.directives.page import raw
from booktools.directives.story.drawings import DRAWINGS


class Story(SphinxDirective):
    has_content = True
    required_arguments = 1

    def run(self):
        told = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, told)
        (name,) = self.arguments
        steps = [node for node in told.children if isinstance(node, nodes.enumerated_list)]
        if name not in DRAWINGS or len(steps) != 1 or len(told.children) != 1:
            known = ", ".join(DRAWINGS)
            raise self.error(f"a story has a picture ({known}) and one numbered list")
        steps[0]["classes"].append("steps")
        return [raw(f'<div class="story"><div class="picture">{DRAWINGS[name]()}</div>'), *steps, raw("</div>")]


def plain(directive, page):
    return page.convert(directive.body)


def setup(app):
    app.add_directive("story", Story)


ROOM = Room(("story",), setup, plain)
