"""The site: what the book adds to Sphinx. What becomes of a page after Sphinx is one list of steps, in their order."""

from booktools.directives import rooms
from booktools.site import (
    api_links,
    build_progress,
    chinese,
    code_listings,
    figures,
    formulas,
    frame,
    notes,
    other_editions,
    page,
    search,
)

STEPS = (
    page.say_copy,
    notes.add_notes,
    page.tidy_up,
    page.draw_figures,
    page.head_chapter,
    page.head_deck,
    page.raise_title,
    api_links.link_api_names,
    page.make_stubs,
    page.choose_files,
    page.bring_words,
    page.introduce,
    other_editions.lead_to_others,
    code_listings.wrap_listings,  # last: it changes what the others look for
)


def _finish(app, pagename, templatename, context, doctree):
    """Take the steps, after the theme has put its files on the page."""
    made = page.Page(app, pagename, context)
    for step in STEPS:
        step(made)
    return "deck.html" if made.taught else None


def setup(app):
    for room in dict.fromkeys(rooms().values()):
        room.setup(app)
    for part in (figures, formulas, notes, search, frame, other_editions, chinese, build_progress):
        part.setup(app)
    app.connect("html-page-context", _finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
