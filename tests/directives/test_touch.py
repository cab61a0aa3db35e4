"""The frames of the widgets: each has its tasks, ticks those that were done, goes back, and can be linked to."""

import json
import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from playwright.sync_api import expect

from attnbook.widgets import all_widgets
from attnbook.widgets import draw_digit as drawn
from booktools.directives import touch
from tests.browser.clocks import at_rest
from tests.browser.hands import Mouse
from tests.browser.pages import DESKTOP, PAGES, PHONE, settle
from tests.browser.visiting import visiting
from tests.widgets import steps
from tests.widgets.laws import live

FIVE = "chapters/05_scaled_dot_product_attention.html"
FRAME = "#attention-heatmap"
MISREAD = drawn.about()["wrong"][0] + 1
KINDS = {kind.name: kind for kind in all_widgets()}
TOUCHED = [path for path in PAGES if path.startswith("chapters/")]


def tasks_of(site, path):
    """Each task of a page: the widget's kind, its first state, and the state that shows that the task was done."""
    for frame in site.soup(path).select(".touch"):
        widget = frame.select_one("[data-afm]")
        first = json.loads(widget.select_one('script[type="application/json"]').string)
        for mark in frame.select(".tasks .when"):
            yield KINDS[widget["data-afm"]], first, json.loads(mark["data-when"])


@pytest.mark.parametrize("path", PAGES)
def test_each_widget_has_a_frame_with_a_name_of_its_own(site, path):
    page = site.soup(path)
    frames = page.select(".touch")
    assert len(page.select("[data-afm]")) == len(frames)
    named = [frame for frame in frames if not frame.find_parent(class_="hero")]
    assert all(frame.select_one(f"#{frame['id']}-name").get_text(strip=True) for frame in named)
    assert not page.select(".when:not(.touch .tasks li .when)")


@pytest.mark.parametrize("path", TOUCHED)
def test_tasks_can_be_done_and_are_not_done_yet(site, path):
    asked = list(tasks_of(site, path))
    assert len(asked) >= 4, "a chapter asks its readers to touch"
    for kind, first, state in asked:
        values = {name: value for name, value in state.items() if not unbound(value) and name != touch.SAYS}
        kind(**values)  # a TraitError: no widget ever shows that
        bounds = [value for value in state.values() if unbound(value) and value not in UNORDERED]
        assert all(re.fullmatch(r"[<>]= -?[\d.]+", bound) for bound in bounds)
        assert state != {name: first.get(name) for name in state}, f"{kind.name}: {state} is so at first"
        numbers = {name for name, value in first.items() if isinstance(value, float | int)}
        turned = [name for name in numbers if state.get(name) == "changed"]
        assert all((kind.name, name) in ANY_WAY for name in turned), f"{turned} can be turned in two ways: say which"


