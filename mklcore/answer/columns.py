"""Which columns are distinguishable from noise, with a bound on the share of false ones.

Every column has a p-value: models that have not seen some rows predict these, with the column as it
is and permuted, and the growth of their squared errors is held against zero, row by row. Benjamini
and Hochberg's step-up procedure then takes the k smallest p-values, for the largest k with p_(k) <=
fdr k / m.

Source: Benjamini and Hochberg (1995), Controlling the false discovery rate, JRSS B 57; the growth
of errors as in Breiman (2001), Random forests, section 10.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mklcore.answer.exploration import Exploration
from mklcore.answer.explore import explore
from mklcore.data.dataset import Dataset
from mklcore.errors import DataError, ParameterError, Progress
from mklcore.parameters import is_finite_number

LEAST_ROWS = 20
MOST_ROWS = 4000


@dataclass(frozen=True)
class ColumnSelection:
    """The columns that were chosen.

    ``names`` : those columns, the smallest p-value first; ``p_values`` : of every column, by name;
    ``threshold`` : the largest p-value that was taken, 0 where no column was; ``notes`` : what
    bounds the false ones, and what was drawn.
    """

    names: tuple[str, ...]
    p_values: dict[str, float]
    threshold: float
    notes: tuple[str, ...] = ()


def select_columns(
    data: Dataset, fdr: float = 0.1, seed: int = 0, *, callback: Progress | None = None
) -> ColumnSelection:
    """Which columns of this table are distinguishable from noise?

    Parameters
    ----------
    data : Dataset
        A table with a target; at most 4000 of its rows are used.
    fdr : float, default 0.1
        Share of false columns that is expected among those named, at most.
    seed : int, default 0
        Seed of the folds and permutations.
    callback : callable or None, default None
        Called as callback(done, total) by `explore`; raise in it to cancel.

    Returns
    -------
    ColumnSelection
        The chosen columns with the p-values of all.

    Raises
    ------
    ParameterError
        for an fdr that is no number between 0 and 1
    DataError
        for a table without a target, or of fewer than 20 rows

    Notes
    -----
    `explore` chooses a model on all rows, which is fitted again without each of five folds. Columns
    that are correlated above .9 are permuted together, and have one p-value. A column that carries
    nothing by itself may be named where it stands in for one that it is correlated with.
    """
    if not (is_finite_number(fdr) and 0.0 < fdr < 1.0):
        raise ParameterError(
            f"fdr is the share of false columns among those named, between 0 and 1; got {fdr!r}."
        )
    if data.task == "novelty":
        raise DataError(
            "The table has no target, so no column can be distinguished from noise; name a target."
        )
    if data.n_samples < LEAST_ROWS:
        raise DataError(
            f"{data.n_samples} rows are too few to tell columns from noise; {LEAST_ROWS} "
            "are needed."
        )
    found = explore(data, seed=seed, test_size=0.0, max_rows=MOST_ROWS, callback=callback)
    return selection_of(found, fdr)


def selection_of(found: Exploration, fdr: float) -> ColumnSelection:
    """The columns of an answer that are distinguishable from noise."""
    p_values = found.column_p_values or {}
    names = sorted(p_values, key=lambda name: (p_values[name], name))
    bounds = fdr * np.arange(1, len(names) + 1) / max(len(names), 1)
    below = np.flatnonzero(np.array([p_values[name] for name in names]) <= bounds)
    count = int(below[-1]) + 1 if below.size else 0
    threshold = p_values[names[count - 1]] if count else 0.0
    note = f"Of the {count} columns named, a share of {fdr:.0%} is expected to be false at most."
    if not count:
        note = f"No column can be named at a rate of {fdr:g}: take a higher fdr, or more rows."
    return ColumnSelection(tuple(names[:count]), p_values, threshold, (note, *found.divided.notes))
