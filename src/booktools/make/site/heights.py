"""How high each widget of the site is, in its first state, on two phones, a tablet and a desk.

They go to booktools/directives/touch/heights.txt: its place is kept free so high until it starts. After a widget has
changed: `make book`, then `python -m booktools.make.site.heights`, and `make book` again. A test compares the last of
them.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which

from playwright.sync_api import sync_playwright

from booktools.book.contents import DECK
from booktools.serving import serving

ROOT = Path(__file__).parents[4]
WIDTHS = (360, 412, 768, 1280)
START = """async () => {
    for (const widget of document.querySelectorAll("[data-afm]")) {
        widget.scrollIntoView();
        while (!widget.matches("[data-mounted], [data-failed]") || widget.querySelector("[aria-busy]"))
            await new Promise(requestAnimationFrame);
        if (widget.matches("[data-failed]")) throw new Error(`${widget.dataset.afm} did not start`);
    }
    await document.fonts.ready;
}"""
HEIGHTS = """() => [...document.querySelectorAll(".touch")].map((frame) =>
    [frame.id, Math.round(frame.querySelector("[data-afm]").getBoundingClientRect().height)])"""


def pages_with_widgets(site: Path) -> Iterator[str]:
    """The pages that hold widgets, but no decks: there a widget has all the room of its slide."""
    for file in sorted(site.rglob("*.html")):
        is_deck = file.with_suffix(".md").name.endswith(DECK)
        if not is_deck and b'class="touch' in file.read_bytes():
            yield file.relative_to(site).with_suffix("").as_posix()


def heights(site: Path) -> dict[str, list[int]]:
    """By page#frame, the height at each of the widths."""
    found: dict[str, list[int]] = {}
    with serving(site) as home, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=which("chromium-headless-shell"), args=["--no-sandbox"])
        for width in WIDTHS:
            page = browser.new_page(viewport={"width": width, "height": 800})
            for name in pages_with_widgets(site):
                page.goto(f"{home}{name}.html")
                page.evaluate(START)
                for frame, height in page.evaluate(HEIGHTS):
                    found.setdefault(f"{name}#{frame}", []).append(height)
    return found


if __name__ == "__main__":
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "_build/html"
    lines = (f"{name} {' '.join(map(str, high))}\n" for name, high in heights(site).items())
    (ROOT / "src/booktools/directives/touch/heights.txt").write_text("".join(lines), "utf-8")
