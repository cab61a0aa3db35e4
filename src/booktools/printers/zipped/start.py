"""The book on your own machine, without a network: `python3 start.py` opens it. Ctrl-C stops it."""

import webbrowser
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Pages(SimpleHTTPRequestHandler):
    # A browser runs no script that is called something else, as some systems do.
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".json": "application/json",
        ".svg": "image/svg+xml",
        ".wasm": "application/wasm",
    }

    def log_message(self, *args):
        pass


def main():
    book = Path(__file__).parent / "book"
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Pages, directory=book)) as server:
        address = f"http://127.0.0.1:{server.server_port}/"
        print(f"The book is at {address} (Ctrl-C stops it)", flush=True)
        webbrowser.open(address)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
