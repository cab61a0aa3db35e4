"""Mutation testing: break the library on purpose, one small change at a time, and see whether a test notices.

    OMP_NUM_THREADS=1 .venv/bin/python -m tests.mutants [--count 200] [--seed 0] [MODULE ...]

torch and the test tools are imported once. Each mutant lives in a fork, which puts it where its module belongs and runs
the module's own tests, then the other tests of the library. Annotations are left alone, and so is what mostly makes
text: everything in a `raise`, an f-string, a sum with a string, a table of strings, or `extra_repr`.
"""

import argparse
import ast
import gc
import importlib.util
import os
import random
import re
import resource
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import einops  # noqa: F401 (for the forks, as are the next)
import hypothesis.strategies  # noqa: F401
import pytest
import torch

from tests import ROOT

# Survivors that no test can kill, because they compute the same: (module, what was changed, into what) and why.
EXPLAINED = {
    ("layers._additive_tiled", "'gpu': 2 ** 28", "'gpu': 2 ** 29"): "how large a tile is on a GPU is a matter of speed",
    ("layers._additive_tiled", "max(1, M * K *", "max(2, M * K *"): (
        "a tile of one byte is not met: it only avoids a division by 0"
    ),
    ("layers._additive_tiled", "max(1, min(rows, L))", "max(2, min(rows, L))"): (
        "tiles of one row or two give the same numbers"
    ),
    ("layers._additive_tiled", "/ 2 - 1", "/ 2 - 0"): (
        "the margin keeps clear of subnormal numbers, which cost a few more bits only"
    ),
    ("learning.vectors", "counts = pairs[:, 1]", "counts = pairs[:, 0]"): "every pair is there in both orders",
    ("learning.complexity", "def layer(self, d: int, number: int=0)", "def layer(self, d: int, number: int=1)"): (
        "the base class's, or that of a layer which is the same at every place"
    ),
    ("tasks.phrases", "return ''", "return None"): "either is left out of the words",
    ("tasks.phrases", "TypeVar('_Row', Noun, Adjective", "TypeVar('_Row', Adjective, Noun"): (
        "only a type checker reads it"
    ),
    ("tasks.phrases", "rng.random() < 0", "rng.random() <= 0"): "a chance of one in 2^53",
    ("layers.scaling", "torch.arange(K // 2", "torch.arange(K / 2"): "K is even",
    ("layers.scaling", "max(high - low, 0.001)", "max(high - low, 0.002)"): "either is far below one pair",
    ("models.experts", "scores.softmax(-1)", "scores.softmax(1)"): "tokens and experts are the only two axes",
    ("models.experts", "highest.softmax(-1)", "highest.softmax(1)"): "likewise",
    ("models.experts", "probabilities.shape[-1]", "probabilities.shape[1]"): "likewise",
    (
        "_inputs",
        "mask.shape[-2:], shape[-2:]",
        "mask.shape[-2:], shape[-3:]",
    ): "two axes fit the last two or they do not",
}

LAYERS = [
    *("layers.masks", "layers._known", "layers._sight", "layers.softmax", "layers.dot_product"),
    *("layers.additive", "layers._additive_tiled", "layers.multihead", "layers.positions", "_inputs"),
    *("layers.linear", "layers.scaling", "layers.latent", "layers.sparse"),
]
MODELS = [
    *("models.transformer", "models.experts", "models.decoding", "models._replay", "models.seq2seq"),
    *("learning.vectors", "learning.text", "learning.bytepairs", "learning.translation"),
    *("learning.training", "learning.complexity"),
]
TASKS = ["tasks.dates", "tasks.grammar", "tasks.phrases", "tasks.sentences"]
MODULES = [*LAYERS, *MODELS, *TASKS]


def own_suite(module: str) -> str:
    """The name of the module's own tests, or of those that are nearest to it.

    >>> [own_suite(module) for module in ("layers.masks", "layers._additive_tiled", "tasks.dates")]
    ['masks', 'additive', 'data']
    """
    room, _, name = module.rpartition(".")
    nearest = {"_known": "sight", "_sight": "sight", "_replay": "replay"}
    nearest |= {"_additive_tiled": "additive", "_inputs": "dot_product"}
    return "data" if room == "tasks" else nearest.get(name, name)


SUITES = [*dict.fromkeys(map(own_suite, MODULES)), "capture", "peers"]
LEAST_SCORE = 0.95
TIME_LIMIT = 240  # seconds of a processor, however many programs share it
MEMORY_LIMIT = 8 << 30  # bytes: a loop that never ends may fill a list

