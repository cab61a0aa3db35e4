"""What every tool of the book stands on: its address, its pages, its assignments."""

from pathlib import Path

HERE = Path(__file__).parent


class BookError(Exception):
    """Something in the book's files is not as it should be; the message says what, and what to try."""
