"""CPU seconds of compiling every function from an empty cache, and those of the stage Explore needs first, against
their limits.

python -m benchmarks.compiling                the figures
python -m benchmarks.compiling --functions    where they come from: the functions that take longest, without what they
                                              call
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from benchmarks.lines import Line, reported, usual

LIMITS = {"Explore": 4.0, "everything": 10.0}
SHOWN = 25
ROOT = Path(__file__).resolve().parents[1]


def stages() -> dict[str, float]:
    """CPU seconds until the first path of Explore is compiled, and until everything is."""
    import mklcore  # noqa: F401  # what is counted starts after it
    from mklcore._numba.compiling import SELDOM
    from mklcore._numba.stages import USUAL_PATH
    from mklcore._numba.warmup import warm_up

    gc.set_threshold(*SELDOM)  # as the process that compiles does
    seen = list[tuple[set[str], float]]()
    start = time.process_time()
    warm_up(lambda done, name: seen.append((set(done), time.process_time() - start)))
    return {
        "Explore": next(seconds for done, seconds in seen if USUAL_PATH in done),
        "everything": time.process_time() - start,
    }


def by_function() -> dict[str, float]:
    """CPU seconds of every function, compiled again under its own options when all it calls is there, so that nothing
    is counted twice.
    """
    from numba import jit
    from numba.extending import is_jitted

    from mklcore._numba.warmup import warm_up

    warm_up()
    modules = [module for name, module in list(sys.modules.items()) if name.split(".")[0] == "mklcore"]
    found = {id(value): value for module in modules for value in vars(module).values() if is_jitted(value)}
    spent: dict[str, float] = defaultdict(float)
    for one in found.values():
        again = jit(**one.targetoptions)(one.py_func)
        start = time.process_time()
        for signature in one.signatures:
            again.compile(signature)
        spent[f"{one.py_func.__module__}.{one.py_func.__name__}"] += time.process_time() - start
    return spent


def once(work: Callable[[], dict[str, float]] = stages) -> dict[str, float]:
    """What ``work`` returns in a process that begins with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        there = usual() | {"NUMBA_CACHE_DIR": cache, "OPENBLAS_NUM_THREADS": "1"}
        command = f"import json; from benchmarks.compiling import {work.__name__}; print(json.dumps({work.__name__}()))"
        done = subprocess.run(
            [sys.executable, "-c", command], env=there, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
        )
        return dict(json.loads(done.stdout))


def run(repeats: int = 3) -> list[Line]:
    """What is compiled before Explore can compute its first path, and everything."""
    found = [once() for _ in range(repeats)]
    return [
        Line(f"{what}, cold", [one[what] for one in found], "CPU s", limit, "limit") for what, limit in LIMITS.items()
    ]


def functions() -> str:
    """The functions that take longest to compile, CPU seconds each, and what all others take together."""
    spent = sorted(once(by_function).items(), key=lambda one: one[1], reverse=True)
    rest = sum(seconds for _, seconds in spent[SHOWN:])
    rows = [*spent[:SHOWN], (f"{len(spent[SHOWN:])} others", rest), ("all", sum(seconds for _, seconds in spent))]
    return "\n".join(f"{seconds:6.2f}  {name.removeprefix('mklcore.')}" for name, seconds in rows)


if __name__ == "__main__":
    print(functions() if "--functions" in sys.argv else reported(run()))
