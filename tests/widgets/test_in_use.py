"""Every widget, worked by mouse, finger and keyboard: what it shows changes, and is what PyTorch computes."""

import ast
import re
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from playwright.sync_api import expect
from torch import nn
from torch.testing import assert_close

from attnbook import attention, capture_attention, causal, greedy, peers
from attnbook.data import english_vectors
from attnbook.learning.text import START
from attnbook.learning.text import STOP as END
from attnbook.tasks.dates import date_pairs, date_reader, date_transformer
from attnbook.widgets import (
    AlignmentPlayer,
    AnalogyBench,
    AttentionHeatmap,
    BankInContext,
    BlockStepper,
    CacheStepper,
    ClockHands,
    CostPlane,
    CueScene,
    FillValue,
    FindTheBug,
    HeadAblation,
    HeadBudget,
    HeadSplit,
    KernelRegression,
    LengthSlider,
    LiveTransformer,
    MaskMap,
    OnlineSoftmax,
    PaintMask,
    Polarity,
    ScaleLab,
    ShiftLab,
    SignalRace,
    SoftDictionary,
    TanhSum,
    WordMap,
    all_widgets,
)
from attnbook.widgets.shared.base import Asset
from tests.browser.hands import HANDS, Finger, Mouse, bring, middle, stops
from tests.browser.pages import PHONE, SITE, bare, widgets_on_the_site

from .oracle import agrees, differences, shown

ON_SITE = widgets_on_the_site()
each_hand = pytest.mark.parametrize("hand", HANDS.values(), ids=HANDS)
WITH_ASSETS = [kind for kind in all_widgets() if any(isinstance(trait, Asset) for trait in kind.inputs().values())]
each_widget = pytest.mark.parametrize("kind", all_widgets(), ids=lambda kind: kind.__name__)


def agree(node, twin, after="at first"):
    """What the widget shows, once it is known to be what PyTorch makes of the twin's traits."""
    texts = shown(node)
    wrong = differences(texts, twin)
    assert not wrong, f"{twin.name}, {after}: " + "; ".join(wrong[:6])
    return texts


def live(page, place=0):
    """The widget at a place on the page, once it runs."""
    node = page.locator("[data-afm]").nth(place)
    expect(node, "the widget did not start").to_have_attribute("data-mounted", "")
    return node


# ---- steps: what a reader does, and what it makes of the widget's traits ----


def choose(trait, *values):
    def act(value):
        return lambda hand, node: hand.choose(node.locator(f"input[name^='{trait}-'][value='{value}']"))

    return [(f"{trait} {value}", act(value), {trait: value}) for value in values]


def slide(label, trait, **ends):
    def act(end):
        return lambda hand, node: hand.slide(node.get_by_role("slider", name=label), end)

    return [(f"{trait} to its {end} value", act(end), {trait: value}) for end, value in ends.items()]


def words_of(place):
    return place.get_by_role("textbox", name="Words")


def write(text):
    words = text.split()

    def asker(twin):
        """The word that asked asks on, if it is still there."""
        word = twin.tokens[twin.query]
        return words.index(word) if word in words else 0

    changes = {"tokens": words, "query": asker, "blocked": []}
    return [(f"{text!r} written", lambda hand, node: hand.write(words_of(node), text), changes)]


def ask(i):
    return [(f"query {i} asks", lambda hand, node: hand.ask(node.locator("[role=grid] tbody tr").nth(i)), {"query": i})]


def paint(cells, **traits):
    def act(hand, node):
        rows = node.locator("[role=grid] tbody tr")
        hand.sweep([rows.nth(i).locator("td").nth(j) for i, j in cells])

    return [(f"painted {cells}", act, {"query": cells[-1][0], **traits})]


def press(name, changes):
    def act(hand, node):
        hand.press(node.get_by_role("button", name=name, exact=True))

    return [(f"{name!r} pressed", act, changes)]


def stroke(cells, trait, **more):
    """Over several cells: what it does to the first, it does to all."""
    (_, act, _), *_ = paint(cells)

    def after(twin):
        there = getattr(twin, trait)
        if cells[0] in there:
            return [cell for cell in there if cell not in cells]
        return there + [cell for cell in cells if cell not in there]

    return [(f"stroke over {cells}", act, {trait: after, **more})]


def fill(label, written, changes):
    def act(hand, node):
        hand.write(node.get_by_role("combobox", name=label), f" {written.upper()} ")

    return [(f"{written!r} written", act, changes)]


def switch_on_all(steps):
    return [(what, act, {**changes, "off": []}) for what, act, changes in steps]


def unchecked(steps):
    return [(what, act, {**changes, "revealed": False}) for what, act, changes in steps]


def compose(text, **changes):
    def act(hand, node):
        hand.write(node.get_by_role("textbox", name="A date"), f" {text} ")

    return [(f"{text!r} written", act, {"text": text, "step": 0, **changes})]


def instead(letter, token, place):
    """Among the letters that could be written, this one."""
    (_, act, _), *_ = press(letter, {})
    kept = lambda twin: [pair for pair in twin.forced if pair[0] < place]  # noqa: E731
    return [(f"{letter!r} instead", act, {"forced": lambda twin: kept(twin) + ([[place, token]] if token else [])})]


def there(word):
    """The map goes where the word is."""
    x, y = WordMap.place(word)
    return {"word": word, "x": x, "y": y, "zoom": lambda twin: max(twin.zoom, 6.0)}


def lifted(twin, y):
    """The points, the chosen one at another height."""
    return [[x, y if j == twin.chosen else old] for j, (x, old) in enumerate(twin.points)]


