"""BankInContext: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import copy
import random

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from attnbook.data import english_vectors
from attnbook.tasks.senses import MEANINGS, three_matrices
from attnbook.widgets import BankInContext
from attnbook.widgets.bank_in_context import TRIES
from tests.browser.hands import Finger, Mouse, bring, middle, stops, swiped
from tests.browser.pages import DESKTOP, PHONE, bare
from tests.sizes import is_light, zipped
from tests.widgets.laws import Moving, agree, live
from tests.widgets.oracles import doubles
from tests.widgets.reading import codes, numbers, parsed
from tests.widgets.steps import choose, press, unfolded

READ = """(node) => {
    const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const codes = (parts) => parts.flatMap((part) => [...part.textContent].map((c) => String(c.codePointAt(0))));
    const texts = (selector) => seen(selector).map((part) => part.textContent);
    const needle = [...node.querySelectorAll(".ab-needle:not([data-none])")];
    const beams = [...node.querySelectorAll(".ab-beams path:not([data-dark])")];
    return {
        line: codes(seen(".ab-line button")),
        asks: seen(".ab-line button").map((key) => String(Number(key.getAttribute("aria-pressed") === "true"))),
        below: texts(".ab-word .ab-number").filter((text) => text),
        light: seen(".ab-line .ab-weight").map((key) => key.style.getPropertyValue("--full")),
        beams: beams.map((beam) => beam.style.getPropertyValue("--w")),
        needle: needle.map((part) => part.querySelector(".ab-number").textContent),
        starts: needle.map((part) => part.style.getPropertyValue("--from")),
        stands: needle.map((part) => part.style.getPropertyValue("--at")),
        named: needle.map((part) => part.ariaLabel.match(/[\\d.]+/)[0]),
        between: codes(needle.flatMap((part) => [part.firstChild, part.lastChild])),
        words: codes(seen(".ab-near [translate]")),
        cosines: texts(".ab-near .ab-number"),
        near: seen(".ab-near").map((part) => part.style.getPropertyValue("--w")),
    };
}"""
STORIES = "the bat flew in the dark cave the bank gave her another loan"
RIVER = ["the", "bank", "of", "the", "river"]
MEANT = {
    "bank": ["shore", "finance"],
    "bat": ["animal", "stick"],
    "spring": ["season", "wire"],
    "plant": ["flower", "factory"],
    "match": ["game", "flame"],
}
HERO = {"tokens": "the boat tied up at the bank of the river", "place": 6, "matrices": "learned", "asked": True}


def key(word, name, changes):
    """A key for a word of the line, which has the focus afterwards, too."""

    def act(hand, node):
        node.locator(".ab-line button", has_text=word).first.focus()
        hand.page.keyboard.press(name)

    return [(f"{name} pressed on {word!r}", act, changes)]


def write(text, changes):
    def act(hand, node):
        hand.write(unfolded(hand, node.get_by_role("textbox", name="Your own sentence", include_hidden=True)), text)

    return [(f"{text!r} written", act, changes)]


def expected(widget) -> dict[str, Tensor]:
    tokens, asks = widget.tokens, min(widget.place, len(widget.tokens) - 1)
    found = {"line": codes(*tokens), "asks": torch.arange(len(tokens)) == asks}
    lit = ["below", "light", "beams", "needle", "starts", "stands", "named", "between", "words", "cosines", "near"]
    found |= dict.fromkeys(lit, torch.tensor([]))
    x = vectors_of(*tokens)
    if not widget.asked:
        if ends := MEANT.get(tokens[asks]):
            alone = foot_between(x[asks], *vectors_of(*ends)).clamp(0, 1)
            found |= {"between": codes(*ends)} | dict.fromkeys(("needle", "starts", "stands", "named"), alone)
        return found
    q, k, v, scale = x, x, x, 1.0
    if widget.matrices == "learned":
        layer = copy.deepcopy(three_matrices()).double()
        q, k, v, scale = layer.query(x), layer.key(x), layer.value(x), 16**-0.5
    became = F.scaled_dot_product_attention(q[None], k[None], v[None], scale=scale)[0, asks]
    scores = k @ q[asks] * scale
    weights = scores.softmax(-1)
    found |= {"below": torch.stack([weights, scores], -1) if widget.tables else weights}
    found |= {"light": (2 * weights).clamp(max=1), "beams": weights[~found["asks"]]}
    if two := [i for i, word in enumerate(tokens) if word in MEANT]:
        ends = MEANT[tokens[asks if asks in two else max(two, key=lambda i: weights[i].item())]]
        from_, at = (foot_between(y, *vectors_of(*ends)).clamp(0, 1) for y in (x[asks], became))
        found |= {"between": codes(*ends)} | dict.fromkeys(("needle", "stands", "named"), at)
        found["starts"] = from_
    if not widget.tables:
        return found
    near = [F.cosine_similarity(to, doubles(), dim=-1).topk(5) for to in (x[asks], became)]
    cosines = torch.cat([best.values for best in near])
    words = codes(*(english_vectors().words[row] for best in near for row in best.indices))
    return found | {"words": words, "cosines": cosines, "near": cosines}


def vectors_of(*words) -> Tensor:
    return doubles()[[english_vectors().index[word] for word in words]]


def foot_between(y, a, b) -> Tensor:
    """How far along the way from a to b the foot of y lies, all three of length 1: found, not written down."""
    y, a, b = F.normalize(torch.stack([y, a, b]), dim=-1)
    return torch.linalg.lstsq((b - a)[:, None], (y - a)[:, None]).solution.squeeze()


class TestBankInContext(Moving):
    kind = BankInContext
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("Let “bank” look around", {"asked": True}),
        *choose("matrices", "learned"),
        *press("money", {"tokens": [*RIVER, "money"]}),
        *key("bank", "ArrowRight", {"tokens": ["the", "of", "bank", "the", "river", "money"], "place": 2}),
        *press("of", {"place": 1}),
        *key("of", "Delete", {"tokens": ["the", "bank", "the", "river", "money"]}),
        *key("bank", "ArrowLeft", {"tokens": ["bank", "the", "the", "river", "money"], "place": 0}),
        *choose("matrices", "none"),
        *write(" OCEAN bank", {"tokens": ["ocean", "bank"], "place": 1}),
        *write("One spring, I sing.", {"tokens": ["one", "spring", "sing"]}),
        *press("Change the sentence", {"tokens": HERO["tokens"].split(), "place": 6}),
    ]
    happens = [*press("Let “bank” look around", {"asked": True}), *press("of", {"place": 2})]
    changes = [
        {"asked": True},
        {"matrices": "learned"},
        {"place": 4},
        {"tokens": ["bank", "loan"]},
        {"tokens": ["the"] * 10},
        {"place": 30},
    ]
    states = {
        "a full line, one word twice": BankInContext(
            "the bank gave him cash and one bat flew to the bank of river", place=7, matrices="learned", asked=True
        ),
        "a word alone": BankInContext("bank", asked=True),
        "the picture alone": BankInContext(**HERO, tables=False),
        "the picture alone, of words that must be fetched": BankInContext("fresh flowers", asked=True, tables=False),
    }
    apart = ("stars",)
    beside = ".ab-sky"
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
    def drag(word, end):
        start = bring(word)
        hand.drag([start, *stops(start, end())])

    words, below = node.locator(".ab-line button"), node.locator("summary")
    drag(words.nth(4), lambda: middle(words.nth(0)))
    agree(node, BankInContext("river the bank of the", place=2, asked=True), "river dragged to the front")
    drag(words.nth(2), lambda: (middle(words.nth(4))[0] + 60, middle(words.nth(4))[1] + 10))
    agree(node, BankInContext("river the of the bank", place=4, asked=True), "bank dragged to the end")
    drag(words.nth(2), lambda: middle(below))
    twin = BankInContext("river the the bank", place=3, asked=True)
    agree(node, twin, "of dragged out")
    words.nth(1).press("Enter")
    twin.place = 1
    agree(node, twin, "a key pressed after a drag")


def test_the_picture_alone(site, visit):
    """Another sentence, or one's own; nothing large is fetched before a word needs it."""
    page = visit("bare.html", served={"bare.html": bare(BankInContext(**HERO, tables=False))})
    node, twin = live(page), BankInContext(**HERO, tables=False)
    agree(node, twin)
    for words, place in [*list(TRIES.items())[1:], *list(TRIES.items())[:1]]:
        node.get_by_role("button", name="Change the sentence").click()
        twin.tokens, twin.place = words.split(), place
        agree(node, twin, words)
    assert not [url for url in visit.requests if "vectors." in url]
    field = node.get_by_role("textbox")
    field.fill("I enjoy a bank, Xylqp!")
    field.press("Enter")
    twin.tokens, twin.place = ["enjoy", "bank"], 1
    agree(node, twin, "a sentence of one's own")
    assert "I, a, Xylqp" in node.get_by_role("status").inner_text()
    assert len([url for url in visit.requests if "vectors." in url]) == 1
    sizes = {each.page_name: zipped((site / "_static/widgets" / each.page_name).read_bytes()) for each in SMALL}
    is_light("vectors of the sentences shown", sizes)


