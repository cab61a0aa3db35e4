"""WindowMap: what it shows and what masks and caches say of it, how it is worked, what is known of it besides."""

from functools import cache

import pytest
import torch
from torch import Tensor

from attnbook import KVCache, MultiHeadAttention, causal, sliding_window
from attnbook.data.models import named_models
from attnbook.language import count
from attnbook.widgets import WindowMap
from attnbook.widgets.window_map import PRESETS, TOKENS
from tests.browser.pages import bare
from tests.widgets.laws import Laws, agree, live
from tests.widgets.reading import codes, parsed
from tests.widgets.steps import press, slide

READ = """(node) => {
    const all = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
    const is = (name) => all(".ab-dots i").map((dot) => String(Number(dot.matches(`.ab-${name}`))));
    const corners = (path) => path.getAttribute("d").match(/[\\d.]+/g);
    return {
        lit: is("lit"),
        asks: is("asks"),
        global: all(".ab-levels .ab-level").map((level) => String(Number(level.matches(".ab-global")))),
        kept: all(".ab-levels .ab-kept").map((kept) => kept.textContent.replace(/\\D/g, "") || "0"),
        figures: all(".ab-number").map((figure) => figure.textContent),
        beams: all("path").flatMap(corners),
        said: codes(all("p[role=status]").map((part) => part.textContent)),
    };
}"""


@cache
def kept(**window) -> int:
    """Tokens in a real cache while the last one is computed: those that a layer has kept, and its own."""
    layer, cache = MultiHeadAttention(D=4, heads=1, **window), KVCache()
    with torch.no_grad():
        for token in torch.zeros(1, TOKENS - 1, 4).split(1, dim=1):
            layer(token, cache=cache)
    return cache.nbytes // (4 * 8) + 1


def beams(widget, lit: Tensor) -> list[float]:
    """The corners of the light: from each run of lit vectors through their window, and from the last to the sinks."""
    corners = []
    for n in range(1, widget.layers + 1):  # as they stand in the picture: the lowest layer's first
        row, everything = lit[n].tolist(), bool(widget.every) and n % widget.every == 0
        starts = [i for i in range(TOKENS) if row[i] and not (i and row[i - 1])]
        ends = [i for i in range(TOKENS) if row[i] and not (i + 1 < TOKENS and row[i + 1])]
        through = [
            (a, b, 0 if everything else max(a - widget.window + 1, 0), b) for a, b in zip(starts, ends, strict=True)
        ]
        if not everything and 0 < widget.sinks <= through[-1][2]:
            through.append((*through[-1][:2], 0, widget.sinks - 1))
        top, bottom = widget.layers - n + 0.5, widget.layers - n + 1.5
        for a, b, c, d in through:
            corners += [a + 0.2, top, b + 0.8, d + 0.9, bottom, c + 0.1]
    return corners


def expected(widget) -> dict[str, Tensor]:
    """Reach by products of masks, and caches that are filled."""
    local = sliding_window(TOKENS, window=widget.window, sinks=widget.sinks)
    wide = [bool(widget.every) and n % widget.every == 0 for n in range(1, widget.layers + 1)]
    masks = [causal(TOKENS) if everything else local for everything in wide]
    ask = torch.eye(TOKENS)[widget.token]
    lit = [ask]
    for mask in masks[::-1]:
        lit.insert(0, (lit[0] @ mask.float()).clamp(max=1))
    lit = torch.stack(lit)
    cached = [kept() if everything else kept(window=widget.window, sinks=widget.sinks) for everything in wide]
    words, reached = widget.edition_words(), int(lit[0].sum())
    said = [count(words["said"], reached, token=str(widget.token + 1))]
    full = words["full"]["none"]
    for name, preset in PRESETS.items():
        if preset == (widget.window, widget.every, widget.sinks, widget.layers):
            model = named_models()[name]
            reach = model.layers * (model.window - 1) + 1
            numbers = {"layers": model.layers, "window": model.window, "reach": reach}
            numbers |= {"local": model.count("W"), "global": model.count("G")}
            form = words["full"]["mixed" if model.count("G") else "windows"]
            full = form.format(name=name, **{key: f"{n:,}" for key, n in numbers.items()})
    share = sum(mask.sum() for mask in masks) / (widget.layers * causal(TOKENS).sum())
    figures = [widget.layers * (widget.window - 1) + 1, 100 * float(share), sum(cached), widget.layers * TOKENS]
    asks = torch.zeros_like(lit)
    asks[-1] = ask
    return {
        "lit": lit.flip(0),
        "asks": asks.flip(0),
        "global": torch.tensor([*wide[::-1], False]),
        "kept": torch.tensor([*cached[::-1], 0]),
        "figures": torch.tensor(figures, dtype=torch.float64),
        "beams": torch.tensor(beams(widget, lit > 0), dtype=torch.float64),
        "said": codes(*said, full),
    }


