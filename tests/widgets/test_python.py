"""The Python side of the widgets: traits, tables, what is put on a page, one module from many, and the colours."""

import hashlib
import json
import math
import random
import re
from itertools import pairwise

import pytest
import torch
from bs4 import BeautifulSoup
from torch.testing import assert_close
from traitlets import TraitError

import attnbook.widgets
from attnbook import attention, causal
from attnbook.data import english_vectors, word_vectors
from attnbook.learning.complexity import SelfAttention
from attnbook.tasks.dates import date_transformer
from attnbook.tasks.senses import MEANINGS
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
from attnbook.widgets.block_stepper import alike
from attnbook.widgets.online_softmax import SCORES, values
from attnbook.widgets.polarity import CALLS
from attnbook.widgets.shared.base import DATA, ROOMS, SHARED, Asset, BookWidget, one_module, page_files
from attnbook.widgets.word_map import EXAMPLES

each_widget = pytest.mark.parametrize("kind", all_widgets(), ids=lambda kind: kind.__name__)
NUMBERS = {"q_LK": [[1, 0], [0, 2]], "k_LK": [[1, 0], [1, 1]], "v_LV": [[10, 0, 3], [0, 10, 3]]}


def parsed(widget):
    return BeautifulSoup(widget.page_html(), "html.parser")


def numbers(widget):
    """The table of a widget, as numbers."""
    rows = parsed(widget).select("table tr")[1:]
    return torch.tensor([[float(cell.text.replace(",", "")) for cell in row.select("td")] for row in rows])


# ---- traits ----