UNORDERED = ("changed", "reordered")
# Numbers that a task lets its reader move in any direction.
ANY_WAY = {
    ("soft_dictionary", "x"),
    ("soft_dictionary", "y"),
    ("tanh_sum", "k"),
    ("shift_lab", "apart"),
    ("text_generator", "seed"),
    ("head_browser", "head"),
    ("head_browser", "token"),
    ("cache_budget", "length"),
    ("ask_picture", "word"),
}
# What a text or a list can be changed to; and where a widget says what is asked for.
CHANGED = {
    "word": "hot",
    "a": "paris",
    "points": [[n, n % 5] for n in range(12)],
    "tokens": ["the", "river", "of", "the", "bank"],
    "strokes": [[5, 21, 37]],
    "covered": [[1, 1]],
    "written": [4],
    "dialled": "98",
}
SAID = {
    "soft-dictionary": {"x": 5, "y": 4},
    "draw-digit": {"digit": MISREAD},
    "dial-pad": {"dialled": "159*0#7", "snr": -6},
}
# States that do not fulfil a task, though they come near: of each frame and task.
NEAR = {
    "analogy-bench": {1: [{"asked": True, "a": "paris"}], 2: [{"asked": True}]},
    "paint-mask": {3: [{"hide": "zero"}], 4: [{"hide": "after"}], 5: [{"blocked": [[1, 0], [1, 1], [1, 2]]}]},
    "cue-scene": {2: [{"wish": 3.5}, {"wish": 4, "salience": 8}]},
    "soft-dictionary": {1: [{"x": 5, "y": 3.75}], 3: [{"score": "dot"}]},
    "kernel-regression": {1: [{"width": 0.02}]},
    "attention-heatmap": {4: [{"mask": "paint", "blocked": [[2, 1]]}, {"mask": "paint", "blocked": []}]},
    "head-ablation": {1: [{"off": [1]}, {"heads": 4, "off": [0]}], 3: [{"heads": 4, "off": [0, 1]}]},
    "head-split": {1: [{"way": "view", "step": 2}]},
    "head-budget": {3: [{"length": 16}, {"length": 256, "heads": 8, "width": 512}]},
    "bank-in-context": {2: [{"tokens": ["the", "bank", "of", "the", "lake"]}]},
    "live-transformer": {1: [{"text": "Monday", "step": 4}], 2: [{"forced": [[0, 8]]}]},
    "mask-map": {2: [{"flipped": [[6, 8]]}, {"flipped": [[1, 1]], "layers": 1}]},
    "block-stepper": {1: [{"part": "norm1", "norm": "pre"}]},
    "online-softmax": {2: [{"block": 4, "read": 1}], 3: [{"way": "forget", "block": 4, "read": 2}]},
    "cache-stepper": {4: [{"heads": "MHA", "tokens": 64}]},
    "text-generator": {3: [{"temperature": 0}, {"temperature": 0, "seed": 2}], 4: [{"temperature": 1.5}]},
    "bpe-stepper": {1: [{"text": "aaaa aaaa", "step": 2}], 2: [{"text": "aaaa aaaa", "step": 0}]},
    "induction-lab": {1: [{"at": 3}], 2: [{"off": [0]}, {"off": [2], "layers": 1}]},
    "real-model": {3: [{"off": [[0, 1]]}, {"text": "x", "off": [[23, 4]]}]},
    "window-map": {1: [{"layers": 8, "window": 4}], 3: [{"sinks": 1, "every": 4}]},
    "recall-race": {2: [{"written": 16, "width": 4}], 3: [{"first": "twice", "written": 20}]},
    "draw-digit": {1: [{"strokes": []}], 2: [{"digit": 1}]},
    "ask-picture": {1: [{"question": "the sum", "swapped": True}]},
    "graph-walk": {3: [{"flipped": [[1, 2]]}, {"graph": "ring", "flipped": [[2, 1]]}], 4: [{"graph": "star"}]},
    "dial-pad": {2: [{"snr": 9}, {"snr": 20}, {"snr": 3}, {"dialled": "159*0#7"}], 3: [{"dialled": "012345678"}]},
}  # fmt: skip
# Ticks nothing: the frame's tasks are as new; the widget is in this state and has come to rest.
BECOME = """async ([frame, state]) => {
    const widget = frame.querySelector("[data-afm]");
    const frames = () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    const become = async (state) => {
        widget.model.become(state);
        do await frames(); while (widget.querySelector("[aria-busy]"));
        await frames();
    };
    await become({});
    for (const done of frame.querySelectorAll(".tasks .done")) done.classList.remove("done");
    await become(state);
    return [...frame.querySelectorAll(".tasks > ol > li")].flatMap((item, i) => item.matches(".done") ? [i + 1] : []);
}"""


def fulfilling(name, first, state):
    """Traits in which a widget is in the state of a task."""
    traits = {}
    for trait, wanted in state.items():
        if wanted in UNORDERED:
            traits[trait] = CHANGED[trait] if isinstance(first[trait], str | list) else first[trait] + 1
        elif trait != touch.SAYS:
            bound = float(wanted[3:]) if unbound(wanted) else wanted
            traits[trait] = "1" * int(bound) if unbound(wanted) and isinstance(first[trait], str) else bound
    return traits | (SAID[name] if touch.SAYS in state else {})


