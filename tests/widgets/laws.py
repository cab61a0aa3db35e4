"""What holds for every widget. The test file of a widget says what is its own, in a class that inherits these tests.

    class TestScaleLab(Laws):
        kind = ScaleLab
        read = "(node) => ({ … })"     # JavaScript: what the widget shows, as texts by name
        expected = staticmethod(…)     # of a widget's traits: the same as numbers, by PyTorch
        steps = […]                    # what a reader does with every control (steps.py)
        changes = […]                  # traits set from Python, one after the other
        states = {…}                   # traits that are easily got wrong
        drags = {…}                    # after which no element may be new
        by_finger = (…)                # names of drags that a finger can do, too
        errors = […]                   # what can't be made, and what is said of it
        apart = (…)                    # assets that only a page fetches, in a state with a test of its own
        beside = "…"                   # a part that stands beside the widget on purpose, as a selector

One visit of a page serves several laws: browsers start quickly, pages don't.
"""

import base64
import json
import re
from importlib import import_module

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, expect
from traitlets import TraitError

from attnbook.language import PSEUDO, speaking, words
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.files import ROOMS, SHARED, Asset, modules_of, tight_style, without_comments
from tests.browser.clocks import PATIENCE, at_rest, frames, hold_time, pass_time
from tests.browser.hands import HANDS, Finger, Keyboard, Mouse, bring
from tests.browser.pages import AXE, DESKTOP, OF_WHOLE_PAGES, PHONE, bare
from tests.sizes import is_light, zipped
from tests.widgets.forgotten import TEXTS, forgotten_in_table, forgotten_in_widget
from tests.widgets.reading import agrees, flat, parsed

# A model as a notebook has it, which counts its listeners.
HARNESS = """async ({ here, address, text, state, assets }) => {
    const bytes = (encoded) => Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
    for (const [name, encoded] of Object.entries(assets)) {
        state[name] = new DataView(new Uint8Array([0, ...bytes(encoded)]).buffer, 1); // not from the buffer's start
    }
    const listeners = [];
    const model = {
        get: (name) => state[name],
        set(name, value) {
            state[name] = value;
            for (const [event, follow] of [...listeners]) if (event === `change:${name}`) follow();
        },
        save_changes() {},
        on: (event, follow) => listeners.push([event, follow]),
        off: (...gone) => listeners.splice(listeners.findIndex((pair) => pair.every((x, i) => x === gone[i])), 1),
    };
    let outside = 0;
    const watch = async (act) => { // for listeners on more than the widget
        const targets = [window, document, document.documentElement, document.body];
        for (const target of targets) {
            target.addEventListener = () => outside++;
            target.removeEventListener = () => outside--;
        }
        const result = await act();
        for (const target of targets) { delete target.addEventListener; delete target.removeEventListener; }
        return result;
    };
    const blob = new Blob([text], { type: "text/javascript" });
    const { default: widget } = await import(text ? URL.createObjectURL(blob) : new URL(address, location));
    const cleanup = await watch(() => widget.render({ model, el: document.getElementById(here) }));
    window.run = { model, cleanup: () => watch(cleanup), listeners: () => listeners.length + outside };
}"""
COUNT_ELEMENTS = """(node) => {
    window.created = 0;
    // Elements only: a text that changes is a new text node, which moves nothing on the page.
    const elements = (change) => [...change.addedNodes].filter((added) => added.nodeType === Node.ELEMENT_NODE).length;
    const count = (changes) => { for (const change of changes) created += elements(change); };
    new MutationObserver(count).observe(node, { childList: true, subtree: true });
}"""
STOP = """() => {
    const node = document.activeElement;
    const outlined = (element) => {
        const style = getComputedStyle(element);
        return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    };
    return {
        inside: Boolean(node.closest("[data-afm]")),
        what: (node.closest("fieldset, .ab-control, [role=grid], button, summary") ?? node).innerText,
        outlined: outlined(node) || (node.type === "radio" && outlined(node.nextElementSibling)),
    };
}"""
CONTROLS = (
    "input:not([type=radio]), textarea, button, summary, fieldset, [role=grid], [role=slider][tabindex='0'], "
    "svg[tabindex], pre[tabindex], a[href]"
)
# All that one sees of a widget: where its parts lie, and how they are painted.
DRAWN = """async (node) => {
    await Promise.all(document.getAnimations().map((moving) => moving.finished));
    const at = node.getBoundingClientRect();
    const paint = ["opacity", "color", "backgroundColor", "d", "strokeWidth", "strokeDasharray", "visibility"];
    return [...node.querySelectorAll(".ab-body *:not(.ab-motion, .ab-motion *)")].map((part) => {
        const [box, style] = [part.getBoundingClientRect(), getComputedStyle(part)];
        const place = [box.x - at.x, box.y - at.y, box.width, box.height].map((x) => Math.round(10 * x) / 10);
        const before = getComputedStyle(part, "::before");
        const painted = [...paint.map((name) => style[name]), before.inset, before.height, before.opacity];
        return [part.localName, ...place, ...painted, part.textContent].join(" ");
    });
}"""
THE_FILM = 60_000  # milliseconds, in which any film comes to its end
MOVES = "(n) => getComputedStyle(n).transitionDuration !== '0s' || getComputedStyle(n).animationName !== 'none'"


