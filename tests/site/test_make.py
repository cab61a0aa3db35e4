"""What a newcomer meets first: the targets of make, what they install, and README."""

import re
import shutil
import subprocess

import pytest
import yaml

from booktools.book.address import NOBODY, address
from booktools.book.parity import differences, raw_stars
from booktools.printers.book_files import any_missing
from tests import ROOT


def commands_of(*targets: str) -> set[str]:
    """What make would run."""
    done = subprocess.run(["make", "-n", *targets], cwd=ROOT, capture_output=True, text=True, check=True)
    return {line.strip() for line in done.stdout.splitlines() if ".venv/" in line}


def test_all_say_by_one_target_what_ci_runs():
    """In parallel on GitHub, one after the other in `.ci/run`, each test once, the quick ones without a site."""
    job = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["make"]
    parts = job["strategy"]["matrix"]["target"]
    assert commands_of("ci") == commands_of(*parts)
    assert re.search(r"^make ci FRESH=1$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    told = f"`make ci` | what CI runs: {', '.join(parts[:-1])} and {parts[-1]}"
    assert told in (ROOT / "CONTRIBUTING.md").read_text()
    quick = [line for line in commands_of("check") if "pytest" in line]
    assert [line.split("pytest ")[1].partition("-m ")[2] for line in quick] == ['"not slow" src tests']
    assert parts[0] == "check"


def test_jupyterlab_starts_for_root_and_where_one_wants_it():
    (started,) = (line for line in commands_of("lab", "PORT=9000", "LAB=--no-browser") if "jupyter lab" in line)
    assert started.endswith("jupyter lab lab --allow-root --port 9000 --no-browser")


INSTALL = "pip install --python .venv/bin/python"
PACKAGES = f"{INSTALL} -r requirements.txt --overrides overrides.txt"
OURS = f"{INSTALL} --quiet --no-deps --no-build-isolation -e . -e src/booktools -e src/grading"
# It writes down how it is called, and can't reach PyTorch's index where PyTorch is said to be out of reach.
UV = """#!/bin/sh
echo "$*" >> asked
case "$*" in *torch-backend*) [ -z "$UNREACHABLE" ];; esac
"""


@pytest.mark.parametrize(
    ("machine", "asked"),
    [
        ({}, [f"{PACKAGES} --torch-backend cpu"]),
        ({"UNREACHABLE": "1"}, [f"{PACKAGES} --torch-backend cpu", PACKAGES]),
        ({"UV_TORCH_BACKEND": "cu130"}, [PACKAGES]),
        ({"PIP_FIND_LINKS": "/wheels /more"}, [PACKAGES]),
        ({"nvidia-smi": "1"}, [PACKAGES]),
    ],
    ids=lambda x: "-".join(x) if isinstance(x, dict) else "",
)
def test_without_a_card_pytorch_is_the_build_for_processors(machine, asked, tmp_path):
    programs = {".venv/bin/uv": UV, "bin/uname": "#!/bin/sh\necho Linux\n"}
    programs |= {"bin/nvidia-smi": "#!/bin/sh\n"} if "nvidia-smi" in machine else {}
    for name, text in programs.items():
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)
    bash, path = shutil.which("bash"), {"PATH": str(tmp_path / "bin")}  # whatever card this machine has
    subprocess.run([bash, ROOT / ".ci/packages"], cwd=tmp_path, env=path | machine, check=True)
    assert (tmp_path / "asked").read_text().splitlines() == [*asked, OURS]


README, CHINESE = ((ROOT / name).read_text("utf-8") for name in ("README.md", "README.zh-CN.md"))
each_readme = pytest.mark.parametrize("readme", [README, CHINESE], ids=["en", "zh"])
GUIDE = ROOT / "CONTRIBUTING.md"


@each_readme
def test_readme_leads_to_what_is_there(readme):
    """While nobody has published the book, no link leads to a site."""
    links = re.findall(r"\]\(([^)\s]+)\)", readme)
    here = [link.partition("#")[0] for link in links if not link.startswith("https:")]
    assert not [name for name in here if not (ROOT / name).exists()]
    if not address(ROOT).is_published:
        assert NOBODY not in readme


def test_readme_says_the_same_in_chinese():
    """Numbers, commands and links; each leads to the other."""
    assert differences(README, CHINESE) == ["lacks link README.zh-CN.md", "has link README.md"]
    assert raw_stars(CHINESE) == []


def test_the_guide_leads_to_a_page_for_each_task():
    links = re.findall(r"\]\(([^)\s]+)\)", GUIDE.read_text("utf-8"))
    pages = [GUIDE, *(ROOT / link for link in links if link.endswith("README.md"))]
    assert len(pages) >= 8
    for page in pages:
        targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8"))
        assert not [target for target in targets if not (page.parent / target).exists()], page


@each_readme
def test_readme_shows_commands_that_every_shell_reads(readme):
    """No comment after a command, since cmd.exe has none; no variable before one; only targets that make has."""
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    commands = [line for block in re.findall(r"```sh\n(.*?)```", readme, re.S) for line in block.splitlines()]
    assert len(commands) >= 4
    assert not [line for line in commands if "#" in line or re.match(r"\w+=", line)]
    assert set(re.findall(r"(?m)(?:^|`)make (\w+)", readme)) <= set(targets)


def test_a_site_without_its_files_is_known(tmp_path):
    assert any_missing(tmp_path)
    for name in ("{}.pdf", "{}-screen.pdf", "{}.epub", "{}.zip", "{}-model.zip"):
        (tmp_path / name.format("attention-you-can-touch")).touch()
    assert not any_missing(tmp_path)
