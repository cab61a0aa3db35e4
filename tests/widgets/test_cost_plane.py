"""CostPlane: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attnbook.learning.complexity import Convolution, Recurrence, SelfAttention
from attnbook.widgets import CostPlane
from tests.browser.hands import Finger, Mouse, bring, middle, stops
from tests.browser.pages import DESKTOP, PHONE, bare
from tests.widgets.laws import COUNT_ELEMENTS, Laws, agree, live
from tests.widgets.reading import numbers, parsed
from tests.widgets.steps import choose, press, pull, slide, spot

READ = """(node) => {
    const texts = (selector) => [...node.querySelectorAll(selector)].map((part) => part.textContent);
    const ends = (name) => (node.querySelector(name).getAttribute("d").match(/[-\\d.e]+ [-\\d.e]+/g) ?? []);
    const shade = node.querySelector(".ab-shade");
    const shaded = (x, y) => shade.isPointInFill(Object.assign(shade.ownerSVGElement.createSVGPoint(), { x, y }));
    const dots = [...node.querySelectorAll(".ab-dot, [role=slider]")];
    const rows = [...node.querySelectorAll("tbody tr")];
    const bright = [...node.querySelectorAll("text.ab-here")].map((text) => text.textContent);
    const grips = [...node.querySelectorAll(".ab-grip")].filter((grip) => grip.checkVisibility());
    const label = [...node.querySelectorAll("svg svg text")].filter((text) => text.checkVisibility());
    return {
        costs: texts("td.ab-number"),
        figures: texts("dd span"),
        border: ends(".ab-border").map((pair) => pair.split(" ")),
        half: ends(".ab-half").map((pair) => pair.split(" ")),
        shaded: [5, 7, 9, 11, 13, 15, 17, 19].map((n) => String(Number(shaded((n - 4.01) * 24, 105)))),
        dots: dots.map((dot) => ["cx", "cy"].map((name) => dot.getAttribute(name))),
        grips: grips.map((grip) => ["cx", "cy"].map((name) => grip.getAttribute(name))),
        lines: label.flatMap((text) => text.textContent.match(/^n = (.*)d$/)?.slice(1) ?? []).map((x) => x || "1"),
        cross: node.querySelector(".ab-cross").getAttribute("d").match(/[\\d.]+/g).slice(1, 3),
        bright,
        bars: rows.map((row) => row.style.getPropertyValue("--w")),
        never: String(Number(node.querySelector(".ab-figures .ab-hint").checkVisibility())),
        kernel: texts("tbody th span"),
        chosen: rows.map((row) => String(Number(row.checkVisibility()))),
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    """By the formulas that are tested by counting; what is pairs of them, by what more than doubles with n."""
    n, d, h, k = widget.n, widget.d, widget.heads, widget.kernel
    kinds = (SelfAttention(h), Recurrence(), Recurrence("gru"), Recurrence("lstm"), Convolution(k))
    names = ("attention", "recurrence", "gru", "lstm", "convolution")
    other = dict(zip(names, kinds, strict=True))[widget.against]
    operations = [kind.cost(n, d).operations for kind in kinds]
    pairs = (SelfAttention().cost(2 * n, d).operations - 2 * SelfAttention().cost(n, d).operations) // 2
    kept = [kind.memory(n, d) for kind in kinds]
    weights = kept[0] - SelfAttention(0).memory(n, d)
    if widget.pairs == "half":
        operations[0], pairs = operations[0] - pairs // 2, pairs // 2
        kept[0], weights = kept[0] - weights + weights // 2, weights // 2
    if widget.projections == "out":
        operations[0] = pairs
    compared = operations[0] / other.cost(n, d).operations
    each = 2 if widget.pairs == "half" else 4
    slope = (other.cost(1, 1).operations - 8 * (widget.projections == "in")) / each
    line = lambda ratio: [[(p + math.log2(ratio) - 4) * 24, (14 - p) * 21] for p in (4, 14)]  # noqa: E731
    shaded = [2 ** (p - 0.01) > slope * 2**9 for p in range(5, 20, 2)]
    lines = [8 / each] * (widget.projections == "in") + [slope] * (slope > 0)
    dot = [(math.log2(n) - 4) * 24, (14 - math.log2(d)) * 21]
    return {
        "costs": torch.tensor(list(zip(operations, kept, strict=True))),
        "figures": torch.tensor([compared, 100 * pairs / operations[0], 4 * weights], dtype=torch.float64),
        "border": torch.tensor(line(slope) if slope > 0 else [], dtype=torch.float64),
        "half": torch.tensor(line(8 / each), dtype=torch.float64),
        "shaded": torch.tensor(shaded),
        "dots": torch.tensor([dot, dot], dtype=torch.float64),
        "grips": torch.tensor(
            [[(7 + math.log2(slope) - 4) * 24, 7 * 21.0]] if slope > 0 and isinstance(other, Convolution) else [],
            dtype=torch.float64,
        ),
        "lines": torch.tensor(lines),
        "cross": torch.tensor(dot[::-1], dtype=torch.float64),
        "bright": torch.tensor([n, d]),
        "bars": torch.tensor(operations, dtype=torch.float64)
        / max(operations[0], operations[names.index(widget.against)]),
        "never": torch.tensor(slope <= 0),
        "kernel": torch.tensor(k),
        "chosen": torch.tensor([name in ("attention", widget.against) for name in names]),
    }


CONVOLUTION = {"against": "convolution", "projections": "in"}


class TestCostPlane(Laws):
    kind = CostPlane
    read = READ
    expected = staticmethod(expected)
    steps = [
        *choose("against", "convolution"),
        *choose("projections", "in"),
        *choose("pairs", "half"),
        *slide("Kernel", "kernel", first=3, last=33),
        *pull("Tokens and width", spot(0.98, 0.02), ["End", "PageUp"], {"n": 2**20, "d": 2**14}),
        *pull("Tokens and width", spot(0.02, 0.98), ["Home", "PageDown"], {"n": 16, "d": 16}),
        *slide("Heads", "heads", last=128, first=1),
        *choose("projections", "out"),
        *choose("pairs", "all"),
        *choose("against", "lstm"),
        *choose("against", "recurrence"),
        *press("Llama 3.1 8B", {"n": 131072, "d": 4096, "heads": 32}),
    ]
    changes = [
        {"against": "convolution"},
        {"against": "gru"},
        {"projections": "in"},
        {"pairs": "half"},
        {"n": 131072},
        {"d": 4096},
        {"kernel": 3},
        {"heads": 96},
        {"kernel": 33},
    ]
    states = {
        "as long and as wide as can be": CostPlane(n=2**20, d=2**14, heads=128, projections="in"),
        "attention always needs more": CostPlane(projections="in"),
        "beside a GRU": CostPlane(against="gru", projections="in"),
        "attention needs more than a small kernel, always": CostPlane(**CONVOLUTION, kernel=3),
        "half of an odd number of pairs": CostPlane(n=999, heads=3, pairs="half", projections="in", against="lstm"),
        "between the lines": CostPlane(against="convolution", kernel=5, projections="in", n=1000, d=3000, heads=96),
    }
    drags = {"a layer": (CostPlane(), pull("Tokens and width", spot(0.98, 0.98), [], {"n": 2**20, "d": 16}))}
    by_finger = ("a layer",)
    errors = [
        (lambda: CostPlane(n=8), r"'n' trait .* not be less than 16"),
        (lambda: CostPlane(pairs="none"), r"'pairs' trait .* any of \['all', 'half'\]"),
        (lambda: CostPlane(kernel=4), r"'kernel' trait .* any of \[3, 5, 9, 17, 33\]"),
    ]


def test_the_dot_is_dragged_over_the_plane(visit):
    page = visit("bare.html", touch=True, served={"bare.html": bare(CostPlane(), CostPlane())})
    for place, hand in enumerate((Mouse, Finger)):
        node = live(page, place)
        node.evaluate(COUNT_ELEMENTS)
        start = bring(node.get_by_role("slider", name="Tokens and width"))
        x, y = middle(node.locator(".ab-model").nth(4))  # 17 and 12 lines from the lower left
        hand(page).drag([start, *stops(start, (x, y))])
        agree(node, CostPlane(n=2**17, d=2**12), "dragged to a model")
        hand(page).drag([(x, y), *stops((x, y), (x + 900, y - 900))])
        agree(node, CostPlane(n=2**20, d=2**14), "dragged beyond the edge")
        assert page.evaluate("created") == 0


def test_the_border_is_pulled(visit):
    """To the kernel that moves it nearest to mouse or finger."""
    twin = CostPlane(against="convolution")
    page = visit("bare.html", touch=True, served={"bare.html": bare(twin, twin)})
    for place, hand in enumerate((Mouse, Finger)):
        node = live(page, place)
        for way, kernel in ((500, 33), (-500, 3)):
            x, y = bring(node.locator(".ab-grip"))
            hand(page).drag([(x, y), *stops((x, y), (x + way, y))])
            agree(node, CostPlane(against="convolution", kernel=kernel), f"pulled by {way}")


SIDES = """(node) => {
    const shade = node.querySelector(".ab-shade");
    const shaded = (x, y) => shade.isPointInFill(new DOMPoint(x, y).matrixTransform(shade.getScreenCTM().inverse()));
    const ends = ({ left, right, top, bottom }) => [left, right].map((x) => [x, (top + bottom) / 2]);
    return [...node.querySelectorAll(".ab-side")].filter((text) => text.checkVisibility())
        .map((text) => [text.textContent, ...ends(text.getBoundingClientRect()).map(([x, y]) => shaded(x, y))]);
}"""


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desk"])
def test_each_side_says_what_attention_needs_there(visit, viewport):
    """On its own side of the border, wherever that lies; and nothing is said where there is none."""
    farthest = CostPlane(against="convolution", kernel=33, pairs="half")
    nearest = CostPlane(against="convolution", kernel=5, projections="in")
    twins = [CostPlane(), nearest, farthest]
    page = visit("bare.html", viewport=viewport, served={"bare.html": bare(*twins, CostPlane(projections="in"))})
    for place in range(len(twins)):
        said = live(page, place).evaluate(SIDES)
        assert said == [["attention needs less", False, False], ["attention needs more", True, True]], place
    assert live(page, len(twins)).evaluate(SIDES) == []


def test_a_model_is_a_light_to_press(visit):
    page = visit("bare.html", served={"bare.html": bare(CostPlane())})
    live(page).locator(".ab-light").nth(3).click()
    agree(live(page), CostPlane(n=2048, d=12288, heads=96), "GPT-3 pressed")


def test_table_of_costs():
    assert_close(numbers(CostPlane(n=1000, d=100, heads=2))[0], torch.tensor([4e8, 2.5e6]))
    operations = numbers(CostPlane(n=1000, d=100, kernel=5, projections="in"))[:, 0]
    assert_close(operations, torch.tensor([4.8e8, 4e7, 1.2e8, 1.6e8, 1e8]))
    start = "One layer: n = 8,192, d = 512, 8 heads. Self-attention and"
    captions = {
        f"{start} RNN need as many operations where n is 1 times d": {},
        f"{start} convolution need as many operations where n is 2.5 times d": CONVOLUTION,
        f"{start} RNN need as many operations nowhere": {"projections": "in"},
        f"{start} LSTM need as many operations where n is 2 times d": {"projections": "in", "against": "lstm"},
        f"{start} convolution need as many operations nowhere": CONVOLUTION | {"kernel": 3},
        f"{start} RNN need as many operations where n is 2 times d; of the pairs half are computed": {"pairs": "half"},
    }
    for caption, traits in captions.items():
        assert parsed(CostPlane(**traits)).caption.text == caption


def test_what_chapter_7_says_of_it():
    def border(**traits):
        return CostPlane(**traits).crossover()

    assert border() == 1
    assert [border(projections="in", against=cell) for cell in ("recurrence", "gru", "lstm")] == [0, 1, 2]
    assert [border(projections="in", against="convolution", kernel=k) for k in (3, 5, 9)] == [0, 0.5, 2.5]
    causal = [border(projections="in", pairs="half", against=cell) for cell in ("recurrence", "gru", "lstm")]
    assert [border(pairs="half"), *causal] == [2, 0, 2, 4]
    for pairs, share, weights in (("all", 0.94, 2.2), ("half", 0.89, 1.1)):
        llama = {"n": 131072, "d": 4096, "heads": 32, "pairs": pairs}
        layer = SelfAttention(32)
        counted, left_out = CostPlane(**llama, projections="in"), CostPlane(**llama)
        assert round(left_out.operations(layer) / counted.operations(layer), 2) == share
        assert round(4 * (counted.memory(layer) - 5 * counted.n * counted.d) / 1e12, 1) == weights


LISTS = ".jp-RenderedHTMLCommon :is(dl dt, dl dd) { float: left; width: 20% }"


def test_jupyterlab_does_not_lay_out_its_lists(visit):
    """Which it sets side by side, in narrow columns; the style that goes into a notebook counts for more."""
    style = f"<style>{LISTS}</style><style>{CostPlane._css}</style>"
    page = bare(CostPlane()).replace("<body>", f'<body class="jp-RenderedHTMLCommon">{style}')
    opened = visit("lists.html", served={"lists.html": page})
    live(opened)
    opened.locator("[data-afm]").evaluate("(node) => node.classList.add('ab-widget', 'ab-in-cost_plane')")
    names = opened.locator("dt, dd")
    assert names.count() > 0
    assert {names.nth(n).evaluate("(node) => getComputedStyle(node).float") for n in range(names.count())} == {"none"}
    around = opened.locator("dl").first.bounding_box()["width"]
    assert names.first.bounding_box()["width"] > around / 2
