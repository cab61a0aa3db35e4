"""What widgets are made of: the registry, one module from many, the page's host, controls, numbers."""

import posixpath
import re

import pytest
import torch
from playwright.sync_api import expect
from torch.testing import assert_close

import attnbook.widgets
from attnbook import masked_softmax
from attnbook.colours import css
from attnbook.widgets import (
    AnalogyBench,
    BankInContext,
    LengthSlider,
    LiveTransformer,
    PaintMask,
    ScaleLab,
    WordMap,
    all_widgets,
)
from attnbook.widgets.shared.base import BookWidget, page_words
from attnbook.widgets.shared.files import ROOMS, SHARED, Asset, one_module, page_files, tight_style
from attnbook.widgets.shared.random import normals
from tests.browser.hands import bring
from tests.browser.pages import bare
from tests.widgets.laws import agree, live


def test_every_room_is_in_the_registry():
    rooms = {path.name for path in ROOMS.iterdir() if (path / "__init__.py").is_file()} - {"shared"}
    assert {kind.name for kind in all_widgets()} == rooms
    for name in rooms:
        assert all((ROOMS / name / f"{name}.{suffix}").is_file() for suffix in ("js", "css")), f"{name} lacks a file"
    with pytest.raises(AttributeError, match=r"has no 'Heatmap'; it has AlignmentPlayer, AnalogyBench, "):
        attnbook.widgets.Heatmap  # noqa: B018


def test_page_files_are_complete():
    files = page_files()
    assert {
        path.relative_to(ROOMS).as_posix() for suffix in ("js", "css") for path in ROOMS.glob(f"*/*.{suffix}")
    } <= files.keys()
    assert all(files.values())
    assert css().encode() in files["shared/base.css"], "the colours come along"
    for name, content in files.items():
        if name.endswith(".js"):
            imported = re.findall(r'from "(\.{1,2}/.+?)"', content.decode())
            folder = posixpath.dirname(name)
            assert {posixpath.normpath(posixpath.join(folder, other)) for other in imported} <= files.keys(), name
    for kind in all_widgets():
        assert all(t.page_name in files for t in kind.inputs().values() if isinstance(t, Asset))


def outermost(style: str) -> list[str]:
    """The selectors of a style's outermost rules, each by itself and without what stands in parentheses."""
    style = tight_style(style)
    while "(" in style:
        style = re.sub(r"\([^()]*\)", "", style)
    found, around = [], []
    for before, sign in re.findall(r"([^{};]*)([{};])", style):
        if sign == "{":
            if not before.startswith("@") and all(each.startswith(("@media", "@container")) for each in around):
                found += before.split(",")
            around.append(before)
        elif sign == "}":
            around.pop()
    return found


def test_the_style_of_a_widget_holds_in_no_other():
    """Each rule begins with the class of the widget's root, and no other widget has a class of that name."""
    rooms = {kind.name: ROOMS / kind.name for kind in all_widgets()}
    texts = {name: "".join(p.read_text("utf-8") for p in room.glob("*.*s")) for name, room in rooms.items()}
    texts["shared"] = "".join(p.read_text("utf-8") for p in SHARED.glob("*.*s"))
    owners = {}
    for name, room in rooms.items():
        roots = {}
        for selector in outermost("".join(path.read_text("utf-8") for path in room.glob("*.css"))):
            root = re.match(r"\.ab-[\w-]+|", selector)[0]
            roots.setdefault(root, selector)
        assert len(roots) == 1, f"{name}: rules begin with {[*roots.values()]}; begin each with the root's class"
        (root,) = roots
        assert root not in owners, f"{name} and {owners[root]} both have the root {root}"
        owners[root] = name
        of_that_name = re.compile(rf"\b{root[1:]}(?![\w-])")
        others = [other for other, text in texts.items() if other != name and of_that_name.search(text)]
        assert not others, f"{root} is the root of {name}; in {others} a part has the same class"


def test_words_of_a_page_keep_the_order_of_their_file():
    """Options are listed in it."""
    assert '{"before": "−∞ before softmax", "zero": "0 before softmax", "after":' in page_words([PaintMask])


def test_a_widget_without_a_table_says_so():
    with pytest.raises(NotImplementedError, match=r"ScaleLab needs a table\(\)"):
        BookWidget.table(ScaleLab())


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


@pytest.fixture
def core(visit):
    """Evaluate an expression of what core.js and random.js export."""
    page = visit("bare.html", served={"bare.html": bare()})
    modules = "const load = (name) => import(new URL(name + '.js', here));"
    modules += "const [core, random] = [await load('core'), await load('random')];"
    here = "const here = new URL('_static/widgets/shared/', location);"
    return lambda text, argument=None: page.evaluate(f"async (x) => {{ {here} {modules} return {text}; }}", argument)


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
    draws = core("Array.from(random.normals(x, 2000))", seed)
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
    """Python refuses "3" for an integer."""
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


def test_the_text_of_the_page_decides_the_language(visit):
    page = visit("bare.html", served={"bare.html": bare(all_widgets()[0]()).replace('lang="en"', 'lang="xx-YY"')})
    expect(page.locator("[data-mounted]"), "a language without words of its own gets English").to_have_count(1)


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


RING = """async (handle) => {
    await Promise.all(document.getAnimations().map((moving) => moving.finished));
    const { outlineStyle, outlineColor, stroke } = getComputedStyle(handle);
    const clear = outlineStyle === "none" || outlineColor === "rgba(0, 0, 0, 0)";
    return [clear, stroke !== "none"];
}"""


def test_the_ring_around_a_handle_is_round_and_for_the_keyboard_alone(visit):
    """No square is drawn, and no ring while a mouse drags."""
    page = visit("bare.html", served={"bare.html": bare(LengthSlider())})
    handle = live(page).get_by_role("slider", name="Tip of b")
    x, y = bring(handle)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 20, y + 10)
    expect(handle).to_be_focused()
    assert handle.evaluate(RING) == [True, False]
    page.mouse.up()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    expect(handle).to_be_focused()
    assert handle.evaluate(RING) == [True, True]


def test_listeners_are_told_in_the_order_in_which_they_came(visit):
    page = visit("bare.html", served={"bare.html": bare(ScaleLab())})
    script = """({ model }) => {
        const told = [];
        const [stays, leaves] = ["stays", "leaves and comes back"].map((name) => () => told.push(name));
        for (const [act, listener] of [["on", leaves], ["on", stays], ["off", leaves], ["on", leaves]])
            model[act]("change:width", listener);
        model.set("width", model.get("width") + 1);
        return told;
    }"""
    assert live(page).evaluate(script) == ["stays", "leaves and comes back"]


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


def test_a_large_asset_that_did_not_arrive_is_asked_for_again(visit):
    page = visit("bare.html", served={"bare.html": bare(AnalogyBench())})
    live(page)
    page.route("**/vectors.*.bin", lambda route: route.abort(), times=1)
    find = page.get_by_role("button", name="Find the fourth word")
    find.click()
    expect(page.locator("[aria-busy]")).to_have_count(0)
    page.get_by_role("button", name="france paris japan").click()
    if find.is_visible():
        find.click()
    expect(page.locator("[data-afm]")).to_contain_text("tokyo")
    visit.complaints.clear()  # the console heard of the first time


@pytest.mark.parametrize("kind", [WordMap, AnalogyBench, BankInContext])
def test_a_large_asset_waits_until_it_is_needed(visit, kind):
    visit("bare.html", served={"bare.html": bare(kind())}).wait_for_load_state("networkidle")
    assert not [address for address in visit.requests if "vectors." in address]
