"""Programs that serve notebooks on this machine, for a browser of the tests."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest


@contextmanager
def served(command: list, log: Path, seconds: int = 600, **options) -> Iterator[str]:
    """The address at which a Jupyter server answers, which is open to this machine; it ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}/"
    command = [*command, "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"]
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out, **options) as server:
        try:
            for _ in range(10 * seconds):
                if server.poll() is not None:
                    pytest.fail(f"the server stopped:\n{log.read_text()}")
                try:
                    urlopen(f"{address}api")
                    break
                except OSError:
                    time.sleep(0.1)
            else:
                pytest.fail(f"the server did not answer in {seconds} s")
            yield address
        finally:
            server.terminate()
