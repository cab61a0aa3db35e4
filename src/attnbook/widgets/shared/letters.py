"""What widgets share in which a network reads a text letter by letter and writes another (letters.js)."""

import traitlets

from attnbook.learning.text import Vocabulary

LONGEST, LETTERS = 29, 11  # of what is read, and of what is written: ten letters, and that it ends


def readable(text: str, known: Vocabulary) -> str:
    """The text, if a network that knows these letters can read it."""
    if unknown := sorted({letter for letter in text if letter not in known.ids}):
        raise traitlets.TraitError(f"the network has never met {' '.join(unknown)}; it knows the letters of dates.")
    if not 1 <= len(text) <= LONGEST:
        raise traitlets.TraitError(f"a date of 1 to {LONGEST} letters; got {len(text)}: {text!r}")
    return text


def shown(token: str) -> str:
    """A space, the start and the end, made visible."""
    return {" ": "·", "<start>": "▸", "<stop>": "■"}.get(token, token)
