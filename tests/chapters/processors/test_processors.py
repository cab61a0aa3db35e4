"""A digit that only one processor prints is found before it is stored."""

import nbformat
import pytest
import torch
from nbformat.v4 import new_code_cell, new_notebook

from booktools import cli
from booktools.book import BookError
from booktools.rehearsal.processors import PROCESSORS, as_most_readers_have, run_everywhere, run_on, usual
from booktools.rehearsal.run import execute

BY_NAME = {processor.name: processor for processor in PROCESSORS}
BEGIN = "import torch\nfrom attnbook import fit\n\nx = torch.ones(33, 1)"
# Each step takes the same from every weight, so that a last bit that was changed is still changed at the end.
TRAIN = """model = torch.nn.Linear(1, 8, bias=False)
torch.nn.init.ones_(model.weight)
fit(model, lambda model, x: model(x).mean(), lambda generator: x, 50)
weight = model.weight[0].item()"""
CELLS = {
    "begin": BEGIN,
    "train": TRAIN,
    "rounded": "print(f'≈ {weight:.2f}')",
    "digits": "print(f'{weight:.9f}')",
    "switch": "import os\nos.environ.get('ATEN_CPU_CAPABILITY')",
    "cpu": "torch.backends.cpu.get_cpu_capability()",
}


@pytest.fixture
def notebook(tmp_path):
    """Cells by their names, or with a source of their own, run here and stored."""

    def stored(*names, **sources):
        cells = [new_code_cell(source, id=name) for name, source in ({n: CELLS[n] for n in names} | sources).items()]
        made, path = new_notebook(cells=cells), tmp_path / "made.ipynb"
        execute(made, path)
        nbformat.write(made, path)
        return path

    return stored


def test_a_trained_digit_falls_to_the_last_bit_and_a_rounded_one_does_not(notebook):
    run = run_on(notebook("begin", "train", "rounded", "digits"), BY_NAME["another last bit"])
    assert [difference.split(",")[0] for difference in run.differences] == ["  cell digits"]
    assert run.trained == ["train"]


def test_asserts_hold_under_the_same(notebook, capsys):
    digits = nbformat.read(notebook("begin", "train", "digits"), as_version=4).cells[-1].outputs[0].text.strip()
    path = notebook("begin", "train", asserts=f"assert f'{{weight:.9f}}' == '{digits}'")
    with pytest.raises(BookError, match="not the same on every processor"):
        run_everywhere([path], [BY_NAME["another last bit"]], jobs=1)
    said = capsys.readouterr().out
    assert "cells that train: train" in said
    assert "cell asserts, stored:\n\n  printed:\n    AssertionError" in said


@pytest.mark.parametrize("name", ["without vectors", "AVX2"])
def test_a_processor_is_another_one(notebook, name):
    if BY_NAME[name].machine not in ("", machine := torch.backends.cpu.get_cpu_capability()):
        pytest.skip(f"no {name} here: this machine has {machine}")
    run = run_on(notebook("begin", "switch"), BY_NAME[name])
    assert BY_NAME[name].switches["ATEN_CPU_CAPABILITY"] in run.differences[0]


def test_one_of_them_has_no_vector_instructions(notebook):
    run = run_on(notebook("begin", "cpu"), BY_NAME["without vectors"])
    assert "printed:\n    'DEFAULT'" in run.differences[0]


def test_an_assert_holds_where_outputs_are_not_compared(notebook):
    path = notebook(switch="import os\nassert 'ATEN_CPU_CAPABILITY' not in os.environ")
    made = nbformat.read(path, as_version=4)
    made.cells[0].metadata.tags = ["nbval-ignore-output"]
    nbformat.write(made, path)
    assert "AssertionError" in run_on(path, BY_NAME["without vectors"]).differences[0]


def test_only_a_machine_that_has_more_stands_in_for_another(monkeypatch, capsys):
    said = {}
    for machine in ("DEFAULT", "AVX2", "AVX512"):
        monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda machine=machine: machine)
        run_everywhere([], PROCESSORS, jobs=1)
        said[machine] = capsys.readouterr().out
    left_out = "AVX2: left out: a machine with AVX512 can stand in for it, and this one has {}\n"
    assert said == {"DEFAULT": left_out.format("DEFAULT"), "AVX2": left_out.format("AVX2"), "AVX512": ""}


def test_one_run_finds_what_hangs_on_the_last_bit_and_what_hangs_on_the_vectors(notebook):
    run = run_on(notebook("begin", "train", "rounded", "digits", "cpu"), usual())
    assert [difference.split(",")[0] for difference in run.differences] == ["  cell digits", "  cell cpu"]


@pytest.mark.parametrize(("machine", "capability"), [("AVX512", "avx2"), ("AVX2", None), ("DEFAULT", None)])
def test_a_machine_that_has_more_is_as_most_readers_have(monkeypatch, machine, capability):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: machine)
    assert as_most_readers_have().get("ATEN_CPU_CAPABILITY") == capability


def test_a_processor_that_is_not_known_is_an_error(notebook, capsys):
    path = str(notebook(nothing="1"))
    assert cli.main(["processors", path, "--only", "avx3"]) == 1
    assert "avx3 is no processor; expected one of without vectors, AVX2" in capsys.readouterr().err