# ---- what is shown, beside what PyTorch says ----


def laws_of(name: str) -> type["Laws"]:
    """The class in a widget's test file that says what is its own, found by the widget's name."""
    module = import_module(f"tests.widgets.test_{name}")
    (laws,) = (
        x for x in vars(module).values() if isinstance(x, type) and issubclass(x, Laws) and x not in (Laws, Moving)
    )
    return laws


# What a widget shows after the frame that follows the last input and what it fetched.
READ = """async (node) => {{
    const frame = () => new Promise((drawn) => requestAnimationFrame(drawn));
    for (const end = Date.now() + {patience}; node.querySelector("[aria-busy]"); await frame())
        if (Date.now() > end) throw new Error("it is still busy");
    await frame();
    await frame();
    return ({read})(node);
}}"""


def reading(laws: type["Laws"]) -> str:
    """The script that says every number that a widget shows, as text, at once: asking takes longer than answering."""
    return READ.format(patience=PATIENCE, read=laws.read)


def shown(node: Locator, name: str | None = None) -> dict[str, list]:
    return node.evaluate(reading(laws_of(name or node.get_attribute("data-afm"))))


def differences(texts: dict[str, list], widget: BookWidget) -> list[str]:
    """Where what is shown is not what PyTorch says, to half a unit of the last decimal."""
    want = laws_of(widget.name).expected(widget)
    found = [f"shows {sorted(texts)}, expected {sorted(want)}"] if texts.keys() != want.keys() else []
    for name, numbers in want.items():
        got, exact = flat(texts[name]), numbers.double().flatten().tolist()
        if len(got) != len(exact):
            found.append(f"{name}: {len(got)} numbers, expected {len(exact)}")
        for place, (text, x) in enumerate(zip(got, exact, strict=False)):
            if not agrees(text, x):
                found.append(f"{name}[{place}] shows {text!r}, torch says {x:.6g}")
    return found


def right(texts, twin, after="at first"):
    """What a widget shows, once it is known to be what PyTorch makes of the twin's traits."""
    wrong = differences(texts, twin)
    assert not wrong, f"{twin.name}, {after}: " + "; ".join(wrong[:6])
    return texts


def agree(node, twin, after="at first"):
    return right(shown(node, twin.name), twin, after)


# A widget starts when it comes into sight.
START = f"""async (node) => {{
    node.scrollIntoView({{ block: "nearest", behavior: "instant" }});
    for (const end = Date.now() + {PATIENCE}; !node.hasAttribute("data-mounted"); ) {{
        if (Date.now() > end) throw new Error("the widget did not start");
        await new Promise((drawn) => requestAnimationFrame(drawn));
    }}
}}"""


