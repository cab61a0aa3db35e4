"""BankInContext: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import copy

import pytest
import torch
import torch.nn.functional as F
from playwright.sync_api import expect
from torch import Tensor

from attnbook.data import english_vectors
from attnbook.tasks.senses import three_matrices
from attnbook.widgets import BankInContext
from tests.browser.hands import Finger, Mouse, bring, middle, stops
from tests.browser.pages import bare
from tests.widgets.laws import Laws, agree, live
from tests.widgets.oracles import doubles
from tests.widgets.steps import choose, fill, press

READ = """(node) => {
        const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        const codes = (parts) => parts.flatMap((part) => [...part.textContent].map((c) => String(c.codePointAt(0))));
        return {
            line: codes(seen(".ab-line button")),
            asks: seen(".ab-line button").map((key) => String(Number(key.getAttribute("aria-pressed") === "true"))),
            extra: codes(seen(".ab-tray").slice(8)),
            numbers: seen(".ab-look .ab-number").map((cell) => cell.textContent),
            bars: seen(".ab-look .ab-bar").map((bar) => bar.style.getPropertyValue("--w")),
            rows: codes(seen(".ab-look tbody th")),
            words: codes(seen(".ab-near tbody th")),
            cosines: seen(".ab-near .ab-number").map((cell) => cell.textContent),
        };
    }"""


STORIES = "the bat flew in the dark cave the bank gave her another loan"


RIVER = ["the", "bank", "of", "the", "river"]


def expected(widget) -> dict[str, Tensor]:
    codes = lambda words: torch.tensor([ord(letter) for word in words for letter in word])  # noqa: E731
    tokens, asks = widget.tokens, min(widget.place, len(widget.tokens) - 1)
    found = {
        "line": codes(tokens),
        "asks": torch.arange(len(tokens)) == asks,
        "extra": codes([widget.extra]),
    }
    if not widget.asked:
        return found | dict.fromkeys(["numbers", "bars", "rows", "words", "cosines"], torch.tensor([]))
    x = doubles()[[english_vectors().index[word] for word in tokens]]
    q, k, v, scale = x, x, x, 1.0
    if widget.matrices == "learned":
        layer = copy.deepcopy(three_matrices()).double()
        q, k, v, scale = layer.query(x), layer.key(x), layer.value(x), 16**-0.5
    became = F.scaled_dot_product_attention(q[None], k[None], v[None], scale=scale)[0, asks]
    scores = k @ q[asks] * scale
    near = [F.cosine_similarity(to, doubles(), dim=-1).topk(5) for to in (x[asks], became)]
    return found | {
        "numbers": torch.stack([scores, scores.softmax(-1)], -1),
        "bars": scores.softmax(-1),
        "rows": codes(tokens),
        "words": codes(english_vectors().words[row] for best in near for row in best.indices),
        "cosines": torch.cat([best.values for best in near]),
    }


class TestBankInContext(Laws):
    kind = BankInContext
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("Let “bank” look around", {"asked": True}),
        *choose("matrices", "learned"),
        *press("money", {"tokens": [*RIVER, "money"]}),
        *press("Move it right", {"tokens": ["the", "of", "bank", "the", "river", "money"], "place": 2}),
        *press("of", {"place": 1}),
        *press("Take it out", {"tokens": ["the", "bank", "the", "river", "money"]}),
        *press("Move it left", {"tokens": ["bank", "the", "the", "river", "money"], "place": 0}),
        *choose("matrices", "none"),
        *fill(
            "Any other word", "ocean", {"extra": "ocean", "tokens": ["bank", "the", "the", "river", "money", "ocean"]}
        ),
        *press(STORIES, {"tokens": STORIES.split(), "place": 1}),
    ]
    changes = [
        {"asked": True},
        {"matrices": "learned"},
        {"place": 4},
        {"tokens": ["bank", "loan"]},
        {"extra": "ocean"},
        {"tokens": ["the"] * 10},
        {"place": 30},
    ]
    states = {
        "a full line, one word twice": BankInContext(
            "the bank gave him cash and one bat flew to the bank of river", place=7, matrices="learned", asked=True
        ),
        "a word alone": BankInContext("bank", extra="bank", asked=True),
    }
    errors = [
        (lambda: BankInContext("the bnak"), r"no vector for .*'bnak.*; try .*'bank'"),
        (lambda: BankInContext(""), r"'tokens' trait .* length 1 <= L <= 14"),
    ]


@pytest.mark.parametrize("hand", [Mouse, Finger])
def test_words_are_dragged_about(visit, hand):
    """To another place in the line, out of it and from below into it; a press is none of these."""
    page = visit("bare.html", touch=hand is Finger, served={"bare.html": bare(BankInContext(asked=True))})
    node = live(page)

    def drag(chip, end):
        start = bring(chip)
        hand(page).drag([start, *stops(start, end())])

    chips, below = node.locator(".ab-line button"), node.get_by_text("Put in")
    drag(chips.nth(4), lambda: middle(chips.nth(0)))
    agree(node, BankInContext("river the bank of the", place=2, asked=True), "river dragged to the front")
    drag(chips.nth(2), lambda: (middle(chips.nth(4))[0] + 60, middle(chips.nth(4))[1] + 10))
    agree(node, BankInContext("river the of the bank", place=4, asked=True), "bank dragged to the end")
    drag(chips.nth(2), lambda: middle(below))
    twin = BankInContext("river the the bank", place=3, asked=True)
    agree(node, twin, "of dragged out")
    low = lambda: (middle(chips.nth(3))[0], middle(chips.nth(3))[1] + 30)  # noqa: E731 (below the words)
    drag(node.get_by_role("button", name="money", exact=True), low)
    twin = BankInContext("river the the money bank", place=4, asked=True)
    agree(node, twin, "money dragged in")
    drag(node.get_by_role("button", name="loan", exact=True), lambda: middle(node.locator("table").first))
    agree(node, twin, "loan dragged elsewhere")
    chips.nth(1).press("Enter")
    twin.place = 1
    agree(node, twin, "a key pressed after a drag")


def test_a_line_is_never_empty_and_never_too_long(visit):
    page = visit("bare.html", served={"bare.html": bare(BankInContext("bank", asked=True))})
    node = live(page)
    for name in ("Take it out", "Move it left", "Move it right"):
        node.get_by_role("button", name=name).click()
        agree(node, BankInContext("bank", asked=True), f"{name!r} with one word")
    for _ in range(15):
        expect(page.get_by_text("The line is full")).to_have_count(0)
        node.get_by_role("button", name="sat").last.click()
        if node.locator(".ab-line button:visible").count() == 14:
            break
    expect(page.get_by_text("The line is full")).to_be_visible()
    node.get_by_role("button", name="sat").last.click()
    agree(node, BankInContext(["bank"] + ["sat"] * 13, place=0, asked=True), "more put in than there is room")
