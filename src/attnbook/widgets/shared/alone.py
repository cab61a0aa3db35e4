"""A widget as one HTML file, which opens from a disk: nothing is fetched, and no kernel is behind it."""

import html

from attnbook.language import language
from attnbook.widgets.shared.base import BookWidget, page_words
from attnbook.widgets.shared.files import SHARED, without_comments


def alone(widget: BookWidget) -> str:
    """A page of nothing but the widget, as it is now, with all that it needs; of one whose data are no files."""
    host = without_comments(SHARED / "host.js").replace("export async function", "async function")
    module = widget.module.replace("export default", "return")
    node = widget.page_html().replace("<div", "<div data-mounted", 1)  # by the script below, and not by its host
    return (
        f'<!DOCTYPE html><html lang="{language()}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(widget.edition_words()['name'])}</title><style>{widget.sheet}"
        "body { max-inline-size: 62rem; margin: 1rem auto; padding: 0 1rem }</style></head>"
        f"<body>{node}{page_words([type(widget)])}"
        f'<script type="module">{host}\nconst widget = (() => {{\n{module}\n}})();\n'
        'mount(document.querySelector("[data-afm]"), { default: widget });</script></body></html>'
    )
