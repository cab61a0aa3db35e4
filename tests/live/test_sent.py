"""What is sent of a check: its module's source in words that MicroPython reads, or a reason why not."""

import ast
import importlib.util
import math
from collections import OrderedDict

import pytest
import torch
from nbformat.v4 import new_code_cell

from attnbook import check
from booktools.book.statements import statements
from booktools.live import checks
from booktools.live.checks import needed_words, sent_check, tensor_json
from booktools.live.definitions import names_above
from booktools.live.source import NotForThePage, Reworded, source_of
from booktools.live.stubs import sent_stub


def planted(tmp_path, source):
    path = tmp_path / "planted.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("planted", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HEAD = "import torch\n\nCASES = {'one': (torch.ones(2), 1.0)}\nWRONG = {'twice': lambda x: _double(x)}\n\n"
BODY = "def _double(x):\n    return 2 * x\n\n\ndef unused():\n    return CASES\n\n\n"


def test_what_is_reached_is_sent_and_nothing_else(tmp_path):
    tensors = []
    module = planted(tmp_path, f"{HEAD}{BODY}def judge(answer):\n    return answer(*CASES['one']), WRONG\n")
    source = source_of(module, {"judge"}, tensors)
    assert "unused" not in source
    assert "tensors[0]" in source
    space = {"tensors": tensors, "page_ordered": OrderedDict}
    exec(source, space)
    answer, wrong = space["judge"](lambda x, n: x + n)
    assert torch.equal(answer, torch.full((2,), 2.0))
    assert wrong["twice"](4) == 8


def test_what_draws_while_it_judges_is_refused(tmp_path):
    module = planted(tmp_path, f"{HEAD}def judge(answer):\n    return answer(torch.randn(2))\n")
    with pytest.raises(NotForThePage, match="line 7: it draws numbers while it judges; draw them into a name"):
        source_of(module, {"judge"}, [])


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("torch.linalg_of_another_time(x)", "it asks for torch.linalg_of_another_time"),
        ("from attnbook import MultiHeadAttention", "it asks for attnbook.MultiHeadAttention"),
    ],
)
def test_what_the_page_lacks_is_refused(source, said):
    with pytest.raises(NotForThePage, match=said):
        checks.refuse_unknown(source)


def test_what_is_no_check_is_refused():
    with pytest.raises(NotForThePage, match=r"check\.WRONG_CAUSAL can't be run on a page: .* no such `@exercise`"):
        sent_check("WRONG_CAUSAL")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in dir(check) if hasattr(getattr(check, name), "__wrapped__")])
def test_every_check_is_sent(name):
    assert f"def {name}(answer)" in sent_check(name)["source"]


@pytest.mark.parametrize(
    "expression",
    [
        "[*a, 3, *a]",
        "(*a, 3)",
        "{**d, 'z': 1, **{'y': 2}}",
        "{k: v for k, v in d.items()}",
        "isinstance(3, int | str), isinstance(3, (int, str)), isinstance(3, int)",
        "a[slice(None, -1)], a[slice(1, None)]",
        "max(*a, *a)",
        "{*a, 3}",
        "list(zip(a, a, strict=True))",
    ],
)
def test_other_words_say_the_same(expression):
    class Cut:
        def __getitem__(self, bounds):
            return bounds

    def ordered(*parts):
        return {key: value for part in parts for key, value in dict(part).items()}

    space = {"a": [1, 2], "d": {"b": 1, "a": 2}, "page_cut": Cut(), "page_ordered": ordered}
    reworded = ast.unparse(ast.fix_missing_locations(Reworded().visit(ast.parse(expression, mode="eval"))))
    assert reworded != expression or expression == "isinstance(3, int)"
    assert eval(reworded, space) == eval(expression, space)


def test_a_tensor_is_as_small_as_can_be():
    assert tensor_json(torch.ones(1, 66_000).half()) == {"dtype": "float16", "shape": [1, 66_000], "all": 1.0}
    assert tensor_json(torch.tensor([1, 2])) == {"dtype": "int64", "shape": [2], "data": [1, 2]}
    assert tensor_json(torch.tensor([True, False]))["data"] == [1, 0]
    assert tensor_json(torch.tensor([0.5, -1.25])) == {"dtype": "float32", "shape": [2], "data": [50, -125], "per": 100}
    assert tensor_json(torch.tensor([0.5, 1.0, 2**-9]))["bytes"] == "AAAAPwAAgD8AAAA7"
    assert tensor_json(torch.tensor([math.inf, 1.0]))["bytes"] == "AACAfwAAgD8="


def test_words_are_those_that_are_named():
    said = dict(dict(needed_words("say('unwritten')")["attnbook/checks"])["said"])
    assert set(said) == {"unwritten"}


def test_what_a_chapter_had_before_its_stub():
    before = ["%matplotlib inline", "import math, numpy\nfrom attnbook import causal, plots\nPAD = 0\nrow = [1]"]
    found = sent_stub("causal", statements(new_code_cell(source) for source in before))
    assert found["given"] == [
        ["import math", "math"],
        ["from attnbook import causal", "causal"],
        ["PAD = 0", "PAD"],
    ]


def test_what_a_stub_may_ask_for():
    two = "def twice(x):\n    return 2 * x\n\n\ndef drawn(x):\n    return plots.drawn(twice(x))"
    sources = ["import math, numpy\nfrom attnbook import plots", two, "four = twice(2)", "twice = 3"]
    found = names_above(statements(new_code_cell(source) for source in sources), stubs=())
    assert found["names"] == {"math": 0, "numpy": 0, "plots": 0, "twice": 1, "drawn": 1, "four": 2}
    assert found["definitions"] == [(1, "twice", "def twice(x):\n    return 2 * x"), (3, "twice", "")]


def test_a_definition_that_the_page_could_not_even_read_is_left_out():
    """A class reads its base when it is defined: one that asks for a missing base would break every answer after it."""
    sources = ["import torch", "class Own(torch.autograd.Function):\n    pass", "def twice(x):\n    return 2 * x"]
    sources += ["def slope(f, x):\n    return torch.autograd.functional.jacobian(f, x)"]
    found = names_above(statements(new_code_cell(source) for source in sources), stubs=())
    assert [name for _, name, line in found["definitions"] if line] == ["twice", "slope"]