STARS = """(node) => {
    const stars = (kind) => [...node.querySelectorAll(`.ab-sky ${kind}:not([data-none])`)];
    const names = (kind) => stars(kind).map((star) => star.textContent);
    const place = (point, x, y) => [point.getAttribute(x), point.getAttribute(y)].map(Number);
    const ends = stars(".ab-end").map((star) => star.getAttribute("transform").match(/-?[\\d.]+/g).map(Number));
    const line = node.querySelector(".ab-sky .ab-flight");
    return {
        ends, point: place(node.querySelector(".ab-itself"), "cx", "cy"), from: place(line, "x1", "y1"),
        threads: [...node.querySelectorAll(".ab-sky line[style]")].map((line) => line.style.getPropertyValue("--w")),
        meanings: names(".ab-end"), before: names(".ab-before"), after: names(".ab-after"),
        says: node.querySelector(".ab-sky p").textContent,
    };
}"""


def test_stars_lie_where_the_plane_of_two_meanings_has_them(visit):
    """For each word of a sentence: told from the two ends, a place has the cosines to both. The nearest are named."""
    page = visit("bare.html", motion="reduce", served={"bare.html": bare(BankInContext(**HERO, tables=False))})
    node = live(page)
    node.locator(".ab-sky svg").wait_for()
    assert len([url for url in visit.requests if "/stars." in url]) == 1
    for words in [*list(TRIES)[1:], HERO["tokens"]]:
        node.get_by_role("button", name="Change the sentence").click()
        for place in range(len(words.split())):
            node.locator(".ab-line button").nth(place).click()
            twin = BankInContext(words, place=place, matrices="learned", asked=True)
            page.wait_for_function("() => new Promise((done) => setTimeout(() => done(true)))")
            stars = node.evaluate(STARS)
            a, b = vectors_of(*twin.meanings())
            assert stars["meanings"] == twin.meanings()
            asks = twin.tokens[place]
            alone, became = english_vectors()[asks], twin.look()[0].detach()
            for vector, spot in ((alone, stars["from"]), (became, stars["point"])):
                across, up = cosines_told(spot, *stars["ends"], F.cosine_similarity(a, b, dim=0).item())
                want = [F.cosine_similarity(vector.double(), end, dim=0).item() for end in (a, b)]
                assert_close(torch.tensor([across, up]), torch.tensor(want), rtol=0, atol=0.002)
            near = [[w for w, _ in english_vectors().neighbours(v, 4) if w != asks][:3] for v in (alone, became)]
            assert [set(stars[n]) <= set(words) for n, words in zip(("before", "after"), near, strict=True)] == [
                True
            ] * 2
            assert stars["says"].startswith(
                f"Alone, “{asks}” is nearest to {', '.join(near[0])}; in this sentence, to {', '.join(near[1])}."
            )
            weights = [0 if i == place else w for i, w in enumerate(twin.look()[1].tolist())]
            assert_close(
                torch.tensor([float(w) for w in stars["threads"] if float(w)]), torch.tensor([w for w in weights if w])
            )


