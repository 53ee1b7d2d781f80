"""Figure 3 of the lp-norm paper: test error and model error against sparsity, for 50 and for 800 training points.

The same as ``lp_toy``, which is its upper half, at both sizes. Source: Kloft et al. (2011), section 6.1, Figure 3.
"""

from __future__ import annotations

import numpy as np

from mklcore.arrays import Array
from mklcore.experiments import lp_toy
from mklcore.experiments.base import Experiment
from mklcore.experiments.claims import Claim, Compared, Record, alike, all_of, at_most, falls, highest, lowest, measured

SIZES = (50, 800)
_TOY = lp_toy.LP_TOY


def measure(row: str, seed: int, repetition: int) -> list[float]:
    """One repetition at one size and one sparsity; columns as in ``lp_toy``."""
    n, _, sparsity = row.partition(", ν = ")
    return lp_toy.measured(int(n.removeprefix("n = ")), sparsity, seed, repetition)


_LARGE = tuple(f"n = 800, ν = {row}" for row in _TOY.rows)
_HALF = len(lp_toy.NAMES)


def _correlation(record: Record, row: str) -> Array:
    """Correlation of test and model errors over the norms, one per repetition."""
    lines = record.samples[record.rows.index(row)]
    return np.array([np.corrcoef(line[:_HALF], line[_HALF:])[0, 1] for line in lines])


def _left_over(record: Record) -> list[Compared]:
    """What 800 points leave of the distance less what they leave of the error above Bayes, means over the norms."""

    def left(record: Record, row: str) -> Array:
        many, few = (record.samples[record.rows.index(name)] for name in (row, row.replace("800", "50")))
        excess = (many[:, :_HALF].mean(axis=1) - lp_toy.BAYES) / (few[:, :_HALF].mean(axis=1) - lp_toy.BAYES)
        return np.asarray(many[:, _HALF:].mean(axis=1) / few[:, _HALF:].mean(axis=1) - excess)

    there = [row for row in _LARGE if {row, row.replace("800", "50")} <= set(record.rows)]
    return measured("share of the distance less share of the error", left, 0.0, np.inf, there)(record) if there else []


LP_FIG3 = Experiment(
    key="lp_fig3",
    title="Error against p for six sparsity levels, with few and with many training points",
    paper="Kloft, Brefeld, Sonnenburg, Zien (2011), Figure 3",
    did=_TOY.did.replace("50 training points", "50 and 800 training points"),
    claims=(
        *lp_toy.claims("n = 50, ν = "),
        Claim(
            "With 800 training points the test errors are far smaller.",
            "section 6.1",
            all_of(*(falls(lp_toy.NAMES, f"n = 50, ν = {row}", f"n = 800, ν = {row}") for row in _TOY.rows)),
            why="Where one kernel is informative p = 1, and p = 4/3 nearly, stand at the Bayes error with 50 points "
            "already.",
        ),
        Claim(
            "With 800 points p = ∞ is best and p = 1 worst in the two least sparse scenarios, by up to 1 %.",
            "section 6.1",
            all_of(
                *(
                    check
                    for row in _LARGE[:2]
                    for check in (
                        lowest("p = ∞", lp_toy.NAMES, row),
                        highest("p = 1", lp_toy.NAMES, row),
                        alike("p = ∞", "p = 1", 1.0, row),
                    )
                )
            ),
        ),
        Claim(
            "With 800 points all norms do well in the sparse scenarios (here: within 1 % of the Bayes error).",
            "section 6.1",
            at_most(lp_toy.NAMES, lp_toy.BAYES + 1.0, _LARGE[4:]),
        ),
        Claim(
            "With 50 points model errors follow test errors (here: their correlation over the norms).",
            "section 6.1, Figure 3",
            measured(
                "correlation of test and model errors",
                _correlation,
                0.0,
                np.inf,
                tuple(f"n = 50, ν = {r}" for r in _TOY.rows),
            ),
        ),
        Claim(
            "With 800 points model errors are relatively high although test errors are low (here: of the distance of "
            "50 points a larger share is left than of the test error above the Bayes error).",
            "section 6.1, Figure 3",
            _left_over,
        ),
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
