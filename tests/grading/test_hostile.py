"""What a submission may try, and what it earns: what its honest part earns, and nothing from anybody else's."""

import io
import os
import platform
import re
import select
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import booktools
import grading
from booktools.book import BookError
from booktools.book.assignment import Assignment, Exercise
from booktools.book.limits import Limits
from grading.run_tests import run_tests
from grading.sandbox import client, fork_server, messages, stopwatch
from grading.sandbox.client import NoAnswer, OutOfTime, StudentError
from grading.sandbox.confinement import MACHINES, REFUSED, SIEVED
from grading.sandbox.forbidden_calls import Forbidden, ForbiddenCalls
from grading.sandbox.fork_server import ForkServer
from grading.sandbox.messages import LENGTHS, receive, send
from grading.sandbox.remote import Remote
from grading.sandbox.stopwatch import Spent, Stopwatch
from grading.submissions import code_of
from tests import ROOT
from tests.grading.three_things import SHARES, answered, write

pytestmark = pytest.mark.slow
LIMITS = Limits(cell=10, call=10, total=60, megabytes=512)
HASTY = Limits(cell=4, call=2, total=60, megabytes=512)
TOO_LONG = "it took longer than 2 seconds"  # said of those that are graded in haste
HONEST = "powers = (x - x.amax(-1, keepdim=True)).exp()\nreturn powers / powers.sum(-1, keepdim=True)"
REST = 5  # points of the two other exercises


@pytest.fixture(scope="module")
def assignment(tmp_path_factory):
    return Assignment.read(write(tmp_path_factory.mktemp("source")))


def grade(assignment, server, limits=LIMITS, **sources):
    sources = {name: dedent(source).strip("\n") for name, source in sources.items()}
    return run_tests(assignment, code_of(answered(**sources), assignment), server, limits)


def body(text):
    """`shares` with these lines."""
    return "def shares(x):\n" + "\n".join(f"    {line}" for line in dedent(text).strip("\n").splitlines())


RIGHT = {
    "it prints": {"more": "print('hello' * 100000)"},
    "it warns": {"more": "import warnings\nwarnings.warn('careful')"},
    "it complains a lot": {"more": "import sys\nfor _ in range(100): sys.__stderr__.write('x' * 10**5)"},
    "it prints while it works": {"shares": body(f"print(x)\n{HONEST}")},
    "magics": {"more": "%matplotlib inline\n%time 1 + 1\n%load_ext autoreload\n%autoreload 2"},
    "a cell magic": {"shares": "%%time\n" + SHARES.strip()},
    "a figure": {"more": "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('it.png')\nplt.show()"},
    "a helper in a cell of its own": {
        "more": "def powers_of(x):\n    return (x - x.amax(-1, keepdim=True)).exp()",
        "shares": body("p = powers_of(x)\nreturn p / p.sum(-1, keepdim=True)"),
    },
    "a cell that fails": {"more": "1 / 0"},
    "comments and texts that name tools": {
        "shares": '"""Safe with threading and torch.ops."""\n# see torch._C, ctypes, jit\n' + SHARES.strip()
    },
    "a module of its own": {
        "more": "%%writefile helper.py\ndef powers(x):\n    return (x - x.amax(-1, keepdim=True)).exp()",
        "shares": "import helper\n" + body("p = helper.powers(x)\nreturn p / p.sum(-1, keepdim=True)"),
    },
    "with the logarithm of the total": {"shares": body("return (x - x.logsumexp(-1, keepdim=True)).exp()")},
    "compiled": {"shares": "@torch.compile\n" + body(HONEST)},
    "a cell that calls the shell": {"more": "!pip install attnbook\n!ls"},
    "a cell that asks the reader": {"more": "name = input('Your name? ')"},
    "loops": {
        "shares": body(
            """
            if x.ndim > 1:
                return torch.stack([shares(row) for row in x])
            powers = [(value - x.max()).exp() for value in x]
            return torch.stack([power / sum(powers) for power in powers])
            """
        )
    },
    "names that look like tricks": {
        "shares": body(
            """
            vars, globals, softmax = x.exp(), "torch.softmax", "F.softmax(x)"  # not torch.softmax!
            return vars / vars.sum(-1, keepdim=True) if x.max() < 50 else shares(x - x.amax(-1, keepdim=True))
            """
        )
    },
    "attributes with the names of tools": {
        "shares": """
        class Heads:
            def __init__(self):
                self.ops, self.fx, self.jit, self._C, self.overrides = 2, 3, 4, 5, 6

        def shares(x):
            assert Heads().ops + Heads().fx + Heads().jit + Heads()._C == 14
            p = (x - x.amax(-1, keepdim=True)).exp()
            return p / p.sum(-1, keepdim=True)
        """
    },
    "a module of its own with the name of a tool": {
        "more": "%%writefile ops.py\nn = 12",
        "count": "from ops import n\ncount = n",
    },
    "a method called softmax": {
        "shares": """
        class Mine:
            def softmax(self, x):
                p = (x - x.amax(-1, keepdim=True)).exp()
                return p / p.sum(-1, keepdim=True)

        def shares(x):
            return Mine().softmax(x)
        """
    },
    "compared with what is forbidden": {"shares": SHARES.strip() + "\nprint(torch.softmax(torch.ones(2), -1))"},
    "softmax for another purpose": {"more": "torch.ones(3).softmax(-1)"},
    "float64 inside": {"shares": body("p = x.double().exp()\nreturn (p / p.sum(-1, keepdim=True)).to(x.dtype)")},
    "a number from NumPy": {"count": "import numpy as np\ncount = np.int64(3) * 4"},
    "tensors that share memory with the input": {
        "shares": body("y = x[...]\np = (y - y.amax(-1, keepdim=True)).exp()\nreturn p / p.sum(-1, keepdim=True)")
    },
    "a cell that waits for others": {
        "more": "import asyncio\nawait asyncio.sleep(0)\ncount = 12",
        "count": "assert count == 12",
    },
    "a thread that goes on": {
        "more": "from concurrent.futures import ThreadPoolExecutor as P\nP(1).submit(sum, iter(int, 1))",
    },
}


@pytest.mark.parametrize("case", RIGHT)
def test_odd_but_right(case, assignment, server):
    outcome = grade(assignment, server, Limits(), **RIGHT[case])
    assert outcome.total(assignment) == 10, outcome


