"""Tokens of bytes as widgets show them."""

import re


def shown_token(token: bytes) -> str:
    """· for a blank, ⏎ for the end of a line, and the numbers of bytes that are no text.

    >>> shown_token(b" the"), shown_token(b"\\xc3"), shown_token(b"\\0"), shown_token("ü".encode())
    ('·the', 'c3', '00', 'ü')
    """
    text = token.decode(errors="replace").replace(" ", "·").replace("\n", "⏎")
    return token.hex(" ") if re.search("[\\0-\\x1f\\x7f-\\x9f\ufffd]", text) else text
