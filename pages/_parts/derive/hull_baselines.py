"""Derive what a hull is compared with: other models on the same grid of kernels, rows and columns."""

import numpy as np

from mklcore.selection.references import HULL_FITS, Reference, hull_references
from pages._parts.derive import hulls, tables
from pages._parts.derive.derived import Derived, derived
from pages._parts.derive.hulls import Answer
from pages._parts.jobs.job import Job, Report
from pages._parts.params.parameters import HullParams

LABELS = {
    "L2": "L2: all kernels, none selected",
    "greedy": "greedy: a hull grown node by node, equal weights",
    "lasso-alpha": "lasso-α: all kernels, few rows (least squares)",
    "MKL": "MKL: single columns, no products",
}


def can(params: HullParams) -> bool:
    """Tell whether there is anything to compare with: these models are about two classes or numbers."""
    return tables.table(params).task in ("binary", "regression")


def fitted(params: HullParams) -> Derived[tuple[Reference, ...]]:
    """Return the models, each at its best on the validation rows."""
    return derived(params, "hull baselines", hulls.key)


def job(shown: Answer) -> Job:
    """Return the work that fits them, on the rows and levels the hulls have."""
    params = shown.params
    cut, chosen, design = hulls.parts(params), hulls.columns(params), shown.path.estimators[0].design_
    numbers = tables.table(params).task == "regression"
    loss = "squared" if numbers else str(shown.path.estimators[0].loss)
    top = None if numbers else shown.path.estimators[0].classes_[1]

    def signed(y: np.ndarray) -> np.ndarray:
        return np.asarray(y, dtype=float) if numbers else np.where(np.asarray(y) == top, 1.0, -1.0)

    def fit(report: Report) -> tuple[Reference, ...]:
        validation = np.array(cut.validation.X[:, chosen], dtype=float)
        found = hull_references(design, signed(cut.train.y), validation, signed(cut.validation.y), loss, report.tick)
        design.release()
        return found

    return fitted(params).work("Models beside the hulls", fit, HULL_FITS)