ROW = [[2, j] for j in range(6)]
STORIES = "the bat flew in the dark cave the bank gave her another loan"
UNTOUCHED = {"words_swapped": False, "texts_swapped": False, "a": "", "b": "", "c": "", "revealed": False}
ROUND = {"seed": lambda twin: twin.seed + 1, **UNTOUCHED}
RIVER = ["the", "bank", "of", "the", "river"]
CAUSAL = [[i, j] for i in range(4) for j in range(4) if j > i]
STEPS = {
    "attention_heatmap": [
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
    ],
    "word_map": [
        *fill("Find a word", "river", there("river")),
        *press("Go to rivers", there("rivers")),
        *slide("Zoom", "zoom", last=24.0, first=1.0),
        *fill("Find a word", "monday", there("monday")),
    ],
    "analogy_bench": [
        *press("Find the fourth word", {"asked": True}),
        *choose("queries", "in", "out"),
        *fill("This word", "uncle", {"a": "uncle"}),
        *fill("is to this one", "aunt", {"b": "aunt"}),
        *fill("as this one", "brother", {"c": "brother"}),
        *press("france paris japan", {"a": "france", "b": "paris", "c": "japan"}),
    ],
    "length_slider": [
        *slide("Angle of a", "angle_a", last=180, first=-180),
        *slide("Length of a", "length_a", last=4.0, first=0.1),
        *slide("Angle of b", "angle_b", last=180, first=-180),
        *slide("Length of b", "length_b", last=4.0, first=0.1),
    ],
    "paint_mask": [
        *press("what comes later", {"blocked": CAUSAL}),
        *choose("hide", "zero", "after"),
        *press("padding", {"blocked": [[i, 3] for i in range(4)]}),
        *choose("hide", "before"),
        *slide("Temperature", "temperature", last=10.0, first=0.1),
        *press("both", {"blocked": sorted([*CAUSAL, [3, 3]])}),
        *press("a whole row", {"blocked": [[1, j] for j in range(4)]}),
        *press("nothing", {"blocked": []}),
        *stroke([[0, 0], [0, 1], [0, 2]], "blocked"),
        *stroke([[0, 1]], "blocked"),
    ],
    "fill_value": [
        *choose("fill", "0", "-10", "-1e9", "lowest", "-inf", "-1e4"),
        *slide("Add to every score", "shift", first=-20_000),
        *choose("how", "add", "write"),
        *choose("hidden", "all"),
    ],
    "polarity": [
        *stroke([[0, 0], [0, 1]], "seen"),
        *stroke([[1, 1]], "seen"),
        *press("Reveal", {"given": lambda twin: [*twin.given, twin.seen], "revealed": True}),
        *press("Next question", {"seen": [], "revealed": False}),
        *stroke([[2, 0], [2, 1], [2, 2]], "seen"),
        *press("Reveal", {"given": lambda twin: [*twin.given, twin.seen], "revealed": True}),
        *press("Start again", {"seed": 2, "seen": [], "given": [], "revealed": False}),
    ],
    "cue_scene": [
        *slide("What stands out", "salience", last=8.0),
        *slide("I want to read", "wish", last=8.0, first=0.0),
    ],
    "soft_dictionary": [
        *slide("East", "x", last=10.0, first=0.0),
        *slide("North", "y", last=10.0, first=0.0),
        *slide("Temperature", "temperature", last=1000.0, first=0.1),
        *choose("score", "dot", "near"),
    ],
    "kernel_regression": [
        *slide("Width", "width", last=100.0, first=0.02),
        *slide("Query", "query", last=5.0, first=0.0),
        *slide("Point to move", "chosen", last=11),
        *slide("its value", "points", last=lambda twin: lifted(twin, 6.0), first=lambda twin: lifted(twin, 0.0)),
    ],
    "tanh_sum": [
        *slide("Query", "q", last=3.0, first=-3.0),
        *slide("Weight w₁", "w1", last=2.0, first=-2.0),
        *slide("Weight w₂", "w2", last=2.0, first=-2.0),
        *slide("Key", "k", last=6.0, first=-6.0),
    ],
    "alignment_player": [
        *press("Forward", {"step": lambda twin: twin.step + 1}),
        *press("Back", {"step": lambda twin: twin.step - 1}),
        *slide("Letters written", "step", last=11, first=0),
        *press("Forward", {"step": 1}),
        *press("Back", {"step": 0}),
        *press("11/12/13", {"text": "11/12/13", "step": 0}),
        *slide("Letters written", "step", last=11),
        *press("Monday", {"text": "Monday", "step": 0}),
        *slide("Letters written", "step", last=7),
        *compose("5 may 1955"),
    ],
    "live_transformer": [
        *press("Forward", {"step": lambda twin: twin.step + 1}),
        *choose("where", "encoder"),
        *choose("head", 1, 4, 0),
        *choose("where", "decoder"),
        *press("11/12/13", {"text": "11/12/13", "step": 0, "forced": []}),
        *slide("Letters written", "step", last=11),
        *press("Back", {"step": 10}),
        *instead("end", END, 9),
        *choose("where", "cross"),
        *press("Monday", {"text": "Monday", "step": 0, "forced": []}),
        *press("Forward", {"step": 1}),
        *instead("2", date_transformer()[1].ids["2"], 0),
        *instead("0", None, 0),
        *press("Forward", {"step": 2}),
        *compose("5 may 1955", forced=[]),
    ],
    "block_stepper": [
        *press("weights", {"part": "weights"}),
        *press("attention", {"part": "attention"}),
        *press("hidden layer", {"part": "hidden"}),
        *slide("Block", "block", last=6),
        *choose("norm", "pre"),
        *choose("shortcut", "without"),
        *press("feed-forward", {"part": "forward"}),
        *slide("Block", "block", first=1),
        *press("input", {"part": "in"}),
        *choose("norm", "post"),
    ],
    "mask_map": [
        *choose("mistake", "ahead", "strict", "pads", "cross", "encoder"),
        *slide("Tokens of the source", "source", first=2, last=5),
        *slide("Tokens of the target", "target", first=1, last=5),
        *stroke([[6, 8], [6, 9]], "flipped", row=6),
        *slide("Layers", "layers", first=1, last=3),
        *stroke([[1, 1]], "flipped", row=1),
        *press("Undo all changes", {"flipped": [], "mistake": "none"}),
    ],
    "online_softmax": [
        *press("Forward", {"read": 2}),
        *choose("block", 1),
        *slide("Blocks read", "read", last=8, first=0),
        *press("Forward", {"read": 1}),
        *choose("scores", "rising", "falling", "huge"),
        *choose("block", 4),
        *slide("Blocks read", "read", last=8),
        *choose("way", "forget", "no maximum"),
        *choose("scores", "mixed"),
        *press("Back", {"read": 4}),
        *choose("block", 8),
        *press("Forward", {"read": 8}),
        *press("Back", {"read": 0}),
    ],
    "cache_stepper": [
        *press("Forward", {"step": 2}),
        *choose("align", "first"),
        *slide("Step", "step", last=5),
        *choose("cache", "without"),
        *press("Back", {"step": 4}),
        *slide("Read at a time", "chunk", first=1, last=8),
        *slide("Prompt", "prompt", first=1, last=8),
        *choose("cache", "with"),
        *choose("heads", "MHA", "MQA"),
        *slide("Tokens in the cache", "tokens", first=64, last=131072),
    ],
    "head_split": [
        *press("Forward", {"step": 1}),
        *press("Forward", {"step": 2}),
        *choose("heads", 3, 6, 2),
        *choose("way", "view", "transpose"),
        *press("Back", {"step": 1}),
        *slide("Step", "step", last=5, first=0),
    ],
    "head_ablation": [
        *press("head 1", {"off": [0]}),
        *press("head 2", {"off": [0, 1]}),
        *press("head 1", {"off": [1]}),
        *switch_on_all(choose("heads", 4)),
        *press("head 3", {"off": [2]}),
        *switch_on_all(choose("heads", 1, 2)),
        *press("Another text", {"seed": lambda twin: twin.seed + 1}),
    ],
    "bank_in_context": [
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
    ],
    "clock_hands": [
        *slide("Position i:", "position", last=59, first=0),
        *slide("Position i′:", "other", first=0, last=59),
        *slide("Width", "width", first=4, last=32),
        *slide("Base", "base", last=100_000, first=2),
    ],
    "shift_lab": [
        *slide("Position i", "position", last=50),
        *slide("Distance", "apart", first=-10, last=10),
        *choose("mode", "turned"),
        *slide("Distance", "apart", first=-10),
        *slide("Position i", "position", first=10),
        *choose("mode", "moved"),
    ],
    "find_the_bug": [
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
    ],
    "cost_plane": [
        *choose("against", "convolution"),
        *choose("projections", "in"),
        *slide("Kernel", "kernel", first=3, last=33),
        *slide("Tokens", "n", last=2**20, first=16),
        *slide("Width", "d", last=2**14, first=16),
        *slide("Heads", "heads", last=128, first=1),
        *choose("projections", "out"),
        *choose("against", "recurrence"),
        *press("Llama 3.1 8B", {"n": 131072, "d": 4096, "heads": 32}),
    ],
    "signal_race": [
        *press("One step on", {"step": 1}),
        *press("One step on", {"step": 2}),
        *slide("Tokens", "n", last=32),
        *slide("Kernel", "kernel", last=5, first=2),
        *slide("Steps", "step", last=32),
        *slide("Operations", "at_once", first=1),
        *slide("Tokens", "n", first=2),
    ],
    "head_budget": [
        *slide("Heads", "heads", last=64, first=1),
        *slide("Width", "width", last=1024, first=64),
        *slide("Words", "length", last=4096, first=16),
    ],
    "scale_lab": [
        *slide("Width", "width", last=1024, first=1),
        *slide("Typical size", "size", last=4.0, first=0.25),
        *slide("Width", "width", last=1024),
        (
            "new q and k",
            lambda hand, node: hand.press(node.get_by_role("button")),
            {"seed": lambda twin: twin.seed + 1},
        ),
    ],
}


