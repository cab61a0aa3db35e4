"""The style of all pages: one file, asked for once, with its content in its address. (A widget brings its own.)"""

import re
from hashlib import sha256
from pathlib import Path

from attnbook.language import language
from attnbook.widgets.shared.files import tight_style

DARK, LIGHT = 'html[data-theme="dark"]', 'html[data-theme="light"]'
BEFORE = ("pygments", "copybutton", "widgets/shared/base", "katex/katex")
FRAME = ("frame", "text", "code", "boxes", "guess", "notes", "search", "screens")
OURS = (*FRAME, "glossary", "contents", "drag", "heads", "map", "story", "touch", "write")
PARTS = BEFORE + OURS  # in their order: what comes later wins


def join_styles(site: Path) -> None:
    """Make `_static/style.css` of its parts, and tell the pages."""
    static = site / "_static"
    own = static / f"{language().partition('-')[0]}.css"  # what a language adds, such as zh.css
    parts = [*(static / f"{part}.css" for part in PARTS), *([own] if own.is_file() else [])]
    style = "".join(part.read_text("utf-8") for part in parts)
    style = tight_style(style.replace("url(fonts/KaTeX", "url(katex/fonts/KaTeX"))
    static.joinpath("style.css").write_text(style, "utf-8")
    static.joinpath("without-scripts.css").write_text(_scriptless_dark_rules(style), "utf-8")
    version = sha256(style.encode()).hexdigest()[:8]
    for page in site.rglob("*.html"):
        if next(folder for folder in page.parents if (folder / "_static").is_dir()) != site:
            continue  # of another edition, which has a style of its own
        text = page.read_text("utf-8")
        told = re.sub(r"(?<=/style\.css\?v=)\w*", version, text)
        if told != text:
            page.write_text(told, "utf-8")


def _scriptless_dark_rules(style: str) -> str:
    """The dark rules of a style, as they hold where no script can say that a page is dark, and its pages say light.

    >>> print(_scriptless_dark_rules('a, html[data-theme="dark"] b { color: red } i { color: blue }'))
    html[data-theme="light"] b { color: red }
    """
    rules = re.findall(r"([^{}]*)(\{[^{}]*\})", re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL))
    night = ((", ".join(_dark_selectors(selectors)), body) for selectors, body in rules)
    return "\n".join(f"{selectors} {body}" for selectors, body in night if selectors)


def _dark_selectors(selectors: str) -> list[str]:
    """Those of a list of selectors that hold in the dark, for a page that says light."""
    each = (selector.strip() for selector in selectors.split(","))
    return [selector.replace(DARK, LIGHT) for selector in each if selector.startswith(DARK)]
