"""The book, read: its address, its pages and assignments, and what follows from them."""

from pathlib import Path

HERE = Path(__file__).parent


class BookError(Exception):
    """Something in the book's files is not as it should be; the message says what, and what to try."""


NO_NAMESPACES = """Where it says "Operation not permitted": Ubuntu 24.04 lets a program make namespaces only after
`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`; a container needs `--security-opt seccomp=unconfined`
or `--privileged`."""  # for whoever reads that bubblewrap, which keeps programs apart, does not start