def copy_of(twin):
    (kind,) = (kind for kind in all_widgets() if isinstance(twin, kind))
    return kind(**{n: getattr(twin, n) for n, trait in kind.inputs().items() if not isinstance(trait, Asset)})


def walk(page, hand, node, twin, steps):
    """Take the steps; after each, what is shown has changed and is what PyTorch makes of the twin's traits."""
    before = shown(node)
    for what, act, changes in steps:
        changes = {name: value(twin) if callable(value) else value for name, value in changes.items()}
        if all(getattr(twin, name) == value for name, value in changes.items()):
            continue  # the page happens to start there
        act(hand(page), node)
        for name, value in changes.items():
            setattr(twin, name, value)
        now = agree(node, twin, what)
        assert now != before, f"{twin.name}: no number changed after {what}"
        before = now


@each_hand
@each_widget
def test_every_control(visit, kind, hand):
    """Every slider, choice, field, cell and button; from where the book's first page with such a widget starts."""
    assert kind.name in STEPS, f"{kind.__name__} needs its steps here: something to do for each of its controls"
    here = [twin for _, _, twin in ON_SITE if isinstance(twin, kind) and not getattr(twin, "q_LK", None)]
    assert here, f"no page of the book shows {kind.__name__}"
    page = visit("bare.html", touch=hand is Finger, served={"bare.html": bare(here[0])})
    walk(page, hand, live(page), copy_of(here[0]), STEPS[kind.name])


# ---- what it shows, in every state ----


@pytest.mark.parametrize("path", sorted({path for path, _, _ in ON_SITE}))
def test_every_widget_of_the_book_shows_what_torch_computes(visit, path):
    """At first; and the first of its kind after a step or two, between all else that the page holds."""
    page = visit(path)
    first = {twin.name: (where, n) for where, n, twin in reversed(ON_SITE) if not getattr(twin, "q_LK", None)}
    for where, place, twin in ON_SITE:
        if where == path:
            agree(live(page, place), twin)
            if (where, place) == first[twin.name]:
                walk(page, Mouse, live(page, place), copy_of(twin), STEPS[twin.name][:2])


NUMBERS = {
    "q_LK": [[1, 0], [0, 2], [1, 1]],
    "k_LK": [[1, 0], [0, 1], [1, 1]],
    "v_LV": [[10, 0, 3], [0, 10, 3], [5, -5, 0]],
}
STATES = {
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
    "a word and where it is": WordMap("bank"),
    "its tenth on the map is a neighbour": WordMap("blue"),
    "the one after its tenth is": WordMap("king"),
    "a word that is out of sight": WordMap("bank", x=-0.9, y=0.9, zoom=24.0),
    "the edge of the map": WordMap(x=1.0, y=-1.0, zoom=2.0),
    "an analogy": AnalogyBench("big", "bigger", "cold", asked=True),
    "an analogy of one word": AnalogyBench("river", "river", "river", asked=True, queries="in"),
    "an analogy with itself": AnalogyBench("king", "queen", "king", asked=True, queries="in"),
    "at a right angle": LengthSlider(angle_a=90, angle_b=-90),
    "opposite": LengthSlider(angle_a=180, length_a=4.0, angle_b=-180),
    "an angle between the stops": LengthSlider(angle_a=33, length_b=1.234),
    "nothing but padding": PaintMask(["(pad)"], [[0.0]], pads=[0], blocked=[[0, 0]]),
    "padding on the left, and causal": PaintMask(
        ["(pad)", "a", "b"],
        [[0, 0, 0], [0, 2, 1], [0, 1, 2]],
        pads=[0],
        blocked=[[0, 0], [0, 1], [0, 2], [1, 0], [1, 2]],
    ),
    "large scores": PaintMask(["a", "b"], [[20.0, -20.0], [7.0, 6.0]], temperature=0.3),
    "all hidden by zeros": PaintMask(blocked=[[0, j] for j in range(4)], hide="zero"),
    "all hidden afterwards": PaintMask(blocked=[[0, j] for j in range(4)], hide="after"),
    **{f"the call of question {n}": Polarity(seed=3, given=[[]] * n, seen=[[0, 0]]) for n in range(9)},
    "nothing answered, revealed": Polarity(revealed=True),
    "the last question, revealed": Polarity(seed=3, given=[[]] * 9, revealed=True),
    "a crowd": CueScene("crowd", wish=1.5),
    "no query": CueScene(salience=0.0),
    "a step from a station": SoftDictionary(x=5.0, y=4.25),
    "at a station": SoftDictionary(x=5.0, y=4.0, temperature=0.1),
    "far from all, by dot product": SoftDictionary(x=0.0, y=10.0, score="dot", temperature=1000.0),
    "two points": KernelRegression(points=[[1.0, 2.0], [4.0, 5.0]], chosen=7, query=0.0),
    "a kernel that sees nothing but itself": KernelRegression(width=0.02, query=5.0),
    "weights of both signs": TanhSum(q=2.0, w1=-2.0, w2=2.0),
    "a window": TanhSum(q=3.0, w1=1.0, w2=-1.0, k=-6.0),
    "a key between the stops": TanhSum(q=-1.3, k=0.7, w1=0.25),
    "as long as can be": AlignmentPlayer("1" * 29, step=11),
    "where the start of a text might follow": AlignmentPlayer("Ti5", step=1),
    "nothing written": AlignmentPlayer(step=0),
    "all written": AlignmentPlayer("Wednesday, 30 September 2049", step=11),
    "a date of one letter": AlignmentPlayer("7", step=3),
    "spaces": AlignmentPlayer("  May ", step=5),
    "no date": AlignmentPlayer("1962-10-23", step=11),
    "written to an early end": AlignmentPlayer("Monday", step=11),
    "a long date and its encoder": LiveTransformer("1" * 29, step=11, where="encoder", head=2),
    "nothing written, the decoder": LiveTransformer(step=0, where="decoder"),
    "no date, forced twice": LiveTransformer("Monday", step=3, forced=[[0, 8], [2, 9]], where="decoder", head=3),
    "a forced end": LiveTransformer("7", step=11, forced=[[1, 2]]),
    "the sums of a post-norm block": BlockStepper(block=6, part="add2"),
    "the sums of a pre-norm block": BlockStepper(norm="pre", block=3, part="add1"),
    "no shortcuts": BlockStepper(shortcut="without", block=2, part="weights"),
    "no shortcuts, the sum": BlockStepper(norm="pre", shortcut="without", block=2, part="add1"),
    "the second norm": BlockStepper(block=4, part="norm2"),
    "cells of a row that is padding": MaskMap(source=2, target=1, row=3, flipped=[[3, 4], [0, 4]]),
    "a padded target": MaskMap(target=2, row=9, layers=1, flipped=[[6, 7], [2, 7], [5, 5]]),
    "a Transformer": MaskMap(source=5, layers=3, row=9),
    "a sum that forgets": OnlineSoftmax(scores="rising", block=1, way="forget", read=8),
    "an overflow": OnlineSoftmax(scores="huge", block=4, way="no maximum", read=3),
    "nothing to rescale": OnlineSoftmax(scores="falling", way="forget", read=7),
    "a prompt in chunks, the wrong corner": CacheStepper(align="first", chunk=2, step=2, heads="MHA"),
    "one token and no cache": CacheStepper(cache="without", prompt=1, chunk=8, step=8, align="first"),
    "the first chunk": CacheStepper(prompt=8, chunk=3, tokens=131072, heads="MQA"),
    "cut into two heads": HeadSplit(heads=2, step=1),
    "six heads to the front": HeadSplit(heads=6, step=3),
    "three heads, on the way back": HeadSplit(heads=3, step=4),
    "three heads by view alone": HeadSplit(heads=3, step=2, way="view"),
    "six heads by view alone": HeadSplit(heads=6, step=4, way="view"),
    "all heads off": HeadAblation(off=[0, 1]),
    "heads off that are not there": HeadAblation(heads=1, off=[1, 3]),
    "four heads, two of them off": HeadAblation(heads=4, off=[0, 2], seed=9),
    "more words than a head has numbers": HeadBudget(width=64, heads=64, length=4096),
    "a full line, one word twice": BankInContext(
        "the bank gave him cash and one bat flew to the bank of river", place=7, matrices="learned", asked=True
    ),
    "a word alone": BankInContext("bank", extra="bank", asked=True),
    "two slow hands": ClockHands(position=59, other=0, width=4, base=100_000),
    "sixteen fast hands": ClockHands(position=30, other=31, width=32, base=2),
    "turned apart the other way": ShiftLab(mode="turned", position=10, apart=-10),
    "everything swapped, two answers": FindTheBug(
        seed=3, words_swapped=True, texts_swapped=True, a="right", c="none", revealed=True
    ),
    "as long and as wide as can be": CostPlane(n=2**20, d=2**14, heads=128, projections="in"),
    "between the lines": CostPlane(against="convolution", kernel=5, projections="in", n=1000, d=3000, heads=96),
    "two tokens": SignalRace(n=2, kernel=5, step=1, at_once=1),
    "nearly there": SignalRace(n=30, kernel=2, step=28, at_once=10_000),
    "the narrowest": ScaleLab(width=1, size=0.25),
    "the widest": ScaleLab(width=1024, size=4.0, seed=12345),
    "a width between the stops": ScaleLab(width=100, seed=2**31 - 1),
    "a seed below zero": ScaleLab(seed=-7),
}


