"""CPU seconds of compiling every function from an empty cache, and those of the stage Explore needs first, against
their limits.

python -m benchmarks.compiling                the figures
python -m benchmarks.compiling --functions    where they come from: the functions that take longest, without what they
                                              call
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile

from benchmarks.lines import Line, reported, usual

LIMITS = {"Explore": 4.0, "everything": 10.0}
WORK = """
import gc, json, time
import mklcore
spent = {}
from mklcore._numba.compiling import SELDOM
gc.set_threshold(*SELDOM)  # as the process that compiles does
warm_up, seen = mklcore._numba.warmup.warm_up, []
start = time.process_time()
warm_up(lambda done, name: seen.append((done, time.process_time() - start)))
spent["Explore"] = next(seconds for done, seconds in seen if "usual" in done)
spent["everything"] = seen[-1][1]
print(json.dumps(spent))
"""

# Each is compiled again under its own options when all it calls is there, so that nothing is counted twice.
FUNCTIONS = """
import json, sys, time
from collections import defaultdict
from numba import jit
from numba.extending import is_jitted
import mklcore
mklcore._numba.warmup.warm_up()
modules = [module for name, module in list(sys.modules.items()) if name.split(".")[0] == "mklcore"]
found = {id(value): value for module in modules for value in vars(module).values() if is_jitted(value)}
spent = defaultdict(float)
for one in found.values():
    again = jit(**one.targetoptions)(one.py_func)
    start = time.process_time()
    for signature in one.signatures:
        again.compile(signature)
    spent[f"{one.py_func.__module__}.{one.py_func.__name__}"] += time.process_time() - start
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


def functions() -> str:
    """The functions that take longest to compile, CPU seconds each, and what all others take together."""
    spent = sorted(once(FUNCTIONS).items(), key=lambda one: one[1], reverse=True)
    rest = sum(seconds for _, seconds in spent[SHOWN:])
    rows = [*spent[:SHOWN], (f"{len(spent[SHOWN:])} others", rest), ("all", sum(seconds for _, seconds in spent))]
    return "\n".join(f"{seconds:6.2f}  {name.removeprefix('mklcore.')}" for name, seconds in rows)


if __name__ == "__main__":
    print(functions() if "--functions" in sys.argv else reported(run()))