# name: (cells, what the rest of its points is, what the feedback says)
WRONG = {
    "an endless loop": (body("while True: pass"), REST, TOO_LONG),
    "an endless loop that catches everything": (
        body("while True:\n    try:\n        while True: pass\n    except BaseException: pass"),
        REST,
        TOO_LONG,
    ),
    "an endless loop in C": (body("return sum(iter(int, 1))"), REST, TOO_LONG),
    "sleeps": (body("import time\ntime.sleep(1000)"), REST, TOO_LONG),
    "ends the process": (body("import os\nos._exit(0)"), REST, "it ended the Python process"),
    "exits": (body("raise SystemExit(0)"), REST, "SystemExit"),
    "kills itself": (body("import os, signal\nos.abort()"), REST, "it ended the Python process"),
    "kills everything": (body(f"import os\nos.kill(-1, 9)\n{HONEST}"), REST, "ProcessLookupError"),
    "takes 6 GB": (body("return bytearray(6 * 2**30)"), REST, "MemoryError"),
    "takes 6 GB of tensors": (body("return torch.zeros(6 * 2**28)"), REST, "can't allocate memory"),
    "takes memory bit by bit": (body("kept = []\nwhile True: kept.append(bytearray(2**26))"), REST, "MemoryError"),
    "takes shared memory": (body("import mmap\nreturn mmap.mmap(-1, 6 * 2**30)"), REST, "Cannot allocate memory"),
    "takes memory files": (
        body("import os\nfor i in range(99): os.write(os.memfd_create('x'), bytes(2**24))"),
        REST,
        "Operation not permitted",
    ),
    "fills its folder": (
        body("for i in range(99):\n    with open(str(i), 'wb') as file: file.write(bytes(2**23))"),
        REST,
        "No space left",
    ),
    "fills the shared memory's folder": (
        body("for i in range(99):\n    with open(f'/dev/shm/{i}', 'wb') as file: file.write(bytes(2**23))"),
        REST,
        "No space left",
    ),
    "a large file": (body("open('big', 'wb').write(bytes(2**25))"), REST, "File too large"),
    "opens files": (body("kept = [open('/dev/null') for _ in range(9999)]"), REST, "Too many open files"),
    "forks": (body("import os\nwhile True: os.fork()"), REST, "Operation not permitted"),
    "starts a program": (
        body("import subprocess\nsubprocess.Popen(['sleep', '999'])"),
        REST,
        "Operation not permitted",
    ),
    "a pool of processes": (
        body("import multiprocessing\nreturn multiprocessing.Pool(2).map(abs, [1])"),
        REST,
        "Operation not permitted",
    ),
    "becomes a program": (body("import os\nos.execv('/usr/bin/true', ['true'])"), REST, "Operation not permitted"),
    "starts threads": (
        body("import threading\nthreading.Thread(target=print).start()"),
        REST,
        "can't start new thread",
    ),
    "kills its group": (
        body("import os\nos.kill(0, 9)\nos.killpg(0, 9)\nwhile True: pass"),
        REST,
        f"{TOO_LONG}|it ended",
    ),
    "a new terminal": (body("import os\nos.openpty()"), REST, "Error"),
    "locks what others read": (
        body("import fcntl\nfcntl.flock(open('/usr/bin/env'), fcntl.LOCK_EX)"),
        REST,
        "Operation not permitted",
    ),
    "leases what others open": (
        body("import fcntl\nfcntl.fcntl(open('/usr/bin/env'), fcntl.F_SETLEASE, fcntl.F_WRLCK)"),
        REST,
        "Operation not permitted",
    ),
    "takes a device from everybody": (body("import os\nos.chmod('/dev/null', 0o666)"), REST, "Read-only file system"),
    "the network": (
        body("import socket\nsocket.create_connection(('1.1.1.1', 53), 1)"),
        REST,
        "Operation not permitted|Temporary failure|Name or service",
    ),
    "reads the assignment": (
        body("import glob\nreturn [open(f).read() for f in glob.glob('/tmp/**/three_things*', recursive=True)][0]"),
        REST,
        "IndexError",
    ),
    "reads other processes": (body("import os\nopen(f'/proc/{os.getpid()}/environ')"), REST, "No such file"),
    "writes to the disk": (body("open('/usr/bin/python3', 'w')"), REST, "Read-only file system|Permission denied"),
    "writes to the book": (
        body("import attnbook\nopen(attnbook.__file__, 'a').write('x')"),
        REST,
        "Read-only file system|Permission denied",
    ),
    "new walls": (
        body("import importlib as i\nassert i.import_module('cty' + 'pes').CDLL(None).unshare(0x10000000) == 0"),
        REST,
        "AssertionError",
    ),
    "patches assert_close": (
        body("import torch.testing\ntorch.testing.assert_close = lambda *a, **k: None\nreturn x"),
        REST,
        "Tensor-likes are not close",
    ),
    "patches allclose on import": (
        "torch.allclose = torch.equal = lambda *a, **k: True\n" + body("return x"),
        REST,
        "Tensor-likes are not close",
    ),
    "strips asserts": (
        """
        import ast
        class Strip(ast.NodeTransformer):
            def visit_Assert(self, node):
                return ast.Pass()
        get_ipython().ast_transformers.append(Strip())
        get_ipython().input_transformers_cleanup.append(lambda lines: [l for l in lines if "assert" not in l])
        def shares(x):
            return x
        """,
        REST,
        "Tensor-likes are not close",
    ),
    "a tensor that equals everything": (
        """
        class Yes(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return True
            def __eq__(self, other):
                return True
        def shares(x):
            return torch.zeros(2).as_subclass(Yes)
        """,
        REST,
        "",
    ),
    "an object that equals everything": (
        """
        class Yes:
            __eq__ = __lt__ = __gt__ = lambda *_: True
            __getattr__ = lambda self, name: self
            __call__ = lambda self, *a, **k: self
            __array__ = __len__ = None
        def shares(x):
            return Yes()
        """,
        REST,
        "an object of type Yes",
    ),
    "an object that lies about its class": (
        """
        class Lie:
            __class__ = torch.Tensor
        def shares(x):
            return Lie()
        """,
        REST,
        "",
    ),
    "a pickle that runs code": (
        """
        import os
        class Bomb:
            def __reduce__(self):
                return os.system, ("touch /tmp/attnbook-was-here",)
        def shares(x):
            return Bomb()
        """,
        REST,
        "",
    ),
    "writes to the pipe": (
        "import os\n"
        + body(
            "for n in range(3, 64):\n    try: os.write(n, b'{\"answer\": 1}' * 9)\n    except OSError: pass\nreturn x"
        ),
        None,
        "can't be read|too large|longer|Error",
    ),
    "closes the pipe": (body("import os\nos.closerange(3, 99)\nreturn x"), REST, "ended|Bad file"),
    "answers for somebody else": (
        """
        import sys
        def names_of_the_worker():
            frame = getattr(sys, "_get" + "frame")()
            while "_serve_forks" not in getattr(frame, "f_" + "globals"):
                frame = getattr(frame, "f_" + "back")
            return getattr(frame, "f_" + "globals")
        names = names_of_the_worker()
        send = names["send"]
        def forged(pipe, header, tensors=()):
            send(pipe, header | {"answer": {"tensor": 0}, "passed": True, "points": 10}, [torch.ones(2)])
        names["send"] = forged
        def shares(x):
            return x
        """,
        REST,
        "",
    ),
    "breaks the worker": (
        "import json, builtins\n"
        + body("json.dumps = json.loads = builtins.len = builtins.isinstance = None\nreturn x"),
        REST,
        "",
    ),
    "removes torch": (body("import sys\nsys.modules.clear()\nreturn 1 / 0"), None, ""),
    "a huge answer": (body("return torch.zeros(2**25)"), REST, "too large"),
    "a huge text": (body("return 'x' * 2**21"), REST, "too large"),
    "a huge number": (body("return 10 ** 10**6"), REST, ""),
    "an answer in an answer": (body("y = []\nfor _ in range(10**5): y = [y]\nreturn y"), REST, "nested too deeply"),
    "an answer that contains itself": (body("y = []\ny.append(y)\nreturn y"), REST, "contains itself"),
    "deep recursion": (body("return shares(x)"), REST, "RecursionError|ended"),
    "a crash": (body("import ctypes\nctypes.string_at(0)"), REST, "ctypes is not for graded"),
    "a crash in another way": (
        body("import importlib\nimportlib.import_module('cty' + 'pes').string_at(0)"),
        REST,
        "it ended the Python process",
    ),
    "an error that can't be said": (
        body("class Mute(Exception):\n    def __str__(self): raise self\nraise Mute"),
        REST,
        "an error that can't say what it is",
    ),
    "an endless error": (body("raise ValueError('x' * 10**7)"), REST, "ValueError: xxx"),
    "a signal of its own": (
        body("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass"),
        REST,
        TOO_LONG,
    ),
    "nothing": (body("return None"), REST, "NoneType"),
    "a list": (body("return [0.5, 0.5]"), REST, "list"),
    "a NumPy array": (body("return x.detach().exp().numpy()"), REST, "NumPy array"),
    "an iterator": (body("return iter(x)"), REST, ""),
    "a wrong shape": (body("return x.sum()"), REST, "expected a vector of 2"),
    "a wrong dtype": (body("return (x - x).double() + 0.5"), REST, "dtype"),
    "NaN": (body("return x * float('nan')"), REST, "not close"),
    "a sparse tensor": (body("return x.to_sparse()"), REST, ""),
    "a meta tensor": (body("return x.to('meta')"), REST, ""),
    "a quantised tensor": (body("return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)"), REST, "can't be sent"),
    "changes its argument": (
        body(
            "with torch.no_grad():\n    x += 1\n    x -= 1\n    x += 1e-3\nreturn (x - x.amax(-1, keepdim=True)).exp()"
        ),
        REST,
        "changes what it was given",
    ),
    "right only the first time": (
        "calls = []\n" + body("calls.append(1)\nif len(calls) > 1: return x\nreturn torch.tensor([0.5, 0.5])"),
        REST,
        "",
    ),
    "remembers what it has been shown": (
        body("return torch.tensor([0.5, 0.5]) + 0 * x[:2] if x.ndim == 1 and len(x) == 2 else x / x.sum()"),
        REST,
        None,
    ),
    "a gradient that lies": (
        """
        class Lie(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                p = (x - x.amax(-1, keepdim=True)).exp()
                return p / p.sum(-1, keepdim=True)
            @staticmethod
            def backward(ctx, grad):
                return grad
        def shares(x):
            return Lie.apply(x)
        """,
        REST + 3,
        None,
    ),
    "a gradient of another shape": (
        """
        class Lie(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                p = (x - x.amax(-1, keepdim=True)).exp()
                return p / p.sum(-1, keepdim=True)
            @staticmethod
            def backward(ctx, grad):
                return torch.ones(7)
        def shares(x):
            return Lie.apply(x)
        """,
        REST + 3,
        "invalid gradient",
    ),
    "detached": (body(f"x = x.detach()\n{HONEST}"), REST + 3, "does not require grad"),
    "tells the hidden inputs": (body("raise ValueError(f'secret {x.tolist()}')"), REST, "secret \\[0.0, 0.0\\]"),
    "never defined": ("pass", REST, "shares is not there"),
    "never written": ("def shares(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()", REST, "not written yet"),
    "not Python": ("def shares(x) return x", REST, "shares is not there"),
}