def meets(value, wanted):
    """Whether a widget has it so at first."""
    if wanted in UNORDERED or not unbound(wanted):
        return value == wanted
    size = len(value) if hasattr(value, "__len__") else value
    return size >= float(wanted[3:]) if wanted[0] == ">" else size <= float(wanted[3:])


@pytest.mark.parametrize("path", TOUCHED)
def test_a_state_that_does_not_fulfil_a_task_ticks_nothing(visit, path):
    """The state that fulfils a task ticks it; the same with one trait as it was at first doesn't, nor one of NEAR."""
    page = settle(visit(path, motion="reduce"))
    for frame in page.locator(".touch:has(.tasks)").all():
        name, node = frame.get_attribute("id").removesuffix("-widget"), frame.element_handle()
        first = json.loads(frame.locator('script[type="application/json"]').text_content())

        def ticked(state, node=node):
            return page.evaluate(BECOME, [node, state])

        assert not ticked({})
        for n, item in enumerate(frame.locator(".tasks > ol > li").all(), start=1):
            marks = [json.loads(mark.get_attribute("data-when")) for mark in item.locator(".when").all()]
            for mark in marks:
                traits = fulfilling(name, first, mark)
                ticked(traits)
                expect(item, f"{name}, {traits}").to_have_class(re.compile("done"))
                for trait in [trait for trait, wanted in mark.items() if not meets(first.get(trait), wanted)]:
                    short = {other: value for other, value in traits.items() if other != trait}
                    if trait != touch.SAYS and all(first.get(trait) != other.get(trait) for other in marks):
                        assert n not in ticked(short), f"{name}, task {n}: done by {short}"
            for state in NEAR.get(name, {}).get(n, []):
                assert n not in ticked(state), f"{name}, task {n}: done by {state}"
            if not marks:
                assert item.locator(".right").count() == 1


def test_a_question_is_done_when_it_is_answered_right(visit):
    page = visit("chapters/12_a_real_one.html")
    live(page)
    frame = page.locator("#real-model")
    item = frame.locator(".tasks > ol > li").first
    page.evaluate(BECOME, [frame.element_handle(), {"head": 1}])
    expect(item, "a change answers nothing").not_to_have_class(re.compile("done"))
    item.get_by_role("button", name="city").click()
    expect(item.get_by_role("status")).to_have_text("Not city. Look again.")
    expect(item).not_to_have_class(re.compile("done"))
    item.get_by_role("button", name="France").press("Enter")
    expect(item.get_by_role("status")).to_have_text("Right: France.")
    expect(item).to_have_class(re.compile("done"))
    expect(frame.locator(".said")).to_have_text("Done: task 1")
    expect(item.locator("button:enabled")).to_have_count(0)


def unbound(value):
    return value in UNORDERED or re.match("[<>]= ", str(value))


def choose(page, trait, value):
    for _, act, _ in steps.choose(trait, value):
        act(Mouse(page), page.locator(FRAME))


def test_tasks_tick_when_the_state_shows_them_done(visit):
    page = visit(FIVE)
    frame, _ = page.locator(FRAME), live(page)

    def ticks():
        return frame.evaluate(
            "node => [...node.querySelectorAll('.tasks > ol > li')].map((x, i) => x.matches('.done') * (i + 1))"
        )

    expect(frame.locator("li.now")).to_have_count(1)
    assert not any(ticks())
    choose(page, "mask", "causal")
    expect(frame.locator(".said")).to_have_text("Done: task 3")
    assert ticks() == [0, 0, 3, 0]
    choose(page, "scale", "d")
    assert ticks() == [0, 2, 3, 0], "what was done stays done"


def test_what_changes_at_once_is_looked_at_together(visit):
    """Another date begins anew: written to the end was the one before it."""
    page = visit("chapters/09_the_transformer.html")
    live(page)
    frame = page.locator("#live-transformer")
    for _ in range(11):
        frame.get_by_role("button", name="Forward").click()
    frame.get_by_role("button", name="23rd of october 1962").click()
    expect(frame).to_contain_text("0 of 11")
    assert not frame.locator(".tasks li").nth(3).evaluate("task => task.matches('.done')")


