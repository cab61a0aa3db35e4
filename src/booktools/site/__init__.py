"""The site: what the book adds to Sphinx. The steps, in the order in which they are taken."""

from booktools.site import cards, formulas, frame, guess, listings, notes, scratch, touch

STEPS = (formulas, touch, guess, notes, listings, cards, scratch, frame)


def setup(app):
    for step in STEPS:
        step.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