def test_every_state_shows_what_torch_computes(visit):
    page = visit("bare.html", served={"bare.html": bare(*STATES.values())})
    for place, (name, twin) in enumerate(STATES.items()):
        agree(live(page, place), twin, name)
    notes = page.locator(".ab-hint")
    expect(notes.filter(has_text="Not among the 4,000 words: zyzzyva.")).to_be_visible()
    expect(notes.filter(has_text="all weights and the output are zero").filter(visible=True)).to_have_count(2)


TYPED = {
    "a " * 12: ["a"] * 10,
    "  ": ["the", "river"],
    "  BANK  x ": ["BANK", "x"],
    "<b>the</b>, river's!": ["b", "the", "b", "river's"],
}


@pytest.mark.parametrize(("typed", "kept"), TYPED.items())
def test_words_as_people_type_them(visit, typed, kept):
    """At most ten, and only words; without any, those there stay. The word that asked asks on."""
    page = visit("bare.html", served={"bare.html": bare(AttentionHeatmap("the river"))})
    Mouse(page).write(words_of(page), typed)
    query = kept.index("the") if "the" in kept else 0
    agree(live(page), AttentionHeatmap(kept, query=query), f"{typed!r} typed")
    expect(words_of(page)).to_have_value(" ".join(kept))
    expect(page.get_by_text("Only the first ten words")).to_have_count(int(len(typed.split()) > 10))


def test_torchs_own_attention_agrees(visit):
    """One path from the page to F.scaled_dot_product_attention, past everything that the other tests share."""
    qkv = [torch.tensor(NUMBERS[name], dtype=torch.float64) for name in ("q_LK", "k_LK", "v_LV")]
    want = F.scaled_dot_product_attention(*qkv, is_causal=True)
    page = visit("bare.html", served={"bare.html": bare(AttentionHeatmap("a b c", **NUMBERS, mask="causal"))})
    for i, row in enumerate(want.tolist()):
        live(page).locator("[role=grid] tbody th").nth(i).click()
        texts = page.locator(".ab-output span").all_inner_texts()
        assert all(map(agrees, texts, row)), f"output of query {i}: the page shows {texts}, torch says {row}"


# ---- how it behaves ----

COUNT_ELEMENTS = """(node) => {
    window.created = 0;
    // Elements only: a text that changes is a new text node, which moves nothing on the page.
    const elements = (change) => [...change.addedNodes].filter((added) => added.nodeType === Node.ELEMENT_NODE).length;
    const count = (changes) => { for (const change of changes) created += elements(change); };
    new MutationObserver(count).observe(node, { childList: true, subtree: true });
}"""
DRAGS = {
    "temperature": (AttentionHeatmap("the river bank"), slide("Temperature", "temperature", first=0.1)),
    "queries": (AttentionHeatmap("the river bank", mask="none"), paint([[0, 1], [1, 1], [2, 1]])),
    "mask": (AttentionHeatmap("the river bank", mask="paint"), paint([[0, 1], [1, 1]], blocked=[[0, 1], [1, 1]])),
    "width": (ScaleLab(), slide("Width", "width", first=1)),
    "size": (ScaleLab(), slide("Typical size", "size", last=4.0)),
    "zoom": (WordMap("river"), slide("Zoom", "zoom", last=24.0)),
    "angle": (LengthSlider(), slide("Angle of a", "angle_a", last=180)),
    "hidden scores": (PaintMask(), stroke([[1, 0], [1, 1], [1, 2], [1, 3]], "blocked")),
    "shift": (FillValue(), slide("Add to every score", "shift", first=-20_000)),
    "wish": (CueScene(), slide("I want to read", "wish", last=8.0)),
    "place": (SoftDictionary(), slide("East", "x", last=10.0)),
    "kernel": (KernelRegression(), slide("Width", "width", last=100.0)),
    "tanh": (TanhSum(), slide("Query", "q", last=3.0)),
    "letters": (AlignmentPlayer(), slide("Letters written", "step", last=11)),
    "letters of the Transformer": (LiveTransformer(), slide("Letters written", "step", last=11)),
    "blocks": (BlockStepper(part="weights"), slide("Block", "block", last=6)),
    "blocks read": (OnlineSoftmax(block=1), slide("Blocks read", "read", last=8)),
    "decoding": (CacheStepper(), slide("Step", "step", last=5)),
    "masks": (MaskMap(), stroke([[6, 8], [6, 9]], "flipped", row=6)),
    "step": (HeadSplit(), slide("Step", "step", last=5)),
    "tokens": (SignalRace(step=3), slide("Tokens", "n", last=32)),
    "length": (CostPlane(), slide("Tokens", "n", last=2**20)),
    "position": (ClockHands(width=32), slide("Position i:", "position", last=59)),
    "distance": (ShiftLab(), slide("Distance", "apart", last=10)),
    "heads": (HeadBudget(), slide("Heads", "heads", last=64)),
    "who sees": (Polarity(), stroke([[0, 0], [0, 1]], "seen")),
}


