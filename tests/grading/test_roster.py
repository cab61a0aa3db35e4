"""Who is in the class, and whose each file is: rosters, and the names that learning platforms give."""

import os
from datetime import UTC, datetime, timedelta

import nbformat
import pytest

from booktools.book import BookError
from grading.collect import find_submissions
from grading.platforms import platform_of, senders
from grading.roster import Roster
from tests.grading.three_things import three_things

CLASS = 'login,name,id\njdoe,Jane Doe,12\nbob,"O’Neil-Smith, Bob",13\nzoe,Zoë van der Berg,14\n'


@pytest.fixture
def roster_of(tmp_path):
    def read(text, encoding="utf-8"):
        (tmp_path / "roster.csv").write_bytes(text.encode(encoding))
        return Roster.read(tmp_path / "roster.csv")

    return read


@pytest.fixture
def hand_in(tmp_path):
    """A folder with a notebook at each of these places, or, for another ending, something else."""

    def hand_in(*places, folder="submissions"):
        for place in places:
            path = tmp_path / folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(three_things(), path) if path.suffix == ".ipynb" else path.write_text("a text")
        return tmp_path / folder

    return hand_in


def found(*folders, **about):
    """What was found of each student: the name of the file, or what is said instead."""
    all_found = find_submissions(list(folders), "three_things", **about)
    return {one.key: one.path.name if one.path else one.remark or one.fault for one in all_found}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_a_roster_as_spreadsheets_write_it(encoding, separator, line, roster_of):
    table = [["Login", "NAME", "E-Mail", "", "Handed_in"], ["zoe", "Zoë Berg", "Z@x.org", "", "2026-11-30 10:00"]]
    text = line.join(separator.join(row) for row in [*table, ["", "", "", "", ""]])
    (student,) = roster_of(text, encoding).students.values()
    assert (student.login, student.name, student.email) == ("zoe", "Zoë Berg", "Z@x.org")
    assert student.handed_in == datetime(2026, 11, 30, 10).astimezone()


def test_canvass_gradebook_is_a_roster(roster_of):
    text = 'Student,ID,SIS User ID,SIS Login ID,Section,Quiz\n    Points Possible,,,,,10\n"Doe, Jane",12,,jdoe,A,3\n'
    assert [(one.login, one.name, one.id) for one in roster_of(text).students.values()] == [("jdoe", "Doe, Jane", "12")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must name the column login; it names nothing"),
        ("login;email\nada;a@x.org\n", "must name the column name; it names login, email"),
        ("login,name\n", "names no student"),
        ("login,name\nada,Ada\n,Bob\n", r"roster.csv, row 3: no login \(Bob\)"),
        ("login,name\nada,Ada\n\nAda,Ada L\n", "row 4: Ada stands in row 2 already"),
        ("login,name\nada,Lovelace, Ada\n", "row 2: 3 cells under 2 headings. A cell with a comma"),
        ("login,name,deadline\nada,Ada,30.11.2026\n", "row 2: .*deadline.* 2026-11-30 23:59 .Excel.*'30.11.2026'"),
        ("login,name,extension\nada,Ada,a week\n", "row 2: .*2 days or 12 h, got 'a week'"),
        ("login,name,deadline,extension\nada,A,2026-11-30,2 d\n", "row 2: ada has a deadline and an extension"),
        ("login,name,username\nada,Ada,ada\n", "two columns say login"),
        ('login,name\nada,"Ada\nbob,Bob\neve,Eve\n', "a quote is opened and not closed"),
        ("login,name\n../ada,Ada\n", "row 2: the login ../ada can't be"),
    ],
)
def test_a_row_that_cannot_be_meant_is_named(text, says, roster_of):
    with pytest.raises(BookError, match=says):
        roster_of(text)


def test_a_roster_in_another_encoding(roster_of):
    with pytest.raises(BookError, match="save it as “CSV UTF-8”"):
        roster_of("login,name\nzoe,Zoë\n", "cp1252")


def test_who_handed_in_nothing_is_there(roster_of, hand_in):
    assert found(hand_in("jdoe.ipynb", "BOB.ipynb"), roster=roster_of(CLASS)) == {
        "jdoe": "jdoe.ipynb",
        "bob": "BOB.ipynb",
        "zoe": "nothing was handed in",
    }


CANVAS = (
    "doejane_12_501_nb.ipynb",
    "oneilsmithbob_LATE_13_502_my notebook-1.ipynb",
    "vanderbergzoe\u0308_14_503_x.ipynb",
)
MOODLE = (
    "Jane Doe_7_assignsubmission_file_/three_things.ipynb",
    "Bob O’Neil-Smith_8_assignsubmission_file_/my notebook.ipynb",
    "Zoë van der Berg_9_assignsubmission_file_my_nb.ipynb",
)