def test_a_bound_counts_how_long_a_text_is_and_an_emptied_one_is_no_change(visit):
    page = visit("chapters/15_sound_sets_graphs.html")
    frame = page.locator(".touch:has([data-afm=dial_pad])")
    frame.scroll_into_view_if_needed()
    widget = frame.locator("[data-mounted]")
    expect(widget).to_have_count(1)
    for keys, done in (("", 0), ("98", 1), ("0123456789", 2)):  # tasks: other keys; ten keys or more
        widget.evaluate("(node, keys) => node.model.set('dialled', keys)", keys)
        page.evaluate("0")  # past the microtask
        expect(frame.locator(".tasks li.done"), keys).to_have_count(done)


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desk"])
def test_a_head_is_as_high_before_its_buttons_come(visit, viewport):
    """Or all that is below would jump."""
    head = visit(FIVE, viewport=viewport).locator(".touch > header").first
    expect(head.locator(".acts")).to_be_visible()
    with_buttons = head.bounding_box()["height"]
    head.locator(".acts").evaluate("acts => (acts.hidden = true)")
    assert head.bounding_box()["height"] == pytest.approx(with_buttons, abs=0.5)


def test_reset_and_link(visit):
    page = visit(FIVE)
    live(page)
    frame = page.locator(FRAME)
    causal, none = (frame.locator(f"input[name^=mask-][value={mask}]") for mask in ("causal", "none"))
    choose(page, "mask", "causal")
    frame.get_by_role("button", name="Link to this state").click()
    expect(frame.locator(".said")).to_have_text(re.compile("link is"))
    assert page.url.endswith(f"?mask=causal{FRAME}")
    page.reload()
    live(page)
    expect(causal, "the address restores the state").to_be_checked()
    expect(page.locator(f"{FRAME}-name")).to_be_in_viewport()
    expect(frame.locator(".done"), "what a reader has done stays done").to_have_count(1)
    frame.get_by_role("button", name="Reset").click()
    expect(none).to_be_checked()
    assert page.url.endswith(FIVE), "a reload would bring the state back"
    page = visit(f"{FIVE}?mask=causal{FRAME}")
    live(page)
    expect(page.locator(f"{FRAME} .done"), "whoever sent the link has done it, not the reader").to_have_count(0)


@pytest.mark.parametrize(
    "search", ["mask=sideways", "mask=7&query=[[", "query=%22x%22", "_words=%7B%7D&nobody=1", "query=99"]
)
def test_an_address_that_makes_no_sense_does_no_harm(visit, search):
    page = visit(f"{FIVE}?{search}{FRAME}")
    expect(live(page).locator("[role=grid]")).to_be_visible()
    choose(page, "mask", "causal")
    expect(page.locator(f"{FRAME} input[name^=mask-][value=causal]")).to_be_checked()


def test_on_a_laptop_with_a_scroll_bar_tasks_and_wide_picture_stand_beside_each_other(visit):
    """Many laptops are 1,280 px wide, of which a scroll bar takes 17. Below 40rem a picture takes its narrow form."""
    page = visit("chapters/05_scaled_dot_product_attention.html", viewport=DESKTOP, motion="reduce")
    page.evaluate("document.body.style.marginInlineEnd = '17px'")
    settle(page)
    expect(page.locator(".outline")).to_be_visible()
    widths = page.locator(".touch .ab-body").evaluate_all("bodies => bodies.map(body => body.clientWidth)")
    assert min(widths) >= 40 * 16, widths


def test_on_paper_a_widget_that_has_not_started_is_its_whole_table(visit):
    page = visit(FIVE)
    page.emulate_media(media="print")
    last = page.locator("[data-afm]").last
    expect(last).not_to_have_attribute("data-mounted", "")
    expect(last.locator("table").first).to_be_visible()
    assert last.evaluate("node => node.scrollHeight <= node.clientHeight + 1"), "nothing of it is cut"
    expect(page.locator(".acts:visible, .turner:visible")).to_have_count(0)


