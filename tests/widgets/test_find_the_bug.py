"""FindTheBug: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import sinusoidal
from attnbook.language import count
from attnbook.widgets import FindTheBug
from attnbook.widgets.find_the_bug import KINDS
from attnbook.widgets.shared.random import normals
from tests.widgets.laws import Laws
from tests.widgets.reading import codes, numbers, parsed
from tests.widgets.steps import choose, press

READ = """(node) => {
    const all = (selector) => [...node.querySelectorAll(selector)];
    const texts = (selector) => all(selector).map((part) => part.textContent);
    const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
    const was = all(".ab-panel .ab-hint:last-child");
    return {
        words: codes(texts(".ab-piece [translate]")),
        outputs: texts("td .ab-number"),
        moved: all(".ab-piece").map((piece) => String(Number(piece.matches(".ab-moved")))),
        colours: all(".ab-piece").map((piece) =>
            [...piece.querySelectorAll("i")].map((part) => part.style.getPropertyValue("--s"))),
        pressed: all("button[aria-pressed]").map((key) => String(Number(key.ariaPressed === "true"))),
        was: was.map((note) => String(["", "right", "batch", "none"].indexOf(note.dataset.kind))),
        said: codes([...texts("table + .ab-hint"), ...was.map((note) => note.textContent), ...texts(".ab-verdict")]),
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
    was = [kind if widget.revealed and kind != it else "" for kind, it in zip(kinds, given, strict=True)]
    say, right = widget.edition_words(), sum(kind == it for kind, it in zip(kinds, given, strict=True))
    counts = [count(say["moved"], int(n)) for n in moved.sum(-1)]
    verdict = say["allRight"] if right == 3 else count(say["verdict"], right)
    return {
        "words": torch.tensor([ord(letter) for word in line * 3 for letter in word]),
        "outputs": torch.stack([found[word][0] for found in now for word in line]),
        "moved": moved,
        "colours": torch.stack(
            [torch.cat([b[word], a[word]]) / 2 for a, b in zip(now, before, strict=True) for word in line]
        ).clamp(-1, 1),
        "pressed": torch.tensor([widget.words_swapped, widget.texts_swapped]),
        "was": torch.tensor([["", *KINDS].index(kind) for kind in was]),
        "said": codes(*counts, *(say["was"].get(kind, "") for kind in was), verdict if widget.revealed else ""),
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
        "everything swapped, two are right": FindTheBug(
            seed=3, words_swapped=True, texts_swapped=True, a="right", b="right", c="batch", revealed=True
        ),
        "all found": FindTheBug(seed=2, a="batch", b="right", c="none", revealed=True),
    }
    errors = [(lambda: FindTheBug(a="wrong"), r"'a' trait .* any of \['', 'right', 'batch', 'none'\]")]


def test_table_of_what_comes_out():
    cells = numbers(FindTheBug())
    assert [head.text for head in parsed(FindTheBug()).select("th[scope=row]")] == ["A", "B", "C"]
    assert (cells[0] != cells[1]).any()
    orders = [FindTheBug(seed=seed).order() for seed in range(1, 30)]
    assert all(sorted(order) == ["batch", "none", "right"] for order in orders)
    assert len({tuple(order) for order in orders}) == 6


def test_what_chapter_8_says_of_it():
    words, texts = FindTheBug(words_swapped=True), FindTheBug(texts_swapped=True)
    assert words.moved("right")[0].all()
    assert not torch.cat([words.moved("batch"), words.moved("none")]).any()
    assert texts.moved("batch").all()
    assert not torch.cat([texts.moved("right"), texts.moved("none")]).any()
