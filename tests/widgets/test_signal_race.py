"""SignalRace: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

from functools import cache

import torch
import torch.nn.functional as F
from playwright.sync_api import expect
from torch import Tensor, nn

from attnbook.learning.complexity import Kind, Recurrence
from attnbook.widgets import SignalRace
from tests.browser.clocks import hold_time, pass_time
from tests.browser.pages import bare
from tests.widgets.laws import Laws, agree, live
from tests.widgets.reading import parsed
from tests.widgets.steps import press, slide

READ = """(node) => {
    const seen = (root, selector) => [...root.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const total = node.querySelector("tbody");
    const numbers = (root) => [...root.querySelectorAll(".ab-number")].map((cell) => cell.textContent);
    const strips = seen(node, ".ab-strip");
    const notes = [...node.querySelectorAll("[data-note]")];
    const kinds = ["arrived", "start", "inside", "layer"];
    return {
        knows: strips.flatMap((strip) =>
            seen(strip, "i").map((token) => String(Number(token.matches(".ab-knows"))))),
        know: strips.map((strip) => strip.dataset.know),
        said: strips.map((strip) => strip.ariaLabel.match(/\\d+/g)),
        notes: notes.map((note) => String(kinds.indexOf(note.dataset.note))),
        layers: notes.filter(({ dataset }) => dataset.note === "layer").map((note) =>
            [note.dataset.layer, note.dataset.layers, ...note.textContent.match(/\\d+/g)]),
        now: numbers(node.querySelector(".ab-lanes")),
        arrived: strips.map((strip) => String(Number(strip.matches(".ab-arrived")))),
        total: numbers(total),
        bars: [...total.querySelectorAll(".ab-bar")].map((bar) => bar.style.getPropertyValue("--w")),
        first: [...total.querySelectorAll("tr")].map((row) => String(Number(row.matches(".ab-first")))),
    };
}"""
NOTES = ["arrived", "start", "inside", "layer"]


@cache
def who_knows(kind: Kind, n: int, rounds: int) -> Tensor:
    """Which tokens' vectors change with the first one's after so many layers, or steps of the recurrence."""
    torch.manual_seed(0)
    x = torch.randn(2, n, 4, dtype=torch.float64)
    x[1, 1:] = x[0, 1:]
    with torch.no_grad():
        if isinstance(kind, Recurrence):
            layer = kind.layer(4).double()
            nn.init.eye_(layer.weight_hh_l0)  # or what was said fades until nothing is left of it
            y = F.pad(kind.run(layer, x)[:, :rounds], (0, 0, 0, n - rounds))
        else:
            y = x
            for number in range(rounds):
                y = kind.run(kind.layer(4, number).double(), y)
    return (y[0] != y[1]).any(-1) | (torch.arange(n) == 0)


def expected(widget) -> dict[str, Tensor]:
    """Who knows is asked of layers with real numbers; what they cost, of the formulas that are tested by counting."""
    n, knows, said, notes, layers, now, total, times = widget.n, [], [], [], [], [], [], []
    for name, kind in widget.kinds().items():
        waits = kind.operations_per_step(n, 64) * kind.layers(n)
        done, per_layer = min(widget.step, len(waits)), len(kind.operations_per_step(n, 64))
        know = who_knows(kind, n, done if name == "recurrence" else done // per_layer)
        knows.append(know)
        said.append([know.sum(), n])
        notes.append(
            "arrived" if know.all() else "start" if done == 0 else "inside" if name == "attention" else "layer"
        )
        if notes[-1] == "layer":
            layers.append([-(-done // per_layer), kind.layers(n)] * 2)  # as data, and in the text
        now += [done, sum(waits[:done])]
        times.append(kind.time(n, 64, widget.at_once))
        total += [len(waits), sum(waits), times[-1]]
    times = torch.tensor(times, dtype=torch.float64)
    return {
        "knows": torch.cat(knows),
        "know": torch.tensor(said)[:, 0],
        "said": torch.tensor(said),
        "notes": torch.tensor([NOTES.index(note) for note in notes]),
        "layers": torch.tensor(layers),
        "now": torch.tensor(now),
        "arrived": torch.tensor([know.all() for know in knows]),
        "total": torch.tensor(total),
        "bars": times / times.max(),
        "first": times == times.min(),
    }


class TestSignalRace(Laws):
    kind = SignalRace
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("One step on", {"step": 3}),
        *press("One step on", {"step": 4}),
        *slide("Tokens", "n", last=32),
        *slide("Kernel", "kernel", last=5, first=2),
        *slide("Steps", "step", last=32),
        *slide("Operations", "at_once", first=1),
        *slide("Tokens", "n", first=2),
    ]
    changes = [{"step": 5}, {"n": 32}, {"kernel": 5}, {"at_once": 1000}, {"step": 32}, {"n": 2}]
    states = {
        "before the start": SignalRace(step=0),
        "two tokens": SignalRace(n=2, kernel=5, step=1, at_once=1),
        "nearly there": SignalRace(n=30, kernel=2, step=28, at_once=10_000),
    }
    drags = {"tokens": (SignalRace(step=3), slide("Tokens", "n", last=32))}
    errors = [(lambda: SignalRace(n=1), r"'n' trait .* not be less than 2")]


A_RACE = 60_000  # milliseconds, in which the longest race is over


def test_a_race_runs_until_the_slowest_is_there(visit):
    """From the start again when it is over; with reduced motion, one goes step by step."""
    page = visit("bare.html", served={"bare.html": bare(SignalRace(n=4))})
    node = live(page)
    start = node.get_by_role("button", name="Start")
    hold_time(page)
    for _ in range(2):
        start.click()
        node.get_by_role("button", name="Stop").wait_for()
        pass_time(page, A_RACE)
        start.wait_for()
        agree(node, SignalRace(n=4, step=4), "a race")
    node.get_by_role("slider", name="Tokens").press("End")
    start.click()
    pass_time(page, 2000)
    expect(node.get_by_role("slider", name="Steps")).not_to_have_attribute("aria-valuetext", "4")
    node.get_by_role("button", name="Stop").click()
    step = int(node.get_by_role("slider", name="Steps").get_attribute("aria-valuetext"))
    pass_time(page, A_RACE)
    agree(node, SignalRace(n=32, step=step), "a race that was held")
    slider = node.get_by_role("slider", name="Steps")
    for touch in (lambda: slider.press("Home"), slider.click, node.get_by_role("button", name="One step on").click):
        start.click()
        node.get_by_role("button", name="Stop").wait_for()
        touch()
        expect(start, "it runs on under a hand").to_be_visible()
        held = slider.get_attribute("aria-valuetext")
        pass_time(page, A_RACE)
        expect(slider).to_have_attribute("aria-valuetext", held)
    still = visit("bare.html", motion="reduce", served={"bare.html": bare(SignalRace())})
    expect(live(still).get_by_role("button", name="Start")).to_be_hidden()


def test_table_of_the_race():
    page = parsed(SignalRace(n=16, at_once=100_000))
    assert page.caption.text == "16 tokens, 64 wide, kernel 3; a machine of 100,000 operations at once"
    cells = [cell.text for cell in page.select("td")[1:]]
    assert cells[:8] == ["1", "16", "262,144", "16", "8", "8", "3,145,728", "32"]
    assert cells[8:] == ["3", "3", "1,179,648", "12", "1", "4", "589,824", "8"]


def test_what_chapter_7_says_of_it():
    race = {n: SignalRace(n=n).kinds() for n in (16, 32)}
    steps = {n: [kind.layers(n) * kind.cost(n, 64).steps for kind in race[n].values()] for n in race}
    assert steps == {16: [16, 8, 3, 4], 32: [32, 16, 4, 4]}
    time = {p: {name: kind.time(32, 64, p) for name, kind in race[32].items()} for p in (1, 100_000)}
    assert min(time[1], key=time[1].get) == "recurrence"
    assert max(time[1], key=time[1].get) == "convolution"
    assert min(time[100_000], key=time[100_000].get) == "attention"
