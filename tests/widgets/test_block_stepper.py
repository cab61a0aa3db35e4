"""BlockStepper: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from attnbook import capture_attention
from attnbook.language import count
from attnbook.widgets import BlockStepper
from attnbook.widgets import block_stepper as block_stepper_module
from attnbook.widgets.block_stepper import alike
from tests.widgets.laws import Moving
from tests.widgets.reading import codes, numbers, parsed
from tests.widgets.steps import choose, press, slide

READ = """(node) => {
    const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const texts = (selector) => seen(selector).map((part) => part.textContent);
    const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
    const drawn = (selector, name) => seen(selector).map((part) => part.style.getPropertyValue(name));
    // Of an outline the points that it passes, and not those that only bend it.
    const end = (part) => part.match(/[-\\d.]+/g).slice(-2);
    const banks = (path) => path.getAttribute("d").match(/[MLC][^MLCZ]+/g).flatMap(end);
    return {
        flow: codes(texts(".ab-flow button")),
        pressed: seen(".ab-flow button").map((key) => String(Number(key.ariaPressed === "true"))),
        places: seen(".ab-flow button").map((key) => [
            key.style.getPropertyValue("--at"), String(Number(key.matches(".ab-aside"))),
        ]),
        block: codes([node.querySelector("input[type=range]").getAttribute("aria-valuetext")]),
        says: codes(texts(".ab-says, .ab-says + .ab-hint")),
        numbers: texts(".ab-tensor td:is(.ab-signed, .ab-weight)"),
        signs: drawn(".ab-tensor td.ab-signed", "--s"),
        colours: drawn(".ab-tensor td.ab-weight", "--w"),
        lengths: texts("td.ab-length"),
        names: codes(texts(".ab-tensor th")),
        stream: texts(".ab-stream .ab-number"),
        course: seen(".ab-course path").map(banks),
        here: node.querySelector(".ab-course rect").getAttribute("x"),
        opened: node.querySelector(".ab-flow rect").getAttribute("x"),
        flows: seen(".ab-on path").map(banks),
        past: seen(".ab-past path").map(banks),
        branches: seen(".ab-branches path").map(banks),
        gates: node.querySelector(".ab-gates").getAttribute("d").match(/M[^h]+/g).map((at) => at.slice(1).split(" ")),
        looks: seen(".ab-looks path").map((look) => look.getAttribute("d").match(/[-\\d.]+/g)),
        light: drawn(".ab-looks path", "--w"),
        dry: String(Number(node.querySelector(".ab-flow").dataset.shortcut === "without")),
    };
}"""


RIVER, BRANCH = (32, 12), (82, 6)  # the middle, and how far apart strands are that are not alike at all


def passing(t, xs, lane=RIVER):
    """Where a stretch passes at a place along the way: its middle and half a breadth, for each word."""
    middle, gap = lane
    apart = gap * min(1 - alike(xs), 1)
    return [(t, middle + (i - 2) * apart, 1.25 * x.norm().item()) for i, x in enumerate(xs)]


def held(here, there):
    """What flows stays what it is for three fifths of the way."""
    return [(t + 0.6 * (other[0] - t), m, half) for (t, m, half), other in zip(here, there, strict=True)]


def river(stretches):
    """The points of both banks of each word's strand, there and back, one stretch after the other."""
    words = []
    for i in range(5):
        points = []
        for stretch in stretches:
            places = [place[i] for place in stretch]
            points += [(t, m - half) for t, m, half in places]
            points += [(t, m + half) for t, m, half in reversed(places)]
        words.append(points)
    return torch.tensor(words)


def inside(widget, order, found):
    """What is drawn of the open block."""

    def t(part):
        return 100 * (order.index(part) + 0.5) / 9

    pre = widget.norm == "pre"
    flowing = [part for part in order if part == "in" or "add" in part or ("norm" in part and not pre)]
    stations = {part: passing(t(part), found[part][0]) for part in flowing}
    aside = {
        part: passing(t(part), found[part][0], BRANCH) for part in ("norm1", "norm2", "attention", "hidden", "forward")
    }
    aside["weights"] = passing(t("weights"), found["norm1" if pre else "in"][0], BRANCH)
    way = [(stations[a], held(stations[a], stations[b]), stations[b]) for a, b in pairwise(flowing)]
    on = [(passing(0, found["in"][0]), stations["in"])]
    on += [stretch for stretch, part in zip(way, flowing[1:], strict=True) if "norm" in part]
    on.append((stations[flowing[-1]], passing(100, found[flowing[-1]][0])))
    branches = []
    for a, b in pairwise(flowing):
        between = order[order.index(a) + 1 : order.index(b)]
        branches += [(stations[a], *(aside[part] for part in between), stations[b])] if "add" in b else []
    squeezed = [place for part in ("norm1", "norm2") for place in (aside if pre else stations)[part]]
    looks = [(*a[:2], *b[:2]) for b in aside["attention"] for a in aside["weights"]]
    return {
        "flows": river(on),
        "past": river([stretch for stretch, part in zip(way, flowing[1:], strict=True) if "add" in part]),
        "branches": river(branches),
        "gates": torch.tensor([(x - 1.5, m + side * half) for x, m, half in squeezed for side in (-1, 1)]),
        "looks": torch.tensor(looks),
        "light": found["weights"][0].mean(0),
        "opened": torch.tensor(100 * order.index(widget.part) / 9),
    }


