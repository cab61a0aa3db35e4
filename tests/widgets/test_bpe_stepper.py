"""BpeStepper: what it shows and what `BytePairs` says of it, how it is worked, what is known of it besides."""

from collections import Counter
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from attnbook import BytePairs
from attnbook.data import shakespeare
from attnbook.language import count
from attnbook.learning.bytepairs import words
from attnbook.tasks.writing import plays, writer_pairs
from attnbook.widgets import BpeStepper
from attnbook.widgets.shared.pairs import shown_token
from tests.browser.pages import bare
from tests.widgets.laws import Laws
from tests.widgets.reading import codes, parsed
from tests.widgets.steps import choose, press, slide

READ = """(node) => {
    const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
    const texts = (selector) => codes(seen(selector).map((part) => part.textContent));
    const is = (parts, name) => parts.map((part) => String(Number(part.matches(name))));
    const chips = seen(".ab-given .ab-chip");
    return {
        chips: codes(chips.map((chip) => `${chip.textContent}|`)),
        made: is(chips, ".ab-made"),
        first: is(chips, ".ab-first"),
        left: is(chips, ".ab-left"),
        right: is(chips, ".ab-right"),
        own: codes(seen(".ab-known .ab-chip").map((chip) => `${chip.textContent}|`)),
        caption: texts("caption"),
        pairs: texts("tbody th, table > tr th"),
        counts: seen("td").map((cell) => cell.textContent),
        bars: seen("tr").map((row) => row.style.getPropertyValue("--w")),
        fall: seen(".ab-fall i").map((bar) => bar.style.getPropertyValue("--w")),
        here: is(seen(".ab-fall i"), ".ab-here"),
        said: codes(seen("[role=status]").map((part) => part.textContent)),
        slider: codes(seen("input[type=range]").map((slider) => slider.getAttribute("aria-valuetext"))),
    };
}"""


def tokenized(merges, text) -> list[list[bytes]]:
    pairs = BytePairs(merges)
    return [[pairs.tokens[token] for token in pairs.encode(word)] for word in words(text)]


def expected(widget) -> dict[str, Tensor]:
    say, text = widget.edition_words(), widget.text
    learned = (BytePairs.learn(text, 256 + 200) if widget.source == "own" else writer_pairs()).merges
    states = [tokenized(learned[:n], text) for n in range(len(learned) + 1)]
    counts = [Counter(pair for word in state for pair in pairwise(word)) for state in states]
    if widget.source == "own":
        all_of_them = next((n for n, merge in enumerate(learned) if counts[n][merge] < 2), len(learned))
        kept = list(range(all_of_them))
    else:
        kept = [n for n, merge in enumerate(learned) if counts[n][merge]]
    at = [*kept, len(learned) if widget.source == "book" else len(kept)]  # of all merges, so many were gone through
    n = min(widget.step, len(kept))
    tokens, here = states[at[n]], counts[at[n]]
    if widget.source == "own":
        could = sorted(((p, c) for p, c in here.items() if c > 1), key=lambda pair: (-pair[1], pair[0]))
    else:
        ranks = {merge: rank for rank, merge in enumerate(learned)}
        could = sorted(((p, c) for p, c in here.items() if p in ranks), key=lambda pair: ranks[pair[0]])
    flat, left = [token for word in tokens for token in word], []
    for word in tokens:
        starts = [False] * (len(word) + 1)
        for j, pair in enumerate(pairwise(word)):
            starts[j + 1] = bool(could) and pair == could[0][0] and not starts[j]
        left += [*starts[1:-1], False] if word else []
    sizes = [sum(map(len, states[place])) for place in at]
    firsts = [j == 0 for word in tokens for j in range(len(word))]
    fit = [f"{count(say['tokens'], len(flat))} {count(say['bytes'], sizes[0])}"]
    end = [] if could else [say["end"][widget.source]]
    known = say["known"][widget.source].format(n=n if widget.source == "own" else 256)
    most = max((c for _, c in could), default=1)
    return {
        "chips": codes(*(f"{shown_token(token)}|" for token in flat)),
        "made": torch.tensor([len(token) > 1 for token in flat]),
        "first": torch.tensor(firsts),
        "left": torch.tensor(left),
        "right": torch.tensor([False, *left[:-1]]),
        "own": codes(*(f"{shown_token(b''.join(learned[place]))}|" for place in kept[:n])),
        "caption": codes(say["could"][widget.source]),
        "pairs": codes(*(" + ".join(map(shown_token, pair)) for pair, _ in could[:8])),
        "counts": torch.tensor([c for _, c in could[:8]]),
        "bars": torch.tensor([c / most for _, c in could[:8]], dtype=torch.float64),
        "fall": torch.tensor(sizes, dtype=torch.float64) / sizes[0],
        "here": torch.arange(len(sizes)) == n,
        "said": codes(*fit, *end, known),
        "slider": codes(f"{n} of {len(kept)}"),
    }


