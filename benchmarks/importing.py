"""CPU seconds until the first estimator is available, in a fresh Python: what a script pays before it does anything.

    python -m benchmarks.importing

``import mklcore`` alone loads nothing, because names are loaded when first used; so a line about it would tell nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks.lines import Line, reported, usual

LIMIT, REPEATS = 0.6, 5
PEER = "from sklearn.svm import SVC"
WORK = "import time; start = time.process_time(); {}; print(time.process_time() - start)"


def once(statement: str) -> float:
    """CPU seconds of a statement in a process of its own."""
    there = usual() | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", WORK.format(statement)],
        env=there, cwd=os.getcwd(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout)


def run() -> list[Line]:
    """The first estimator beside its limit, and beside what scikit-learn takes for one of its own, in turn."""
    pairs = [(once("from mklcore import LpMKLClassifier"), once(PEER)) for _ in range(REPEATS)]
    ours, theirs = [one for one, _ in pairs], sorted(other for _, other in pairs)[REPEATS // 2]
    return [
        Line("importing an estimator", ours, "CPU s", LIMIT, "limit"),
        Line("importing an estimator, beside a peer", ours, "CPU s", theirs, PEER, "which ours needs as well"),
    ]


if __name__ == "__main__":
    print(reported(run()))