def expected(widget) -> dict[str, Tensor]:
    """An `EncoderBlock` that is watched while it runs."""
    found, xs = {}, [block_stepper_module.words()]

    def watch(block):
        def note(name, given=None):
            def hook(module, inputs, output):
                found[name] = output
                if given:
                    found[given] = inputs[0]

            return hook

        pre = widget.norm == "pre"
        block.self_attention_norm.register_forward_hook(note("norm1", None if pre else "add1"))
        block.self_attention.register_forward_hook(note("attention"))
        block.feed_forward_norm.register_forward_hook(note("norm2", "add1" if pre else "add2"))
        block.feed_forward[1].register_forward_hook(note("hidden"))
        block.feed_forward.register_forward_hook(note("forward"))

    for number in range(1, 7):
        block = block_stepper_module.block(number, widget.norm)
        if widget.shortcut == "without":
            block._residual = lambda norm, x, f: f(norm(x)) if widget.norm == "pre" else norm(f(x))
        if number == widget.block:
            watch(block)
            with capture_attention(block) as maps:
                out = block(xs[-1][None])
            found |= {"in": xs[-1][None], "weights": maps["self_attention"]}
            found |= {"add2": out} if widget.norm == "pre" else {}
        xs.append(block(xs[-1][None])[0])
    shown = found[widget.part]
    is_weights, nothing = widget.part == "weights", torch.tensor([])
    order = ["in", "norm1", "weights", "attention", "add1", "norm2", "hidden", "forward", "add2"]
    if widget.norm == "post":
        order = ["in", "weights", "attention", "add1", "norm1", "hidden", "forward", "add2", "norm2"]
    sizes = torch.stack([x.norm(dim=-1).mean() for x in xs])
    cosines = [F.cosine_similarity(x[:, None], x[None], dim=-1)[~torch.eye(5, dtype=torch.bool)].mean() for x in xs]
    say, five = widget.edition_words(), ["time", "flies", "like", "an", "arrow"]
    if is_weights:
        heads = [*five, *(say["head"].format(n=h, word=word) for h in (1, 2) for word in five)]
    else:
        heads = [*(str(n + 1) for n in range(shown.shape[-1])), say["length"], *five]
    nothing_added = widget.shortcut == "without" and "add" in widget.part
    says = say["none"] if nothing_added else say["says"][widget.part].format(length="2.83")
    shape = say["shape"].format(shape=str(tuple(shown.shape)))
    if widget.part == "hidden":
        shape = count(say["zeros"], int((shown == 0).sum()), shape=str(tuple(shown.shape)))
    flowing = [part for part in order if part == "in" or "add" in part or ("norm" in part and widget.norm == "post")]
    return {
        "flow": codes(*(say["parts"][part] for part in order)),
        "pressed": torch.tensor([part == widget.part for part in order]),
        "places": torch.tensor([(row, part not in flowing) for row, part in enumerate(order, start=1)]),
        "block": codes(f"{widget.block} of 6"),
        "says": codes(says, shape),
        "numbers": shown,
        "signs": nothing if is_weights else shown / shown.abs().max(),
        "colours": shown if is_weights else nothing,
        "lengths": nothing if is_weights else shown.norm(dim=-1),
        "names": codes(*heads),
        "stream": torch.stack([sizes, torch.stack(cosines)]),
        "course": river([[passing(100 * n + 50, x) for n, x in enumerate(xs)]]),
        "here": torch.tensor(100 * widget.block - 50),
        **inside(widget, order, found),
        "dry": torch.tensor(widget.shortcut == "without"),
    }


class TestBlockStepper(Moving):
    kind = BlockStepper
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("weights", {"part": "weights"}),
        *press("attention", {"part": "attention"}),
        *press("hidden layer", {"part": "hidden"}),
        *slide("Block", "block", last=6),
        *choose("norm", "pre"),
        *choose("shortcut", "without"),
        *press("feed-forward", {"part": "forward"}),
        *slide("Block", "block", first=1),
        *press("input", {"part": "in"}),
        *choose("norm", "post"),
    ]
    happens = [*choose("norm", "pre"), *choose("shortcut", "without")]
    changes = [{"part": "weights"}, {"block": 6}, {"norm": "pre"}, {"part": "hidden"}, {"shortcut": "without"}]
    states = {
        "the sums of a post-norm block": BlockStepper(block=6, part="add2"),
        "the sums of a pre-norm block": BlockStepper(norm="pre", block=3, part="add1"),
        "no shortcuts": BlockStepper(shortcut="without", block=2, part="weights"),
        "no shortcuts, the sum": BlockStepper(norm="pre", shortcut="without", block=2, part="add1"),
        "the second norm": BlockStepper(block=4, part="norm2"),
    }
    drags = {"blocks": (BlockStepper(part="weights"), slide("Block", "block", last=6))}
    errors = [
        (lambda: BlockStepper(part="output"), r"'part' trait .* any of \['in', 'weights', "),
        (lambda: BlockStepper(block=7), r"'block' trait .* not be greater than 6"),
    ]


def test_table_of_the_vectors_between_the_blocks():
    assert_close(numbers(BlockStepper())[:3, 0], torch.tensor([3.26, 2.83, 2.83]))
    page = parsed(BlockStepper())
    assert page.caption.text == "Blocks, one after the other"
    assert [th.text for th in page.select("th")[:3]] == ["mean length", "how alike", "after 0"]


def test_what_chapter_9_says_of_it():
    shown = BlockStepper().read()
    assert_close(shown["norm1"].norm(dim=-1), torch.full((5,), 8**0.5).double(), atol=1e-3, rtol=0)
    assert 60 <= (shown["hidden"] == 0).sum() <= 100, "about half of 160"
    sizes = [x.norm(dim=-1).mean() for x in BlockStepper(norm="pre").stream()]
    assert f"{sizes[0]:.2f}" == "3.26"
    assert sizes[-1] > 5
    for norm in ("pre", "post"):
        stream = BlockStepper(norm=norm, shortcut="without").stream()
        assert alike(stream[3]) > 0.995
