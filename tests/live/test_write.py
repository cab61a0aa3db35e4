"""Stubs on the page: written in by hand, checked where they stand, kept; and what a reader's code can't do there."""

import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from booktools.live import EARLY, RARE, engine_files, names_in_more
from tests.browser.pages import AXE, OF_WHOLE_PAGES, PHONE
from tests.live.answers import stubs
from tests.sizes import is_light, zipped

FIVE = "chapters/05_scaled_dot_product_attention.html"
RIGHT = """def my_attention(q, k, v, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1) * (1 if mask is None else mask)
    print(weights.shape)
    return weights @ v, weights"""


BARE = "chapters/stub.html"


def bare(site) -> str:
    """A page of one stub and our answer to it, as chapter 5 has them."""
    page = site.soup(FIVE)
    parts = [page.select_one(part) for part in ("[data-write]", ".tag_ours", "#write")]
    return (
        '<!DOCTYPE html><html lang="en" data-theme="light"><meta charset="utf-8"><title>A stub</title>'
        '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
        f'<link rel="stylesheet" href="../_static/style.css"><main>{"".join(map(str, parts))}</main>'
        '<script type="module" src="../_static/write.js"></script>'
        "<script>document.documentElement.dataset.theme = "
        "matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'</script></html>"
    )


@pytest.fixture
def open_stub(site, visit):
    """Open a page of one stub: `open_stub(theme="dark")`; the stub."""

    def opened(*, served=(), **options):
        return visit(BARE, served={BARE: bare(site)} | dict(served), **options).locator(".write")

    return opened


def checked(frame, code=None):
    """The verdict on what is written, or on some code."""
    if code is not None:
        frame.get_by_role("textbox").fill(code)
    frame.get_by_role("button", name="Check").click()
    return answered(frame)


def answered(frame):
    expect(frame.get_by_role("button", name="Check")).to_be_enabled(timeout=30_000)
    return frame.get_by_role("status").inner_text()


def test_every_stub_is_an_editor_and_without_scripts_as_in_the_notebook(visit):
    mine = [stub for stub in stubs() if stub.file.startswith("05")]
    boxes = visit(FIVE).locator("[data-name] textarea")
    assert [boxes.nth(n).input_value() for n in range(boxes.count())] == [stub.written for stub in mine]
    plain = visit(FIVE, javascript=False)
    expect(plain.locator(".write")).to_have_count(0)
    for stub in plain.locator("[data-name]").all():
        expect(stub).to_contain_text("not written yet")


def test_nothing_is_fetched_before_somebody_presses(visit):
    visit(FIVE).wait_for_load_state("networkidle")
    assert not [url for url in visit.requests if "_static/write/" in url]


def test_with_the_keyboard(open_stub):
    frame = open_stub()
    box, key = frame.get_by_role("textbox"), frame.page.keyboard
    box.focus()
    key.press("ControlOrMeta+a")
    key.type("def my_attention(q, k, v, mask=None):\nif mask is None:\nmask = 1\nreturn mas")  # a new line is indented
    key.press("Shift+Tab")
    assert box.input_value().splitlines()[1:] == ["    if mask is None:", "        mask = 1", "    return mas"]
    key.press("Control+Enter")
    assert answered(frame) == "Line 4: your function raised NameError: name 'mas' isn't defined"
    expect(frame.locator("mark")).to_have_text("    return mas")
    key.press("Tab")
    assert box.input_value().endswith("return mas    ")
    expect(frame.get_by_role("status")).to_be_empty()
    key.press("Escape")
    key.press("Tab")
    expect(frame.get_by_role("button", name="Check")).to_be_focused()


def test_right_printed_and_ours(open_stub):
    frame = open_stub()
    assert checked(frame, RIGHT) == "correct"
    assert frame.locator(".prints").inner_text().splitlines()[:2] == ["(1, 2)", "(3, 5)"]
    ours = frame.page.locator(".tag_ours details")
    expect(ours).not_to_have_attribute("open", "")
    frame.get_by_role("button", name="Ours").click()
    expect(ours).to_have_attribute("open", "")
    expect(ours.locator("summary")).to_be_focused()


