"""Pathways that decide when an event comes, with generated truth: MKL under Cox's partial likelihood.

Ten pathways of eight genes, two of which decide; three rows in ten censored. One linear kernel per pathway; lp-norm
MKL at p = 1 and p = infinity (the plain sum), C of each by the concordance on 200 further rows, concordance on 500
more, beside that of the true risk.

Source: Kloft and others (2011) for the method; O. Dereli, C. Oguz, M. Gonen, Path2Surv, Bioinformatics 35, 2019, for
kernels of pathways in survival analysis. The generated truth is ours.
"""

from __future__ import annotations

import numpy as np

from mklcore.data.survival import make_survival
from mklcore.errors import suppress_convergence_warnings
from mklcore.estimators.survival import CoxMKL
from mklcore.experiments.base import Experiment, pause, seed_of
from mklcore.experiments.claims import Claim, above, at_least, rises
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import Linear
from mklcore.losses.survival import concordance

SIZES = (100, 200, 400)
N_CHECK, N_TEST = 200, 500
COSTS = 10.0 ** np.arange(-3.0, 0.5, 0.5)


def measure(row: str, seed: int, repetition: int) -> list[float]:
    """Concordance of p = 1, of the plain sum and of the true risk, and the share of weight on the pathways that
    decide.
    """
    n = int(row)
    drawn = seed_of(seed, SIZES.index(n), repetition)
    data = make_survival(n + N_CHECK + N_TEST, seed=drawn)
    train, check, test = np.split(np.arange(len(data.X)), [n, n + N_CHECK])
    kernels = KernelDictionary.per_group(Linear(), data.groups)
    chosen = []
    for p in (1.0, np.inf):
        models = []
        for C in COSTS:
            pause()
            with suppress_convergence_warnings():
                models.append(CoxMKL(p=p, C=float(C), kernels=kernels, tol=1e-2).fit(data.X[train], data.y[train]))
        chosen.append(max(models, key=lambda model: model.score(data.X[check], data.y[check])))
    deciding = [name in data.informative for name, _ in data.groups]
    weight = float(chosen[0].weights_[deciding].sum() / chosen[0].weights_.sum())
    scores = [model.score(data.X[test], data.y[test]) for model in chosen]
    return [*scores, concordance(data.y[test], data.risk[test]), weight]


SURVIVAL_PATHWAYS = Experiment(
    key="survival_pathways",
    title="Which pathways say when an event comes, with known truth",
    paper="Kloft, Brefeld, Sonnenburg, Zien (2011), equation (16)",
    did="The paper's method takes any convex loss; survival is not among its experiments.",
    claims=(
        Claim(
            "Where few kernels decide, sparse weights order the rows better than the plain sum of kernels.",
            "section 6.1",
            above("p = 1", "p = ∞"),
        ),
        Claim("The concordance rises with the rows, towards that of the true risk.", "own data", rises("p = 1")),
        Claim(
            "Most of the weight is on the two pathways that decide, from 200 rows on.",
            "own data",
            at_least("weight that decides", 0.5, ("200", "400")),
        ),
    ),
    open_points="There are no published numbers to compare with: the truth is known because it was generated.",
    row_name="rows",
    rows=tuple(map(str, SIZES)),
    columns=("p = 1", "p = ∞", "true risk", "weight that decides"),
    unit="concordance, then weight",
    replicated=((np.nan,) * 4,) * len(SIZES),
    repetitions=10,
    measure=measure,
    source="none: the paper has no experiment",
    panels=(("concordance", 3), ("share of weight", 1)),
    seconds=4.0,
)
