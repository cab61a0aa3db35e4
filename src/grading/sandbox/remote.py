"""Stand-ins that tests use as if they were a student's functions and objects, which stay in the sandbox."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from booktools.book.assignment import Exercise
from grading.sandbox.client import NoAnswer, Sandbox
from grading.sandbox.messages import BadMessage, pack, unpack
from grading.sandbox.tensor_sizes import is_watched
from grading.wording import say

FUNCTION = "function"


class Remote:
    """A stand-in for a student's function or object: calls and attributes happen in the sandbox."""

    def __init__(
        self, sandbox: Sandbox, exercise: Exercise, root: str | int, path: tuple[str, ...] = (), kind="function"
    ):
        self._sandbox, self._exercise, self._root, self._path, self._kind = sandbox, exercise, root, path, kind

    def __repr__(self):
        return f"<a {self._kind} of the submission>"

    def __call__(self, *args, **kwargs):
        form, tensors = pack((args, kwargs), self._number)
        args, kwargs = form["tuple"]
        return self._ask({"do": "call", "args": args, "kwargs": kwargs, "watch": is_watched()}, tensors)

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        there = Remote(self._sandbox, self._exercise, self._root, (*self._path, name))
        value = there._value()
        return there if isinstance(value, Remote) else value

    def __getitem__(self, place):
        raise self._not_a_value()

    def __iter__(self):
        raise self._not_a_value()

    def __len__(self):
        raise self._not_a_value()

    def _not_a_value(self) -> NoAnswer:
        return NoAnswer(say("not_a_value", type=self._kind))

    def _value(self):
        """Fetches the value that the stand-in stands for; a parameter comes with its gradient."""
        value, leaf, grad = self._ask({"do": "get"})
        if leaf:
            value.requires_grad_().grad = grad
        return value

    def _ask(self, header: dict, tensors: Sequence[Tensor] = ()) -> Any:
        sandbox, exercise = self._sandbox, self._exercise
        header |= {"root": self._root, "path": list(self._path), "forbidden": list(exercise.forbidden)}
        form, results, grads, tape = sandbox.request(sandbox.limits.call, exercise.id, header, tensors)
        if any(grads):
            asked = [tensor for tensor in tensors if tensor.requires_grad]
            flowing = [result for result, grad in zip(results, grads, strict=True) if grad]
            taped = iter(Tape.apply(self, tape, flowing, torch.zeros((), requires_grad=True), *asked))
            results = [next(taped) if grad else result for result, grad in zip(results, grads, strict=True)]
        try:
            return unpack(form, results, self._stand_in)
        except BadMessage as error:
            raise NoAnswer(str(error)) from None

    def _number(self, thing) -> dict:
        if isinstance(thing, Remote) and isinstance(thing._root, int) and not thing._path:
            return {"object": thing._root}
        raise TypeError(f"a test can't send {thing!r} to a student's function")

    def _stand_in(self, form: dict) -> "Remote":
        match form:
            case {"object": int(number), "type": str(kind)}:
                return Remote(self._sandbox, self._exercise, number, kind=kind[:50])
        raise BadMessage(say("unreadable_answer"))


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
            raise NoAnswer(say("unreadable_gradient"))
        return None, None, None, None, *found