def test_on_a_phone_one_task_is_in_sight_while_one_works(visit):
    page = visit(FIVE, viewport=PHONE, touch=True)
    live(page)
    page.evaluate(f"document.querySelector('{FRAME}').scrollIntoView({{ behavior: 'instant' }})")
    frame = page.locator(FRAME)
    items = frame.locator(".tasks li")
    expect(items.nth(0)).to_be_in_viewport(ratio=1)
    expect(items.nth(1)).to_be_hidden()
    lead = frame.locator(".tasks > p").first
    assert lead.bounding_box()["y"] < items.nth(0).bounding_box()["y"], (
        "what all tasks begin with stands above the first"
    )
    frame.get_by_role("button", name="Next task").click()
    expect(items.nth(0)).to_be_hidden()
    expect(lead).to_be_hidden()
    expect(items.nth(1)).to_be_in_viewport(ratio=1)
    expect(frame.get_by_text("2 of 4")).to_be_visible()


def test_on_a_phone_the_task_follows_what_is_done(visit):
    """What was done comes in sight with its tick, and the way on lights up; whoever comes back finds the next one."""
    page = visit(FIVE, viewport=PHONE, touch=True, motion="reduce")
    live(page)
    page.evaluate(f"document.querySelector('{FRAME}').scrollIntoView({{ behavior: 'instant' }})")
    frame = page.locator(FRAME)
    items, on = frame.locator(".tasks li"), frame.get_by_role("button", name="Next task")
    choose(page, "scale", "d")
    expect(items.nth(1)).to_have_class(re.compile("done"))
    expect(items.nth(1)).to_be_in_viewport()
    expect(frame.locator(".turner span")).to_have_text("2 of 4")
    expect(on).to_have_class("lit")
    on.click()
    expect(items.nth(2)).to_be_visible()
    expect(on).not_to_have_class("lit")
    choose(page, "mask", "causal")
    expect(on).to_have_class("lit")
    page.evaluate("scrollTo({ top: 1e6, behavior: 'instant' })")
    expect(frame).not_to_be_in_viewport()
    page.evaluate(f"document.querySelector('{FRAME}').scrollIntoView({{ behavior: 'instant' }})")
    expect(frame.get_by_text("1 of 4"), "the first that is not done").to_be_visible()


def test_on_a_phone_the_task_is_a_line_while_one_works_and_opens_again(visit):
    page = visit(FIVE, viewport=PHONE, touch=True, motion="reduce")
    live(page)
    frame = page.locator(FRAME)
    tasks, now = frame.locator(".tasks"), frame.locator(".tasks .now")
    whole, on = (frame.get_by_role("button", name=name) for name in ("The task in full", "Next task"))
    expect(whole).to_have_attribute("aria-expanded", "true")
    choose(page, "scale", "d")
    expect(whole).to_have_attribute("aria-expanded", "false")
    assert tasks.bounding_box()["height"] < 60
    expect(now).to_be_visible()
    whole.press("Enter")
    expect(whole).to_have_attribute("aria-expanded", "true")
    assert tasks.bounding_box()["height"] > 80
    whole.click()
    on.click()
    expect(whole, "another task is one to read").to_have_attribute("aria-expanded", "true")


# What the reader works with below a picture, each part by its place among all that can be focused.
BELOW = """(frame) => [...frame.querySelectorAll(".ab-body :is(input, button, select, textarea, [tabindex='0'])")]
    .map((node, place) => [node, place])
    .filter(([node]) => node.checkVisibility({ visibilityProperty: true }) && !node.disabled)
    .filter(([node]) => !node.closest(".ab-pin"))
    .filter(([node]) => frame.querySelector(".ab-pin").compareDocumentPosition(node) & 4).map(([, place]) => place)"""


@pytest.fixture(scope="module", params=TOUCHED)
def phone(request, browser, home):
    """A chapter on a phone, in which all widgets are there and all boxes open; tests only look at it."""
    with visiting(browser, home) as visit:
        yield settle(visit(request.param, viewport=PHONE, touch=True, motion="reduce"))


