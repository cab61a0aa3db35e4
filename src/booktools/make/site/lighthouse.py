"""What Lighthouse says of the site, as of a phone on slow 4G: `make lighthouse`, where npm is at hand.

Pages come compressed, as from a host. Lighthouse models the network; the processor is this machine's, slowed
down four times.
"""

import gzip
import json
import mimetypes
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from booktools.serving import Quiet, serving

VERSION = "12.8.2"
PAGES = ("index", "chapters/01_word_vectors", "chapters/05_scaled_dot_product_attention", "chapters/09_the_transformer")
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
MEASURES = {
    "first-contentful-paint": "first paint",
    "largest-contentful-paint": "largest",
    "total-blocking-time": "blocked",
    "cumulative-layout-shift": "shift",
    "total-byte-weight": "weight",
}


class Compressed(Quiet):
    """A file, compressed where that helps, to be kept for a while."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        file = Path(self.translate_path(self.path))
        if not file.is_file():
            self.send_error(404)
            return
        body, smaller = _bodies(file)
        self.send_response(200)
        self.send_header("Content-Type", mimetypes.guess_type(file)[0] or "application/octet-stream")
        self.send_header("Cache-Control", "max-age=600")
        self.send_header("Content-Length", str(len(body)))
        if smaller:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)


@cache
def _bodies(file: Path) -> tuple[bytes, bool]:
    plain = file.read_bytes()
    packed = gzip.compress(plain)
    return min(plain, packed, key=len), len(packed) < len(plain)


def report(address: str, browser: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "report.json")
        flags = ["--quiet", "--output=json", f"--output-path={out}", "--chrome-flags=--no-sandbox --headless"]
        command = ["npx", "--yes", f"lighthouse@{VERSION}", address, *flags]
        subprocess.run(command, check=True, env=os.environ | {"CHROME_PATH": browser})
        return json.loads(out.read_text("utf-8"))


def main(site: Path) -> None:
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if not shutil.which("npx") or not browser:
        sys.exit("Lighthouse needs npm and a Chromium; `make setup` installs the second.")
    with serving(site, Compressed) as home:
        for page in PAGES:
            found = report(f"{home}{page}.html", browser)
            scores = (f"{name} {found['categories'][name]['score']:.2f}" for name in CATEGORIES)
            measures = (f"{said} {found['audits'][name]['displayValue']}" for name, said in MEASURES.items())
            print(f"{page}\n  {', '.join(scores)}\n  {', '.join(measures)}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
