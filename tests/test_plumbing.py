"""The rules of the test run itself: no silent skips, and a CI script that stops at the first failure."""

import os
import runpy
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RUN = ROOT / ".ci" / "run"


@pytest.mark.parametrize(
    ("reason", "named"),
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
    conftest = runpy.run_path(str(ROOT / "tests" / "conftest.py"))
    assert conftest["names_its_reason"](reason) is named


@pytest.mark.parametrize(
    ("mark", "in_ci", "code"),
    [
        ("@pytest.mark.skip", "1", 1),
        ("@pytest.mark.skip", "", 0),
        ("@pytest.mark.skip(reason='Nothing to see on this machine.')", "1", 0),
        ("@pytest.mark.xfail(raises=AssertionError)", "1", 1),
        ("", "1", 1),
    ],
)
def test_a_nameless_skip_fails_the_run_in_ci(tmp_path, mark, in_ci, code):
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    body = "assert False" if "xfail" in mark or not mark else "pass"
    (tmp_path / "test_one.py").write_text(f"import pytest\n{mark}\ndef test_one(): {body}\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        "test_one.py",
    ]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "CI": in_ci, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout
    assert ("skipped without a named reason" in done.stdout) is (code == 1 and bool(mark))


def test_the_ci_script_can_run_and_stops_at_the_first_failure():
    assert RUN.stat().st_mode & stat.S_IXUSR
    text = RUN.read_text(encoding="utf-8")
    assert text.startswith("#!/usr/bin/env bash\n")
    assert "set -euo pipefail" in text
    subprocess.run(["bash", "-n", str(RUN)], check=True)
