"""What a widget takes to redraw, in Chromium."""

import shutil
import statistics
from functools import partial
from mimetypes import guess_type

from playwright.sync_api import sync_playwright

from attnbook.widgets import (
    AlignmentPlayer,
    AttentionHeatmap,
    BlockStepper,
    CacheStepper,
    ClockHands,
    CostPlane,
    CueScene,
    FillValue,
    HeadBudget,
    HeadSplit,
    KernelRegression,
    LengthSlider,
    LiveTransformer,
    MaskMap,
    OnlineSoftmax,
    PaintMask,
    ScaleLab,
    ShiftLab,
    SignalRace,
    SoftDictionary,
    TanhSum,
    WordMap,
)
from attnbook.widgets.shared.files import page_files
from benchmarks.tables import progress, table
from tests.browser.pages import bare
from tests.browser.visiting import FLAGS, NAMES

GOAL = 8  # milliseconds
STEP = """() => Array.from({ length: 40 }, (_, i) => {
    const slider = document.querySelector("input[type=range]:not([hidden] *), [role=slider]");
    const way = new KeyboardEvent("keydown", { key: i % 2 ? "ArrowLeft" : "ArrowRight" });
    if (slider.max) slider.value = Number(slider.max) - (i % 2);
    const start = performance.now();
    slider.dispatchEvent(slider.max ? new Event("input") : way);
    return performance.now() - start;
})"""


def serve(route, **answer):
    route.fulfill(**answer)


def widget_rows() -> list[list[str]]:
    """Milliseconds of scripting for one step of each widget's first slider, or handle in its picture."""
    widgets = {
        "AttentionHeatmap, 9 words": AttentionHeatmap("the river bank by the water in the sun"),
        "ScaleLab, d = 512 and 1024": ScaleLab(width=1024),
        "WordMap, zoom 1 and 1.5": WordMap("river"),
        "LengthSlider": LengthSlider(),
        "PaintMask": PaintMask(),
        "FillValue": FillValue(),
        "CueScene": CueScene(),
        "SoftDictionary": SoftDictionary(),
        "KernelRegression": KernelRegression(),
        "TanhSum": TanhSum(),
        "HeadSplit": HeadSplit(),
        "HeadBudget": HeadBudget(),
        "CostPlane": CostPlane(),
        "SignalRace": SignalRace(n=32),
        "ClockHands": ClockHands(width=32),
        "ShiftLab": ShiftLab(),
        "LiveTransformer, 28 letters": LiveTransformer("Wednesday, 30 September 2049"),
        "BlockStepper": BlockStepper(),
        "MaskMap": MaskMap(),
        "OnlineSoftmax": OnlineSoftmax(block=1),
        "CacheStepper": CacheStepper(),
        "AlignmentPlayer, 28 letters": AlignmentPlayer("Wednesday, 30 September 2049"),
    }
    with sync_playwright() as driver:
        program = next(filter(None, map(shutil.which, NAMES)), driver.chromium.executable_path)
        page = driver.chromium.launch(executable_path=program, args=FLAGS.split()).new_page()
        for name, content in page_files().items():
            page.route(f"**/{name}", partial(serve, body=content, content_type=guess_type(name)[0]))
        rows = []
        for name, widget in widgets.items():
            page.route("http://book/", partial(serve, body=bare(widget), content_type="text/html"))
            page.goto("http://book/")
            page.wait_for_selector("[data-mounted]")
            took = statistics.median(page.evaluate(STEP))
            rows.append(progress([name, f"{took:.1f} ms" if took <= GOAL else f"**{took:.1f} ms**", f"≤ {GOAL} ms"]))
    return rows


def section() -> str:
    return f"""## Widgets: one redraw

Scripting in Chromium for one step of the widget's first slider, median. Bold: over the goal.

{table(["widget", "time", "goal"], widget_rows())}
"""
