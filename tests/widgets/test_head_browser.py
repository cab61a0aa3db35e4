"""HeadBrowser: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import json

import matplotlib.pyplot as plt
import pytest
import torch
from playwright.sync_api import expect
from torch import Tensor
from torch.testing import assert_close

from attnbook import MultiHeadAttention, capture_attention, causal
from attnbook.widgets import HeadBrowser
from attnbook.widgets.head_browser import KINDS, differences, kinds
from attnbook.widgets.head_browser.figure import figure
from tests.browser.hands import Finger, Mouse, bring
from tests.browser.pages import bare, opened
from tests.widgets.laws import Laws, agree, live
from tests.widgets.reading import parsed
from tests.widgets.steps import choose, press, slide

READ = """(node) => {
    const isSeen = (part) => part.checkVisibility({ visibilityProperty: true });
    const seen = (selector) => [...node.querySelectorAll(selector)].filter(isSeen);
    const text = (part) => part.textContent;
    const bare = (part) => text(part).replace(/[()]/g, "");
    const style = (name) => (part) => part.style.getPropertyValue(name);
    const is = (find) => (part) => String(Number(find(part)));
    const rows = (table) => [...table.querySelectorAll("tr:not(.ab-none)")];
    const lists = seen(".ab-lists table").map((table) => rows(table).map((row) =>
        [...row.querySelectorAll("td")].map(bare).concat(style("--w")(row.lastChild))));
    const texts = seen(".ab-text");
    const lit = texts.filter((one) => one.querySelector(".ab-weight"));
    const tokens = (one) => [...one.children];
    return {
        chosen: seen(".ab-heads td[role]").map(is((cell) => cell.ariaSelected === "true")),
        shares: seen(".ab-heads td[role]").map(style("--share")),
        asking: (texts.length === lit.length ? lit : texts.slice(0, 1)).map((one) =>
            tokens(one).map(is((token) => token.matches(".ab-chosen")))),
        at: seen(".ab-large").map(style("--at")),
        frame: seen(".ab-frame").flatMap(({ style }) =>
            [style.top, style.right, style.bottom, style.left].map((part) => part.slice(0, -1))),
        strands: seen(".ab-strand:not(.ab-framed)").map((path) => String(path.getAttribute("d").split("L").length - 1)),
        framed: seen(".ab-framed").flatMap((path) => path.getAttribute("d").split("M").slice(1).map((strand) =>
            [style("--w")(path), ...strand.split(/[ L]/).slice(0, 2)])),
        light: lit.map((one) => tokens(one).map(style("--w"))),
        back: lit.map((one) => tokens(one).map(style("--back")).filter(Boolean)),
        lists,
        kinds: seen(".ab-choices b").map((one) => [text(one), style("--w")(one)]),
        best: seen(".ab-tries button").filter((key) => key.ariaPressed).map((key) => text(key).split(" ").pop()),
        pressed: seen(".ab-tries button").filter((key) => key.ariaPressed).map(is((key) => key.ariaPressed === "true")),
    };
}"""


def weights(*shape, seed=0, mask=None) -> Tensor:
    scores = 3 * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1)


def ranking(w: Tensor) -> Tensor:
    """Place, weight and light of the four largest, as long as something is to be seen."""
    largest, places = w.sort(descending=True, stable=True)
    found = torch.stack([places, largest, largest], -1)[:4]
    return found[largest[:4] >= 0.005]


def all_strands(widget, texts, light) -> dict[str, Tensor]:
    """How many there are of each shade, and of each of the framed ones its shade, its layer and where it begins."""
    counts, framed = [], []
    for _, maps in texts if widget.view == "strands" else ():
        light_NLM = (maps * light[..., None, None]).amax(1)
        if widget.kind != "first" and maps.shape[-1] > 1:
            light_NLM[..., 0] = 0
        shades = (light_NLM * 10).floor()
        counts += [(shades == shade).sum() * (shade >= 3) for shade in range(11)]
        row = shades[:, min(widget.token, maps.shape[-1] - 1)]
        framed += [[shade / 10, *place] for shade in range(1, 11) for place in (row == shade).nonzero().tolist()]
    return {"strands": torch.tensor(counts), "framed": torch.tensor(framed)}


def close_up(widget, maps) -> tuple[list, list]:
    """In which row of the part the token is; and where the part lies in the whole, in hundredths from each side."""
    (*_, L, M), compared = maps.shape, widget.other_tokens
    if widget.view == "strands" or compared or max(L, M) <= 20:
        return [], []
    row = maps[widget.layer, widget.head, widget.token]
    strongest = 1 + row[1:].argmax().item()
    down, across = min(L, 20), min(M, 20)
    top, first = (
        min(max(at - part // 2, 0), size - part) for at, part, size in ((widget.token, down, L), (strongest, across, M))
    )
    inset = [top / L, 1 - (first + across) / M, 1 - (top + down) / L, first / M]
    return [widget.token - top], [100 * side for side in inset]


def expected(widget) -> dict[str, Tensor]:
    maps = widget.weights()
    own = widget.queries == widget.tokens
    shares = {name: torch.tensor(of, dtype=torch.double).view(maps.shape[:2]) for name, of in widget.shares.items()}
    texts = [(widget.queries, maps)]
    if widget.other_tokens:
        texts.append((widget.other_tokens, widget.other_weights()))
    share = shares.get(widget.kind)
    at = (widget.layer, widget.head)
    chosen = torch.zeros(maps.shape[:2])
    chosen[at] = 1
    tokens = [min(widget.token, len(queries) - 1) for queries, _ in texts]
    given = [maps[at][token] for token, (_, maps) in zip(tokens, texts, strict=True)]
    taken = [maps[at][:, token] for token, (_, maps) in zip(tokens, texts, strict=True)] if own else []
    like = torch.tensor([share[at] for share in shares.values()])
    best, order = torch.tensor([]), torch.tensor([], dtype=torch.long)
    if share is not None:
        best, order = (x[:5] for x in share.flatten().sort(descending=True, stable=True))
    light = torch.ones_like(chosen, dtype=torch.double) if share is None else share
    light = light / (light.max() if widget.kind == "different" and light.any() else 1)
    at_near, frame = close_up(widget, maps)
    heads = widget.view == "map"
    return {
        "chosen": chosen if heads else torch.tensor([]),
        "shares": light if heads else torch.tensor([]),
        "frame": torch.tensor(frame),
        **all_strands(widget, texts, light),
        "asking": torch.cat([torch.arange(len(queries)) == at for at, (queries, _) in zip(tokens, texts, strict=True)]),
        "at": torch.tensor(tokens + at_near),
        "light": torch.cat(given),
        "back": torch.cat(taken) if own else torch.tensor([]),
        "lists": torch.cat([ranking(w) for w in (given if len(texts) > 1 else given + taken)]),
        "kinds": torch.stack([like, like], -1),
        "best": best,
        "pressed": order == widget.layer * widget.heads + widget.head,
    }


def apart(one: Tensor, other: Tensor) -> Tensor:
    """By hand: of each place that both texts have, the attention that is elsewhere in the other."""
    found = torch.zeros(one.shape[:2], dtype=torch.double)
    least, most = sorted((one.shape[-1], other.shape[-1]))
    for i in range(least):
        for j in range(most):
            a, b = (maps[..., i, j] if j < maps.shape[-1] else 0 * found for maps in (one, other))
            found += (a - b).abs() / 2 / least
    return found


def go(layer, head):
    def act(hand, node):
        hand.sweep([node.locator("[role=grid] tbody tr").nth(layer).locator("td").nth(head)])

    return [(f"layer {layer}, head {head} chosen", act, {"layer": layer, "head": head})]


WORDS = ["when", "Mary", "and", "John", "met", ",", "John", "John", "Mary", "a", "book", "."]
LONG = [f"w{n % 97}" if n % 13 else "," for n in range(512)]


class TestHeadBrowser(Laws):
    kind = HeadBrowser
    read = READ
    expected = staticmethod(expected)
    steps = [
        *go(1, 2),
        *slide("Token", "token", first=0, last=7),
        *choose("kind", "induction", "previous"),
        *press("L0 H0 1.00", {"layer": 0, "head": 0}),
        *choose("kind", "same", "first", "separator"),
        *go(0, 1),
        *choose("kind", "all"),
        *choose("view", "strands"),
        *choose("kind", "first", "all"),
        *slide("Token", "token", first=0, last=7),
        *choose("view", "map"),
    ]
    changes = [{"layer": 1}, {"head": 2}, {"kind": "induction"}, {"view": "strands"}, {"token": 5}, {"kind": "all"}]
    states = {
        "twelve layers of twelve heads": HeadBrowser(
            WORDS, weights(12, 12, 12, 12, mask=causal(12)), layer=7, head=11, token=6, kind="same"
        ),
        "both ways, with special tokens": HeadBrowser(
            ["[CLS]", "Ġa", "▁b", "\n", "a.", "</s>"], weights(1, 2, 6, 6), kind="separator", token=2
        ),
        "other tokens in the rows": HeadBrowser(
            list("23rd of october"), [weights(2, 5, 15), weights(1, 2, 5, 15)], queries=list("10-23"), token=4, head=1
        ),
        "one token": HeadBrowser("alone", torch.ones(1, 1, 1, 1), kind="first"),
        "rows with nothing to look at": HeadBrowser("a b a", torch.zeros(1, 1, 3, 3), token=1),
        "tokens that look like HTML": HeadBrowser(["<b>", "&amp;", "</script>"], weights(1, 1, 3, 3)),
        "kinds of one's own": HeadBrowser(
            WORDS,
            weights(2, 2, 12, 12),
            kinds={"next": torch.ones(12, 12).triu(1).tril(1), "<b>": lambda maps: maps.diagonal(0, -1, -2).mean(-1)},
            kind="next",
        ),
        "own kinds where rows are other tokens": HeadBrowser(
            list("abc"),
            weights(1, 2, 2, 3),
            queries=list("de"),
            kinds={"last": torch.eye(3)[2].expand(2, 3)},
            kind="last",
        ),
        "two texts": HeadBrowser(
            WORDS,
            weights(2, 3, 12, 12, mask=causal(12)),
            other=([*WORDS[:5], "Ann", "<i>"], weights(2, 3, 7, 7, mask=causal(7), seed=1)),
            layer=1,
            token=6,
        ),
        "two texts, one seen both ways": HeadBrowser(
            "a b", weights(1, 1, 2, 2, mask=causal(2)), other=("a b c", weights(1, 1, 3, 3)), token=2, kind="same"
        ),
        "one text twice": HeadBrowser("a b", weights(1, 2, 2, 2), other=("a b", weights(1, 2, 2, 2))),
        "many layers": HeadBrowser(WORDS, weights(18, 2, 12, 12), layer=17, head=1, kind="first"),
        "512 tokens": HeadBrowser(LONG, weights(1, 2, 512, 512, mask=causal(512)), token=300, head=1),
        "more rows than columns": HeadBrowser("a b c", weights(1, 2, 30, 3), queries=LONG[:30], token=29),
        "strands in deep layers": HeadBrowser(WORDS, weights(18, 2, 12, 12, mask=causal(12)), view="strands", token=11),
        "strands of a kind": HeadBrowser(WORDS, weights(2, 3, 12, 12), kind="first", view="strands", token=5),
        "strands of two texts": HeadBrowser(
            "a b c", weights(2, 2, 3, 3), other=("a b", weights(2, 2, 2, 2, seed=1)), view="strands", token=2
        ),
        "a strand of one token": HeadBrowser("alone", torch.ones(1, 1, 1, 1), view="strands"),
        "strands of a long text": HeadBrowser(LONG[:60], weights(2, 2, 60, 60), view="strands", token=33),
    }
    errors = [
        (
            lambda: HeadBrowser("a b", torch.ones(2)),
            r"maps must have shape \(L, M\), \(H, L, M\) or .* got \(2,\).*None",
        ),
        (lambda: HeadBrowser("a b", torch.ones(1, 1, 1, 2, 2)), r"got \(1, 1, 1, 2, 2\).*one, maps\[0\]"),
        (lambda: HeadBrowser("a b c", weights(1, 1, 2, 2)), r"= \(\.\.\., 3, 3\), got \(1, 1, 2, 2\).*special tokens"),
        (lambda: HeadBrowser("a b c", weights(1, 1, 2, 3)), r"queries=\[…\], 2 of them"),
        (lambda: HeadBrowser("a b", torch.randn(1, 1, 2, 2)), r"between 0 and 1, got .* at maps\[.*softmax\(-1\)"),
        (lambda: HeadBrowser("a b", torch.eye(2) / 2), r"row 0 of layer 0, head 0 sums to 0.5.*keepdim"),
        (
            lambda: HeadBrowser("a b", torch.full((1, 1, 2, 2), torch.nan)),
            r"got nan at maps\[0, 0, 0, 0\].*masked_softmax",
        ),
        (lambda: HeadBrowser("a b", {"x": weights(3, 1, 2, 2)}), r"maps\['x'\] .* several texts.*layer\[:1\]"),
        (lambda: HeadBrowser("a b", [weights(3, 1, 2, 2)]), r"maps\[0\] .* several texts"),
        (lambda: HeadBrowser("a b", [weights(1, 2, 2), weights(2, 2, 2)]), r"maps\['1'\] must have .*maps\['0'\]"),
        (lambda: HeadBrowser("a b", {}), r"maps holds no layer"),
        (lambda: HeadBrowser("a " * 1025, torch.eye(1025)[None, None]), r"shows up to 1,024 tokens, got 1,025"),
        (
            lambda: HeadBrowser(["a"] * 1024, torch.eye(1024).expand(5, 13, -1, -1)),
            r"up to 67,108,864 weights, got 68,157,440.*layers=\[0, 1\]",
        ),
        (lambda: HeadBrowser("a b c", weights(1, 2, 2, 3), queries="a b", view="strands"), r"view='strands' needs"),
        (lambda: HeadBrowser(layer=2), r"layer is counted from 0 and must be below 2, got 2"),
        (lambda: HeadBrowser(kind="odd"), r"'kind' trait .* any of \['all', 'previous'.*got 'odd'"),
        (lambda: HeadBrowser(kind="different"), r"got 'different'"),
        (lambda: HeadBrowser(queries=list("abcdefgh"), kind="same"), r"any of \['all'\], got 'same'"),
        (lambda: HeadBrowser(kinds={"same": torch.eye(8)}), r"there is a kind called 'same' already"),
        (lambda: HeadBrowser(kinds={"x": torch.eye(7)}), r"kinds\['x'\] must have shape \(L, M\) = \(8, 8\).*mask"),
        (
            lambda: HeadBrowser(kinds={"x": lambda maps: maps}),
            r"kinds\['x'\] .* \(layers, heads\) = \(2, 3\).*function",
        ),
        (lambda: HeadBrowser(kinds={"x": lambda maps: 9 * maps[..., 0, 0]}), r"from 0 to 1 .* got 9 to 9"),
        (lambda: HeadBrowser(other=("a b", weights(1, 3, 2, 2))), r"other text .*\(2, 3, M, M\), got \(1, 3, 2, 2\)"),
        (lambda: HeadBrowser(other=("a", weights(2, 3, 2, 2))), r"\(\.\.\., 1, 1\), got \(2, 3, 2, 2\)"),
        (lambda: HeadBrowser().save("heads.pdf"), r"must end in .html, .png or .svg, got 'heads.pdf'"),
        (lambda: kinds(weights(1, 1, 2, 3), ["a", "b"]), r"\(\.\.\., L, L\) .*got \(1, 1, 2, 3\)"),
    ]


# ---- what Python makes of maps ----


@pytest.mark.parametrize("mask", [None, causal(12)], ids=["both ways", "causal"])
def test_kinds_by_hand(mask):
    maps, L = weights(2, 3, 12, 12, mask=mask).double(), 12
    there = {
        "previous": lambda i, j: j == i - 1,
        "same": lambda i, j: WORDS[i] == WORDS[j],
        "first": lambda i, j: j == 0 != i,
        "separator": lambda i, j: WORDS[j] in (",", "."),
        "induction": lambda i, j: 0 < j < i and WORDS[j - 1] == WORDS[i],
    }
    found = kinds(maps, WORDS)
    assert tuple(found) == tuple(there) == KINDS
    for kind, is_there in there.items():
        sees = [[is_there(i, j) and (mask is None or j <= i) for j in range(L)] for i in range(L)]
        rows = [maps[..., i, torch.tensor(row)].sum(-1) for i, row in enumerate(sees) if any(row)]
        assert_close(found[kind], torch.stack(rows).mean(0), msg=kind)


def test_separators():
    is_separator = dict.fromkeys([",", " .", "Ġ,", "▁—", "\n", "", "[SEP]", "</s>", "<|endoftext|>"], True)
    is_separator |= dict.fromkeys(["a", "Ġa", "1", "a.", "é", "字", "[x", "x]", "½"], False)
    for token, is_one in is_separator.items():
        found = kinds(torch.ones(1, 1), [token])["separator"]
        assert found.item() == is_one, repr(token)


def test_what_is_shown_is_close_to_what_was_given():
    maps = weights(2, 3, 12, 12, mask=causal(12))
    widget = HeadBrowser(WORDS, maps)
    assert widget.causal
    assert_close(widget.weights().float(), maps, atol=0.004, rtol=0)
    spread = torch.full((1, 1, 512, 512), 1 / 512)
    assert_close(HeadBrowser(LONG, spread).weights().sum(-1), torch.ones(1, 1, 512).double(), atol=0.05, rtol=0)
    for kind, share in kinds(maps, WORDS).items():
        assert_close(kinds(widget.weights(), WORDS)[kind].float(), share, atol=0.01, rtol=0)


def test_it_takes_maps_as_they_come():
    maps = weights(2, 3, 4, 4)
    want = HeadBrowser("a b c d", maps).maps
    given = [
        list(maps),
        maps.tolist(),
        tuple(layer[None] for layer in maps),
        maps.numpy(),
        maps.bfloat16().float() * 0 + maps,
    ]
    given.append({f"blocks.{n}.attention": layer[None] for n, layer in enumerate(maps)})
    for one in given:
        widget = HeadBrowser(["a", "b", "c", "d"], one)
        assert (widget.maps, widget.layers, widget.heads) == (want, ["0", "1"], 3)
    HeadBrowser("a b c d", maps.bfloat16())
    layer = HeadBrowser("a b c d", maps[:1]).maps
    for one in (maps[0], maps[0].numpy(), maps[0].tolist(), list(maps[0])):
        widget = HeadBrowser("a b c d", one)
        assert (widget.maps, widget.layers, widget.heads) == (layer, ["0"], 3)
    for one in (maps[0, 1], maps[0, 1].numpy(), maps[0, 1].tolist()):
        assert HeadBrowser("a b c d", one).maps == HeadBrowser("a b c d", maps[:1, 1:2]).maps


def test_it_takes_what_capture_attention_gives():
    torch.manual_seed(0)
    layer = MultiHeadAttention(8, 2)
    with torch.no_grad(), capture_attention(layer) as maps:
        layer(torch.randn(1, 3, 8), mask=causal(3))
    widget = HeadBrowser("a b c", maps)
    assert widget.causal
    assert_close(widget.weights()[0].float(), maps[""][0], atol=0.004, rtol=0)


def test_heads_drawn_by_rule_are_what_they_are_called():
    widget = HeadBrowser()
    found = {kind: divmod(share.argmax().item(), 3) for kind, share in kinds(widget.weights(), widget.tokens).items()}
    assert found == {"previous": (0, 0), "same": (0, 1), "first": (1, 0), "separator": (1, 1), "induction": (1, 2)}


def test_table_has_the_strongest_key_of_each_token():
    maps = weights(2, 2, 3, 3)
    widget = HeadBrowser(["a", "<b>", "c"], maps, layer=1, head=1)
    page = parsed(widget)
    assert page.caption.text == "Layer 1, head 1"
    rows = [[cell.text for cell in row.select("th, td")] for row in page.select("tr")[1:]]
    shares, places = maps[1, 1].max(-1)
    want = [(token, f"{widget.tokens[j]} ({j})") for token, j in zip(widget.tokens, places.tolist(), strict=True)]
    assert [tuple(row[:2]) for row in rows] == want
    assert_close(torch.tensor([float(row[2]) for row in rows]), shares, atol=0.0091, rtol=0)
    assert json.loads(page.script.string)["tokens"] == ["a", "<b>", "c"]


# ---- in a browser ----


def test_pointing_shows_and_pressing_keeps(visit):
    """On a token of the text, and on a row of the map."""
    page = visit("bare.html", touch=True, served={"bare.html": bare(HeadBrowser())})
    node = live(page)
    token, box = node.locator(".ab-text span").nth(2), node.locator(".ab-picture").first
    token.hover()
    agree(node, HeadBrowser(token=2), "pointed at a token")
    page.mouse.move(1, 1)
    agree(node, HeadBrowser(), "pointed at nothing")
    Mouse(page).press(token)
    page.mouse.move(1, 1)
    agree(node, HeadBrowser(token=2), "a token pressed")
    x, y = bring(box)
    page.mouse.move(x, y + 1)
    agree(node, HeadBrowser(token=4), "pointed at a row")
    page.mouse.move(1, 1)
    agree(node, HeadBrowser(token=2), "pointed at nothing again")
    Finger(page).press(node.locator(".ab-text span").nth(6))
    agree(node, HeadBrowser(token=6), "a token tapped")


def test_pictures_are_the_maps(visit):
    """As bright as the weights, in the large map and in each thumbnail; what can't be seen is left clear."""
    widget = HeadBrowser(WORDS, weights(2, 2, 12, 12, mask=causal(12)), layer=1, head=0)
    page = visit("bare.html", served={"bare.html": bare(widget)})
    node = live(page)
    expect(node.locator("img[src]")).to_have_count(4)
    read = """async (node) => {
        const canvas = new OffscreenCanvas(12, 12), pen = canvas.getContext("2d", { willReadFrequently: true });
        const pictures = [...node.querySelectorAll("img"), node.querySelector(".ab-picture canvas")];
        return Promise.all(pictures.map(async (picture) => {
            await picture.decode?.();
            pen.clearRect(0, 0, 12, 12);
            pen.drawImage(picture, 0, 0);
            return [...pen.getImageData(0, 0, 12, 12).data];
        }));
    }"""
    *small, large = torch.tensor(node.evaluate(read)).view(5, 12, 12, 4)
    assert (large == small[2]).all()
    for picture, weight in zip(small, widget.weights().view(4, 12, 12), strict=True):
        assert ((picture[..., 3] > 0) == causal(12)).all()
        seen = causal(12)
        order = weight[seen].argsort()
        light = picture[..., :3].sum(-1)[seen][order]
        assert (light.diff() >= -1).all(), "brighter, the larger the weight"
        assert light[-1] > light[0] + 200


