"""The widgets' scripts as modules: as files of a page, and as the single text that Jupyter and Colab load."""

import base64
import gzip
import re
from pathlib import Path

import pytest
import torch
from playwright.sync_api import expect
from torch.testing import assert_close

from attnbook import masked_softmax
from attnbook.widgets import all_widgets
from attnbook.widgets.shared.base import Asset, one_module
from attnbook.widgets.shared.random import normals
from tests.browser.pages import bare, built

from .oracle import differences, shown

CORE = "_static/widgets/shared/core.js"
# A model as a notebook has it, which counts its listeners.
HARNESS = """async ({ address, text, state, assets }) => {
    const bytes = (encoded) => Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
    for (const [name, encoded] of Object.entries(assets)) {
        state[name] = new DataView(new Uint8Array([0, ...bytes(encoded)]).buffer, 1); // not from the buffer's start
    }
    const listeners = [];
    const model = {
        get: (name) => state[name],
        set(name, value) {
            state[name] = value;
            for (const [event, follow] of [...listeners]) if (event === `change:${name}`) follow();
        },
        save_changes() {},
        on: (event, follow) => listeners.push([event, follow]),
        off: (...gone) => listeners.splice(listeners.findIndex((pair) => pair.every((x, i) => x === gone[i])), 1),
    };
    let outside = 0;
    const watch = async (act) => { // for listeners on more than the widget
        const targets = [window, document, document.documentElement, document.body];
        for (const target of targets) {
            target.addEventListener = () => outside++;
            target.removeEventListener = () => outside--;
        }
        const result = await act();
        for (const target of targets) { delete target.addEventListener; delete target.removeEventListener; }
        return result;
    };
    const blob = new Blob([text], { type: "text/javascript" });
    const { default: widget } = await import(text ? URL.createObjectURL(blob) : new URL(address, location));
    const cleanup = await watch(() => widget.render({ model, el: document.getElementById("here") }));
    window.run = { model, cleanup: () => watch(cleanup), listeners: () => listeners.length + outside };
}"""
CHANGE = {
    "attention_heatmap": [{"temperature": 0.2}, {"stage": "scaled"}],
    "scale_lab": [{"width": 8}, {"size": 2.0}],
    "word_map": [{"word": "river"}, {"zoom": 3.0}],
    "analogy_bench": [{"asked": True}, {"c": "prince"}, {"queries": "in"}],
    "length_slider": [{"angle_a": 45}, {"length_b": 2.0}],
    "paint_mask": [
        {"blocked": [[0, 1], [2, 2], [-1, 0], [9, 9]]},
        {"hide": "zero"},
        {"temperature": 0.3},
        {"tokens": ["a", "b"], "scores_LM": [[1.0, 2.0], [3.0, 4.0]], "pads": [1]},
        {"scores_LM": [[5.0]], "tokens": ["c"]},
    ],
    "fill_value": [{"shift": -9995}, {"hidden": "all"}, {"how": "add"}],
    "cue_scene": [{"salience": 2.0}, {"wish": 5.0}, {"keys_MK": [[0, 1], [1, 0], [0.5, 0.5], [1, 1], [0, 0]]}],
    "soft_dictionary": [{"x": 5.0}, {"y": 4.0}, {"temperature": 0.5}, {"score": "dot"}, {"values_M": [1, 2, 3, 4, 5]}],
    "kernel_regression": [
        {"width": 1.0},
        {"query": 0.0},
        {"points": [[i / 3, i / 2] for i in range(12)]},
        {"chosen": 3},
    ],
    "tanh_sum": [{"q": -3.0}, {"w2": -1.5}, {"k": 6.0}, {"w1": 0.0}],
    "alignment_player": [{"step": 11}, {"text": "7/4/76"}, {"step": 0}, {"text": "Monday"}, {"step": 9}],
    "live_transformer": [
        {"step": 11},
        {"text": "7/4/76"},
        {"where": "encoder"},
        {"forced": [[0, 9]]},
        {"forced": [[1, 2]]},
        {"step": 1},
        {"head": 4},
        {"text": "Monday"},
    ],
    "block_stepper": [{"part": "weights"}, {"block": 6}, {"norm": "pre"}, {"part": "hidden"}, {"shortcut": "without"}],
    "mask_map": [
        {"mistake": "ahead"},
        {"source": 2},
        {"layers": 1},
        {"flipped": [[0, 1], [9, 9], [12, 3], [0, 7]]},
        {"target": 3},
        {"row": 0},
    ],
    "online_softmax": [{"read": 4}, {"way": "forget"}, {"scores": "huge"}, {"block": 1}, {"way": "no maximum"}],
    "cache_stepper": [
        {"step": 3},
        {"align": "first"},
        {"cache": "without"},
        {"prompt": 8},
        {"chunk": 1},
        {"heads": "MQA"},
        {"tokens": 64},
    ],
    "head_split": [{"step": 2}, {"heads": 3}, {"way": "view"}, {"step": 5}, {"heads": 6}],
    "head_ablation": [{"off": [1]}, {"heads": 4}, {"off": [0, 3, 7]}, {"seed": 5}, {"heads": 1}],
    "bank_in_context": [
        {"asked": True},
        {"matrices": "learned"},
        {"place": 4},
        {"tokens": ["bank", "loan"]},
        {"extra": "ocean"},
        {"tokens": ["the"] * 10},
        {"place": 30},
    ],
    "cost_plane": [
        {"against": "convolution"},
        {"projections": "in"},
        {"n": 131072},
        {"d": 4096},
        {"kernel": 3},
        {"heads": 96},
        {"kernel": 33},
    ],
    "signal_race": [{"step": 3}, {"n": 32}, {"kernel": 5}, {"at_once": 1000}, {"step": 32}, {"n": 2}],
    "clock_hands": [{"position": 59}, {"width": 4}, {"base": 2}, {"other": 59}, {"width": 32}],
    "shift_lab": [{"apart": -10}, {"mode": "turned"}, {"position": 50}, {"apart": 10}, {"mode": "moved"}],
    "find_the_bug": [
        {"revealed": True},
        {"words_swapped": True},
        {"a": "none"},
        {"texts_swapped": True},
        {"seed": 5},
        {"c": "batch"},
        {"b": "right"},
    ],
    "head_budget": [{"heads": 64}, {"width": 768}, {"length": 16}],
    "polarity": [{"seen": [[0, 0]]}, {"revealed": True}, {"given": [[[0, 0]]]}, {"seed": 3}],
}