class TestWindowMap(Laws):
    kind = WindowMap
    read = READ
    expected = staticmethod(expected)
    steps = [
        *slide("Token", "token", first=0, last=31),
        *slide("Window w", "window", first=1, last=32),
        *press("gpt-oss-120b", {"window": 3, "every": 2, "sinks": 0, "layers": 8}),
        *slide("First ones kept", "sinks", last=4),
        *slide("Global layers", "every", first=0, last=8),
        *slide("Layers n", "layers", first=1),
        *press("Mistral 7B", {"window": 4, "every": 0, "sinks": 0, "layers": 8}),
        *press("Gemma 3 27B", {"every": 6}),
        *press("OLMo 3 32B", {"window": 6, "every": 4}),
    ]
    changes = [{"token": 20}, {"window": 2}, {"layers": 8}, {"every": 3}, {"sinks": 2}, {"every": 0}]
    states = {
        "sinks far from the window": WindowMap(window=3, sinks=4, layers=2),
        "sinks within the window": WindowMap(window=8, sinks=4, layers=5, token=17),
        "the first token": WindowMap(token=0, sinks=3, layers=8),
        "tokens before the sinks' end": WindowMap(token=2, sinks=4, window=1),
        "a window of everything": WindowMap(window=32),
        "all layers global": WindowMap(every=1, layers=3),
        "sinks and global layers": WindowMap(window=4, every=6, layers=8, sinks=2, token=29),
    }
    errors = [(lambda: WindowMap(token=32), "'token' trait .* not be greater than 31")]

    def test_a_press_on_the_picture_asks_for_the_token_there(self, visit):
        page = visit("bare.html", served={"bare.html": bare(WindowMap())})
        node = live(page)
        box = node.locator("svg").bounding_box()
        page.mouse.click(box["x"] + box["width"] * 10.5 / TOKENS, box["y"] + box["height"] / 2)
        agree(node, WindowMap(token=10), "a press on the picture")


@pytest.mark.parametrize("layers", [1, 2, 5, 8])
@pytest.mark.parametrize("window", [1, 2, 4])
def test_windows_alone_reach_n_times_w_less_one_and_one(layers, window):
    widget = WindowMap(layers=layers, window=window)
    assert widget.reach()[0].sum() == widget.alone() == layers * (window - 1) + 1


@pytest.mark.parametrize("name", PRESETS)
def test_presets_have_the_pattern_of_their_models(name):
    """Smaller, and of the same kinds in the same order."""
    window, every, sinks, layers = PRESETS[name]
    model = named_models()[name]
    widget = WindowMap(window=window, every=every, sinks=sinks, layers=layers)
    assert "".join("G" if widget.sees_all(n) else "W" for n in range(1, layers + 1)) == model.kinds[:layers]
    assert model.count("G") == (model.layers // every if every else 0)


def test_table_of_levels():
    page = parsed(WindowMap(window=4))
    assert page.caption.text == "6 layers, a window of 4 tokens; 23.1 % of all pairs are computed"
    assert [cell.text for cell in page.select("td")[1:5]] == ["1", "4", "4", "4"]
