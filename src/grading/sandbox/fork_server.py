"""Opens sandboxes: a process behind bubblewrap's walls has PyTorch loaded and forks one for each submission."""

import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
from inspect import getfile
from pathlib import Path
from typing import Any

import torch

import attnbook
from attnbook.language import language
from booktools.book import BookError
from booktools.book.limits import Limits
from grading.sandbox.client import NO_START, STARTS_WITHIN, Sandbox
from grading.sandbox.confinement import GRADER, HOME
from grading.sandbox.warm_up import warm_up
from grading.wording import say

NO_BUBBLEWRAP = """bubblewrap (the program `bwrap`) is not to be found, and students' code is not run without its walls.
On Debian and Ubuntu: sudo apt-get install bubblewrap. On macOS and Windows: grade in a Linux virtual machine.
On a machine that holds nothing you would miss, --unsafe grades without walls."""

ENVIRONMENT = {
    "PATH": "/usr/bin",
    "HOME": HOME,
    "TMPDIR": HOME,
    "LANG": "C.UTF-8",
    "MPLBACKEND": "agg",
    "OMP_NUM_THREADS": "1",
    "TQDM_DISABLE": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "TORCHDYNAMO_DISABLE": "1",
}


class ForkServer:
    """A sandbox where PyTorch is loaded, from which the process of each submission is forked in milliseconds."""

    def __init__(self, walled: bool = True):
        if walled and shutil.which("bwrap") is None:
            raise BookError(NO_BUBBLEWRAP)
        self.walled = walled
        self.control, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        inside.settimeout(None)  # whatever this process has set for all of its sockets: the other one waits
        self.process: Any = subprocess.Popen(
            (_behind_bubblewrap if walled else worker)(inside.fileno()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[inside.fileno()],
        )
        inside.close()
        warm_up()  # here, too, while the sandbox does
        if not self.is_ready():
            self.process.kill()  # or what it says would not come to an end
            said = self.process.stderr.read().decode(errors="replace").strip()  # pyrefly: ignore[missing-attribute]
            self.close()
            raise BookError(NO_START.format(said=said or say("silent", seconds=STARTS_WITHIN)))

    def is_ready(self) -> bool:
        """Waits until PyTorch is loaded behind the walls; whether it is."""
        self.control.settimeout(STARTS_WITHIN)
        try:
            return self.control.recv(10) == b"ready"
        except TimeoutError:
            return False
        finally:
            self.control.settimeout(None)

    def open(self, limits: Limits) -> Sandbox:
        """A sandbox for one submission."""
        (pipe, inside), (lifeline, its_end) = socket.socketpair(), socket.socketpair()
        pipe.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)  # which process sends is said with what it sends
        message = json.dumps({"megabytes": limits.megabytes, "walled": self.walled}).encode()
        with inside, its_end:
            try:
                socket.send_fds(self.control, [message], [inside.fileno(), its_end.fileno()])
            except OSError as error:
                raise BookError(f"the sandbox is gone ({error}). Start again: what was graded is kept.") from None
        return Sandbox(pipe, lifeline, limits)

    def close(self) -> None:
        self.control.close()
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _behind_bubblewrap(control: int) -> list[str]:
    """The command that runs the worker: no network, no other process, and of the disk what Python needs, to be read."""
    places = {"/usr", "/etc/ld.so.cache", sys.base_prefix, sys.prefix, sysconfig.get_path("stdlib")}
    places |= {*(str(package.parent) for package in GRADER)}
    places |= {*(str(Path(getfile(module)).parents[1]) for module in (torch, attnbook))}
    links = [name for name in ("bin", "lib", "lib32", "lib64") if os.path.islink(f"/{name}")]
    environment = ENVIRONMENT | {"ATTNBOOK_LANGUAGE": language()}
    options = [
        ("--unshare-all", "--die-with-parent", "--new-session", "--clearenv"),
        *(("--setenv", name, value) for name, value in environment.items()),
        *(("--ro-bind", place, place) for place in sorted(places) if os.path.exists(place)),
        *(("--symlink", f"usr/{name}", f"/{name}") for name in links),
        ("--proc", "/proc", "--dev", "/dev", "--tmpfs", HOME),
        ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"),
    ]
    return ["bwrap", *itertools.chain(*options), *worker(control)]


def worker(control: int) -> list[str]:
    """The command that loads PyTorch and forks a process for each submission that `control` announces."""
    return [sys.executable, "-I", "-B", "-m", "grading.sandbox.worker", str(control)]
