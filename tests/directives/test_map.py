"""The map, the cards and the heads of chapters: complete, in step with the chapters, and in anybody's reach."""

import posixpath
import re
from base64 import b64decode

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import expect

from attnbook.language import words
from booktools.book.edition import edition
from booktools.directives.map import HERE, drawing
from booktools.directives.minutes import Minutes
from tests import ROOT
from tests.browser.clocks import frames
from tests.browser.pages import DESKTOP, PHONE

CHAPTERS = {chapter.number: chapter for chapter in edition(ROOT).chapters}
SAY = words(HERE)
each_chapter = pytest.mark.parametrize("number", CHAPTERS)
SAID = SAY["map"]["parts"]
PARTS = {number: [SAID[part].replace("\n", " ") for part in chapter.map] for number, chapter in CHAPTERS.items()}
# Of each chapter, a part by which a reader would look for it.
LOOKED_FOR = {
    1: "word vectors",
    2: "masked self-attention",
    3: "query, key, value",
    4: "cross-attention",
    5: "scaled dot product",
    6: "heads",
    7: "self-attention",
    8: "positions",
    9: "add & norm, feed-forward",
    10: "cache",
    11: "linear",
}
OFF = """for (const name of ["getItem", "setItem"]) {
    const real = Storage.prototype[name];
    Storage.prototype[name] = function (key, ...rest) {
        if (!key.startsWith("sphinx")) throw new DOMException("off", "SecurityError"); // Sphinx would complain
        return real.call(this, key, ...rest);
    };
}"""
SHIFTS = """new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => { for (const shift of list.getEntries()) sum += shift.value; })
        .observe({ type: "layout-shift", buffered: true });
    setTimeout(() => done(sum), 300);
})"""


def page_of(number):
    return f"chapters/{CHAPTERS[number].stem}.html"


# ---- the map ----


@pytest.mark.parametrize("path", ["index.html", page_of(9)])
def test_each_part_leads_to_its_chapter(site, path):
    links = site.soup(path).select(".map.whole a")
    others = [number for number in PARTS if path != page_of(number)]
    assert [int(link["data-chapter"]) for link in links] == others, "in the order of the chapters, for the keyboard"
    for number, link in zip(others, links, strict=True):
        assert posixpath.normpath(posixpath.join(posixpath.dirname(path), link["href"])) == page_of(number)
        assert LOOKED_FOR.get(number, "") in link.title.text
        assert link.title.text == f"{', '.join(PARTS[number])}: chapter {number}, {CHAPTERS[number].title}"


@each_chapter
def test_a_chapter_lights_its_own_parts_and_no_others(site, number):
    (small,) = site.soup(page_of(number)).select(".chapter-head .map")
    (lit,) = small.select(".lit")
    own = [box for box in drawing.PARTS if box.part in CHAPTERS[number].map]
    assert own
    assert "".join(map(str, lit.contents)) == "".join(map(str, parse("".join(box.draw(None) for box in own))))
    assert not small.select("text, a"), "it is too small for words"


def parse(html):
    return BeautifulSoup(html, "html.parser").contents


def test_no_part_covers_another():
    """Boxes stand apart, within the picture; what has an outline only may hold others."""
    solid = [box for box in drawing.PARTS if box.kind not in ("sheet", "behind")]
    for i, a in enumerate(solid):
        assert 0 < a.x - a.width / 2 < a.x + a.width / 2 < drawing.WIDTH
        assert 0 < a.y < a.y + a.height < drawing.HEIGHT
        for b in solid[:i]:
            apart = abs(a.x - b.x) >= (a.width + b.width) / 2 or not (b.y - a.height < a.y < b.y + b.height)
            assert apart, f"{a.part} covers {b.part}"


@pytest.mark.parametrize("path", ["index.html", page_of(9)])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_words_in_the_map_can_be_read_and_stay_in_their_boxes(visit, path, viewport):
    page = visit(path, viewport=viewport)
    texts = page.eval_on_selector_all(
        ".map.whole text",
        """texts => texts.map(text => {
            const { x, width } = text.getBBox(), rects = [...text.parentNode.querySelectorAll("rect")];
            const holds = (box) => box.x <= x && x + width <= box.x + box.width;
            const fits = text.closest(".part") ? rects.some((rect) => holds(rect.getBBox())) : x > 0 && x + width < 400;
            return [text.textContent, text.getScreenCTM().a * parseFloat(getComputedStyle(text).fontSize), fits];
        })""",
    )
    assert len(texts) > 25
    for text, size, fits in texts:
        assert size >= 11, f"{text}: {size:.1f} px"
        assert fits, text