def test_512_tokens_are_pointed_at_without_an_element_made_or_the_text_lit_anew(visit):
    """How fast that is depends on the machine; how much is written does not."""
    widget = HeadBrowser(LONG, weights(1, 2, 512, 512, mask=causal(512)))
    page = visit("bare.html", served={"bare.html": bare(widget)})
    node = live(page)
    node.evaluate("""(node) => {
        window.changed = { childList: 0, attributes: 0 };
        new MutationObserver((all) => { for (const one of all) {
            if (one.type === "attributes") changed.attributes++;
            changed.childList += [...one.addedNodes].filter((added) => added.nodeType === 1).length;
        } }).observe(node, { childList: true, attributes: true, subtree: true });
    }""")
    x, y = bring(node.locator(".ab-picture").first)
    for step in range(20):
        page.mouse.move(x, y - 10 + step)
    written = page.evaluate("changed")
    assert written["childList"] == 0
    assert 0 < written["attributes"] < 20 * 120, "of 1,024 that there are"
    page.mouse.click(x, y + 9)
    page.mouse.move(1, 1)
    at = node.locator(".ab-large").first.evaluate("(large) => large.style.getPropertyValue('--at')")
    agree(node, HeadBrowser(LONG, widget.weights(), token=int(at)), "pointed at the last")


