"""A test that hangs ends its process, is tried once more in another one, and fails if it hangs again."""

import os
import subprocess
import sys

import pytest

from tests import ROOT

pytestmark = pytest.mark.slow
HANGS = """import time
from pathlib import Path

def test_before():
    pass

def test_hangs():
    with Path("times").open("a+") as times:
        times.write("I")
        times.seek(0)
        hangs = len(times.read()) <= {times}
    while hangs:
        time.sleep(1)

def test_after():
    pass
"""


@pytest.mark.parametrize(
    ("times", "code", "said"),
    [(1, 0, "4 passed, 1 died and tried again"), (9, 1, "1 failed, 3 passed, 1 died and tried again")],
)
def test_what_hangs_is_tried_once_more(times, code, said, tmp_path):
    """And what its process had done before is not handed out again."""
    (tmp_path / "test_done.py").write_text("def test_before():\n    pass\n")
    (tmp_path / "test_hangs.py").write_text(HANGS.format(times=times))
    options = ["-n", "1", "--dist", "loadfile", "-o", "faulthandler_timeout=2", "-o", "faulthandler_exit_on_timeout=1"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.second_try", *options],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == code, run.stdout + run.stderr
    assert said in run.stdout
    assert "The process of test_hangs.py::test_hangs died, and another one tried it again." in run.stdout
    assert "line 13 in test_hangs" in run.stderr + run.stdout, "where it hung"