def test_every_room_is_in_the_registry():
    rooms = {path.name for path in ROOMS.iterdir() if (path / "__init__.py").is_file()} - {"shared"}
    assert {kind.name for kind in all_widgets()} == rooms
    for name in rooms:
        assert all((ROOMS / name / f"{name}.{suffix}").is_file() for suffix in ("js", "css")), f"{name} lacks a file"
    with pytest.raises(AttributeError, match=r"has no 'Heatmap'; it has AlignmentPlayer, AnalogyBench, "):
        attnbook.widgets.Heatmap  # noqa: B018


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: AttentionHeatmap(""), r"'tokens' trait .* length 1 <= L <= 10, but a value of \[\]"),
        (lambda: AttentionHeatmap("a " * 11), r"'tokens' trait .* length 1 <= L <= 10"),
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
        (lambda: AttentionHeatmap("a", tokes="b"), r"AttentionHeatmap has no tokes; it takes .*tokens"),
        (lambda: ScaleLab(size=-1), r"'size' trait .* not be less than 0"),
        (lambda: ScaleLab(width=0), r"'width' trait .* not be less than 1"),
        (lambda: ScaleLab(width=1025), r"'width' trait .* not be greater than 1024"),
        (lambda: ScaleLab(seed="one"), r"'seed' trait .* expected an int"),
        (lambda: WordMap("rivver"), r"no vector for 'rivver'; try 'river'"),
        (lambda: WordMap(zoom=0.5), r"'zoom' trait .* not be less than 1"),
        (lambda: AnalogyBench("man", "woman", "zyzzyva"), r"no vector for 'zyzzyva'"),
        (lambda: AnalogyBench("man", "", "king"), r"no vector for ''"),
        (lambda: LengthSlider(length_a=0), r"'length_a' trait .* not be less than 0.1"),
        (lambda: LengthSlider(angle_b=181), r"'angle_b' trait .* not be greater than 180"),
        (lambda: PaintMask(["a", "b"], [[1.0, 2.0]]), r"2 tokens need 2 rows of 2 scores; got rows of \[2\]"),
        (lambda: PaintMask(["a", "b"], [[1.0], [2.0]]), r"2 tokens need 2 rows of 2 scores; got rows of \[1, 1\]"),
        (lambda: PaintMask(list("abcdefg"), [[0] * 7] * 7), r"'tokens' trait .* length 1 <= L <= 4"),
        (lambda: PaintMask(hide="never"), r"'hide' trait .* any of \['before', 'zero', 'after'\]"),
        (lambda: FillValue(fill="-5"), r"'fill' trait .* any of \['0', '-10', "),
        (lambda: FillValue(shift=1), r"'shift' trait .* not be greater than 0"),
        (lambda: CueScene("beach"), r"'scene' trait .* any of \['desk', 'crowd'\]"),
        (lambda: CueScene(wish=9), r"'wish' trait .* not be greater than 8"),
        (lambda: SoftDictionary(values_M=[1, 2]), r"each key has one name and one value; got \[5, 5, 2\] names, keys"),
        (lambda: SoftDictionary(temperature=0), r"'temperature' trait .* not be less than 0.1"),
        (lambda: KernelRegression(points=[[0, 0]]), r"'points' trait .* length 2 <= L <= 12"),
        (lambda: KernelRegression(width=0), r"'width' trait .* not be less than 0.02"),
        (lambda: TanhSum(w1=3), r"'w1' trait .* not be greater than 2"),
        (lambda: TanhSum(k=-7), r"'k' trait .* not be less than -6"),
        (lambda: AlignmentPlayer("7 März"), r"the network has never met z ä; it knows the letters of dates"),
        (lambda: AlignmentPlayer(""), r"a date of 1 to 29 letters; got 0: ''"),
        (lambda: AlignmentPlayer("1" * 30), r"a date of 1 to 29 letters; got 30"),
        (lambda: AlignmentPlayer(step=12), r"'step' trait .* not be greater than 11"),
        (lambda: LiveTransformer("7 März"), r"the network has never met z ä; it knows the letters of dates"),
        (lambda: LiveTransformer(forced=[[0, 1]]), r"a place from 0 to 10 and a token that is written; got \[0, 1\]"),
        (lambda: LiveTransformer(forced=[[11, 9]]), r"a place from 0 to 10"),
        (lambda: LiveTransformer(forced=[[0, 49]]), r"a token that is written"),
        (lambda: LiveTransformer(head=5), r"'head' trait .* not be greater than 4"),
        (lambda: LiveTransformer(where="memory"), r"'where' trait .* any of \['cross', 'decoder', 'encoder'\]"),
        (lambda: BlockStepper(part="output"), r"'part' trait .* any of \['in', 'weights', "),
        (lambda: BlockStepper(block=7), r"'block' trait .* not be greater than 6"),
        (lambda: MaskMap(source=1), r"'source' trait .* not be less than 2"),
        (lambda: MaskMap(mistake="all"), r"'mistake' trait .* any of \['none', 'ahead', "),
        (lambda: OnlineSoftmax(read=9), r"'read' trait .* not be greater than 8"),
        (lambda: OnlineSoftmax(block=3), r"'block' trait .* any of \[1, 2, 4, 8\]"),
        (lambda: OnlineSoftmax(way="forgot"), r"'way' trait .* any of \['rescale', 'forget', 'no maximum'\]"),
        (lambda: CacheStepper(prompt=9), r"'prompt' trait .* not be greater than 8"),
        (lambda: CacheStepper(heads="GTA"), r"'heads' trait .* any of \['MHA', 'GQA', 'MQA'\]"),
        (lambda: HeadSplit(heads=4), r"'heads' trait .* any of \[2, 3, 6\]"),
        (lambda: HeadSplit(step=6), r"'step' trait .* not be greater than 5"),
        (lambda: HeadAblation(heads=3), r"'heads' trait .* any of \[1, 2, 4\]"),
        (
            lambda: HeadAblation(off=[-1]),
            r"element of the 'off' trait .* less than 0|'off' trait .* not be less than 0",
        ),
        (lambda: HeadBudget(width=100), r"'width' trait .* any of \[64, "),
        (lambda: BankInContext("the bnak"), r"no vector for .*'bnak.*; try .*'bank'"),
        (lambda: BankInContext(""), r"'tokens' trait .* length 1 <= L <= 14"),
        (lambda: CostPlane(n=8), r"'n' trait .* not be less than 16"),
        (lambda: CostPlane(kernel=4), r"'kernel' trait .* any of \[3, 5, 9, 17, 33\]"),
        (lambda: SignalRace(n=1), r"'n' trait .* not be less than 2"),
        (lambda: ClockHands(width=5), r"'width' trait .* any of \[4, 8, 16, 32\]"),
        (lambda: ShiftLab(position=9), r"'position' trait .* not be less than 10"),
        (lambda: FindTheBug(a="wrong"), r"'a' trait .* any of \['', 'right', 'batch', 'none'\]"),
        (lambda: Polarity(seed=-1), r"'seed' trait .* not be less than 0"),
    ],
)
def test_errors_teach(make, words):
    with pytest.raises((TraitError, TypeError, ValueError), match=words):
        make()


@each_widget
def test_traits_are_inputs_never_results(kind):
    """Whole numbers, short decimals, words and assets: nothing that differs between two processors."""
    state = json.loads(parsed(kind()).script.string)
    assert state.keys() == kind.inputs().keys()
    assert len(json.dumps(state)) < 1000
    assert not re.search(r"\d\.\d{4}", json.dumps(state))


# ---- tables ----


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
    widget = AttentionHeatmap("a b", **NUMBERS)
    output, weights = attention(*(torch.tensor(rows, dtype=torch.float64) for rows in NUMBERS.values()))
    assert_close(widget.attend(), (output, weights))
    assert_close(numbers(widget), weights.float(), rtol=0, atol=0.00501)


def test_a_row_with_nothing_to_attend_to_is_zero():
    output, weights = AttentionHeatmap("a b", mask="paint", blocked=[[0, 0], [0, 1]], **NUMBERS).attend()
    assert (output[0] == 0).all()
    assert (weights[0] == 0).all()


