"""CPU seconds of compiling every leaf from an empty cache, and those of the stages that Explore needs, against their limits.

python -m benchmarks.compiling
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile

from benchmarks.lines import Line, told, usual

LIMITS = {"Explore": 4.0, "everything": 10.0, "import mklcore": 0.6}
WORK = """
import json, time
start = time.process_time()
import mklcore
spent = {"import mklcore": time.process_time() - start}
warm_up, seen = mklcore.warmup.warm_up, []
start = time.process_time()
warm_up(lambda done, name: seen.append((done, time.process_time() - start)))
spent["Explore"] = next(seconds for done, seconds in seen if {"kernels", "lp"} <= set(done))
spent["everything"] = seen[-1][1]
print(json.dumps(spent))
"""


def once() -> dict[str, float]:
    """CPU seconds of one process that begins with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        there = usual() | {"NUMBA_CACHE_DIR": cache, "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, "-c", WORK], env=there, capture_output=True, text=True, check=True)
        return dict(json.loads(done.stdout))


def run(repeats: int = 3) -> list[Line]:
    """What is compiled before Explore can compute, everything, and the first import."""
    found = [once() for _ in range(repeats)]
    return [
        Line(f"{what}, cold", [one[what] for one in found], "CPU s", limit, "limit") for what, limit in LIMITS.items()
    ]


if __name__ == "__main__":
    print(told(run()))
