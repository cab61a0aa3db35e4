"""Draw what a link in a message shows: a card for the book, one for each chapter, with its picture, and one for the
map, with what ModelMap shows. And the book's icon, for where it is installed.

    python -m booktools.make.site.cards

They go to booktools/site/front/static. Each card carries what it was drawn from; a test compares.
"""

from base64 import b64encode
from hashlib import sha256
from html import escape
from io import BytesIO
from pathlib import Path
from shutil import which

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import ViewportSize, sync_playwright

from attnbook.colours import STAGE
from attnbook.language import number, words
from attnbook.widgets import model_map
from booktools.book.contents import Chapter, chapters
from booktools.directives.map import pictogram_svg

ROOT = Path(__file__).parents[4]
FRONT = Path(__file__).parents[2] / "site/front/static"
CARDS = FRONT / "cards"
SIZE: ViewportSize = {"width": 1200, "height": 630}
COLOURS = 32
VIOLET = "#a99ae6"  # of streams, as in ModelMap
WEIGHTS = ((1,), (0.3, 0.7), (0.2, 0.5, 0.3), (0.25, 0.1, 0.2, 0.45))  # how each token looks at itself and before

PAGE = """<!DOCTYPE html><style>
@font-face {{ font-family: serif-of-the-book; src: url(data:font/woff2;base64,{serif}) }}
@font-face {{ font-family: sans-of-the-book; src: url(data:font/woff2;base64,{sans}) }}
body {{ margin: 0; width: 1200px; height: 630px; box-sizing: border-box; padding: 72px; display: grid;
  grid: 1fr auto / 1fr 456px; gap: 40px 56px; color: {ink}; background: {paper} }}
.title {{ align-self: center; font: 600 var(--size)/1.12 serif-of-the-book; letter-spacing: -.01em }}
.number, .foot {{ font: 30px/1.4 sans-of-the-book; color: {soft} }}
.foot {{ grid-column: 1 / -1 }}
.number {{ display: block; margin-bottom: 20px; letter-spacing: 0 }}
svg {{ align-self: center; width: 456px; height: 304px; color: {accent} }}
</style><div class="title" style="--size: {size}px">{number}{title}</div>{picture}<div class="foot">{foot}</div>"""
WIDE = """<style>
body { grid: auto 1fr auto / 1fr; padding-block: 56px; gap: 24px }
svg { width: 1056px; height: 320px }
text { font: 600 17px serif-of-the-book; text-anchor: end }
</style>"""


def _card_of(number: str, title: str, picture: str, foot: str) -> str:
    """The HTML of a card with an SVG."""
    fonts = {name: b64encode((FRONT / f"fonts/{name}.woff2").read_bytes()).decode() for name in ("serif", "sans")}
    colours = {name.removeprefix("ab-"): value for name, value in STAGE.items() if name.startswith("ab-")}
    size = 72 if len(title) < 26 else 60
    above = f'<span class="number">{escape(number)}</span>' if number else ""
    gaps = {
        "number": above,
        "title": escape(title),
        "picture": picture,
        "foot": escape(foot),
        "size": size,
    }
    return PAGE.format(**fonts, **colours, **gaps)


def _a_map() -> str:
    """The book's own picture, as lines of an SVG: weights of a causal map."""
    square = '<rect x="{}" y="{}" width="14" height="14" rx="2" fill="currentColor" stroke="none" opacity="{}"/>'.format
    cells = ((m, n, w) for n, row in enumerate(WEIGHTS) for m, w in enumerate(row))
    return "\n".join(square(17 + 16 * m, 1 + 16 * n, w) for m, n, w in cells)


