"""The toy experiment of the lp-norm paper: which p is best depends on how many kernels are informative.

Two Gaussians in R^50 with covariance I and means +-1.75 theta / ||theta||, theta = 1 on some features: the Bayes error
is Phi(-1.75) = 4.01 % whatever their number. One linear kernel per feature, multiplicatively normalised; hinge loss; C
by the error on validation rows; gap at most 1e-3 of the regulariser at every fit.

Source: Kloft, Brefeld, Sonnenburg, Zien (2011), section 6.1; specification of the lp-norm solver, section 13.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from mklcore.experiments.base import Experiment, pause
from mklcore.experiments.claims import Claim, all_of, at_least, at_most, close, highest, lowest, published
from mklcore.lessons.norms import N_FEATURES, toy_draw

N_TRAIN, N_CHECK = 50, 10_000
NORMS = (1.0, 4.0 / 3.0, 2.0, 4.0, np.inf)
COSTS = 10.0 ** np.arange(-4, 0.25, 0.5)
BAYES = 100.0 * float(norm.cdf(-1.75))
INFORMATIVE = {"0": 50, "0.44": 28, "0.64": 18, "0.82": 9, "0.92": 4, "0.98": 1}


def measure(row: str, seed: int, repetition: int) -> list[float]:
    """One repetition: test error in % at every p, then the model error ||theta^ / |theta^| - theta* / |theta*| || at
    every p.
    """
    return measured(N_TRAIN, row, seed, repetition)


def measured(n_train: int, row: str, seed: int, repetition: int) -> list[float]:
    """The same for any number of training points."""
    count = INFORMATIVE[row]
    drawn = [seed, count, repetition] if n_train == N_TRAIN else [seed, count, repetition, n_train]
    errors, weights, _ = toy_draw(count, drawn, NORMS, n_train, N_CHECK, COSTS, pause)
    truth = (np.arange(N_FEATURES) < count) / np.sqrt(count)
    return [*errors, *np.linalg.norm(weights / np.linalg.norm(weights, axis=1, keepdims=True) - truth, axis=1).tolist()]


NAMES = ("p = 1", "p = 4/3", "p = 2", "p = 4", "p = ∞")
DISTANCES = tuple(f"distance {name}" for name in NAMES)
_ROWS = tuple(INFORMATIVE)
_NEAR = 0.25  # percentage points that are called near the Bayes error


def claims(before: str = "") -> tuple[Claim, ...]:
    """What the paper says of 50 training points; ``before`` stands before the rows' names."""
    rows = tuple(f"{before}{row}" for row in _ROWS)
    return (
        Claim(
            "ℓ1-norm MKL is best and reaches the Bayes error where one kernel carries all information.",
            "section 6.1",
            all_of(lowest("p = 1", NAMES, rows[5]), close("p = 1", BAYES, _NEAR, rows[5])),
        ),
        Claim(
            "In the other scenarios ℓ1-norm MKL mostly errs more often than the other norms.",
            "section 6.1",
            highest("p = 1", NAMES, rows[:5]),
            mostly=True,
        ),
        Claim(
            "The plain sum is best where all kernels are equally informative, and does not come near the Bayes error.",
            "section 6.1",
            all_of(lowest("p = ∞", NAMES, rows[0]), at_least("p = ∞", BAYES + _NEAR, rows[0])),
        ),
        Claim(
            "p = 4 and 2 are best in the balanced scenarios: 64 % to 92 % of the kernels uninformative.",
            "section 6.1",
            lowest(("p = 2", "p = 4"), NAMES, rows[2:5]),
        ),
        Claim("p = 4 errs on less than 10 % in all scenarios.", "section 6.1", at_most("p = 4", 10.0, rows)),
        Claim("The numbers of the replication.", "reference numbers", published(rows=rows, share=0.5)),
    )


LP_TOY = Experiment(
    key="lp_toy",
    title="Sparse against non-sparse: error against p for six sparsity levels",
    paper="Kloft, Brefeld, Sonnenburg, Zien (2011), section 6.1",
    did="50 training points of two Gaussians in R⁵⁰, one linear kernel per feature; C from 10⁻⁴ to 1 by the error on "
    "10,000 validation points; error on 10,000 test points and distance of the weights from the truth.",
    claims=claims(),
    open_points="The paper does not say how often it repeats. Its sparsest level, ν = 1, has no informative kernel and "
    "must be 0.98. The chosen C is often at the lower end of the grid.",
    row_name="ν, share of features without information",
    rows=tuple(INFORMATIVE),
    columns=(*NAMES, *DISTANCES),
    unit="test error in %, then distance of the weights",
    replicated=(
        (17.5, 14.9, 12.0, 8.9, 7.4, 0.94, 0.78, 0.59, 0.34, 0.0),
        (16.3, 13.1, 10.3, 7.9, 6.6, 0.90, 0.80, 0.64, 0.53, 0.71),
        (12.5, 10.2, 7.4, 6.7, 7.1, 0.81, 0.72, 0.57, 0.60, 0.89),
        (8.9, 7.3, 5.8, 6.1, 8.1, 0.63, 0.53, 0.43, 0.69, 1.07),
        (7.0, 6.1, 5.5, 6.4, 11.1, 0.51, 0.46, 0.37, 0.82, 1.20),
        (3.9, 3.9, 4.3, 9.7, 19.8, 0.0, 0.01, 0.33, 1.04, 1.31),
    ),
    repetitions=25,
    drawn=2,
    source="an independent replication with 2 repetitions; the paper shows curves only",
    measure=measure,
    panels=(("test error in %", len(NORMS)), ("distance of the weights from the truth", len(NORMS))),
    floor=(BAYES,) * len(INFORMATIVE),
)
