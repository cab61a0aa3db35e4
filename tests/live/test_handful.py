"""Handful answers as PyTorch does, to every name in its table, in Chromium: numbers, kinds, shapes and gradients."""

import json
import re
from base64 import b64encode

import pytest

from attnbook.widgets.shared.files import one_module
from booktools.live import HANDFUL, engine_files
from tests.live.calls import CALLS, CHANCE, calls

RUN = """(asked) => Promise.all([import(HANDFUL), import(MORE)]).then(([{ handful }, { default: more }]) => {
    if (!handful.ops.einsum) more(handful);
    const number = (text) => Number(text.replace("inf", "Infinity"));
    const read = (x, leaves) => {
        if (x?.t) {
            let t = handful.fromValues(x.t.map(number), x.shape, x.dtype);
            if (x.turned) {
                const turn = (t) => handful.call("transpose", [t, -1, -2]);
                t = turn(handful.call("contiguous", [turn(t)]));
            }
            if (leaves && x.dtype.startsWith("float")) {
                t.node = { leaf: t };
                leaves.push(t);
            }
            return t;
        }
        if (x?.float !== undefined) {
            const value = number(x.float);
            return Number.isInteger(value) ? handful.float(value) : value;
        }
        return Array.isArray(x) ? x.map((each) => read(each, leaves)) : x;
    };
    const tell = (x) =>
        x?.isT ? { t: [...handful.values(x)].map(String), shape: x.shape, dtype: x.dtype } : x ?? null;
    return JSON.stringify(JSON.parse(asked).map(({ name, args, named, grads }) => {
        const leaves = grads ? [] : null;
        try {
            const by = Object.fromEntries(Object.entries(named).map(([key, value]) => [key, read(value)]));
            const given = read(args, leaves);
            const got = handful.call(name, given, by);
            const parts = got?.named ? [got.values, got.indices] : Array.isArray(got) ? got : [got];
            if (grads)
                for (const part of parts)
                    if (part.node) {
                        const pull = Array.from({ length: part.n }, (_, p) => p + 1);
                        handful.backward(part, handful.fromValues(pull, part.shape, part.dtype));
                    }
            return { parts: parts.map(tell), grads: leaves?.map((leaf) => tell(leaf.grad)) };
        } catch (error) {
            return { raises: error.message };
        }
    }));
})"""
ROUNDED = {"float16": 4e-3, "float32": 3e-5, "float64": 1e-9}


@pytest.fixture(scope="module")
def handful(browser, home):
    page = browser.new_page()
    page.goto("about:blank")
    script = with_modules(RUN)
    yield lambda asked: json.loads(page.evaluate(script, json.dumps(asked)))
    page.close()


@pytest.fixture(scope="module")
def handful_names(browser, home):
    page = browser.new_page()
    page.goto("about:blank")
    names = page.evaluate(with_modules(NAMES))
    page.close()
    return set(names)


NAMES = """() => Promise.all([import(HANDFUL), import(MORE)]).then(([{ handful }, { default: more }]) => {
    more(handful);
    return Object.keys(handful.ops);
})"""


def with_modules(script: str) -> str:
    """A script in which Handful stands, as a page is sent it, and what is fetched later."""
    for name, text in (
        ("HANDFUL", one_module(HANDFUL / "handful.js")),
        ("MORE", engine_files()[1]["more.js"].decode()),
    ):
        script = script.replace(name, f'"data:text/javascript;base64,{b64encode(text.encode()).decode()}"')
    return script


@pytest.mark.parametrize("seed", [1, 2])
def test_every_call_is_answered_as_by_torch(seed, handful):
    asked = calls(seed, 12)
    wrong = [told for call, got in zip(asked, handful(asked), strict=True) if (told := difference(call, got))]
    assert not wrong, f"{len(wrong)} of {len(asked)}:\n" + "\n".join(wrong[:40])


def difference(call: dict, got: dict) -> str:
    said = f"{call['name']} {call['args']} {call['named']}:"
    if "raises" in call or "raises" in got:
        return "" if "raises" in call and "raises" in got else f"{said} {got} {call.get('raises', '')}"
    for kind in ("want", "grads"):
        for n, (theirs, ours) in enumerate(
            zip(call.get(kind) or [], got.get("parts" if kind == "want" else kind) or [], strict=False)
        ):
            if told := differs(theirs, ours, call["name"] in CHANCE):
                return f"{said} {kind} {n}: {told}"
    return ""


def differs(theirs, ours, by_chance: bool) -> str:
    if not isinstance(theirs, dict) or "t" not in theirs:
        plain = float(theirs["float"]) if isinstance(theirs, dict) else theirs
        return (
            ""
            if by_chance or plain == ours or (isinstance(plain, float) and abs(plain - ours) < 1e-6)
            else f"{ours}, not {plain}"
        )
    if not isinstance(ours, dict):
        return f"{ours}, not a tensor"
    if (theirs["shape"], theirs["dtype"]) != (ours["shape"], ours["dtype"]):
        return f"{ours['shape']} {ours['dtype']}, not {theirs['shape']} {theirs['dtype']}"
    if by_chance:
        return ""
    off = ROUNDED.get(theirs["dtype"], 0)
    for x, y in zip(map(float, theirs["t"]), (float(y.replace("Infinity", "inf")) for y in ours["t"]), strict=True):
        same = x == y or (x != x and y != y) or abs(x - y) <= off * (1 + abs(x))
        if not same:
            return f"{y}, not {x}"
    return ""


def test_its_readme_has_every_name(handful_names):
    listed = re.findall(r"`(\w+)`", (HANDFUL / "README.md").read_text("utf-8").partition("## Names")[2])
    assert {*listed, "getitem", "setitem"} == handful_names


def test_no_name_goes_untested(handful_names):
    assert handful_names - {"backward"} == set(CALLS), "backward is what gradients are compared by"
