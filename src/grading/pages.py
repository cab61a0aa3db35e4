"""Writes an HTML page that fetches nothing, runs no other script than ours, and is light or dark as the system is."""

from base64 import b64encode
from hashlib import sha256
from html import escape
from pathlib import Path

from attnbook.language import language

PAGE = """<!doctype html>
<html lang="{language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; {runs}">
<title>{title}</title>
<style>
body {{ max-width: 42rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }}
pre {{ white-space: pre-wrap; padding: .5rem; border-left: .25rem solid; }}
th, td {{ padding: .1rem 1rem .1rem 0; text-align: start; }}
{style}</style>
{body}
</html>
"""


def page_html(title: str, body: str, style: str = "", script: str = "") -> str:
    runs = f"script-src 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" if script else ""
    body += f'\n<script type="module">{script}</script>' if script else ""
    return PAGE.format(language=language(), title=escape(title), body=body, style=style, runs=runs)


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
