"""The same on every processor: each notebook, run as other processors would, prints what is stored.

Switches of PyTorch's libraries stand in for processors that are less than this one; as this one, `make test` runs them.
What no switch can stand in for, a machine that nobody tried, is a change in the last bit of one weight wherever
something is trained.
"""

import ast
import os
from collections.abc import Iterable
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
from booktools.rehearsal.printed import differences
from booktools.rehearsal.run import EVERYWHERE, KERNEL

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


def usual() -> Processor:
    """Returns a processor that stands for all: without vectors, and with another last bit.

    A digit that hangs on either is seen on it, unless one should undo the other. `make test` runs each notebook as this
    machine; on AVX2 its asserts are held by `make rehearse`.
    """
    without_vectors, _, last_bit = PROCESSORS
    return replace(without_vectors, name=f"{without_vectors.name} and {last_bit.name}", last_bit=True)


def as_most_readers_have() -> dict[str, str]:
    """The switches of AVX2, where this machine has more; most processors have it, and no AVX-512."""
    avx2 = PROCESSORS[1]
    return avx2.switches if avx2.machine == torch.backends.cpu.get_cpu_capability() else {}


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
    return Run(path, processor, list(differences(stored.cells, fresh.cells)), trained)