@pytest.mark.parametrize(("names", "platform"), [(CANVAS, "Canvas"), (MOODLE, "Moodle")])
def test_names_of_platforms_become_logins(names, platform, roster_of, hand_in):
    folder = hand_in(*names)
    submissions = find_submissions([folder], "three_things", roster=roster_of(CLASS.replace(",1", ",")))
    assert [one.student for one in submissions] == ["jdoe", "bob", "zoe"]
    assert all(one.path for one in submissions)
    assert {one.handed_in for one in submissions} == {None}, "the file has the time of the download"
    assert [bool(one.sender.late) for one in submissions] == [False, platform == "Canvas", False]
    assert platform_of([folder]) == platform


GRADESCOPE = """---
submission_900:
  :submitters:
  - :name: Jane Doe
    :sid: '12'
    :email: jdoe@x.org
  :created_at: 2026-11-30 22:30:00.500000000 Z
  :status: processed
  :results: !ruby/hash:ActiveSupport::HashWithIndifferentAccess
    score: 0.0
    tests: !ruby/array:Array []
submission_901:
  :submitters:
  - :name: Somebody
    :sid:
    :email: Z@X.org
  - :name: Robert
    :sid: '13'
    :email:
  :created_at: 2026-12-01 01:00:00.000000000 +01:00
"""


def test_gradescopes_folders_become_logins_with_their_times(roster_of, hand_in):
    folder = hand_in("submission_900/nb.ipynb", "submission_901/nb.ipynb")
    (folder / "submission_metadata.yml").write_text(GRADESCOPE)
    roster = roster_of("login,name,id,email\njdoe,Jane,12,\nbob,Bob,13,\nzoe,Zoë,,z@x.org\n")
    submissions = {one.student: one for one in find_submissions([folder], "three_things", roster=roster)}
    assert submissions["jdoe"].handed_in == datetime(2026, 11, 30, 22, 30, 0, 500_000, tzinfo=UTC)
    assert submissions["bob"].handed_in == submissions["zoe"].handed_in == datetime(2026, 12, 1, tzinfo=UTC)
    assert submissions["zoe"].path.parent.name == "submission_901", "a group's work is that of each"
    assert len(submissions) == 3
    assert platform_of([folder]) == "Gradescope"


@pytest.mark.parametrize(
    "text", ["- 1", "submission_1: {}", "a: {':submitters': [], ':results': !!python/name:os.getcwd }", "{"]
)
def test_a_list_that_is_not_gradescopes(text, roster_of, hand_in):
    folder = hand_in("submission_1/nb.ipynb")
    (folder / "submission_metadata.yml").write_text(text)
    with pytest.raises(BookError, match=r"submission_metadata.yml can't be read"):
        find_submissions([folder], "three_things", roster=roster_of(CLASS))


def test_an_entry_of_nobody_is_said(roster_of, hand_in):
    told = found(hand_in("jdoe.ipynb", "who.ipynb", "smithsue_99_1_x.ipynb"), roster=roster_of(CLASS))
    assert told["who"].startswith("who.ipynb: nobody on the roster has this name")
    assert told["smithsue_99_1_x"].startswith("smithsue_99_1_x.ipynb: nobody on the roster")


def test_where_no_entry_is_of_anybody_it_says_of_whose(roster_of, hand_in):
    with pytest.raises(BookError, match=r"holds no submission(.|\n)*who.ipynb: nobody"):
        found(hand_in("who.ipynb"), roster=roster_of(CLASS))


def test_two_of_the_same_name_are_told_apart_by_their_numbers(roster_of, hand_in):
    folder = hand_in("doejane_12_1_x.ipynb", "doejane_15_2_x.ipynb", "jdoe2.ipynb")
    (folder / "jdoe2.ipynb").unlink()
    twins = CLASS + "jdoe2,Jane Doe,{}\n"
    told = found(folder, roster=roster_of(twins.format(15)))
    assert (told["jdoe"], told["jdoe2"]) == ("doejane_12_1_x.ipynb", "doejane_15_2_x.ipynb")
    told = found(folder, roster=roster_of(twins.format("")))
    assert told["jdoe"] == "doejane_12_1_x.ipynb"
    assert (
        told["doejane_15_2_x"] == "doejane_15_2_x.ipynb may be of jdoe, jdoe2; give the roster a column *id* with "
        "the platform's numbers, or rename the file"
    )
    assert told["jdoe2"] == "nothing was handed in"