def test_the_keyboard_reaches_each_part_and_shows_it(visit):
    page = visit(motion="reduce")
    page.locator(".map.whole a").first.focus()
    for number in PARTS:
        focused = page.locator(":focus")
        expect(focused).to_have_attribute("data-chapter", str(number))
        expect(page.locator(f".card[data-chapter='{number}']")).to_have_class(re.compile("lit"))
        expect(page.locator(".card.lit")).to_have_count(1)
        colours = focused.evaluate(
            "node => [node, document.querySelector(`.map a:not(:focus)`)]"
            ".map(part => getComputedStyle(part.querySelector('rect')).stroke)"
        )
        assert colours[0] != colours[1], "focus must be seen"
        page.keyboard.press("Tab")
    page.locator(".map.whole a[data-chapter='3']").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(CHAPTERS[3].stem))


def test_a_part_and_its_card_light_up_together(visit):
    page = visit()
    page.locator(".card[data-chapter='4']").hover()
    expect(page.locator(".map .lit")).to_have_attribute("data-chapter", "4")
    page.get_by_role("link", name="cross-attention: chapter 4").locator("rect").hover()
    expect(page.locator(".card.lit h3")).to_have_text("Additive attention")
    page.locator("h1").hover()
    expect(page.locator(".contents .lit")).to_have_count(0)
    page.locator(".card[data-chapter='14']").hover()
    expect(page.locator(".map .lit")).to_have_attribute("data-chapter", "14")
    assert page.locator(".map .lit .again").evaluate_all("all => all.every(g => getComputedStyle(g).opacity === '1')")


def test_forced_colours_show_the_map_and_what_is_lit(visit):
    page = visit(page_of(5), motion="reduce")
    page.emulate_media(forced_colors="active")
    fills = page.evaluate(
        """() => {
            const mark = document.body.appendChild(document.createElement("p"));
            mark.style.cssText = "forced-color-adjust: none; background: Highlight";
            const fill = (part) => getComputedStyle(document.querySelector(`.map ${part}`)).fill;
            return [getComputedStyle(mark).backgroundColor, fill(".lit rect"), fill(".part:not(.lit) rect")];
        }"""
    )
    assert fills[0] == fills[1] != fills[2]


def test_the_picture_for_notebooks_needs_no_page(site, visit):
    text = site.text("colab/09_the_transformer.ipynb")
    (picture,) = re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", text)
    drawn = b64decode(picture).decode()
    assert "xmlns=" in drawn
    assert "<a " not in drawn
    assert "url(" not in drawn
    page = visit("map.svg", served={"map.svg": drawn})
    assert page.evaluate("getComputedStyle(document.querySelector('.part rect')).fill") == "rgb(42, 36, 64)"


# ---- cards and heads ----


@each_chapter
def test_a_card_is_complete(site, number):
    (card,) = site.soup("index.html").select(f".card[data-chapter='{number}']")
    chapter, minutes = CHAPTERS[number], Minutes.read(CHAPTERS[number].path)
    (link,) = card.select("a")
    assert (link["href"], link.text) == (page_of(number), chapter.title)
    assert card.select_one(".about").text.startswith(f"{number} · {minutes.reading + minutes.touching} minutes")
    assert card.select_one("svg.pictogram[aria-hidden=true]")
    assert 40 <= len(card.select("p")[1].text) <= 110
    assert "hidden" in card.select_one(".been").attrs


@each_chapter
def test_the_head_of_a_chapter(site, number):
    (head,) = site.soup(page_of(number)).select(".chapter-head")
    assert head.select_one(".number").text == f"Chapter {number}"
    assert head.h1.find(string=True) == CHAPTERS[number].title
    minutes = Minutes.read(CHAPTERS[number].path)
    assert [span.text for span in head.select(".about span")] == [
        f"{minutes.reading} min reading",
        f"{minutes.touching} min touching",
        f"{minutes.exercises} min exercises",
    ]
    assert head.select_one("a.lead-picture")["href"] == "../index.html#map"


def test_on_a_phone_nothing_pushes_the_title_around(visit):
    page = visit("404.html", viewport=PHONE)
    page.route("**/*.woff2", lambda route: None)  # never answered: what they move depends on a machine's own fonts
    page.goto(f"{visit.home}{page_of(5)}", wait_until="commit")
    page.locator(":root:not(.early)").wait_for(state="attached")
    title, picture = (page.locator(f".chapter-head {part}").bounding_box() for part in ("h1", ".lead-picture"))
    assert title["width"] > 320
    assert picture["y"] >= title["y"] + title["height"]
    assert page.evaluate(SHIFTS) < 0.02


