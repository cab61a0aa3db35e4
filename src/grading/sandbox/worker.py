"""The program inside the sandbox: PyTorch is loaded once, and every submission gets a process of its own.

    server ── fork ── guardian ── fork ── worker (the student's code runs here, behind confinement.py)

The guardian kills its worker when the grader lets go of the lifeline.
"""

import ast
import itertools
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

import matplotlib.pyplot
import numpy as np
import torch
from IPython.core import inputtransformer2
from IPython.core.interactiveshell import InteractiveShell
from torch import Tensor
from traitlets.config import Config

import attnbook.data
import attnbook.handing_in
from attnbook.language import words
from grading.sandbox import confinement
from grading.sandbox.confinement import GRADER
from grading.sandbox.forbidden_calls import Forbidden, ForbiddenCalls, refuse_backstage, seal
from grading.sandbox.messages import BadMessage, pack, raw, receive, send, unpack
from grading.sandbox.tensor_sizes import SizeRecorder
from grading.sandbox.warm_up import warm_up
from grading.wording import HERE, say

# Once, and before a submission could have a hand in it.
LOADED = ([getattr(attnbook, name) for name in attnbook.__all__], matplotlib.pyplot, words(HERE))
ENGINE: Any = torch.autograd.Variable._execution_engine
warm_up()


class Shell(InteractiveShell):
    def enable_gui(self, gui=None):
        """Nobody looks: `%matplotlib inline` is allowed and does nothing."""

    def system(self, cmd):
        """Where a line begins with `!`, or `%pip`."""
        raise PermissionError(cmd)

    def getoutput(self, cmd, split=True, depth=0):
        raise PermissionError(cmd)


class Worker:
    """Runs a submission's cells, then does with its functions and objects what the tests ask for."""

    def __init__(self, pipe: socket.socket, shell: Shell):
        self.pipe, self.shell = pipe, shell
        self.objects, self.tapes, self.numbers, self.used, self.made = {}, {}, itertools.count(), [], []

    def serve(self, is_broken: Callable[[], bool], send: Callable = send) -> None:
        """Answers requests for as long as there are any. Once the seal is broken, what is forbidden counts as used.

        What tells of it is in variables of this call, which no cell finds by a name.
        """
        send(self.pipe, {"answer": "ready"})
        was_broken = False

        def used() -> list[str]:
            nonlocal was_broken
            was_broken = was_broken or is_broken()
            return request.get("forbidden", []) if was_broken else self.used

        while True:
            request, tensors, grads = receive(self.pipe)
            leaves = [tensor.requires_grad_(grad) for tensor, grad in zip(tensors, grads, strict=True)]
            self.used, self.made = [], []
            used()  # what was left behind may have come to work since the last answer
            try:
                answer, results = pack(self.answer(request, leaves), self.keep)
                tape = next(self.numbers)
                if any(result.requires_grad for result in results):
                    self.tapes[tape] = leaves, results
                send(self.pipe, {"answer": answer, "tape": tape, "used": used(), "made": self.made}, results)
            except BaseException as error:
                raised = isinstance(error, Exception) and not isinstance(error, BadMessage)
                send(self.pipe, {"error": _error_text(error), "raised": raised, "used": used()})

    def answer(self, request: dict, leaves: list[Tensor]):
        """Does what the grader asks for, and returns the result."""
        match request["do"]:
            case "run":
                return self.run(request)
            case "call":
                return self.call(request, leaves)
            case "get":
                return self.get(request)
            case "backward":
                return self.backward(request, leaves)

    def run(self, request: dict) -> str | None:
        """Run a cell of the notebook; what it raised. The grader sends a signal when the time is over."""
        signal.signal(signal.SIGALRM, _raise_timeout)
        try:
            refuse_backstage(request["source"], self.shell.user_ns)
            with self.watched(request):
                result = self.shell.run_cell(request["source"], silent=True)
            error = result.error_before_exec or result.error_in_exec
        finally:
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
        return None if error is None else _error_text(error)

    def call(self, request: dict, leaves: list[Tensor]):
        """Calls a function or an object, which may not change what it is given."""
        function = self.find(request)
        args, kwargs = unpack(request["args"], leaves, self.kept), unpack(request["kwargs"], leaves, self.kept)
        before = _snapshot((args, kwargs))
        with self.watched(request), self.measured(request):
            answer = function(*args, **kwargs)
        if _snapshot((args, kwargs)) != before:
            raise BadMessage(say("changes_given"))
        return answer

    def get(self, request: dict) -> tuple:
        """Returns a value, whether it is a parameter, and in that case its gradient."""
        with self.watched(request):
            value = self.find(request)
        leaf = isinstance(value, Tensor) and value.is_leaf and value.requires_grad
        return (value.detach(), True, value.grad) if leaf else (value, False, None)

    def backward(self, request: dict, grads: list[Tensor]) -> list:
        """The gradients of what a call was given, from those of what it returned."""
        leaves, results = self.tapes[request["tape"]]
        flowing = [result for result in results if result.requires_grad]
        with self.watched(request):  # below `torch.autograd`, whose functions an exercise may forbid
            ENGINE.run_backward(tuple(flowing), tuple(grads), True, False, (), True, accumulate_grad=True)
        found = [leaf.grad for leaf in leaves if leaf.requires_grad]
        for leaf in leaves:
            leaf.grad = None
        return found

    def watched(self, request: dict) -> ForbiddenCalls:
        calls = ForbiddenCalls(request["forbidden"])
        self.used = calls.used
        return calls

    def measured(self, request: dict) -> AbstractContextManager:
        made = SizeRecorder()
        self.made = made.sizes
        return made if request["watch"] else nullcontext()

    def find(self, request: dict):
        root = request["root"]
        if isinstance(root, str) and root not in self.shell.user_ns:
            raise NameError(say("not_there", name=root))
        thing = self.shell.user_ns[root] if isinstance(root, str) else self.objects[root]
        for name in request["path"]:
            thing = getattr(thing, name)
        return thing

    def keep(self, thing) -> dict:
        """Objects stay here; the tests get a number for them."""
        if isinstance(thing, np.ndarray):
            raise BadMessage(say("numpy"))
        number = next(self.numbers)
        self.objects[number] = thing
        return {"object": number, "type": type(thing).__name__}

    def kept(self, form: dict):
        return self.objects[form["object"]]


