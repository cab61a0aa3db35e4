"""The Content-Security-Policy: a page loads only what its own host serves, and runs one inline script."""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).parent

RULES = {
    "default-src": "'self'",
    "script-src": "'self' 'wasm-unsafe-eval' {first_paint}",  # MicroPython and a model's products are WebAssembly
    "style-src": "'self' 'unsafe-inline'",  # KaTeX places each part of a formula
    "img-src": "'self' data: blob:",  # pictures that a widget saves
    "object-src": "'none'",
    "base-uri": "'none'",
}


def first_paint() -> str:
    """The script in the head of every page, without its indents and comments."""
    lines = (HERE / "front/first_paint.js").read_text("utf-8").splitlines()
    return "\n".join(line.partition(" //")[0].strip() for line in lines)


def content_security_policy(script: str) -> str:
    """The Content-Security-Policy of a page with one inline script, for its <meta> tag.

    >>> content_security_policy("let x").split("; ")[1]
    "script-src 'self' 'wasm-unsafe-eval' 'sha256-dXKOHtfmzrnYeAHYBCbUmBpIqmNFRVEF6ulA+ucuqt0='"
    """
    known = f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
    return "; ".join(f"{what} {allowed}" for what, allowed in RULES.items()).format(first_paint=known)
