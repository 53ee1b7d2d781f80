"""Figure 2 of the hierarchical kernel learning paper: a sparse polynomial of p variables, as it is and rotated.

1024 training points of a random sparse polynomial of degree 4 in p = 4 to 128 correlated variables; basis of degree 4,
5^p kernels; squared loss. HKL, greedy growth of a hull and L2 with the full kernel; parameters by 512 validation
points, mean squared error (variance 1) on 1024 test points.

Source: Bach (2008), section 5, Figure 2; specification, section 8.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mklcore.arrays import Array
from mklcore.data.synthetic import make_sparse_polynomial
from mklcore.estimators.hkl import HKLRegressor
from mklcore.experiments.base import Experiment, is_quick, seed_of
from mklcore.experiments.claims import Claim, below
from mklcore.experiments.hkl_full import Models, full_kernel, grown, hulls_along, line, squared
from mklcore.solvers.hkl.baselines import hkl_l2
from mklcore.solvers.hkl.bases import PolynomialBasis

SIZES, N_TRAIN, N_VALIDATION, N_TEST = (4, 8, 16, 32, 64, 128), 1024, 512, 1024
QUICK_TRAIN = 256
GREEDY_LAMS, GREEDY_SIZES = (1e-2, 1e-4), (5, 10, 20, 40)
LEAST = {4: -9, 8: -9}  # exponent of the least λ; -6 where more variables make smaller ones dear
_TOL, _SECONDS = 1e-2, 20.0


def measure(row: str, seed: int, repetition: int) -> list[float]:
    """One replication: test error of L2, greedy and HKL, then the nodes in the hull of HKL."""
    size, _, turned = row.partition(", ")
    p = int(size.removeprefix("p = "))
    n = QUICK_TRAIN if is_quick() else N_TRAIN
    draw = seed_of(seed, p, repetition)
    data, _ = make_sparse_polynomial(n + N_VALIDATION + N_TEST, p, int(draw), rotate=turned == "rotated")
    X, y = np.array(data.X), np.array(data.y)
    parts = [(X[a:b], y[a:b]) for a, b in ((0, n), (n, n + N_VALIDATION), (n + N_VALIDATION, len(y)))]
    return line(_models(*parts[0]), parts, squared)


def _models(X: Array, y: Array) -> Iterator[Models]:
    basis, p = PolynomialBasis(4), X.shape[1]
    yield full_kernel(hkl_l2, X, y, basis, lams(0, p))
    yield grown(X, y, basis, GREEDY_LAMS, GREEDY_SIZES)
    yield hulls_along(HKLRegressor(basis, tol=_TOL, max_seconds=_SECONDS), X, y, lams(-2, p))


def lams(first: int, p: int) -> Array:
    """Powers of ten from 10^first down to the least λ that is tried with p variables."""
    found: Array = 10.0 ** np.arange(float(first), LEAST.get(p, -6) - 0.5, -1.0)
    return found


_ROWS = tuple(f"p = {p}, {kind}" for kind in ("as drawn", "rotated") for p in SIZES)

HKL_FIG2 = Experiment(
    key="hkl_fig2",
    title="A sparse polynomial of up to 128 variables, as it is and rotated",
    paper="Bach (2008), Figure 2",
    did="1024 samples of 4 to 128 variables with a random covariance matrix; the target is a random sparse polynomial "
    "of degree 4; "
    "40 replications; HKL, greedy selection and L2 with the full kernel; mean squared error, original and rotated.",
    claims=(
        Claim(
            "Where the predictor is sparse, HKL outperforms L2 and greedy selection when the number of variables "
            "increases (here: from 8 on).",
            "section 5",
            below("HKL", ("L2", "greedy"), _ROWS[1:6]),
        ),
        Claim(
            "Where the best predictor is not sparse, after a rotation, HKL performs only slightly better.",
            "section 5",
            below("HKL", ("L2", "greedy"), _ROWS[6:]),
            why="with 16 rotated variables and more λ ends at 10⁻⁶, where a hull has hundreds of nodes and its error "
            "still "
            "falls; L2 has all kernels at every λ. With 4 and 8 variables, where λ goes down to 10⁻⁹, both err alike.",
        ),
    ),
    open_points="The paper shows curves, no numbers, and leaves open the number and degree of the monomials, the noise "
    "(here a standard deviation of 0.2, so that the best error is 0.04), and how parameters were chosen (here on 512 "
    "further points). L2 takes inputs divided by √p, p^¾ or p, or the levels of hulls, a product of |v| of them "
    "divided by B^2|v| with B from 6 to 16, whichever is best on these points. λ goes down to 10⁻⁹ for hulls and for "
    "L2, with 16 variables and more to 10⁻⁶: below, hulls grow beyond 600 nodes and one λ takes half a minute. With 16 "
    "rotated variables and more hulls err a little more than L2; there λ still ends before the error stops falling. "
    "Ten replications, not 40. 4 and 8 variables were measured after the others, when λ had ended there, too, so the "
    "seconds of the whole are not reported. The price of depth is not the cause: on a draw of four rotated variables "
    "prices of 1, 2 and 4 err alike, each at another λ. Small runs train on 256 points, not 1024, and are "
    "distinguished by that.",
    row_name="variables",
    rows=_ROWS,
    columns=("L2", "greedy", "HKL", "nodes of HKL"),
    unit="mean squared error, then nodes",
    replicated=((np.nan,) * 4,) * len(_ROWS),
    repetitions=10,
    measure=measure,
    source="none: the paper shows curves only",
    panels=(("mean squared error on test points", 3), ("nodes in the hull of HKL", 1)),
    floor=(0.04,) * len(_ROWS),
    quick=("p = 4, as drawn", "p = 32, as drawn", "p = 32, rotated"),
    seconds=30.0,
    marks=tuple((kind, str(p)) for kind in ("as drawn", "rotated") for p in SIZES),
    mark_name="variables p",
)
