"""Figure 3 of the lp-norm paper: test error and model error against sparsity, for 50 and for 800 training points.

The same as ``lp_toy``, which is its upper half, at both sizes. Source: Kloft et al. (2011), section 6.1, Figure 3.
"""

from __future__ import annotations

import numpy as np

from mklcore.experiments import lp_toy
from mklcore.experiments.base import Experiment

SIZES = (50, 800)
_TOY = lp_toy.LP_TOY


def measure(row: str, seed: int, repetition: int) -> list[float]:
    """One repetition at one size and one sparsity; columns as in ``lp_toy``."""
    n, _, sparsity = row.partition(", ν = ")
    return lp_toy.measured(int(n.removeprefix("n = ")), sparsity, seed, repetition)


LP_FIG3 = Experiment(
    key="lp_fig3",
    title="Error against p for six sparsity levels, with few and with many training points",
    paper="Kloft, Brefeld, Sonnenburg, Zien (2011), Figure 3",
    did=_TOY.did.replace("50 training points", "50 and 800 training points"),
    claims=(
        *_TOY.claims,
        "With 800 points all errors fall; methods differ by up to 1 % in the least sparse cases and hardly elsewhere.",
        "With 50 points model errors mirror test errors, with 800 they are high although test errors are low.",
    ),
    open_points=_TOY.open_points
    + " For n = 800 there is no reference but the Bayes error: the paper shows curves only.",
    row_name="training points and share of features without information",
    rows=tuple(f"n = {n}, ν = {row}" for n in SIZES for row in _TOY.rows),
    columns=_TOY.columns,
    unit=_TOY.unit,
    replicated=(*_TOY.replicated, *((np.nan,) * len(_TOY.columns),) * len(_TOY.rows)),
    repetitions=_TOY.repetitions,
    drawn=_TOY.drawn,
    measure=measure,
    source="an independent replication with 2 draws for n = 50; the paper shows curves only",
    panels=_TOY.panels,
    floor=(lp_toy.BAYES,) * (2 * len(_TOY.rows)),
    quick=(f"n = 50, ν = {_TOY.rows[3]}", f"n = 50, ν = {_TOY.rows[5]}", f"n = 800, ν = {_TOY.rows[5]}"),
    seconds=10.0,
    marks=tuple((f"n = {n}", f"{100 * float(row):.0f}") for n in SIZES for row in _TOY.rows),
    mark_name="share of features without information in %",
)