def test_a_number_that_is_anothers_decides_nothing(roster_of, hand_in):
    roster = roster_of(CLASS)
    told = found(hand_in("doejane_13_1_x.ipynb", "unknown_14_2_x.ipynb", folder="canvas"), roster=roster)
    assert told["doejane_13_1_x"].startswith("doejane_13_1_x.ipynb may be of bob, jdoe;")
    assert told["zoe"] == "unknown_14_2_x.ipynb", "with a name that is nobody's, the number does"
    told = found(hand_in("Jane Doe_13_assignsubmission_file_/x.ipynb", folder="moodle"), roster=roster)
    assert told["jdoe"] == "x.ipynb", "in Moodle the number is another in each assignment"
    with pytest.raises(BookError, match="nobody on the roster"):
        found(hand_in("Janet_12_assignsubmission_file_/x.ipynb", folder="other"), roster=roster)


def test_a_name_that_is_anothers_login_is_nobodys(roster_of, hand_in):
    roster = roster_of("login,name\njane.doe,Janet D\njd,Jane Doe\n")
    told = found(hand_in("Jane Doe.ipynb", "jane.doe.ipynb"), roster=roster)
    assert told["Jane Doe"].startswith("Jane Doe.ipynb may be of jane.doe, jd;")
    assert (told["jane.doe"], told["jd"]) == ("jane.doe.ipynb", "nothing was handed in")


def test_a_dot_in_the_name_of_a_notebook_begins_no_ending(roster_of, hand_in):
    """It counts for nobody, and not for whom the part before the dot names."""
    told = found(hand_in("jane.doe.ipynb", "eve.ipynb"), roster=roster_of("login,name\njane,Jane Roe\neve,Eve Black\n"))
    assert told["jane"] == "nothing was handed in"
    assert "nobody on the roster" in told["jane.doe"]


@pytest.mark.parametrize("called", ["jdoe", "J-Doe", "12", "jane@x.org", "jdoe.x"])
@pytest.mark.parametrize("place", ["{}_8_assignsubmission_file_/x.ipynb", "{}_99_2_x.ipynb"], ids=["Moodle", "Canvas"])
def test_who_is_called_like_anothers_login_harms_nobody(place, called, roster_of, hand_in):
    """On some platforms students choose what they are called. The file counts as nobody's, and for nobody."""
    roster = roster_of("login,name,id,email\njdoe,Jane Doe,12,jane@x.org\neve,Eve Black,13,\n")
    hers, his = "Jane Doe_7_assignsubmission_file_/hers.ipynb", place.format(called)
    for several in (False, True):
        told = found(hand_in(hers, his), roster=roster, several=several)
        assert (told["jdoe"], told["eve"]) == ("hers.ipynb", "nothing was handed in")
        assert any("nobody on the roster" in what for what in told.values())


def test_two_entries_of_one_student(roster_of, hand_in):
    folder = hand_in("doejane_12_1_a.ipynb", "doejane_12_2_b.ipynb", "doejane_12_3_notes.pdf", "bob.ipynb")
    roster = roster_of(CLASS)
    told = found(folder, roster=roster)
    assert told["jdoe"] == "more than one submission: doejane_12_1_a.ipynb, doejane_12_2_b.ipynb"
    told = found(folder, roster=roster, several=True)
    assert (told["jdoe/1"], told["jdoe/2"]) == ("doejane_12_1_a.ipynb", "doejane_12_2_b.ipynb")
    assert told["bob"] == "bob.ipynb"


def test_a_text_beside_a_notebook_is_no_second_submission(roster_of, hand_in):
    folder = hand_in(MOODLE[0], "Jane Doe_7_assignsubmission_onlinetext_/onlinetext.html")
    assert found(folder, roster=roster_of(CLASS))["jdoe"] == "three_things.ipynb"


def test_attempts_come_in_the_order_of_the_folders_then_of_time(hand_in):
    first, second = hand_in("ada.ipynb", folder="z"), hand_in("ada.ipynb", "ada/nb.ipynb", folder="a")
    os.utime(second / "ada/nb.ipynb", (2_000_000_000, 2_000_000_000))
    told = find_submissions([first, second], "three_things", several=True)
    assert [(one.key, str(one.path.relative_to(first.parent))) for one in told] == [
        ("ada/1", "z/ada.ipynb"),
        ("ada/2", "a/ada.ipynb"),
        ("ada/3", "a/ada/nb.ipynb"),
    ]
    assert found(first, second) == {"ada": "more than one submission: z/ada.ipynb, a/ada, a/ada.ipynb"}


def test_the_rosters_time_goes_before_the_files(roster_of, hand_in):
    roster = roster_of("login,name,handed in\njdoe,Jane,2026-11-30 10:00\nbob,Bob,\n")
    submissions = find_submissions([hand_in("jdoe.ipynb", "bob.ipynb")], "three_things", roster=roster)
    jane, bob = submissions
    assert (jane.handed_in, jane.clock) == (datetime(2026, 11, 30, 10).astimezone(UTC), "roster")
    assert bob.clock == "file"
    assert abs(bob.handed_in - datetime.now(UTC)) < timedelta(minutes=5)


