"""The style of all pages: one file, asked for once, with its content in its address. (A widget brings its own.)"""

import re
from hashlib import sha256
from pathlib import Path

PARTS = ("pygments", "copybutton", "widgets/shared/base", "katex/katex", "book", "map", "touch")


def join_styles(site: Path) -> None:
    """Make `_static/style.css` of its parts, and tell the pages."""
    static = site / "_static"
    style = "".join(static.joinpath(f"{part}.css").read_text("utf-8") for part in PARTS)
    style = style.replace("url(fonts/KaTeX", "url(katex/fonts/KaTeX")
    static.joinpath("style.css").write_text(style, "utf-8")
    version = sha256(style.encode()).hexdigest()[:8]
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        told = re.sub(r"(?<=/style\.css\?v=)\w*", version, text)
        if told != text:
            page.write_text(told, "utf-8")