@pytest.mark.parametrize("case", WRONG)
def test_hostile_or_wrong(case, assignment, server):
    source, score, says = WRONG[case]
    limits = HASTY if TOO_LONG in (says or "") else LIMITS
    outcome = grade(assignment, server, limits, shares=source)
    assert outcome.total(assignment) == score if score is not None else outcome.total(assignment) <= REST, outcome
    told = [outcome.results[test].visible for test in ("test-shares", "test-slope")]
    if says is None:
        assert told[0] is None, "what is wrong here is for the hidden tests to find"
        assert any(outcome.results[test].hidden for test in ("test-shares", "test-slope"))
    else:
        assert any(re.search(says, said or "") for said in [*told, *outcome.cells]), (told, outcome.cells)


REFUSES = """
try:
    shares(torch.ones(1, 1, 1))
except Exception:
    pass
else:
    raise AssertionError("three axes should raise an error")
"""
# what is done in place of an error that the exercise asks for, and what the test says then
IN_PLACE_OF_AN_ERROR = {
    "raise ValueError": None,
    "raise MemoryError('of my own')": None,
    "raise SystemExit": "SystemExit",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "import os; os._exit(1)": "it ended the Python process",
    "while True: pass": TOO_LONG,
    "return x.detach().numpy()": "NumPy array",
    "return torch.zeros(2**25)": "too large",
    "x += 1": "changes what it was given",
    "return x": "three axes should raise an error",
}


@pytest.mark.parametrize("instead", IN_PLACE_OF_AN_ERROR)
def test_no_answer_is_not_taken_for_an_error(instead, server):
    notebook = answered()
    for cell in notebook.cells:
        if cell.id == "test-shares":
            cell.source = cell.source.replace("### END HIDDEN", f"{REFUSES.strip()}\n### END HIDDEN")
    assignment = Assignment.of(notebook, Path("three_things.ipynb"))
    answer = answered(shares=body(f"if x.ndim == 3:\n    {instead}\n{HONEST}"))
    outcome = run_tests(assignment, code_of(answer, assignment), server, HASTY)
    said, expected = outcome.results["test-shares"].hidden, IN_PLACE_OF_AN_ERROR[instead]
    assert said is None if expected is None else expected in said


