"""A feed of what has changed in the book, from CHANGELOG.md: an entry for each of its days."""

import re
from pathlib import Path
from xml.sax.saxutils import escape

from markdown_it import MarkdownIt

from attnbook.language import words
from booktools.book.edition import Edition

SITE = Path(__file__).parent.parent / "site"
NAME = "changes.xml"
DAY = re.compile(r"^## (\d{4}-\d\d-\d\d): (.+)\n", re.MULTILINE)


def add_feed(edition: Edition, html: Path) -> None:
    changelog = (edition.root / "CHANGELOG.md").read_text("utf-8")
    (html / NAME).write_text(feed(changelog, words(SITE)["title"], edition.here.site), "utf-8")


def latest(root: Path) -> str:
    """The day of the last change."""
    return DAY.findall((root / "CHANGELOG.md").read_text("utf-8"))[0][0]


def feed(changelog: str, book: str, site: str) -> str:
    """As Atom; a day is `## 2026-11-26: its title`, the latest first.

    >>> print(feed("# Changelog\\n\\n## 2026-11-26: two halves\\n\\n- *Dots* & more.", "Dots", "https://ada.org/"))
    <?xml version="1.0" encoding="UTF-8"?>
    <feed xmlns="http://www.w3.org/2005/Atom">
    <id>https://ada.org/</id>
    <title>Dots</title>
    <updated>2026-11-26T00:00:00Z</updated>
    <link href="https://ada.org/"/>
    <link rel="self" href="https://ada.org/changes.xml"/>
    <author><name>Dots</name></author>
    <entry><id>https://ada.org/changes.xml#2026-11-26</id><title>two halves</title>\
<updated>2026-11-26T00:00:00Z</updated><link href="https://ada.org/"/>\
<content type="html">&lt;ul&gt;
    &lt;li&gt;&lt;em&gt;Dots&lt;/em&gt; &amp;amp; more.&lt;/li&gt;
    &lt;/ul&gt;
    </content></entry>
    </feed>
    """
    _, *parts = DAY.split(changelog)
    days = list(zip(parts[::3], parts[1::3], parts[2::3], strict=True))
    head = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<id>{site}</id>",
        f"<title>{escape(book)}</title>",
        _updated(days[0][0]),
        f'<link href="{site}"/>',
        f'<link rel="self" href="{site}{NAME}"/>',
        f"<author><name>{escape(book)}</name></author>",
    ]
    entries = (
        f"<entry><id>{site}{NAME}#{day}</id><title>{escape(title)}</title>{_updated(day)}"
        f'<link href="{site}"/><content type="html">{escape(MarkdownIt().render(text))}</content></entry>'
        for day, title, text in days
    )
    return "\n".join([*head, *entries, "</feed>"])


def _updated(day: str) -> str:
    return f"<updated>{day}T00:00:00Z</updated>"