@pytest.mark.parametrize(
    ("drag", "hand"), [*((drag, Mouse) for drag in DRAGS), *((drag, Finger) for drag in ("mask", "masks", "wish"))]
)
def test_no_element_is_created_during_a_drag(visit, drag, hand):
    twin, steps = DRAGS[drag]
    page = visit("bare.html", touch=hand is Finger, served={"bare.html": bare(twin)})
    node = live(page)
    node.evaluate(COUNT_ELEMENTS)
    walk(page, hand, node, copy_of(twin), steps)
    assert page.evaluate("created") == 0, (
        "a drag must only change what is there: create elements in build(), not draw()"
    )


def test_a_slider_says_its_value_while_it_moves(visit):
    page = visit("bare.html", served={"bare.html": bare(ScaleLab())})
    live(page)
    slider, said = page.get_by_role("slider", name="Width"), []
    x, y = bring(slider)
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(4):
        page.mouse.move(x + 30 * step, y)
        said.append(slider.get_attribute("aria-valuetext"))
        expect(page.locator("label", has=slider).locator(".ab-value")).to_have_text(said[-1])
        agree(live(page), ScaleLab(width=int(said[-1])), "while the mouse is down")
    assert len(set(said)) > 2, f"dragged to the right, the slider said {said}"


def test_two_of_a_kind_do_not_touch_each_other(visit):
    twins = [AttentionHeatmap("the river bank"), AttentionHeatmap("the river bank"), ScaleLab(), ScaleLab()]
    page = visit("bare.html", served={"bare.html": bare(*twins)})
    for place in (0, 2):
        walk(page, Mouse, live(page, place), copy_of(twins[place]), STEPS[twins[place].name][:4])
    for place in (1, 3):
        agree(live(page, place), twins[place], "after its neighbour was worked")
        expect(live(page, place).locator("input:checked")).to_have_count(live(page, place).locator("fieldset").count())


def test_every_widget_fits_a_phone(visit):
    long = {AttentionHeatmap: [["international"] * 10], PaintMask: [["international"] * 4]}
    widgets = [kind(*long.get(kind, [])) for kind in all_widgets()]
    page = visit("bare.html", viewport=PHONE, served={"bare.html": bare(*widgets)})
    for place, widget in enumerate(widgets):
        node = live(page, place)
        assert node.evaluate("node => node.scrollWidth <= node.clientWidth"), f"{widget.name} is too wide"
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


STOP = """() => {
    const node = document.activeElement;
    const outlined = (element) => {
        const style = getComputedStyle(element);
        return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    };
    return {
        inside: Boolean(node.closest("[data-afm]")),
        what: (node.closest("fieldset, .ab-control, [role=grid], button") ?? node).innerText,
        outlined: outlined(node) || (node.type === "radio" && outlined(node.nextElementSibling)),
    };
}"""


@each_widget
def test_the_keyboard_reaches_everything_and_shows_where_it_is(visit, kind):
    """Each slider, button, field, group of choices and grid is one stop of the Tab key, with an outline."""
    page = visit("bare.html", served={"bare.html": bare(kind())})
    node, stops = live(page), []
    for _ in range(30):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(STOP))
        if not stops[-1]["inside"]:
            break
    stops = [stop for stop in stops if stop["inside"]]
    controls = "input:not([type=radio]), button, fieldset, [role=grid], svg[tabindex], pre[tabindex]"
    assert len(stops) == node.locator(controls).filter(visible=True).count(), [stop["what"] for stop in stops]
    assert all(stop["outlined"] for stop in stops), f"no outline: {[s['what'] for s in stops if not s['outlined']]}"


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


def test_nothing_moves_by_itself_for_those_who_ask(visit):
    widgets = [kind() for kind in all_widgets()]
    page = visit("bare.html", motion="reduce", served={"bare.html": bare(*widgets)})
    moving = "(n) => getComputedStyle(n).transitionDuration !== '0s' || getComputedStyle(n).animationName !== 'none'"
    for place, widget in enumerate(widgets):
        walk(page, Mouse, live(page, place), copy_of(widget), STEPS[widget.name][:1])
        assert page.evaluate("document.getAnimations().length") == 0, widget.name
    assert not page.evaluate(f"[...document.querySelectorAll('[data-afm] *')].filter({moving}).map((n) => n.className)")


# ---- what it is made of ----


@pytest.mark.parametrize("kind", WITH_ASSETS, ids=lambda kind: kind.__name__)
def test_assets_come_once_from_the_site_itself(visit, kind):
    """Some at the start, some when they are first needed: by the first step at the latest."""
    page = visit("bare.html", served={"bare.html": bare(kind())})
    node, twin = live(page), kind()
    walk(page, Mouse, node, twin, STEPS[kind.name][:2])
    page.wait_for_load_state("networkidle")
    for asset in [trait for trait in kind.inputs().values() if isinstance(trait, Asset)]:
        address = f"{visit.home}_static/widgets/{asset.page_name}"
        assert visit.requests.count(address) == 1, (
            f"{asset.page_name} was fetched {visit.requests.count(address)} times"
        )
        assert (SITE / "_static/widgets" / asset.page_name).read_bytes() == asset.default()


@pytest.mark.parametrize("kind", [WordMap, AnalogyBench, BankInContext])
def test_a_large_asset_waits_until_it_is_needed(visit, kind):
    visit("bare.html", served={"bare.html": bare(kind())}).wait_for_load_state("networkidle")
    assert not [address for address in visit.requests if "vectors." in address]


def test_numbers_of_its_own_need_no_vocabulary(visit):
    visit("bare.html", served={"bare.html": bare(AttentionHeatmap("a b c", **NUMBERS))}).wait_for_load_state(
        "networkidle"
    )
    assert not [address for address in visit.requests if address.endswith(".bin")]