def test_what_is_written_is_kept_and_can_be_begun_again(open_stub):
    frame = open_stub()
    box = frame.get_by_role("textbox")
    stub = box.input_value()
    box.fill("mine = 1")
    frame.page.reload()
    expect(box).to_have_value("mine = 1")
    frame.get_by_role("button", name="Start again").click()
    expect(box).to_have_value(stub)
    frame.page.keyboard.press("ControlOrMeta+z")
    expect(box).to_have_value("mine = 1")


HEAD = "def my_attention(q, k, v, mask=None):\n    "
SAID = {
    "x = 1": "Your code defines no my_attention.",
    f"import numpy\n{HEAD}return 1": "This page has a small Python and a small stand-in for PyTorch, without numpy.",
    f"{HEAD}return torch.lobpcg(q)": "This page has a small Python and a small stand-in for PyTorch, without torch.l",
    f"{HEAD}return plots": "plots comes from a cell further up. This page",
    f"{HEAD}return [*q, 1]": "Line 2: This page's small Python reads no * inside a list",
    f"{HEAD}return 1 < q": "Line 2: This page's small Python compares a number with a tensor only when",
    f"{HEAD}return my_attention(q, k, v)": "Line 2: your function raised RuntimeError",
    f"{HEAD}return torch.zeros(10**5, 10**5)": "Line 2: your function raised RuntimeError: a tensor of",
    f"{HEAD}x = [torch.zeros(1000, 1000) for _ in range(100)]": "Line 2: your function raised RuntimeError: too many",
    f"{HEAD}x = [1] * 10**8": "Line 2: your function raised MemoryError",
    f"{HEAD}raise NotImplementedError": "not written yet",
    f"{HEAD}print('x' * 10**6)\n    for i in range(5000): print(i)": "not written yet",
    RIGHT: "correct",
}


def test_what_goes_wrong_is_a_sentence_and_the_page_lives(open_stub):
    frame = open_stub()
    for code, said in SAID.items():
        assert checked(frame, code).startswith(said), code
        assert len(frame.locator(".prints").inner_text()) < 10_000


ESCAPES = [
    *(f"js.{name}" for name in ("fetch", "XMLHttpRequest", "WebSocket", "indexedDB", "caches", "postMessage", "eval")),
    *(
        f"js.{name}"
        for name in ("importScripts", "Worker", "BroadcastChannel", "EventSource", "setTimeout", "navigator")
    ),
    "js.Object.getPrototypeOf(js.self).fetch",
    "q._h.constructor.constructor('return 1')()",
    "js.Function('return 1')()",
    "js.Reflect.construct(js.Object.getPrototypeOf(js.atob).constructor, ['return 1'])()",
]


def test_no_way_out(open_stub):
    """Neither the page nor its storage nor the network; and a text that becomes code would lead to all of them."""
    frame = open_stub()
    for way in ["1 + 1", *ESCAPES]:
        checked(frame, f"import js\n{HEAD}print('got', {way})")
        got = frame.locator(".prints").inner_text().strip()
        assert got == ("got 2" if way == "1 + 1" else "") or got in ("got None", "got undefined"), way


def test_an_endless_loop_is_ended(site, open_stub):
    ask = next((site / "_static/write").glob("*/ask.js"))
    soon = re.sub(r"SECONDS = \d+", "SECONDS = 1", ask.read_text("utf-8"))
    frame = open_stub(served={ask.relative_to(site.folder).as_posix(): soon})
    assert checked(frame, f"{HEAD}while True: pass").startswith("Stopped after 1 seconds.")
    assert checked(frame, RIGHT) == "correct"


def test_weight(site, visit, open_stub):
    """Bytes as a host sends them, of all that writing needs before somebody presses; and then only what is weighed."""
    frame = open_stub()
    words = frame.page.locator("#write").inner_text().encode()
    early = [(site / "_static" / name).read_bytes() for name in EARLY]
    is_light("writing on the page, at rest", sum(map(zipped, [words, *early])))
    before = {*visit.requests}
    checked(frame)
    fetched = {url.split("/_static/write/")[-1].split("?")[0] for url in visit.requests if url not in before}
    assert fetched == {*needed(), "05-function-stub.json"}


