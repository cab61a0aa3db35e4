"""Ours against its peers, as ratios (above 1: ours is faster, or needs less), and what a widget takes to redraw."""

import platform
import shutil
import statistics
import sys
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path

import torch
from playwright.sync_api import sync_playwright
from torch.nn.functional import scaled_dot_product_attention

from attnbook import DotProductAttention, attention, causal, padding
from attnbook.peers import d2l
from attnbook.widgets import AttentionHeatmap, ScaleLab
from attnbook.widgets.base import page_files
from benchmarks.measure import memory_ratio, time_ratio
from tests.browser.conftest import FLAGS, NAMES
from tests.browser.pages import bare


def build(call: Callable, shape: tuple[int, ...], backward: bool) -> Callable[[], Callable]:
    """A call ready to be measured, its inputs made in the process that measures."""

    def ready() -> Callable:
        torch.manual_seed(0)
        inputs = [torch.randn(shape, requires_grad=backward) for _ in range(3)]

        def work():
            output = call(*inputs)
            if backward:
                output.sum().backward()

        return work

    return ready


def with_a_head(q, k, v, mask):
    """PyTorch's function as it is fastest on a CPU: with an axis for heads."""
    heads = mask[:, None] if mask.ndim == 3 else mask
    return scaled_dot_product_attention(q[:, None], k[:, None], v[:, None], heads)


def attention_cases() -> dict[tuple[str, str, str], list[Callable]]:
    """Name, sizes and mask of each comparison: [theirs forward, ours forward, theirs with backward, ours ...]."""
    cases = {}
    for B, n, lengths in ((8, 256, True), (2, 4096, True), (1, 4096, False)):
        mask, valid, kind = causal(n), torch.arange(1, n + 1).expand(B, n), "causal"
        if lengths:
            valid, kind = torch.linspace(n // 2, n, B).long(), "padding"
            mask = padding(valid, n)
        ours = partial(DotProductAttention(), mask=mask)
        peers = {
            "d2l.DotProductAttention": partial(d2l().DotProductAttention(dropout=0).eval(), valid_lens=valid),
            "attention, the readable path": lambda *qkv, mask=mask: attention(*qkv, mask)[0],
            "F.scaled_dot_product_attention": partial(with_a_head, mask=mask),
        }
        for name, theirs in peers.items():
            calls = [build(call, (B, n, 64), backward) for backward in (False, True) for call in (theirs, ours)]
            cases[name, f"{B}, {n}, 64", kind] = calls
    return cases


def attention_rows() -> list[list[str]]:
    cases = attention_cases()
    # memory first: what a long run has left in this process, its children would use without asking for more
    memory = {case: (memory_ratio(*calls[:2]), memory_ratio(*calls[2:])) for case, calls in cases.items()}
    rows = []
    for case, calls in cases.items():
        time = [time_ratio(theirs(), ours()) for theirs, ours in (calls[:2], calls[2:])]
        ratios = [time[0], memory[case][0], time[1], memory[case][1]]
        rows.append([*case, *(f"{ratio:.1f}" for ratio in ratios)])
        print("  ".join(rows[-1]))
    return rows


STEP = """() => Array.from({ length: 40 }, (_, i) => {
    const slider = document.querySelector("input[type=range]:not([hidden] *)");
    slider.value = Number(slider.max) - (i % 2);
    const start = performance.now();
    slider.dispatchEvent(new Event("input"));
    return performance.now() - start;
})"""


def serve(route, **answer):
    route.fulfill(**answer)


def widget_rows() -> list[list[str]]:
    """Milliseconds of scripting for one step of each widget's first slider, in Chromium."""
    widgets = {
        "AttentionHeatmap, 9 words": AttentionHeatmap("the river bank by the water in the sun"),
        "ScaleLab, d = 512 and 1024": ScaleLab(width=1024),
    }
    with sync_playwright() as driver:
        program = next(filter(None, map(shutil.which, NAMES)), driver.chromium.executable_path)
        page = driver.chromium.launch(executable_path=program, args=FLAGS.split()).new_page()
        for name, path in page_files().items():
            page.route(f"**/{name}", partial(serve, path=path))
        rows = []
        for name, widget in widgets.items():
            page.route("http://book/", partial(serve, body=bare(widget), content_type="text/html"))
            page.goto("http://book/")
            page.wait_for_selector("[data-mounted]")
            rows.append([name, f"{statistics.median(page.evaluate(STEP)):.1f} ms"])
            print("  ".join(rows[-1]))
    return rows


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))


def report() -> str:
    """RESULTS.md."""
    cpu = next((x.split(": ")[1] for x in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in x), "CPU")
    return f"""# Results

Measured on {date.today():%Y-%m-%d}: {cpu}, one thread, torch {torch.__version__}, Python {platform.python_version()},
float32. Processor time, medians of interleaved pairs; memory as the rise of the process's peak. Ratios, because
machines differ.

## Scaled dot-product attention: peer ÷ `DotProductAttention`

Above 1: ours is faster, or needs less memory.

{table(["peer", "B, n, K", "mask", "time", "memory", "time, with backward", "memory, with backward"], attention_rows())}

## Widgets: one redraw

{table(["widget", "scripting, median"], widget_rows())}
"""


if __name__ == "__main__":
    if sys.platform != "linux":
        sys.exit("The benchmarks read /proc and fork: they need Linux.")
    Path(__file__).with_name("RESULTS.md").write_text(report(), "utf-8")