def test_pointing_at_one_text_shows_the_place_in_both(visit):
    def twin(token):
        maps, others = weights(1, 2, 3, 3), weights(1, 2, 2, 2, seed=1)
        return HeadBrowser("a b c", maps, other=("a d", others), token=token)

    page = visit("bare.html", served={"bare.html": bare(twin(0))})
    node = live(page)
    node.locator(".ab-text").nth(1).locator("span").nth(1).hover()
    agree(node, twin(1), "pointed at the other text")
    node.locator(".ab-text").nth(0).locator("span").nth(2).click()
    page.mouse.move(1, 1)
    agree(node, twin(2), "a place pressed that the other text has not")


def test_where_a_strand_ends_its_head_is_found(visit):
    maps = weights(2, 3, 12, 12, mask=causal(12))
    first, second = maps[:, :, 7, 1:].amax(-1).argmax(-1).tolist()

    def twin(**traits):
        return HeadBrowser(WORDS, maps, view="strands", **traits)

    page = visit("bare.html", touch=True, served={"bare.html": bare(twin(layer=1))})
    node = live(page)
    picture = node.locator(".ab-flow .ab-picture")

    def press(x, token):
        bring(picture)
        box = picture.bounding_box()
        page.mouse.click(box["x"] + 1 + x * (box["width"] - 2), box["y"] + box["height"] * (token + 0.5) / 12)
        page.mouse.move(1, 1)

    press(0.5, 7)
    agree(node, twin(token=7, layer=0, head=first), "pressed in the middle, where layer 0 ends")
    press(1, 7)
    agree(node, twin(token=7, layer=1, head=second), "pressed at the end")
    press(0.5, 0)
    agree(node, twin(token=0, layer=1, head=second), "pressed where no strand ends: only the token is chosen")
    press(1, 7)
    Finger(page).press(node.locator("input[value=map]").locator("xpath=.."))
    agree(node, HeadBrowser(WORDS, maps, token=7, layer=1, head=second), "and seen by itself")


