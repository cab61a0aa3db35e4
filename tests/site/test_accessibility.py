"""For every reader: pages without JavaScript, contrast on every colour a cell can have. (More: test_pages.py.)"""

import pytest

from attnbook.widgets import AttentionHeatmap
from tests.browser.pages import PAGES, bare, settle

each_page = pytest.mark.parametrize("path", PAGES)
each_theme = pytest.mark.parametrize("theme", ["light", "dark"])


@each_page
def test_without_javascript_everything_can_be_read(site, visit, path):
    page = visit(path, javascript=False)
    for box in page.locator(".tag_ours").all():  # our solutions of a chapter
        box.locator("summary").click()
        assert box.locator(".cell_input pre").is_visible()
    page.evaluate("for (const box of document.querySelectorAll('details')) box.open = true")
    hidden = page.evaluate(
        """() => [...document.querySelectorAll("main :is(h1, h2, h3, p, li, .math, pre, .ab-fallback table)")]
            .filter((node) => node.textContent.trim())
            .filter((node) => !node.closest("summary, .outline-here, .acts, .turner, .find-term, .take, .keep, .veil"))
            .filter((node) => !node.closest(".ending"))
            .filter((node) => !node.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
            .map((node) => node.outerHTML.slice(0, 120))"""
    )
    assert not hidden, f"can't be read without JavaScript: {hidden[:5]}"
    assert page.locator(".ab-fallback table").count() == len(site.soup(path).select("[data-afm]"))


@pytest.mark.parametrize("path", ["index.html", "chapters/05_scaled_dot_product_attention.html"])
def test_without_javascript_a_dark_system_gets_the_dark_page(visit, path):
    """The same colours as with it, also of code, and the dark figures; on paper it is light."""
    colours = """() => ["body", "h1", "article p", "pre", "pre .k", "pre .nf"].map((each) => {
        const node = document.querySelector(each), style = node && getComputedStyle(node);
        return node && [style.color, style.backgroundColor, style.colorScheme];
    })"""
    plain = {scripts: visit(path, theme="dark", javascript=scripts) for scripts in (True, False)}
    plain[True].wait_for_load_state("networkidle")
    assert plain[False].evaluate(colours) == plain[True].evaluate(colours)
    page = plain[False]
    assert not page.locator(".by-day:visible").count()
    assert page.locator(".by-night:visible").count() == page.locator(".by-night").count()
    paper = visit(path, javascript=False)
    page.emulate_media(media="print")
    paper.emulate_media(media="print")
    assert page.evaluate(colours) == paper.evaluate(colours)


# ---- text on cells ----

# Paints every computed colour, since only a painted pixel says what sRGB a browser makes of oklch().
CONTRAST = """() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const paint = (colour) => {
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = (rgb) => {
        const [r, g, b] = rgb.map((x) => x / 255).map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ratio = (a, b) => {
        const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
        return (high + 0.05) / (low + 0.05);
    };
    const body = document.querySelector(".ab-body");
    const lines = getComputedStyle(body).getPropertyValue("--ab-rule");
    const results = {};
    const measure = (name, className, property, values) => {
        const cell = document.createElement("span");
        cell.className = className;
        cell.style.transition = "none";
        cell.textContent = "0.50";
        body.append(cell);
        results[name] = values.map((value) => {
            cell.style.setProperty(property, value);
            const { color, backgroundColor, backgroundImage } = getComputedStyle(cell);
            const grounds = [backgroundColor, ...(backgroundImage === "none" ? [] : [lines])];
            return [value, Math.min(...grounds.map((ground) => ratio(paint(color), paint(ground))))];
        });
    };
    const steps = Array.from({ length: 101 }, (_, i) => i / 100);
    measure("weights", "ab-weight", "--w", steps);
    measure("scores", "ab-signed", "--s", steps.flatMap((s) => [-s, s]));
    measure("blocked weights", "ab-weight ab-blocked", "--w", [0]);
    measure("blocked scores", "ab-signed ab-blocked", "--s", [0]);
    return results;
}"""


@each_theme
def test_text_on_cells_has_contrast_at_every_weight(visit, theme):
    html = bare(AttentionHeatmap("the river bank", mask="causal")).replace(
        'lang="en"', f'lang="en" data-theme="{theme}"'
    )
    page = settle(visit("bare.html", served={"bare.html": html}))
    measured = page.evaluate(CONTRAST)
    weak = [(name, value, round(ratio, 2)) for name, pairs in measured.items() for value, ratio in pairs if ratio < 4.5]
    assert not weak, f"text needs a contrast of 4.5:1 (cells, value, contrast): {weak[:6]}"
    lows = {name: round(min(ratio for _, ratio in pairs), 2) for name, pairs in measured.items()}
    assert all(len({ratio for _, ratio in pairs}) > 20 for name, pairs in measured.items() if "blocked" not in name), (
        lows
    )


def test_bars_and_choices_are_seen_in_forced_colours(visit):
    """In the colour of what is selected, which stays apart from the ground in every palette."""
    page = settle(visit("bare.html", served={"bare.html": bare(AttentionHeatmap("the river bank"))}))
    page.emulate_media(forced_colors="active")
    found = page.evaluate(
        """() => {
            const colour = (node) => getComputedStyle(node).backgroundColor;
            const mark = document.body.appendChild(document.createElement("p"));
            mark.style.cssText = "forced-color-adjust: none; background: Highlight";
            document.querySelector(".ab-body").insertAdjacentHTML("beforeend", '<b class="ab-bar"><i></i></b>');
            const shown = [...document.querySelectorAll(".ab-bar i, .ab-choices :checked + span")];
            return [colour(mark), [...new Set(shown.map(colour))]];
        }"""
    )
    assert found[1] == [found[0]]
