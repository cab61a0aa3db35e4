"""BlockStepper: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import capture_attention
from attnbook.widgets import BlockStepper
from attnbook.widgets import block_stepper as block_stepper_module
from tests.widgets.laws import Laws
from tests.widgets.steps import choose, press, slide

READ = """(node) => {
        const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        const texts = (selector) => seen(selector).map((part) => part.textContent);
        const names = ["input", "norm 1", "weights", "attention", "sum 1", "hidden layer", "feed-forward", "norm 2",
            "sum 2"];
        return {
            flow: texts(".ab-flow button").map((name) => String(names.indexOf(name))),
            pressed: seen(".ab-flow button").map((key) => String(Number(key.ariaPressed === "true"))),
            numbers: texts(".ab-tensor td:is(.ab-signed, .ab-weight)"),
            signs: seen(".ab-tensor td.ab-signed").map((cell) => cell.style.getPropertyValue("--s")),
            colours: seen(".ab-tensor td.ab-weight").map((cell) => cell.style.getPropertyValue("--w")),
            lengths: texts(".ab-tensor .ab-length"),
            shape: node.querySelector(".ab-says + .ab-hint").textContent.match(/\\d+/g),
            names: texts(".ab-tensor th").flatMap((name) => [...name].map((letter) => String(letter.codePointAt(0)))),
            says: String([/^What this block/, /^Each vector/, /^Self-att/, /^What att/, /^Shortcut.*attention/,
                /^Again/, /^Inside/, /^Back/, /^Shortcut.*feed-forward/, /^Without/]
                .findIndex((start) => start.test(node.querySelector(".ab-says").textContent))),
            stream: texts(".ab-stream .ab-number"),
            bars: seen(".ab-stream i").map((bar) => bar.style.getPropertyValue("--w")),
            here: seen(".ab-stream tbody tr").map((row) => String(Number(row.matches(".ab-here")))),
        };
    }"""


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
    names = ["in", "norm1", "weights", "attention", "add1", "hidden", "forward", "norm2", "add2"]
    sizes = torch.stack([x.norm(dim=-1).mean() for x in xs])
    cosines = [F.cosine_similarity(x[:, None], x[None], dim=-1)[~torch.eye(5, dtype=torch.bool)].mean() for x in xs]
    says = ["in", "norm1", "weights", "attention", "add1", "norm2", "hidden", "forward", "add2"]
    five = ["time", "flies", "like", "an", "arrow"]
    if is_weights:
        heads = [*five, *(f"head {h}: {word}" for h in (1, 2) for word in five)]
    else:
        heads = [*(str(n + 1) for n in range(shown.shape[-1])), "length", *five]
    zeros = [(shown == 0).sum()] if widget.part == "hidden" else []
    return {
        "flow": torch.tensor([names.index(part) for part in order]),
        "pressed": torch.tensor([part == widget.part for part in order]),
        "numbers": shown,
        "signs": nothing if is_weights else shown / shown.abs().max(),
        "colours": shown if is_weights else nothing,
        "lengths": nothing if is_weights else shown.norm(dim=-1),
        "shape": torch.tensor([*shown.shape, *zeros]),
        "names": torch.tensor([ord(letter) for name in heads for letter in name]),
        "says": torch.tensor(9 if widget.shortcut == "without" and "add" in widget.part else says.index(widget.part)),
        "stream": torch.stack([sizes, torch.stack(cosines)], -1),
        "bars": sizes / sizes.max(),
        "here": torch.arange(7) == widget.block,
    }


class TestBlockStepper(Laws):
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