@pytest.mark.parametrize("mask", [None, causal(60)], ids=["both ways", "causal"])
def test_the_part_close_up_is_where_the_mouse_points(visit, mask):
    widget = HeadBrowser(LONG[:60], weights(1, 1, 60, 60, mask=mask))
    page = visit("bare.html", served={"bare.html": bare(widget)})
    node = live(page)
    expect(node.locator("img[src]")).to_have_count(1)
    bring(node.locator(".ab-picture").first)
    box = node.locator(".ab-picture").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 40.5 / 60, box["y"] + box["height"] * 20.5 / 60)
    read = """(node, [x, y, side]) => {
        const canvas = new OffscreenCanvas(side, side), pen = canvas.getContext("2d");
        pen.drawImage(node.querySelectorAll(".ab-picture canvas")[y === null ? 1 : 0], -x, -y);
        return [...pen.getImageData(0, 0, side, side).data];
    }"""
    assert node.evaluate(read, [30, 10, 20]) == node.evaluate(read, [0, None, 20])
    names = node.locator(".ab-near .ab-left").evaluate("(box) => [...box.children].map((one) => one.textContent)")
    assert names == LONG[10:30]
    assert node.locator(".ab-near .ab-above span").first.text_content() == LONG[30]


DEEP = weights(30, 9, 20, 20, mask=causal(20))
SENTENCE = "When Mary and John went to the store , John gave a drink to Mary because Mary was thirsty ."