def test_scale_lab_table_is_its_summary_and_shows_why_sqrt():
    widget = ScaleLab(width=256)
    assert_close(
        numbers(widget), torch.tensor([list(row.values()) for row in widget.summary().values()]), rtol=0, atol=0.006
    )
    assert 14 < widget.summary()["none"]["spread of scores"] < 18  # √256
    assert 0.9 < widget.summary()["√d"]["spread of scores"] < 1.1


def test_tables_of_words():
    assert [head.text for head in parsed(WordMap()).select("th[scope=row]")] == EXAMPLES
    near = [cell.text for cell in parsed(WordMap("river")).select("table td")[1:]]
    assert near == [word for word, _ in english_vectors().neighbours("river", 5)]
    for queries, best in (("out", "queen"), ("in", "king")):
        page = parsed(AnalogyBench(queries=queries))
        assert page.select_one("th[scope=row]").text == best
        assert page.select_one("caption").text == "man is to woman as king is to …"
    want = english_vectors().analogy("man", "woman", "king", 8)
    assert_close(numbers(AnalogyBench())[:, 0], torch.tensor([x for _, x in want]), rtol=0, atol=0.0005)


def test_table_of_arrows():
    widget = LengthSlider(angle_a=60, length_a=3.0, angle_b=180, length_b=0.5)
    assert_close(numbers(widget), torch.tensor([[1.5, 0.5], [-0.5, -1.0]]))


@pytest.mark.parametrize("hide", ["before", "zero", "after"])
def test_table_of_a_painted_mask(hide):
    blocked = [[0, 0], [1, 0], [1, 1], [5, 5]]
    widget = PaintMask(["a", "b"], [[2.0, 1.0], [0.0, 3.0]], pads=[], blocked=blocked, hide=hide, temperature=2.0)
    e = torch.tensor(0.5).exp().item()
    want = {
        "before": [[0, 1], [0, 0]],
        "zero": [[1 / (1 + e), e / (1 + e)], [0.5, 0.5]],
        "after": [[0, 1 / (1 + e)], [0, 0]],
    }
    assert_close(numbers(widget), torch.tensor(want[hide], dtype=torch.float32), rtol=0, atol=0.00501)


def test_table_of_fills():
    assert parsed(FillValue(fill="-1e9")).select("tr")[3].text == "float16" + 5 * "error"
    weights = numbers(FillValue(fill="-10"))
    assert ((weights[:, 3:] > 0) & (weights[:, 3:] < 1e-5)).all()
    assert_close(numbers(FillValue(fill="-1e4", shift=-20_000))[:, 3:], torch.full((3, 2), 0.5))
    assert numbers(FillValue(fill="-inf", hidden="all")).isnan().all()


def test_tables_of_soft_lookups():
    weights = numbers(CueScene(salience=4.0, wish=6.0))[:, 2]
    keys = torch.tensor([[0.2, 0.6], [0.1, 0.3], [1.0, 0.0], [0.2, 0.4], [0.1, 1.0]])
    assert_close(weights, (keys @ torch.tensor([4.0, 6.0])).softmax(-1), rtol=0, atol=0.00501)
    assert parsed(SoftDictionary(x=9.0, y=8.0, temperature=0.1)).caption.text.endswith("answers 2.0 °C")
    assert_close(numbers(SoftDictionary(temperature=1000.0))[:, 0], torch.full((5,), 0.2), rtol=0, atol=0.02)
    itself, others = KernelRegression(width=0.02).errors()
    assert itself < 1e-9 < 0.3 < others
    assert KernelRegression(width=0.3).errors()[1] < others
    assert_close(numbers(KernelRegression(width=100.0))[:, 2], torch.full((12,), 1 / 12), rtol=0, atol=0.00501)


def test_tables_of_additive_scores():
    cells = [cell.text for cell in parsed(TanhSum(q=2.0, k=-2.0, w1=1.0, w2=-0.5)).select("td")[1:]]
    assert cells == ["0.00", "1.00", "0.00", "-1.00", "-0.50", "0.50", "", "", "0.50", "", "", "-4.00"]
    page = parsed(AlignmentPlayer("7/4/76"))
    letters, weights = AlignmentPlayer("7/4/76").read()
    assert page.caption.text == "“7/4/76” becomes 1976-07-04■"
    assert [head.text for head in page.select("th[scope=row]")] == letters == [*"1976-07-04■"]
    looked = [cell.text for cell in page.select("tr td:nth-of-type(1)")[1:]]
    places = [f"{'7/4/76■'[j]} (letter {j + 1})" for j in weights.argmax(-1).tolist()]
    assert looked == places
    shares = [float(cell.text) for cell in page.select("td:nth-of-type(2)")]
    assert_close(torch.tensor(shares), weights.amax(-1), rtol=0, atol=0.00501)


