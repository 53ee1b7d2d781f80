"""CPU seconds of compiling every leaf from an empty cache, and those of the stage Explore needs first, against their limits.

python -m benchmarks.compiling             the figures
python -m benchmarks.compiling --leaves    where they come from: the functions that take longest, without what they call
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile

from benchmarks.lines import Line, told, usual

LIMITS = {"Explore": 4.0, "everything": 10.0}
WORK = """
import gc, json, time
import mklcore
spent = {}
from mklcore.compiling import SELDOM
gc.set_threshold(*SELDOM)  # as the process that compiles does
warm_up, seen = mklcore.warmup.warm_up, []
start = time.process_time()
warm_up(lambda done, name: seen.append((done, time.process_time() - start)))
spent["Explore"] = next(seconds for done, seconds in seen if "usual" in done)
spent["everything"] = seen[-1][1]
print(json.dumps(spent))
"""

LEAVES = """
import json, time
from collections import defaultdict
from numba.core import event
import mklcore
open_, spent = [], defaultdict(float)

class Listener(event.Listener):
    def on_start(self, event):
        open_.append([time.process_time(), 0.0])

    def on_end(self, event):
        begun, inside = open_.pop()
        took = time.process_time() - begun
        if open_:
            open_[-1][1] += took
        function = event.data["dispatcher"].py_func
        module = function.__module__
        name = f"{module}.{function.__name__}" if module.startswith("mklcore") else "functions of numba's own"
        spent[name] += took - inside

with event.install_listener("numba:compile", Listener()):
    mklcore.warmup.warm_up()
print(json.dumps(spent))
"""
SHOWN = 25


def once(work: str = WORK) -> dict[str, float]:
    """What ``work`` prints, CPU seconds by name, in a process that begins with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        there = usual() | {"NUMBA_CACHE_DIR": cache, "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, "-c", work], env=there, capture_output=True, text=True, check=True)
        return dict(json.loads(done.stdout))


def run(repeats: int = 3) -> list[Line]:
    """What is compiled before Explore can compute its first path, and everything."""
    found = [once() for _ in range(repeats)]
    return [
        Line(f"{what}, cold", [one[what] for one in found], "CPU s", limit, "limit") for what, limit in LIMITS.items()
    ]


def leaves() -> str:
    """The functions that take longest to compile, CPU seconds each, and what all others take together."""
    spent = sorted(once(LEAVES).items(), key=lambda one: one[1], reverse=True)
    rest = sum(seconds for _, seconds in spent[SHOWN:])
    rows = [*spent[:SHOWN], (f"{len(spent[SHOWN:])} others", rest), ("all", sum(seconds for _, seconds in spent))]
    return "\n".join(f"{seconds:6.2f}  {name.removeprefix('mklcore.')}" for name, seconds in rows)


if __name__ == "__main__":
    print(leaves() if "--leaves" in sys.argv else told(run()))