@pytest.mark.parametrize("width", [664, 992], ids=["beside tasks", "as wide as can be"])
def test_it_fits_a_laptop_whatever_it_shows(visit, width):
    roomy = {"kind": "first", "layer": 1}
    states = {
        "few heads": HeadBrowser(),
        "a strongest of each kind": HeadBrowser(kind="same", layer=0, head=2, token=6),
        "30 layers of 9": HeadBrowser(SENTENCE, DEEP, **roomy),
        "two texts": HeadBrowser(SENTENCE, DEEP, other=(SENTENCE, DEEP), kinds={"mine": torch.eye(20)}, layer=20),
        "12 layers of 12": HeadBrowser([f"word{n}" for n in range(20)], weights(12, 12, 20, 20), **roomy),
        "16 heads": HeadBrowser([f"longerword{n}" for n in range(20)], weights(24, 16, 20, 20), **roomy),
        "512 tokens": HeadBrowser(LONG, weights(2, 1, 512, 512), **roomy),
        "strands": HeadBrowser(SENTENCE, DEEP, **roomy, view="strands"),
        "strands of two texts": HeadBrowser(SENTENCE, DEEP, other=(SENTENCE, DEEP), view="strands"),
        "a long text in 30 layers": HeadBrowser(LONG[:60], weights(30, 9, 60, 60), **roomy),
    }
    html = bare(*states.values()).replace("<head>", '<head><link rel="stylesheet" href="_static/style.css">', 1)
    page = visit("bare.html", viewport={"width": width, "height": 800}, served={"bare.html": html})
    if width < 992:
        del states["a long text in 30 layers"]
    for place, name in enumerate(states):
        node = live(page, place)
        height = node.bounding_box()["height"]
        assert height <= 700, f"{name}: {height} px"
        if "strands" in name:
            continue
        if width == 992 and "30 layers of 9" in name:
            hidden = node.locator(".ab-heads").evaluate("(box) => box.scrollHeight - box.clientHeight")
            assert hidden <= 6, "all 270 are seen at once"
        chosen = node.locator("[aria-selected=true]").evaluate(
            "(cell) => cell.getBoundingClientRect().top - cell.closest('.ab-heads').getBoundingClientRect().top"
        )
        assert 0 <= chosen <= height, "the chosen head is in sight"