each_widget = pytest.mark.parametrize("kind", all_widgets(), ids=lambda kind: kind.__name__)


@pytest.fixture
def core(visit):
    """Evaluate an expression of core.js's exports."""
    page = visit("bare.html", served={"bare.html": bare()})
    return lambda text, argument=None: page.evaluate(
        f"async (x) => {{ const core = await import(new URL('{CORE}', location)); return {text}; }}",
        argument,
    )


@each_widget
@pytest.mark.parametrize("form", ["page", "notebook"])
def test_runs_follows_its_model_and_lets_go(visit, kind, form):
    twin = kind()
    state = {n: t.page_name if isinstance(t, Asset) else getattr(twin, n) for n, t in kind.inputs().items()}
    assets = {n: t.default() for n, t in kind.inputs().items() if isinstance(t, Asset) and form == "notebook"}
    state["_words"] = kind.edition_words()
    here = f'<div id="here" data-afm="{kind.name}" data-mounted></div>'
    page = visit("bare.html", served={"bare.html": bare(body=here)})
    page.evaluate(
        HARNESS,
        {
            "address": f"_static/widgets/{kind.name}/{kind.name}.js",
            "text": twin._esm if form == "notebook" else "",
            "state": state,
            "assets": {name: base64.b64encode(data).decode() for name, data in assets.items()},
        },
    )
    node = page.locator("#here")
    assert differences(shown(node), twin) == []
    assert page.evaluate("run.listeners()") > 0
    for changes in CHANGE[kind.name]:  # as from Python, one trait after the other
        for name, value in changes.items():
            page.evaluate("([name, value]) => run.model.set(name, value)", [name, value])
            setattr(twin, name, value)
        assert differences(shown(node), twin) == [], f"{changes} was set in Python; the widget must follow"
    page.evaluate("run.cleanup()")
    assert page.evaluate("run.listeners()") == 0, "the function that render returns must end every listener"
    if form == "notebook":
        assert not [asked for asked in visit.requests if asked.endswith(("core.js", ".bin"))]


