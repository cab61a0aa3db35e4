"""A network of attention alone that goes on as before: which heads do it, and what is left without them."""

import copy

import torch
import traitlets
from torch import Tensor

from attnbook.language import number, whole
from attnbook.layers.capture import capture_attention
from attnbook.tasks.repeats import HEADS, LETTERS, copiers
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.files import Asset
from attnbook.widgets.shared.random import normals
from attnbook.widgets.shared.tables import Verbatim, html_table

SHORTEST, LONGEST = 3, 12
TESTS = 100  # texts, the same for all of a length


def drawn(seed: int, n: int, texts: int = 1) -> Tensor:
    """Letters (texts, n) as the page draws them."""
    return ((normals(seed, n * texts).abs() * 1000).long() % len(LETTERS)).view(texts, n)


class InductionLab(BookWidget):
    """The committed `Copier` of so many layers reads letters that are said twice, some of its heads off.

    Heads are counted through the layers. Position `at`, from 1, is the one that asks for its next letter.

    >>> lab = InductionLab("kqdvhzbm")
    >>> lab.guesses()[8:], lab.right()
    ('qdvhzbm', 7)
    >>> InductionLab("kqdvhzbm", off=[0]).right() < 4
    True
    """

    text = traitlets.Unicode("kqdvhzbm").tag(sync=True)
    layers = traitlets.Enum([1, 2], 2).tag(sync=True)
    off = traitlets.List(traitlets.Int(min=0, max=3)).tag(sync=True)
    at = traitlets.Int(11, min=1, max=2 * LONGEST - 1).tag(sync=True)
    seed = traitlets.Int(1, min=1).tag(sync=True)
    models = Asset("induction.bin")

    def __init__(self, text: str = "kqdvhzbm", **traits):
        super().__init__(text=text, **traits)

    @traitlets.validate("text")
    def _letters(self, proposal) -> str:
        text = proposal["value"]
        if not SHORTEST <= len(text) <= LONGEST or set(text) - set(LETTERS):
            raise traitlets.TraitError(f"{SHORTEST} to {LONGEST} letters from a to z are said twice; got {text!r}")
        return text

    def ids(self) -> Tensor:
        """The text, then those for the test: (1 + TESTS, 2n)."""
        own = torch.tensor([[LETTERS.index(letter) for letter in self.text]])
        return torch.cat([own, drawn(0, len(self.text), TESTS)]).repeat(1, 2)

    @torch.no_grad()
    def read(self) -> tuple[Tensor, Tensor]:
        """The probabilities (texts, L, 26) of each letter after each, and the weights (texts, heads, L, L)."""
        model = copy.deepcopy(copiers()[self.layers]).double()
        for layer in range(self.layers):
            output = model.get_submodule(f"layers.{layer}.output")
            on = torch.tensor([layer * HEADS + head not in self.off for head in range(HEADS)])
            output.register_forward_pre_hook(
                lambda _, given, on=on: ((given[0].unflatten(-1, (HEADS, -1)) * on[:, None]).flatten(-2),)
            )
        with capture_attention(model) as maps:
            chances = model(self.ids()).softmax(-1)
        return chances, torch.cat([maps[f"layers.{layer}"] for layer in range(self.layers)], 1)

    def guesses(self) -> str:
        """For each letter but the first, what the network says before it is read."""
        return "".join(LETTERS[guess] for guess in self.read()[0][0, :-1].argmax(-1))

    def hits(self) -> Tensor:
        """Where it is right (texts, n - 1), from the second letter of the second time on."""
        ids, n = self.ids(), len(self.text)
        return self.read()[0][:, n:-1].argmax(-1) == ids[:, n + 1 :]

    def right(self) -> int:
        """How many letters of the text that is shown it gets right."""
        return int(self.hits()[0].sum())

    def scores(self) -> Tensor:
        """Of each head (heads, 2) the mean weight in the test on the letter before, and on what followed last time."""
        weights, n = self.read()[1][1:], len(self.text)
        every, second = torch.arange(1, 2 * n), torch.arange(n, 2 * n - 1)
        back, followed = weights[:, :, every, every - 1], weights[:, :, second, second - n + 1]
        return torch.stack([back.mean((0, 2)), followed.mean((0, 2))], -1)

    def table(self) -> str:
        say, rows = self.edition_words(), []
        for index, (back, followed) in enumerate(self.scores().tolist()):
            name = say["head"].format(layer=whole(index // HEADS + 1), head=whole(index % HEADS + 1))
            state = say["table"]["off" if index in self.off else "on"]
            rows.append((name, [state, number(back), number(followed)]))
        share = number(100 * self.hits()[1:].double().mean(), 0)
        caption = say["table"]["caption"].format(
            text=self.text, guesses=self.guesses()[len(self.text) :], share=share, n=whole(TESTS)
        )
        return html_table(caption, [Verbatim(""), say["back"], say["followed"]], rows)