FIRST = (ast.Lt, ast.Gt, ast.Eq, ast.Is, ast.In, ast.Add, ast.Mult, ast.BitAnd, ast.And)
SECOND = (ast.LtE, ast.GtE, ast.NotEq, ast.IsNot, ast.NotIn, ast.Sub, ast.Div, ast.BitOr, ast.Or)
OTHER_OPERATOR = dict(zip(FIRST + SECOND, SECOND + FIRST, strict=True)) | {ast.FloorDiv: ast.Div, ast.Pow: ast.Mult}
ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
# Calls that can be left out: they return what they are called on, or given by torch, F or self, only changed.
OPTIONAL_CALLS = re.compile(
    "any|atleast_2d|clone|contiguous|cos|cumsum|detach|double|dropout|exp|expand|flatten|flip|float|masked_fill|mean|"
    "relu|repeat|reshape|roll|sin|softmax|squeeze|sum|tanh|to|transpose|tril|triu|type_as|unsqueeze|view_as"
)

COMMUTATIVE = ("max", "min", "torch.promote_types", "torch.equal", "F.cosine_similarity")  # arguments may change places


class Mutant(NamedTuple):
    """One module with one change."""

    module: str
    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.module}.py:{self.line}  {self.before}  →  {self.after}"

    def why_not(self) -> str | None:
        """Why no test can kill it, where that is explained."""
        for (module, before, after), why in EXPLAINED.items():
            if module == self.module and self.before.replace(before, after) == self.after != self.before:
                return why
        return None


def makes_text(node: ast.AST) -> bool:
    """Whether a node is there for a message only."""
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.FunctionDef(name="extra_repr"):
            return True
        case ast.BinOp(left=ast.Constant(str())) | ast.BinOp(right=ast.Constant(str())):
            return True
        case ast.Dict(values=[ast.Constant(str()), *_]):
            return True
    return False


def replacements(node: ast.AST, parent: ast.AST, field: str) -> Iterator[ast.AST]:
    """What may stand in a node's place."""
    match node:
        case ast.cmpop() | ast.operator() | ast.boolop() if type(node) in OTHER_OPERATOR:
            yield OTHER_OPERATOR[type(node)]()
        case ast.UnaryOp(op=ast.Not() | ast.Invert() | ast.USub()):
            yield node.operand
        case ast.Constant(value=bool(truth)):
            yield ast.Constant(not truth)
        case ast.Constant(value=int(number)):
            yield ast.Constant(number + 1)
            yield ast.Constant(number - 1)
        case ast.Constant(value=float(number)):
            yield ast.Constant(2 * number or 1.0)
        case ast.Constant(value=None) if isinstance(parent, ast.arguments):  # the default of an argument
            yield ast.Constant(1)
        case ast.Constant(value=str(pattern)) if "->" in pattern:  # of einops: (H K) becomes (K H)
            yield ast.Constant(re.sub(r"\((\w+) (\w+)\)", r"(\2 \1)", pattern, count=1))
        case ast.Attribute(attr="mT" | "T"):
            yield node.value
        case ast.Call(func=ast.Attribute(value=receiver, attr=name)) if OPTIONAL_CALLS.fullmatch(name):
            yield from node.args[:1] if ast.unparse(receiver) in ("torch", "F", "self") else [receiver]
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield ast.Pass()
        case ast.Return(value=ast.expr()):
            yield ast.Return(ast.Constant(None))
    if isinstance(node, ast.Call):
        for i, (a, b) in enumerate(pairwise(node.args)):
            alike = ast.unparse(node.func) in COMMUTATIVE
            if not alike and not any(isinstance(x, ast.Starred) or ast.unparse(x)[0] in "'\"" for x in (a, b)):
                yield ast.Call(node.func, [*node.args[:i], b, a, *node.args[i + 2 :]], node.keywords)
    if field in ("test", "ifs"):  # `not` and `is None`, `in`, `==` are turned round above
        done = isinstance(node, ast.UnaryOp) or (isinstance(node, ast.Compare) and type(node.ops[0]) not in ORDERS)
        yield from () if done else [ast.UnaryOp(ast.Not(), node)]


def changes(parent: ast.AST) -> Iterator[int]:
    """Make every change below a node in turn, give its line, and undo it."""
    for field, value in ast.iter_fields(parent):
        siblings = value if isinstance(value, list) else [value]
        for place, node in enumerate(siblings):
            if not isinstance(node, ast.AST) or field in ("annotation", "returns") or makes_text(node):
                continue
            for other in replacements(node, parent, field):
                siblings[place] = other
                setattr(parent, field, value if isinstance(value, list) else other)
                yield getattr(node, "lineno", None) or parent.lineno  # an operator has no line of its own
                siblings[place] = node
                setattr(parent, field, value)
            yield from changes(node)


