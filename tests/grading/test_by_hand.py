"""The page for points by hand: what it shows, what it saves, and that students' code stays a text in it."""

import pytest
from bs4 import BeautifulSoup

from booktools.book import BookError
from booktools.book.assignment import Assignment
from grading.adjustments import read_adjustments
from grading.by_hand import read_questions, write_by_hand
from grading.classroom import Grade
from grading.run_tests import Outcome, Result
from grading.scores import Scoring
from grading.submissions import Submission
from tests.browser.clocks import PATIENCE
from tests.browser.pages import PHONE
from tests.browser.visiting import chromium
from tests.grading.three_things import answered, write

ADJUSTED = 'login,exercise,points,comment\nada,2. A line,-0.5,"Right, but ""long""."\nada,all,1,\n'
EVIL = "def shares(x):\n    return '</pre><script>document.title = 1</script><img src=http://x.org onerror=alert(1)>'"


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def page(tmp_path):
    assignment = Assignment.read(write(tmp_path / "source"))
    where = {name: write(tmp_path / name, answered(**answers)) for name, answers in STUDENTS.items()}
    results = {test.id: Result() for exercise in assignment.exercises for test in exercise.tests}
    outcomes = {
        "ada": Outcome(results),
        "eve": Outcome(results | {"test-line": Result(hidden="<b>no</b>")}),
        "=cmd": None,
    }
    grades = [Grade(name, "graded" if one else "error", outcome=one) for name, one in outcomes.items()]
    (tmp_path / "adjustments.csv").write_text(ADJUSTED)
    (tmp_path / "questions.csv").write_text("login,exercise,question\nEVE,line,Why?\neve,line,<i>Really</i>\n")
    adjustments = read_adjustments(tmp_path / "adjustments.csv", assignment, outcomes)
    scores = Scoring(assignment, adjustments=adjustments).scores([Submission(n, where[n]) for n in outcomes], grades)
    questions = read_questions(tmp_path / "questions.csv", assignment, outcomes)
    write_by_hand(tmp_path / "by_hand.html", assignment, scores, None, adjustments, questions)
    return tmp_path / "by_hand.html"


STUDENTS = {
    "ada": {"more": "def helper(x):\n    return x", "count": "count = 12\n" * 100_000},
    "eve": {"shares": EVIL},
    "=cmd": {},
}


def test_it_shows_code_results_and_who_asks_first(page):
    soup = BeautifulSoup(page.read_text(), "html.parser")
    eve, ada, odd = soup.select("form > details")
    assert "open" in eve.attrs
    assert [one.get_text() for one in eve.select(".asked")] == ["Why?\n<i>Really</i>"]
    assert EVIL in [one.get_text() for one in eve.select("pre")]
    assert any("<b>no</b>" in one.get_text() for one in eve.select("p"))
    assert any("def helper(x):" in one.get_text() for one in ada.details.select("pre"))
    assert not odd.select("fieldset"), "a spreadsheet would run this login"
    assert len(soup.select("script")) == 1
    assert len(page.read_text()) < 300_000, "a page for a class, however much one of them writes"
    assert "http" not in str(soup.select("[src], [href]"))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_typed_is_a_table_that_the_grader_reads(scheme, page, browser, tmp_path):
    context = browser.new_context(viewport=PHONE, color_scheme=scheme, accept_downloads=True)
    tab = context.new_page()
    tab.goto(page.as_uri())
    assert tab.title() == "Three things: points by hand", "no code of a student's ran"
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.get_by_label("Points to add: eve, 2. A line").fill("half")
    tab.get_by_role("button", name="Save adjustments.csv").click()
    assert tab.evaluate("document.querySelector(':invalid:focus') !== null"), "no number, and the browser says so"
    tab.get_by_label("Points to add: eve, 2. A line").fill("1,5")
    tab.get_by_label("Comment: eve, 2. A line").fill('It was "right", as you say')
    assert tab.locator("output").inner_text() == "Rows in it: 3. Not saved yet."
    with tab.expect_download(timeout=PATIENCE) as saved:
        tab.get_by_role("button", name="Save adjustments.csv").click()
    saved.value.save_as(tmp_path / "saved.csv")
    context.close()
    assignment = Assignment.read(next((tmp_path / "source").glob("*.ipynb")))
    before = read_adjustments(tmp_path / "adjustments.csv", assignment, STUDENTS)
    after = read_adjustments(tmp_path / "saved.csv", assignment, STUDENTS)
    assert after["ada"] == before["ada"]
    ((exercise, points, comment),) = ((one.exercise, one.points, one.comment) for one in after["eve"])
    assert (exercise, points, comment) == ("line", 1.5, 'It was "right", as you say')


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("bob,line,Why?", "row 2: no student has the login 'bob'"),
        ("ada,lime,Why?", "Did you mean"),
        ("ada,line,", "no question"),
    ],
)
def test_a_question_that_cannot_be_meant_is_refused(row, says, tmp_path):
    (tmp_path / "questions.csv").write_text(f"login,exercise,question\n{row}\n")
    with pytest.raises(BookError, match=says):
        read_questions(tmp_path / "questions.csv", Assignment.read(write(tmp_path / "source")), ["ada"])
