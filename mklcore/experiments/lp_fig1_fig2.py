"""Figures 1 and 2 of the lp-norm paper in numbers: what the bound says of a uniform and of a sparse truth, for every p.

H_p holds the functions with ||w||_{2,q} <= r, q = 2p / (p + 1). A truth of M blocks of norm 1 needs r = M^(1/q), one of a single
block needs r = 1: with Corollary 9 the Rademacher bound is r sqrt(c M^(1/p*) min(e ceil(ln M), ceil(p*)) / n).

Source: Kloft et al. (2011), section 5.1, Examples 1 and 2, Figures 1 and 2; specification, errata 15 and 16.
"""

from __future__ import annotations

import numpy as np

from mklcore.experiments.base import Experiment, pause
from mklcore.theory.lp import lp_rademacher_bound

KERNELS, N_ROWS = (2, 50, 1000), 1000
NORMS = {"1": 1.0, "32/31": 32 / 31, "8/7": 8 / 7, "4/3": 4 / 3, "2": 2.0, "4": 4.0, "∞": np.inf}


def measure(row: str, seed: int, repetition: int) -> list[float]:
    """The bound for the uniform truth, divided by M, and for the sparse one, at every number of kernels."""
    pause()
    pause()
    p = NORMS[row]
    order = 0.5 + (0.0 if np.isinf(p) else 0.5 / p)  # 1 / q
    bounds = [lp_rademacher_bound(p, M, N_ROWS) for M in KERNELS]
    uniform = [M**order * bound / M for M, bound in zip(KERNELS, bounds, strict=True)]
    return [*uniform, *bounds]


LP_FIG1_FIG2 = Experiment(
    key="lp_fig1_fig2",
    title="What the bounds say: a uniform and a sparse truth, for every p",
    paper="Kloft, Brefeld, Sonnenburg, Zien (2011), Figures 1 and 2",
    did="Pictures of two truths for two kernels: one whose blocks all weigh the same, touched best by the ball of p = ∞, and one "
    "with a single block, touched by every ball in the same point; bounds of the risk for M kernels in both cases.",
    claims=(
        "Uniform truth: the bound grows like M for every p, with a factor √ln M more at p = 1.",
        "Sparse truth: the bound grows like √ln M at p = 1 and like a root of M for larger p: sparse norms win there.",
    ),
    open_points="The figures are drawings without numbers; here stand the bounds that the examples lead to, 1000 rows, feature "
    "norms of at most 1. As printed both examples forget the square root, and the second keeps a factor M² that cancels: the "
    "corrected rates are used. The first columns are divided by M, so that what grows more slowly falls.",
    row_name="p",
    rows=tuple(NORMS),
    columns=(*(f"uniform, M = {M}" for M in KERNELS), *(f"sparse, M = {M}" for M in KERNELS)),
    unit="Rademacher bound",
    replicated=((np.nan,) * (2 * len(KERNELS)),) * len(NORMS),
    repetitions=1,
    measure=measure,
    source="none: the figures are drawings",
    panels=(("bound / M for a uniform truth", len(KERNELS)), ("bound for a sparse truth", len(KERNELS))),
    seconds=0.001,
)
