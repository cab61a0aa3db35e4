"""MaskMap: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
from torch import Tensor

from attnbook import DecoderBlock, EncoderBlock, causal
from attnbook.language import count
from attnbook.widgets import MaskMap
from tests.browser.hands import Finger, Mouse
from tests.browser.pages import bare
from tests.widgets.laws import Laws, agree, live
from tests.widgets.reading import codes, parsed
from tests.widgets.steps import choose, press, slide, stroke

READ = """(node) => {
    const all = (selector) => [...node.querySelectorAll(selector)];
    const texts = (selector) => all(selector).map((part) => part.textContent);
    const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
    const is = (parts, name) => parts.map((part) => String(Number(part.matches(name))));
    const cells = all("[role=gridcell]");
    return {
        tokens: codes(texts("[role=grid] th")),
        sees: is(cells, ".ab-yes"),
        hidden: is(cells, ".ab-no"),
        framed: is(cells, ".ab-wrong"),
        reaches: is(all("[role=grid] thead th"), ".ab-reaches"),
        here: is(all("[role=grid] tbody tr"), ".ab-chosen"),
        lit: is(all(".ab-layer:not([hidden]) i"), ".ab-lit"),
        labels: codes(cells.map((cell) => cell.ariaLabel)),
        knows: codes(texts(".ab-knows")),
        found: codes(texts(".ab-found li:not([hidden])")),
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    """Who knows of whom, from the gradients of a model with these masks."""
    names, seen = widget.tokens(), widget.mask()
    right = MaskMap(source=widget.source, target=widget.target).mask()
    torch.manual_seed(0)
    encoder = [EncoderBlock(8, 2, 16, 0.0, norm="pre").double() for _ in range(widget.layers)]
    decoder = [DecoderBlock(8, 2, 16, 0.0, norm="pre").double() for _ in range(widget.layers)]

    def layers(x):
        """What each layer gives: of the encoder, of the decoder."""
        read, written = [x[None, :5]], [x[None, 5:]]
        for block in encoder:
            read.append(block(read[-1], seen[:5, :5]))
        for block in decoder:
            written.append(block(written[-1], read[-1], seen[5:, 5:], seen[5:, :5]))
        return read[1:], written[1:]

    x = torch.randn(10, 8, dtype=torch.float64, requires_grad=True)
    read, written = layers(x)
    sums = (torch.cat([read[-1], written[-1]], 1)[0] * torch.randn(10, 8)).sum(
        1
    )  # one number a row, on which all its numbers have an effect
    slopes = [torch.autograd.grad(number, x, retain_graph=True)[0] for number in sums]
    reach = torch.stack(slopes).abs().amax(-1) > 0
    slopes = torch.autograd.grad(sums[widget.row], read + written, retain_graph=True, materialize_grads=True)
    lit = torch.stack(slopes)[:, 0].abs().amax(-1) > 0
    real = [name != "pad" for name in names]
    where = range(10)
    bad = {
        "told": [i for i in where if i > 4 and any(j > i and real[j] and reach[i, j] for j in where)],
        "blind": [i for i in where if not seen[i, :5].any() or (i > 4 and not seen[i, 5:].any())],
        "pads": [i for i in where if any(reach[i, j] and not real[j] for j in where)],
        "missed": [i for i in where if any(not reach[i, j] and real[j] for j in range(5))],
    }
    named = {what: [names[i] for i in rows if real[i]] for what, rows in bad.items()}
    say, here = widget.edition_words(), widget.row
    found = [say["found"][what].format(names=say["list"].join(line)) for what, line in named.items() if line]
    gaps = {"token": names[here], "names": say["list"].join(names[j] for j in where if reach[here, j])}
    follows = [*["le", "chat", "noir", "dort"][: widget.target - 1], "stop"]
    if here > 4 and real[here]:
        knows = count(say["writes"], widget.layers, next=follows[here - 5], **gaps)
    else:
        knows = count(say["knows"], widget.layers, **gaps)
    never = torch.zeros(10, 10, dtype=torch.bool)
    never[:5, 5:] = True

    def label(i, j):
        is_so = "never" if never[i, j] else "yes" if seen[i, j] else "no"
        part = "encoder" if i < 5 else "cross" if j < 5 else "decoder"
        return say["cell"][is_so].format(row=names[i], column=names[j], part=say["parts"][part])

    return {
        "tokens": codes(*names, *names),
        "sees": seen,
        "hidden": ~seen & ~never,
        "framed": seen != right,
        "reaches": reach[here],
        "here": torch.arange(10) == here,
        "lit": torch.cat([lit[: widget.layers], lit[widget.layers :]], 1).flip(0),  # the last layer stands at the top
        "labels": codes(*(label(i, j) for i in where for j in where)),
        "knows": codes(knows),
        "found": codes(*(found or [say["fine"]])),
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


def test_a_stroke_does_to_all_cells_what_it_does_to_the_first(visit):
    """Which may look: hidden. One in between that was hidden already stays so; cells that never look don't count."""
    twin = MaskMap(flipped=[[6, 9]])
    page = visit("bare.html", touch=True, served={"bare.html": bare(twin, twin)})
    for place, hand in enumerate((Mouse, Finger)):
        node = live(page, place)
        cell = lambda i, j, node=node: node.locator("[role=grid] tbody tr").nth(i).locator("td").nth(j)  # noqa: E731
        hand(page).sweep([cell(6, j) for j in (6, 7, 8, 9)])
        agree(node, MaskMap(flipped=[[6, 6]], row=6), "from one that may look")
        hand(page).sweep([cell(i, 6) for i in (4, 5, 6, 7)])
        agree(node, MaskMap(flipped=[[5, 6]], row=7), "from above, where nobody ever looks")


def test_table_of_all_masks():
    cells = [cell.text for cell in parsed(MaskMap(source=2)).select("td")[1:]]
    sees = torch.tensor([cell == "may look" for cell in cells]).view(10, 10)
    assert torch.equal(sees[5:, 5:], causal(5))
    assert sees[:, 0].all()
    assert not sees[:, 2:5].any()
    assert not sees[:5, 5:].any()
    page = parsed(MaskMap())
    assert page.caption.text == "Who may look at whom: rows are queries, columns are keys"
    assert page.select_one("th").text == "the"


def test_what_chapter_9_says_of_it():
    leak = [[6, 8]]
    assert MaskMap(flipped=leak).findings()["told"] == ["le", "chat"]
    assert MaskMap(flipped=leak, layers=1).findings()["told"] == ["le"]
    crossed = MaskMap(mistake="cross")
    assert crossed.findings() == {"pads": ["dort"]}
    assert crossed.reach()[5, :4].all()
    assert MaskMap(mistake="strict").findings() == {"blind": ["start"]}
    source, target = ["the", "black", "cat", "stop"], ["start", "le", "chat", "noir", "dort"]
    assert MaskMap(mistake="ahead").findings() == {"told": target[:-1]}
    assert MaskMap(mistake="pads").findings() == {"pads": source + target}
    assert MaskMap(mistake="encoder").findings() == {"missed": source[:-1]}
    assert MaskMap(target=3).findings() == {}
