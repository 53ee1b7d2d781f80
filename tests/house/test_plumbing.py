"""The rules of the test run itself: no silent skips, and a CI script that stops at the first
failure.
"""

import os
import runpy
import shutil
import stat
import subprocess
import sys

import pytest

from tests.helpers.every import every
from tests.helpers.project import ROOT

CONFTEST = runpy.run_path(str(ROOT / "tests" / "conftest.py"))
RUN = ROOT / ".ci" / "run"


@every(
    "reason, named",
    [
        ("Skipped: Chromium is not installed on this machine.", True),
        ("Needs two cores to measure anything.", True),
        ("unconditional skip", False),
        ("Skipped: unconditional skip", False),
        ("", False),
        ("Slow", False),
        ("could not import 'dask'", False),
    ],
)
def test_a_reason_is_a_sentence(reason, named):
    assert CONFTEST["names_its_reason"](reason) is named


BODY = """
import os

import pytest

@pytest.mark.skip
def test_skipped(): pass

@pytest.mark.xfail(raises=AssertionError)
def test_failing(): assert False

def test_where(): assert ("PYTEST_XDIST_WORKER" in os.environ) is {on_workers}
"""


@pytest.mark.parametrize(
    ("place", "on_workers", "in_ci", "code"), [("test_one.py", False, "", 0), (".", True, "1", 1)]
)
def test_nameless_skips_fail_the_run_in_ci_and_folders_alone_run_on_workers(
    tmp_path, place, on_workers, in_ci, code
):
    done = small_run(tmp_path, BODY.format(on_workers=on_workers), place, CI=in_ci)
    assert "1 passed, 1 skipped, 1 xfailed" in done.stdout
    assert done.returncode == code, done.stdout
    assert ("skipped without a named reason" in done.stdout) is (code == 1)
    for name in ("test_skipped", "test_failing"):
        assert (f"test_one.py::{name}: " in done.stdout) is (code == 1)


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


def small_run(folder, body, place, **environment):
    """Run the body of one test file under the rules of this test run, in a folder of its own."""
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    (folder / "test_one.py").write_text(body, encoding="utf-8")
    (folder / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n  full: all\n  numerical: solvers\n", encoding="utf-8"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "xdist.plugin",
        "-n",
        "auto",
        place,
    ]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    surroundings = inherited | {"CI": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | environment
    return subprocess.run(
        command, cwd=folder, env=surroundings, capture_output=True, text=True, check=False
    )


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