# ---- files to keep ----


def test_what_is_saved_opens_from_a_disk(browser, tmp_path):
    """Live, and alone: with no server, and no address asked."""
    widget = HeadBrowser(["<b>", "</script>", "c"], weights(2, 2, 3, 3), other=("a b c", weights(2, 2, 3, 3)), layer=1)
    with opened(browser, widget.save(tmp_path / "heads.html")) as page:
        node = live(page)
        agree(node, widget, "at first")
        Mouse(page).press(node.locator("[role=gridcell]").nth(1))
        widget.layer, widget.head = 0, 1
        agree(node, widget, "a head chosen")
        expect(node.locator("img[src]")).to_have_count(4)


@pytest.mark.slow
@pytest.mark.parametrize("other", [None, ("a b", weights(2, 2, 2, 2))])
def test_figures_are_saved(tmp_path, other):
    widget = HeadBrowser(["$a", "<b>", "c"], weights(2, 2, 3, 3), other=other)
    assert widget.save(tmp_path / "heads.png").read_bytes().startswith(b"\x89PNG")
    svg = widget.save(tmp_path / "heads.svg").read_text("utf-8")
    assert svg.count("<image") == (3 if other else 2)
    assert not plt.get_fignums(), "a notebook would show it"


def test_a_figure_of_all_layers_has_a_strand_for_each_that_is_seen():
    widget = HeadBrowser(
        WORDS, weights(2, 3, 12, 12), other=("a b c", weights(2, 3, 3, 3)), kind="same", token=4, view="strands"
    )
    drawn = figure(widget).axes
    assert len(drawn) == 2
    for ax, maps in zip(drawn, (widget.weights(), widget.other_weights()), strict=True):
        share = torch.tensor(widget.shares["same"], dtype=torch.double).view(2, 3, 1, 1)
        light, row = (maps * share).amax(1)[..., 1:], min(4, maps.shape[-1] - 1)
        rest, framed = (lines.get_segments() for lines in ax.collections)
        assert len(framed) == (light[:, row] >= 0.1).sum()
        assert len(rest) == (light >= 0.3).sum() - (light[:, row] >= 0.3).sum()
        ends = {(layer, j + 1) for layer, j in (light[:, row] >= 0.1).nonzero().tolist()}
        assert {tuple(map(int, start)) for start, _ in framed} == ends
        assert all(end[1] == row for _, end in framed)