def cosines_told(spot, first, second, cosine):
    """From places in the plane: the two ends are directions of length 1, with this cosine between them."""
    half = (second[0] - first[0]) / 2
    radius = half / ((1 - cosine) / 2) ** 0.5
    middle = (first[0] + half, first[1] + radius * ((1 + cosine) / 2) ** 0.5)
    x, y = (spot[0] - middle[0]) / radius, (middle[1] - spot[1]) / radius
    right, up = half / radius, ((1 + cosine) / 2) ** 0.5
    return -x * right + y * up, x * right + y * up


COLLIDING = """(node) => {
    const seen = (text) => Number(getComputedStyle(text.closest("g")).opacity) > 0.5 && text.checkVisibility();
    const texts = [...node.querySelectorAll(".ab-sky text")].filter((text) => text.textContent && seen(text));
    const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
    const both = (a, b, from, to) => Math.min(a[to], b[to]) - Math.max(a[from], b[from]);
    const hit = ([, a], [, b]) => both(a, b, "left", "right") > 2 && both(a, b, "top", "bottom") > 6;
    return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => hit(a, b)).map((b) => a[0] + " " + b[0]));
}"""


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_names_of_stars_are_clear_of_each_other(visit, viewport):
    html = bare(BankInContext(**HERO, tables=False))
    page = visit("bare.html", viewport=viewport, motion="reduce", served={"bare.html": html})
    node = live(page)
    node.locator(".ab-sky svg").wait_for()
    for words in [*list(TRIES)[1:], HERO["tokens"]]:
        node.get_by_role("button", name="Change the sentence").click()
        for place in range(len(words.split())):
            node.locator(".ab-line button").nth(place).click()
            page.wait_for_function("() => new Promise((done) => setTimeout(() => done(true)))")
            colliding = node.evaluate(COLLIDING)
            assert not colliding, f"{words.split()[place]}: {colliding}"
            assert node.evaluate("(node) => node.scrollWidth <= node.clientWidth")


