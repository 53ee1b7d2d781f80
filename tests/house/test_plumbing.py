"""The rules of the test run itself: files that are named exist, and the CI script stops at the
first failure.
"""

import runpy
import stat
import subprocess

import pytest

from tests.helpers.every import every
from tests.helpers.project import ROOT

CONFTEST = runpy.run_path(str(ROOT / "tests" / "conftest.py"))
RUN = ROOT / ".ci" / "run"


def test_the_files_that_are_named_exist():
    for name in (*CONFTEST["LONGEST"], *CONFTEST["NUMERICAL"]):
        assert list((ROOT / "tests").glob(name)), name


def test_files_that_share_windows_go_to_one_worker_and_every_browser_file_has_a_line():
    lines = CONFTEST["WINDOWS"]
    place = CONFTEST["Scheduling"]._split_scope
    for line in lines:
        assert len({place(None, f"tests/{file}::test_it[a::b]") for file in line}) == 1
    assert place(None, "tests/kernels/test_grams.py::test_it") == "tests/kernels/test_grams.py"
    browser = {
        file.relative_to(ROOT / "tests").as_posix()
        for file in (ROOT / "tests" / "browser").glob("test_*.py")
    }
    assert {file for line in lines for file in line} == browser


def test_the_ci_script_can_run_and_stops_at_the_first_failure():
    assert RUN.stat().st_mode & stat.S_IXUSR
    text = RUN.read_text(encoding="utf-8")
    assert text.startswith("#!/usr/bin/env bash\n")
    assert "set -euo pipefail" in text
    subprocess.run(["bash", "-n", str(RUN)], check=True)


def test_one_test_over_many_cases_reports_every_miss():
    @every("one, other", [(1, 1), (1, 2), (3, 3), (4, 5)])
    def are_alike(one, other):
        assert one == other

    with pytest.raises(BaseExceptionGroup, match="2 of 4 cases missed") as found:
        are_alike()
    assert [miss.__notes__ for miss in found.value.exceptions] == [
        ["at {'one': 1, 'other': 2}"], ["at {'one': 4, 'other': 5}"],
    ]  # fmt: skip
