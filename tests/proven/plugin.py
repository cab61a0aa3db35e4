"""A part of the book is left out if nothing changed of what it is made of since it was green.

`pytest -p tests.proven.plugin --memory FILE`: the file holds, of each part, the keys under which it was green. In the
end a table says what was proven, what was remembered, and what it took. With `--afresh` nothing is left out.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.proven.parts import Checkout, Part
from tests.proven.reads import Reads

KEPT = 8  # keys of each part, since one may go back to what was before


def pytest_addoption(parser):
    group = parser.getgroup("memory")
    group.addoption("--memory", metavar="FILE", type=Path, help="leave out what was green and has not changed since")
    group.addoption("--afresh", action="store_true", help="leave out nothing")


def pytest_configure(config):
    file, afresh = config.getoption("memory"), config.getoption("afresh")
    if not file:
        return
    checkout, green = Checkout(config.rootpath), json.loads(file.read_text()) if file.is_file() else {}
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Record(file, green, checkout), "record")
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Proof(checkout, {} if afresh else green), "proof")


class Proof:
    """Where tests run: which are left out, and what the others read and took."""

    def __init__(self, checkout: Checkout, green: dict[str, list]):
        self.checkout, self.green = checkout, green
        self.reads, self.spent = Reads(checkout.root), Spent()
        self.parts, self.tests, self.part_of = {}, {}, {}  # what is proven here
        self.seen, self.remembered = defaultdict(set), Counter()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        parts = defaultdict(list)
        for item in items:
            parts[self.checkout.part_of(item)].append(item)
        left_out = set()
        for part, its in parts.items():
            tests = [item.nodeid for item in its]
            before = ((key, replace(part, rooms=frozenset(rooms))) for key, rooms in self.green.get(part.name, ()))
            if any(self.checkout.key(then, tests) == key for key, then in before):
                left_out.update(its)
                self.remembered.update(map(wing, tests))
            else:
                self.parts[part.name], self.tests[part.name] = part, tests
                self.part_of |= dict.fromkeys(tests, part.name)
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.spent.by(wing(item.nodeid))
        with self.reads.noted() as rooms:
            result = yield
        self.seen[self.part_of[item.nodeid]] |= rooms
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item):
        if item.path.suffix == ".ipynb" or "browser" in item.fixturenames:
            self.spent.count()  # before its pages close, or a kernel ends, and their processes with them

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        self.spent.by("to end")
        told = {
            "parts": {
                name: [part.file, [*part.rooms], part.texts, self.tests[name]] for name, part in self.parts.items()
            },
            "seen": {name: [*rooms] for name, rooms in self.seen.items()},
            "remembered": self.remembered,
            "took": self.spent.rows,
        }
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["proof"] = json.dumps(told)
        else:
            session.config.pluginmanager.get_plugin("record").hear(json.dumps(told))


class Spent:
    """Seconds of processors, by this process and all that it starts, in rows.

    A process that starts and ends between two counts is counted if this one waited for it.
    """

    def __init__(self):
        self.me, self.row, self.rows = psutil.Process(), "to begin", Counter()
        self.seen, self.own = {}, set()  # seconds of each process below, and which of them are this one's children

    def count(self) -> float:
        living = self.me.children(recursive=True)
        for one in living:
            with suppress(psutil.Error):  # it ended meanwhile
                self.seen[one.pid] = sum(one.cpu_times()[:2])
                if one.ppid() == self.me.pid:
                    self.own.add(one.pid)
        times = self.me.cpu_times()
        ended = sum(self.seen[pid] for pid in self.own - {one.pid for one in living})
        waited_for = max(0, times.children_user + times.children_system - ended)
        return times.user + times.system + sum(self.seen.values()) + waited_for

    def by(self, row: str) -> None:
        """What is spent from here on goes to a row."""
        if row != self.row:
            self.rows[self.row] += self.count() - self.rows.total()
            self.row = row


def wing(nodeid: str) -> str:
    """The row of the table in which a test is counted.

    >>> wing("tests/widgets/test_fit.py::test_it"), wing("chapters/01_words.ipynb::Cell 3"), wing("it.ipynb::Cell 0")
    ('widgets', 'chapters', 'pages')
    """
    match nodeid.partition("::")[0].split("/"):
        case [_]:
            return "pages"
        case ["tests", folder, *_]:
            return folder
        case ["src", *_]:
            return "doctests"
        case [folder, *_]:
            return folder


class Record:
    """Where the run is led from: what was green is written down, and the table is printed."""

    def __init__(self, file: Path, green: dict[str, list], checkout: Checkout):
        self.file, self.green, self.checkout = file, green, checkout
        self.checkout.read()
        self.parts, self.seen = {}, defaultdict(set)
        self.remembered, self.took, self.ran, self.failed = Counter(), Counter(), Counter(), set()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        if told := getattr(node, "workeroutput", {}).get("proof"):
            self.hear(told)

    def hear(self, told: str) -> None:
        """What a process tells in which tests ran; all of them have collected the same."""
        said = json.loads(told)
        self.parts, self.remembered = said["parts"], Counter(said["remembered"])
        for name, rooms in said["seen"].items():
            self.seen[name].update(rooms)
        self.took.update(said["took"])

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.add(report.nodeid)
        if report.when == "teardown":
            self.ran[report.nodeid] += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session, exitstatus):
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.remembered:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter):
        for name, (file, rooms, texts, tests) in self.parts.items():
            if all(self.ran[one] and one not in self.failed for one in tests):
                self.remember(Part(name, file, frozenset(rooms), tuple(texts)), tests)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(self.green))
        rows = {row: [*counts, round(self.took[row])] for row, counts in self.rows().items()}
        self.file.with_name("table.json").write_text(json.dumps(rows))
        for line in table(rows):
            terminalreporter.write_line(line)

    def remember(self, part: Part, tests: list[str]) -> None:
        """A part is made of what it is known to be made of, and of what its tests were seen to read."""
        rooms = self.checkout.behind(part, self.seen[part.name])
        key = self.checkout.key(replace(part, rooms=frozenset(rooms)), tests)
        before = [one for one in self.green.get(part.name, ()) if one[0] != key]
        self.green[part.name] = [*before, [key, sorted(rooms)]][-KEPT:]

    def rows(self) -> dict[str, tuple[int, int]]:
        """How many tests of each row were proven, and how many remembered; what took longest comes first."""
        ran = Counter(map(wing, self.ran.elements()))
        rows = sorted({*ran, *self.remembered, *self.took}, key=lambda row: -self.took[row])
        return {row: (ran[row], self.remembered[row]) for row in rows}


def table(rows: dict[str, list[int]]) -> Iterator[str]:
    """
    >>> print(*table({"widgets": [801, 0, 1248], "site": [0, 393, 2]}), sep="\\n")
    <BLANKLINE>
                   tests  remembered  core-seconds
    widgets          801           0         1,248
    site               0         393             2
    in all           801         393         1,250
    """
    yield f"\n{'':12}{'tests':>8}{'remembered':>12}{'core-seconds':>14}"
    total = [sum(column) for column in zip(*rows.values(), strict=True)] or [0, 0, 0]
    for row, (tests, remembered, seconds) in {**rows, "in all": total}.items():
        yield f"{row:12}{tests:8,}{remembered:12,}{seconds:14,}"
