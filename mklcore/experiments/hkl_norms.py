"""The two rows of the classification table of the hierarchical kernel learning paper whose data can be made again.

Twonorm and ringnorm in 20 dimensions (Breiman), 512 training points; logistic loss; polynomial basis of degree 4, 5^20
kernels. L2 regularisation with all of them, greedy growth of a hull, and HKL. lambda of every method, and the size of
the greedy hull, by the error on fresh points.

Source: Bach (2008), Table 2; specification, section 8.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mklcore.arrays import Array
from mklcore.data.synthetic import make_ringnorm, make_twonorm
from mklcore.estimators.hkl import HKLClassifier
from mklcore.experiments.base import Experiment, pause
from mklcore.experiments.claims import Claim, above, below, published
from mklcore.experiments.hkl_full import Models, full_kernel, grown, line, wrong
from mklcore.experiments.hkl_numbers import TABLE_2
from mklcore.solvers.hkl.baselines import hkl_l2
from mklcore.solvers.hkl.bases import PolynomialBasis

N_TRAIN, N_CHECK, BASIS = 512, 2048, PolynomialBasis(4)
L2_LAMS = 10.0 ** np.arange(0.0, -5.5, -1.0)
GREEDY_LAMS, GREEDY_SIZES = 10.0 ** np.arange(-1.0, -3.5, -1.0), (5, 10, 20, 30, 40, 60)
HKL_LAMS = 10.0 ** np.arange(-3.0, -6.5, -1.0)
_TOL, _SECONDS = 1e-2, 10.0
DATA = {"twonorm": make_twonorm, "ringnorm": make_ringnorm}


def measure(row: str, seed: int, repetition: int) -> list[float]:
    """One repetition: test error in % of L2, greedy and HKL, then the nodes in the hull of HKL."""
    seeds = np.random.SeedSequence([seed, list(DATA).index(row), repetition]).generate_state(3)
    drawn = [DATA[row](n, int(s))[0] for n, s in zip((N_TRAIN, N_CHECK, N_CHECK), seeds, strict=True)]
    parts = [(data.X, data.y.astype(float)) for data in drawn]
    return line(_models(*parts[0]), parts, wrong)


def _models(X: Array, y: Array) -> Iterator[Models]:
    yield full_kernel(hkl_l2, X, y, BASIS, L2_LAMS, depths=(), loss="logistic")
    yield grown(X, y, BASIS, GREEDY_LAMS, GREEDY_SIZES, "logistic")
    hulls = [_hull(X, y, lam) for lam in HKL_LAMS]
    yield [(hull.decision_function, hull) for hull in hulls]


def _hull(X: Array, y: Array, lam: float) -> HKLClassifier:
    pause()
    model = HKLClassifier(BASIS, lam=float(lam), loss="logistic", tol=_TOL, max_seconds=_SECONDS)
    model.fit(X, y)
    return model


HKL_NORMS = Experiment(
    key="hkl_norms",
    title="Hulls of 5²⁰ kernels on twonorm and ringnorm",
    paper="Bach (2008), Table 2",
    did="1024 points of twonorm and of ringnorm in 20 dimensions, half of them for training, 10 random splits; "
    "logistic loss; polynomial kernels of degree 4; L2 regularisation with all kernels, greedy selection, and HKL; "
    "parameters by the best value on a grid.",
    claims=(
        Claim(
            "Where the problem is known not to be sparse, on ringnorm and twonorm, HKL performs slightly worse than "
            "other approaches (here: than L2).",
            "section 5",
            above("HKL", "L2"),
            why="on ringnorm L2 is the one that errs more here: its error depends on how its kernel is scaled, which "
            "the paper does not tell, and the order of its number and that of HKL is open in the printed table.",
        ),
        Claim(
            "HKL is wrong less often than greedy selection (here: on twonorm, where both numbers are known, and on "
            "ringnorm).",
            "Table 2",
            below("HKL", "greedy"),
            why="greedy selection is wrong less often than published: its λ and its number of kernels are chosen here.",
        ),
        Claim(
            "The numbers of Table 2 on twonorm and ringnorm, with polynomials.",
            "Table 2",
            published(),
            why="greedy selection is wrong less often than published: its λ and its number of kernels are chosen here.",
        ),
    ),
    open_points="Every repetition draws new points instead of splitting the same 1024 again, and parameters are chosen "
    "on 2048 further points, so that the error on the last 2048 is not optimistic. The paper does not say how inputs "
    "are scaled for L2 (here by 1/√20, 20^-¾ or 1/20, whichever is best on these points: unscaled, the kernel of 20 "
    "columns is nearly diagonal and L2 stays at chance; by 1/√20 alone it errs on a fifth of ringnorm), nor which λ "
    "greedy selection uses (here it is chosen, which makes it better than published). The text of the table leaves "
    "open which of two numbers belongs to L2 and which to HKL on ringnorm: these cells stay empty, as in hkl_table2. "
    "On twonorm the order follows the paper's sentence.",
    row_name="data",
    rows=tuple(DATA),
    columns=("L2", "greedy", "HKL", "nodes of HKL"),
    unit="test error in %, then nodes",
    replicated=tuple((*TABLE_2[f"{name}, pol4"][0], np.nan) for name in DATA),
    repetitions=10,
    measure=measure,
    source="Table 2 of the paper, mean and standard deviation over 10 splits",
    spread=tuple((*TABLE_2[f"{name}, pol4"][1], np.nan) for name in DATA),
    panels=(("test error in %", 3), ("nodes in the hull of HKL", 1)),
    ordered=False,
    floor=tuple(100.0 * make(2, 0)[1].bayes_error for make in DATA.values()),
    seconds=8.0,
)
