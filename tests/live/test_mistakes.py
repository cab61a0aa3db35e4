"""A chapter's mistakes can be run on its page: they print what the notebook stores, and can be changed and mended."""

import json
import re

import nbformat
import pytest
import torch
from playwright.sync_api import expect

from attnbook import check, masked_softmax
from attnbook.language import words
from booktools.book.cell_kinds import is_mistake
from booktools.book.statements import statements
from booktools.live import HERE, NotForThePage, function_parameters
from booktools.live.mistakes import runnable_mistakes
from tests.browser.pages import CHAPTERS

MISTAKES = {path.stem: [cell for cell in nbformat.read(path, 4).cells if is_mistake(cell)] for path in CHAPTERS}
ALL = [(stem, cell) for stem, cells in MISTAKES.items() for cell in cells]
AXIS = next((stem, cell) for stem, cell in ALL if cell.id == "mistake-axis-code")


def sent(site, stem, cell):
    """What the page is sent of a mistake, if it can be run there."""
    file = site / f"_static/write/{stem[:2]}-{cell.id}.json"
    return json.loads(file.read_text("utf-8")) if file.is_file() else None


def run(visit, stem, cell, code=None):
    """The cell on its page, when it has been run."""
    page = visit(f"chapters/{stem}.html")
    page.evaluate("for (const box of document.querySelectorAll('details')) box.open = true")
    frame = page.locator(f'[data-write*="-{cell.id}.json"]')
    if code is not None:
        frame.get_by_role("textbox").fill(code)
    frame.get_by_role("button", name="Run").click()
    expect(frame.get_by_role("button", name="Run")).to_be_enabled(timeout=60_000)
    return frame


def printed(cell):
    """What the notebook stores."""
    parts = (output.get("text") or output["data"]["text/plain"] + "\n" for output in cell.outputs)
    return "".join(parts).rstrip()


def without_chance(text, by_chance):
    """Numbers that are drawn by chance are others on the page."""
    return re.sub(r" *[−-]?(\d+(\.\d+)?|nan)", "#", text) if by_chance else text


@pytest.mark.parametrize(("stem", "cell"), ALL, ids=lambda x: getattr(x, "id", x))
def test_a_mistake_prints_what_the_notebook_has(site, visit, stem, cell):
    given = sent(site, stem, cell)
    if not given:
        assert f"-{cell.id}.json" not in site.text(f"chapters/{stem}.html"), "it can't be run: nothing offers it"
        return
    frame = run(visit, stem, cell)
    said = frame.get_by_role("status").inner_text()
    assert said == ("" if cell.outputs else words(HERE)["verdict"]["silent"])
    got = frame.locator(".prints").inner_text().rstrip() if cell.outputs else ""
    by_chance = re.search(r"\brand\w*\(|nn\.Linear\(", given["source"] + cell.source)
    assert without_chance(got, by_chance) == without_chance(printed(cell), by_chance)
    if cell.outputs:
        expect(frame.locator(".cell_output")).to_be_hidden()


@pytest.mark.slow
@pytest.mark.parametrize("stem", MISTAKES)
def test_what_can_not_be_run_has_a_reason(stem):
    path = next(path for path in CHAPTERS if path.stem == stem)
    cells = nbformat.read(path, 4).cells
    for name, what in runnable_mistakes(cells, statements(cells)).items():
        if isinstance(what, NotForThePage):
            assert re.search(r"needs|comes from training|more than a few numbers|can't be (had|run)", str(what)), name


def test_half_of_them_can_be_run(site):
    printing = [(stem, cell) for stem, cell in ALL if cell.outputs]
    runnable = [stem for stem, cell in printing if sent(site, stem, cell)]
    assert 2 * len(runnable) >= len(printing)
    assert len(set(runnable)) >= 9


MENDED = """def zero_after(scores, mask):
    return masked_softmax(scores, mask)"""


def test_what_is_mended_above_is_mended_below(visit):
    page = visit("chapters/02_masked_softmax.html")
    above, below = (page.locator(f'[data-write*="-mistakes-{name}.json"]') for name in ("code", "table"))
    box = above.get_by_role("textbox")
    box.fill(f"{box.input_value()}\n\n{MENDED}")
    button = below.get_by_role("button", name="Run")
    button.click()
    expect(below.locator(".prints")).to_contain_text("zero_after: passes all")
    below.get_by_role("button", name="Start again").click()
    expect(below.locator(".cell_output")).to_be_visible()
    expect(below.locator(".cell_output")).to_contain_text("zero_after: sums, alone, future")
    expect(below.locator(".prints")).to_be_hidden()


def test_a_mistake_is_told_with_its_line(visit):
    frame = run(visit, *AXIS, "x = 1\nprint(x)\nx.f()")
    assert frame.get_by_role("status").inner_text().startswith("Line 3: AttributeError")
    expect(frame.locator(".prints")).to_have_text("1\n")
    frame.get_by_role("textbox").fill("y = wrong_LK\ny")
    frame.get_by_role("button", name="Run").click()
    expect(frame.get_by_role("status")).to_have_text("Line 1: NameError: name 'wrong_LK' isn't defined")


def test_a_mistake_leads_to_the_check_that_catches_it(visit):
    page = visit("chapters/02_masked_softmax.html")
    frame = page.locator('[data-write*="-mistakes-code.json"]')
    assert frame.get_attribute("data-caught") == "my_masked_softmax"
    frame.get_by_role("link", name="The check of my_masked_softmax").click()
    expect(page.locator("#of-my_masked_softmax")).to_be_in_viewport()
    source = frame.get_by_role("textbox").input_value()
    space = {"torch": torch, "masked_softmax": masked_softmax, "softmax": lambda scores: scores.softmax(-1)}
    exec(source, space)
    wrong = [space[name] for name, given in function_parameters(source).items() if given == ["scores", "mask"]]
    assert len(wrong) > 3
    assert not any(check.masked_softmax(each) for each in wrong)


def test_only_what_is_a_way_to_write_a_stub_leads_to_its_check(site):
    pages = {path.stem: site.text(f"chapters/{path.stem}.html") for path in CHAPTERS}
    assert {stem[:2] for stem, text in pages.items() if "data-caught" in text} == {"02"}


def test_without_scripts_a_mistake_stands_as_in_the_notebook(visit):
    stem, cell = AXIS
    plain = visit(f"chapters/{stem}.html", javascript=False).locator(f'[data-write*="-{cell.id}.json"]')
    expect(plain.locator("pre").first).to_contain_text(cell.source.split("\n")[0])
    expect(plain.locator("textarea")).to_have_count(0)
