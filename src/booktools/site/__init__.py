"""The site: what the book adds to Sphinx. The steps, in the order in which they are taken."""

from booktools.directives import rooms
from booktools.site import formulas, frame, listings, notes

STEPS = (formulas, notes, listings, frame)


def setup(app):
    for room in dict.fromkeys(rooms().values()):
        room.setup(app)
    for step in STEPS:
        step.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
