"""A folder served from this machine: to those who read the built site as a browser does, or install from it."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder at an address such as /some/book/, nothing beside it, and says nothing of what was asked for."""

    def __init__(self, *args, at: str = "/", **options):
        self.at = at
        super().__init__(*args, **options)

    def translate_path(self, path: str) -> str:
        return super().translate_path(f"/{path.removeprefix(self.at)}" if path.startswith(self.at) else "/not here")

    def log_message(self, *args) -> None:
        pass


class Patient(ThreadingHTTPServer):
    """A page that is closed before it has all of its files is no error."""

    def handle_error(self, request, client_address) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving(folder: Path, handler: type[Quiet] = Quiet, *, at: str = "/") -> Iterator[str]:
    """The address of a folder, which ends with `at`, for as long as it is wanted."""
    with Patient(("127.0.0.1", 0), partial(handler, directory=folder, at=at)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{at}"
        finally:
            server.shutdown()
