"""Figure 1 of the lp-norm paper in numbers: what the bound says of a uniform and of a sparse truth, for every p.

H_p holds the functions with ||w||_{2,q} <= r, q = 2p / (p + 1). A truth of M blocks of norm 1 needs r = M^(1/q), one of
a single block needs r = 1: with Corollary 9 the Rademacher bound is r sqrt(c M^(1/p*) min(e ceil(ln M), ceil(p*)) / n).

Source: Kloft et al. (2011), section 5.1, Examples 1 and 2, Figure 1; specification, errata 15 and 16.
"""

from __future__ import annotations

import numpy as np

from mklcore.experiments.base import Experiment, pause
from mklcore.experiments.claims import Claim, all_of, falls, rises
from mklcore.theory.lp import lp_rademacher_bound

KERNELS, N_ROWS = (2, 50, 1000), 1000
NORMS = {"1": 1.0, "32/31": 32 / 31, "8/7": 8 / 7, "4/3": 4 / 3, "2": 2.0, "4": 4.0, "∞": np.inf}
UNIFORM, SPARSE = (tuple(f"{truth}, M = {M}" for M in KERNELS) for truth in ("uniform", "sparse"))


def measure(row: str, seed: int, repetition: int) -> list[float]:
    """The bound for the uniform truth, divided by M, and for the sparse one, at every number of kernels."""
    pause()
    p = NORMS[row]
    order = 0.5 + (0.0 if np.isinf(p) else 0.5 / p)  # 1 / q
    bounds = [lp_rademacher_bound(p, M, N_ROWS) for M in KERNELS]
    uniform = [M**order * bound / M for M, bound in zip(KERNELS, bounds, strict=True)]
    return [*uniform, *bounds]


LP_FIG1 = Experiment(
    key="lp_fig1",
    title="What the bounds say: a uniform and a sparse truth, for every p",
    paper="Kloft, Brefeld, Sonnenburg, Zien (2011), Figure 1",
    did="A picture of two best classifiers for two kernels, one that uses both alike and one that uses a single one, "
    "and bounds of the risk for M kernels in both cases, by the smallest ball that holds the classifier.",
    claims=(
        Claim(
            "Uniform truth: the bounds of all p > 1 grow alike with M and are strictly smaller than that of ℓ1-norm "
            "MKL, which has a factor log M more.",
            "section 5.1, Example 1",
            all_of(*(falls(UNIFORM[1:], "1", row) for row in list(NORMS)[1:])),
            why="The rates are those of M → ∞. The bound takes the smaller of e⌈ln M⌉ and ⌈p*⌉, and next to p = 1 the "
            "first is the smaller one: at p = 32/31 up to more than 10⁵ kernels. There both bounds are the same.",
        ),
        Claim(
            "Sparse truth: the bound of ℓ1-norm MKL is considerably smaller than that of p > 1, above all with many "
            "kernels.",
            "section 5.1, Example 2",
            all_of(*(rises(SPARSE[1:], "1", row) for row in list(NORMS)[1:])),
            why="At p = 8/7 and 4/3 the constants decide: M^(1/p*)⌈p*⌉ is still smaller than e⌈ln M⌉ for some M up to "
            "1000. From p = 2 on the sentence holds.",
        ),
    ),
    open_points="The figure is a drawing without numbers (Figure 2, of the toy experiment, is another); here stand the "
    "bounds that the examples lead to, 1000 rows, feature norms of at most 1. As printed both examples forget the "
    "square root, and the second keeps a factor M² that cancels: the corrected rates are used. The first columns are "
    "divided by M, so that what grows more slowly falls.",
    row_name="p",
    rows=tuple(NORMS),
    columns=(*UNIFORM, *SPARSE),
    unit="Rademacher bound",
    replicated=((np.nan,) * (2 * len(KERNELS)),) * len(NORMS),
    repetitions=1,
    measure=measure,
    source="none: the figure is a drawing",
    panels=(("bound / M for a uniform truth", len(KERNELS)), ("bound for a sparse truth", len(KERNELS))),
    seconds=0.001,
)
