"""The grader's side of a sandbox: starting one, and stand-ins that tests use as if they were a student's functions."""

import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

import attnbook
from booktools.core import BookError
from booktools.grading.values import BadMessage, pack, receive, send, unpack
from booktools.grading.walls import HOME

NO_BUBBLEWRAP = """bubblewrap (the program `bwrap`) is not to be found, and students' code is not run without its walls.
On Debian and Ubuntu: sudo apt-get install bubblewrap. On macOS and Windows: grade in a Linux virtual machine.
On a machine that holds nothing you would miss, --unsafe grades without walls."""
NO_NAMESPACES = """Where it says "Operation not permitted": Ubuntu 24.04 lets a program make namespaces only after
`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`; a container needs `--security-opt seccomp=unconfined`
or `--privileged`."""
NO_START = f"""the sandbox does not start, so nothing was graded. It said:
{{said}}
{NO_NAMESPACES}"""

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


@dataclass(frozen=True)
class Limits:
    """What a submission may use: seconds for a cell, for a call and in all, and megabytes."""

    cell: float = 20
    call: float = 10
    total: float = 120
    megabytes: int = 2048


class StudentError(Exception):
    """What went wrong in a student's code, in words that a student understands."""


def command(control: int) -> list[str]:
    """Bubblewrap round a nursery: no network, no other process, and of the disk what Python needs, to be read."""
    places = {"/usr", "/etc/ld.so.cache", sys.base_prefix, sys.prefix, sysconfig.get_path("stdlib")}
    places |= {str(Path(module.__file__).parents[1]) for module in (torch, attnbook)}
    links = [name for name in ("bin", "lib", "lib32", "lib64") if os.path.islink(f"/{name}")]
    options = [
        ("--unshare-all", "--die-with-parent", "--new-session", "--clearenv"),
        *(("--setenv", name, value) for name, value in ENVIRONMENT.items()),
        *(("--ro-bind", place, place) for place in sorted(places) if os.path.exists(place)),
        *(("--symlink", f"usr/{name}", f"/{name}") for name in links),
        ("--proc", "/proc", "--dev", "/dev", "--tmpfs", HOME),
        ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"),
    ]
    return ["bwrap", *itertools.chain(*options), *worker(control)]


def worker(control: int) -> list[str]:
    return [sys.executable, "-I", "-B", "-m", "booktools.grading.worker", str(control)]


