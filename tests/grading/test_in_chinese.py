"""A class in Chinese: what is handed out, what checks say, and what comes back, by the command line."""

import ast
import re

import nbformat
import pytest

from attnbook.language import ENGLISH, speaking
from booktools.book.assignment import Assignment
from booktools.book.contents import read_notebook
from booktools.book.edition import edition
from booktools.book.limits import Limits
from booktools.book.said_in_code import HIDDEN, nbgrader
from booktools.book.translation import translate
from booktools.book.variants import GAP
from booktools.cli import main
from booktools.printers.student import write_copies
from grading.classroom import Classwork, Grader
from grading.prove import self_test
from grading.sandbox.fork_server import ForkServer
from grading.submissions import code_of
from tests import ROOT
from tests.grading.three_things import answered, write

SOURCES = sorted((ROOT / "assignments/source").glob("*.ipynb"))
VARIANTS = ROOT / "assignments/variants"
SECRET = "a secret for the tests"
FIVE = next(path for path in SOURCES if path.stem.startswith("05_"))
SENTENCE = re.compile(r"(?:\b[a-z]+ ){3}[a-z]+\b")
WRONG = {
    "spread": "def spread_of_scores(d, q_mean, q_std, k_mean, k_std):\n    return 0.0, 5.0, 1.0",
    "backward": "def attention_backward(grad, q, k, v, weights):\n"
    "    dv = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1).mT @ grad\n    return q, k, dv",
    "keys": "",
    "cosine": "class CosineAttention:\n    def __init__(self, *_, **__):\n        attention(*[torch.ones(1, 1)] * 3)",
}


@pytest.fixture(scope="module")
def server():
    with speaking("zh"), ForkServer() as server:
        yield server


class Wordless(ast.NodeTransformer):
    """Leaves of texts only the fields in them, in any order."""

    def visit_Constant(self, node):
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node):
        fields = sorted((part for part in node.values if isinstance(part, ast.FormattedValue)), key=ast.dump)
        return ast.Tuple(fields, ast.Load())


def wordless(source: str) -> str:
    return ast.dump(Wordless().visit(ast.parse(GAP.sub(r"__\1__", source))))