def test_tables_of_heads():
    view = [cell.text for cell in parsed(HeadSplit(way="view")).select("td")]
    assert view[1:7] == ["a0 a1 a2", "a3 a4 a5", "b0 b1 b2", "b3 b4 b5", "c0 c1 c2", "c3 c4 c5"]
    heads = [cell.text for cell in parsed(HeadSplit()).select("td")]
    assert heads[1:7] == ["a0 a1 a2", "b0 b1 b2", "c0 c1 c2", "a3 a4 a5", "b3 b4 b5", "c3 c4 c5"]
    assert parsed(HeadAblation(heads=2)).caption.text == "Right under the star: 100%, under the dot: 100%"
    page = parsed(HeadAblation(heads=4, off=[2]))
    assert [head.text for head in page.select("th[scope=row]")] == ["head 1", "head 2", "head 3 (off)", "head 4"]
    assert_close(numbers(HeadAblation(heads=4)).sum(-1), torch.ones(4), rtol=0, atol=0.021)
    assert [cell.text for cell in parsed(HeadBudget()).select("td")[1:4]] == ["64", "1.0 million", "335.5 million"]


def test_tables_of_self_attention_and_its_cost():
    page = parsed(BankInContext(matrices="learned"))
    assert [head.text for head in page.select("th[scope=row]")] == ["the", "bank", "of", "the", "river"]
    assert page.caption.text.startswith("What “bank” looks at. Nearest to what it becomes: shore 0.8")
    assert_close(numbers(BankInContext("bank money", place=5)).sum(), torch.tensor(1.0), rtol=0, atol=0.011)
    assert_close(numbers(CostPlane(n=1000, d=100, heads=2))[0], torch.tensor([4e8, 2.5e6]))
    assert_close(numbers(CostPlane(n=1000, d=100, kernel=5, projections="in"))[:, 0], torch.tensor([4.8e8, 4e7, 1e8]))
    cells = [cell.text for cell in parsed(SignalRace(n=16, at_once=100_000)).select("td")[1:]]
    assert cells[:8] == ["1", "16", "262,144", "16", "8", "8", "3,145,728", "32"]
    assert cells[8:] == ["3", "3", "1,179,648", "12", "1", "4", "589,824", "8"]


def test_tables_of_the_transformer():
    _, chances, maps = LiveTransformer("7/4/76").read()
    page = parsed(LiveTransformer("7/4/76"))
    assert page.caption.text == "“7/4/76” becomes 1976-07-04■"
    looks = maps["cross"].mean(0).argmax(-1).tolist()
    places = [f"{'7/4/76■'[j]} (letter {j + 1})" for j in looks]
    assert [cell.text for cell in page.select("td:nth-of-type(2)")] == places
    shares = torch.tensor([float(cell.text) for cell in page.select("td:nth-of-type(1)")[1:]])
    assert_close(shares, chances.amax(-1), rtol=0, atol=0.00501)
    forced = parsed(LiveTransformer("11/12/13", forced=[[0, date_transformer()[1].ids["1"]]]))
    assert forced.select("td")[1].text == "0.00", "the chance of what was written"
    assert_close(numbers(BlockStepper())[:3, 0], torch.tensor([3.26, 2.83, 2.83]))
    cells = [cell.text for cell in parsed(MaskMap(source=2)).select("td")[1:]]
    sees = torch.tensor([cell == "may look" for cell in cells]).view(10, 10)
    assert torch.equal(sees[5:, 5:], causal(5))
    assert sees[:, 0].all()
    assert not sees[:, 2:5].any()
    assert not sees[:5, 5:].any()


def test_tables_of_fast_attention():
    exact = torch.tensor(SCORES["mixed"]).double().softmax(0) @ values()
    table = numbers(OnlineSoftmax(block=4))
    assert table.shape == (2, 4)
    assert_close(table[-1, -1], exact.float(), atol=5e-4, rtol=0)
    assert (numbers(OnlineSoftmax(way="forget"))[-1, -1] - exact).abs() > 0.1
    assert parsed(OnlineSoftmax()).caption.text == f"In one pass; all at once it is {exact:.3f}"
    assert numbers(CacheStepper()).tolist() == [[3, 3, 6], [5, 2, 9], [6, 1, 6], [7, 1, 7], [8, 1, 8]]
    assert numbers(CacheStepper(align="first"))[:, 2].tolist() == [6, 3, 1, 1, 1]
    assert numbers(CacheStepper(cache="without"))[:, 1].tolist() == [3, 5, 6, 7, 8]


