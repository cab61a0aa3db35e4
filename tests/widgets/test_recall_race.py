"""RecallRace: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attnbook.widgets import RecallRace
from attnbook.widgets.recall_race import KEPT, KINDS, LETTERS, SHARP, read, state
from tests.browser.pages import bare
from tests.widgets.laws import Laws, agree, live
from tests.widgets.reading import parsed
from tests.widgets.steps import choose, slide

READ = """(node) => {
    const parts = (selector, within = node) => [...within.querySelectorAll(selector)];
    const lit = (part) => part.style.getPropertyValue("--w");
    const flag = (part, name) => String(Number(part.matches(name)));
    const [cache, ...states] = parts(".ab-one svg");
    const width = (svg) => svg.viewBox.baseVal.width;
    const inside = (svg) => parts("rect", svg).filter((cell) => cell.getAttribute("x") < width(svg));
    const signed = (cell) => (cell.matches(".ab-less") ? "-" : "") + lit(cell);
    return {
        holds: parts("small").map((part) => part.textContent.match(/[\\d,]+/)[0]),
        rows: inside(cache).map((cell) => [cell.getAttribute("y"), lit(cell)]),
        states: states.map((svg) => inside(svg).map(signed)),
        bars: parts(".ab-bars i").map(lit),
        right: parts(".ab-bars i").map((bar) => flag(bar, ".ab-right")),
        wrong: parts(".ab-one").map((part) => flag(part, ".ab-wrong")),
        said: parts(".ab-said").map((part) => String("ABCDEFGH".indexOf(part.textContent[0]))),
        known: parts(".ab-lamps i:not(.ab-blank)").map((lamp) => flag(lamp, ".ab-known")),
        asked: parts(".ab-asked").map((lamp) => lamp.dataset.pair),
        counts: parts(".ab-number").map((part) => part.textContent),
        curves: parts(".ab-curves path").map((line) => line.getAttribute("d").match(/[\\d.]+/g)),
        now: parts(".ab-curves circle").map((dot) => [dot.getAttribute("cx"), dot.getAttribute("cy")]),
        spoken: node.querySelector(".ab-curves svg").getAttribute("aria-label").match(/\\d\\.\\d+/g),
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    keys_MK, letters_M = widget.told()
    asked_K = keys_MK[widget.pair]
    answers = torch.stack([each[widget.pair] for each in widget.answers().values()])
    states = torch.stack([state(kind, keys_MK, letters_M) for kind in KINDS[1:]])
    known, race = torch.stack([*widget.known().values()]), torch.stack([*widget.race().values()])
    at = widget.written - 1
    x_N = 10.0 * torch.arange(32)
    return {
        "holds": torch.tensor([widget.numbers(kind) for kind in KINDS]),
        "rows": torch.stack([letters_M, (0.15 + (SHARP * keys_MK @ asked_K).softmax(-1)) / 1.15], -1),
        "states": states / states.abs().amax((1, 2), keepdim=True),
        "bars": answers.clamp(min=0) / answers.amax(-1, keepdim=True),
        "right": (torch.arange(8) == widget.right()[widget.pair]).expand(4, 8),
        "wrong": ~known[:, widget.pair],
        "said": answers.argmax(-1),
        "known": known,
        "asked": torch.full((4,), widget.pair + 1),
        "counts": known.sum(-1),
        "curves": torch.stack([x_N.expand(4, 32), 100 - 100 * race], -1),
        "now": torch.stack([torch.full((4,), 10.0 * at), 100 - 100 * race[:, at]], -1),
        "spoken": race[:, at],
    }


class TestRecallRace(Laws):
    kind = RecallRace
    read = READ
    expected = staticmethod(expected)
    steps = [
        *slide("Asked for pair", "asked", last=12, first=1),
        *slide("Pairs written", "written", last=32),
        *choose("width", 4, 32, 8),
        *choose("first", "twice", "once"),
        *slide("Pairs written", "written", first=1),
    ]
    changes = [{"written": 20}, {"asked": 20}, {"width": 16}, {"first": "twice"}, {"written": 3}]
    states = {
        "one pair": RecallRace(written=1),
        "one pair, twice": RecallRace(written=1, first="twice"),
        "all pairs, narrow": RecallRace(written=32, width=4, asked=30),
        "the first again, wide": RecallRace(written=24, width=32, first="twice"),
        "asked for what is not yet written": RecallRace(written=5, asked=9),
    }
    drags = {"written": (RecallRace(written=1), slide("Pairs written", "written", last=32))}
    errors = [
        (lambda: RecallRace(written=33), r"'written' trait .* not be greater than 32"),
        (lambda: RecallRace(width=5), r"'width' trait"),
    ]


def test_a_lamp_that_is_pressed_is_asked(visit):
    page = visit("bare.html", served={"bare.html": bare(RecallRace())})
    node = live(page)
    node.locator(".ab-strip").nth(2).locator("[data-pair='5']").click()
    agree(node, RecallRace(asked=5), "a lamp")


def test_states_are_what_one_writes_step_by_step():
    """The recurrence, as the chapter has it, against the package's layer."""
    keys_MK, letters_M = RecallRace(written=20, first="twice").told()
    for kind in KINDS[1:]:
        S_KV = torch.zeros(8, 8, dtype=torch.float64)
        for key_K, letter in zip(keys_MK, letters_M.tolist(), strict=True):
            value_V = torch.eye(8, dtype=torch.float64)[letter]
            held_V = key_K @ S_KV if kind == "delta" else torch.zeros_like(value_V)
            S_KV = (KEPT if kind == "decay" else 1) * S_KV + torch.outer(key_K, value_V - held_V)
        assert_close(state(kind, keys_MK, letters_M), S_KV)


def test_the_delta_rule_replaces_what_a_key_had():
    widget = RecallRace(written=1, first="twice")
    keys_MK, letters_M = widget.told()
    assert_close(read("delta", keys_MK[:1], keys_MK, letters_M)[0, letters_M[0]].item(), 0.0, atol=1e-12, rtol=0)
    assert_close(read("linear", keys_MK[:1], keys_MK, letters_M)[0, letters_M[0]].item(), 1.0)


@pytest.mark.parametrize("width", [4, 8, 16, 32])
def test_softmax_knows_all_pairs_and_a_state_does_not(width):
    race = RecallRace(width=width).race()
    assert race["softmax"].min() > 0.99
    assert all(race[kind][-1] < 0.95 for kind in KINDS[1:])


def test_table_of_a_recall_race():
    table = parsed(RecallRace(written=5, asked=9))
    assert "asked for pair 5" in table.caption.text
    assert len(LETTERS) == 8