def test_marked_words_answer_and_the_others_say_why_they_do_not(visit):
    """Training taught the marked words where to look: each looks at something half as much again as any other."""
    page = visit("bare.html", motion="reduce", served={"bare.html": bare(BankInContext(**HERO, tables=False))})
    node = live(page)
    for words in [*list(TRIES)[1:], HERO["tokens"]]:
        node.get_by_role("button", name="Change the sentence").click()
        keys = node.locator(".ab-line button").filter(visible=True)
        marked = keys.evaluate_all("(keys) => keys.map((key) => key.ariaDescription !== null)")
        most = {True: [], False: []}
        for place, is_marked in enumerate(marked):
            keys.nth(place).click()
            told = node.locator("[role=status]").text_content()
            assert told == ("" if is_marked else "Training taught only bank, bat, spring, plant, match where to look.")
            twin = BankInContext(words, place=place, matrices="learned", asked=True)
            most[is_marked].append(twin.look()[1].max().item())
        assert min(most[True]) > 1.5 * max(most[False])


def test_every_marked_word_has_a_dotted_line_also_the_one_that_asks(visit):
    tokens = ["the", "bank", "by", "the", "spring"]
    page = visit("bare.html", served={"bare.html": bare(BankInContext(tokens, place=1, tables=False))})
    marked = """(node) => [...node.querySelectorAll(".ab-line button")].filter((word) => {
        const { textDecorationLine, textDecorationStyle } = getComputedStyle(word);
        return word.checkVisibility() && textDecorationLine === "underline" && textDecorationStyle === "dotted";
    }).map((word) => word.textContent)"""
    assert live(page).evaluate(marked) == ["bank", "spring"]


