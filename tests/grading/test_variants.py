"""A variant for each student: what is drawn, who gets which, and that no other answer passes."""

import ast
from collections import Counter

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from booktools.book import BookError
from booktools.book.assignment import Assignment
from booktools.book.edition import edition
from booktools.book.limits import Limits
from booktools.book.variants import GAP, Draw, drawn_values, fill_gaps, seed_of
from booktools.cli import main
from booktools.printers.student import same_for_neighbours, write_variants
from grading.classroom import Classwork, grade_all
from grading.prove import Proof, prove_all
from tests import ROOT
from tests.grading.three_things import three_things, write

VARIED = sorted((ROOT / "assignments/variants").glob("*.ipynb"))
SECRET, LAST = "a secret for the tests", "the secret of last year"
CLASS = [f"student{n:03}" for n in range(200)]
LIMITS = Limits()
CELL = """
factor, up = number(2, 5000), choice(True, False)
name = "larger" if up else "smaller"
sign = "+" if up else "-"
"""
SHARES = '''
def shares(x):
    """exp(x) / Σ exp(x) over the last axis, times <<factor>>"""
    ### BEGIN SOLUTION
    powers = (x - x.amax(-1, keepdim=True)).exp()
    return <<factor>> * powers / powers.sum(-1, keepdim=True)
    ### END SOLUTION
'''
TEST = """
assert shares(torch.zeros(2)).shape == (2,)
### BEGIN HIDDEN TESTS
x = torch.tensor([1.0, 2.0, 4.0])
assert_close(shares(x), <<factor>> * x.softmax(-1))
### END HIDDEN TESTS
"""
COUNT = "### BEGIN SOLUTION\ncount = 12 <<sign>> <<factor>>\n### END SOLUTION"
TEST_COUNT = """
assert isinstance(count, int)
### BEGIN HIDDEN TESTS
assert count == 12 <<sign>> <<factor>>
### END HIDDEN TESTS
"""


@pytest.fixture
def source(tmp_path):
    path = write(tmp_path / "assignments/source")
    wrong = path.parents[1] / "wrong/three_things.toml"
    wrong.parent.mkdir()
    entry = '[[wrong]]\nname = "by {0}"\nexercise = "count"\nfind = "count = 12"\nput = "count = {0}"\n'
    wrong.write_text("".join(entry.format(n) for n in range(8)))
    return path


def overlay_with(source, cell=CELL, **changed):
    """A private folder in which two exercises of the three vary."""
    cells = {"shares": SHARES, "test-shares": TEST, "test-slope": TEST, "count": COUNT, "test-count": TEST_COUNT}
    notebook = three_things()
    notebook.cells = [one for one in notebook.cells if one.id in cells]
    for one in notebook.cells:
        one.source = changed.get(one.id, cells[one.id]).strip("\n")
    notebook.cells += [
        new_markdown_cell("## 3. Three times four\n\nAnd <<factor>> <<name>>.", id="task-count"),
        new_code_cell(cell.strip("\n"), id="variant", metadata={"tags": ["variant"]}),
    ]
    return write(source.parents[2] / "private", notebook).parent


# What is drawn


def test_every_value_is_drawn_and_none_too_often():
    numbers = Counter(Draw(str(n)).number(3, 12) for n in range(5000))
    assert sorted(numbers) == list(range(3, 13))
    assert max(numbers.values()) < 1.25 * min(numbers.values())


def test_a_draw_comes_out_in_another_way_and_all_others_stay():
    for n in range(50):
        for redrawn in range(4):
            plain, other = Draw(str(n)), Draw(str(n), redrawn)
            pairs = [(plain.number(1, 5), other.number(1, 5)) for _ in range(4)]
            assert [place for place, (a, b) in enumerate(pairs) if a != b] == [redrawn]
            assert all(1 <= value <= 5 for pair in pairs for value in pair)
    assert Draw("one", 0).choice("the only one") == "the only one"


def test_a_seed_is_a_students_a_years_and_an_assignments():
    assert seed_of("ada", SECRET, "x") == seed_of(" Ada ", SECRET, "x")
    seeds = {seed_of(*given) for given in [("ada", SECRET, "x"), ("bob", SECRET, "x"), ("ada", LAST, "x")]}
    assert len(seeds | {seed_of("ada", SECRET, "y")}) == 4