@pytest.mark.parametrize(
    "path", [*SOURCES, *sorted(VARIANTS.glob("*"))], ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_of_code_only_what_it_says_is_translated(path):
    english, chinese, changed = read_notebook(path), read_notebook(path), 0
    with speaking("zh"):
        translate(chinese, path.relative_to(ROOT).as_posix(), ROOT)
    for one, other in zip(english.cells, chinese.cells, strict=True):
        assert HIDDEN.findall(one.source) == HIDDEN.findall(other.source), one.id
        if one.cell_type == "code" and one.source != other.source:
            changed += 1
            try:
                assert wordless(one.source) == wordless(other.source), one.id
            except SyntaxError:  # where gaps stand in the place of signs
                assert GAP.findall(one.source) == GAP.findall(other.source), one.id
    assert changed >= 5


@pytest.mark.slow
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_translated_solution_passes_and_an_empty_copy_fails(path, server):
    """The public assignment and the variant of a student."""
    limits = Limits.within(1200)
    with speaking("zh"):
        for one in (Assignment.read(path, root=ROOT), Assignment.read(path, VARIANTS, ROOT).variant("ada", SECRET)):
            assert one.title.startswith(f"作业 {int(path.name[:2])}：")
            assert list(self_test(one, server, limits)) == []


@pytest.fixture
def classroom(tmp_path, monkeypatch):
    """Copies of assignment 5, one in each language, and a folder for what is handed in."""
    monkeypatch.chdir(ROOT)
    for tag in ("en", "zh"):
        assert main(["student", str(FIVE), "-o", str(tmp_path / tag), "--language", tag]) == 0
    (tmp_path / "submissions").mkdir()
    return tmp_path


def hand_in(classroom, student, tag="zh", answers=None):
    """A copy with the solution in it, or other answers."""
    solution = {cell.id: cell.source for cell in read_notebook(FIVE).cells if nbgrader(cell).get("solution")}
    copy = nbformat.read(classroom / tag / FIVE.name, 4)
    for cell in copy.cells:
        cell.source = (solution | (answers or {})).get(cell.id, cell.source)
    nbformat.write(copy, classroom / f"submissions/{student}.ipynb")
    return copy


@pytest.mark.slow
def test_a_class_is_graded_in_chinese(classroom, capsys):
    hand_in(classroom, "ada")
    hand_in(classroom, "bob", answers=WRONG)
    hand_in(classroom, "cleo", "en")  # who took the copy in English has no disadvantage
    right = "dscores = weights * (dweights - shared) / math.sqrt(q.shape[-1])"
    backward = next(cell.source for cell in read_notebook(FIVE).cells if cell.id == "backward")
    late = backward.replace(right, f"weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)\n    {right}")
    hand_in(classroom, "dan", answers={"backward": late})  # weights computed again, without the mask
    out = classroom / "graded"
    line = ["grade", str(FIVE), str(classroom / "submissions"), "-o", str(out), "--language", "zh"]
    assert main(line) == 0
    scores = {line.split(",")[0]: line.split(",")[5] for line in (out / "grades.csv").read_text("utf-8").splitlines()}
    assert scores == {"student": "score", "ada": "10", "bob": "0", "cleo": "10", "dan": "8"}
    said = {path.stem: path.read_text("utf-8") for path in (out / "feedback").glob("*.md")}
    for student in ("ada", "cleo"):
        assert said[student].startswith(f"# 作业 5：管住分数（10 / 10 分）\n\n给 `{student}`。\n")
        assert said[student].count("：对。") == 9
        assert "因出错而停下" not in said[student], "checks in another language are no code of a student's"
    assert "手算的例子：5 是方差；std 是它的根" in said["bob"]
    assert "它调用了 `attnbook.attention`，这道练习不许用：没有分。" in said["bob"]
    assert "找不到 effective_keys：它的单元运行时出错了吗？" in said["bob"]
    assert "你看得见的检查都通过了，但有一个隐藏的没有通过：答案不对。\n它试的是：查询和键的梯度" in said["dan"]
    for student, text in said.items():
        assert not SENTENCE.findall(text), student
    assert "只给你自己看" in (out / "summary.html").read_text("utf-8")
    assert "人工给分" in (out / "by_hand.html").read_text("utf-8")


@pytest.mark.slow
def test_a_look_over_in_chinese(classroom, monkeypatch, capsys):
    monkeypatch.setenv("ATTNBOOK_LANGUAGE", "zh")  # as the first code cell of a copy sets it
    monkeypatch.chdir(classroom / "submissions")
    copy = hand_in(classroom, FIVE.stem, answers={"spread": WRONG["spread"]})
    assert any(cell.source.endswith("%env ATTNBOOK_LANGUAGE=zh") for cell in copy.cells)
    capsys.readouterr()
    exec(copy.cells[-1].source, {})
    said = capsys.readouterr().out
    assert "1. 不整齐的数：检查 1 没有通过。AssertionError: 手算的例子：5 是方差；std 是它的根" in said
    assert said.count("你看得见的检查都通过了。") == 3
    assert not SENTENCE.findall(said)


def test_a_copy_in_another_language_has_no_code_of_its_own(tmp_path):
    """Nothing but the answers is a student's, whichever language the copy and the class have."""
    assignments, copies = {}, {}
    for tag in ("en", "zh"):
        with edition(ROOT, tag).spoken():
            assignments[tag] = Assignment.read(FIVE, root=ROOT)
        (path,) = write_copies(edition(ROOT, tag), tmp_path / tag, [assignments[tag]])
        copies[tag] = nbformat.read(path, 4)
    want = ["imports", *(exercise.id for exercise in assignments["en"].exercises)]
    for copy in copies.values():
        for assignment in assignments.values():
            cells = code_of(copy, assignment)
            assert [cell["name"] for cell in cells if cell["source"]] == want


def test_another_language_is_graded_anew(tmp_path):
    source = write(tmp_path / "source")
    write(tmp_path / "submissions", answered())
    work = Classwork.read(source, [tmp_path / "submissions"])
    grader = Grader(work.assignment, None, Limits())
    with speaking(ENGLISH):
        english = grader.digest(work.submissions[0])
    with speaking("zh"):
        assert grader.digest(work.submissions[0]) != english


def test_variants_say_their_words_in_chinese():
    path = next(path for path in SOURCES if path.stem.startswith("02_"))
    with speaking("zh"):
        source = Assignment.read(path, VARIANTS, ROOT)
    english = Assignment.read(path, VARIANTS)
    words = set()
    for n in range(20):
        mine, theirs = (one.variant(f"student {n}", SECRET) for one in (source, english))
        assert mine.mark == theirs.mark
        assert {name: text for name, text in mine.drawn.items() if text.isascii()}.items() <= theirs.drawn.items()
        words |= {mine.drawn["true_1"], mine.drawn["axes_1"], mine.drawn["what_2"]}
        assert f"True 的意思是：{mine.drawn['true_1']}" in mine.notebook.cells[2].source
    assert {"可以看", "*不*可以看", "批量、查询、键", "批量、键、查询", "键是真的地方是 True"} <= words


def test_a_language_that_the_book_has_not(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit):
        main(["student", str(FIVE), "-o", str(tmp_path), "--language", "fr"])
    assert "the book is not translated into fr; expected one of en, zh" in capsys.readouterr().err
