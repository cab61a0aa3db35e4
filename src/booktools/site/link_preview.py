"""The tags of a page for others: the preview of a link to it, and what search engines read."""

from html import escape
from pathlib import Path

from attnbook.widgets.shared.base import as_json
from booktools.book.contents import Chapter

CARDS = Path(__file__).parent / "front/static/cards"
LICENCE = "https://creativecommons.org/licenses/by-sa/4.0/"  # of the text


def card_path(page: str) -> str:
    """Returns the path of a page's picture, which booktools.make.site.cards drew, or of the book's."""
    name = Path(page).name
    return f"_static/cards/{name if (CARDS / f'{name}.png').is_file() else 'book'}.png"


def meta_tags(book: str, title: str, description: str, url: str, picture: str) -> str:
    """The <meta> tags that search engines and links in messages show."""
    properties = {
        "og:type": "article",
        "og:site_name": book,
        "og:title": title,
        "og:description": description,
        "og:url": url,
        "og:image": picture,
        "og:image:alt": title,
    }
    tags = [f'<meta property="{name}" content="{escape(value)}">' for name, value in properties.items()]
    tags += [f'<meta name="description" content="{escape(description)}">']
    tags += ['<meta name="twitter:card" content="summary_large_image">']
    return "\n".join(tags)


def schema_org(book: str, site: str, description: str, language: str, chapter: Chapter | None) -> str:
    """A chapter, or else the book, in the words of schema.org."""
    whole = {"@type": ["Book", "LearningResource"], "name": book, "url": site, "license": LICENCE}
    about: dict = whole
    if chapter:
        about = {"@type": ["Chapter", "LearningResource"], "name": chapter.title, "position": chapter.number}
        about["isPartOf"] = whole
    about |= {"@context": "https://schema.org", "description": description, "inLanguage": language}
    return f'<script type="application/ld+json">{as_json(about)}</script>'