# ---- where the reader left off ----

TASKS = ("exercises", "guesses")


def read_to_its_end(page):
    page.locator(":root:not(.early)").wait_for(state="attached")  # until then it grows, and its end goes away
    page.locator(".ending").scroll_into_view_if_needed()
    expect(page.locator(".ending ul")).to_be_visible()


def test_a_new_reader_is_told_nothing(visit):
    page = visit()
    expect(page.locator(".go-on")).to_be_hidden()
    assert page.locator(".been:visible, .visited").count() == 0


def test_a_reader_who_comes_back(visit):
    page = visit()
    shifts = page.evaluate(SHIFTS)
    page.goto(f"{visit.home}{page_of(5)}")
    heading = page.locator("article section section[id] > h2").nth(1)
    heading.evaluate("node => node.scrollIntoView({ block: 'start', behavior: 'instant' })")
    expect(page.locator(".outline [aria-current]")).to_have_count(1)
    title, section = heading.evaluate("node => [node.firstChild.textContent, node.parentNode.id]")
    page.goto(f"{visit.home}{page_of(2)}")
    page.goto(f"{visit.home}{page_of(6)}")
    read_to_its_end(page)
    page.goto(f"{visit.home}{page_of(5)}#{section}")
    expect(page.locator(".outline [aria-current]")).to_have_attribute("href", f"#{section}")
    page.goto(visit.home)
    link = page.locator(".go-on a")
    expect(link).to_have_text(f"Go on reading: chapter 5, {title}")
    assert page.locator(".card:has(.been:visible)").evaluate_all("cards => cards.map(c => +c.dataset.chapter)") == [6]
    seen = page.locator(".map .visited").evaluate_all("parts => parts.map(p => +p.dataset.chapter)")
    assert set(seen) == {6}, "a page that was only opened has not been read"
    assert page.evaluate(SHIFTS) <= shifts + 0.001, "what is told must not move the page"
    link.click()
    expect(page).to_have_url(f"{visit.home}{page_of(5)}#{section}")


def test_a_chapter_ends_with_what_was_done_in_it(visit):
    page = visit(page_of(7))
    tasks, guesses = page.locator(".tasks > ol > li").count(), page.locator(".guess").count()
    code, exercises = page.locator("[data-write]").count(), page.locator(".exercise").count()
    page.evaluate("([key, code]) => localStorage.setItem(key, code)", ["write 07-any", "x = 1"])
    page.locator(".exercise").get_by_role("checkbox", name="Done").first.check()
    frame = page.locator(".touch[data-at]:has(.tasks .right)").first
    frame.scroll_into_view_if_needed()
    frame.locator(".tasks button:has(.right)").evaluate("(button) => button.click()")
    read_to_its_end(page)
    told = page.locator(".ending li")
    expect(told).to_have_text(
        [
            f"1 of {tasks} tasks with widgets",
            f"0 of {guesses} guesses",
            f"1 of {code} pieces of code written here",
            f"1 of {exercises} exercises",
        ]
    )
    page.locator(".exercise").get_by_role("checkbox", name="Done").nth(1).check()
    expect(told.last).to_have_text(f"2 of {exercises} exercises")
    links = page.locator(".ending a").evaluate_all("links => links.map((link) => link.pathname.split('/').at(-1))")
    assert links == ["07_self_attention.py", page_of(8).split("/")[-1]]
    page.reload()
    frame.scroll_into_view_if_needed()
    expect(frame.locator(".tasks li.done")).to_have_count(1)
    page.goto(visit.home)
    expect(page.locator('.card[data-chapter="7"] .been')).to_have_text("things done: 4")


def test_who_is_at_the_end_before_all_is_laid_out_sees_what_was_done(visit):
    page = visit("404.html")
    page.add_init_script("window.idle = []; window.requestIdleCallback = (act) => idle.push(act)")
    page.goto(f"{visit.home}{page_of(7)}")
    expect(page.locator(":root")).to_have_class(re.compile("early"))
    page.evaluate("for (const part of document.querySelectorAll('article section section')) part.remove()")
    page.locator(".ending").scroll_into_view_if_needed()  # and there it stays, as nothing grows above it
    frames(page)
    expect(page.locator(".ending ul")).to_be_hidden()
    page.evaluate("() => { while (idle.length) idle.shift()(); }")
    expect(page.locator(".ending ul")).to_be_visible()