def test_a_figure_has_the_weights():
    widget = HeadBrowser("a b c", weights(2, 2, 3, 3), layer=1)
    overview, large = (ax.images[0].get_array() for ax in figure(widget).axes)
    assert_close(torch.tensor(large.data), widget.weights()[1, 0].sqrt())
    inside = torch.tensor(overview.filled(torch.nan)).view(2, 5, 2, 5).transpose(1, 2)[..., 1:-1, 1:-1]
    assert_close(inside, widget.weights().sqrt())


def test_shares_are_those_of_the_kinds():
    maps, mask = weights(2, 3, 12, 12, mask=causal(12)), torch.eye(12).roll(1, 0)
    widget = HeadBrowser(WORDS, maps, kinds={"mine": mask, "by function": lambda maps: maps[..., 0].mean(-1)})
    want = kinds(maps, WORDS) | {"mine": maps.diagonal(-1, -2, -1).sum(-1) / 11, "by function": maps[..., 0].mean(-1)}
    assert widget.shares.keys() == want.keys()
    for name, share in want.items():
        assert_close(torch.tensor(widget.shares[name]).view(2, 3), share, atol=6e-4, rtol=0)


def test_differences_by_hand():
    one, other = weights(2, 3, 5, 5), weights(2, 3, 4, 4, seed=1)
    assert_close(differences(one, other).double(), apart(one, other))
    assert_close(differences(one, one), torch.zeros(2, 3))
    disjoint = torch.eye(2), torch.eye(2).flip(0)
    assert differences(*disjoint) == 1
    widget = HeadBrowser("a b c d e", one, other=("a b c d", other))
    assert widget.kind == "different"
    assert_close(torch.tensor(widget.shares["different"]).view(2, 3), differences(one, other), atol=6e-4, rtol=0)
    assert_close(widget.other_weights().float(), other, atol=0.004, rtol=0)


def test_table_of_two_texts():
    maps, others = weights(1, 1, 2, 2), weights(1, 1, 3, 3, seed=1)
    page = parsed(HeadBrowser("a b", maps, other=("a b <i>", others)))
    rows = [[cell.text for cell in row.select("th, td")] for row in page.select("tr")[1:]]
    assert [row[0] for row in rows] == ["a", "b", "in the other text", "a", "b", "<i>"]
    shares = torch.cat([maps.max(-1).values.flatten(), others.max(-1).values.flatten()])
    assert_close(torch.tensor([float(row[2]) for row in rows if row[2]]), shares, atol=0.0091, rtol=0)
