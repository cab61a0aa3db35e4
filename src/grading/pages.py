"""Writes an HTML page that fetches nothing and is light or dark as the reader's system is."""

from html import escape
from pathlib import Path

from attnbook.language import language

PAGE = """<!doctype html>
<html lang="{language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ max-width: 42rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }}
pre {{ white-space: pre-wrap; padding: .5rem; border-left: .25rem solid; }}
th, td {{ padding: .1rem 1rem .1rem 0; text-align: start; }}
{style}</style>
{body}
</html>
"""


def page_html(title: str, body: str, style: str = "") -> str:
    return PAGE.format(language=language(), title=escape(title), body=body, style=style)


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
