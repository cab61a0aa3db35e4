"""Tokens of bytes as widgets show them."""


def shown_token(token: bytes) -> str:
    """· for a blank, ⏎ for the end of a line, and the numbers of bytes that are no character.

    >>> shown_token(b" the"), shown_token(b"\\xc3"), shown_token("ü".encode())
    ('·the', 'c3', 'ü')
    """
    try:
        return token.decode().replace(" ", "·").replace("\n", "⏎")
    except UnicodeDecodeError:
        return token.hex(" ")
