"""TextGenerator: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import json

import pytest
import torch
from playwright.sync_api import expect
from torch import Tensor
from torch.testing import assert_close

from attnbook import capture_attention, filtered
from attnbook.data import FOLDER
from attnbook.tasks.writing import CONTEXT, plays, writer_pairs
from attnbook.widgets import TextGenerator
from attnbook.widgets.shared.pairs import shown_token
from attnbook.widgets.shared.random import uniforms
from attnbook.widgets.text_generator import model
from booktools.make.networks.writer import bits_per_character, first
from tests.browser.clocks import hold_time, pass_time
from tests.browser.pages import bare
from tests.widgets.laws import Laws, agree, live
from tests.widgets.reading import codes, parsed
from tests.widgets.steps import choose, press, slide

READ = """(node) => {
    const all = (selector) => [...node.querySelectorAll(selector)]; // some are folded
    const seen = (selector) => all(selector).filter((part) => part.checkVisibility());
    const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
    const light = (parts, name) => parts.map((part) => Number(part.style.getPropertyValue(name)).toFixed(4));
    const is = (parts, name) => parts.map((part) => String(Number(part.matches(name))));
    const [boxes, bars] = [[...node.querySelectorAll(".ab-page span:not([hidden])")], seen(".ab-could button")];
    return {
        text: codes(boxes.map((box) => `${box.textContent}|`)),
        light: light(boxes, "--w"),
        own: is(boxes, ".ab-own"),
        asks: is(boxes, ".ab-asks"),
        sees: is(boxes, ".ab-weight"),
        could: codes(bars.map((bar) => `${bar.firstChild.textContent}|`)),
        chances: bars.map((bar) => bar.lastChild.textContent),
        bars: light(bars, "--w"),
        wished: light(bars, "--wished"),
        cut: is(bars, ".ab-cut"),
        heads: all("path").flatMap((path) => [...path.getAttribute("d").matchAll(/v-([\\d.]+)h/g)].map((w) => w[1])),
        chosen: [node.querySelector(":checked").value],
        left: codes(seen("[role=status]").map((part) => part.textContent)),
        sliders: codes(all("input[type=range]").map((slider) => slider.getAttribute("aria-valuetext"))),
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    say, tokens, ids = widget.edition_words(), writer_pairs().tokens, widget.ids().tolist()
    with torch.no_grad(), capture_attention(model()) as maps:
        scores = model()(torch.tensor([ids]))[0, -1]
    weights = torch.cat([maps[f"decoder.{block}.self_attention"][0] for block in range(3)])
    chances = filtered(scores, widget.temperature, widget.top_k, widget.top_p)
    wished = (scores / widget.temperature).softmax(-1) if widget.temperature else chances
    L, order = len(ids), scores.sort(descending=True, stable=True).indices[:10]
    place = min(widget.at, L) - 1
    looks = weights[:, place]
    shown = [shown_token(tokens[token]).replace("·", " ").replace("⏎", "⏎\n") for token in ids]
    all_of_them = say["all"] if widget.top_k >= 512 else f"{widget.top_k}"
    here = say["place"].format(n=place + 1, all=L, token=shown_token(tokens[ids[place]]))
    plain = [f"{x:g}" for x in (widget.temperature, widget.top_p)]
    return {
        "text": codes(*(f"{text}|" for text in shown)),
        "light": looks.mean(0) if widget.head == 0 else looks[widget.head - 1],
        "own": torch.arange(L) >= len(writer_pairs().encode(widget.prompt)[:96]),
        "asks": torch.arange(L) == place,
        "sees": torch.arange(L) <= place,
        "could": codes(*(f"{shown_token(tokens[token])}|" for token in order)),
        "chances": chances[order],
        "bars": chances[order],
        "wished": wished[order],
        "cut": chances[order] == 0,
        "heads": looks[:, : place + 1],
        "chosen": torch.tensor([widget.head]),
        "left": codes(say["left"].format(n=int((chances > 0).sum()), all=512)),
        "sliders": codes(*plain, all_of_them, f"{widget.seed}", here),
    }


def further(twin):
    return [*twin.written, twin.next()]


def likeliest(n):
    return lambda twin: [*twin.written, int(twin.read()[0].topk(n).indices[-1])]


def bar(n):
    return [
        (
            f"bar {n} pressed",
            lambda hand, node: hand.press(node.locator(".ab-could button").nth(n - 1)),
            {"written": likeliest(n)},
        )
    ]


def write(text):
    def act(hand, node):
        field = node.get_by_role("textbox", name="It goes on from")
        hand.press(field)
        hand.page.keyboard.press("ControlOrMeta+a")
        hand.page.keyboard.type(text)

    return [(f"{text!r} written", act, {"prompt": text, "written": [], "at": CONTEXT})]


class TestTextGenerator(Laws):
    kind = TextGenerator
    read = READ
    expected = staticmethod(expected)
    steps = [
        *slide("Temperature", "temperature", first=0.0, last=2.0),
        *choose("head", 5),
        *press("Next token", {"written": further}),
        *slide("Top-k", "top_k", first=1),
        *press("Next token", {"written": further}),
        *bar(3),
        *slide("Top-p", "top_p", first=0.1),
        *slide("Looking from", "at", first=1),
        *press("Take back", {"written": lambda twin: twin.written[:-1]}),
        *slide("Seed", "seed", last=20),
        *write("KING: My 3 dogs; an owl"),
        *press("Next token", {"written": further}),
        *press("Start again", {"written": [], "at": CONTEXT}),
    ]
    changes = [
        {"temperature": 0.0},
        {"top_k": 3},
        {"written": [72, 101]},
        {"head": 12},
        {"at": 2},
        {"top_p": 0.5},
        {"prompt": "O"},
        {"temperature": 1.5},
    ]
    states = {
        "greedy, and far back": TextGenerator("ROMEO:\nI", temperature=0.0, at=2, head=1),
        "letters that it has never met": TextGenerator("Größe 日本", top_k=5, top_p=1.0, written=[10, 200]),
        "as long as can be": TextGenerator("A" * 120, written=[261] * 100, temperature=2.0, top_p=0.99),
    }
    drags = {"temperature": (TextGenerator(), slide("Temperature", "temperature", first=0.0))}
    errors = [
        (lambda: TextGenerator(""), r"a prompt of 1 to 120 letters; got 0"),
        (lambda: TextGenerator(written=[512]), r"512|not be greater than 511"),
        (lambda: TextGenerator(head=13), r"'head' trait .* not be greater than 12"),
        (lambda: TextGenerator(top_p=0.0), r"'top_p' trait .* not be less than 0.01"),
    ]


def test_the_page_writes_what_torch_writes(visit):
    """Scores and weights to 1e-4, with the cache and without; and 60 tokens in a row for a seed."""
    prompts = ["ROMEO:\n", "The 3 witches", plays()[1][500:600]]
    texts = [writer_pairs().encode(text)[:40].tolist() for text in prompts]
    script = """async ([file, texts]) => {
        const room = new URL("_static/widgets/text_generator/writer.js", location);
        const { writer, filtered, drawn } = await import(room);
        const { uniform } = await import(new URL("_static/widgets/shared/random.js", location));
        const bytes = await (await fetch(new URL(`_static/widgets/${file}`, location))).arrayBuffer();
        const read = writer(bytes);
        return texts.map((ids) => {
            const steps = [...read(ids)];
            const again = writer(bytes)(ids).at(-1).scores;
            const written = [...ids];
            for (let n = 0; n < 60; n++)
                written.push(drawn(filtered(read(written).at(-1).scores, 0.9, 40, 0.95), uniform(7, n)));
            return { steps, again, written };
        });
    }"""
    page = visit("bare.html", served={"bare.html": bare()})
    found = page.evaluate(script, [TextGenerator.inputs()["model"].page_name, texts])
    numbers = uniforms(7, 60)
    for ids, run in zip(texts, found, strict=True):
        with torch.no_grad(), capture_attention(model()) as maps:
            scores = model()(torch.tensor([ids]))[0]
        weights = torch.cat([maps[f"decoder.{block}.self_attention"][0] for block in range(3)])
        assert_close(torch.tensor([step["scores"] for step in run["steps"]]).double(), scores, rtol=0, atol=1e-4)
        assert_close(torch.tensor(run["again"]).double(), scores[-1], rtol=0, atol=1e-4)
        for place, step in enumerate(run["steps"]):
            want = weights[:, place, : place + 1]
            assert_close(torch.tensor(step["weights"]).double(), want, rtol=0, atol=1e-5)
        written = torch.tensor([ids])
        for number in numbers:
            with torch.no_grad():
                sums = filtered(model()(written)[0, -1], 0.9, 40, 0.95).cumsum(-1)
            written = torch.cat([written, (sums <= number * sums[-1]).sum().view(1, 1)], 1)
        assert run["written"] == written[0].tolist()


def test_the_page_cuts_as_filtered_does(visit):
    scores = torch.randn(40, generator=torch.Generator().manual_seed(2)).mul(3).round(decimals=1)  # with ties
    settings = [[t, k, p] for t in (0, 0.5, 1, 2) for k in (1, 3, 512) for p in (0.1, 0.6, 0.95, 1)]
    script = """async ([scores, settings]) => {
        const { filtered } = await import(new URL("_static/widgets/text_generator/writer.js", location));
        return settings.map((given) => filtered(scores, ...given));
    }"""
    page = visit("bare.html", served={"bare.html": bare()})
    found = page.evaluate(script, [scores.tolist(), settings])
    for (temperature, k, p), got in zip(settings, found, strict=True):
        want = filtered(scores, temperature, k, p)
        assert_close(torch.tensor(got).double(), want, rtol=0, atol=1e-6, msg=f"{temperature} {k} {p}")


def test_it_writes_on_by_itself_and_stops(visit):
    page = visit("bare.html", served={"bare.html": bare(TextGenerator())})
    node = live(page)
    hold_time(page)
    written = node.locator(".ab-page .ab-own:visible")
    first = written.count() + 1
    node.get_by_role("button", name="Write on").click()
    for count in range(first, first + 4):
        expect(written).to_have_count(count)
        pass_time(page, 200)  # enough for one token, and too little for two
    node.get_by_role("button", name="Stop", exact=True).click()
    expect(node.get_by_role("button", name="Write on")).to_be_visible()
    count = node.locator(".ab-page span:visible").count()
    twin = TextGenerator()
    while len(twin.ids()) < count:
        twin.written = further(twin)
    agree(node, twin, "writing on")
    pass_time(page, 60_000)
    assert node.locator(".ab-page span:visible").count() == count


def test_a_press_on_a_token_looks_from_it(visit):
    page = visit("bare.html", served={"bare.html": bare(TextGenerator())})
    node = live(page)
    node.locator(".ab-page span").nth(3).click()
    agree(node, TextGenerator(at=4), "a press")


def test_the_first_picture_needs_no_model(visit):
    page = visit("bare.html", served={"bare.html": bare(TextGenerator())})
    agree(live(page), TextGenerator())
    asked = [url.rsplit("/", 1)[-1] for url in visit.requests if url.endswith(".bin")]
    assert sorted(name.split(".")[0] for name in asked) == ["first", "pairs"]


def test_the_small_file_is_made_of_the_model():
    (head, numbers), (stored_head, stored) = map(_numbers, (first(), (FOLDER / "first.writer.bin").read_bytes()))
    assert head == stored_head
    assert_close(numbers, stored, rtol=0, atol=1e-4)


def _numbers(content: bytes) -> tuple[dict, Tensor]:
    head, _, numbers = content.partition(b"\n")
    return json.loads(head), torch.frombuffer(bytearray(numbers), dtype=torch.float32)


@pytest.mark.slow
def test_how_well_it_writes():
    """On 30,000 letters that it has never read, in bits per character."""
    assert bits_per_character(model(), writer_pairs(), plays()[1][:30_000]) < 2.3


def test_table_of_what_could_come():
    page = parsed(TextGenerator(top_k=2))
    assert "2 of 512 tokens can be drawn" in page.caption.text
    rows = [[float(cell.text) for cell in row.select("td")] for row in page.select("tr")[1:]]
    assert len(rows) == 10
    assert abs(sum(row[1] for row in rows) - 1) < 0.002
    assert rows[2][1] == 0 < rows[2][0]
