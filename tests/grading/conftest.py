"""The sandboxes that all tests of grading share: loading PyTorch in one takes seconds."""

import re
from contextlib import contextmanager
from time import process_time
from types import SimpleNamespace

import pytest

from grading.run_tests import Attempts
from grading.sandbox import fork_server
from grading.sandbox.client import Sandbox
from grading.sandbox.fork_server import ForkServer
from grading.sandbox.stopwatch import Spent


@pytest.fixture(scope="session")
def server():
    with ForkServer() as server:
        yield server


@pytest.fixture(scope="session")
def open_field():
    """A server without walls, started where there is no bubblewrap."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        server = ForkServer(walled=False)
    with server:
        yield server


@pytest.fixture
def own_time(monkeypatch):
    """The grader counts its own work, and the time that cells say they take, as in `x = 1  # 3 seconds`."""
    run, time = Sandbox.run, SimpleNamespace(now=0.0)

    def taking_its_time(sandbox, cell):
        time.now += sum(map(float, re.findall(r"# ([\d.]+) seconds", cell["source"])))
        return run(sandbox, cell)

    monkeypatch.setattr(Sandbox, "run", taking_its_time)
    monkeypatch.setattr(Attempts, "taken", lambda attempts: Spent(time.now + process_time()))


@pytest.fixture
def running(monkeypatch, server, request):
    """The command line takes the servers that are running."""

    @contextmanager
    def running_server(walled=True):
        yield server if walled else request.getfixturevalue("open_field")

    monkeypatch.setattr(fork_server, "ForkServer", running_server)
