"""The checkout under test: its files, its settings, and Python in a process of its own."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def text_of(name):
    """The text of a file of the checkout."""
    return (ROOT / name).read_text(encoding="utf-8")


def settings():
    """What stands in ``pyproject.toml``."""
    return tomllib.loads(text_of("pyproject.toml"))


def run_python(*arguments, folder=ROOT, **environment):
    """Run Python in a process of its own, which has to end well, and return what it prints."""
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
