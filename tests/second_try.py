"""A test whose process dies is tried once more in a new one: a browser that hangs takes its test with it.

`faulthandler_timeout` ends a process in which a test hangs, and says where. Whoever dies twice has failed.
"""

import pytest
from xdist.scheduler import LoadFileScheduling

DIED_ONCE = pytest.StashKey[set[str]]()


class FillingUp(LoadFileScheduling):
    """Gives the files of a process that died to others, so that none is left with less than two tests.

    xdist gives one file at a time, and of those of a dead process also such that are done. A process with a single
    test waits for a second one before it runs the first, so it would wait for ever, and all the others with it.
    """

    def _reschedule(self, node):
        super()._reschedule(node)
        while self.workqueue and not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            self._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return FillingUp(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem, report, sched):
    """Keeps in mind who died, and lets the first time pass. To xdist, a test whose process died has still to be run."""
    died = sched.config.stash.setdefault(DIED_ONCE, set())
    if crashitem not in died:
        died.add(crashitem)
        report.outcome = "again"
        return
    for file, tests in list(sched.workqueue.items()):
        if crashitem in tests:
            tests[crashitem] = True
            if all(tests.values()):
                del sched.workqueue[file]


def pytest_report_teststatus(report):
    if report.outcome == "again":
        return "died and tried again", "R", "AGAIN"


def pytest_terminal_summary(terminalreporter, config):
    for name in sorted(config.stash.get(DIED_ONCE, ())):
        terminalreporter.write_line(f"The process of {name} died, and another one tried it again.")