def test_on_a_phone_the_picture_stays_in_sight_while_one_works_below_it(phone):
    """It covers no part that has the focus, and no task does, whether in full or a line."""
    for frame in phone.locator(".touch:has(.ab-pin)").all():
        picture = frame.locator(".ab-pin")
        for place in frame.evaluate(BELOW):
            control = frame.locator(".ab-body :is(input, button, select, textarea, [tabindex='0'])").nth(place)
            control.focus()
            at_rest(phone)
            expect(picture).to_be_in_viewport(ratio=0.9)
            assert picture.bounding_box()["y"] >= 55, "it is below the bar"
            assert control.evaluate(AT_HAND), f"something lies on {control.evaluate('(node) => node.outerHTML')}"


AT_HAND = """(node) => {
    const { left, right, top, bottom } = node.getBoundingClientRect();
    return node.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
}"""
SMALL = """() => [...document.querySelectorAll(".ab-body text")].filter((node) => node.textContent.trim())
    .filter((node) => node.getClientRects().length)
    .map((node) => [node.textContent, parseFloat(getComputedStyle(node).fontSize) * node.getScreenCTM().a])
    .filter(([, size]) => size < 11)"""


def test_on_a_phone_the_letters_of_a_picture_can_be_read(phone):
    small = phone.evaluate(SMALL)
    assert not small, f"smaller than 11 pixels: {small[:6]}"


# In a sheet of dots, and in a wall of 270 maps, a finger goes on until it is where it should be.
NARROW = """() => [...document.querySelectorAll(".ab-body :is([role=gridcell], button, .ab-choices label)")]
    .filter((node) => node.checkVisibility() && !node.closest("[data-afm=draw_digit], [data-afm=real_model]"))
    .map((node) => [node.outerHTML.slice(0, 80), node.getBoundingClientRect()])
    .filter(([, { width, height }]) => Math.min(width, height) < 24)
    .map(([text, { width, height }]) => [text, width, height])"""


def test_on_a_phone_what_is_pressed_is_as_wide_as_a_finger(phone):
    narrow = phone.evaluate(NARROW)
    assert not narrow, f"less than 24 pixels: {narrow[:6]}"


@pytest.mark.parametrize(
    ("path", "frame", "part", "controls"),
    [
        ("08_positional_encoding", "#find-the-bug-widget", ".ab-panel", ".ab-swaps button"),
        ("05_scaled_dot_product_attention", "#scale-lab", ".ab-panel", "input[type=range]"),
        ("10_fast_attention", "#cache-stepper", ".ab-map", ".ab-beside :is(input[type=range], .ab-button)"),
    ],
)
def test_on_a_phone_controls_are_in_sight_beside_each_part_of_the_picture(visit, path, frame, part, controls):
    """What changes it can be pressed while one looks at it: no task and no bar lies on it."""
    page = visit(f"chapters/{path}.html", viewport=PHONE, touch=True, motion="reduce")
    page.locator(frame).scroll_into_view_if_needed()
    page.locator(f"{frame} [data-mounted]").wait_for()
    for each in page.locator(f"{frame} {part}").all():
        page.locator(frame).evaluate("(node) => node.scrollIntoView({ behavior: 'instant' })")  # nothing is pinned yet
        each.evaluate("""(node) => {
            const bar = 56 + 80, { top } = node.getBoundingClientRect();
            scrollBy({ top: top - bar, behavior: "instant" });
        }""")
        expect(each).to_be_in_viewport()
        for control in page.locator(f"{frame} {controls}").filter(visible=True).all():
            expect(control).to_be_in_viewport(ratio=1)
            assert control.evaluate(AT_HAND), "something lies on it"


BEAM = """(frame) => {
    const path = frame.querySelector(".ab-beams path:not([data-dark])");
    const end = path.getPointAtLength(path.getTotalLength()).matrixTransform(path.getScreenCTM());
    const middle = ({ left, right }) => (left + right) / 2;
    const words = [...frame.querySelectorAll("[role=grid] th[scope=col]")];
    return Math.min(...words.map((word) => Math.abs(middle(word.getBoundingClientRect()) - end.x)));
}"""