def test_what_a_variant_cell_does_wrong_is_said():
    with pytest.raises(BookError, match=r"tag variant: ZeroDivisionError: division by zero"):
        drawn_values("x = 1 / 0", Draw(""))
    with pytest.raises(BookError, match=r"draws no <<bass>>"):
        fill_gaps("to the <<bass>>", {"base": "3"})
    assert fill_gaps("1 << n >> 2, a<<b", {}) == "1 << n >> 2, a<<b", "shifts are no gaps"


# The book's own


@pytest.mark.slow
@pytest.mark.parametrize("path", VARIED, ids=lambda path: path.stem)
def test_copies_of_a_class(path):
    """No two in 200 get the same, neighbours get no exercise in common, and nothing is left open or told."""
    assignment = Assignment.read(ROOT / "assignments/source" / path.name, path.parent)
    assert all(GAP.search(exercise.source) for exercise in assignment.exercises), "an exercise is the same for all"
    assert same_for_neighbours(assignment, CLASS, SECRET) == []
    everybody = {tuple(assignment.variant(student, SECRET).drawn.items()) for student in CLASS}
    assert len(everybody) == len(CLASS)
    for student in CLASS[:20]:
        variant = assignment.variant(student, SECRET)
        assert [one.points for one in variant.exercises] == [one.points for one in assignment.exercises]
        assert not any(GAP.search(cell.source) for cell in variant.notebook.cells)
        for cell in variant.student().cells:
            assert "SOLUTION" not in cell.source
            if cell.cell_type == "code":
                ast.parse(cell.source)


@pytest.mark.slow
@pytest.mark.parametrize("path", VARIED, ids=lambda path: path.stem)
def test_a_variant_is_proven(path, server):
    """`attnbook prove` proves fifty; here it is one of them, which gets the 17th, the 67th, … of the known mistakes."""
    proof = Proof.read(ROOT / "assignments/source" / path.name, path.parent, 50)
    assert len(proof.misfits) <= len(proof.mistakes) / 3
    assert all(variant.alike == [] for variant in proof.variants)
    assert list(proof.variants[16].problems(server, Limits.within(1200))) == []


# Copies


def test_copies_go_into_a_folder_for_each_student(source, tmp_path, monkeypatch, capsys):
    overlay, out = overlay_with(source), tmp_path / "out"
    (tmp_path / "secret").write_text(SECRET + "\n")
    (tmp_path / "roster.csv").write_text("login,name\nada,Ada Lovelace\nbob,Bob\n\n")
    monkeypatch.chdir(ROOT)
    line = ["student", str(source), "--overlay", str(overlay), "-o", str(out)]
    assert main(line) == 1
    assert "three_things is another one for each student. It needs" in capsys.readouterr().err
    line += ["--roster", str(tmp_path / "roster.csv"), "--secret", str(tmp_path / "secret")]
    assert main(line) == 0
    assert sorted(path.parent.name for path in out.rglob("*.ipynb")) == ["ada", "bob"]
    text = (out / "ada/three_things.ipynb").read_text()
    factor = Assignment.read(source, overlay).variant("ada", SECRET).drawn["factor"]
    assert "This is the copy of `ada`." in text
    assert f"over the last axis, times {factor}" in text
    assert "<<" not in text
    about, mark = (
        nbformat.reads(text, 4).metadata.attnbook,
        Assignment.read(source, overlay).variant("ada", SECRET).mark,
    )
    assert (about.student, about.mark) == ("ada", mark)
    assert "number(" not in text, "how it is drawn is not told"


def test_copies_that_are_the_same_for_everybody_are_told(source, tmp_path, monkeypatch, capsys):
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "roster.csv").write_text("login,name\nada,Ada\nbob,Bob\n")
    monkeypatch.chdir(ROOT)
    private = ["--roster", str(tmp_path / "roster.csv"), "--secret", str(tmp_path / "secret"), "-o", str(tmp_path)]

    def told(*arguments):
        assert main(["student", *map(str, arguments), *private]) == 0
        return [line for line in capsys.readouterr().out.splitlines() if not line.endswith(".ipynb")]

    same = "is the same for everybody: it has no variants;"
    assert told(source) == [f"three_things {same} the instructors' page says how to vary an assignment."]
    (varied,) = (ROOT / "assignments/source").glob("02_*.ipynb")
    assert told(varied) == [f"{varied.stem} {same} --overlay assignments/variants has them."]
    assert told(varied, "--overlay", "assignments/variants") == []


