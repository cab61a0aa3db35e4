"""Ours against its peers, as ratios, and what a widget takes to redraw: RESULTS.md (and the same for chapters to show).

python -m benchmarks.run [TOPIC ...]    all of it, or the topics you name: the others stay as they were measured
"""

import json
import platform
import re
import sys
from datetime import date
from importlib import import_module
from pathlib import Path

import torch

from attnbook.data import FOLDER
from benchmarks.tables import tables

RESULTS = Path(__file__).with_name("RESULTS.md")
# the GPU after all that forks: a child can't use one that its parent has used; the browser last for the same reason
TOPICS = {
    "dot-product": "dot_product",
    "multi-head": "multi_head",
    "length": "length",
    "additive": "additive",
    "decoding": "decoding",
    "growth": "growth",
    "gpu": "gpu",
    "widgets": "widgets",
    "tests": "proofs",
}


def head() -> str:
    cpu = next((x.split(": ")[1] for x in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in x), "CPU")
    return f"""# Results

Measured on {date.today():%Y-%m-%d}: {cpu}, one thread, torch {torch.__version__}, Python {platform.python_version()},
float32. Processor time, medians of interleaved pairs; memory as the rise of the process's peak. Ratios, because
machines differ.
"""


def section(topic: str) -> str:
    """What the topic measures now, if it can. Its module is read only then: some need a browser, some a GPU."""
    return import_module(f"benchmarks.{TOPICS[topic]}").section()


def with_section(results: str, new: str) -> str:
    r"""The results with a section instead of the one of this title, or at their end. What follows a colon may differ.

    >>> with_section("# Results\n\n## GPU: A\n\n1\n\n## Tests\n\n2\n", "## GPU: B\n\n3\n")
    '# Results\n\n## GPU: B\n\n3\n\n## Tests\n\n2\n'
    """
    sections = {_title(section): section.strip() for section in re.split(r"^(?=## )", results, flags=re.M)}
    return "\n\n".join((sections | {_title(new): new.strip()}).values()) + "\n"


def _title(section: str) -> str:
    return section.partition("\n")[0].partition(":")[0]


def a_row_a_line(tables: dict[str, list[list[str]]]) -> str:
    """Tables as JSON in which a change of a row is a change of a line."""
    parts = []
    for title, rows in tables.items():
        lines = ",\n    ".join(json.dumps(row, ensure_ascii=False) for row in rows)
        parts.append(f"{json.dumps(title, ensure_ascii=False)}: [\n    {lines}\n  ]")
    return "{\n  " + ",\n  ".join(parts) + "\n}\n"


def main(asked: list[str]) -> None:
    if sys.platform != "linux":
        sys.exit("The benchmarks read /proc and fork: they need Linux.")
    if unknown := set(asked) - TOPICS.keys():
        sys.exit(f"No topic {', '.join(sorted(unknown))}; there are {', '.join(TOPICS)}.")
    torch.set_num_threads(1)
    results = RESULTS.read_text("utf-8")
    for new in map(section, asked) if asked else (head(), *map(section, TOPICS)):
        if new:
            print(new)
            results = with_section(results, new)
    RESULTS.write_text(results, "utf-8")
    (FOLDER / "benchmarks.json").write_text(a_row_a_line(tables(results)), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
