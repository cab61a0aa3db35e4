"""Run chapters and store what they print, cleanly: a second run changes no byte."""

import os
import time
from itertools import groupby
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from booktools.book import BookError
from booktools.book.contents import read_notebook

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
WRITTEN = ("tags", "mystnb", "nbgrader", "attnbook")  # metadata of cells by an author's hand
# Outputs that do not hang on the machine: one thread, no accelerator, no progress bar.
EVERYWHERE = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "TQDM_DISABLE": "1"}


def run(path: Path) -> bool:
    """Run one notebook in its own folder and store its outputs; whether the file changed."""
    before = path.read_text(encoding="utf-8")
    notebook = read_notebook(path)
    execute(notebook, path)
    after = nbformat.writes(clean(notebook)) + "\n"
    if after != before:
        path.write_text(after, encoding="utf-8")
    return after != before


def run_all(paths: list[Path]) -> None:
    for path in paths:
        start = time.perf_counter()
        changed = run(path)
        print(f"{path}: {time.perf_counter() - start:.1f} s, {'stored' if changed else 'unchanged'}", flush=True)


def execute(notebook, path: Path) -> None:
    started = []
    client = NotebookClient(
        notebook,
        kernel_name=KERNEL["name"],
        timeout=300,
        store_widget_state=False,
        extra_arguments=["--IPKernelApp.log_level=40"],
        resources={"metadata": {"path": str(path.parent)}},
        on_cell_start=lambda cell, cell_index: started.append(cell.id),
    )
    try:
        client.execute(env=os.environ | EVERYWHERE)
    except CellExecutionError as error:
        raise BookError(f"{path}, cell {started[-1]}: {error.ename}: {error.evalue}") from None
    except (CellTimeoutError, DeadKernelError) as error:
        raise BookError(f"{path}, cell {started[-1]}: {error}") from None


def clean(notebook):
    """Only what a reader sees or an author wrote: no timings, no widget views, no traces of this machine."""
    written = {name: value for name, value in notebook.metadata.items() if name in ("description", "attnbook")}
    notebook.metadata = nbformat.from_dict(written | {"kernelspec": KERNEL, "language_info": {"name": "python"}})
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({name: value for name, value in cell.metadata.items() if name in WRITTEN})
        if cell.cell_type == "code":
            cell.outputs = [output for output in merge_streams(cell.outputs) if keep(output)]
    return notebook


def keep(output) -> bool:
    """Take the widget view, which needs a kernel, out of an output; whether something is left."""
    if "data" not in output:
        return True
    output.data.pop(WIDGET_VIEW, None)
    output.metadata.pop(WIDGET_VIEW, None)
    return bool(output.data)


def merge_streams(outputs: list) -> list:
    """Adjacent pieces of one stream become one: where the kernel cuts them is chance."""
    merged = []
    for name, group in groupby(outputs, key=lambda output: output.get("name")):
        group = list(group)
        if name is not None:
            group[0].text = "".join(output.text for output in group)
            group = group[:1]
        merged += group
    return merged
