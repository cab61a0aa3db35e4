"""FindTheBug: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import sinusoidal
from attnbook.widgets import FindTheBug
from attnbook.widgets.shared.random import normals
from tests.widgets.laws import Laws
from tests.widgets.steps import choose, press

READ = """(node) => {
        const all = (selector) => [...node.querySelectorAll(selector)];
        const codes = (text) => [...text].map((c) => String(c.codePointAt(0)));
        return {
            words: all("td span:first-child").flatMap((word) => codes(word.textContent)),
            outputs: all("td .ab-number").map((output) => output.textContent),
            moved: all("td:has(.ab-number)").map((cell) => String(Number(cell.matches(".ab-moved")))),
            pressed: all("button[aria-pressed]").map((key) => String(Number(key.ariaPressed === "true"))),
            right: node.querySelector(".ab-verdict").textContent.replace("All three", "3").match(/^\\d/) ?? [],
            was: all(".ab-panel .ab-hint:last-child").map((note) => String(Number(note.textContent !== ""))),
            count: all("table + .ab-hint").map((note) => note.textContent[0]),
        };
    }"""


def unchecked(steps):
    return [(what, act, {**changes, "revealed": False}) for what, act, changes in steps]


UNTOUCHED = {"words_swapped": False, "texts_swapped": False, "a": "", "b": "", "c": "", "revealed": False}


ROUND = {"seed": lambda twin: twin.seed + 1, **UNTOUCHED}


def expected(widget) -> dict[str, Tensor]:
    first, second = ["dog", "bites", "man"], ["cat", "hears", "rain"]
    texts = [first[::-1] if widget.words_swapped else first, second]
    texts = texts[::-1] if widget.texts_swapped else texts
    kinds, given = widget.order(), [widget.a, widget.b, widget.c]
    vectors = dict(zip(first + second, normals(100 + widget.seed, 24).view(6, 4), strict=True))

    def outputs(texts, kind):
        """Of every word, whether it was there before or not, its vector after attention."""
        x = torch.stack([torch.stack([vectors[word] for word in text]) for text in texts])
        table = sinusoidal(3, 4, dtype=torch.float64)
        x = x + {"right": table, "batch": table[:2, None], "none": 0}[kind]
        y = F.scaled_dot_product_attention(x, x, x).flatten(0, 1)
        return dict(zip((word for text in texts for word in text), y, strict=True))

    now, before = ([outputs(of, kind) for kind in kinds] for of in (texts, [first, second]))
    line = [word for text in texts for word in text]
    pairs = zip(now, before, strict=True)
    moved = torch.tensor([[(a[word] - b[word]).abs().max() > 1e-6 for word in line] for a, b in pairs])
    right = [a == b for a, b in zip(given, kinds, strict=True)]
    return {
        "words": torch.tensor([ord(letter) for word in line * 3 for letter in word]),
        "outputs": torch.stack([found[word][0] for found in now for word in line]),
        "moved": moved,
        "count": moved.sum(-1),
        "pressed": torch.tensor([widget.words_swapped, widget.texts_swapped]),
        "right": torch.tensor([sum(right)] if widget.revealed else []),
        "was": torch.tensor([widget.revealed and not r for r in right]),
    }


class TestFindTheBug(Laws):
    kind = FindTheBug
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("Swap dog and man", {"words_swapped": True}),
        *press("Swap the two texts", {"texts_swapped": True}),
        *press("Swap dog and man", {"words_swapped": False}),
        *press("Check", {"revealed": True}),
        *unchecked(choose("a", "right")),
        *press("Check", {"revealed": True}),
        *press("Another round", ROUND),
        *press("Check", {"revealed": True}),
        *unchecked(choose("b", "batch")),
        *press("Check", {"revealed": True}),
    ]
    changes = [
        {"revealed": True},
        {"words_swapped": True},
        {"a": "none"},
        {"texts_swapped": True},
        {"seed": 5},
        {"c": "batch"},
        {"b": "right"},
    ]
    states = {
        "everything swapped, two answers": FindTheBug(
            seed=3, words_swapped=True, texts_swapped=True, a="right", c="none", revealed=True
        )
    }
    errors = [(lambda: FindTheBug(a="wrong"), r"'a' trait .* any of \['', 'right', 'batch', 'none'\]")]
