"""The book, read: its address, its pages and assignments, and what follows from them."""

from pathlib import Path

HERE = Path(__file__).parent


class BookError(Exception):
    """Something in the book's files is not as it should be; the message says what, and what to try."""
