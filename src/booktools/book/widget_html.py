"""Widgets in the HTML of a page or an output, where `BookWidget.page_html` put them: the one place that reads them."""

import json
import re
from collections.abc import Callable

_NAME = re.compile(r'data-afm="(\w+)"')
_STATE = re.compile(r'<script type="application/json">(.*?)</script>', re.DOTALL)
_WHOLE = re.compile(rf'<div class="ab-widget" {_NAME.pattern}>.*?{_STATE.pattern}</div>', re.DOTALL)


def widgets_in(html: str) -> list[str]:
    """Returns the names of the widgets in a piece of HTML.

    >>> widgets_in('<div class="ab-widget" data-afm="scale_lab"></div>')
    ['scale_lab']
    """
    return _NAME.findall(html)


def widgets_shown_by(cell) -> list[str]:
    """Returns the names of the widgets in the outputs of a code cell."""
    return widgets_in("".join(output.get("data", {}).get("text/html", "") for output in cell.get("outputs", [])))


def drop_states(html: str) -> str:
    """Returns the HTML without the state of its widgets, which only the site's pages can read."""
    return _STATE.sub("", html)


def remake_widgets(html: str, page_html: Callable[[str, dict], str]) -> str:
    """Returns the HTML with each widget made anew from its name and state."""
    return _WHOLE.sub(lambda found: page_html(found[1], json.loads(found[2])), html)