def live(page, place=0):
    """The widget at a place on the page, once it runs."""
    node = page.locator("[data-afm]").nth(place)
    node.evaluate(START)
    return node


def of_each(page, script, arg=None):
    """What a script says of each widget on a page, in one call."""
    each = f"(nodes, arg) => Promise.all(nodes.map((node) => ({script})(node, arg)))"
    return page.locator("[data-afm]").evaluate_all(each, arg)


def copy_of(twin):
    (kind,) = (kind for kind in type(twin).__mro__ if BookWidget in kind.__bases__)
    return kind(**{n: getattr(twin, n) for n, trait in kind.inputs().items() if not isinstance(trait, Asset)})


def walk(page, hand, node, twin, steps):
    """Take the steps; after each, what is shown has changed and is what PyTorch makes of the twin's traits."""
    before = shown(node, twin.name)
    for what, act, changes in steps:
        changes = {name: value(twin) if callable(value) else value for name, value in changes.items()}
        if all(getattr(twin, name) == value for name, value in changes.items()):
            continue  # the page happens to start there
        act(hand(page), node)
        for name, value in changes.items():
            setattr(twin, name, value)
        now = agree(node, twin, what)
        assert now != before, f"{twin.name}: no number changed after {what}"
        before = now


OPEN_FOLDS = """(node, open) => {
    const folds = [...node.querySelectorAll("details")];
    for (const fold of folds) fold.open = open;
    return folds.length;
}"""


def folded_and_open(page, node):
    """Twice, where parts are folded: as it comes, and while they are open. How it is, is what is yielded."""
    yield "as it comes"
    if node.evaluate(OPEN_FOLDS, True):
        frames(page)
        yield "with all parts open"
        node.evaluate(OPEN_FOLDS, False)


MOVING = 2  # steps of the mouse's that are seen to move; more of it is what `Moving` is for


def still_but_for_the_mouse(page, hand):
    """What moves is drawn sixty times a second: it moves under one hand, for all."""
    page.emulate_media(reduced_motion="no-preference" if hand is Mouse else "reduce")


# ---- the laws ----


WIDE = "(node) => node.scrollWidth > node.clientWidth"
# Texts whose letters are less than 11 pixels high, as they are drawn; those of none are for screen readers.
SMALL = """(node) => {
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    const small = [];
    while (walker.nextNode()) {
        const [text, holder] = [walker.currentNode.data.trim(), walker.currentNode.parentElement];
        if (!text || !holder.checkVisibility({ visibilityProperty: true }) || holder.offsetWidth < 2) continue;
        const { a, b } = holder.ownerSVGElement ? holder.getScreenCTM() : { a: 1, b: 0 };
        const size = Number.parseFloat(getComputedStyle(holder).fontSize) * Math.hypot(a, b);
        if (size > 0 && size < 10.95) small.push(`${text}: ${size.toFixed(1)}`);
    }
    return small;
}"""


