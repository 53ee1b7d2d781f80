"""What compiled code that comes with the package costs and gives: its size, the first path with it, and the speed of
code for any processor beside code for this one.

    python -m benchmarks.generic_cache

Every target is compiled into an empty folder of its own. The first path is timed from the start of a new process to the
path over 25 values of C of the sample ``breast_cancer``; "cold" is the same process with an empty folder. Processor
seconds of the whole process, so that other work on the machine does not count. What was found is kept, and
``docs/compiled.md`` is written from what is kept. Run it where ``mklcore/_compiled`` is not there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lines import usual
from benchmarks.records import keep, on_page

HERE, GENERIC, LEVEL_3 = "this processor", "any x86-64 processor", "x86-64-v3 (2013 and later)"
TARGETS = {
    HERE: {},
    LEVEL_3: {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""},
    GENERIC: {"NUMBA_CPU_NAME": "generic"},
}
REPEATS = 3
FIRST = """
import time
import mklcore as mkl
data = mkl.load_sample("breast_cancer")
kernels = mkl.KernelDictionary.rbf_grid([0.25, 0.5, 1, 2])
kernels += mkl.KernelDictionary.per_feature(mkl.Linear(), data.n_features)
mkl.fit_path(mkl.LpMKLClassifier(kernels=kernels, p=1.0), data.X, data.y, param="C", values=mkl.log_grid(1e-2, 1e2, 25))
print(time.process_time())
"""
SPEED = """
import json, time
import numpy as np
import mklcore as mkl
data = mkl.load_sample("breast_cancer")
X, y = data.X, data.y
kernels = mkl.KernelDictionary.rbf_grid([0.25, 0.5, 1, 2])
kernels += mkl.KernelDictionary.per_feature(mkl.RBF(1.0), data.n_features)
stack, C = kernels.grams(X), mkl.log_grid(1e-2, 1e2, 25)
work = {
    "34 RBF Gram matrices": lambda: kernels.grams(X),
    "path over C, p = 1": lambda: mkl.fit_path(mkl.LpMKLClassifier(kernels="precomputed", p=1.0), stack, y, "C", C),
    "path over C, p = 2": lambda: mkl.fit_path(mkl.LpMKLClassifier(kernels="precomputed", p=2.0), stack, y, "C", C),
    "hull of products": lambda: mkl.HKLClassifier(lam=0.05, loss="hinge").fit(X[:200, :6], y[:200]),
}
found = {}
for name, task in work.items():
    task()
    spent = []
    for _ in range(5):
        start = time.process_time()
        task()
        spent.append(time.process_time() - start)
    found[name] = min(spent)
print(json.dumps(found))
"""


def process(cache: str, target: dict[str, str], *command: str) -> str:
    """Run Python with compiled code in a folder and for a target; what it printed."""
    there = usual() | target | {"NUMBA_CACHE_DIR": cache, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, *command], env=there, capture_output=True, text=True, check=True).stdout


def packed(folder: Path) -> tuple[int, int]:
    """Bytes of the files in a folder, and bytes of a wheel that holds them."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    with tempfile.TemporaryDirectory() as place:
        wheel = Path(place) / "compiled.whl"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                archive.write(file, file.relative_to(folder))
        return sum(file.stat().st_size for file in files), wheel.stat().st_size


def measured(target: dict[str, str]) -> dict[str, Any]:
    """Everything about one target."""
    with tempfile.TemporaryDirectory() as empty:
        cold = float(process(empty, target, "-c", FIRST))
    with tempfile.TemporaryDirectory() as cache:
        process(cache, target, "-m", "mklcore._numba.compiling")
        process(cache, target, "-c", FIRST)  # what the paths of this table need beyond the usual ones
        size, wheel = packed(Path(cache))
        first = [float(process(cache, target, "-c", FIRST)) for _ in range(REPEATS)]
        speed = json.loads(process(cache, target, "-c", SPEED))
    return {"cold": cold, "first": first, "bytes": size, "wheel": wheel, "speed": speed}


def written(record: dict[str, Any]) -> dict[Path, str]:
    """The figures on the page about compiled code."""
    found = record["found"]
    here, names = found["targets"][HERE], list(found["targets"])
    rows = {
        "size on disk, MB": lambda one: f"{one['bytes'] / 1e6:.1f}",
        "size in a wheel, MB": lambda one: f"{one['wheel'] / 1e6:.1f}",
        "first path, cold, CPU s": lambda one: f"{one['cold']:.1f}",
        "first path, compiled, CPU s": lambda one: f"{np.median(one['first']):.1f}",
    }
    lines = [f"| code for | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for name, cell in rows.items():
        lines.append(f"| {name} | {' | '.join(cell(one) for one in found['targets'].values())} |")
    for name, seconds in here["speed"].items():
        times = [one["speed"][name] for one in found["targets"].values()]
        lines.append(f"| {name}, CPU s | " + " | ".join(f"{t:.3g} ({t / seconds:.2f})" for t in times) + " |")
    lines += ["", f"In brackets: times the seconds of code for this processor, a {found['processor']}; "
              f"numba {found['numba']}, Python {record['surroundings']['python']}."]  # fmt: skip
    return on_page("compiled", record, lines)


def main() -> None:
    from llvmlite import binding

    found = {"processor": binding.get_host_cpu_name(), "numba": version("numba")}
    keep("generic_cache", found | {"targets": {name: measured(target) for name, target in TARGETS.items()}})


if __name__ == "__main__":
    main()