def _snapshot(arguments: tuple) -> tuple:
    """Returns a copy of the arguments to compare with later: the containers, the tensors, the numbers in them."""
    form, tensors = pack(arguments, lambda thing: {"object": id(thing)})
    return form, [(id(tensor), tensor.shape, raw(tensor.detach())) for tensor in tensors]


def _raise_timeout(*_):
    raise TimeoutError(say("cell_late"))


def _error_text(error: BaseException) -> str:
    """Returns the text of an error, shortened, whatever the error's own code does."""
    try:
        kind = "" if isinstance(error, BadMessage | Forbidden) else f"{type(error).__name__}: "
        short = f"{kind}{error}".removesuffix(": ")[:500]
        return say("not_here", error=short) if isinstance(error, PermissionError) else short
    except BaseException:
        return say("speechless")


def _guard(
    pipe: socket.socket, lifeline: socket.socket, megabytes: int, walled: bool, shell: Shell, is_broken: Callable
) -> None:
    """Start a worker, and kill it when the lifeline is let go."""
    confinement.close_files({pipe.fileno(), lifeline.fileno()})
    try:
        if walled:
            confinement.enter_new_namespaces()
        if (child := os.fork()) == 0:
            lifeline.close()
            confinement.end_with_its_parent()
            if walled:
                confinement.confine(megabytes)
            confinement.detach_standard_streams()
            sys.path.insert(0, "")  # as in a notebook
            Worker(pipe, shell).serve(is_broken)
    except EOFError:
        return
    except OSError as error:
        send(pipe, {"error": str(error), "used": []})
        return
    pipe.close()
    select.select([lifeline, os.pidfd_open(child)], [], [])
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _hide_the_grader() -> list[ModuleType]:
    """Hides the grader and its rules from every later import; returns what is loaded of them, which goes on working.

    No import of the grader succeeds. The rules belong to what students install, so they get a copy of their own.
    """
    packages = [package.name for package in GRADER]
    rules = attnbook.handing_in.__name__
    names = [name for name in sys.modules if name.partition(".")[0] in packages or f"{name}.".startswith(f"{rules}.")]
    hidden = [sys.modules.pop(name) for name in names]
    del attnbook.handing_in
    for name in packages:
        sys.modules[name] = None  # pyrefly: ignore[unsupported-operation] (an import of it fails)
    return hidden


def _serve_forks(control: socket.socket) -> None:
    """For each message a worker; a message brings its pipe and its lifeline."""
    here, reading = sys.modules[__name__], [ast, inputtransformer2]  # with which the rules read a cell
    is_broken = seal([here, *reading, *_hide_the_grader()])
    silent = Config({"HistoryManager": {"enabled": False}})
    shell = Shell.instance(config=silent)
    for cell in ("pass", "raise NotImplementedError"):  # the first that runs is slow, and so is the first that fails
        shell.run_cell(cell, silent=True)
    control.send(b"ready")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, files, *_ = socket.recv_fds(control, 1000, 2)
        if not message:
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            try:
                pipe, lifeline = (socket.socket(fileno=file) for file in files)
                _guard(pipe, lifeline, **json.loads(message), shell=shell, is_broken=is_broken)
            finally:
                os._exit(0)
        for file in files:
            os.close(file)


if __name__ == "__main__":
    _serve_forks(socket.socket(fileno=int(sys.argv[1])))