# Parts that reach beyond a widget's edge, and texts that cover each other, but for what is pinned above others.
LAID = """(node, beside) => {
    const body = node.querySelector(".ab-body");
    const edge = body.getBoundingClientRect();
    // What is left of a box once those around it have cut it off, and what it is pinned with.
    const cut = (box, from) => {
        let [{ left, top, right, bottom }, pinned] = [box, null];
        for (let at = from; at && at !== body; at = at.parentElement) {
            const { opacity, clipPath, position, overflowX } = getComputedStyle(at);
            if (Number(opacity) < 0.3 || clipPath !== "none") return null;
            if (position === "sticky") pinned = at;
            if (overflowX === "visible" || (at.ownerSVGElement && at.localName !== "svg")) continue;
            const around = at.getBoundingClientRect();
            [left, top] = [Math.max(left, around.left), Math.max(top, around.top)];
            [right, bottom] = [Math.min(right, around.right), Math.min(bottom, around.bottom)];
        }
        return right - left > 1 && bottom - top > 1 ? { left, top, right, bottom, pinned } : null;
    };
    const found = new Set();
    for (const part of body.querySelectorAll("*")) {
        if (!part.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
        if (beside && part.closest(beside)) continue;
        const { fill, stroke } = getComputedStyle(part);
        const isUnseen = part.ownerSVGElement && /, 0\\)|none/.test(fill) && stroke === "none";
        if (isUnseen || (part.ownerSVGElement && part.localName === "svg")) continue; // that cuts off what is in it
        const box = cut(part.getBoundingClientRect(), part);
        if (box && (box.left < edge.left - 1 || box.right > edge.right + 1))
            found.add(`${part.localName}.${part.getAttribute("class")} reaches beyond the edge`);
    }
    const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) {
        const text = walker.currentNode;
        if (!text.data.trim() || !text.parentElement.checkVisibility({ visibilityProperty: true })) continue;
        const range = document.createRange();
        range.selectNodeContents(text);
        for (const rect of range.getClientRects()) {
            const box = cut(rect, text.parentElement);
            if (box) texts.push({ ...box, said: text.data.trim(), text });
        }
    }
    const both = (a, b, from, to) => Math.min(a[to], b[to]) - Math.max(a[from], b[from]);
    texts.forEach((a, i) => {
        for (const b of texts.slice(i + 1)) {
            if (a.text === b.text || a.said === b.said || a.pinned !== b.pinned) continue;
            const tall = Math.min(a.bottom - a.top, b.bottom - b.top);
            if (both(a, b, "left", "right") > 2 && both(a, b, "top", "bottom") > 0.35 * tall)
                found.add(`“${a.said}” and “${b.said}” cover each other`);
        }
    });
    return [...found].slice(0, 8);
}"""


