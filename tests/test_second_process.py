"""A second process compiles nothing: every leaf a fit needs comes out of numba's cache.

The first process starts from an empty cache and must compile; both then do the same work. Read-only and writable
input are different signatures to numba, so both are tried.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

WORK = """
import sys
import warnings

import numpy as np
from numba.core.dispatcher import Dispatcher

import mklcore
from mklcore.estimators.registry import ESTIMATORS


def leaves():
    modules = [module for name, module in list(sys.modules.items()) if name.split(".")[0] == "mklcore"]
    found = {id(value): value for module in modules for value in vars(module).values() if isinstance(value, Dispatcher)}
    return found.values()


def total(kind):
    return sum(sum(getattr(leaf.stats, kind).values()) for leaf in leaves())


warnings.simplefilter("ignore", mklcore.NotConvergedWarning)
mklcore.warmup.warm_up()
warmed = total("cache_misses")
rng = np.random.default_rng(0)
X = np.ascontiguousarray(rng.standard_normal((24, 3)))
frozen = X.copy()
frozen.setflags(write=False)
targets = {"classifier": np.where(X[:, 0] + 0.3 * rng.standard_normal(24) > 0, 1, -1), "regressor": X[:, 0] ** 2}
for algorithm in ESTIMATORS.values():
    for kind, y in targets.items():
        for rows in (X, frozen):
            getattr(algorithm, kind)().fit(rows, y).predict(rows[:5])
misses = total("cache_misses")
print("leaves", len(leaves()), "hits", total("cache_hits"), "misses", misses, "late", misses - warmed)
"""


def counts(cache: Path) -> dict[str, int]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", WORK], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()[-8:]
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory) -> tuple[dict[str, int], dict[str, int]]:
    cache = tmp_path_factory.mktemp("numba")
    return counts(cache), counts(cache)


def test_the_first_process_compiles(two_processes):
    first, _ = two_processes
    assert first["leaves"] >= 10
    assert first["misses"] > 0


def test_the_warm_up_leaves_nothing_for_the_first_fit_to_compile(two_processes):
    first, _ = two_processes
    assert first["late"] == 0


def test_the_second_process_compiles_nothing(two_processes):
    first, second = two_processes
    assert second["misses"] == 0
    assert second["hits"] > 0
    assert second["leaves"] == first["leaves"]