def test_what_chapter_9_says_of_its_widgets():
    letters, chances, _ = LiveTransformer("11/12/13").read()
    assert "".join(letters) == "2013-11-12■"
    assert chances.amax(-1)[:4].min() >= 0.995
    _, known = date_transformer()
    other = LiveTransformer("11/12/13", forced=[[0, known.ids["1"]]])
    assert "".join(other.read()[0]) == "1913-11-12■"
    assert chances[0, known.ids["1"]] < 0.001
    assert known.ids["1"] in chances[0].topk(5).indices
    text = "23rd of october 1962"
    maps = LiveTransformer(text).read()[2]
    favourites = maps["encoder"].mean(1).argmax(-1)
    assert [(text + "■")[j] for j in favourites] == ["c", "c", "d", "■"]
    assert (maps["encoder"][1, 8:15].argmax(-1) == text.index("c")).all()  # every letter of october
    looks = [(text + "■")[j] for j in maps["cross"].mean(0).argmax(-1)]
    assert looks[:4] == ["9", "■", "6", "2"]
    assert looks[5:7] == ["t", "c"]
    assert looks[8:10] == ["2", "3"]
    letters, chances, _ = LiveTransformer("Monday").read()
    assert "".join(letters) == "000-05-0-0■"
    assert 0.885 < chances.amax(-1).min() < 0.895

    numbers = BlockStepper().read()
    assert_close(numbers["norm1"].norm(dim=-1), torch.full((5,), 8**0.5).double(), atol=1e-3, rtol=0)
    assert 60 <= (numbers["hidden"] == 0).sum() <= 100, "about half of 160"
    sizes = [x.norm(dim=-1).mean() for x in BlockStepper(norm="pre").stream()]
    assert f"{sizes[0]:.2f}" == "3.26"
    assert sizes[-1] > 5
    for norm in ("pre", "post"):
        stream = BlockStepper(norm=norm, shortcut="without").stream()
        assert alike(stream[3]) > 0.995

    leak = [[6, 8]]
    assert MaskMap(flipped=leak).findings()["told"] == ["le", "chat"]
    assert MaskMap(flipped=leak, layers=1).findings()["told"] == ["le"]
    crossed = MaskMap(mistake="cross")
    assert crossed.findings() == {"pads": ["dort"]}
    assert crossed.reach()[5, :4].all()
    assert MaskMap(mistake="strict").findings() == {"blind": ["start"]}
    source, target = ["the", "black", "cat", "stop"], ["start", "le", "chat", "noir", "dort"]
    assert MaskMap(mistake="ahead").findings() == {"told": target[:-1]}
    assert MaskMap(mistake="pads").findings() == {"pads": source + target}
    assert MaskMap(mistake="encoder").findings() == {"missed": source[:-1]}
    assert MaskMap(target=3).findings() == {}