def test_every_chapter_ends_with_a_question(site):
    for number in range(1, 16):
        (end,) = site.soup(page_of(number)).select(".ending")
        assert end.em.text.endswith("?"), number


def test_a_chapter_whose_tasks_are_done_stays_gold(visit):
    page = visit()
    exercises, guesses = (int(page.locator('.card[data-chapter="5"]').get_attribute(f"data-{n}")) for n in TASKS)
    page.goto(f"{visit.home}{page_of(5)}")
    ticks = page.locator(".exercise").get_by_role("checkbox", name="Done").all()
    assert (len(ticks), page.locator(".guess").count()) == (exercises, guesses)
    for tick in ticks:
        tick.check()
    for guess in page.locator(".guess").all():
        page.goto(visit.home)
        expect(page.locator(".finished")).to_have_count(0)
        page.goto(f"{visit.home}{page_of(5)}")
        if guess.locator("li button").count():
            guess.locator("li button").first.click()
        else:
            guess.locator("input").fill("1")
            guess.locator("input").press("Enter")
    page.goto(visit.home)
    found = page.locator(".finished").evaluate_all("parts => parts.map(({ dataset }) => dataset.chapter)")
    assert set(found) == {"5"}
    assert len(found) > 1, "the card, and parts of the map"
    expect(page.locator('.card[data-chapter="5"] .been')).to_have_text("all guesses and exercises done")


@pytest.mark.parametrize(
    "storage",
    [
        OFF,
        "localStorage.setItem('reading', 'not { json')",
        "localStorage.setItem('reading', 'null')",
        """localStorage.setItem('reading', '{"last": {"chapter": 99, "page": "chapters/99_x.html", "title": "x"}}')""",
    ],
    ids=["off", "garbage", "nothing", "a chapter that is not there"],
)
def test_storage_that_fails_is_passed_over_in_silence(visit, storage):
    page = visit(page_of(1))
    page.add_init_script(storage)
    page.reload()
    page.goto(visit.home)
    expect(page.locator(".go-on")).to_be_hidden()
    page.locator(".card").first.hover()
    expect(page.locator(".map .lit")).to_have_count(1)


# ---- what a reader takes along ----

CODE = "write 05-function-stub"