def write(text):
    def act(hand, node):
        field = node.get_by_role("textbox", name="Your text")
        hand.press(field)
        hand.page.keyboard.press("ControlOrMeta+a")
        hand.page.keyboard.type(text)

    return [(f"{text!r} written", act, {"text": text, "step": 0})]


class TestBpeStepper(Laws):
    kind = BpeStepper
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("Forward", {"step": 4}),
        *slide("Merges made", "step", last=8),
        *press("Back", {"step": 7}),
        *[(what, act, {**changes, "step": 0}) for what, act, changes in choose("source", "book")],
        *press("Forward", {"step": 1}),
        *write("aaaa banana, my lord's 42 bananas"),
        *[(what, act, {**changes, "step": 0}) for what, act, changes in choose("source", "own")],
        *press("Forward", {"step": 1}),
    ]
    changes = [
        {"step": 1},
        {"source": "book"},
        {"text": "To be, or not to be: that is"},
        {"step": 99},
        {"source": "own"},
    ]
    states = {
        "all merges made": BpeStepper(step=99),
        "letters of several bytes": BpeStepper("Größe, größer 日本日本", step=1),
        "Shakespeare's merges": BpeStepper(
            "My lord, I know not what the others would have.\n\nKING:", source="book", step=7
        ),
        "nothing to merge": BpeStepper("a", source="book", step=0),
    }
    drags = {"merging": (BpeStepper(), slide("Merges made", "step", first=0, last=8))}
    errors = [
        (lambda: BpeStepper(""), r"a text of 1 to 160 letters; got 0"),
        (lambda: BpeStepper("a" * 161), r"got 161"),
        (lambda: BpeStepper(source="mine"), r"'source' trait .* any of \['own', 'book'\]"),
    ]


def test_the_page_cuts_and_merges_as_byte_pairs_do(visit):
    """Words of every speech, and letters from all over the world."""
    texts = [
        *shakespeare()[:60_000].split("\n\n"),
        "²½Ⅷ x_1 __a 3½ don't We'LL  two   blanks \n\n\tтест тест ひらがな é e\u0301 👍🏽",
    ]
    script = """async (texts) => {
        const { wordsOf } = await import(new URL("_static/widgets/shared/pairs.js", location));
        return texts.map((text) => wordsOf(text).map((word) => word.join("")));
    }"""
    page = visit("bare.html", served={"bare.html": bare()})
    found = page.evaluate(script, texts)
    for text, got in zip(texts, found, strict=True):
        assert [word.encode("latin-1").decode() for word in got] == words(text)


@pytest.mark.slow
def test_the_books_merges_are_those_of_the_plays():
    assert writer_pairs().merges == BytePairs.learn(plays()[0], 512).merges


def test_table_of_merges():
    page = parsed(BpeStepper())
    assert page.caption.text == "“low lower lowest, new newer newest”, 34 bytes"
    rows = [[cell.text for cell in row.select("td")] for row in page.select("tr")[1:]]
    assert rows[:2] == [["w + e", "4", "30"], ["· + n", "3", "27"]]
    assert rows[-1][2] == "13"
