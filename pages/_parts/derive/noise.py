"""Derive which columns are distinguishable from noise: by knockoffs, or by complementary half samples."""

from mklcore.data.dataset import joined_rows
from mklcore.uncertainty import ColumnSelection, select_columns
from mklcore.uncertainty.columns import COSTS, PAIRS
from pages._parts.derive import tables
from pages._parts.derive.derived import Derived, derived
from pages._parts.jobs.job import Job, Report
from pages._parts.params.parameters import DataParams

FDR, MAX_FALSE = 0.1, 1.0
METHODS = {"stability": "half samples", "knockoffs": "knockoffs"}


def can_be_selected(params: DataParams) -> bool:
    """Tell whether columns of this table can be screened for noise: it has a target, columns, and no sequences."""
    if tables.on_stack(params):
        return False
    table = tables.table(params)
    return table.task != "novelty" and not table.sequences and table.n_samples >= 40


def selection(params: DataParams, method: str) -> Derived[ColumnSelection]:
    """Return the columns that ``method`` names, of all rows but the test rows."""
    return derived(params, ("noise", method), lambda now: now.part(DataParams))


def job(params: DataParams, method: str) -> Job:
    """Return the work that tells columns from noise."""
    parts = tables.split(params)
    rows = joined_rows(parts.train, parts.validation)
    targets = len(rows.class_names) if rows.task == "multiclass" else 1
    steps = targets * (len(COSTS) + 1 if method == "knockoffs" else 2 * PAIRS)

    def select(report: Report) -> ColumnSelection:
        return select_columns(rows, method, FDR, MAX_FALSE, params.seed, callback=report.tick)

    return selection(params, method).work(f"Columns by {METHODS[method]}", select, steps)
