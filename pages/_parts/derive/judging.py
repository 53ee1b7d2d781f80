"""Derive how right the model at a cursor is on the validation rows: its decisions, the probabilities fitted to them,
and prediction bands whose width varies with the row.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mklcore.errors import DataError, MKLError, suppress_convergence_warnings
from mklcore.figures import style
from mklcore.selection.probabilities import Probabilities, calibrate, cross_fitted
from mklcore.uncertainty import HeldOutScores
from pages._parts.derive import caches, choices, dictionaries, finals, gram_stacks, low_rank, paths, tables
from pages._parts.derive.derived import Derived, derived
from pages._parts.derive.predictions import Chosen
from pages._parts.jobs.job import Job, Report
from pages._parts.params.parameters import Params, PathParams

if TYPE_CHECKING:
    from mklcore.uncertainty import QuantileBand

LEVEL = 0.9  # share of new rows that intervals and sets are to cover
ISOTONIC_ROWS = 1000  # validation rows from which steps are as sure as a sigmoid


@dataclass(frozen=True, eq=False)
class Judged:
    """The validation rows as the model sees them: target ``y``, what it ``said``, its decision values.

    ``probabilities`` maps decisions of other rows; ``fair`` (n, n_classes) are those of these rows, each from maps
    fitted without it. Both are None for regression, and where ``why_not`` says what is missing.
    """

    y: np.ndarray
    said: np.ndarray
    decision: np.ndarray
    probabilities: Probabilities | None = None
    fair: np.ndarray | None = None
    why_not: str = ""


def judged(point: Chosen) -> Judged:
    """Return how right the model is on the validation rows."""
    return caches.result_cache(point.params).made((*point.key, "judged"), lambda: _judge(point))


def _judge(point: Chosen) -> Judged:
    fitted, y = point.judged, gram_stacks.parts(point.params).validation.y
    decision = np.asarray(fitted.decide_blocks(low_rank.work(point.params)().validation), dtype=float)
    said = np.asarray(fitted.label(decision))
    if not hasattr(fitted, "classes_"):
        return Judged(y, said, decision)
    method = "isotonic" if y.size >= ISOTONIC_ROWS else "platt"
    try:
        fit = calibrate(decision, y, fitted.classes_, method)
        fair = cross_fitted(decision, y, fitted.classes_, method)
    except DataError as error:
        return Judged(y, said, decision, why_not=str(error))
    return Judged(y, said, decision, fit, fair)


def maps(point: Chosen) -> Probabilities | None:
    """Return the maps from decision values to probabilities; None where there are none."""
    return judged(point).probabilities if tables.table(point.params).task in ("binary", "multiclass") else None


def probabilities(point: Chosen, decision: Any) -> np.ndarray | None:
    """Return the probabilities (n, n_classes) for decision values of other rows; None where there are none."""
    found = maps(point)
    return None if found is None else found.of(np.asarray(decision, dtype=float))


def method(point: Chosen) -> str:
    """Return how the probabilities were made."""
    found = judged(point).probabilities
    if found is None:
        return ""
    way = "Platt's sigmoid" if found.method == "platt" else "An isotonic step function"
    return f"{way}, fitted on {found.n_rows} validation rows."


def held_out(point: Chosen) -> HeldOutScores | None:
    """Return how far the model is off on the validation rows, for intervals and sets; None where they are too few."""
    return caches.result_cache(point.params).made((*point.key, "held out"), lambda: (_held_out(point),))[0]


def _held_out(point: Chosen) -> HeldOutScores | None:
    task = tables.table(point.params).task
    if task == "novelty":
        return None
    found, fitted = judged(point), point.judged
    if task == "regression":
        scores = HeldOutScores.of_numbers(found.said, found.y)
    elif found.decision.ndim > 1 and found.decision.shape[1] not in (1, len(fitted.classes_)):
        return None
    else:
        scores = HeldOutScores.of_classes(found.decision, found.y, fitted.classes_)
    try:
        scores.interval(np.zeros(1), LEVEL)
    except MKLError:
        return None
    return scores


SENTENCE = (
    f"Conformalized quantile regression: intervals cover at least {style.percent(LEVEL)} of new "
    "exchangeable rows and are wide where the target varies much."
)
FITS = 6  # three quantiles, with and without the rows held out


def possible(params: PathParams) -> bool:
    """Tell whether there can be bands: the target is a number, and the kernels of all rows have room."""
    return choices.fits_whole(params) and tables.table(params).task == "regression"


def band(params: PathParams) -> "Derived[QuantileBand]":
    """Return the quantile models, fitted on all rows but the test rows."""
    return derived(params, "band", paths.key)


def in_use(params: Params) -> "QuantileBand | None":
    """Return the bands where they are asked for and computed."""
    return band(params).value if params.varying and possible(params) else None


def job(params: PathParams) -> Job:
    """Return the work that fits the quantile models."""
    from mklcore.estimators.lp import LpMKLRegressor  # both load scikit-learn, which the frame is drawn without
    from mklcore.uncertainty import QuantileBand

    rows, found = choices.rest(params), band(params)
    model = LpMKLRegressor(kernels=dictionaries.dictionary(params), p=getattr(paths.estimator(params), "p", 1.0))
    model.set_params(**finals.settings(params, model))

    def fit(report: Report) -> "QuantileBand":
        report.heard_by(model)
        with suppress_convergence_warnings():
            return QuantileBand(model, LEVEL, random_state=params.seed).fit(rows.table, rows.y)

    return found.work("Bands of varying width", fit, FITS)
