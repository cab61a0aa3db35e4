"""Polarity: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import ast
import re
from functools import partial
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from playwright.sync_api import expect
from torch import Tensor, nn

from attnbook import attention, causal, peers
from attnbook.widgets import Polarity
from attnbook.widgets.polarity import CALLS
from tests.browser.pages import bare
from tests.widgets.laws import Laws, agree, live
from tests.widgets.oracles import cells
from tests.widgets.reading import parsed
from tests.widgets.steps import press, stroke

READ = """(node) => {
    const cells = [...node.querySelectorAll("[role=gridcell]")];
    const is = (name) => cells.map((cell) => String(Number(cell.matches(name))));
    const [listing] = node.querySelector("pre").textContent.split("\\n\\n");
    const numbers = { True: "1", False: "0", "-inf": "−∞" };
    const { wrong } = node.querySelector("[data-wrong]").dataset;
    const score = node.querySelector(".ab-score");
    const { right, answers } = score.dataset;
    const digits = (part) => part.textContent.match(/\\d+/g) ?? [];
    return {
        mask: listing.includes("tensor") ? listing.match(/True|False|-inf|\\d/g).map((x) => numbers[x] ?? x) : [],
        on: is(".ab-on"),
        lit: is(".ab-lit"),
        says: cells.map((cell) => String(Number(cell.textContent.includes("sees")))),
        wrong: is(".ab-wrong"),
        misses: wrong === "" ? [] : [wrong],
        told: digits(node.querySelector("[data-wrong]")),
        score: [right, answers],
        said: digits(score),
        title: digits(node.querySelector(".ab-title")),
    };
}"""


def who_sees_whom(call: str, mask: Tensor | None) -> Tensor:
    """Asked of the code itself: whose weight is not 0?"""
    draw = torch.Generator().manual_seed(2)
    q, k, v = torch.randn(3, 4, generator=draw), torch.randn(4, 4, generator=draw), torch.eye(4)
    sdpa = partial(F.scaled_dot_product_attention, q, k, v)
    mha = nn.MultiheadAttention(4, 1, batch_first=True)
    asked = {
        "book": lambda: attention(q, k, v, mask)[1],
        "sdpa": lambda: sdpa(mask),
        "sdpaAdded": lambda: sdpa(mask),
        "mha": lambda: mha(q, k, v, attn_mask=mask)[1],
        "mhaPadding": lambda: mha(q, k, v, key_padding_mask=mask)[1],
        "fill": lambda: (q @ k.T).masked_fill(mask, -torch.inf).softmax(-1),
        "d2l": lambda: peers.d2l().masked_softmax((q @ k.T)[None], mask[None])[0],
        "causal": lambda: attention(q, k, v, causal(3, 4))[1],
        "isCausal": lambda: sdpa(is_causal=True),
    }
    return asked[call]().detach() > 0


class Shorthand(nn.MultiheadAttention):
    def __init__(self, _):
        super().__init__(4, 1, batch_first=True)


MEANINGS = {  # what is said of each kind of call
    "attention(q, k, v, mask)": "book",
    "attn_mask=mask, a tensor of True": "sdpa",
    "attn_mask=mask, a tensor of -inf": "sdpaAdded",
    "mha, attn_mask=mask": "mha",
    "key_padding_mask": "mhaPadding",
    "masked_fill": "fill",
    "valid_lens": "d2l",
    "causal(": "causal",
    "is_causal": "isCausal",
}


def kind_of_call(code):
    number = "-inf" if "-inf" in code else "True"
    shortened = re.sub(r".*mha\(q, k, v, attn_mask=mask\).*", "mha, attn_mask=mask", code, flags=re.S)
    shortened = shortened.replace("attn_mask=mask)", f"attn_mask=mask, a tensor of {number}")
    (kind,) = (kind for kind in MEANINGS if kind in shortened)
    return kind


def expected(widget) -> dict[str, Tensor]:
    asked = max(len(widget.given) - widget.revealed, 0)
    sees = who_sees_whom(*widget.question(widget.seed, asked))
    marked = cells(widget.given[-1] if widget.revealed and widget.given else [] if widget.revealed else widget.seen)
    answers = [cells(given) for given in widget.given]
    right = [bool((a == who_sees_whom(*widget.question(widget.seed, n))).all()) for n, a in enumerate(answers)]
    mask, misses = widget.question(widget.seed, asked)[1], (sees != marked).sum()
    return {
        "mask": torch.tensor([]) if mask is None else mask,
        "on": marked,
        "lit": sees & widget.revealed,
        "says": sees if widget.revealed else marked,
        "wrong": (sees != marked) & widget.revealed,
        "misses": misses if widget.revealed else torch.tensor([]),
        "told": misses if widget.revealed and misses > 1 else torch.tensor([]),
        "score": torch.tensor([sum(right), len(right)]),
        "said": torch.tensor([sum(right), len(right)] if right else []),
        "title": torch.tensor([asked + 1]),
    }


RIGHT = who_sees_whom(*Polarity.question(seed=1, n=0)).nonzero().tolist()
ONE_WRONG = RIGHT[1:]


class TestPolarity(Laws):
    kind = Polarity
    read = READ
    expected = staticmethod(expected)
    steps = [
        *stroke([[0, 0], [0, 1]], "seen"),
        *stroke([[1, 1]], "seen"),
        *press("Reveal", {"given": lambda twin: [*twin.given, twin.seen], "revealed": True}),
        *press("Next question", {"seen": [], "revealed": False}),
        *stroke([[2, 0], [2, 1], [2, 2]], "seen"),
        *press("Reveal", {"given": lambda twin: [*twin.given, twin.seen], "revealed": True}),
        *press("Start again", {"seed": 2, "seen": [], "given": [], "revealed": False}),
    ]
    changes = [{"seen": [[0, 0]]}, {"revealed": True}, {"given": [[[0, 0]]]}, {"seed": 3}]
    states = {
        **{f"the call of question {n}": Polarity(seed=3, given=[[]] * n, seen=[[0, 0]]) for n in range(9)},
        "one cell wrong, revealed": Polarity(given=[ONE_WRONG], revealed=True),
        "all right, revealed": Polarity(given=[RIGHT], revealed=True),
        "nothing answered, revealed": Polarity(revealed=True),
        "the last question, revealed": Polarity(seed=3, given=[[]] * 9, revealed=True),
    }
    drags = {"who sees": (Polarity(), stroke([[0, 0], [0, 1]], "seen"))}
    by_finger = ("who sees",)
    errors = [(lambda: Polarity(seed=-1), r"'seed' trait .* not be less than 0")]


def test_the_code_of_a_question_gives_its_answer(visit):
    """Whose weight is not 0, when what stands on the page is run?"""
    draw = torch.Generator().manual_seed(4)
    q, k = torch.randn(1, 3, 4, generator=draw), torch.randn(1, 4, 4, generator=draw)
    names = {"q": q, "k": k, "v": torch.eye(4)[None], "scores": q @ k.mT, "inf": torch.inf, "tensor": torch.tensor}
    names |= {"F": F, "torch": torch, "d2l": peers.d2l(), "attention": attention, "causal": causal}
    names["nn"] = SimpleNamespace(MultiheadAttention=Shorthand)
    page = visit("bare.html", served={"bare.html": bare(Polarity(seed=5))})
    node, found, say = live(page), [], Polarity.edition_words()["meanings"]
    for _ in MEANINGS:
        code = node.locator("pre").inner_text()
        node.get_by_role("button", name="Reveal").click()
        *steps, last = ast.parse(
            code.replace("…", "...").replace("key_padding_mask=mask", "key_padding_mask=mask[None]")
        ).body
        exec(compile(ast.Module(steps, []), "page", "exec"), names)
        result = eval(compile(ast.Expression(last.value), "page", "eval"), names)
        weights = result[1] if isinstance(result, tuple) else result
        if "masked_fill" in code:
            weights = weights.softmax(-1)
        shows = node.locator("[role=gridcell]").evaluate_all("(all) => all.map((cell) => cell.matches('.ab-lit'))")
        assert (weights.detach().flatten() > 0).tolist() == shows, code
        found.append(kind_of_call(code))
        meaning = node.locator("[data-meaning]")
        expect(meaning).to_have_attribute("data-meaning", MEANINGS[found[-1]])
        expect(meaning).to_have_text(say[MEANINGS[found[-1]]])
        node.get_by_role("button", name="Next question").click()
    assert sorted(found) == sorted(MEANINGS)


def test_start_again_leaves_the_keyboard_where_it_goes_on(visit):
    page = visit("bare.html", served={"bare.html": bare(Polarity(given=[[]]))})
    live(page).get_by_role("button", name="Start again").press("Enter")
    expect(page.get_by_role("button", name="Reveal")).to_be_focused()
    agree(live(page), Polarity(seed=2), "after a new start")


def test_questions_about_polarity():
    """Every call comes once before any comes again, in an order of its seed; no row of a mask says all or nothing."""
    asked = [[Polarity.question(seed, n) for n in range(18)] for seed in (1, 2)]
    for questions in asked:
        names = [name for name, _ in questions]
        assert set(names[:9]) == set(names[9:]) == CALLS.keys()
        for name, mask in questions:
            if name in ("book", "sdpa", "mha", "fill", "mhaPadding"):
                assert mask.any(-1).all()
                assert not mask.all(-1).any()
    assert [name for name, _ in asked[0]] != [name for name, _ in asked[1]]
    assert [head.text for head in parsed(Polarity()).select("th[scope=row]")] == [
        f"{call}, mask of floats" if name == "sdpaAdded" else call for name, call in CALLS.items()
    ]