def needed(source: str = "") -> dict[str, bytes]:
    """What is fetched for the first verdict, beside the stub's own: what all need, and what a check names."""
    folder, files = engine_files()
    first = ["ask.js", "worker.js", "micropython.mjs", "micropython.wasm", "python.json"]
    first += [f"{name}.json" for name in RARE if re.search(rf"\b{name}\b", source)]
    first += ["more.js"] if re.search(rf"\.({'|'.join(names_in_more())})\b", source) else []
    return {folder.removeprefix("write/") + name: files[name] for name in first}


def test_the_first_press_costs_at_most_so_much(site):
    paths = (site / "_static/write").glob("*-stub.json")
    sent = {path.name: path.read_bytes() for path in paths}
    for name, content in sent.items():
        files = {name: content} | needed(json.loads(content)["source"])
        is_light("the first verdict", {part: zipped(content) for part, content in files.items()})
    pictures = {name: zipped(content) for name, content in engine_files()[1].items() if "picture" in name}
    is_light("the pictures of what code shows", pictures)


WRITTEN = "def my_causal(L, M):\n    return torch.ones(L, M).tril(M - L).bool()"
PACKED = """def my_packed(d):
    n = len(d)
    return (d[:, None] == d) & my_causal(n, n) & causal(n, n)"""


def test_code_may_use_what_stands_above_it(visit):
    page = visit("chapters/02_masked_softmax.html")
    page.evaluate("for (const box of document.querySelectorAll('details')) box.open = true")
    above, frame = (page.locator(f'[data-name="{name}"] .write') for name in ("my_causal", "my_packed"))
    assert "'Tensor' and 'NoneType'" in checked(frame, PACKED), "nothing is written above"
    above.get_by_role("textbox").fill(WRITTEN)
    assert checked(frame) == "correct"
    above.get_by_role("textbox").fill("def my_causal(L, M)")
    assert checked(frame).startswith("Your my_causal further up does not run: SyntaxError")
    assert checked(frame, PACKED.replace("my_causal", "hidden_LM")).startswith("hidden_LM comes from a cell further up")


@pytest.mark.parametrize(("theme", "screen"), [("light", PHONE), ("dark", {"width": 1280, "height": 800})])
def test_accessible_with_a_verdict(open_stub, theme, screen):
    frame = open_stub(theme=theme, viewport=screen)
    checked(frame, RIGHT.replace("weights @ v", "weight @ v"))
    rules = AXE["rules"] | {rule: {"enabled": False} for rule in OF_WHOLE_PAGES}
    results = Axe().run(frame.page, options=AXE | {"rules": rules})
    assert results.violations_count == 0, results.generate_report()
    assert frame.page.evaluate("document.documentElement.scrollWidth") <= screen["width"]


def test_the_sent_words_are_those_of_the_edition(site):
    sent = json.loads(site.text("_static/write/05-function-stub.json"))
    assert ["correct", "correct"] in sent["words"]["attnbook/checks"]["said"]


@pytest.mark.parametrize(
    ("code", "line", "says"),
    [
        ("def my_attention(q, k, v, mask=None)\n    return q, q", 1, "a colon is missing"),
        (
            "def my_attention(q, k, v, mask=None):\n    if mask is None\n        mask = 1\n    return q, q",
            2,
            "with if.",
        ),
        ("def my_attention(q, k, v, mask=None):\n    x = (q @ k.mT\n    return x, x", 2, "this ( is never closed."),
        ("def my_attention(q, k, v, mask=None):\n    x = q @ k.mT)\n    return x, x", 2, "this ) closes nothing"),
        ("def my_attention(q, k, v, mask=None):\n    if q = k:\n        return q, q", 2, "write two: ==."),
        ("def my_attention(q, k, v, mask=None):\n    x = q\n      y = x\n    return x, x", 3, "the spaces in front"),
        ("def my_attention(q, k, v, mask=None):\n    x = q k\n    return x, x", 2, "this is no Python"),
        (
            "def my_attention(\n    q, k, v, mask=None\n):\n    y = 1\n    x = q k\n    return x, x",
            5,
            "this is no Python",
        ),
    ],
)
def test_what_is_no_python_is_told_with_its_line(open_stub, code, line, says):
    frame = open_stub()
    told = checked(frame, code)
    assert told.startswith(f"Line {line}: "), told
    assert says in told
    expect(frame.locator("mark")).to_have_text(code.split("\n")[line - 1])
