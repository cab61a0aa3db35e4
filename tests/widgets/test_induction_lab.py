"""InductionLab: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
from torch import Tensor

from attnbook.language import number
from attnbook.tasks.repeats import LETTERS, copiers, repeats
from attnbook.widgets import InductionLab
from attnbook.widgets.induction_lab import drawn
from tests.widgets.laws import Laws
from tests.widgets.reading import codes, parsed
from tests.widgets.steps import choose, press, slide

READ = """(node) => {
    const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
    const light = (parts) => parts.map((part) => part.style.getPropertyValue("--w"));
    const is = (parts, name) => parts.map((part) => String(Number(part.matches(name))));
    const columns = seen(".ab-line > div");
    const beams = seen(".ab-beams path");
    return {
        letters: codes(columns.map((column) => column.firstChild.textContent)),
        guesses: codes(columns.map((column) => column.lastChild.textContent)),
        chances: light(columns.map((column) => column.lastChild)),
        asks: is(columns, ".ab-asks"),
        rights: is(columns, ".ab-right"),
        wrongs: is(columns, ".ab-wrong"),
        beams: light(beams),
        colours: beams.map((path) => path.getAttribute("class").match(/\\d/)[0]),
        maps: light(seen(".ab-cells i")),
        kinds: codes(seen(".ab-kind").map((part) => part.textContent)),
        scores: seen(".ab-score .ab-number").map((part) => part.textContent),
        bars: light(seen(".ab-score")),
        on: seen(".ab-head button").map((key) => String(Number(key.getAttribute("aria-pressed") === "true"))),
        hint: String(Number(node.querySelector(".ab-hint").checkVisibility({ visibilityProperty: true }))),
        said: codes(seen("p[role=status]").map((part) => part.textContent)),
        slider: codes(seen("input[type=range]").map((slider) => slider.getAttribute("aria-valuetext"))),
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    say, n, H = widget.edition_words(), len(widget.text), 2
    chances, weights = widget.read()
    own, chances_L = weights[0], chances[0]
    letters, guess = widget.text * 2, chances_L.argmax(-1)
    place = min(widget.at, 2 * n - 1) - 1
    on = [index not in widget.off for index in range(H * widget.layers)]
    upper = [index for index in range(len(on)) if on[index] and index >= H * (widget.layers - 1)]
    lower = [index for index in range(len(on)) if on[index] and index < H * (widget.layers - 1) and upper]
    found = int(own[upper, place].sum(0).argmax()) if upper else 0
    rows = [own[index, place, : place + 1] for index in upper]
    rows += [own[index, found, : found + 1] for index in lower]
    colours = [index for index in upper for _ in range(place + 1)]
    colours += [index for index in lower for _ in range(found + 1)]
    scores = widget.scores()
    kinds = [
        "off" if not on[i] else "previous" if a >= 0.5 else "induction" if b >= 0.5 else "neither"
        for i, (a, b) in enumerate(scores)
    ]
    right = torch.tensor([letters[i + 1] == LETTERS[guess[i]] for i in range(2 * n - 1)])
    counts = torch.arange(1, 2 * n) > n
    looked = say["looked"].format(
        letter=letters[place], guess=LETTERS[guess[place]], chance=number(chances_L[place].max())
    )
    share = number(100 * widget.hits()[1:].double().mean(), 0)
    right_of = say["right"].format(right=int((right & counts).sum()), all=n - 1, n=100, share=share)
    none = torch.zeros(1)
    return {
        "letters": codes(letters),
        "guesses": codes("".join(LETTERS[i] for i in guess[:-1])),
        "chances": torch.cat([none, chances_L[:-1].amax(-1)]),
        "asks": torch.arange(2 * n) == place,
        "rights": torch.cat([none, right & counts]),
        "wrongs": torch.cat([none, ~right & counts]),
        "beams": torch.cat(rows) if rows else torch.zeros(0),
        "colours": torch.tensor(colours),
        "maps": own[:, *torch.tril_indices(2 * n, 2 * n)],
        "kinds": codes(*(say["kinds"][kind] for kind in kinds)),
        "scores": scores,
        "bars": scores,
        "on": torch.tensor(on),
        "hint": torch.tensor(all(on)),
        "said": codes(looked, right_of),
        "slider": codes(say["asks"].format(n=place + 1, letter=letters[place])),
    }


def another(twin) -> str:
    return "".join(LETTERS[i] for i in drawn(twin.seed + 1, len(twin.text))[0])


def write(text):
    def act(hand, node):
        hand.write(node.get_by_role("textbox", name="3 to 12 letters"), f" {text.upper()}! ")

    return [(f"{text!r} written", act, {"text": text})]


class TestInductionLab(Laws):
    kind = InductionLab
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("layer 1, head 1", {"off": [0]}),
        *press("layer 2, head 2", {"off": [0, 3]}),
        *press("layer 1, head 1", {"off": [3]}),
        *slide("Asking", "at", first=1, last=15),
        *choose("layers", 1, 2),
        *write("abcab"),
        *press("Other letters", {"text": another, "seed": lambda twin: twin.seed + 1}),
    ]
    changes = [{"off": [1, 2]}, {"at": 3}, {"text": "said"}, {"layers": 1}, {"off": [2, 3]}]
    states = {
        "nothing looks": InductionLab(off=[0, 1, 2, 3]),
        "one layer, and heads off that are not there": InductionLab("zebra", layers=1, off=[1, 3], at=23),
        "the longest text": InductionLab("abcdefghijkl", at=20, off=[2]),
    }
    drags = {"asking": (InductionLab(), slide("Asking", "at", first=1))}
    errors = [
        (lambda: InductionLab("ab"), r"3 to 12 letters from a to z are said twice; got 'ab'"),
        (lambda: InductionLab("Übung"), r"letters from a to z"),
        (lambda: InductionLab(layers=3), r"'layers' trait .* any of \[1, 2\]"),
        (lambda: InductionLab(at=0), r"'at' trait .* not be less than 1"),
    ]


def test_a_press_on_a_letter_makes_it_ask(visit):
    from tests.browser.pages import bare
    from tests.widgets.laws import agree, live

    page = visit("bare.html", served={"bare.html": bare(InductionLab())})
    node = live(page)
    node.locator(".ab-line > div").nth(12).click()
    agree(node, InductionLab(at=13), "a press")


def test_what_is_drawn_follows_what_is_computed_when_two_traits_change_at_once(visit):
    from tests.browser.pages import bare
    from tests.widgets.laws import agree, live

    page = visit("bare.html", served={"bare.html": bare(InductionLab())})
    node = live(page)
    page.evaluate("document.querySelector('[data-afm]').model.become({ at: 15, layers: 1 })")
    agree(node, InductionLab(at=15, layers=1), "both at once")


def test_table_of_heads():
    page = parsed(InductionLab(off=[2]))
    assert page.caption.text.startswith("kqdvhzbm said twice: the second time it says")
    assert [cell.text for cell in page.select("td:nth-of-type(1)")[1:]] == ["on", "on", "off", "on"]
    assert [head.text for head in page.select("th[scope=row]")][2] == "layer 2, head 1"
    assert numbers_of(InductionLab()).shape == (4, 2)


def numbers_of(widget):
    return torch.tensor(
        [[float(cell.text) for cell in row.select("td")[1:]] for row in parsed(widget).select("tr")[1:]]
    )


def test_two_layers_copy_by_one_head_that_looks_back_and_one_layer_cannot():
    """The same on other texts, drawn by PyTorch."""
    ids = repeats(500, 8, 8)(torch.Generator().manual_seed(5))
    share = {L: (m(ids)[:, 8:-1].argmax(-1) == ids[:, 9:]).double().mean().item() for L, m in copiers().items()}
    assert share[2] > 0.96
    assert share[1] < 0.2
    scores = InductionLab().scores()
    assert scores[0, 0] > 0.95 > 0.5 > scores[1:, 0].max()
    assert scores[2:, 1].min() > 0.8
    without = InductionLab(off=[0])
    assert without.hits()[1:].double().mean() < 0.2
    assert without.scores()[2:, 1].max() < 0.2, "the heads above no longer find what followed"
    for one in ([1], [2], [3]):
        assert InductionLab(off=one).hits()[1:].double().mean() > 0.8
    assert InductionLab(off=[2, 3]).hits()[1:].double().mean() < 0.1
