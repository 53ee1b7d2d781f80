"""House rule of the test run: nothing is skipped silently.

With ``CI`` set in the environment, a skipped or expected-to-fail test without a reason in words ends the run as failed.
"""

import os
import re
import sys
from collections.abc import Iterator

import pytest

_nameless: list[str] = []


@pytest.fixture(autouse=True)
def no_work_left_behind() -> Iterator[None]:
    """End the jobs that a test of a page leaves running: the workers are shared by all tests of the process."""
    yield
    jobs = sys.modules.get("pages._parts.jobs")
    for line in jobs.LINES.values() if jobs else ():
        for job in list(line._jobs):
            job.stop.set()
            job.ended.wait(60)


def names_its_reason(reason: str) -> bool:
    """Whether a skip reason is a sentence: a capital or a digit first and at least three words."""
    words = reason.removeprefix("Skipped:").strip()
    return bool(re.match(r"[A-Z0-9]", words)) and len(words.split()) >= 3


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    if hasattr(report, "wasxfail"):
        return report.wasxfail.removeprefix("reason: ")
    return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)


def _note(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not names_its_reason(_reason(report)):
        _nameless.append(f"{report.nodeid}: {_reason(report)!r}")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _note(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if os.environ.get("CI") and _nameless and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if os.environ.get("CI") and _nameless:
        terminalreporter.section("skipped without a named reason", red=True)
        for line in _nameless:
            terminalreporter.line(line)
        terminalreporter.line("Say in a sentence why the test cannot run here, or let it run.")