class Nursery:
    """A sandbox where PyTorch is loaded, from which the process of each submission is forked in milliseconds."""

    def __init__(self, walled: bool = True):
        if walled and shutil.which("bwrap") is None:
            raise BookError(NO_BUBBLEWRAP)
        self.walled = walled
        self.control, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen(
            (command if walled else worker)(inside.fileno()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[inside.fileno()],
        )
        inside.close()
        if self.control.recv(10) != b"ready":
            said = self.process.stderr.read().decode(errors="replace").strip()
            self.close()
            raise BookError(NO_START.format(said=said))

    def open(self, limits: Limits) -> "Sandbox":
        """A sandbox for one submission."""
        (pipe, inside), (lifeline, its_end) = socket.socketpair(), socket.socketpair()
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


class Sandbox:
    """One submission at work, behind walls. `used` gathers the forbidden calls it makes, by exercise."""

    def __init__(self, pipe: socket.socket, lifeline: socket.socket, limits: Limits):
        self.pipe, self.lifeline, self.limits, self.dead = pipe, lifeline, limits, None
        self.used: dict[str, set[str]] = {}
        try:
            header, *_ = receive(self.pipe, 30)
        except (EOFError, TimeoutError, OSError):
            header = {"error": "a submission's process did not start"}
        if "error" in header:
            self.close()
            raise BookError(NO_START.format(said=header["error"]))

    def request(self, seconds: float, exercise: str, header: dict, tensors: list[Tensor] = ()):
        """Ask for something and wait for the answer; whoever dies or is late is not asked again."""
        if self.dead:
            raise StudentError(self.dead)
        try:
            self.pipe.settimeout(seconds)
            send(self.pipe, header, tensors)
            answer, results, grads = receive(self.pipe, seconds)
            used = {name for name in header.get("forbidden", ()) if name in answer.get("used", ())}
            error, form, tape = answer.get("error"), answer.get("answer"), answer.get("tape")
        except StudentError as late:  # from at_most: who knows how much of the answer has been read
            raise self.give_up(str(late)) from None
        except TimeoutError:
            raise self.give_up(f"it took longer than {seconds:g} seconds") from None
        except (EOFError, OSError):
            raise self.give_up("it ended the Python process, or used more memory than there is") from None
        except (BadMessage, AttributeError, TypeError) as error:
            raise self.give_up(str(error) if isinstance(error, BadMessage) else "the answer can't be read") from None
        if used:
            self.used.setdefault(exercise, set()).update(used)
        if error is not None:
            raise StudentError(str(error))
        return form, results, grads, tape

    def give_up(self, reason: str) -> StudentError:
        self.dead = reason
        self.close()
        return StudentError(reason)

    def run(self, cell: dict) -> str | None:
        """Run a cell of the submission; what it raised."""
        seconds = self.limits.cell
        header = {"do": "run", "source": cell["source"], "forbidden": cell["forbidden"], "seconds": seconds}
        error, *_ = self.request(seconds + 2, cell["name"], header)
        return None if error is None else str(error)

    def close(self) -> None:
        self.lifeline.close()
        self.pipe.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Remote:
    """A stand-in for a student's function or object: calls and attributes happen in the sandbox."""

    def __init__(self, sandbox: Sandbox, exercise, root: str | int, path: tuple[str, ...] = (), kind: str = "function"):
        self._sandbox, self._exercise, self._root, self._path, self._kind = sandbox, exercise, root, path, kind

    def __repr__(self):
        return f"<a {self._kind} of the submission>"

    def __call__(self, *args, **kwargs):
        form, tensors = pack((args, kwargs), self._number)
        args, kwargs = form["tuple"]
        forbidden = list(self._exercise.forbidden)
        return self._ask({"do": "call", "args": args, "kwargs": kwargs, "forbidden": forbidden}, tensors)

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        there = Remote(self._sandbox, self._exercise, self._root, (*self._path, name))
        value = there._value()
        return there if isinstance(value, Remote) else value

    def __getitem__(self, _=None):
        raise StudentError(f"an object of type {self._kind} came back; expected a tensor, a number or a list of them")

    __iter__ = __len__ = __getitem__

    def _value(self):
        """What it is; a parameter comes with its gradient."""
        value, leaf, grad = self._ask({"do": "get"})
        if leaf:
            value.requires_grad_().grad = grad
        return value

    def _ask(self, header: dict, tensors: list[Tensor] = ()):
        sandbox, exercise = self._sandbox, self._exercise
        where = {"root": self._root, "path": list(self._path)}
        form, results, grads, tape = sandbox.request(sandbox.limits.call, exercise.id, header | where, tensors)
        if any(grads):
            asked = [tensor for tensor in tensors if tensor.requires_grad]
            flowing = [result for result, grad in zip(results, grads, strict=True) if grad]
            taped = iter(Tape.apply(self, tape, flowing, torch.zeros((), requires_grad=True), *asked))
            results = [next(taped) if grad else result for result, grad in zip(results, grads, strict=True)]
        try:
            return unpack(form, results, self._stand_in)
        except BadMessage as error:
            raise StudentError(str(error)) from None

    def _number(self, thing) -> dict:
        if isinstance(thing, Remote) and isinstance(thing._root, int) and not thing._path:
            return {"object": thing._root}
        raise TypeError(f"a test can't send {thing!r} to a student's function")

    def _stand_in(self, form: dict) -> "Remote":
        match form:
            case {"object": int(number), "type": str(kind)}:
                return Remote(self._sandbox, self._exercise, number, kind=kind[:50])
        raise BadMessage("the answer can't be read")


class Tape(torch.autograd.Function):
    """Lets gradients flow through the sandbox: backwards, the student's own graph is asked."""

    @staticmethod
    def forward(ctx, remote: Remote, tape: int, results: list[Tensor], _anchor: Tensor, *asked: Tensor):
        ctx.remote, ctx.tape, ctx.asked = remote, tape, asked
        return tuple(results)

    @staticmethod
    def backward(ctx, *grads: Tensor):
        found = ctx.remote._ask({"do": "backward", "tape": ctx.tape}, list(grads))
        fits = isinstance(found, list) and len(found) == len(ctx.asked)
        if not fits or any(f is not None and f.shape != x.shape for f, x in zip(found, ctx.asked, strict=True)):
            raise StudentError("the gradient can't be read")
        return None, None, None, None, *found
