"""A test whose process dies is tried once more in a new one: a browser that hangs takes its test with it.

`faulthandler_timeout` ends a process in which a test hangs, and says where. Whoever dies twice has failed.
"""

import pytest

DIED_ONCE = pytest.StashKey[set[str]]()


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