# What leads from the shell to the names of the worker, and from there to those of the fence.
REACH = """
def names_of(function):
    return getattr(function, "__glob" + "als__")
worker = names_of(type(get_ipython()).system)
fence, shut = worker["ForbiddenCalls"], worker["ForbiddenCalls"].refuse
names, nothing = names_of(shut), lambda *_: None
"""
# A function whose gradient is written by hand: only how it gets its values breaks the rule.
BY_HAND = """
class Shares(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = softmax(x)
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, grad):
        y, = ctx.saved_tensors
        return y * (grad - (grad * y).sum(-1, keepdim=True))
def shares(x):
    return Shares.apply(x)
"""
FORBIDDEN = {
    "by its name": body("return torch.softmax(x, -1)"),
    "as a method": body("return x.softmax(-1)"),
    "as a module": body("return nn.Softmax(-1)(x)"),
    "from another place": "from torch.nn.functional import softmax as s\n" + body("return s(x, -1)"),
    "in another namespace": body("return torch.special.softmax(x, -1)"),
    "inside a function inside": body(
        "def inner(y):\n    import torch as t\n    return t.softmax(y, -1)\nreturn inner(x)"
    ),
    "by a computed name": body("return getattr(torch, 'soft' + 'max')(x, -1)"),
    "from the module's dictionary": body("return vars(torch)['softmax'](x, -1)"),
    "through functools": body("import functools\nreturn functools.partial(torch.softmax, dim=-1)(x)"),
    "through operator": body("import operator\nreturn operator.methodcaller('softmax', -1)(x)"),
    "through map": body("return next(map(torch.softmax, [x], [-1]))"),
    "through eval": body("return eval('torch.softmax(x, -1)')"),
    "stored in a list": "tools = [torch.softmax]\n" + body("return tools[0](x, -1)"),
    "in place of exp": "torch.exp = torch.softmax\n" + body("return torch.exp(x, -1)"),
    "as a default": "def shares(x, f=torch.softmax):\n    return f(x, -1)",
    "from the library": "from attnbook import masked_softmax\n" + body("return masked_softmax(x)"),
    "from the library's own module": "import attnbook.layers.softmax as own\n" + body("return own.masked_softmax(x)"),
    "caught in the act": body(
        "try:\n    return torch.softmax(x, -1)\nexcept Exception:\n    p = (x - x.amax(-1, keepdim=True)).exp()\n"
        "return p / p.sum(-1, keepdim=True)"
    ),
    "in a cell magic": "%%time\ndef shares(x):\n    return torch.softmax(x, -1)",
    "below PyTorch's surface": body("return torch.ops.aten._softmax(x, -1, False)"),
    "in a thread": body(
        "from concurrent.futures import ThreadPoolExecutor as P\nreturn P(1).submit(torch.softmax, x, -1).result()"
    ),
    "inside a function of PyTorch": body("return nn.functional.softmin(-x, dim=-1)"),
    "in a compiled function": "@torch.jit.script\ndef shares(x):\n    return torch.softmax(x, -1)",
    "below the surface, by another name": "import torch as t\n" + body("return t.ops.aten._softmax(x, -1, False)"),
    "by a computed name below the surface": body("return getattr(torch, 'o' + 'ps').aten._softmax(x, -1, False)"),
    "behind a magic in the first line": "%time 1\n" + body("return torch.ops.aten._softmax(x, -1, False)"),
    "in a magic": "%time softmax = torch.ops.aten._softmax\n" + body("return softmax(x, -1, False)"),
    "in a text that is run": body("return eval('torch.ops.aten._softmax')(x, -1, False)"),
    "in a module of its own": "%%writefile own.py\nimport torch\nsoftmax = torch.ops.aten._softmax",
    "as the logarithm's exponential": body("return x.log_softmax(-1).exp()"),
    "of sparse tensors": body("return torch.sparse.softmax(x.to_sparse(), -1).to_dense()"),
    "in attention over the identity": body(
        "eye = torch.eye(x.shape[-1])[None, None]\nscores = x.reshape(1, 1, -1, x.shape[-1])\n"
        "return nn.functional.scaled_dot_product_attention(scores, eye, eye, scale=1.0).reshape(x.shape)"
    ),
    "in fused attention of one's own": body(
        "from torch.nn.attention import SDPBackend, sdpa_kernel\n"
        "eye = torch.eye(x.shape[-1])[None, None]\nscores = x.reshape(1, 1, -1, x.shape[-1])\n"
        "with sdpa_kernel(SDPBackend.FLASH_ATTENTION):\n"
        "    mixed = nn.functional.scaled_dot_product_attention(scores, eye, eye, scale=1.0)\n"
        "return mixed.reshape(x.shape)"
    ),
    "when the answer is read": """
        class Later(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                plain = [torch.Tensor(a.tolist()).softmax(-1) if isinstance(a, Later) else a for a in args]
                return func(*plain, **(kwargs or {}))
        def shares(x):
            return x.as_subclass(Later)
        """,
    "as the gradient of its logarithm's total": body(
        "y = x.detach().requires_grad_()\nreturn torch.autograd.grad(torch.logsumexp(y, -1).sum(), y)[0]"
    ),
    "as the gradient of a function": body("return torch.func.grad(lambda y: y.logsumexp(-1).sum())(x)"),
    "as a derivative forwards": body("return torch.func.jacfwd(lambda y: y.logsumexp(-1))(x)"),
    "with the fence found in memory": "import gc\nfor thing in gc.get_objects():\n"
    "    if type(thing).__name__ == 'ForbiddenCalls': type(thing).refuse = lambda *_: None\n"
    + body("return x.softmax(-1)"),
    "with the fence found by the frames": "import sys\n"
    + body("sys._getframe(1).f_locals['self'].used = []\nreturn x.softmax(-1)"),
    "by a safer sister": body("return torch._safe_softmax(x, -1)"),
    "with the fence patched": "import grading.sandbox.forbidden_calls as f\n"
    "f.ForbiddenCalls.refuse = lambda *_: None\n" + body("return x.softmax(-1)"),
    "with the fence found in the shell's globals": "g = type(get_ipython()).system.__globals__\n"
    "g['ForbiddenCalls'].refuse = lambda *_: None\n" + body("return x.softmax(-1)"),
    "with the fence found there by a computed name": (
        "g = getattr(type(get_ipython()).system, '__glob' + 'als__')\n"
        "g['ForbiddenCalls'].refuse = lambda *_: None\n" + body("return x.softmax(-1)")
    ),
    "with the fence's code replaced by a computed name": (
        "g = getattr(type(get_ipython()).system, '__glob' + 'als__')\n"
        "g['ForbiddenCalls'].refuse.__code__ = (lambda self, name: None).__code__\n" + body("return x.softmax(-1)")
    ),
    "with the fence found among all classes": "def below(kind):\n"
    "    for one in type.__subclasses__(kind):\n        yield one\n        yield from below(one)\n"
    "for one in list(below(object)):\n    if one.__name__ == 'ForbiddenCalls': one.refuse = lambda *_: None\n"
    + body("return x.softmax(-1)"),
    "with the fence found by a traceback": "def up():\n    try:\n        1 / 0\n    except ArithmeticError as error:\n"
    "        frame = error.__traceback__.tb_frame\n"
    "    while frame := getattr(frame, 'f_' + 'back'):\n"
    "        if watch := frame.f_globals.get('ForbiddenCalls'): watch.refuse = lambda *_: None\n"
    "up()\n" + body("return x.softmax(-1)"),
    "as the gradient of its running total": body(
        "y = x if x.requires_grad else x.clone().requires_grad_()\n"
        "return torch.autograd.grad(torch.logcumsumexp(y, -1)[..., -1].sum(), y, create_graph=True)[0]"
    ),
    "as the gradient of sums of two": body(
        "import functools\ny = x if x.requires_grad else x.clone().requires_grad_()\n"
        "total = functools.reduce(torch.logaddexp, y.unbind(-1)).sum()\n"
        "return torch.autograd.grad(total, y, create_graph=True)[0]"
    ),
    "in an attention that PyTorch has fused": body("""
        n = x.shape[-1]
        def shares_of(row):
            q = torch.zeros(1, n, n)
            q[0, 0] = row * n**0.5
            one, none = torch.eye(n), torch.zeros(n)
            given = (n, 1, one.repeat(3, 1), none.repeat(3), one, none, None, False)
            return torch._native_multi_head_attention(q, one[None], one[None], *given)[0][0, 0]
        return torch.stack([shares_of(row) for row in x.reshape(-1, n)]).reshape(x.shape)
    """),
    "with the fence's list of its own functions emptied": (
        REACH + "names.get('_OWN', []).clear()\nfence.refuse = nothing\n" + body("return x.softmax(-1)")
    ),
    "with the question whether the fence is whole replaced": (
        REACH
        + "worker['is_tampered_with'] = names['is_tampered_with'] = nothing\nfence.refuse = nothing\n"
        + body("return x.softmax(-1)")
    ),
    "with the helpers of the fence replaced": (
        REACH + "names.update(_find=nothing, _is_kernel=nothing)\n"
        "names['_same_in_torch'] = names['_codes_of'] = lambda _: set()\n" + body("return x.softmax(-1)")
    ),
    "with a helper's code replaced": (
        REACH + "for name in ('_is_kernel', '_same_in_torch', '_find', '_codes_of'):\n"
        "    getattr(names[name], '__wrapped__', names[name]).__code__ = (lambda name: []).__code__\n"
        "    getattr(names[name], 'cache_clear', nothing)()\n" + body("return x.softmax(-1)")
    ),
    "with the fence put back inside the call": REACH
    + BY_HAND
    + """
fence.refuse = nothing
def softmax(x):
    if fence.refuse is shut:
        p = (x - x.amax(-1, keepdim=True)).exp()
        return p / p.sum(-1, keepdim=True)
    y = x.softmax(-1)
    fence.refuse = shut
    return y
""",
    "with the fence away for as long as the call": REACH
    + BY_HAND
    + """
def blind(self, function, types, args=(), kwargs=None):
    return function(*args, **(kwargs or {}))
def softmax(x):
    kernels = names["_Kernels"]
    whole = fence.refuse, fence.profile, fence.__torch_function__, kernels.__torch_dispatch__
    fence.refuse, fence.profile, fence.__torch_function__, kernels.__torch_dispatch__ = nothing, nothing, blind, blind
    y = x.softmax(-1)
    fence.refuse, fence.profile, fence.__torch_function__, kernels.__torch_dispatch__ = whole
    return y
""",
    "with the fence's code away for as long as the call": REACH
    + BY_HAND
    + """
def softmax(x):
    code, shut.__code__ = shut.__code__, (lambda self, name: None).__code__
    y = x.softmax(-1)
    shut.__code__ = code
    return y
""",
    "with something that equals the fence": (
        REACH + "class Equal:\n    __eq__ = lambda *_: True\n    __call__ = nothing\n    __code__ = shut.__code__\n"
        "fence.refuse = Equal()\n" + body("return x.softmax(-1)")
    ),
    "with nobody who puts the fence up": (
        REACH + "from contextlib import nullcontext\n"
        "worker['Worker'].watched = lambda self, request: nullcontext()\n" + body("return x.softmax(-1)")
    ),
    "with nobody who tells of the fence": (
        REACH + "send = worker['send']\nfence.refuse = nothing\n"
        "worker['Worker'].used = property(lambda self: [], nothing)\n"
        "worker['send'] = lambda pipe, header, *rest: send(pipe, header | {'used': []}, *rest)\n"
        + body("return x.softmax(-1)")
    ),
    "with the fence switched off": body("with torch._C.DisableTorchFunction():\n    return torch.softmax(x, -1)"),
}


