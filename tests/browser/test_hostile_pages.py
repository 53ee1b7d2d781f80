"""A table whose names would be markup or code, on every page and tab: no script runs, no dialog, nobody else is
asked.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ATTACK = "import json; from benchmarks.hostile_names import pages; print(json.dumps(list(pages())))"


def test_no_page_runs_a_name() -> None:
    done = subprocess.run([sys.executable, "-c", ATTACK], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    tried, saw, held = json.loads(done.stdout.splitlines()[-1])
    assert tried > 30
    assert held, saw
