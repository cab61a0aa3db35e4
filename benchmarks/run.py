"""Ours against its peers, as ratios, and what a widget takes to redraw: RESULTS.md (and the same for
chapters to show), or the topics you name.

python -m benchmarks.run [TOPIC ...]
"""

import json
import platform
import sys
from datetime import date
from pathlib import Path

import torch

from attnbook.data import FOLDER
from benchmarks import additive, decoding, dot_product, gpu, growth, length, multi_head, proofs, widgets
from benchmarks.tables import tables

# the GPU after all that forks: a child can't use one that its parent has used; the browser last for the same reason
TOPICS = {
    "dot-product": dot_product,
    "multi-head": multi_head,
    "length": length,
    "additive": additive,
    "decoding": decoding,
    "growth": growth,
    "gpu": gpu,
    "widgets": widgets,
    "tests": proofs,
}


def report(topics: list[str]) -> str:
    cpu = next((x.split(": ")[1] for x in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in x), "CPU")
    head = f"""# Results

Measured on {date.today():%Y-%m-%d}: {cpu}, one thread, torch {torch.__version__}, Python {platform.python_version()},
float32. Processor time, medians of interleaved pairs; memory as the rise of the process's peak. Ratios, because
machines differ.
"""
    return "\n".join([head, *(TOPICS[topic].section() for topic in topics)])


def main(asked: list[str]) -> None:
    if sys.platform != "linux":
        sys.exit("The benchmarks read /proc and fork: they need Linux.")
    if unknown := set(asked) - TOPICS.keys():
        sys.exit(f"No topic {', '.join(sorted(unknown))}; there are {', '.join(TOPICS)}.")
    torch.set_num_threads(1)
    results = report([topic for topic in TOPICS if topic in asked or not asked])
    if asked:
        print(results)
    else:
        Path(__file__).with_name("RESULTS.md").write_text(results, "utf-8")
        (FOLDER / "benchmarks.json").write_text(json.dumps(tables(results), indent=1, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