def test_one_module_runs_like_many(visit, tmp_path):
    """Shared and nested imports, renamed on the way, and each module run once."""
    files = {
        "top": 'import { two as deux, count } from "./left.js";\nimport { three } from "./right.js";\n'
        "export default () => [deux(), three, count()];",
        "left": 'import { one, count as runs } from "./base.js";\nexport function two() { return one + one; }\n'
        "export const count = () => runs();",
        "right": 'import { one as uno } from "./base.js";\nexport const three = uno * 3;',
        "base": "let runs = 0;\nexport const one = ++runs;\nexport const count = () => runs;",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.js").write_text(text)
    page = visit("bare.html", served={"bare.html": bare()})
    blob = (
        "(text) => import(URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))).then((m) => m.default())"
    )
    assert page.evaluate(blob, one_module(tmp_path / "top.js")) == [2, 3, 1]


@pytest.mark.parametrize("seed", [0, 1, -7, 12345, 2**31 - 1])
def test_random_numbers_are_the_same_in_python(core, seed):
    draws = core("Array.from(core.normals(x, 2000))", seed)
    assert_close(torch.tensor(draws, dtype=torch.float64), normals(seed, 2000), rtol=1e-12, atol=1e-12)


def test_softmax_is_torchs(core):
    draws = normals(3, 40).view(5, 8) * torch.tensor([0.1, 1, 10, 1000, 1])[:, None]
    mask = (torch.arange(8) % 3 > 0) | (torch.arange(5) == 0)[:, None]
    mask[4] = False  # nothing to attend to
    rows = draws.masked_fill(~mask, -torch.inf)
    texts = [[str(x).replace("inf", "Infinity") for x in row] for row in rows.tolist()]
    got = torch.tensor(core("x.map((row) => core.softmax(row.map(Number)))", texts), dtype=torch.float64)
    assert_close(got, masked_softmax(draws, mask), rtol=1e-12, atol=0)
    assert_close(got[:4], rows[:4].softmax(-1), rtol=1e-12, atol=0)


def test_numbers_as_they_are_written(core):
    cases = {"1.005": "1.00", "-0.004": "0.00", "-1.5": "−1.50", "-Infinity": "−∞", "12.345": "12.35"}
    assert core("x.map((text) => core.number(Number(text)))", list(cases)) == list(cases.values())


def test_a_choice_keeps_the_type_of_its_trait(core):
    """Python refuses "3" for a whole number."""
    script = """(() => {
        const state = { heads: 2, way: "view" };
        const model = { get: (name) => state[name], set(name, x) { state[name] = x; }, save_changes() {}, on() {} };
        for (const [trait, value] of [["heads", "3"], ["way", "transpose"]]) {
            const node = core.choice(model, core.follower(model), { trait, label: "x", options: { [value]: value } });
            node.querySelector("input").dispatchEvent(new Event("change"));
        }
        return state;
    })()"""
    assert core(script) == {"heads": 3, "way": "transpose"}


@each_widget
def test_scripts_and_styles_are_small(kind):
    own = Path("_static/widgets", kind.name, kind.name)
    files, left = {built(own.with_suffix(".css"))}, {built(own.with_suffix(".js"))}
    while left:  # what its modules import, too
        file = left.pop()
        files.add(file)
        imported = re.findall(r'from "(\S+\.js)"', file.read_text("utf-8"))
        left |= {(file.parent / name).resolve() for name in imported} - files
    assert "core.js" in {file.name for file in files}
    sizes = {file.name: len(gzip.compress(file.read_bytes())) for file in files}
    assert sum(sizes.values()) <= 10_000, f"gzip, in bytes: {sizes}; a widget may weigh 10 kB"


def test_the_text_of_the_page_decides_the_language(visit):
    page = visit("bare.html", served={"bare.html": bare(all_widgets()[0]()).replace('lang="en"', 'lang="xx-YY"')})
    expect(page.locator("[data-mounted]"), "a language without words of its own gets English").to_have_count(1)