def _the_map() -> str:
    """ModelMap as a wide SVG: heads by their pushes, the lit stream and what flows into it, and what it would say."""
    picture, chosen = model_map.stored()[None], 23 * model_map.HEADS + 4
    pushes_N, weights_L = picture.looks[:, -1].sum(-1).tolist(), picture.weights[chosen, -1].tolist()
    tokens = [token.removeprefix("·") for token in model_map.header()["tokens"]]
    left, wide, top, row = 110, 26, 134, 15
    gold, pink = STAGE["ab-accent"], STAGE["attn-key"]
    parts = []
    for n, push in enumerate(pushes_N):
        block, head = divmod(n, model_map.HEADS)
        fill, light = (gold if push > 0 else pink, abs(push) / 2) if abs(push) > 0.2 else (VIOLET, 0.12)
        at = f'x="{left + wide * block}" y="{13 * head}" width="{wide - 2}" height="11" rx="2"'
        parts.append(f'<rect {at} fill="{fill}" opacity="{min(light, 1):.2f}"/>')
    end, last = left + wide * model_map.BLOCKS, top + row * (len(tokens) - 1)
    for j, token in enumerate(tokens):
        y = top + row * j
        parts.append(f'<text x="{left - 12}" y="{y + 5}" style="fill: {STAGE["ab-ink"]}">{escape(token)}</text>')
        parts.append(f'<path d="M{left} {y}H{end}" stroke="{VIOLET}" opacity="{1 if y == last else 0.3}"/>')
        x, weight = left + wide * 23 + 4, weights_L[j]
        if weight > 0.03 and y < last:
            colour = gold if picture.looks[chosen, -1, j] > 0.25 else VIOLET
            way = f"M{x} {y}c16 0 2 {last - y} 18 {last - y}"
            parts.append(f'<path d="{way}" fill="none" stroke="{colour}" stroke-width="{2 + 5 * weight:.1f}"/>')
    for block, (((word, chance), *_), _) in enumerate(picture.says[-1]):
        is_final, height = word == picture.ends[-1][0][0], 50 * chance
        at = f'x="{left + wide * block}" y="{last + 64 - height:.1f}" width="{wide - 2}" height="{height:.1f}"'
        parts.append(f'<rect {at} fill="{gold if is_final else VIOLET}"/>')
    word, chance = picture.ends[-1][0]
    for y, text in ((last - 6, word.removeprefix("·")), (last + 40, number(chance, 3))):
        parts.append(f'<text x="1056" y="{y}" style="font-size: 44px; fill: {gold}">{escape(text)}</text>')
    return f'{WIDE}<svg viewBox="0 0 1056 320">{"".join(parts)}</svg>'


def cards(root: Path = ROOT) -> dict[str, str]:
    """By the names of their files, the cards of the book, its map and its chapters."""
    say = words(FRONT.parents[1])
    book = say["title"]

    def of(chapter: Chapter) -> str:
        return _card_of(say["number"].format(n=chapter.number), chapter.title, pictogram_svg(chapter.pictogram), book)

    first = _card_of("", book, pictogram_svg(_a_map()), say["description"])
    title = next(line for line in (root / "map.md").read_text("utf-8").splitlines() if line.startswith("# "))
    return {"book": first, "map": _card_of("", title.removeprefix("# "), _the_map(), book)} | {
        chapter.stem: of(chapter) for chapter in chapters(root)
    }


def draw(pages: dict[str, str]) -> None:
    CARDS.mkdir(exist_ok=True)
    icon = (FRONT / "favicon.svg").read_text("utf-8").replace('rx="7" ', "")  # to its corners: others round them
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=which("chromium-headless-shell"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)
        for name, html in pages.items():
            page.set_content(html)
            page.evaluate("document.fonts.ready")
            picture = Image.open(BytesIO(page.screenshot())).convert("RGB").quantize(COLOURS, kmeans=COLOURS)
            made_of = PngInfo()
            made_of.add_text("made-of", digest(html))
            picture.save(CARDS / f"{name}.png", optimize=True, pnginfo=made_of)
        page.set_viewport_size({"width": 512, "height": 512})
        page.set_content(f"<style>body {{ margin: 0 }}</style>{icon}")
        Image.open(BytesIO(page.screenshot())).convert("RGB").quantize(COLOURS).save(FRONT / "icon.png", optimize=True)


def digest(html: str) -> str:
    return sha256(html.encode()).hexdigest()[:16]


if __name__ == "__main__":
    draw(cards())
