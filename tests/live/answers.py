"""What is given to the checks: each stub as it stands, the answer that its chapter gives, and every known mistake."""

import ast
import re
import sys
from dataclasses import dataclass
from functools import cache

import nbformat

from attnbook import check
from booktools.book.cell_kinds import stub_check
from booktools.live.checks import sent_check
from tests import ROOT

# Where a chapter answers by a layer, or by a function with other arguments: the lines that make it what was asked for.
ADAPTED = {
    "my_lookup": """def my_lookup(q_K, k_MK, v_MV, temperature):
    return soft_lookup(q_K[None], k_MK, v_MV, temperature)[0][0]""",
    "my_step": """def my_step(letter, hidden, look, cell, output):
    context = look(hidden)
    hidden = cell(torch.cat([letter, context], -1), hidden)
    return output(torch.cat([hidden, context], -1)), hidden""",
    "my_scores": """def my_scores(queries, keys, W_q, W_k, w):
    return torch.tanh((queries @ W_q.T)[:, None] + keys @ W_k.T) @ w""",
    "my_layer": """def my_layer(x, W_q, W_k, W_v, W_o, heads):
    found = []
    for q, k, v in zip(W_q.chunk(heads), W_k.chunk(heads), W_v.chunk(heads)):
        found.append(attnbook.attention(x @ q.T, x @ k.T, x @ v.T)[0])
    return torch.cat(found, dim=-1) @ W_o.T""",
    "my_split": "def my_split(x_BLD, heads):\n    return split(x_BLD, heads)",
    "my_causal_layer": """def my_causal_layer(x, W_q, W_k, W_v, W_o, heads):
    layer = MultiHeadAttention(x.shape[-1], heads, causal=True)
    with torch.no_grad():
        for name, W in (("query", W_q), ("key", W_k), ("value", W_v), ("output", W_o)):
            getattr(layer, name).weight.copy_(W)
    return layer(x, x, x)[0]""",
    "my_sinusoidal": "def my_sinusoidal(length, D):\n    return sinusoidal(length, D)",
    "my_rotary": "def my_rotary(x_LK):\n    return rotary(x_LK)",
    "my_tiled": "def my_tiled(*given):\n    return tiled(*given)[0]",
    "my_rms_norm": """def my_rms_norm(x_BLD, gain_D):
    return gain_D * x_BLD * (x_BLD.square().mean(-1, keepdim=True) + 1e-5).rsqrt()""",
    "my_induction_score": "def my_induction_score(weights_HLL, n):\n    return induction_score(weights_HLL, n)",
    "my_block": """def my_block(x, attention, norm_1, feed_forward, norm_2):
    x = norm_1(x + attention(x))
    return norm_2(x + feed_forward(x))""",
    "my_greedy": """def my_greedy(model, start, stop, length):
    ids = [start]
    while len(ids) < length and ids[-1] != stop:
        ids.append(model(torch.tensor(ids))[-1].argmax().item())
    return ids""",
}


@dataclass(frozen=True)
class Stub:
    file: str  # what the page is sent for it
    check: str
    name: str
    written: str
    ours: str


@cache
def stubs() -> tuple[Stub, ...]:
    found = []
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        cells = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
        for place, cell in enumerate(cells):
            if asked := stub_check(cell):
                written = re.split(r"\n+check\.", cell.source)[0]
                before = [node for other in cells[:place] for node in definitions(other.source)]
                after = cells[place + 1].source
                imports = re.findall(r"^(?:from|import) .*\n", after, re.M)
                ours = "".join(imports) + answered(asked[1], before, definitions(after))
                found.append(Stub(f"{path.stem[:2]}-{cell.id}.json", *asked, written, ours))
    return tuple(found)


def definitions(source: str) -> list[ast.stmt]:
    """The functions and classes of a cell, without its stubs."""
    if "# your code" in source:
        return []
    source = re.sub(r"^[%!].*", "", source, flags=re.M)
    return [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def answered(name: str, before: list, after: list) -> str:
    """The last function or class of a cell under the name that was asked for, with those that it needs."""
    if name in ADAPTED:
        last = ast.parse(ADAPTED[name]).body[0]
        end = ADAPTED[name]
    else:
        last, end = after[-1], f"{ast.unparse(after[-1])}\n\n\n{name} = {after[-1].name}"
    known, needed, left = {node.name: node for node in [*before, *after]}, [], [last]
    while left:
        for part in ast.walk(left.pop()):
            node = known.get(part.id) if isinstance(part, ast.Name) else None
            if node and node is not last and node not in needed:
                needed.append(node)
                left.append(node)
    lines = [ast.unparse(node) for node in known.values() if node in needed]
    return "\n\n\n".join([*lines, end])


def mistakes(name: str) -> list[tuple[str, str]]:
    """The known mistakes of a check: code that reaches for one, and what PyTorch says of it."""
    judge = getattr(check, name)
    module = sys.modules[judge.__wrapped__.__module__]
    tables = re.findall(r"^(WRONG_\w+) =", sent_check(name)["source"], re.M)
    return [
        (f"import trial\nanswer = trial.SPACE[{table!r}][{mistake!r}]", str(judge(wrong)))
        for table in tables
        for mistake, wrong in getattr(module, table).items()
        if not is_for_another(name, table)
    ]


def is_for_another(name: str, table: str) -> bool:
    """A check of layers, or of tests, holds the mistakes of the functions that those are made of, too."""
    return table == "WRONG_ATTENTION" and name != "attention"
