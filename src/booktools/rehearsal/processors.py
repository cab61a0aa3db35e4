"""The same on every processor: each notebook, run as other processors would, prints what is stored.

Switches of PyTorch's libraries stand in for processors that are less than this one; as this one, `make test` runs them.
What no switch can stand in for, a machine that nobody tried, is a change in the last bit of one weight wherever
something is trained.
"""

import ast
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

from booktools.book import BookError
from booktools.book.contents import read_notebook
from booktools.progress import progress, say
from booktools.rehearsal.compare import settle_outputs, tolerance
from booktools.rehearsal.run import EVERYWHERE, KERNEL, keep, merge_streams

START = "from booktools.rehearsal import last_bit as _; _.install(); del _"
# What only the notebook's own process knows.
QUESTION = "from booktools.rehearsal import last_bit as _; print(sorted(_.TRAINED))"


@dataclass(frozen=True)
class Processor:
    name: str
    switches: dict[str, str] = field(default_factory=dict)
    last_bit: bool = False
    machine: str = ""  # what PyTorch says of the machines that can stand in for it; nothing, if all can


PROCESSORS = [
    Processor(
        "without vectors",
        {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41"},
    ),
    Processor(
        "AVX2",
        {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
        machine="AVX512",
    ),
    Processor("another last bit", last_bit=True),
]


def usual() -> list[Processor]:
    """All of them. Where AVX2 can be played, the last bit is changed along with it, so that a notebook runs once less:
    a digit that either changes is seen there, unless the other should change it back."""
    without_vectors, avx2, last_bit = PROCESSORS
    if avx2.machine != torch.backends.cpu.get_cpu_capability():
        return PROCESSORS
    return [without_vectors, replace(avx2, name=f"{avx2.name} and {last_bit.name}", last_bit=True)]


@dataclass(frozen=True)
class Run:
    """What one notebook printed otherwise on one processor, and in which of its cells something is trained."""

    path: Path
    processor: Processor
    differences: list[str]
    trained: list[str]

    def __str__(self) -> str:
        trained = f"; cells that train: {', '.join(self.trained)}" if self.trained else ""
        head = f"{self.path}, {self.processor.name}: {len(self.differences) or 'no'} differences{trained}"
        return "\n".join([head, *self.differences])


def run_everywhere(paths: Iterable[Path], processors: Iterable[Processor], jobs: int) -> None:
    """Run notebooks on processors and say what differs as soon as it is known; an error, if something does."""
    machine, pairs = torch.backends.cpu.get_cpu_capability(), []
    for processor in processors:
        if processor.machine in ("", machine):
            pairs += [(path, processor) for path in paths]
        else:
            told = f"left out: a machine with {processor.machine} can stand in for it, and this one has {machine}"
            print(f"{processor.name}: {told}", flush=True)
    with ThreadPoolExecutor(jobs) as pool:
        runs = []
        for run in progress(pool.map(lambda pair: run_on(*pair), pairs), "running notebooks", of=len(pairs)):
            say(run)
            runs.append(run)
    if red := {str(run.path) for run in runs if run.differences}:
        raise BookError(
            f"{', '.join(sorted(red))}: not the same on every processor (above). Print a trained number with ≈ and "
            "fewer digits, or say in the cell's metadata how far it may be off: attnbook.within."
        )


def run_on(path: Path, processor: Processor) -> Run:
    stored = read_notebook(path)
    fresh = deepcopy(stored)
    client = NotebookClient(
        fresh,
        kernel_name=KERNEL["name"],
        timeout=600,
        allow_errors=True,
        store_widget_state=False,
        extra_arguments=["--IPKernelApp.log_level=40"]
        + ([f"--IPKernelApp.exec_lines={START}"] if processor.last_bit else []),
        resources={"metadata": {"path": str(path.parent)}},
    )
    if processor.last_bit:
        fresh.cells.append(new_code_cell(QUESTION))
    with client.setup_kernel(env=os.environ | EVERYWHERE | processor.switches):
        for place, cell in enumerate(fresh.cells):
            client.execute_cell(cell, place)
    counts = ast.literal_eval(fresh.cells.pop().outputs[0].text) if processor.last_bit else []
    trained = [cell.id for cell in fresh.cells if cell.get("execution_count") in counts]
    return Run(path, processor, list(_differences(stored, fresh)), trained)


def _differences(stored, fresh) -> Iterator[str]:
    """The cells that printed something else, each with both outputs."""
    for then, now in zip(stored.cells, fresh.cells, strict=True):
        if then.cell_type != "code" or (_is_ignored(then) and not _failed(now)):
            continue
        outputs = settle_outputs(then.outputs, [o for o in merge_streams(now.outputs) if keep(o)], tolerance(then))
        before, after = _said(then.outputs), _said(outputs)
        if before != after:
            yield f"  cell {then.id}, stored:\n{_indented(before)}\n  printed:\n{_indented(after)}"


def _is_ignored(cell) -> bool:
    return bool({"nbval-ignore-output", "nbval-skip"} & set(cell.metadata.get("tags", [])))


def _failed(cell) -> bool:
    return any(output.output_type == "error" for output in cell.outputs)


def _said(outputs: list) -> str:
    """What outputs say in words; a picture says nothing."""
    return "\n".join(text for output in outputs for text in _texts(output))


def _texts(output) -> Iterator[str]:
    if output.output_type == "error":
        yield f"{output.ename}: {output.evalue}"
    elif "text" in output:
        yield output.text
    else:
        yield from (text for kind, text in sorted(output.data.items()) if not kind.startswith("image/"))


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.strip().splitlines())
