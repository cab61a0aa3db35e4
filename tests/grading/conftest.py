"""The sandboxes that all tests of grading share: loading PyTorch in one takes seconds."""

from contextlib import contextmanager

import pytest

from booktools.grading import fork_server
from booktools.grading.fork_server import ForkServer


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
def running(monkeypatch, server, request):
    """The command line takes the servers that are running."""

    @contextmanager
    def running_server(walled=True):
        yield server if walled else request.getfixturevalue("open_field")

    monkeypatch.setattr(fork_server, "ForkServer", running_server)
