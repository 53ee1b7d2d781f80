"""A second process compiles nothing: every function a fit needs comes out of numba's cache, and the
warm-up knows them all.

The first process fills the cache where it is not filled yet; in a run of all tests it was filled
before the first test.
"""

import pytest

from tests.helpers.project import run_python

WORK = """
import sys
import warnings

import numpy as np
from numba.extending import is_jitted

import mklcore
from mklcore.io.catalog import ESTIMATORS


def jitted():
    modules = [module for name, module in list(sys.modules.items()) if name.split(".")[0] == "mklcore"]
    found = {id(value): value for module in modules for value in vars(module).values() if is_jitted(value)}
    return found.values()


def total(kind):
    return sum(sum(getattr(one.stats, kind).values()) for one in jitted())


warnings.simplefilter("ignore", mklcore.NotConvergedWarning)
mklcore._numba.warmup.warm_up()
warmed, compiled = total("cache_hits") + total("cache_misses"), total("cache_misses")
rng = np.random.default_rng(0)
X = np.ascontiguousarray(rng.standard_normal((24, 3)))
frozen = X.copy()
frozen.setflags(write=False)
targets = {"classifier": np.where(X[:, 0] + 0.3 * rng.standard_normal(24) > 0, 1, -1), "regressor": X[:, 0] ** 2}
for algorithm in ESTIMATORS.values():
    for kind, y in targets.items():
        for rows in (X, frozen):
            getattr(algorithm, kind)().fit(rows, y).predict(rows[:5])
more = np.tile(X, (10, 1))
for estimator in (mklcore.LpMKLClassifier, mklcore.UniformMKLClassifier):  # large machines have their own
    estimator().fit(more, np.where(more[:, 0] > 0, 1, -1))
late = total("cache_hits") + total("cache_misses") - warmed
print("jitted", len(jitted()), "loaded", warmed - compiled, "compiled", compiled, "late", late)
"""


FIRST = """
import sys
import warnings

from numba.extending import is_jitted

import mklcore
from mklcore._numba import warmup

warnings.simplefilter("ignore", mklcore.NotConvergedWarning)
for step in warmup.steps()[: warmup.FIRST]:
    step()


def counted():
    modules = [module for name, module in list(sys.modules.items()) if name.split(".")[0] == "mklcore"]
    found = {id(value): value for module in modules for value in vars(module).values() if is_jitted(value)}
    return {(each.py_func.__name__, one) for each in found.values() for one in each.signatures}


warmed = counted()
for sample in ("iris", "diabetes"):
    mklcore.explore(mklcore.load_sample(sample))
print("warmed", len(warmed), "late", sorted(name for name, _ in counted() - warmed))
"""


@pytest.fixture(scope="module")
def second():
    """Count in a process after one that filled the cache: what the first paths load beyond the
    first steps; then functions, those it loaded and compiled, and those the warm-up missed.

    As long as the first paths load nothing of their own, they hide nothing that the warm-up misses.
    """
    run_python("-m", "mklcore._numba.warmup")
    first, counts = run_python("-c", FIRST + WORK).splitlines()[-2:]
    words = counts.split()
    return first, dict(zip(words[::2], map(int, words[1::2]), strict=True))


def test_the_warm_up_leaves_nothing_for_the_first_fit_to_compile_or_to_load(second):
    assert second[1]["late"] == 0


def test_the_second_process_compiles_nothing(second):
    assert second[1]["jitted"] >= 10
    assert second[1]["loaded"] > 0
    assert second[1]["compiled"] == 0


def test_the_paths_everybody_sees_first_need_the_first_steps_alone(second):
    assert "late []" in second[0], second[0]