def all_mutants(module: str) -> list[Mutant]:
    """Every mutant of a module, once."""
    tree = ast.parse(code_of(module).read_text())
    original = ast.unparse(tree)
    found = {}
    for line in changes(tree):
        source = ast.unparse(tree)
        if source != original:
            lines = zip(original.splitlines(), source.splitlines(), strict=False)
            before, after = next((a.strip(), b.strip()) for a, b in lines if a != b)
            found.setdefault(source, Mutant(module, line, before, after, source))
    return list(found.values())


def judge(mutants: list[Mutant], *, others: bool = True) -> Iterator[tuple[Mutant, str]]:
    """Whether each mutant survived, timed out or was killed; as many at a time as there are processors.

    Without `others`, by its own tests alone.
    """
    waiting, running = mutants[::-1], {}
    while waiting or running:
        while waiting and len(running) < os.cpu_count():
            mutant = waiting.pop()
            child = os.fork()
            if not child:
                live(mutant, others)
            running[child] = mutant
        child, status = os.wait()
        words = {0: "survived", -signal.SIGPROF: "timed out"}
        yield running.pop(child), words.get(os.waitstatus_to_exitcode(status), "killed")


def live(mutant: Mutant, others: bool) -> None:
    """Put the mutant where its module belongs, run the tests, and exit with 0 where they pass."""
    failed = True
    try:
        signal.setitimer(signal.ITIMER_PROF, TIME_LIMIT)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        spec = importlib.util.spec_from_file_location(f"attnbook.{mutant.module}", code_of(mutant.module))
        sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
        exec(compile(mutant.source, spec.origin, "exec"), module.__dict__)
        package, _, name = spec.name.rpartition(".")
        setattr(import_module(package), name, module)
        own = own_suite(mutant.module)
        rounds = [[own], [suite for suite in SUITES if suite != own]] if others else [[own]]
        options = ["-x", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
        failed = any(pytest.main([*options, *map(file_of, suites)]) for suites in rounds)
    finally:
        os._exit(failed)


def prepare() -> None:
    """Load what every fork needs, except attnbook; no plugins, no threads, no files left behind."""
    sys.dont_write_bytecode = True
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    torch.set_num_threads(1)
    import_module("attnbook.peers").d2l()
    for name in [name for name in sys.modules if name.split(".")[0] == "attnbook"]:
        del sys.modules[name]
    torch.compile(torch.sin, backend="aot_eager", fullgraph=True)(torch.ones(1, requires_grad=True))
    gc.freeze()  # or every fork spends seconds on looking through all this for garbage


def report(verdicts: dict[Mutant, str]) -> float:
    """Print scores, survivors and explained survivors; return the score."""
    survived = [mutant for mutant, verdict in verdicts.items() if verdict == "survived"]
    missed = Counter(mutant.module for mutant in survived if not mutant.why_not())
    counted = Counter(mutant.module for mutant in verdicts if mutant not in survived or not mutant.why_not())
    missed["all"], counted["all"] = missed.total(), counted.total()
    for name, n in counted.items():
        print(f"{name:22} {n - missed[name]:4} of {n:4} killed  {1 - missed[name] / n:6.1%}")
    print(f"{Counter(verdicts.values())['timed out']} of the killed timed out")
    for mutant in survived:
        print(f"explained: {mutant}: {mutant.why_not()}" if mutant.why_not() else f"survived: {mutant}")
    return 1 - missed["all"] / counted["all"]


def file_of(suite: str) -> str:
    return str(ROOT / "tests/library" / f"test_{suite}.py")


def code_of(module: str) -> Path:
    return ROOT / "src" / "attnbook" / f"{module.replace('.', '/')}.py"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", default=MODULES, metavar="MODULE", help=f"default: {' '.join(MODULES)}")
    parser.add_argument("--count", type=int, default=200, help="how many mutants to draw")
    parser.add_argument("--seed", type=int, default=0, help="which mutants to draw")
    args = parser.parse_args()
    for path in map(code_of, args.modules):
        if not path.exists():
            parser.error(f"{path.relative_to(ROOT)} does not exist")
    prepare()
    unchanged = [Mutant(module, 0, "", "", code_of(module).read_text()) for module in args.modules]
    for module, verdict in chain(judge(unchanged, others=False), judge(unchanged[:1])):
        if verdict != "survived":
            parser.error(f"the tests fail without a mutation of {module.module}: run pytest first")
    mutants = [mutant for module in args.modules for mutant in all_mutants(module)]
    drawn = random.Random(args.seed).sample(range(len(mutants)), min(args.count, len(mutants)))
    print(f"{len(drawn)} of {len(mutants)} mutants", flush=True)
    verdicts = dict(judge([mutants[place] for place in drawn]))
    return int(report(dict(sorted(verdicts.items()))) < LEAST_SCORE)


if __name__ == "__main__":
    sys.exit(main())