@pytest.mark.parametrize("name", ["ada.ipynb", "hw_1.ipynb", "ada_lovelace_2.ipynb", "submission_12"])
def test_plain_names_are_no_platforms(name):
    assert senders(name, {}) == []


NO_NOTEBOOK = {
    "jdoe.zip": "a zip file; unpack it into a folder jdoe",
    "jdoe.py": "a Python script; ask for the notebook itself, the file that ends in .ipynb",
    "jdoe.ipynb.txt": "a notebook that is called jdoe.ipynb.txt; rename it to jdoe.ipynb",
    "jdoe.pdf": "neither a notebook nor a folder",
}


@pytest.mark.parametrize("name", NO_NOTEBOOK)
def test_what_is_no_notebook_is_told_in_exact_words(name, roster_of, hand_in):
    folder = hand_in(name, "bob.ipynb")
    assert found(folder, roster=roster_of(CLASS))["jdoe"] == found(folder)[name] == NO_NOTEBOOK[name]


LIKE_ADA = [" ada", "ada ", "\u0430da", "ada\u200b", "a\u00adda", "\uff41da"]


@pytest.mark.parametrize("name", LIKE_ADA, ids=ascii)
@pytest.mark.parametrize("with_roster", [False, True])
def test_a_name_that_looks_like_anothers_is_an_error_and_the_real_one_stays(name, with_roster, roster_of, hand_in):
    folder = hand_in("ada.ipynb", f"{name}.ipynb", "bob.ipynb")
    roster = roster_of("login,name\nada,Ada\nbob,Bob\n") if with_roster else None
    submissions = {one.student: one for one in find_submissions([folder], "three_things", roster=roster)}
    assert {"ada", "bob"} < set(submissions)
    assert submissions["ada"].path.name == "ada.ipynb"
    (other,) = (one for student, one in submissions.items() if student not in ("ada", "bob"))
    told = f"{name!a} looks like 'ada', but is a different name; ask whose it is, then rename or delete it"
    assert other.fault == told


def test_one_letter_or_two_signs_are_one_name_in_two_rounds_and_look_alikes_in_one(hand_in):
    first, second = hand_in("Zo\xeb.ipynb", folder="first"), hand_in("Zoe\u0308.ipynb", folder="second")
    assert set(found(first, second, several=True)) == {"Zo\xeb/1", "Zo\xeb/2"}
    told = found(hand_in("Zo\xeb.ipynb", "Zoe\u0308.ipynb"))
    assert told.pop("Zo\xeb") == "Zo\xeb.ipynb"
    assert "looks like 'Zo\\xeb'" in next(iter(told.values()))


def test_where_nobody_knows_which_name_is_real_both_are_an_error(hand_in):
    told = found(hand_in("\u0430da.ipynb", "a\u0501a.ipynb", "bob.ipynb"))
    assert told.pop("bob") == "bob.ipynb"
    assert all("looks like" in what for what in told.values())
    assert len(told) == 2


def test_without_a_roster_names_are_taken_as_they_are(hand_in):
    assert found(hand_in(CANVAS[0])) == {CANVAS[0].removesuffix(".ipynb"): CANVAS[0]}


ON_GITHUB = "login,name,GitHub username\njdoe,Jane Doe,doe\nbob,Bob,jane-doe\nzoe,Zoë,janedoe\neve,Eve,\n"


def test_repositories_as_github_classroom_clones_them(roster_of, hand_in):
    """The slug has hyphens, and so have names on GitHub: only the folder says where the one ends."""
    names = ("doe", "Jane-Doe", "x-doe")
    folder = hand_in(*(f"task-06-{name}/three_things.ipynb" for name in names), folder="task-06-submissions")
    (folder / "task-06-doe/.git").mkdir()
    all_found = find_submissions([folder], "three_things", roster=roster_of(ON_GITHUB))
    said = {one.student: one.path.parent.name if one.path else one.remark or one.fault for one in all_found}
    assert said.pop("task-06-x-doe").startswith("task-06-x-doe: nobody on the roster")
    assert said == {
        "jdoe": "task-06-doe",
        "bob": "task-06-Jane-Doe",
        "zoe": "nothing was handed in",
        "eve": "nothing was handed in",
    }
    assert {one.handed_in for one in all_found} == {None}, "times of commits are the students' own"
    assert platform_of([folder]) == "GitHub Classroom"


def test_one_name_on_github_is_of_one_student(roster_of):
    with pytest.raises(BookError, match="row 3: ADA on GitHub stands in row 2 already"):
        roster_of("login,name,github\nada,Ada,ada\nbob,Bob,ADA\n")
