"""Six encoder blocks, module by module: what goes in, what comes out, and how long the vectors are."""

import torch
import traitlets
from torch import Tensor

from attnbook.language import number
from attnbook.layers.capture import capture_attention
from attnbook.layers.positions import sinusoidal
from attnbook.models.transformer import EncoderBlock
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.random import normals
from attnbook.widgets.shared.tables import html_table

WORDS = ["time", "flies", "like", "an", "arrow"]
D, HEADS, HIDDEN, BLOCKS = 8, 2, 32, 6
PARTS = {
    "post": ["in", "weights", "attention", "add1", "norm1", "hidden", "forward", "add2", "norm2"],
    "pre": ["in", "norm1", "weights", "attention", "add1", "norm2", "hidden", "forward", "add2"],
}


class BlockStepper(BookWidget):
    """Untrained blocks of width 8 with 2 heads read five words; `part` of block number `block` is shown.

    >>> {part: tuple(x.shape) for part, x in BlockStepper().read().items() if part in ("in", "weights", "hidden")}
    {'in': (5, 8), 'weights': (2, 5, 5), 'hidden': (5, 32)}
    """

    norm = traitlets.Enum(list(PARTS), "post").tag(sync=True)
    shortcut = traitlets.Enum(["with", "without"], "with").tag(sync=True)
    block = traitlets.Int(1, min=1, max=BLOCKS).tag(sync=True)
    part = traitlets.Enum(PARTS["post"], "in").tag(sync=True)

    def read(self) -> dict[str, Tensor]:
        """Every tensor of the block, in the order in which they are made."""
        x = self.stream()[self.block - 1]
        return _through(block(self.block, self.norm), x, self.shortcut == "with")

    def stream(self) -> list[Tensor]:
        """What goes into the first block, and what comes out of each: (5, 8)."""
        xs = [words()]
        for n in range(1, BLOCKS + 1):
            *_, out = _through(block(n, self.norm), xs[-1], self.shortcut == "with").values()
            xs.append(out)
        return xs

    def table(self) -> str:
        say, stream, rows = self.edition_words()["table"], self.edition_words()["stream"], []
        for n, x in enumerate(self.stream()):
            rows.append((say["after"].format(n=n), [number(x.norm(dim=-1).mean().item()), number(alike(x))]))
        return html_table(say["caption"], [stream["length"], stream["alike"]], rows)


def words() -> Tensor:
    return normals(0, len(WORDS) * D).view(-1, D) + sinusoidal(len(WORDS), D, dtype=torch.float64)


def block(number: int, norm: str) -> EncoderBlock:
    """An encoder block whose matrices are random, of typical size 1/√(numbers that come in), and no biases."""
    made = EncoderBlock(D, HEADS, HIDDEN, 0.0, norm=norm).double().requires_grad_(False)
    matrices = [p for p in made.parameters() if p.ndim == 2]  # query, key, value, output; then the two of feed-forward
    draws = normals(number, sum(p.numel() for p in matrices))
    for p, numbers in zip(matrices, draws.split([p.numel() for p in matrices]), strict=True):
        p.copy_(numbers.view_as(p) / p.shape[1] ** 0.5)
    for name, p in made.named_parameters():
        if name.endswith("bias"):
            p.zero_()
    return made


def alike(x: Tensor) -> float:
    """The mean cosine of two different words."""
    units = x / x.norm(dim=-1, keepdim=True)
    n = len(x)
    return ((units @ units.T).sum() - n).item() / (n * (n - 1))


def _through(block: EncoderBlock, x: Tensor, shortcut: bool) -> dict[str, Tensor]:
    found = {"in": x}
    first = block.norm == "pre"
    layers = (block.self_attention_norm, block.self_attention), (block.feed_forward_norm, block.feed_forward)
    for n, (norm, layer) in enumerate(layers, start=1):
        given = x
        if first:
            given = found[f"norm{n}"] = norm(x)
        if n == 1:
            with capture_attention(layer) as maps:
                out = layer(given[None])[0]
            found |= {"weights": maps[""][0], "attention": out}
        else:
            widen, activate, *_ = block.feed_forward.children()
            found["hidden"] = activate(widen(given))
            out = found["forward"] = layer(given)
        x = found[f"add{n}"] = x + out if shortcut else out
        if not first:
            x = found[f"norm{n}"] = norm(x)
    return found