@pytest.mark.parametrize("case", FORBIDDEN)
def test_a_forbidden_call_earns_nothing_and_is_named(case, assignment, server):
    outcome = grade(assignment, server, shares=FORBIDDEN[case])
    assert outcome.total(assignment) == REST
    named = [*outcome.used.get("shares", []), *outcome.cells]
    told = "torch.softmax|masked_softmax|can't start new thread|of type Later"
    told += "|(ops|_C|jit|grading|get_objects|_getframe|__globals__|__subclasses__|tb_frame|f_locals) is not for graded"
    assert any(re.search(told, name) for name in [*named, *map(str, outcome.results.values())]), outcome


# What a cell does to the rules by which the next one is read.
RULES = {
    "emptied": "import attnbook.handing_in.backstage as b\nb.OF_ANY.clear()\nb.OF_TORCH.clear()",
    "replaced, as an attribute": "import attnbook\nb = attnbook.handing_in.backstage\nb.OF_ANY = b.OF_TORCH = set()",
    "replaced, by a computed name": "import importlib\n"
    "b = importlib.import_module('attnbook.handing_in.back' + 'stage')\nb.OF_ANY = b.OF_TORCH = set()",
    "replaced, found among what is loaded": "import sys\n"
    "for name, module in list(sys.modules.items()):\n"
    "    if name.endswith('stage'): module._backstage = lambda *_: set()",
    "blind, since nobody reads the cell's tree": "import ast\nast.walk = lambda tree: []",
    "blind, since nobody reads the cell": "from IPython.core.inputtransformer2 import TransformerManager as T\n"
    "own, read = get_ipython().input_transformer_manager, T.transform_cell\n"
    "T.transform_cell = lambda self, cell: read(self, cell) if self is own else ''",
}
UNSEEN = (
    BY_HAND
    + """
def softmax(x):
    import sys
    from torch.utils._python_dispatch import _disable_current_modes as alone
    sys.setprofile(None)
    with torch._C.DisableTorchFunction(), alone():
        return torch.softmax(x, -1)
"""
)


@pytest.mark.parametrize("case", RULES)
def test_the_rules_for_cells_cannot_be_changed(case, assignment, server):
    outcome = grade(assignment, server, more=RULES[case], shares=UNSEEN)
    assert outcome.total(assignment) == REST, outcome
    said = str([outcome.used, outcome.cells])
    assert "is not for graded notebooks" in said or "torch.softmax" in said


TOTAL_OF_NUMPY = """
def masked_log_softmax(scores, mask):
    import numpy as np
    seen = scores.detach().double().masked_fill(~mask, torch.finfo(torch.float64).min)
    total = torch.as_tensor(np.logaddexp.reduce(seen.numpy(), -1, keepdims=True))
    return (scores.double().masked_fill(~mask, 0) - total).masked_fill(~mask, -torch.inf).to(scores.dtype)
"""


def test_what_no_watch_sees_has_no_gradient(server):
    """NumPy knows a logaddexp, and nobody watches it: each check of the exercise asks for the gradient."""
    (path,) = (ROOT / "assignments/source").glob("02_*.ipynb")
    assignment, answer = Assignment.read(path), Assignment.read(path).notebook
    for cell in answer.cells:
        cell.source = TOTAL_OF_NUMPY if cell.id == "masked-log-softmax" else cell.source
    outcome = run_tests(assignment, code_of(answer, assignment), server, Limits())
    scores = {exercise.id: outcome.score(exercise) for exercise in assignment.exercises}
    assert scores.pop("masked-log-softmax") == 0
    assert sum(scores.values()) == 8
    assert "gradient, mask" in outcome.results["test-log-values"].hidden


