"""AttentionHeatmap: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import hashlib
import json

import pytest
import torch
import torch.nn.functional as F
from playwright.sync_api import expect
from torch import Tensor
from torch.testing import assert_close

from attnbook import attention, causal
from attnbook.data import FOLDER as DATA
from attnbook.data import word_vectors
from attnbook.widgets import AttentionHeatmap, RealModel
from tests.browser.hands import Mouse
from tests.browser.pages import bare, opened
from tests.widgets.laws import Moving, agree, live
from tests.widgets.reading import agrees, numbers, parsed
from tests.widgets.steps import ask, choose, paint, slide

READ = """(node) => {
    const all = (selector, read, root = node) => [...root.querySelectorAll(selector)].map(read);
    const text = (cell) => cell.textContent;
    const shows = (name) => String(Number(node.querySelector(`[data-hint=${name}]`).checkVisibility()));
    return {
        cells: all("[role=grid] tbody tr", (row) => all("td", text, row)),
        row: all(".ab-row td.ab-weight", text),
        values: all(".ab-row .attn-value span:not(:empty)", text),
        addends: all(".ab-row table .ab-strip span", (part) => part.style.getPropertyValue("--s")),
        output: all(".ab-output span", text),
        colours: all("[role=grid] td.ab-weight", (cell) => cell.style.getPropertyValue("--w")),
        bars: all(".ab-row td.ab-weight", (cell) => cell.style.getPropertyValue("--w")),
        words: all("thead .ab-weight", (word) => word.style.getPropertyValue("--full")),
        beams: all(".ab-beams path:not([data-dark])", (beam) => beam.style.getPropertyValue("--w")),
        chosen: all("[role=grid] tbody tr", (row) => String(Number(row.classList.contains("ab-chosen")))),
        hatched: all("[role=grid] tbody td", (cell) => String(Number(cell.classList.contains("ab-blocked")))),
        hints: ["unknown", "paint", "empty", "given"].map(shows),
    };
}"""


def words_of(place):
    return place.get_by_role("textbox", name="Words")


def strangers(tokens):
    return [token for token in tokens if token.lower() not in word_vectors()]


def write(text):
    words = text.split()

    def asker(twin):
        """The word that asked asks on, if it is still there."""
        word = twin.tokens[twin.query]
        return words.index(word) if word in words else 0

    changes = {"tokens": words, "query": asker, "blocked": []}
    return [(f"{text!r} written", lambda hand, node: hand.write(words_of(node), text), changes)]


ROW = [[2, j] for j in range(6)]


NUMBERS = {
    "q_LK": [[1, 0], [0, 2], [1, 1]],
    "k_LK": [[1, 0], [0, 1], [1, 1]],
    "v_LV": [[10, 0, 3], [0, 10, 3], [5, -5, 0]],
}


def weights(*shape, mask=None) -> Tensor:
    scores = 3 * torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1)


LONG = ["antidisestablishmentarianism", "pneumonoultramicroscopicsilicovolcanoconiosis", "a", "b", "c"]
FORTY = [f"token{n}" if n % 5 else f"internationalisation{n}" for n in range(40)]


TYPED = {
    "a " * 12: ["a"] * 10,
    "  ": ["the", "river"],
    "  BANK  x ": ["BANK", "x"],
    "<b>the</b>, river's!": ["b", "the", "b", "river's"],
}


TWO_ROWS = {"q_LK": [[1, 0], [0, 2]], "k_LK": [[1, 0], [1, 1]], "v_LV": [[10, 0, 3], [0, 10, 3]]}


def shown(widget) -> dict[str, Tensor]:
    """What is to be seen of weights that were given."""
    weights = torch.tensor(widget.weights[widget.head], dtype=torch.float64)
    row = weights[min(widget.query, len(weights) - 1)]
    nothing = torch.tensor([])
    return {
        "cells": weights,
        "row": nothing,
        "values": nothing,
        "addends": nothing,
        "output": nothing,
        "colours": weights.flatten(),
        "bars": nothing,
        "words": row,
        "beams": row.sqrt(),
        "chosen": torch.arange(len(weights)) == min(widget.query, len(weights) - 1),
        "hatched": torch.zeros(weights.numel()),
        "hints": torch.tensor([False, False, not row.any(), True]),
    }


def expected(widget) -> dict[str, Tensor]:
    if widget.weights:
        return shown(widget)
    L = len(widget.tokens)
    if widget.q_LK:
        q, k, v = (torch.tensor(rows, dtype=torch.float64) for rows in (widget.q_LK, widget.k_LK, widget.v_LV))
    else:
        q = k = v = torch.stack([word_vectors().get(t.lower(), torch.zeros(16)) for t in widget.tokens]).double()
    sees = torch.ones(L, L, dtype=torch.bool)
    if widget.mask == "causal":
        sees = sees.tril()
    if widget.mask == "padding":
        sees[:, widget.length :] = False
    if widget.mask == "paint":
        for i, j in widget.blocked:
            sees[i : i + 1, j : j + 1] = False  # a slice: words may be gone that once were blocked
    scores = q @ k.T
    scaled = scores / {"none": 1, "sqrt": q.shape[-1] ** 0.5, "d": q.shape[-1]}[widget.scale] / widget.temperature
    masked = scaled.masked_fill(~sees, -torch.inf)
    weights = F.softmax(masked, -1).nan_to_num(0)
    stages = {"scores": scores, "scaled": scaled, "masked": masked, "weights": weights}
    shows_mask = widget.stage in ("masked", "weights")
    asks = min(widget.query, L - 1)
    addends = weights[asks][:, None] * v
    return {
        "cells": stages[widget.stage],
        "row": weights[asks],
        "values": v if widget.q_LK else torch.tensor([]),
        "addends": addends / torch.cat([addends, addends.sum(0, keepdim=True)]).abs().max().clamp(min=1e-9),
        "output": (weights @ v)[asks],
        "colours": weights.flatten() if widget.stage == "weights" else torch.tensor([]),
        "bars": weights[asks],
        "words": weights[asks],
        "beams": weights[asks].sqrt(),
        "chosen": torch.arange(L) == asks,
        "hatched": (~sees & shows_mask).flatten(),
        "hints": torch.tensor(
            [not widget.q_LK and bool(strangers(widget.tokens)), widget.mask == "paint", not sees[asks].any(), False]
        ),
    }


class TestAttentionHeatmap(Moving):
    kind = AttentionHeatmap
    read = READ
    expected = staticmethod(expected)
    steps = [
        *write("the Cat by that river bank"),
        *ask(3),
        *choose("mask", "causal"),
        *choose("stage", "scores", "scaled", "masked", "weights"),
        *choose("scale", "none", "d", "sqrt"),
        *slide("Temperature", "temperature", last=10.0, first=0.1),
        *choose("mask", "padding"),
        *slide("Real words", "length", last=6, first=0),
        *choose("mask", "paint"),
        *paint(ROW, blocked=ROW),  # nothing left to attend to
        *paint([[2, 4]], blocked=[cell for cell in ROW if cell != [2, 4]]),
        *choose("mask", "none"),
    ]
    happens = [*ask(1), *ask(2)]
    changes = [{"temperature": 0.2}, {"stage": "scaled"}]
    states = {
        "ten long words": AttentionHeatmap(["international"] * 10),
        "one word": AttentionHeatmap("river"),
        "ten words": AttentionHeatmap("the river bank by the old stone bridge was closed", mask="causal", query=9),
        "unknown words": AttentionHeatmap("the zyzzyva sat", query=1),
        "only unknown words": AttentionHeatmap("qqq rrr"),
        "words that look like HTML": AttentionHeatmap(["</script>", "<b>", "&amp;"]),
        "a row with nothing to attend to": AttentionHeatmap(
            "the river bank", mask="paint", blocked=[[1, 0], [1, 1], [1, 2]], query=1
        ),
        "everything is padding": AttentionHeatmap("the river bank", mask="padding", length=0),
        "blocked cells of words that are gone": AttentionHeatmap("the river", mask="paint", blocked=[[0, 1], [5, 5]]),
        "its own numbers": AttentionHeatmap("a b c", **NUMBERS, mask="causal", stage="masked", query=1),
        "its own numbers, sharp": AttentionHeatmap("a b c", **NUMBERS, scale="none", temperature=0.01),
        "a query beyond the words": AttentionHeatmap("the river", query=5),
        "weights of its own": AttentionHeatmap("the river bank", weights=weights(3, 3), query=2),
        "heads of its own": AttentionHeatmap("the river bank", weights=weights(4, 3, 3), head=3),
        "one query's weights": AttentionHeatmap("the river bank", weights=[0.5, 0.5, 0.0]),
        "twelve tokens": AttentionHeatmap(list("abcdefghijkl"), weights=weights(2, 12, 12, mask=causal(12)), query=11),
        "forty tokens": AttentionHeatmap(FORTY, weights=weights(40, 40, mask=causal(40)), query=30),
        "more rows than columns": AttentionHeatmap("a b", weights=weights(4, 2), queries="c d e f", query=3),
        "long tokens": AttentionHeatmap(LONG, weights=weights(5, 5)),
        "long words": AttentionHeatmap(LONG),
        "a row of zeros": AttentionHeatmap("a b", weights=[[0, 0], [0.5, 0.5]]),
    }
    drags = {
        "temperature": (AttentionHeatmap("the river bank"), slide("Temperature", "temperature", first=0.1)),
        "queries": (AttentionHeatmap("the river bank", mask="none"), paint([[0, 1], [1, 1], [2, 1]])),
        "mask": (AttentionHeatmap("the river bank", mask="paint"), paint([[0, 1], [1, 1]], blocked=[[0, 1], [1, 1]])),
    }
    by_finger = ("mask",)
    errors = [
        (lambda: AttentionHeatmap(""), r"with 1 to 10 tokens, got 0"),
        (lambda: AttentionHeatmap("a " * 11), r"with 1 to 10 tokens, got 11.* weights=….*HeadBrowser"),
        (
            lambda: AttentionHeatmap("a", mask="future"),
            r"'mask' trait .* any of \['none', 'padding', 'causal', 'paint'\]",
        ),
        (lambda: AttentionHeatmap("a", query=-1), r"'query' trait .* not be less than 0"),
        (
            lambda: AttentionHeatmap("a b", q_LK=[[1]]),
            r"one row for each of the 2 tokens; got \[1, 0, 0\].*word vectors",
        ),
        (
            lambda: AttentionHeatmap("a b", [[1, 2], [3]], [[1, 2], [3, 4]], [[1], [2]]),
            r"rows of q_LK and k_LK share one width.* got widths \[\{1, 2\}, \{2\}, \{1\}\]",
        ),
        (lambda: AttentionHeatmap("a", temperature=0), r"'temperature' trait .* not be less than 0.01"),
        (lambda: AttentionHeatmap("a", tokes="b"), r"AttentionHeatmap has no option 'tokes'. .*It takes .*tokens"),
    ]


def test_words_as_people_type_them(visit):
    """At most ten, and only words; without any, those there stay. The word that asked asks on."""
    page = visit("bare.html", served={"bare.html": bare(*(AttentionHeatmap("the river") for _ in TYPED))})
    for place, (typed, kept) in enumerate(TYPED.items()):
        node = live(page, place)
        Mouse(page).write(words_of(node), typed)
        query = kept.index("the") if "the" in kept else 0
        agree(node, AttentionHeatmap(kept, query=query), f"{typed!r} typed")
        expect(words_of(node)).to_have_value(" ".join(kept))
        expect(node.locator("[data-hint=unknown] [translate=no]")).to_have_text(", ".join(strangers(kept)))


def test_torchs_own_attention_agrees(visit):
    """One path from the page to F.scaled_dot_product_attention, past everything that the other tests share. Numbers of
    its own need no vocabulary."""
    qkv = [torch.tensor(NUMBERS[name], dtype=torch.float64) for name in ("q_LK", "k_LK", "v_LV")]
    want = F.scaled_dot_product_attention(*qkv, is_causal=True)
    page = visit("bare.html", served={"bare.html": bare(AttentionHeatmap("a b c", **NUMBERS, mask="causal"))})
    for i, row in enumerate(want.tolist()):
        live(page).locator("[role=grid] tbody th").nth(i).click()
        texts = page.locator(".ab-output span").all_inner_texts()
        assert all(map(agrees, texts, row)), f"output of query {i}: the page shows {texts}, torch says {row}"
    page.wait_for_load_state("networkidle")
    assert not [address for address in visit.requests if address.endswith(".bin")]


def test_arrows_stay_inside_the_grid_and_move_its_tab_stop(visit):
    page = visit("bare.html", served={"bare.html": bare(AttentionHeatmap("the river bank", mask="paint"))})
    live(page)
    page.locator("[role=grid] [tabindex='0']").focus()
    for key, (row, column) in {
        "ArrowUp": (1, 1),
        "ArrowRight": (1, 2),
        "ArrowDown": (2, 2),
        "ArrowLeft": (2, 1),
    }.items():
        page.keyboard.press(key)
        place = page.evaluate(
            "(({ parentNode, cellIndex }) => [parentNode.rowIndex, cellIndex])(document.activeElement)"
        )
        assert place == [row, column], f"after {key} the focus is at {place}"
        expect(page.locator("[role=grid] [tabindex='0']")).to_have_count(1)
    for hatched in (1, 0):
        page.keyboard.press("Enter")
        expect(page.locator(".ab-blocked")).to_have_count(hatched)


@pytest.mark.parametrize("mask", ["none", "padding", "causal", "paint"])
@pytest.mark.parametrize("scale", ["none", "sqrt", "d"])
def test_table_holds_the_weights(mask, scale):
    tokens = ["the", "river", "bank", "zyzzyva"]
    widget = AttentionHeatmap(tokens, mask=mask, scale=scale, temperature=2.0, length=2, blocked=[[1, 0], [9, 9]])
    x = torch.stack([word_vectors().get(token, torch.zeros(16)) for token in tokens]).double()
    sees = torch.ones(4, 4, dtype=torch.bool)
    sees = {"none": sees, "padding": torch.arange(4) < 2, "causal": causal(4), "paint": sees.clone()}[mask]
    if mask == "paint":
        sees[1, 0] = False
    divisor = {"none": 1, "sqrt": 4, "d": 16}[scale] * 2
    weights = (x @ x.T / divisor).masked_fill(~sees, -torch.inf).softmax(-1)
    assert_close(widget.attend()[1], weights)
    assert_close(widget.attend()[0], weights @ x)
    assert_close(numbers(widget), weights.float(), rtol=0, atol=0.00501)


def test_table_of_given_numbers():
    widget = AttentionHeatmap("a b", **TWO_ROWS)
    output, weights = attention(*(torch.tensor(rows, dtype=torch.float64) for rows in TWO_ROWS.values()))
    assert_close(widget.attend(), (output, weights))
    assert_close(numbers(widget), weights.float(), rtol=0, atol=0.00501)


def test_a_row_with_nothing_to_attend_to_is_zero():
    output, weights = AttentionHeatmap("a b", mask="paint", blocked=[[0, 0], [0, 1]], **TWO_ROWS).attend()
    assert (output[0] == 0).all()
    assert (weights[0] == 0).all()


def test_words_cannot_become_html():
    tokens = ["</script>", "<img src=x onerror=alert(1)>", "&lt;", '"']
    page = parsed(AttentionHeatmap(tokens))
    assert len(page.select("script")) == 1
    assert not page.select("img")
    assert json.loads(page.script.string)["tokens"] == tokens
    assert [head.text for head in page.select("th[scope=row]")] == tokens


def test_asset_is_its_file_and_is_named_by_its_content():
    asset, data = AttentionHeatmap.inputs()["vocabulary"], (DATA / "words.bin").read_bytes()
    assert AttentionHeatmap("a").vocabulary == data
    assert asset.page_name == f"words.{hashlib.sha256(data).hexdigest()[:8]}.bin"
    assert json.loads(parsed(AttentionHeatmap("a")).script.string)["vocabulary"] == asset.page_name


def test_vectors_may_be_tensors_and_go_with_as_many_tokens():
    rows = [[1.0, 0.5], [0.0, 2.0]]
    heatmap = AttentionHeatmap("a b", *[torch.tensor(rows)] * 3)
    assert heatmap.q_LK == rows
    with pytest.raises(ValueError, match=r"each of the 1 tokens; got .2, 2, 2. rows.* make another"):
        heatmap.tokens = ["a"]


def test_weights_may_come_as_they_are():
    given = weights(2, 3, 3)
    want = AttentionHeatmap("a b c", weights=given).weights
    assert_close(torch.tensor(want), given, atol=5e-5, rtol=0)
    for one in (given.numpy(), given.tolist(), list(given), tuple(given.numpy()), given.clone().requires_grad_()):
        assert AttentionHeatmap("a b c", weights=one).weights == want
    for one in (given[0], given[0].double().numpy(), given[0].tolist(), list(given[0])):
        assert AttentionHeatmap("a b c", weights=one).weights == want[:1]
    for one in (given[0, 1], given[0, 1].numpy(), given[0, 1].tolist()):
        row = AttentionHeatmap("a b c", weights=one)
        assert (row.weights, row.queries) == ([want[0][1:2]], ["query"])


def test_table_holds_weights_that_are_given():
    widget = AttentionHeatmap("a b", weights=weights(2, 3, 2), queries="c d e", head=1)
    assert_close(numbers(widget), weights(2, 3, 2)[1], rtol=0, atol=0.00501)
    assert [head.text for head in parsed(widget).select("th[scope=row]")] == ["c", "d", "e"]
    with pytest.raises(ValueError, match="nothing to compute"):
        widget.attend()


def test_heads_are_chosen_and_rows_asked(visit):
    widget = AttentionHeatmap("the river bank", weights=weights(3, 3, 3))
    page = visit("bare.html", served={"bare.html": bare(widget)})
    node = live(page)
    node.get_by_role("radio", name="2").check()
    widget.head = 2
    agree(node, widget, "head 2 chosen")
    node.locator("tbody th").nth(1).click()
    widget.query = 1
    agree(node, widget, "a row asked")
    expect(node.get_by_role("textbox")).to_have_count(0)


@pytest.mark.parametrize("wide", [360, 992])
def test_names_of_forty_tokens_do_not_collide(visit, wide):
    """However long they are: each stands in its own row or column, and stays in sight when the grid scrolls."""
    states = [AttentionHeatmap(FORTY, weights=weights(40, 40)), AttentionHeatmap(LONG, weights=weights(5, 5))]
    page = visit("bare.html", viewport={"width": wide, "height": 800}, served={"bare.html": bare(*states)})
    for place in range(2):
        node = live(page, place)
        apart = """(node) => ["tbody th", "thead th"].every((names) => {
            const boxes = [...node.querySelectorAll(names)].map((name) => {
                const box = (name.querySelector("span") ?? name).getBoundingClientRect();
                const cell = name.getBoundingClientRect();
                return [Math.max(box.left, cell.left), Math.min(box.right, cell.right), box.top, box.bottom];
            });
            return boxes.every((a, i) => boxes.slice(i + 1).every((b) =>
                a[1] <= b[0] + 1 || b[1] <= a[0] + 1 || a[3] <= b[2] + 1 || b[3] <= a[2] + 1));
        })"""
        assert node.evaluate(apart), "names that overlap"
        assert node.bounding_box()["height"] <= 700
    stays = """(box) => {
        box.scrollTo(300, 300);
        const here = box.getBoundingClientRect();
        const [column] = box.querySelectorAll("thead th");
        const row = box.querySelectorAll("tbody th")[20];
        return [column.getBoundingClientRect().top - here.top, row.getBoundingClientRect().left - here.left];
    }"""
    assert all(abs(off) < 6 for off in live(page).locator(".ab-scroll").evaluate(stays))


def test_what_is_saved_opens_from_a_disk(browser, tmp_path):
    """With the words that it knows inside."""
    widget = AttentionHeatmap("the river bank", query=2)
    with opened(browser, widget.save(tmp_path / "weights.html")) as page:
        agree(live(page), widget)
    with pytest.raises(ValueError, match=r"must end in .html, got 'weights.png'"):
        widget.save("weights.png")
    with pytest.raises(ValueError, match="RealModel can't be one file"):
        RealModel().save(tmp_path / "model.html")
