"""DialPad: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
from torch import Tensor

from attnbook.language import number
from attnbook.tasks.tones import spectrogram
from attnbook.widgets import DialPad
from tests.browser.pages import bare
from tests.widgets.laws import Laws, live
from tests.widgets.reading import codes, parsed
from tests.widgets.steps import press, slide

READ = """(node) => {
    const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => !part.hidden);
    const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
    const style = (parts, name) => parts.map((part) => part.style.getPropertyValue(name).replace("%", ""));
    const [spans, tiles] = [seen(".ab-span"), seen(".ab-tiles div")];
    return {
        dialled: codes(spans.map((span) => span.textContent)),
        starts: style(spans, "inset-inline-start").map((x) => Number(x).toFixed(2)),
        lengths: style(spans, "inline-size").map((x) => Number(x).toFixed(2)),
        places: style(seen(".ab-places i"), "--w"),
        tiles: codes(tiles.map((tile) => tile.firstChild.textContent)),
        sure: tiles.map((tile) => tile.lastChild.textContent),
        wrong: tiles.map((tile) => String(Number(tile.matches(".ab-wrong")))),
        beams: style([...node.querySelectorAll(".ab-beams path:not([data-dark])")], "--w"),
        said: codes(seen("p[role=status]").map((part) => part.textContent)),
        slider: codes([node.querySelector("input[type=range]").getAttribute("aria-valuetext")]),
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    say, (wave, spans) = widget.edition_words(), widget.dial()
    keys, chances, weights = widget.listen()
    named = [*keys, ""][: len(chances)]
    least = chances.argmin()
    shown = {"keys": widget.dialled or say["none"], "written": keys or say["none"]}
    sentence = say["right" if keys == widget.dialled else "wrong"]
    if chances[least] < 0.99:
        sentence += say["unsure"]
    shown |= {"key": named[least] or say["end"], "chance": number(chances[least])}
    pairs = [*zip(named, [*widget.dialled, *" " * len(named)], strict=False)]
    return {
        "dialled": codes(widget.dialled),
        "starts": torch.tensor([100 * span.start / len(wave) for span in spans]),
        "lengths": torch.tensor([100 * (span.stop - span.start) / len(wave) for span in spans]),
        "places": weights.amax(0),
        "tiles": codes("".join(key or "■" for key in named)),
        "sure": chances,
        "wrong": torch.tensor([key != (want.strip()) for key, want in pairs]),
        "beams": weights[weights >= 0.05],
        "said": codes(sentence.format(**shown)),
        "slider": codes(say["snr"].format(snr=number(widget.snr, 0))),
    }


class TestDialPad(Laws):
    kind = DialPad
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("5", {"dialled": lambda twin: twin.dialled + "5"}),
        *press("#", {"dialled": lambda twin: twin.dialled + "#"}),
        *press("Dial it again", {"seed": lambda twin: twin.seed + 2}),
        *press("Erase", {"dialled": lambda twin: twin.dialled[:-1]}),
        *slide("Signal to noise", "snr", last=-6, first=20),
    ]
    changes = [{"dialled": "0"}, {"snr": 0}, {"seed": 4}, {"dialled": "1590#"}]
    states = {
        "nothing dialled": DialPad(""),
        "ten keys": DialPad("0123456789", snr=-3),
    }
    drags = {"noise": (DialPad(), slide("Signal to noise", "snr", last=-6))}
    errors = [
        (lambda: DialPad("12a"), r"up to 10 of the keys 1 2 3 4 5 6 7 8 9 \* 0 #; got '12a'"),
        (lambda: DialPad("1" * 11), r"up to 10 of the keys"),
        (lambda: DialPad(snr=7), r"'snr' trait .* any of"),
    ]


def test_keys_of_the_keyboard_dial(visit):
    page = visit("bare.html", served={"bare.html": bare(DialPad("1"))})
    node = live(page)
    node.get_by_role("button", name="Hear it").focus()
    for key in ("7", "Backspace", "#", "a", "0"):
        page.keyboard.press(key)
    assert node.locator(".ab-span:not([hidden])").all_inner_texts() == ["1", "#", "0"]


def test_there_is_no_sound_before_a_press_and_none_after_the_end(visit):
    page = visit("bare.html", served={"bare.html": bare(DialPad("123"))})
    page.evaluate("""() => {
        window.contexts = [];
        const Real = window.AudioContext;
        window.AudioContext = class extends Real { constructor(...given) { super(...given); contexts.push(this); } };
    }""")
    node = live(page)
    page.keyboard.press("Tab")
    node.get_by_role("button", name="Erase").click()
    assert page.evaluate("contexts.length") == 0
    hear = node.get_by_role("button", name="Hear it")
    hear.click()
    assert page.evaluate("contexts.length") == 1
    node.get_by_role("button", name="Dial it again").click()  # another sound: the first is no longer played
    assert page.evaluate("contexts[0].state") == "closed"
    assert hear.get_attribute("aria-pressed") == "false"


def test_the_spectrogram_on_the_page_is_torchs(visit):
    page = visit("bare.html", served={"bare.html": bare()})
    for widget in (DialPad("4711"), DialPad("#", snr=-3, seed=9)):
        found = page.evaluate(
            """async ([keys, snr, seed]) => {
            const { dial, spectrogram } = await import(new URL("_static/widgets/dial_pad/hearing.js", location));
            return spectrogram(dial(keys, snr, seed).wave).map((frame) => [...frame]);
        }""",
            [widget.dialled, widget.snr, widget.seed],
        )
        torch.testing.assert_close(torch.tensor(found, dtype=torch.float64), spectrogram(widget.dial()[0]))


def test_table_of_what_is_written():
    page = parsed(DialPad("4711"))
    assert page.caption.text.startswith("Dialled 4711 at 6 dB, written ")
    assert len(page.select("tbody tr, tr")[1:]) == len(DialPad("4711").listen().chances)
