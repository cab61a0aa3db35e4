"""What a class fell over: the counts, the table and the page."""

import csv

import pytest
from bs4 import BeautifulSoup

from booktools.book.assignment import Assignment
from grading.classroom import Grade
from grading.run_tests import Outcome, Result
from grading.scores import Scoring
from grading.submissions import Submission
from grading.summary import failures_by_check, write_summary
from grading.wording import say
from tests.grading.three_things import write


@pytest.fixture(scope="module")
def assignment(tmp_path_factory):
    return Assignment.read(write(tmp_path_factory.mktemp("source")))


def outcome(used=(), **results):
    names = ["test-shares", "test-slope", "test-line", "test-count"]
    found = {name: Result() for name in names} | {name.replace("_", "-"): result for name, result in results.items()}
    return Outcome(found, used={name: ["torch.softmax"] for name in used})


UNWRITTEN = Result(say("unwritten"))
CLASS = {
    "ada": outcome(),
    "bob": outcome(test_count=Result(hidden="expected 12, got 13"), test_line=UNWRITTEN),
    "eve": outcome(test_count=Result(hidden="expected 12, got -7.5"), used=["shares"]),
    "zoe": outcome(test_count=Result("NameError: <b>count</b>"), test_slope=Result("no gradient reaches x")),
    "late": None,
}


@pytest.fixture(scope="module")
def scores(assignment):
    grades = [Grade(name, "graded" if one else "error", outcome=one) for name, one in CLASS.items()]
    return Scoring(assignment).scores([Submission(name, None) for name in CLASS], grades)


def test_checks_come_by_how_many_fell(assignment, scores):
    failures = failures_by_check(assignment, scores)
    found = {(one.exercise.id, one.number): (one.count, one.of, dict(one.how)) for one in failures}
    assert list(found.items()) == [
        (("count", 1), (3, 4, {"hidden": 2, "visible": 1})),
        (("shares", 2), (2, 4, {"forbidden": 1, "visible": 1})),
        (("shares", 1), (1, 4, {"forbidden": 1})),
        (("line", 1), (1, 4, {"unwritten": 1})),
    ]


def test_the_sentence_is_what_most_were_told_whatever_its_numbers(assignment, scores):
    first, *_, last = failures_by_check(assignment, scores)
    assert first.sentence == ("expected 12, got 13", 2)
    assert last.sentence == ("", 0)


def test_the_table(assignment, scores, tmp_path):
    write_summary(tmp_path, assignment, scores)
    with open(tmp_path / "summary.csv", newline="", encoding="utf-8") as file:
        first, *_ = csv.DictReader(file)
    assert first == {
        **{"exercise": "3. Three times four", "check": "1", "points": "2", "graded": "4", "fell": "3"},
        **{"unwritten": "0", "visible": "1", "hidden": "2", "forbidden": "0"},
        **{"said most often": "expected 12, got 13", "times": "2"},
    }


def test_the_page_stands_alone_and_its_picture_has_the_tables_numbers(assignment, scores, tmp_path):
    write_summary(tmp_path, assignment, scores)
    text = (tmp_path / "summary.html").read_text("utf-8")
    page = BeautifulSoup(text, "html.parser")
    assert not page.select("script, link, img, iframe, b, [src], [href]")
    assert "url(" not in text
    assert "@import" not in text
    assert "For you alone" in page.text
    assert "4 graded, 1 error." in page.text
    assert "Points: mean 6.0, median 5.5, of 10 points." in page.text
    rows = [[cell.text for cell in row.select("th, td")] for row in page.select("tbody tr")]
    how = "1 at the visible part, 2 at the hidden part"
    assert rows[0] == ["3. Three times four, check 1", "2", "3 of 4", how, "expected 12, got 13 (to 2)"]
    assert page.svg["role"] == "img"
    assert page.svg.find(id=page.svg["aria-labelledby"]).text.startswith("For each check")
    named = [line.text for line in page.svg.find_all("text")]
    assert named[::2] == [row[0] for row in rows]
    assert named[1::2] == [row[2].split(" of ")[0] for row in rows]
    wide = {}
    for box in page.svg.find_all("rect"):
        wide.setdefault(float(box["y"]), []).append((box["fill"], float(box.get("x", 0)), float(box["width"])))
    assert next(iter(wide.values())) == [
        ("var(--rest)", 0, 320),
        ("var(--visible)", 0, 79),
        ("var(--hidden)", 80, 159),
    ]
    assert page.table.caption.text
    assert all(head.get("scope") for head in page.select("th"))


def test_a_class_in_which_nothing_was_graded(assignment, tmp_path):
    grades = [Grade("ada", "missing")]
    write_summary(tmp_path, assignment, Scoring(assignment).scores([Submission("ada", None)], grades))
    assert "0 of 0" in (tmp_path / "summary.html").read_text("utf-8")
