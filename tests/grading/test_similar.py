"""Code that is alike: copies are found however they are dressed, and right answers in other styles are not."""

import ast
from itertools import combinations

import nbformat
import pytest

from booktools.book.assignment import Assignment
from booktools.book.limits import Limits
from booktools.cli import main
from grading.run_tests import run_tests
from grading.similarity import MANY, similar, statements, stretches
from grading.submissions import code_of
from tests import ROOT
from tests.grading.styles import STYLES, disguised
from tests.grading.three_things import answered, write

SOURCE = next((ROOT / "assignments/source").glob("05_*.ipynb"))
THRESHOLD = 0.4


@pytest.fixture(scope="module")
def five():
    return Assignment.read(SOURCE)


@pytest.fixture(scope="module")
def alike(five):
    """The shares of pairs in a class that hands in these, cell by cell."""
    given = [cell.source for cell in five.student().cells if cell.cell_type == "code"]
    solution = [exercise.source for exercise in five.exercises]

    def alike(**codes):
        return {pair.names: pair.share for pair in similar(codes, given, solution, 0)}

    return alike


@pytest.mark.slow
def test_all_styles_are_right(five, server):
    for style, answers in STYLES.items():
        cells = [cell | {"source": answers.get(cell["name"], cell["source"])} for cell in code_of(five.notebook, five)]
        assert run_tests(five, cells, server, Limits()).total(five) == 10, style


def cells(style):
    return list(STYLES[style].values())


def test_a_statement_that_is_too_deep_to_be_written_is_left_out():
    found = statements("x = " + "1 + " * 400 + "1\ny = f(a, b) + g(c, d)", 5)
    assert list(found.values()) == [{2}]


def test_right_answers_in_other_styles_are_far_below_the_threshold(alike):
    shares = alike(**{style: cells(style) for style in STYLES})
    assert len(shares) == 10
    assert max(shares.values()) < 0.1


def test_a_copy_with_other_names_comments_and_layout_is_far_above_it(alike):
    for style in STYLES:
        shares = alike(mine=cells(style), theirs=[disguised(cell) for cell in reversed(cells(style))])
        assert shares["mine", "theirs"] > 0.7, style


@pytest.mark.parametrize("nothing", ["_ = 0", "pass", "unread = len('abc')", "assert True; pass"])
def test_a_copy_with_a_line_that_does_nothing_after_each_line_is_found(nothing, alike):
    for style in STYLES:
        theirs = [padded(disguised(cell), nothing) for cell in cells(style)]
        assert alike(mine=cells(style), theirs=theirs)["mine", "theirs"] > 0.9, style


def padded(source, nothing):
    """The code with another statement after each simple one."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(getattr(node, "body", None), list):
            node.body = [one for own in node.body for one in (own, *ast.parse(nothing).body)]
    return ast.unparse(tree)


def test_half_a_copy_is_above_it(alike):
    for one, other in combinations(STYLES, 2):
        half = [*cells(one)[:2], *cells(other)[2:]]
        shares = alike(one=cells(one), other=cells(other), half=half)
        assert max(shares["one", "half"], shares["other", "half"]) > THRESHOLD
        assert shares["one", "other"] < 0.1


def test_what_was_handed_out_and_what_is_published_is_no_likeness(alike, five):
    copy = [cell.source for cell in five.student().cells if cell.cell_type == "code"]
    solution = [exercise.source for exercise in five.exercises]
    assert alike(ada=copy, bob=copy) == {}
    assert alike(ada=[*copy, *solution], bob=[*copy, *solution]) == {("ada", "bob"): 0}


def test_the_same_idiom_in_two_who_wrote_much_as_the_solution_does(alike, five):
    own = [exercise.source.replace(".mT", ".transpose(-1, -2)") for exercise in five.exercises]
    assert 0 < alike(ada=own, bob=own)["ada", "bob"] < THRESHOLD


def test_what_many_have_is_how_one_writes_it(alike):
    ring = {f"s{n:02}": cells("terse") for n in range(MANY)}
    assert min(alike(**ring).values()) > 0.7
    assert max(alike(**ring, one_more=cells("terse")).values()) == 0


def test_code_that_is_no_python_counts_as_far_as_it_goes():
    text = "def f(a, b):\n    return [a + b * n for n in range(10) if n > a]\n"
    assert stretches(text + '"""') == stretches(text)
    assert stretches("?" * 50) == {}


def test_a_magic_hides_no_statement():
    text = "def f(a, b):\n    total = a.sum() + b.mean() * 3\n    return total / len(a) + b[0]"
    plain, timed = statements(text), statements(f"%%time\n%matplotlib inline\n!ls\n{text}")
    assert {piece: {line + 3 for line in lines} for piece, lines in plain.items()} == timed
    assert len(plain) == 3
    assert statements("%time total = a.sum() + b.mean() * 3").keys() < plain.keys()


def test_the_lines_in_common_are_named():
    shared = "for n in range(10):\n    total += n * (n + 1) // 2 + values[n] - means[n] ** 2\n"
    own = "def f(x, y):\n    if x > y and not (x == 1 or y == 2):\n        return [x, y, {x: y}]\n    return None\n" * 2
    codes = {
        "ada": [own + shared],
        "bob": ["import os\n", f"# mine\n{shared.replace('total', 'acc')}" + "".join(f"x = {n}\n" for n in range(12))],
    }
    (pair,) = similar(codes, [], [], 0)
    assert pair.lines == ([(0, 9), (0, 10)], [(1, 2), (1, 3)])


def test_the_command_tells_a_hint(tmp_path, capsys):
    source, folder = write(tmp_path / "source"), tmp_path / "submissions"
    folder.mkdir()
    long = "def shares(x):\n" + "".join(f"    y{n} = x.exp() + {n} * x.sum(-1, keepdim=True)\n" for n in range(9))
    for name, shares in {
        "ada": long + "    return y1  # <b>mine</b>",
        "bob": long.replace("y", "z") + "    return z1",
        "eve": "def shares(x):\n    return x",
    }.items():
        nbformat.write(answered(shares=shares), folder / f"{name}.ipynb")
    (folder / "odd.ipynb").write_text("{")
    assert main(["similar", str(source), str(folder), "-o", str(tmp_path / "out")]) == 0
    assert "Pairs that are alike, among 3 students: 1. A hint, no evidence" in capsys.readouterr().out
    assert (tmp_path / "out/similar.csv").read_text().splitlines()[1].startswith("ada,bob,")
    told = (tmp_path / "out/similar.html").read_text()
    assert "A hint where to look, but no evidence." in told
    assert "<mark>    y3 = x.exp() + 3 * x.sum(-1, keepdim=True)</mark>" in told
    assert "<b>" not in told
    assert "http:" not in told
    assert "https:" not in told
