"""MaskMap: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import pytest
import torch
from torch import Tensor

from attnbook import DecoderBlock, EncoderBlock
from attnbook.widgets import MaskMap
from tests.browser.hands import Finger, Mouse
from tests.browser.pages import bare
from tests.widgets.laws import Laws, agree, live
from tests.widgets.steps import choose, press, slide, stroke

READ = """(node) => {
        const all = (selector) => [...node.querySelectorAll(selector)];
        const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
        const is = (parts, name) => parts.map((part) => String(Number(part.matches(name))));
        const cells = all("[role=gridcell]");
        const [knows, next] = node.querySelector(".ab-knows").textContent.split(". ");
        return {
            tokens: codes(all("[role=grid] th").map((head) => head.textContent)),
            sees: is(cells, ".ab-yes"),
            hidden: is(cells, ".ab-no"),
            framed: is(cells, ".ab-wrong"),
            reaches: is(all("[role=grid] thead th"), ".ab-reaches"),
            here: is(all("[role=grid] tbody tr"), ".ab-here"),
            layers: knows.match(/\\d/),
            knows: codes(knows.split(": ")[1].replace(/\\.$/, "").split(", ")),
            next: codes(next?.match(/(?<=“).*(?=”)/) ?? []),
            found: all(".ab-found li:not([hidden])").map((line) => {
                const kinds = ["Told", "See", "Know", "Can't"];
                const names = line.textContent.match(/(?<=: )[^.]*/)?.[0].split(", ") ?? [];
                return [String(kinds.indexOf(line.textContent.match(/^[A-Z][a-z']+/)[0])), ...codes(names)];
            }),
            said: codes(cells.map((cell) => cell.ariaLabel)),
        };
    }"""


def expected(widget) -> dict[str, Tensor]:
    """Who knows of whom, from the gradients of a model with these masks."""
    names, seen = widget.tokens(), widget.mask()
    right = MaskMap(source=widget.source, target=widget.target).mask()
    torch.manual_seed(0)
    encoder = [EncoderBlock(8, 2, 16, 0.0, norm="pre").double() for _ in range(widget.layers)]
    decoder = [DecoderBlock(8, 2, 16, 0.0, norm="pre").double() for _ in range(widget.layers)]

    def outputs(x):
        memory, y = x[None, :5], x[None, 5:]
        for block in encoder:
            memory = block(memory, seen[:5, :5])
        for block in decoder:
            y = block(y, memory, seen[5:, 5:], seen[5:, :5])
        return torch.cat([memory, y], 1)[0]

    x = torch.randn(10, 8, dtype=torch.float64, requires_grad=True)
    sums = (outputs(x) * torch.randn(10, 8)).sum(1)  # one number a row, on which all its numbers have an effect
    slopes = [torch.autograd.grad(number, x, retain_graph=True)[0] for number in sums]
    reach = torch.stack(slopes).abs().amax(-1) > 0
    real = [name != "pad" for name in names]
    where = range(10)
    bad = {
        "told": [i for i in where if i > 4 and any(j > i and real[j] and reach[i, j] for j in where)],
        "blind": [i for i in where if not seen[i, :5].any() or (i > 4 and not seen[i, 5:].any())],
        "pads": [i for i in where if any(reach[i, j] and not real[j] for j in where)],
        "missed": [i for i in where if any(not reach[i, j] and real[j] for j in range(5))],
    }
    lines = {n: [names[i] for i in rows if real[i]] for n, rows in enumerate(bad.values())}
    lines = {n: line for n, line in lines.items() if line} or {-1: []}
    codes = lambda texts: torch.tensor([ord(letter) for text in texts for letter in text])  # noqa: E731
    follows = [*["le", "chat", "noir", "dort"][: widget.target - 1], "stop"]
    parts = {(False, False): " (encoder: source asks source)", (False, True): ""}
    parts |= {(True, False): " (cross-attention: target asks source)", (True, True): " (decoder: target asks target)"}
    may = lambda i, j: "never" if i < 5 <= j else "may look" if seen[i, j] else "may not look"  # noqa: E731
    said = [f"{names[i]}, {names[j]}: {may(i, j)}{parts[i > 4, j > 4]}" for i in where for j in where]
    here, never = widget.row, torch.zeros(10, 10, dtype=torch.bool)
    never[:5, 5:] = True
    return {
        "tokens": codes(names + names),
        "sees": seen,
        "hidden": ~seen & ~never,
        "framed": seen != right,
        "reaches": reach[here],
        "here": torch.arange(10) == here,
        "layers": torch.tensor(widget.layers),
        "knows": codes([names[j] for j in where if reach[here, j]]),
        "next": codes([follows[here - 5]] if here > 4 and real[here] else []),
        "found": torch.cat([torch.tensor([n, *codes(line).tolist()]) for n, line in lines.items()]),
        "said": codes(said),
    }


class TestMaskMap(Laws):
    kind = MaskMap
    read = READ
    expected = staticmethod(expected)
    steps = [
        *choose("mistake", "ahead", "strict", "pads", "cross", "encoder"),
        *slide("Tokens of the source", "source", first=2, last=5),
        *slide("Tokens of the target", "target", first=1, last=5),
        *stroke([[6, 8], [6, 9]], "flipped", row=6),
        *slide("Layers", "layers", first=1, last=3),
        *stroke([[1, 1]], "flipped", row=1),
        *press("Undo all changes", {"flipped": [], "mistake": "none"}),
    ]
    changes = [
        {"mistake": "ahead"},
        {"source": 2},
        {"layers": 1},
        {"flipped": [[0, 1], [9, 9], [12, 3], [0, 7]]},
        {"target": 3},
        {"row": 0},
    ]
    states = {
        "cells of a row that is padding": MaskMap(source=2, target=1, row=3, flipped=[[3, 4], [0, 4]]),
        "a padded target": MaskMap(target=2, row=9, layers=1, flipped=[[6, 7], [2, 7], [5, 5]]),
        "a Transformer": MaskMap(source=5, layers=3, row=9),
    }
    drags = {"masks": (MaskMap(), stroke([[6, 8], [6, 9]], "flipped", row=6))}
    by_finger = ("masks",)
    errors = [
        (lambda: MaskMap(source=1), r"'source' trait .* not be less than 2"),
        (lambda: MaskMap(mistake="all"), r"'mistake' trait .* any of \['none', 'ahead', "),
    ]


@pytest.mark.parametrize("hand", [Mouse, Finger])
def test_a_stroke_does_to_all_cells_what_it_does_to_the_first(visit, hand):
    """Which may look: hidden. One in between that was hidden already stays so; cells that never look don't count."""
    twin = MaskMap(flipped=[[6, 9]])
    page = visit("bare.html", touch=hand is Finger, served={"bare.html": bare(twin)})
    cell = lambda i, j: live(page).locator("[role=grid] tbody tr").nth(i).locator("td").nth(j)  # noqa: E731
    hand(page).sweep([cell(6, j) for j in (6, 7, 8, 9)])
    agree(live(page), MaskMap(flipped=[[6, 6]], row=6), "from one that may look")
    hand(page).sweep([cell(i, 6) for i in (4, 5, 6, 7)])
    agree(live(page), MaskMap(flipped=[[5, 6]], row=7), "from above, where nobody ever looks")