def test_pytorch_by_a_name_from_another_cell(assignment, server):
    outcome = grade(assignment, server, more="import torch as t", shares=body("return t.ops.aten._softmax(x, -1)"))
    assert outcome.total(assignment) == REST
    assert "ops is not for graded notebooks" in outcome.cells[0]


LOSSES = {
    "cross-entropy": lambda x: F.cross_entropy(x, torch.tensor([0]), reduction="none"),
    "a loss as a module": lambda x: nn.CrossEntropyLoss()(x, torch.tensor([0])),
    "below the surface": lambda x: torch.ops.aten._log_softmax(x, -1, False),
    "in the functional world": lambda x: torch.func.vmap(lambda row: row.log_softmax(-1))(x),
    "with a gradient": lambda x: F.cross_entropy(x.clone().requires_grad_(), torch.tensor([0])).backward(),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_what_a_function_comes_down_to_is_watched(loss):
    calls = ForbiddenCalls(["torch.log_softmax"])
    with pytest.raises(Forbidden), calls:
        LOSSES[loss](torch.ones(1, 3))
    assert calls.used == ["torch.log_softmax"]
    with calls:
        torch.ones(3).exp().log().softmax(-1).sum()


PACKAGES = {package.__name__: Path(package.__file__).parent for package in (booktools, grading)}
POP = "import sys\nsys.modules.pop('grading')\n"
# name: (cell, what the feedback says)
GRADER = {
    "by its name": ("import grading", "grading is not for graded notebooks"),
    "what it stands on": ("import booktools", "booktools is not for graded notebooks"),
    "a part of it": ("from grading.run_tests import run_tests", "grading is not for graded notebooks"),
    "in a function": (body("from grading.sandbox import worker\nreturn x"), "grading is not for graded notebooks"),
    "by a computed name": (body("__import__('grad' + 'ing')\nreturn x"), "import of grading halted"),
    "what it stands on, by a computed name": (
        body("__import__('book' + 'tools')\nreturn x"),
        "import of booktools halted",
    ),
    "a part of it, by a computed name": (
        "import importlib\nimportlib.import_module('grad' + 'ing.prove')",
        "No module named 'grading.prove'",
    ),
    "once more": (POP + "__import__('grad' + 'ing.prove')", "No module named 'grading.prove'"),
    "from its files": (body(f"return open({str(PACKAGES['grading'] / 'prove.py')!r}).read()"), "No such file"),
    "what it stands on, from its files": (
        body(f"return open({str(PACKAGES['booktools'] / 'cli.py')!r}).read()"),
        "No such file",
    ),
    "in a place of its own": (
        f"import sys\nsys.path.insert(0, {str(PACKAGES['grading'])!r})\n__import__('prove')",
        "No module named 'prove'",
    ),
}


@pytest.mark.parametrize("case", GRADER)
def test_the_grader_cannot_be_imported(case, assignment, server):
    source, says = GRADER[case]
    outcome = grade(assignment, server, shares=source)
    assert outcome.total(assignment) == REST
    assert any(says in what for what in [*outcome.cells, *map(str, outcome.results.values())]), outcome


def test_a_helper_in_another_cell_is_watched_too(assignment, server):
    outcome = grade(
        assignment, server, more="def helper(x):\n    return x.softmax(-1)", shares=body("return helper(x)")
    )
    assert outcome.total(assignment) == REST
    assert outcome.used == {"shares": ["torch.softmax"]}


def test_an_error_that_says_it_is_false_is_told_like_any_other(assignment, server):
    source = "class Quiet(Exception):\n    def __bool__(self):\n        return False\nraise Quiet('no')"
    outcome = grade(assignment, server, more=source)
    assert len(outcome.cells) == 1
    assert outcome.cells[0].endswith("Quiet: no")


def test_a_cell_that_ends_the_process_costs_only_itself(assignment, server):
    limits = Limits(cell=0.5, call=2, total=30, megabytes=512)
    outcome = grade(assignment, server, limits, more="import os\nos._exit(1)", shares="while True: pass")
    assert outcome.total(assignment) == REST
    assert "ended the Python process" in outcome.cells[0]
    assert "took too long" in outcome.cells[1]


def test_all_limits_together(assignment, server):
    """Cells that all take their time don't add up to more than the whole submission may take."""
    limits = Limits(cell=0.1, call=1, total=2, megabytes=512)
    cells = (
        code_of(answered(), assignment)
        + [
            {
                "name": "slow",
                "source": "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
                "forbidden": [],
            }
        ]
        * 50
    )
    with pytest.raises(OutOfTime, match="the whole submission took longer than 2 seconds"):
        run_tests(assignment, cells, server, limits)


BUSY, IDLE = "while time.process_time() < began + 1.5: pass", "time.sleep(1.5)"


@pytest.mark.parametrize(("does", "share", "late"), [(BUSY, 1, True), (BUSY, 0.1, False), (IDLE, 0.1, True)])
def test_a_busy_machine_makes_nobody_late(does, share, late, assignment, server, monkeypatch):
    """A second is allowed. Where a process gets a tenth of a processor's time, it may work ten times as long."""
    read = Stopwatch.read

    def seen(stopwatch):
        spent = read(stopwatch)
        return Spent(share * spent.working, spent.waiting)

    monkeypatch.setattr(Stopwatch, "read", seen)
    source = f"import time\nbegan = time.process_time()\n{does}"
    outcome = grade(assignment, server, Limits(cell=1, call=1, total=60, megabytes=512), more=source)
    assert bool(outcome.late) is late


@pytest.mark.parametrize("counts", [True, False])
def test_what_others_do_meanwhile_does_not_count(counts, monkeypatch):
    """The kernel says for how long a process waited for a processor. Where it doesn't, all time is one of waiting."""
    clock = iter([100.0, 110.0])
    monkeypatch.setattr(stopwatch, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    numbers = iter(["1000000000 2000000000 7\n", "3000000000 9000000000 8\n"])
    monkeypatch.setattr(stopwatch, "open", lambda _: io.StringIO(next(numbers) if counts else ""), raising=False)
    watch = Stopwatch(1)
    before = watch.read()
    assert watch.read() - before == (Spent(2, 1) if counts else Spent(0, 10))


def test_slow_experiments_cost_nothing_though_cells_run_twice(assignment, server, own_time):
    experiments = [{"name": f"{n}", "source": "1  # 7 seconds", "forbidden": []} for n in range(7)]
    cells = [*code_of(answered(), assignment), *experiments]
    outcome = run_tests(assignment, cells, server, Limits(cell=40, call=40, total=80, megabytes=512))
    assert outcome.total(assignment) == 10
    assert outcome.late == []


def test_an_endless_loop_costs_its_own_exercise_and_is_waited_for_once(assignment, server):
    outcome = grade(assignment, server, HASTY, shares=body("while True: pass"))
    assert outcome.total(assignment) == REST
    assert [outcome.results[name].visible for name in ("test-shares", "test-slope")] == [
        TOO_LONG + ". Is there a loop in it that never ends?",
        "not tried, since another check of this exercise took too long",
    ]
    assert outcome.late == ["shares"]


def test_a_slow_experiment_in_the_cell_of_an_answer_costs_nothing(assignment, server):
    outcome = grade(assignment, server, HASTY, shares=SHARES.strip() + "\nwhile True: pass")
    assert outcome.total(assignment) == 10
    assert outcome.late == ["shares"]


def test_a_test_of_many_calls_ends_in_time(assignment, server):
    """No single call takes too long; all together would never end."""
    endless = Assignment.of(answered(), Path("three_things.ipynb"))
    for cell in endless.notebook.cells:
        if cell.id == "test-shares":
            cell.source = "while True: shares(torch.ones(2))\n" + cell.source
    endless = Assignment.of(endless.notebook, Path("three_things.ipynb"))
    outcome = run_tests(endless, code_of(answered(), endless), server, HASTY)
    assert outcome.results["test-shares"].visible == "the test took longer than 4 seconds with this answer"
    assert outcome.total(endless) == REST


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_test_ends_though_python_swallows_an_interruption(assignment, server):
    """What is raised while an object is deleted is printed and forgotten."""
    notebook = answered()
    for cell in notebook.cells:
        if cell.id == "test-shares":
            slow = "class Slow:\n    def __del__(self):\n        while True: pass\n\n"
            cell.source = f"{slow}Slow()\nwhile True: pass\n{cell.source}"
    endless = Assignment.of(notebook, Path("three_things.ipynb"))
    outcome = run_tests(endless, code_of(answered(), endless), server, HASTY)
    assert outcome.results["test-shares"].visible == "the test took longer than 4 seconds with this answer"


def test_a_submission_ends_with_its_guardian(server):
    """Nobody else would end it."""
    with server.open(LIMITS) as sandbox:
        guardian = int(Path(f"/proc/{sandbox.stopwatch.process}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(guardian, signal.SIGKILL)
        assert select.select([sandbox.process], [], [], 60)[0]


def test_a_process_that_never_gets_a_processor_is_not_waited_for_without_end(assignment, server, monkeypatch):
    """Its own time does not pass then. Nobody knows its points, also where a test would take an error for an answer."""
    monkeypatch.setattr(Stopwatch, "read", lambda _: Spent())
    monkeypatch.setattr(client, "BUSY", 0.5)
    notebook = answered()
    for cell in notebook.cells:
        if cell.id == "test-shares":
            cell.source = f"try:\n    shares(torch.ones(2))\nexcept Exception:\n    pass\n{cell.source}"
    trusting = Assignment.of(notebook, Path("three_things.ipynb"))
    with pytest.raises(OutOfTime, match="the machine was so busy that a call did not come to an end in 5 seconds"):
        run_tests(trusting, code_of(answered(shares=body("while True: pass")), trusting), server, LIMITS)


def test_a_server_waits_for_work_however_long_sockets_of_this_process_wait():
    socket.setdefaulttimeout(5)
    try:
        with ForkServer() as server, server.open(LIMITS) as sandbox:
            assert sandbox.run({"name": "one", "source": "1", "forbidden": []}) is None
    finally:
        socket.setdefaulttimeout(None)


def test_what_can_be_read_may_have_gone(monkeypatch):
    """A kernel may say that there is something, and then there is nothing."""
    (pipe, other), waits = socket.socketpair(), []

    def wait(*_):
        waits.append(1)
        if len(waits) == 3:
            other.sendall(LENGTHS.pack(15, 0) + b'{"tensors": []}')

    monkeypatch.setattr(messages, "_wait", wait)
    with pipe, other:
        assert receive(pipe) == ({"tensors": []}, [], [])


def test_submissions_leave_nothing_to_each_other(assignment, server):
    leave = """
    import builtins, os, attnbook
    builtins.left = torch.left = attnbook.left = 1
    for folder in ("/home/student", "/dev/shm", "/proc", "/tmp", "/", "/dev"):
        try:
            open(f"{folder}/left", "w").write("1")
        except OSError:
            pass
    """
    look = """
    import builtins, os, attnbook
    folders = ("/home/student", "/dev/shm", "/proc", "/tmp", "/", "/dev")
    found = [hasattr(place, "left") for place in (builtins, torch, attnbook)]
    found += [os.path.exists(f"{folder}/left") for folder in folders]
    assert not any(found), found
    count = 12
    """
    assert grade(assignment, server, more=leave).total(assignment) == 10
    assert grade(assignment, server, count=look).total(assignment) == 10


# name: what a submission does, what its neighbour does, what the first one then sees; whoever returns True has heard
CHANNELS = {
    "an abstract name": ("leave(); s.bind(name)", "leave(); s.sendto(b'1', name)", "return len(s.recv(1))"),
    "an abstract name that is taken": ("s.bind(name)", "return attempt(s.bind, name) == errno.EADDRINUSE", ""),
    "a name that the kernel gives": (
        "s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1); attempt(s.send, b'1'); leave()",
        "leave(); [attempt(s.sendto, b'1', f'\\0{n:05x}') for n in range(2**15)]",
        "return len(s.recv(1))",
    ),
    "a lock": (
        "fcntl.fcntl(env, fcntl.F_SETLK, lock(fcntl.F_RDLCK))",
        "return fcntl.fcntl(env, fcntl.F_GETLK, lock(fcntl.F_WRLCK)) != lock(fcntl.F_UNLCK)",
        "",
    ),
    "a lease": (
        "fcntl.fcntl(env, fcntl.F_SETLEASE, fcntl.F_WRLCK)",
        "return attempt(os.open, env.name, os.O_NONBLOCK) == errno.EWOULDBLOCK",
        "",
    ),
    "how the empty input is read": (
        "fcntl.fcntl(0, fcntl.F_SETFL, os.O_APPEND)",
        "return fcntl.fcntl(0, fcntl.F_GETFL) & os.O_APPEND",
        "",
    ),
    "the time of an input or output": (
        "[(attempt(os.utime, n, (7, 7)), attempt(os.fchown, n, 1000, 1000)) for n in range(3)]",
        "return any(os.stat(n).st_mtime == 7 for n in range(3))",
        "",
    ),
    "the time of an input or output that anybody may write to": (
        "global were; were = [os.stat(n).st_mtime_ns for n in range(3)]",
        "[attempt(os.utime, n) for n in range(3)]",
        "return were != [os.stat(n).st_mtime_ns for n in range(3)]",
    ),
    "the rights of an input or output": (
        "[attempt(os.fchmod, n, 0o604) for n in range(3)]",
        "return any(os.stat(n).st_mode & 0o777 == 0o604 for n in range(3))",
        "",
    ),
    "the time of a device": ("os.utime('/dev/null', (7, 7))", "return os.stat('/dev/null').st_mtime == 7", ""),
    "a watched file": (
        "global watch; watch = libc.inotify_init1(2048); libc.inotify_add_watch(watch, b'/usr/bin/env', 0xfff)",
        "open(env.name)",
        "return len(os.read(watch, 99))",
    ),
    "a file": ("open('/dev/shm/x', 'w')", "return os.path.exists('/dev/shm/x')", ""),
    "a signal": ("", "[attempt(os.kill, n, 10) for n in range(2, 999)]; attempt(os.kill, -1, 10)", "return called"),
}
TALK = """
import errno, fcntl, importlib, os, signal, socket, struct
libc, env, called = importlib.import_module("cty" + "pes").CDLL(None), open("/usr/bin/env"), []
signal.signal(10, lambda *_: called.append(1))
name = "\\0we talk"
if {sockets}:
    s, t = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.setblocking(False)
def leave():
    libc.connect(s.fileno(), bytes(16), 16)
def lock(kind):
    return struct.pack("hhqqi", kind, 0, 0, 1, 0)
def attempt(act, *args):
    try:
        act(*args)
    except OSError as error:
        return error.errno
def first():
    {first}
def neighbour():
    {neighbour}
def then():
    {then}
"""


@pytest.mark.parametrize("channel", CHANNELS)
def test_submissions_cannot_talk_while_they_run(channel, server):
    first, neighbour, then = (code or "pass" for code in CHANNELS[channel])
    talk = TALK.format(sockets="name" in channel, first=first, neighbour=neighbour, then=then)
    with server.open(LIMITS) as one, server.open(LIMITS) as other:
        for sandbox in (one, other):
            sandbox.run({"name": "talk", "source": talk, "forbidden": []})
        for sandbox, act in ((one, "first"), (other, "neighbour"), (one, "then")):
            with suppress(StudentError, NoAnswer):
                assert not Remote(sandbox, Exercise("talk", "", ""), act)(), "it was heard"


@pytest.mark.parametrize("path", sorted((ROOT / "assignments/source").glob("*.ipynb")), ids=lambda path: path.stem)
def test_whatever_an_assignment_imports_was_loaded_before(path, server):
    """A module that is read from the disk while answers run is one that a neighbour could have laid a hand on."""
    assignment = Assignment.read(path)
    with server.open(Limits()) as sandbox:
        sandbox.run({"name": "before", "source": "import sys\nbefore = set(sys.modules)", "forbidden": []})
        for cell in code_of(assignment.notebook, assignment):
            assert sandbox.run(cell) is None
        new = "def new():\n    return sorted(set(sys.modules) - before)"
        sandbox.run({"name": "new", "source": new, "forbidden": []})
        assert Remote(sandbox, Exercise("new", "", ""), "new")() == []


def test_hidden_tests_meet_a_process_that_has_not_seen_the_visible_ones(assignment, server):
    source = "seen = []\n" + body(f"seen.append(x.shape)\nassert len(seen) < 4, seen\n{HONEST}")
    assert grade(assignment, server, shares=source).total(assignment) == 10


def test_the_system_calls_that_no_answer_needs_are_refused(server):
    """By number, from inside: a filter with a wrong number would let one through."""
    source = """
    import importlib, platform
    lib = importlib.import_module("cty" + "pes").CDLL(None, use_errno=True)
    errno = importlib.import_module("cty" + "pes").get_errno
    def attempt(number, *arguments):
        return lib.syscall(number, *arguments, *[0] * 4), errno()
    """
    column = MACHINES[platform.machine()][0]
    with server.open(LIMITS) as sandbox:
        assert sandbox.run({"name": "calls", "source": dedent(source), "forbidden": []}) is None
        attempt = Remote(sandbox, Exercise("calls", "", ""), "attempt")
        numbers = {name: columns[column] for name, columns in REFUSED.items() if columns[column] is not None}
        assert {name: attempt(number) for name, number in numbers.items()} == dict.fromkeys(numbers, (-1, 1))
        assert {name: attempt(call[column], 99, 99) for name, call in SIEVED.items()} == dict.fromkeys(SIEVED, (-1, 1))


def test_an_answer_is_the_same_on_both_sides(server):
    values = [
        *(None, True, -3, 1.5, "ü", [1, (2.0, {"k": [None]})], torch.float16, torch.tensor(3)),
        *(torch.randn(2, 3).mT, torch.empty(0, 4), torch.tensor([1 + 2j]).conj(), torch.tensor([True, False])),
        *(torch.randn(1, 1, 4).unbind(-1)[1], torch.randn(1, 5).T, torch.randn(3, 4)[:, 1], torch.randn(4, 4)[::2, 1:]),
        *(torch.randn(2, 3, 4).permute(2, 0, 1), torch.ones(3, dtype=torch.bfloat16), torch.ones(1, 1).expand(3, 4)),
    ]
    with server.open(LIMITS) as sandbox:
        sandbox.run(
            {
                "name": "same",
                "source": "def same(x):\n    return x\ndef strides(x):\n    return x.stride()",
                "forbidden": [],
            }
        )
        same, strides = (Remote(sandbox, Exercise("same", "", ""), name) for name in ("same", "strides"))
        for value in values:
            got = same(value)
            if isinstance(value, torch.Tensor):
                torch.testing.assert_close(got, value, rtol=0, atol=0)
            else:
                assert got == value
        assert strides(torch.zeros(2, 3).mT) == (1, 3)


def test_what_the_sandbox_says_of_forbidden_calls_is_not_repeated(assignment, server):
    """A submission that gets hold of its worker could tell hidden inputs to its author that way."""
    source = """
    def shares(x):
        import sys
        frame = getattr(sys, "_get" + "frame")()
        while frame:
            for value in list(frame.f_locals.values()):
                if type(value).__name__ == "Worker":
                    value.used.append(str(x.tolist()))
            frame = getattr(frame, "f_" + "back")
        powers = (x - x.amax(-1, keepdim=True)).exp()
        return powers / powers.sum(-1, keepdim=True)
    """
    outcome = grade(assignment, server, shares=source)
    assert outcome.used == {}


READY = "import socket, sys; socket.socket(fileno=int(sys.argv[1])).send(b'ready')"


def test_a_sandbox_that_is_gone_is_nobodys_zero(assignment, monkeypatch):
    monkeypatch.setattr(fork_server, "worker", lambda control: [sys.executable, "-I", "-S", "-c", READY, str(control)])
    with ForkServer(walled=False) as gone:
        gone.process.wait()
        with pytest.raises(BookError, match="the sandbox is gone"):
            grade(assignment, gone)


def test_a_message_nobody_reads_does_not_hold_up_the_grader(server):
    """A worker that has stopped reading while the grader sends more than fits into the pipe."""
    source = "import signal, time\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: time.sleep(1)"
    with server.open(Limits(cell=0.2, call=1, total=5, megabytes=512)) as sandbox:
        send(sandbox.pipe, {"do": "run", "source": source, "forbidden": []})
        with pytest.raises(NoAnswer, match=r"longer than 0\.2 seconds"):
            sandbox.run({"name": "long", "source": "#" + "x" * 900_000, "forbidden": []})