@pytest.mark.parametrize(
    ("path", "frame"),
    [(FIVE, FRAME), (FIVE, "#scale-lab"), ("chapters/01_word_vectors.html", "#word-map")],
)
def test_in_full_screen_all_is_larger_and_nothing_is_cut(visit, path, frame):
    page = visit(path, viewport={"width": 1920, "height": 1080}, motion="reduce")
    page.locator(frame).scroll_into_view_if_needed()
    page.locator(f"{frame} [data-mounted]").wait_for()
    box = page.locator(frame)
    letters = box.locator("header p").first
    before = letters.bounding_box()["height"]
    box.get_by_role("button", name="Full screen").click()
    page.wait_for_function("() => document.fullscreenElement?.currentCSSZoom > 1")
    assert letters.bounding_box()["height"] >= 1.25 * before
    assert box.evaluate("node => node.scrollHeight <= node.clientHeight && node.scrollWidth <= node.clientWidth")
    wide, tall = (page.locator(f"{frame} .bench").bounding_box()[side] for side in ("width", "height"))
    assert wide > 0.9 * 1920 or tall > 0.8 * 1080
    if frame == FRAME:
        assert box.evaluate(BEAM) < 1, "a beam ends at its word"
    box.get_by_role("button", name="Full screen").click()
    page.wait_for_function("() => !document.fullscreenElement")
    assert letters.bounding_box()["height"] == before


def test_without_scripts_all_tasks_are_there_and_no_dead_button(visit):
    page = visit(FIVE, javascript=False, viewport=PHONE)
    frame = page.locator(FRAME)
    assert all(item.is_visible() for item in frame.locator(".tasks li").all())
    expect(frame.locator("button:visible")).to_have_count(0)
    expect(frame.locator("table").first).to_be_visible()


# ---- which tasks belong to which widget ----


def widget(name="scale_lab"):
    return nodes.raw("", f'<div class="ab-widget" data-afm="{name}"></div>', format="html")


def pairs(*sections):
    document = SimpleNamespace(findall=nodes.section("", *sections).findall)
    found = touch.Frames.widgets_with_tasks(SimpleNamespace(document=document))
    return [(widget.parent["n"], asked and asked.parent["n"]) for widget, asked, _ in found]


def test_tasks_belong_to_the_widget_before_them_or_else_to_the_next():
    def S(n, *children):
        return nodes.section("", *children, n=n)

    assert pairs(S(1, widget(), touch.tasks())) == [(1, 1)]
    assert pairs(S(1, touch.tasks(), widget())) == [(1, 1)]
    assert pairs(S(1, widget()), S(2, touch.tasks(), widget())) == [(1, None), (2, 2)]
    assert pairs(S(1, widget(), touch.tasks(), touch.tasks()), S(2, widget())) == [(1, 1), (2, 1)]


@pytest.mark.parametrize("lost", ["two for one", "none after it"])
def test_tasks_without_a_widget_are_noticed(lost, monkeypatch):
    said = []
    monkeypatch.setattr(touch.log, "warning", lambda *words, **_: said.append(words))
    S = nodes.section
    if lost == "two for one":
        pairs(S("", touch.tasks(), touch.tasks(), widget(), n=1))
    else:
        pairs(S("", widget(), n=1), S("", touch.tasks(), n=2))
    assert len(said) == 1


@pytest.mark.parametrize(
    ("mark", "says"),
    [
        ("no mark", "a task needs"),
        ("nobody: 1", "nobody"),
        ("says: mistaken", "never says mistaken"),
        ("width: 1", None),
    ],
)
def test_a_task_names_a_state_that_the_widget_has(mark, says, monkeypatch):
    said = []
    monkeypatch.setattr(touch.log, "warning", lambda text, *gaps, **_: said.append(text % gaps))
    marks = [] if mark == "no mark" else touch.when("when", "", mark, 1, None)[0]
    touch.check(touch.tasks("", nodes.enumerated_list("", nodes.list_item("", *marks))), KINDS["scale_lab"])
    assert [says in text for text in said] == ([True] if says else [])