def taken(page):
    """The file that one gets, and what is said of it."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Save my code and place").press("Enter")
    return download.value, page.locator(".take output").inner_text()


def brought(page, text, replace=True):
    page.once("dialog", lambda dialog: dialog.accept() if replace else dialog.dismiss())
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Bring them back").press("Enter")
    file = {"name": "code.py", "mimeType": "text/x-python", "buffer": text.encode()}
    chooser.value.set_files(file)
    expect(page.locator(".take output")).not_to_be_empty()
    return page.locator(".take output").inner_text()


def test_code_and_place_go_to_another_browser_as_python(visit, tmp_path):
    page = visit(page_of(5))
    code = "def my_attention(q, k, v, mask=None):\n    x = 1\n\n    return '# %%', x"
    page.evaluate("([key, code]) => localStorage.setItem(key, code)", [CODE, code])
    page.goto(visit.home)
    file, said = taken(page)
    assert said == "Saved as attention-you-can-touch.py. Pieces of code in it: 1."
    file.save_as(tmp_path / file.suggested_filename)
    text = (tmp_path / "attention-you-can-touch.py").read_text("utf-8")
    space = {}
    exec(text, space)
    assert space["my_attention"](1, 2, 3) == ("# %%", 1)
    other = visit()
    assert other.evaluate("localStorage.length") == 0
    assert brought(other, text.replace("\n", "\r\n")) == "Your place is here again. Pieces of code brought: 1."
    assert other.evaluate("(key) => localStorage.getItem(key)", CODE) == code
    expect(other.locator(".go-on a")).to_contain_text("chapter 5")
    other.goto(f"{visit.home}{page_of(5)}")
    expect(other.locator('[data-write^="05-function-stub"] textarea')).to_have_value(code)


def test_ticks_and_guesses_go_along_and_join_those_that_are_there(visit, tmp_path):
    page = visit(page_of(5))
    page.locator("#guess-1").get_by_role("button", name="a third").click()
    page.locator(".exercise .done input").first.check()
    page.goto(visit.home)
    file, _ = taken(page)
    file.save_as(tmp_path / "mine.py")
    other = visit(page_of(5))
    other.locator(".exercise .done input").nth(1).check()
    other.goto(visit.home)
    assert brought(other, (tmp_path / "mine.py").read_text("utf-8")).startswith("Your place is here again.")
    expect(other.locator('[data-chapter="5"] .been')).to_have_text("things done: 3")
    other.goto(f"{visit.home}{page_of(5)}")
    expect(other.locator("#guess-1 .chosen")).to_have_text("a third")


@pytest.mark.parametrize("sure", [True, False])
def test_one_button_clears_all_that_is_kept_of_a_reader(visit, sure):
    page = visit(page_of(5))
    page.locator(".exercise .done input").first.check()
    page.evaluate("(key) => localStorage.setItem(key, 'here = 1')", CODE)
    page.evaluate("localStorage.setItem('theme', 'dark')")
    page.goto(visit.home)
    page.once("dialog", lambda dialog: dialog.accept() if sure else dialog.dismiss())
    page.get_by_role("button", name="Clear all of it").press("Enter")
    if sure:
        expect(page.locator(".take output")).to_have_text("Nothing of yours is kept here any more.")
        expect(page.locator(".go-on")).to_be_hidden()
        assert page.evaluate("Object.keys(localStorage)") == ["theme"], "colours are a setting, not a trace"
    else:
        assert page.evaluate("(key) => localStorage.getItem(key)", CODE) == "here = 1"


@pytest.mark.parametrize("replace", [True, False])
def test_code_that_stands_here_is_not_lost_unasked(visit, replace):
    page = visit()
    page.evaluate("(key) => localStorage.setItem(key, 'here = 1')", CODE)
    text = f"# x\n\n# %% {CODE}\nthere = 1\n\n\n# %% write 02-fill-stub\nnew = 1\n"
    assert brought(page, text, replace).endswith("brought: 2." if replace else "brought: 1.")
    assert page.evaluate("(key) => localStorage.getItem(key)", CODE) == ("there = 1" if replace else "here = 1")
    assert page.evaluate("localStorage.getItem('write 02-fill-stub')") == "new = 1"


@pytest.mark.parametrize(
    "text",
    [
        "print(1)",
        "# %% write ../../theme\nx",
        '# reading {"visited": [1], "last": {"chapter": 1, "page": "javascript:alert(1)", "title": "x"}}',
        '# reading {"visited": [1], "last": {"chapter": 1, "page": "https://a.org/chapters/1.html", "title": ""}}',
        '# reading {"visited": [], "last": {"chapter": 1, "page": "chapters/1.html", "title": ""}, "done": [{}]}',
    ],
)
def test_of_a_file_nothing_is_taken_but_code_and_place(visit, text):
    page = visit()
    assert brought(page, text) == "Nothing in this file was saved here."
    assert page.evaluate("localStorage.length") == 0


def test_without_scripts_cards_and_parts_are_links(visit):
    page = visit(javascript=False)
    expect(page.locator(".go-on")).to_be_hidden()
    page.get_by_role("link", name="Masked softmax", exact=True).click()
    expect(page).to_have_url(f"{visit.home}{page_of(2)}")
    page.go_back()
    page.get_by_role("link", name="positions: chapter 8").locator("rect").first.click()
    expect(page).to_have_url(f"{visit.home}{page_of(8)}")


def test_the_first_page_begins_with_chapter_1(visit):
    page = visit("index.html")
    page.get_by_role("link", name="Start with chapter 1").click()
    page.wait_for_url("**/chapters/01_word_vectors.html")


def test_on_a_phone_the_contents_of_a_page_open_and_lead_there(visit):
    page = visit("chapters/05_scaled_dot_product_attention.html", viewport=PHONE)
    contents = page.locator(".outline-here")
    link = contents.get_by_role("link", name="Summary", exact=True)
    expect(link).to_be_hidden()
    contents.locator("summary").click()
    link.click()
    expect(page.get_by_role("heading", name="Summary")).to_be_in_viewport()


def test_the_drawer_of_chapters_has_the_focus_while_it_is_open(visit):
    page = visit("chapters/05_scaled_dot_product_attention.html")
    button, drawer = page.locator("#drawer-button"), page.locator("#book-chapters")
    button.focus()
    page.keyboard.press("Enter")
    expect(drawer.get_by_role("link", name="Scaled dot-product attention")).to_be_focused()
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    for _ in drawer.get_by_role("link").all():
        page.keyboard.press("Tab")
    expect(drawer, "who goes on behind it doesn't need it any more").to_be_hidden()
