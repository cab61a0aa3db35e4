"""Nothing jumps, a page has little to do before it answers, and the next chapter brings little.

No clock decides that. What scripts do is counted by the browser: how often each block of code was entered, which is the
same on every machine. Seconds are said by `make lighthouse`.
"""

import re
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.browser.pages import DESKTOP, SITE, soup
from tests.site.test_pages import SCROLL_THROUGH, smallest

pytestmark = pytest.mark.slow
PAGES = ["index", "chapters/01_word_vectors", "chapters/05_scaled_dot_product_attention", "chapters/09_the_transformer"]
PHONE = {"width": 412, "height": 823}
LANDED = """(place) => [document.getElementById(place).getBoundingClientRect().top,
    parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop),
    scrollY + innerHeight > document.documentElement.scrollHeight - 2]"""
WATCH = """
window.jumps = [];
new PerformanceObserver((list) => {
    for (const jump of list.getEntries()) if (!jump.hadRecentInput) jumps.push([jump.value, ...jump.sources
        .map(({ node }) => `${node?.nodeName}.${node?.className}`)]);
}).observe({ type: "layout-shift", buffered: true });
"""


@contextmanager
def counting(page):
    """What the scripts of a page do meanwhile, by the names of their files: how often blocks of them are entered."""
    session, done = page.context.new_cdp_session(page), Counter()
    session.send("Profiler.enable")
    session.send("Profiler.startPreciseCoverage", {"callCount": True, "detailed": True})
    yield done
    for script in session.send("Profiler.takePreciseCoverage")["result"]:
        blocks = (block["count"] for function in script["functions"] for block in function["ranges"])
        done[Path(urlsplit(script["url"]).path).name] += sum(blocks)
    session.detach()


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desk"])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_jumps(visit, name, viewport):
    page = visit("404.html", viewport=viewport)
    page.add_init_script(WATCH)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 2})
    page.goto(f"{visit.home}{name}.html")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(500)
    page.evaluate(SCROLL_THROUGH)
    page.wait_for_load_state("networkidle")
    jumps = sorted(page.evaluate("jumps"), reverse=True)
    assert sum(value for value, *_ in jumps) <= 0.02, f"these move: {jumps[:4]}"


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desk"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_little_to_do_before_it_answers(visit, name, viewport):
    """One widget starts, and all scripts together enter few blocks: 420,000 in chapter 9, whose widget runs a model."""
    page = visit("404.html", viewport=viewport, motion="reduce")
    with counting(page) as done:
        page.goto(f"{visit.home}{name}.html")
        page.locator("[data-mounted]").first.wait_for()
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(500)
    assert page.locator("[data-mounted]").count() == 1
    assert done.total() <= 600_000, done.most_common(4)
    assert page.locator("*").count() <= 16_000


def test_what_scripts_do_is_counted(visit):
    """A loop of a million rounds is found, wherever it runs, and named."""
    loop = "let sum = 0; for (let i = 0; i < 1e6; i += 1) sum += i;"
    page = visit("404.html", served={"_static/busy.js": loop})
    with counting(page) as done:
        page.add_script_tag(url=f"{visit.home}_static/busy.js")
    assert 1_000_000 <= done["busy.js"] <= 1_000_010


def test_the_next_chapter_brings_little(visit):
    page = visit("chapters/01_word_vectors.html")
    page.wait_for_load_state("networkidle")
    page.evaluate(SCROLL_THROUGH)
    page.wait_for_load_state("networkidle")
    known = set(visit.requests)
    page.goto(visit.home + "chapters/02_masked_softmax.html")
    page.wait_for_load_state("networkidle")
    new = {url.removeprefix(visit.home).split("?")[0] for url in set(visit.requests) - known}
    weights = {name: len(smallest(SITE / name)) for name in new}
    assert sum(weights.values()) <= 120_000, sorted(weights.items(), key=lambda pair: -pair[1])[:6]


@pytest.mark.parametrize("name", PAGES)
def test_no_script_holds_up_the_first_paint_and_one_style_does(name):
    head = soup(f"{name}.html").head
    assert not head.select("script[src]:not([defer], [type=module])")
    assert len(head.select("link[rel=stylesheet]:not(noscript *)")) == 1


@pytest.mark.parametrize("name", PAGES)
def test_all_scripts_of_the_first_widget_are_asked_for_at_once(name):
    page = soup(f"{name}.html")
    early = [Path(link["href"]).parts[-2:] for link in page.select("link[rel=modulepreload]")]
    first = page.select_one("[data-afm]")["data-afm"]
    assert early[0] == (first, f"{first}.js")
    imported = {
        (folder, file)
        for room, script in early
        for folder, file in re.findall(
            r'from "\.\./(\w+)/(\w+\.js)"', (SITE / "_static/widgets" / room / script).read_text("utf-8")
        )
    }
    assert imported <= set(early)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_asks_for_few_files(visit, name):
    visit(f"{name}.html").wait_for_load_state("networkidle")
    assert len(visit.requests) <= 45, visit.requests


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", PAGES[1:])
def test_links_into_a_page_land(visit, name, width):
    """Below the bar, within 8 px, whatever starts meanwhile."""
    ids = [heading.parent["id"] for heading in soup(f"{name}.html").select("article section > h2")]
    page = visit("404.html", viewport={"width": width, "height": 800})
    for place in ids[1::3]:
        page.goto(f"{visit.home}404.html")
        page.goto(f"{visit.home}{name}.html#{place}")
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(300)
        top, wanted, at_the_end = page.evaluate(LANDED, place)
        assert abs(top - wanted) <= 8 or at_the_end, f"#{place} is at {top} px, not at {wanted}"
