"""Everything derived from the chapters: clean outputs, the site's extras, the Colab notebooks.

Nothing here is needed to use the package: what these modules import beyond it (nbclient, yaml, pybtex, ...)
is installed by `make setup` and imported only when a command asks for it.
"""


class BookError(Exception):
    """Something in the book's files is not as it should be; the message says what, and what to try."""
