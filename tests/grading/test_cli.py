"""The `attnbook` command: what it says, and how it ends."""

import re
import subprocess
import sys

import pytest
import yaml

from booktools import cli
from tests import ROOT

COMMANDS = ["run", "colab", "address", "book", "rehearse"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main([command, "--help"])
    assert end.value.code == 0
    assert f"attnbook {command}" in capsys.readouterr().out


def test_top_help_names_every_command(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    said = capsys.readouterr().out
    assert all(f"\n    {command} " in said for command in COMMANDS)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ([], "required: command"),
        (["walk"], "invalid choice: 'walk'"),
        (["run"], "NOTEBOOK"),
        (["run", "missing.ipynb"], "missing.ipynb is not a notebook"),
        (["run", "cli.py"], "cli.py is not a notebook"),
    ],
)
def test_wrong_command_line_ends_with_2(line, said, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(line)
    assert end.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["address"], "_config.yml does not exist. Run this in the book's folder"),
    ],
)
def test_wrong_book_ends_with_1_and_a_sentence(line, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(line) == 1
    assert capsys.readouterr().err.startswith(f"attnbook: {said}")


def test_the_workflows_of_the_instructors_page_call_commands_that_there_are(tmp_path, monkeypatch):
    page = (ROOT / "instructors.md").read_text()
    students, class_ = (yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    assert "attnbook" not in str(students), "the grader and its hidden tests are not for students' workflows"
    source = class_["env"]["SOURCE"]
    assert (ROOT / source).is_file()
    for place in (source, "../roster.csv", "../private/x", "../task-06-submissions/x"):
        (tmp_path / "book" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "book" / place).touch()
    monkeypatch.chdir(tmp_path / "book")
    told = str(class_).replace("$SOURCE", source).replace("$OPTIONS", class_["env"]["OPTIONS"])
    lines = re.findall(r"attnbook (grade [^']+)", told.replace("${{ matrix.part }}", "2"))
    (part, whole) = (cli.parser().parse_args(line.split()) for line in lines)
    assert (part.shard, whole.shard) == ((2, 8), None)
    assert part.to == whole.to
    assert len(class_["jobs"]["part"]["strategy"]["matrix"]["part"]) == 8


def test_help_is_light():
    """A command's own imports wait until it is called, and the package needs none of them."""
    heavy = ["torch", "nbformat", "nbclient", "yaml", "pybtex", "myst_parser", "matplotlib"]
    script = f"import sys, booktools.cli as cli; cli.parser(); print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
