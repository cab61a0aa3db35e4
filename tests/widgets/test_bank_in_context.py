"""BankInContext: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import copy
import random

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from attnbook.data import english_vectors
from attnbook.tasks.senses import MEANINGS, three_matrices
from attnbook.widgets import BankInContext
from tests.browser.hands import Finger, Mouse, bring, middle, stops
from tests.browser.pages import bare
from tests.widgets.laws import Laws, agree, live
from tests.widgets.oracles import doubles
from tests.widgets.reading import codes, numbers, parsed
from tests.widgets.steps import choose, fill, press

READ = """(node) => {
    const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const codes = (parts) => parts.flatMap((part) => [...part.textContent].map((c) => String(c.codePointAt(0))));
    return {
        line: codes(seen(".ab-line button")),
        asks: seen(".ab-line button").map((key) => String(Number(key.getAttribute("aria-pressed") === "true"))),
        full: String(seen("[data-full]").length),
        extra: codes(seen(".ab-tray").slice(8)),
        numbers: seen(".ab-look .ab-number").map((cell) => cell.textContent),
        bars: seen(".ab-look .ab-bar").map((bar) => bar.style.getPropertyValue("--w")),
        rows: codes(seen(".ab-look tbody th")),
        asking: seen(".ab-look tbody tr").map((row) => String(Number(row.matches(".ab-asks")))),
        words: codes(seen(".ab-near tbody th")),
        cosines: seen(".ab-near .ab-number").map((cell) => cell.textContent),
    };
}"""
STORIES = "the bat flew in the dark cave the bank gave her another loan"
RIVER = ["the", "bank", "of", "the", "river"]


def expected(widget) -> dict[str, Tensor]:
    tokens, asks = widget.tokens, min(widget.place, len(widget.tokens) - 1)
    found = {
        "line": codes(*tokens),
        "asks": torch.arange(len(tokens)) == asks,
        "full": torch.tensor(len(tokens) == 14),
        "extra": codes(widget.extra),
    }
    if not widget.asked:
        return found | dict.fromkeys(["numbers", "bars", "rows", "asking", "words", "cosines"], torch.tensor([]))
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
        "rows": codes(*tokens),
        "asking": found["asks"],
        "words": codes(*(english_vectors().words[row] for best in near for row in best.indices)),
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


def test_words_are_dragged_about(visit):
    """To another place in the line, out of it and from below into it; a press is none of these."""
    html = bare(BankInContext(asked=True), BankInContext(asked=True))
    page = visit("bare.html", touch=True, served={"bare.html": html})
    for place, hand in enumerate((Mouse(page), Finger(page))):
        dragged_about(live(page, place), hand)


def dragged_about(node, hand):
    def drag(chip, end):
        start = bring(chip)
        hand.drag([start, *stops(start, end())])

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
    for n in range(1, 15):
        node.get_by_role("button", name="sat").last.click()
        agree(node, BankInContext(["bank"] + ["sat"] * min(n, 13), place=0, asked=True), f"a word put in {n} times")


def test_table_of_a_word_that_looks_around():
    page = parsed(BankInContext(matrices="learned"))
    assert [head.text for head in page.select("th[scope=row]")] == ["the", "bank", "of", "the", "river"]
    assert page.caption.text.startswith("What “bank” looks at. Nearest to what it becomes: shore 0.8")
    assert_close(numbers(BankInContext("bank money", place=5)).sum(), torch.tensor(1.0), rtol=0, atol=0.011)


def test_what_chapter_7_says_of_it():
    plain = BankInContext()
    assert [word for word, _ in plain.nearest()][:4] == ["bank", "banks", "banking", "river"]
    assert round(plain.look()[1][1].item(), 2) == 0.45
    became, weights = BankInContext(matrices="learned").look()
    assert weights[[0, 2, 3]].lt(plain.look()[1][[0, 2, 3]] / 2).all()
    assert 0.35 < weights[4] < 0.4
    assert english_vectors().neighbours(became, 1)[0][0] == "shore"
    shuffled, order = BankInContext("river the the bank of", place=3, matrices="learned").look()
    assert_close(shuffled, became)
    assert_close(order.sort().values, weights.sort().values)
    best, second = BankInContext("the bank of the loan", matrices="learned").nearest()[:2]
    assert best[0] == "finance"
    assert best[1] > second[1] + 0.3
    asked = {place: BankInContext(STORIES, matrices="learned", place=place) for place in (1, 8)}
    assert [widget.nearest()[0][0] for widget in asked.values()] == ["animal", "finance"]
    rng, words = random.Random(0), english_vectors().words
    others = [BankInContext(rng.sample(words, 5), matrices="learned").nearest()[0][0] for _ in range(100)]
    assert sum(word in MEANINGS.values() for word in others) > 60, "other words mostly become one of the ten, too"
    assert asked[1].look()[1][7:].sum() < 0.3
    assert asked[8].look()[1][:7].sum() < 0.3