class Laws:
    kind: type[BookWidget]
    read: str
    steps: list
    changes: list
    states: dict = {}  # noqa: RUF012 (read only)
    drags: dict = {}  # noqa: RUF012
    by_finger: tuple = ()
    errors: list = []  # noqa: RUF012
    apart: tuple = ()
    beside: str = ""

    @staticmethod
    def expected(widget) -> dict:
        raise NotImplementedError

    # In Python

    def test_errors_teach(self):
        for make, told in self.errors:
            with pytest.raises((TraitError, TypeError, ValueError), match=told):
                make()

    def test_traits_are_inputs_never_results(self):
        """Integers, short decimals, words and assets: nothing that differs between two processors."""
        state = json.loads(parsed(self.kind()).script.string)
        assert state.keys() == self.kind.inputs().keys()
        assert len(json.dumps(state)) < 1000
        assert not re.search(r"\d\.\d{4}", json.dumps(state))

    def test_page_html_is_the_same_each_time_and_lives_in_a_notebook(self):
        widget, again = self.kind(), self.kind()
        assert widget.page_html() == again.page_html()
        bundle = widget._repr_mimebundle_()
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        assert data.keys() >= {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
        assert data["text/html"] == widget.page_html()
        assert data["text/plain"] == repr(widget) == f"{self.kind.__name__}()"

    def test_what_a_notebook_loads_needs_nothing_else(self):
        assert not re.search(r"^\s*(import|export (?!default))\b", self.kind._esm, re.M)
        assert "--attn-query:" in self.kind._css, "the shared colours come along"
        assert "@import" not in self.kind._css
        assert "url(" not in self.kind._css

    def test_every_text_is_in_a_file_of_words_and_every_word_is_used(self):
        with speaking(PSEUDO):
            for twin in (self.kind(), *map(copy_of, self.states.values())):
                assert not forgotten_in_table(twin.table()), "in the table"
        room = ROOMS / self.kind.name
        code = "".join(
            path.read_text("utf-8") for path in (*room.glob("*.py"), *room.glob("*.js"), *SHARED.glob("*.*"))
        )
        unused = [name for name in ids(json.loads((room / "en.json").read_text("utf-8"))) if name not in code]
        assert not unused, f"nothing says {unused}"

    def test_scripts_and_styles_are_small(self):
        name = self.kind.name
        sizes = {file: zipped(without_comments(ROOMS / file).encode()) for file in modules_of(name)}
        assert "shared/core.js" in sizes
        sizes["style"] = zipped(tight_style((ROOMS / name / f"{name}.css").read_text("utf-8")).encode())
        sizes["words"] = zipped(json.dumps(self.kind.script_words()).encode())
        is_light("a widget", sizes)

    # In a browser

    def test_every_control_works_by_mouse_finger_and_keyboard(self, site, visit):
        """Three on one page, each worked by another hand: they don't touch each other, and dragging creates nothing."""
        here = [twin for _, _, twin in site.widgets if isinstance(twin, self.kind)]
        assert here, f"no page of the book shows {self.kind.__name__}"
        first = next(twin for twin in here if not getattr(twin, "q_LK", None))
        drags = [(Mouse, *drag) for drag in self.drags.values()]
        drags += [(Finger, *self.drags[name]) for name in self.by_finger]
        widgets = [*[copy_of(first) for _ in HANDS], *(twin for _, twin, _ in drags)]
        page = visit("bare.html", touch=True, served={"bare.html": bare(*widgets)})
        untouched = live(page, len(HANDS) - 1)
        for place, hand in enumerate(HANDS.values()):
            agree(live(page, place), first)
            if hand is Keyboard:
                self.reached_by_keyboard(page, untouched)
            node, twin = live(page, place), copy_of(first)
            moving = MOVING if hand is Mouse else 0
            still_but_for_the_mouse(page, hand)
            walk(page, hand, node, twin, self.steps[:moving])
            page.emulate_media(reduced_motion="reduce")
            walk(page, hand, node, twin, self.steps[moving:])
        for place, (hand, twin, steps) in enumerate(drags, start=len(HANDS)):
            node = live(page, place)
            node.evaluate(COUNT_ELEMENTS)
            still_but_for_the_mouse(page, hand)
            walk(page, hand, node, copy_of(twin), steps)
            created = page.evaluate("created")
            assert created == 0, "a drag must only change what is there: create elements in build(), not draw()"
        assets = [n for n, trait in self.kind.inputs().items() if isinstance(trait, Asset) and n not in self.apart]
        for asset in (self.kind.inputs()[name] for name in assets):
            address = f"{visit.home}_static/widgets/{asset.page_name}"
            fetched = visit.requests.count(address)
            assert 1 <= fetched <= len(widgets), f"{asset.page_name} was fetched {fetched} times by {len(widgets)}"
            assert (site / "_static/widgets" / asset.page_name).read_bytes() == asset.default()

    def reached_by_keyboard(self, page, node):
        """Each slider, button, field, group of choices, grid and link is one stop of the Tab key, with an outline."""
        for _ in folded_and_open(page, node):
            node.evaluate("node => { node.tabIndex = -1; node.focus(); }")
            stops = []
            for _ in range(40):
                page.keyboard.press("Tab")
                stop = page.evaluate(STOP)
                if not stop["inside"] or not node.evaluate("node => node.contains(document.activeElement)"):
                    break
                stops.append(stop)
            there = node.locator(CONTROLS).filter(visible=True).count()
            assert len(stops) == there, [stop["what"] for stop in stops]
            dark = [stop["what"] for stop in stops if not stop["outlined"]]
            assert not dark, f"no outline: {dark}"

    def test_every_state_is_right_fits_phone_and_desktop_and_is_accessible(self, visit):
        """Asked for reduced motion, nothing moves by itself; nothing reaches beyond the widget or covers a text."""
        states = {"at first": self.kind()} | self.states
        html = bare(*states.values()).replace("<body>", "<body><main>")
        page = visit("bare.html", viewport=PHONE, motion="reduce", served={"bare.html": html})
        for place in range(len(states)):
            live(page, place)
        for texts, (name, twin) in zip(of_each(page, reading(type(self))), states.items(), strict=True):
            right(texts, twin, name)
        for how in folded_and_open(page, page.locator("body")):
            for fault, script in {"too wide": WIDE, "letters too small": SMALL, "laid wrongly": LAID}.items():
                for name, found in zip(states, of_each(page, script, self.beside), strict=True):
                    assert not found, f"on a phone, {name}, {how}: {fault}, {found}"
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
            results = Axe().run(page, options=AXE)
            faults = [fault for fault in results.response["violations"] if fault["id"] not in OF_WHOLE_PAGES]
            assert not faults, f"{how}: {results.generate_report()}"
        self.is_laid_out_on_a_desktop(page, states)
        page.set_viewport_size(PHONE)
        walk(page, Mouse, live(page), self.kind(), self.steps[:1])
        assert page.evaluate("document.getAnimations().length") == 0
        moving = f"[...document.querySelectorAll('[data-afm] *')].filter({MOVES}).map((n) => n.className)"
        assert not page.evaluate(moving)
        self.is_laid_out_on_a_desktop(page, ["after a step", *self.states])

    def is_laid_out_on_a_desktop(self, page, states):
        page.set_viewport_size(DESKTOP)
        at_rest(page)
        for how in folded_and_open(page, page.locator("body")):
            for name, laid in zip(states, of_each(page, LAID, self.beside), strict=True):
                assert not laid, f"on a desktop, {name}, {how}: {laid}"

    def test_it_follows_its_model_and_lets_go(self, visit):
        """As files of a page, and as the single text that a notebook loads."""
        here = "".join(
            f'<div id="{form}" data-afm="{self.kind.name}" data-mounted></div>' for form in ("page", "notebook")
        )
        style = f'<link rel="stylesheet" href="_static/widgets/{self.kind.name}/{self.kind.name}.css">'
        page = visit("bare.html", served={"bare.html": bare(body=style + here)})
        for form in ("page", "notebook"):
            twin = self.kind()
            asked = len(visit.requests)
            self.start(page, form, twin)
            node = page.locator(f"#{form}")
            assert differences(shown(node, twin.name), twin) == []
            assert page.evaluate("run.listeners()") > 0
            for changes in self.changes:  # as from Python, one trait after the other
                for name, value in changes.items():
                    page.evaluate("([name, value]) => run.model.set(name, value)", [name, value])
                    setattr(twin, name, value)
                wrong = differences(shown(node, twin.name), twin)
                assert wrong == [], f"{changes} was set in Python; the widget must follow"
            page.evaluate("run.cleanup()")
            assert page.evaluate("run.listeners()") == 0, "the function that render returns must end every listener"
            if form == "notebook":
                assert not [url for url in visit.requests[asked:] if url.endswith((".js", ".bin"))]

    def start(self, page, form, twin):
        state = {n: t.page_name if isinstance(t, Asset) else getattr(twin, n) for n, t in self.kind.inputs().items()}
        state["_words"] = twin._words
        assets = {n: t.default() for n, t in self.kind.inputs().items() if isinstance(t, Asset) and form == "notebook"}
        page.evaluate(
            HARNESS,
            {
                "here": form,
                "address": f"_static/widgets/{self.kind.name}/{self.kind.name}.js",
                "text": twin._esm if form == "notebook" else "",
                "state": state,
                "assets": {name: base64.b64encode(data).decode() for name, data in assets.items()},
            },
        )

    def test_it_speaks_the_language_of_its_edition(self, visit):
        """In the language of nobody, every text wears brackets: what stands without was forgotten. The page around it,
        like Colab's in a browser of another language, says nothing in this."""
        with speaking(PSEUDO):
            twins = [self.kind(), *map(copy_of, self.states.values())]
            here = f'<div id="notebook" data-afm="{self.kind.name}" data-mounted></div>'
            html = bare(*twins, body=here).replace('lang="en"', 'lang="de"')
            later = ROOMS / self.kind.name / "later"
            told = {f"_static/widgets/{self.kind.name}/later.json": json.dumps(words(later))} if later.is_dir() else {}
            page = visit("bare.html", motion="reduce", served={"bare.html": html} | told)
            for place in range(len(twins)):
                live(page, place)
            for texts, twin in zip(of_each(page, TEXTS), twins, strict=False):  # the last has no twin yet
                lost = forgotten_in_widget(texts)
                assert not lost, f"forgotten: {lost} of {twin.page_html()}"
            self.start(page, "notebook", self.kind())
        node = page.locator("#notebook")
        expect(node.locator(".ab-body")).to_have_attribute("lang", PSEUDO)
        for changes in self.changes:
            for name, value in changes.items():
                page.evaluate("([name, value]) => run.model.set(name, value)", [name, value])
            shown(node, self.kind.name)
            lost = forgotten_in_widget(node.evaluate(TEXTS))
            assert not lost, f"forgotten after {changes}: {lost}"
        page.evaluate("run.cleanup()")


class Moving(Laws):
    """What it computes is seen happening (shared/motion.js).

    happens = […]  # steps after each of which it is, taken without waiting
    """

    happens: list

    def test_what_is_seen_to_arrive_is_what_was_computed(self, visit):
        """At once where motion is reduced; else the numbers are there at once, and what is drawn comes to the same."""
        drawn = {}
        for motion in ("reduce", "no-preference"):
            page = visit("bare.html", motion=motion, served={"bare.html": bare(self.kind())})
            node, twin = live(page), self.kind()
            hold_time(page)  # the film stands at its first picture, however long the steps take
            moving = node.locator(".ab-body[data-moving]")
            for what, act, changes in self.happens:
                act(Mouse(page), node)
                for name, value in changes.items():
                    setattr(twin, name, value)
                agree(node, twin, what)
                expect(moving).to_have_count(int(motion != "reduce"))
            pass_time(page, THE_FILM)
            expect(moving).to_have_count(0)
            page.mouse.move(0, 0)
            drawn[motion] = node.evaluate(DRAWN)
            node.locator(".ab-body").evaluate("(body) => body.style.setProperty('--now', 99)")
            assert node.evaluate(DRAWN) == drawn[motion], "it has not arrived yet"
        assert drawn["reduce"] == drawn["no-preference"]

    def test_what_happens_can_be_stopped_and_stepped_through(self, visit):
        page = visit("bare.html", served={"bare.html": bare(self.kind())})
        node = live(page)
        hold_time(page)
        for _, act, _ in self.happens:
            act(Mouse(page), node)
        say = self.kind.edition_words()
        film, names = node.get_by_role("slider", name=say["motion"]), say["happens"]
        expect(node.locator("[data-moving]")).to_have_count(1)
        end = film.evaluate("(film) => film.max")
        x, y = bring(film)
        page.mouse.move(x, y)
        page.mouse.down()  # in its middle
        stopped = float(film.input_value())
        assert 0 < stopped < float(end)
        pass_time(page, THE_FILM)
        assert float(film.input_value()) == stopped, "it runs on under a finger"
        page.mouse.up()
        page.mouse.move(0, 0)
        node.evaluate(COUNT_ELEMENTS)
        pictures = []
        for key in ("Home", *["ArrowRight"] * len(names)):
            film.press(key)
            pictures.append(node.evaluate(DRAWN))
            step = max(len(pictures) - 2, 0)
            expect(film).to_have_attribute("aria-valuetext", names[step])
        assert film.input_value() == end
        assert len({str(picture) for picture in pictures}) == len(pictures), "a step in which nothing is seen"
        assert page.evaluate("created") == 0


def ids(words) -> list[str]:
    """The names in a file of words, groups and plural forms aside."""
    forms = {"one", "other", "few", "many", "two", "zero"}
    own = [name for name, text in words.items() if isinstance(text, str) and name not in forms]
    return own + [name for group in words.values() if isinstance(group, dict) for name in ids(group)]
