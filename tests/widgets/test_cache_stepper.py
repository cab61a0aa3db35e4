"""CacheStepper: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right

from attnbook import KVCache, MultiHeadAttention, causal
from attnbook.language import count
from attnbook.widgets import CacheStepper
from tests.widgets.laws import Moving
from tests.widgets.reading import codes, numbers, parsed
from tests.widgets.steps import choose, press, slide

READ = """(node) => {
    const all = (selector) => [...node.querySelectorAll(selector)];
    const is = (parts, name) => parts.map((part) => String(Number(part.matches(name))));
    const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
    const cells = all(".ab-map tbody:last-child td");
    const shelves = all(".ab-shelves td");
    const values = all(":not(.ab-motion) > input[type=range]").map((slider) => slider.getAttribute("aria-valuetext"));
    const [now, sum, wrong, weighs] = all("[role=status]");
    return {
        cells: cells.map((cell) => String(["now", "kept", "never"].findIndex((is) => cell.matches(`.ab-${is}`)))),
        labels: codes(cells.map((cell) => cell.ariaLabel)),
        framed: is(cells, ".ab-off"),
        later: is(all(".ab-map tbody:last-child tr"), ".ab-later"),
        shelves: shelves.map((spot) => String(["now", "kept", "later"].findIndex((is) => spot.matches(`.ab-${is}`)))),
        places: codes(shelves.map((spot) => spot.ariaLabel)),
        meter: node.querySelector(".ab-meter").style.getPropertyValue("--w"),
        said: codes([now, sum, wrong].map((part) => part.textContent)),
        weighs: weighs.querySelector("span").textContent,
        sliders: codes(values),
    };
}"""


LLAMA = 2 * 8_030_261_248  # what its parameters weigh, in bytes


def expected(widget) -> dict[str, Tensor]:
    """A layer that is watched while it reads and writes; what it may see is read off its weights."""
    read = list(range(0, widget.prompt, widget.chunk))
    stops = [*read[1:], *range(widget.prompt, 9)]
    step = min(widget.step, len(stops))
    layer, x = MultiHeadAttention(D=4, heads=1), torch.randn(1, 8, 4)
    rows = {}
    for kept in (True, False):
        projected, cache = [], KVCache()
        handle = layer.key.register_forward_hook(lambda _, inputs, __, seen=projected: seen.append(inputs[0].shape[1]))
        for start, end in zip([0, *stops], stops[:step], strict=False):
            if kept:
                layer(x[:, start:end], mask=causal(end - start, end), cache=cache)
            else:
                layer(x[:, :end], mask=causal(end))
        handle.remove()
        rows[kept] = projected
    mine = rows[widget.cache == "with"]
    end, L = stops[step - 1], mine[-1]
    cells, framed = torch.full((8, 8), 2), torch.zeros(8, 8, dtype=torch.bool)
    begins = [0, *stops[:step]] if widget.cache == "with" else [0, end]
    for start, stop in pairwise(begins):
        ask, keys = torch.zeros(1, stop - start, 1), torch.zeros(1, stop, 1)
        corner = {"attn_mask": causal_lower_right(stop - start, stop)._materialize("cpu")}
        options = corner if widget.align == "last" else {"is_causal": True}
        sees = F.scaled_dot_product_attention(ask, keys, torch.eye(stop)[None], **options)[0] > 0
        cells[start:stop, :stop] = torch.where(sees, 0 if stop == end else 1, 2)
        framed[start:stop, :stop] = sees != torch.ones(8, 8).tril()[start:stop, :stop].bool()
    heads = {"MHA": 32, "GQA": 8, "MQA": 1}[widget.heads]
    keys = torch.empty(32, heads, widget.tokens, 128, dtype=torch.bfloat16, device="meta")
    say = widget.edition_words()
    kept, so_far, instead = widget.cache == "with", sum(mine), sum(rows[widget.cache != "with"])
    now = say["now"].format(rows=count(say["rows"], L), scores=count(say["scores"], int(sees.sum())))
    total = count(say["sum"]["with" if kept else "without"], so_far, instead=instead)
    wrong = count(say["wrong"], int(framed.sum())) if framed.any() else say["right"]
    tokens = [count(say["tokens"], n) for n in (widget.prompt, widget.chunk)]
    places = [2 if j >= end else 1 if j < end - L else 0 for j in range(8)]
    return {
        "cells": cells,
        "labels": codes(*(list(say["cell"].values())[kind] for kind in cells.flatten())),
        "framed": framed,
        "later": torch.arange(8) >= end,
        "said": codes(now, total, wrong),
        "weighs": torch.tensor(2 * keys.nbytes),
        "shelves": torch.tensor(places * 2),
        "places": codes(*(list(say["place"].values())[kind] for kind in places * 2)),
        "meter": torch.tensor(keys.nbytes / LLAMA, dtype=torch.float64).clamp(max=1),
        "sliders": codes(f"{step} of {len(stops)}", *tokens, f"{widget.tokens:,}"),
    }


class TestCacheStepper(Moving):
    kind = CacheStepper
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("Forward", {"step": 4}),
        *choose("align", "first"),
        *slide("Step", "step", last=5),
        *choose("cache", "without"),
        *press("Back", {"step": 4}),
        *slide("At a time", "chunk", first=1, last=8),
        *slide("Prompt", "prompt", first=1, last=8),
        *choose("cache", "with"),
        *choose("heads", "MHA", "MQA"),
        *slide("In the cache", "tokens", first=64, last=131072),
    ]
    happens = [*press("Forward", {"step": 4}), *press("Forward", {"step": 5})]
    changes = [
        {"step": 1},
        {"align": "first"},
        {"cache": "without"},
        {"prompt": 8},
        {"chunk": 1},
        {"heads": "MQA"},
        {"tokens": 64},
    ]
    states = {
        "a prompt in chunks, the wrong corner": CacheStepper(align="first", chunk=2, step=2, heads="MHA"),
        "one token and no cache": CacheStepper(cache="without", prompt=1, chunk=8, step=8, align="first"),
        "the first chunk": CacheStepper(prompt=8, chunk=3, step=1, tokens=131072, heads="MQA"),
    }
    drags = {"decoding": (CacheStepper(), slide("Step", "step", last=5))}
    errors = [
        (lambda: CacheStepper(prompt=9), r"'prompt' trait .* not be greater than 8"),
        (lambda: CacheStepper(heads="GTA"), r"'heads' trait .* any of \['MHA', 'GQA', 'MQA'\]"),
    ]


def test_table_of_the_steps():
    assert numbers(CacheStepper()).tolist() == [[3, 3, 6], [5, 2, 9], [6, 1, 6], [7, 1, 7], [8, 1, 8]]
    assert numbers(CacheStepper(align="first"))[:, 2].tolist() == [6, 3, 1, 1, 1]
    assert numbers(CacheStepper(cache="without"))[:, 1].tolist() == [3, 5, 6, 7, 8]
    page = parsed(CacheStepper())
    assert page.caption.text == "Writing, step by step"
    assert [head.text for head in page.select("th")[:4]] == ["tokens known", "rows computed", "keys they see", "step 1"]


def test_what_chapter_10_says_of_it():
    def steps(**traits):
        return [CacheStepper(step=step, **traits) for step in range(1, 6)]

    assert sum(numbers(CacheStepper())[:, 1]) == 8
    assert sum(numbers(CacheStepper(cache="without"))[:, 1]) == 29
    pairs = [(x.mask(), y.mask()) for x, y in zip(steps(align="first"), steps(), strict=True)]
    assert [bool((x != y).any(1).all()) for x, y in pairs] == [False, True, True, True, True]
    assert torch.equal(*pairs[0])
    assert pairs[-1][0].tolist() == [[True] + 7 * [False]]
    again = steps(cache="without", align="first")
    assert all(torch.equal(x.mask(), y.mask()) for x, y in zip(again, steps(cache="without"), strict=True))
    for heads, tokens in (("MHA", 32768), ("GQA", 131072)):
        weighs = [CacheStepper(heads=heads, tokens=n).bytes() for n in (tokens // 2, tokens)]
        assert weighs[0] < 16e9 < weighs[1]
    assert CacheStepper(heads="MHA", tokens=30_500).bytes() < 16e9 < CacheStepper(heads="MHA", tokens=30_530).bytes()