def test_neighbours_with_the_same_exercise_are_not_written(source, tmp_path):
    overlay = overlay_with(source, cell="factor, sign, name = choice(2, 3), '+', 'larger'")
    assignment = Assignment.read(source, overlay)
    with pytest.raises(BookError, match=r"student\d+ and student\d+ would get the same exercise, 1\. Shares"):
        write_variants(edition(ROOT), tmp_path / "out", [assignment], CLASS[:20], SECRET)
    assert not (tmp_path / "out").exists()


def test_a_short_secret_is_refused(source, tmp_path, capsys):
    (tmp_path / "secret").write_text("short")
    with pytest.raises(SystemExit):
        main(["student", str(source), "-o", str(tmp_path), "--secret", str(tmp_path / "secret")])
    assert "holds 5 characters; a secret has 16 or more" in capsys.readouterr().err


# Grades and proofs


@pytest.mark.slow
def test_everybody_is_graded_by_a_variant_of_their_own(source, tmp_path, server):
    assignment = Assignment.read(source, overlay_with(source))
    answers = {
        "ada": assignment.variant("ada", SECRET),
        "bob": assignment.variant("ada", SECRET),
        "cleo": assignment.variant("cleo", LAST),
        "dan": Assignment.read(source),
        "eve": Assignment.read(source),
    }
    says = {"bob": ("ada", answers["ada"].mark), "dan": ("DAN", ""), "eve": ("ada", answers["cleo"].mark)}
    submissions = tmp_path / "submissions"
    submissions.mkdir()
    for student, answer in answers.items():
        name, mark = says.get(student, (student.upper(), answer.mark))
        answer.notebook.metadata["attnbook"] |= {"student": name, "mark": mark}
        nbformat.write(answer.notebook, submissions / f"{student}.ipynb")

    def scores(secret):
        work = Classwork.read(source, [submissions], tmp_path / "private", secret)
        grades = grade_all(work, tmp_path / "out", server, limits=LIMITS)
        remarks = {"bob": "this is the copy of ada"} if secret == SECRET else {}
        assert {one.student: one.remark for one in grades if one.remark} == remarks, "eve frames ada, without her mark"
        return {grade.student: grade.outcome.total(assignment) for grade in grades}

    assert scores(SECRET) == {"ada": 10, "bob": 3, "cleo": 3, "dan": 3, "eve": 3}, "3 points are the same for all"
    assert scores(LAST) == {"ada": 3, "bob": 3, "cleo": 10, "dan": 3, "eve": 3}, "graded afresh with another secret"
    with pytest.raises(BookError, match="--secret FILE"):
        scores(None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({}, []),
        (
            {
                "test-shares": TEST.replace("shares(x), <<factor>> *", "shares(x) / shares(x).sum(),"),
                "test-slope": TEST.replace("shares(x), <<factor>> *", "shares(x) / shares(x).sum(),"),
            },
            [
                "no hidden test fails for 'the answer of student 2' (shares)",
                'no hidden test fails for "last year\'s answer" (shares)',
                "no hidden test fails for 'the public answer' (shares)",
                "no hidden test fails for 'an answer for another draw 1' (shares)",
            ],
        ),
        ({"cell": CELL + "unused = choice(1, 2)"}, ["no solution depends on draw 3"]),
        ({"cell": CELL.replace("5000", "2")}, ["the answer of student 2 is right (shares)"]),
        (
            {"count": COUNT.replace("12 <<sign>>", "12 +")},
            ["the solution: test-count: this does not hold: "],
        ),
    ],
    ids=["sound", "a convention that is not tested", "a draw without effect", "alike", "a solution for some"],
)
def test_the_proof_of_variants_finds(changed, says, source, server):
    proof = Proof.read(source, overlay_with(source, **changed), 3)
    found = [said for variant in proof.variants for said in variant.problems(server, LIMITS)]
    assert bool(found) == bool(says)
    for one in says:
        assert any(one in said for said in found), (one, found)


@pytest.mark.slow
def test_what_is_proven_of_variants_is_said(source, server, capsys):
    prove_all([Proof.read(source, overlay_with(source), 3)], server)
    said = capsys.readouterr().out
    assert "3 students' variants: proven" in said