def test_it_moves_once_by_itself_and_never_where_motion_is_reduced(visit):
    for motion, moves in (("no-preference", [True]), ("reduce", [])):
        html = bare(BankInContext(**HERO, tables=False), BankInContext(asked=True))
        watch = (
            "<script>moved = []; new MutationObserver((all) => all.forEach(({ target }) => target.matches('.ab-body')"
        )
        watch += " && target.hasAttribute('data-moving') && moved.push(target.matches('.ab-hero'))))"
        watch += ".observe(document, { subtree: true, attributeFilter: ['data-moving'] })</script>"
        page = visit("bare.html", motion=motion, served={"bare.html": html.replace("<body>", f"<body>{watch}")})
        for place in range(2):
            live(page, place)
        page.wait_for_function("() => !document.querySelector('[data-moving]')")
        assert page.evaluate("moved") == moves


def test_a_word_without_a_vector_stays_as_a_ghost(visit):
    page = visit("bare.html", served={"bare.html": bare(BankInContext(**HERO, tables=False))})
    node, field = live(page), live(page).get_by_role("textbox")
    node.locator(".ab-sky").wait_for()
    line = "(node) => [...node.querySelectorAll('.ab-line s, .ab-line button')].filter((x) => x.checkVisibility())"
    texts = f"(node) => ({line})(node).map((part) => part.localName + ' ' + part.textContent)"
    field.fill("I enjoy a bank, Xylqp!")
    field.press("Enter")
    agree(node, BankInContext("enjoy bank", place=1, matrices="learned", asked=True, tables=False))
    assert node.evaluate(texts) == ["s I", "button enjoy", "s a", "button bank", "s Xylqp"]
    node.get_by_role("button", name="enjoy").click()
    assert len(node.evaluate(texts)) == 5
    node.get_by_role("button", name="enjoy").press("Delete")
    assert node.evaluate(texts) == ["button bank"]


def test_a_swipe_on_the_picture_alone_scrolls_the_page(visit):
    space = '<p style="height: 2000px">A long page.</p>'
    html = (
        bare(BankInContext(**HERO, tables=False))
        .replace("<body>", f"<body>{space}")
        .replace("</body>", f"{space}</body>")
    )
    page = visit("bare.html", viewport=PHONE, touch=True, served={"bare.html": html})
    assert swiped(page, bring(live(page).locator(".ab-line button").first)) > 50
    agree(live(page), BankInContext(**HERO, tables=False), "after a swipe")


SMALL = [BankInContext.words, BankInContext.learned]


def test_a_line_is_never_empty_and_never_too_long(visit):
    page = visit("bare.html", served={"bare.html": bare(BankInContext("bank", asked=True))})
    node = live(page)
    for name in ("Delete", "ArrowLeft", "ArrowRight"):
        node.locator(".ab-line button").first.press(name)
        agree(node, BankInContext("bank", asked=True), f"{name} with one word")
    for n in range(1, 15):
        unfolded(Mouse(page), node.get_by_role("button", name="sat", exact=True, include_hidden=True).last).click()
        agree(node, BankInContext(["bank"] + ["sat"] * min(n, 13), place=0, asked=True), f"a word put in {n} times")
    assert node.get_by_role("status").inner_text() == "The line holds 14 words."


def test_table_of_a_word_that_looks_around():
    page = parsed(BankInContext(matrices="learned"))
    assert [head.text for head in page.select("th[scope=row]")] == ["the", "bank", "of", "the", "river"]
    assert page.caption.text.startswith("What “bank” looks at. Nearest to what it becomes: shore 0.8")
    assert page.caption.text.endswith(" Between shore (0) and finance (1) it lies at 0.25.")
    assert "Between shore (0) and finance (1)" in parsed(BankInContext(place=0)).caption.text
    assert "Between" not in parsed(BankInContext("the river")).caption.text
    assert_close(numbers(BankInContext("bank money", place=5)).sum(), torch.tensor(1.0), rtol=0, atol=0.011)


@pytest.mark.slow
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