def test_what_chapter_10_says_of_its_widgets():
    factors = [math.exp(a - b) for (a, _), (b, _) in pairwise(OnlineSoftmax().states())]
    assert f"{factors[0]:.3f}" == "0.135"
    for block in (1, 2, 4, 8):
        (m, parts), values_M = OnlineSoftmax(block=block).states()[-1], values()
        assert (m, f"{parts.sum():.3f}", f"{parts @ values_M:.3f}") == (5.0, "1.646", "6.264")
    _, parts = OnlineSoftmax(way="forget").states()[-1]
    right = torch.tensor(SCORES["mixed"]).double().softmax(0)
    assert f"{parts[1] / parts.sum():.0%} {right[1]:.0%}" == "38% 8%"
    assert (parts / parts.sum() > right).nonzero()[:, 0].tolist() == [0, 1], "those read before the maximum grew"
    _, parts = OnlineSoftmax(way="forget", scores="falling").states()[-1]
    assert_close(parts / parts.sum(), torch.tensor(SCORES["falling"]).double().softmax(0))
    _, parts = OnlineSoftmax(way="no maximum", scores="huge").states()[-1]
    assert not (parts / parts.sum()).isfinite().any()
    _, parts = OnlineSoftmax(scores="huge").states()[-1]
    assert_close(parts / parts.sum(), (torch.tensor(SCORES["huge"]).double() - 1000).softmax(0))

    def steps(**traits):
        return [CacheStepper(step=step, **traits) for step in range(1, 6)]

    assert sum(numbers(CacheStepper())[:, 1]) == 8
    assert sum(numbers(CacheStepper(cache="without"))[:, 1]) == 29
    pairs = [(x.mask(), y.mask()) for x, y in zip(steps(align="first"), steps(), strict=True)]
    assert [bool((x != y).any(1).all()) for x, y in pairs] == [False, True, True, True, True]
    assert torch.equal(*pairs[0])
    assert pairs[-1][0].tolist() == [[True] + 7 * [False]]
    again = steps(cache="without", align="first")
    assert all(torch.equal(x.mask(), y.mask()) for x, y in zip(again, steps(cache="without"), strict=True))
    for heads, tokens in (("MHA", 32768), ("GQA", 131072)):
        weighs = [CacheStepper(heads=heads, tokens=n).bytes() for n in (tokens // 2, tokens)]
        assert weighs[0] < 16e9 < weighs[1]
    assert CacheStepper(heads="MHA", tokens=30_500).bytes() < 16e9 < CacheStepper(heads="MHA", tokens=30_530).bytes()


def test_what_the_chapters_say_of_the_networks_in_their_widgets():
    said = {
        "Monday": "133-03",
        "31 February 2001": "2001-02-31",
        "1962-10-23": "2023-12-26",
        "1 April 2100": "2000-04-01",
    }
    for text, written in said.items():
        assert "".join(AlignmentPlayer(text).read()[0]) == f"{written}■"
    text = "the 4th of July 1976"
    looks = AlignmentPlayer(text).read()[1]
    assert [text[j] for j in looks[[2, 5, 6]].argmax(-1)] == ["7", "u", "l"]
    assert looks[6].max() > 0.8
    assert AlignmentPlayer("11/12/13").read()[1][:2].argmax(-1).tolist() == [5, 5]  # the second slash
    weekday = AlignmentPlayer("Wednesday, 7 May 1980").read()[1][:, :9].sum(-1)
    assert weekday[[5, 8]].min() > 0.05, "the zeros of 05-07"
    assert weekday[[0, 1, 2, 3, 6, 9]].max() < 0.05, "the other digits"
    right = {off: HeadAblation(heads=4, off=list(off)).right() for off in [(0,), (1,), (2,), (3,), (2, 3)]}
    assert round(right[2,][1].item(), 2) == 0.94
    assert min(right, key=lambda off: -right[off].min()) == (2,), "the one that is missed least"
    assert right[2, 3][1] < 0.2
    assert HeadAblation(heads=1).right()[1] < 0.15


def test_tables_of_positions():
    assert_close(numbers(ClockHands(position=0, other=1, width=4))[0], torch.tensor([0.0, 1, 0.84, 0.54]))
    assert parsed(ClockHands(position=5, other=8)).caption.text == "Positions 5 and 8 are 0.69 alike"
    moved = numbers(ShiftLab(position=20, apart=-7))
    assert_close(moved[:, 5], moved[:, 6])
    assert_close(moved[:, :4] @ moved[:, 4], moved[:, 5], rtol=0, atol=0.02)
    assert parsed(ShiftLab(mode="turned")).caption.text.startswith("Score -0.11; with positions added 0.28")
    cells = numbers(FindTheBug())
    assert [head.text for head in parsed(FindTheBug()).select("th[scope=row]")] == ["A", "B", "C"]
    assert (cells[0] != cells[1]).any()
    orders = [FindTheBug(seed=seed).order() for seed in range(1, 30)]
    assert all(sorted(order) == ["batch", "none", "right"] for order in orders)
    assert len({tuple(order) for order in orders}) == 6


def test_what_chapter_8_says_of_its_widgets():
    def alike(**traits):
        return ClockHands(**traits).alike().item()

    assert round(alike(position=5, other=8), 2) == round(alike(position=45, other=48), 2) == 0.69
    assert [round(alike(position=0, other=i, base=2), 2) for i in (4, 8)] == [-0.82, 0.4]
    assert round(min(alike(position=0, other=i, base=100_000) for i in range(60)), 2) == 0.28
    slow = ClockHands(width=4).vectors()
    assert 0.55 < slow[59, 2].asin() < 0.6
    assert (slow[2, :2] - slow[46, :2]).norm() < 0.02
    assert (slow[1:, 2:] - slow[:-1, 2:]).norm(dim=-1).max() < 0.0101
    assert round(torch.cdist(slow, slow).fill_diagonal_(9).min().item(), 2) == 0.24
    scores = {apart: ShiftLab(apart=apart).scores() for apart in range(-10, 11)}
    assert sorted(scores, key=lambda apart: -scores[apart][0])[:2] == [8, 7]
    turned, added = zip(*(ShiftLab(position=i, apart=3).scores() for i in range(10, 51)), strict=True)
    assert {round(score, 4) for score in turned} == {-0.1142}
    assert min(abs(a - b) for a, b in pairwise(added)) > 1e-4
    words, texts = FindTheBug(words_swapped=True), FindTheBug(texts_swapped=True)
    assert words.moved("right")[0].all()
    assert not torch.cat([words.moved("batch"), words.moved("none")]).any()
    assert texts.moved("batch").all()
    assert not torch.cat([texts.moved("right"), texts.moved("none")]).any()


def test_what_chapter_7_says_of_its_widgets():
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
    stories = "the bat flew in the dark cave the bank gave her another loan"
    asked = {place: BankInContext(stories, matrices="learned", place=place) for place in (1, 8)}
    assert [widget.nearest()[0][0] for widget in asked.values()] == ["animal", "finance"]
    rng, words = random.Random(0), english_vectors().words
    others = [BankInContext(rng.sample(words, 5), matrices="learned").nearest()[0][0] for _ in range(100)]
    assert sum(word in MEANINGS.values() for word in others) > 60, "other words mostly become one of the ten, too"
    assert asked[1].look()[1][7:].sum() < 0.3
    assert asked[8].look()[1][:7].sum() < 0.3

    race = {n: SignalRace(n=n).kinds() for n in (16, 32)}
    steps = {n: [kind.layers(n) * kind.cost(n, 64).steps for kind in race[n].values()] for n in race}
    assert steps == {16: [16, 8, 3, 4], 32: [32, 16, 4, 4]}
    names = list(race[32])
    time = {p: [kind.time(32, 64, p) for kind in race[32].values()] for p in (1, 100_000)}
    assert names[time[1].index(min(time[1]))] == "recurrence"
    assert names[time[1].index(max(time[1]))] == "convolution"
    assert names[time[100_000].index(min(time[100_000]))] == "self-attention"

    def border(**traits):
        return CostPlane(**traits).crossover()

    assert border() == 1
    assert border(projections="in") == 0
    assert [border(projections="in", against="convolution", kernel=k) for k in (3, 5, 9)] == [0, 0.5, 2.5]
    llama = CostPlane(n=131072, d=4096, heads=32, projections="in")
    pairs = CostPlane(n=131072, d=4096).operations(SelfAttention())
    assert round(pairs / llama.operations(SelfAttention()), 2) == 0.94
    assert round(4 * 32 * llama.n**2 / 1e12, 1) == 2.2


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
    assert [head.text for head in parsed(Polarity()).select("th[scope=row]")] == [call for call, _ in CALLS.values()]


def test_a_map_that_is_given_a_word_goes_there():
    x, y = WordMap.place("river")
    widget = WordMap("river")
    assert abs(widget.x - x) + abs(widget.y - y) < 1e-3
    assert widget.zoom == 6
    assert (WordMap("river", x=0.5).x, WordMap("river", x=0.5).zoom) == (0.5, 1)


def test_the_map_keeps_neighbours_together():
    """Of the ten nearest words, four on average are among the ten nearest on the map; by chance, 0.01 would be."""
    places, units = WordMap.places(), torch.nn.functional.normalize(english_vectors().vectors, dim=-1)
    some = torch.arange(0, 8000, 20)
    cosines = units[some] @ units.T
    far = torch.cdist(places[some], places)
    for measure, least in ((cosines, -2), (far, 9)):
        measure[torch.arange(len(some)), some] = least
    near, on_map = cosines.topk(10).indices, far.topk(10, largest=False).indices
    assert (near[:, :, None] == on_map[:, None]).any(-1).sum(-1).double().mean() > 4
    assert places.abs().max() == 1


# ---- on a page, in a notebook ----


@each_widget
def test_page_html_is_the_same_each_time_and_lives_in_a_notebook(kind):
    widget = kind()
    assert widget.page_html() == kind().page_html()
    bundle = widget._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert data.keys() >= {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    assert data["text/html"] == widget.page_html()
    assert data["text/plain"] == repr(widget) == f"{kind.__name__}()"


def test_words_cannot_become_html():
    tokens = ["</script>", "<img src=x onerror=alert(1)>", "&lt;", '"']
    page = parsed(AttentionHeatmap(tokens))
    assert len(page.select("script")) == 1
    assert not page.select("img")
    assert json.loads(page.script.string)["tokens"] == tokens
    assert [head.text for head in page.select("th[scope=row]")] == tokens


def test_page_files_are_complete():
    files = page_files()
    assert {
        path.relative_to(ROOMS).as_posix() for suffix in ("js", "css") for path in ROOMS.glob(f"*/*.{suffix}")
    } <= files.keys()
    assert all(path.is_file() for path in files.values())
    for name, path in files.items():
        if path.suffix == ".js":
            imported = re.findall(r'from "(\.{1,2}/.+?)"', path.read_text("utf-8"))
            assert {(path.parent / other).resolve() for other in imported} <= set(files.values()), name
    for kind in all_widgets():
        assert all(t.page_name in files for t in kind.inputs().values() if isinstance(t, Asset))


def test_asset_is_its_file_and_is_named_by_its_content():
    asset, data = AttentionHeatmap.inputs()["vocabulary"], (DATA / "words.bin").read_bytes()
    assert AttentionHeatmap("a").vocabulary == data
    assert asset.page_name == f"words.{hashlib.sha256(data).hexdigest()[:8]}.bin"
    assert json.loads(parsed(AttentionHeatmap("a")).script.string)["vocabulary"] == asset.page_name


def test_a_widget_without_a_table_says_so():
    with pytest.raises(NotImplementedError, match=r"ScaleLab needs a table\(\)"):
        BookWidget.table(ScaleLab())


# ---- one module ----


def write(folder, **modules):
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text)
    return folder / "top.js"


def test_one_module_holds_each_import_once(tmp_path):
    """That it runs, and runs each module once, is tested in a browser."""
    text = one_module(
        write(
            tmp_path,
            top='import { a as b } from "./left.js";\nimport { c } from "./base.js";\nexport default { b, c };',
            left='import { c } from "./base.js";\nexport const a = c;',
            base="export async function c() {}",
        )
    )
    assert not re.search(r"^\s*import\b", text, re.M)
    assert re.findall(r"^const \$(\w+) = ", text, re.M) == ["base", "left"]
    assert "const { a: b } = $left;" in text
    assert "return { c };" in text


@pytest.mark.parametrize(
    "line",
    [
        'import * as d3 from "https://cdn.example/d3.js";',
        'import { x } from "https://cdn.example/x.js";',
        'import core from "./core.js";',
        'import "./core.js";',
        'const x = await import("./core.js");',
        'export { x } from "./core.js";',
        'export * from "./core.js";',
        "export let x = 1;",
    ],
)
def test_one_module_rejects_what_it_cannot_inline(tmp_path, line):
    with pytest.raises(
        ValueError, match=r'top\.js: can\'t inline `.*`; write `import \{ a \} from "\.\./shared/x\.js";`'
    ):
        one_module(write(tmp_path, top=f"{line}\nexport default {{}};", core="export const x = 1;"))


@each_widget
def test_what_a_notebook_loads_needs_nothing_else(kind):
    assert not re.search(r"^\s*import\b", kind()._esm, re.M)
    assert "--attn-query" in kind()._css, "the shared colours come along"


# ---- colours: query, key and value stay apart for everyone; weights run along an even scale ----

BLOCKS = re.findall(r"^(?::root|html\[data-theme)[^{]*\{(.*?)\}", (SHARED / "base.css").read_text("utf-8"), re.M | re.S)
VALUES = [dict(re.findall(r"--([\w-]+):\s*([^;]+);", block)) for block in BLOCKS]
THEMES = {"light": VALUES[0], "dark": VALUES[0] | VALUES[1]}
each_theme = pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
# Machado, Oliveira & Fernandes (2009), severity 1, for linear sRGB
VISION = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
# Björn Ottosson's OKLab: linear sRGB to cone responses, their cube roots to L, a, b
CONES = torch.tensor(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
LAB = torch.tensor(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear(hexadecimal):
    rgb = torch.tensor(list(bytes.fromhex(hexadecimal.removeprefix("#")))) / 255
    return torch.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def oklab(rgb):
    return LAB @ (CONES @ rgb.clamp(0, 1)).pow(1 / 3)


def luminance(rgb):
    return (rgb @ torch.tensor([0.2126, 0.7152, 0.0722])).item()


@each_theme
@pytest.mark.parametrize("vision", VISION)
def test_query_key_and_value_stay_apart(theme, vision):
    eye = torch.tensor(VISION[vision], dtype=torch.float32)
    seen = {role: oklab(eye @ linear(theme[f"attn-{role}"])) for role in ("query", "key", "value")}
    for a, b in (("query", "key"), ("key", "value"), ("value", "query")):
        apart = 100 * (seen[a] - seen[b]).norm().item()
        assert apart >= 8, f"{a} and {b} are {apart:.1f} apart for {vision} vision; 8 is easy to tell"


@each_theme
@pytest.mark.parametrize("ground", ["ab-paper", "ab-panel"])
@pytest.mark.parametrize("text", ["attn-query", "attn-key", "attn-value", "ab-ink", "ab-soft", "ab-accent"])
def test_coloured_text_can_be_read(theme, text, ground):
    low, high = sorted(luminance(linear(theme[name])) for name in (text, ground))
    assert (high + 0.05) / (low + 0.05) >= 4.5


@each_theme
def test_weights_run_along_an_even_scale(theme):
    """Equal steps of weight look equally large, after the screen has cut off what sRGB can't show."""
    L, dL, C, dC, hue = (float(theme[f"weight-{name}"]) for name in ("L", "dL", "C", "dC", "hue"))
    hue = torch.tensor(hue).deg2rad()
    shown = []
    for w in torch.linspace(0, 1, 11):
        chroma = C + w * dC
        lab = torch.stack([L + w * dL, chroma * hue.cos(), chroma * hue.sin()])
        shown.append(oklab(CONES.inverse() @ (LAB.inverse() @ lab).pow(3)))
    steps = torch.stack(shown).diff(dim=0).norm(dim=1)
    assert steps.max() <= 1.05 * steps.min(), f"ΔE of the steps: {(100 * steps).round(decimals=1).tolist()}"