@pytest.mark.parametrize(
    "kind", [ScaleLab, LiveTransformer]
)  # one without and one with an asset; host.js is all theirs
@pytest.mark.parametrize("fault", ["script throws", "script is missing"])
def test_a_widget_that_fails_leaves_its_table_and_is_heard(visit, kind, fault):
    script = "export default { render() { throw new Error('planted'); } };" if fault == "script throws" else None
    served = {"bare.html": bare(kind()), f"_static/widgets/{kind.name}/{kind.name}.js": script}
    page = visit("bare.html", served=served)
    expect(page.locator("[data-afm] table")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert f"The widget {kind.name} did not start" in visit.complaints.pop()
    visit.complaints = [said for said in visit.complaints if "404" not in said]


# ---- the fill value: every state there is, and the arithmetic of short numbers ----

FILLS = [
    FillValue(fill=fill, shift=shift, hidden=hidden, how=how)
    for fill in FillValue.inputs()["fill"].values
    for shift in (0, -10, -50, -9995, -20_000)
    for hidden in ("two", "all")
    for how in ("write", "add")
]


def test_every_fill_gives_the_weights_of_torch(visit):
    """The half types within one unit of the last binary place (float32 within two, as it sums in an order of its own);
    zero and NaN exactly; an error where PyTorch raises one."""
    page = visit("bare.html", served={"bare.html": bare()})
    script = """async (all) => {
        const { attempt } = await import(new URL("_static/widgets/fill_value/fill_value.js", location));
        return all.map(([dtype, inputs]) => attempt(dtype, inputs).weights?.map(String));
    }"""
    dtypes = (torch.float32, torch.bfloat16, torch.float16)
    cases = [(widget, dtype) for widget in FILLS for dtype in dtypes]
    names = [(str(d).removeprefix("torch."), {n: getattr(w, n) for n in w.inputs()}) for w, d in cases]
    for (widget, dtype), (_, inputs), texts in zip(cases, names, page.evaluate(script, names), strict=True):
        want = widget.weights(dtype)
        assert (texts is None) == (want is None), f"{dtype}, {inputs}"
        if want is None:
            continue
        got = torch.tensor([float(text) for text in texts], dtype=torch.float64)
        about = torch.finfo(dtype)
        unit = (about.eps * 2 ** want.double().log2().floor()).clamp(min=about.smallest_normal * about.eps)
        close = (got - want.double()).abs() <= (2 if dtype == torch.float32 else 1) * unit
        same = torch.where((want == 0) | want.isnan(), (got == want) | (got.isnan() & want.isnan()), close)
        assert same.all(), f"{dtype}, {inputs}: the page has {got.tolist()}, torch {want.tolist()}"


VERDICTS = {
    "float32: hidden, with a weight of exactly 0": FillValue(fill="-1e4"),
    "float16: hidden, with a weight of exactly 0": FillValue(fill="-inf"),
    "bfloat16: it leaks. The hidden keys keep a share": FillValue(fill="-10"),
    "float16: the hidden keys took everything": FillValue(fill="-1e4", shift=-20_000),
    "float16: PyTorch raises an error: this format has no such number": FillValue(fill="-1e9"),
    "bfloat16: hidden. But this format can't tell the shifted scores apart": FillValue(fill="-1e9", shift=-9995),
    "float32: NaN. The row is lost": FillValue(fill="-inf", hidden="all"),
    "float16: NaN. The row is lost": FillValue(fill="lowest", hidden="all", how="add", shift=-50),
    "float32: every key is hidden, and the weights are those of no mask": FillValue(hidden="all", how="add"),
    "float16: every key is hidden, and every key gets the same share": FillValue(fill="lowest", hidden="all"),
}


def test_what_a_fill_does_is_said_in_words(visit):
    page = visit("bare.html", served={"bare.html": bare(*VERDICTS.values())})
    for place, words in enumerate(VERDICTS):
        said = live(page, place).locator(".ab-verdict")
        expect(said.filter(has_text=re.compile(f"^{re.escape(words)}"))).to_have_count(1)


def test_numbers_are_rounded_as_torch_rounds_them(visit):
    draw = torch.Generator().manual_seed(1)
    numbers = torch.randn(400, generator=draw) * torch.logspace(-9, 9, 400)
    edges = [65504.0, 65519.0, 65520.0, -65520.0, 6e-8, 2.9e-8, 1.0009765625, 2049.0, 2051.0, 257.0, 0.0]
    numbers = torch.cat([numbers, torch.tensor(edges)]).double()
    page = visit("bare.html", served={"bare.html": bare()})
    script = """async ([all, format]) => {
        const { rounded } = await import(new URL("_static/widgets/fill_value/fill_value.js", location));
        return all.map((x) => String(rounded(x, format)));
    }"""
    formats = {torch.float16: (10, -14, 65504), torch.bfloat16: (7, -126, torch.finfo(torch.bfloat16).max)}
    for dtype, (digits, least, most) in formats.items():
        format = {"digits": digits, "least": least, "most": most}
        texts = page.evaluate(script, [numbers.tolist(), format])
        got = torch.tensor([float(text.replace("Infinity", "inf")) for text in texts], dtype=torch.float64)
        assert torch.equal(got, numbers.float().to(dtype).double())


# ---- polarity: the code that it shows is run ----


class Shorthand(nn.MultiheadAttention):
    def __init__(self, _):
        super().__init__(4, 1, batch_first=True)


MEANINGS = {  # what the answer says of each kind of call
    "attention(q, k, v, mask)": "True means: may attend.",
    "attn_mask=mask, a tensor of True": "True means: may attend.",
    "attn_mask=mask, a tensor of -inf": "A mask of floats is added",
    "mha, attn_mask=mask": "True means: may NOT attend.",
    "key_padding_mask": "True marks padding",
    "masked_fill": "True means hidden.",
    "valid_lens": "count how many keys",
    "causal(": "The queries are the last 3 of 4",
    "is_causal": "PyTorch counts from the first",
}


def kind_of_call(code):
    number = "-inf" if "-inf" in code else "True"
    shortened = re.sub(r".*mha\(q, k, v, attn_mask=mask\).*", "mha, attn_mask=mask", code, flags=re.S)
    shortened = shortened.replace("attn_mask=mask)", f"attn_mask=mask, a tensor of {number}")
    (kind,) = (kind for kind in MEANINGS if kind in shortened)
    return kind


def test_the_code_of_a_question_gives_its_answer(visit):
    """Whose weight is not 0, when what stands on the page is run?"""
    draw = torch.Generator().manual_seed(4)
    q, k = torch.randn(1, 3, 4, generator=draw), torch.randn(1, 4, 4, generator=draw)
    names = {"q": q, "k": k, "v": torch.eye(4)[None], "scores": q @ k.mT, "inf": torch.inf, "tensor": torch.tensor}
    names |= {"F": F, "torch": torch, "d2l": peers.d2l(), "attention": attention, "causal": causal}
    names["nn"] = SimpleNamespace(MultiheadAttention=Shorthand)
    page = visit("bare.html", served={"bare.html": bare(Polarity(seed=5))})
    node, found = live(page), []
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
        shows = node.locator("[role=gridcell]").evaluate_all("(all) => all.map((cell) => cell.matches('.ab-sees'))")
        assert (weights.detach().flatten() > 0).tolist() == shows, code
        found.append(kind_of_call(code))
        expect(node.locator(".ab-said")).to_contain_text(MEANINGS[found[-1]])
        node.get_by_role("button", name="Next question").click()
    assert sorted(found) == sorted(MEANINGS)


def test_start_again_leaves_the_keyboard_where_it_goes_on(visit):
    page = visit("bare.html", served={"bare.html": bare(Polarity(given=[[]]))})
    live(page).get_by_role("button", name="Start again").press("Enter")
    expect(page.get_by_role("button", name="Reveal")).to_be_focused()
    agree(live(page), Polarity(seed=2), "after a new start")


# ---- the word map, the analogy bench, the arrows ----


def test_the_word_map_names_the_nearest(visit):
    page = visit("bare.html", served={"bare.html": bare(WordMap("bank"))})
    expect(live(page).locator("li button")).to_have_text([word for word, _ in WordMap("bank").neighbours()])
    expect(page.locator(".ab-view .ab-chosen")).to_have_text("bank")


@pytest.mark.parametrize("hand", [Mouse, Finger])
def test_a_dot_that_is_pressed_is_chosen_and_the_map_stays(visit, hand):
    twin = WordMap(x=0.3, y=0.1, zoom=4.0)
    page = visit("bare.html", touch=hand is Finger, served={"bare.html": bare(twin)})
    hand(page).press(live(page).locator("svg"))
    nearest = (WordMap.places() - torch.tensor([0.3, 0.1])).square().sum(-1).argmin()
    agree(live(page), WordMap(english_vectors().words[nearest], x=0.3, y=0.1, zoom=4.0), "a press in the middle")


@pytest.mark.parametrize("hand", [Mouse, Finger])
def test_the_map_is_dragged(visit, hand):
    page = visit("bare.html", touch=hand is Finger, served={"bare.html": bare(WordMap(zoom=4.0))})
    node = live(page)
    x, y = bring(node.locator("svg"))
    box = node.locator(".ab-view").bounding_box()
    node.evaluate(COUNT_ELEMENTS)
    hand(page).drag([(x, y), *stops((x, y), (x + 40, y - 20))])
    left, top, *_ = (float(number) for number in shown(node)["view"])
    width = box["width"]
    assert abs(left - (-0.25 - 2 * 40 / width / 4)) < 0.01
    assert abs(top - (-0.2 + 2 * 20 / width / 4)) < 0.01
    assert page.evaluate("created") == 0
    expect(node.locator("li button").filter(visible=True)).to_have_count(0)  # a drag chooses nothing


def test_the_map_obeys_the_keyboard(visit):
    page = visit("bare.html", served={"bare.html": bare(WordMap())})
    node, twin = live(page), WordMap()
    node.locator("svg").focus()
    for key, changes in {
        "+": {"zoom": 1.5},
        "=": {"zoom": 2.0},
        "ArrowRight": {"x": 0.125},
        "ArrowDown": {"y": 0.125},
        "ArrowLeft": {"x": 0.0},
        "ArrowUp": {"y": 0.0},
        "-": {"zoom": 1.5},
    }.items():
        page.keyboard.press(key)
        for name, value in changes.items():
            setattr(twin, name, value)
        agree(node, twin, key)


def test_words_are_offered_while_one_types(visit):
    page = visit("bare.html", served={"bare.html": bare(WordMap())})
    field = live(page).get_by_role("combobox", name="Find a word")
    field.press_sequentially("Riv")
    offers = page.locator("datalist option").evaluate_all("(all) => all.map((offer) => offer.value).filter(Boolean)")
    assert offers == [word for word in english_vectors().words if word.startswith("riv")][:8]
    field.fill("zyzzyva")
    field.press("Enter")
    expect(page.get_by_text("“zyzzyva” is not among the 8,000 words.")).to_be_visible()
    expect(field).to_have_value("")


@pytest.mark.parametrize("queries", ["out", "in"])
def test_the_analogy_bench_names_what_the_book_computes(visit, queries):
    twin = AnalogyBench("man", "woman", "king", queries=queries, asked=True)
    page = visit("bare.html", served={"bare.html": bare(twin)})
    expect(live(page).locator("tbody th")).to_have_text([word for word, _ in twin.ranking()])
    expect(page.locator("svg text")).to_have_text(["man", "woman", "king", twin.ranking()[0][0]])


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


@pytest.mark.parametrize("hand", [Mouse, Finger])
def test_the_dot_is_dragged_over_the_plane(visit, hand):
    page = visit("bare.html", touch=hand is Finger, served={"bare.html": bare(CostPlane())})
    node = live(page)
    node.evaluate(COUNT_ELEMENTS)
    start = bring(node.locator(".ab-tip"))
    x, y = middle(node.locator(".ab-model").nth(4))  # 17 and 12 lines from the lower left
    hand(page).drag([start, *stops(start, (x, y))])
    agree(node, CostPlane(n=2**17, d=2**12), "dragged to a model")
    hand(page).drag([(x, y), *stops((x, y), (x + 900, y - 900))])
    agree(node, CostPlane(n=2**20, d=2**14), "dragged beyond the edge")
    assert page.evaluate("created") == 0


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


@pytest.mark.parametrize("hand", [Mouse, Finger])
def test_the_query_is_dragged_over_the_map(visit, hand):
    page = visit("bare.html", touch=hand is Finger, served={"bare.html": bare(SoftDictionary())})
    node = live(page)
    node.evaluate(COUNT_ELEMENTS)
    start, end = bring(node.locator(".ab-tip")), middle(node.locator(".ab-key").nth(3))  # the town, at (5, 4)
    hand(page).drag([start, *stops(start, end)])
    agree(node, SoftDictionary(x=5.0, y=4.0), "dragged to the town")
    assert page.evaluate("created") == 0


@pytest.mark.parametrize("hand", [Mouse, Finger])
def test_a_stroke_does_to_all_cells_what_it_does_to_the_first(visit, hand):
    """Which may look: hidden. One in between that was hidden already stays so; cells that never look don't count."""
    twin = MaskMap(flipped=[[6, 9]])
    page = visit("bare.html", touch=hand is Finger, served={"bare.html": bare(twin)})
    cell = lambda i, j: live(page).locator("[role=grid] tbody tr").nth(i).locator("td").nth(j)  # noqa: E731
    hand(page).sweep([cell(6, j) for j in (6, 7, 8, 9)])
    agree(live(page), MaskMap(flipped=[[6, 6]], row=6), "from one that may look")
    hand(page).sweep([cell(i, 6) for i in (4, 5, 6, 7)])
    agree(live(page), MaskMap(flipped=[[5, 6]], row=7), "from above, where nobody ever looks")


@pytest.mark.parametrize("hand", [Mouse, Finger])
def test_a_point_is_dragged(visit, hand):
    page = visit("bare.html", touch=hand is Finger, served={"bare.html": bare(KernelRegression())})
    node, twin = live(page), KernelRegression()
    node.evaluate(COUNT_ELEMENTS)
    start, end = bring(node.locator(".ab-tip").nth(4)), middle(node.locator(".ab-point").nth(7))
    hand(page).drag([start, *stops(start, end)])
    twin.points = [twin.points[7] if j == 4 else point for j, point in enumerate(twin.points)]
    twin.chosen = 4
    agree(node, twin, "one point dragged onto another")
    assert page.evaluate("created") == 0


@pytest.mark.parametrize("hand", [Mouse, Finger])
def test_the_key_is_dragged_along_the_curves(visit, hand):
    page = visit("bare.html", touch=hand is Finger, served={"bare.html": bare(TanhSum())})
    node = live(page)
    node.evaluate(COUNT_ELEMENTS)
    start = bring(node.locator(".ab-tip"))
    unit = node.locator(".ab-plot").bounding_box()["width"] / 12
    hand(page).drag([start, *stops(start, (start[0] - 3 * unit, start[1] - 20))])
    agree(node, TanhSum(k=-2.0), "the key dragged three to the left")
    start = middle(node.locator(".ab-tip"))
    hand(page).drag([start, *stops(start, (start[0] - 7 * unit, start[1]))])
    agree(node, TanhSum(k=-6.0), "the key dragged out of the picture")
    assert page.evaluate("created") == 0


# ---- the date reader: a network in the page ----


def test_the_network_on_the_page_is_torchs(visit):
    """200 dates that neither was taught: the same letters, weights and chances to 1e-4."""
    model, known = date_reader()
    dates = [pair.source for pair in date_pairs(200, held_out=True)]
    script = """async ([file, dates]) => {
        const { dateReader } = await import(new URL("_static/widgets/alignment_player/alignment_player.js", location));
        const answer = await fetch(new URL(`_static/widgets/${file}`, location));
        const { read } = dateReader(await answer.arrayBuffer());
        return dates.map(read);
    }"""
    page = visit("bare.html", served={"bare.html": bare()})
    found = page.evaluate(script, [AlignmentPlayer.inputs()["model"].page_name, dates])
    for text, steps in zip(dates, found, strict=True):
        source, written = known.encode([text]), torch.tensor([[START, *(step["token"] for step in steps)]])
        assert greedy(model, written[:, :1], source, stop=END, length=12).tolist() == written.tolist(), text
        for name, want in {
            "weights": model.alignment(source, written[:, :-1])[0],
            "chances": model(source, written[:, :-1])[0].softmax(-1),
        }.items():
            assert_close(torch.tensor([step[name] for step in steps]), want, rtol=0, atol=1e-4, msg=f"{text}: {name}")


def test_the_transformer_on_the_page_is_torchs(visit):
    """200 dates that neither was taught, every fourth with a letter forced: all attention, all chances, to 1e-4."""
    model, known = date_transformer()
    dates = [pair.source for pair in date_pairs(200, held_out=True)]
    forced = [[] if i % 4 else [[i % 10, 3 + i % 46]] for i in range(200)]
    script = """async ([file, dates, forced]) => {
        const address = new URL("_static/widgets/live_transformer/live_transformer.js", location);
        const { dateTransformer } = await import(address);
        const answer = await fetch(new URL(`_static/widgets/${file}`, location));
        const { read } = dateTransformer(await answer.arrayBuffer());
        return dates.map((text, i) => read(text, forced[i]));
    }"""
    page = visit("bare.html", served={"bare.html": bare()})
    found = page.evaluate(script, [LiveTransformer.inputs()["model"].page_name, dates, forced])
    for text, instead, run in zip(dates, forced, found, strict=True):
        steps, encoder = run["steps"], torch.tensor(run["encoder"])
        source, written = known.encode([text]), torch.tensor([[START, *(step["token"] for step in steps)]])
        with torch.no_grad(), capture_attention(model) as maps:
            chances = model(source, written[:, :-1])[0].softmax(-1)
        own = chances[:, END:].argmax(-1) + END
        assert [step["own"] for step in steps] == own.tolist(), text
        for place, token in instead:
            own[place] = token
        assert written[0, 1:].tolist() == own.tolist(), text
        cross, before = ([step[kind] for step in steps] for kind in ("cross", "decoder"))
        padded = [[head + [0] * (len(steps) - len(head)) for head in heads] for heads in before]
        for name, got, want in [
            ("chances", torch.tensor([step["chances"] for step in steps]), chances),
            ("encoder", encoder.transpose(0, 1), maps["encoder.0.self_attention"][0]),
            ("decoder", torch.tensor(padded).transpose(0, 1), maps["decoder.0.self_attention"][0]),
            ("cross", torch.tensor(cross).transpose(0, 1), maps["decoder.0.cross_attention"][0]),
        ]:
            assert_close(got, want, rtol=0, atol=1e-4, msg=f"{text}: {name}")


def test_back_and_forward_end_where_the_writing_does(visit):
    page = visit("bare.html", served={"bare.html": bare(AlignmentPlayer("Monday", step=11))})
    node = live(page)
    back, forward = (node.get_by_role("button", name=name, exact=True) for name in ("Back", "Forward"))
    forward.click()
    agree(node, AlignmentPlayer("Monday", step=11), "Forward at the end")
    back.click()
    agree(node, AlignmentPlayer("Monday", step=6), "Back from seven letters")
    node.get_by_role("slider").press("Home")
    back.click()
    agree(node, AlignmentPlayer("Monday", step=0), "Back at the start")


def test_letters_that_the_reader_never_met_are_refused(visit):
    page = visit("bare.html", served={"bare.html": bare(AlignmentPlayer())})
    field = live(page).get_by_role("textbox", name="A date")
    for typed, unknown in {"7 März 1980": "ä z", "7 ßß": "ß"}.items():
        Mouse(page).write(field, typed)
        expect(page.get_by_text(f"It has never met {unknown}.")).to_be_visible()
        expect(field).to_have_value(typed)  # to be mended, not typed again
        agree(live(page), AlignmentPlayer(), "a refusal")
    Mouse(page).write(field, "Wednesday, the 30th of September 2049")
    expect(page.get_by_text("At most 29 letters.")).to_be_visible()
    node = live(page)
    node.get_by_role("button", name="Monday").click()
    expect(page.locator(".ab-hint[role=status]")).to_be_empty()
    field.fill("     Wednesday,\u00a030 September 2049")  # pasted
    field.press("Enter")
    agree(node, AlignmentPlayer("Wednesday, 30 September 2049", step=0), "blanks of all kinds")
    Mouse(page).write(field, "7 May 1980   ")
    expect(field).to_have_value("7 May 1980")
    expect(page.locator(".ab-hint[role=status]")).to_be_empty()
    agree(live(page), AlignmentPlayer("7 May 1980", step=0), "a date after a refusal")


@pytest.mark.parametrize("hand", [Mouse, Finger])
def test_an_arrow_is_dragged_by_its_tip(visit, hand):
    page = visit("bare.html", touch=hand is Finger, served={"bare.html": bare(LengthSlider())})
    node = live(page)
    node.evaluate(COUNT_ELEMENTS)
    start = bring(node.locator(".ab-tip").first)
    box = node.locator("svg").bounding_box()
    unit = box["width"] / 8.6
    end = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2 - 3 * unit  # three units straight up
    hand(page).drag([start, *stops(start, end)])
    agree(node, LengthSlider(angle_a=90, length_a=3.0), "a dragged upwards")
    assert page.evaluate("created") == 0


def test_a_slider_tells_the_value_in_use_also_between_its_stops(visit):
    page = visit("bare.html", served={"bare.html": bare(ScaleLab(width=100))})
    slider = live(page).locator("input[type=range]").first
    expect(slider).to_have_attribute("aria-valuetext", "100")
    expect(live(page).locator(".ab-value").first).to_have_text("100")
    assert slider.input_value() == "7", "128 is the nearest stop"
