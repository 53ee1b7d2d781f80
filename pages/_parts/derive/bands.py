"""Derive prediction bands whose width varies with the row: quantile models on the kernels of the path."""

from mklcore.errors import suppress_convergence_warnings
from mklcore.estimators.lp import LpMKLRegressor
from mklcore.figures import style
from mklcore.uncertainty import QuantileBand
from pages._parts.derive import choices, dictionaries, finals, judging, paths, tables
from pages._parts.derive.derived import Derived, derived
from pages._parts.jobs.job import Job, Report
from pages._parts.params.parameters import Params, PathParams

SENTENCE = (
    f"Conformalized quantile regression: intervals cover at least {style.percent(judging.LEVEL)} of new "
    "exchangeable rows and are wide where the target varies much."
)
FITS = 6  # three quantiles, with and without the rows held out


def possible(params: PathParams) -> bool:
    """Tell whether there can be bands: the target is a number, and the kernels of all rows have room."""
    return choices.fits_whole(params) and tables.table(params).task == "regression"


def band(params: PathParams) -> Derived[QuantileBand]:
    """Return the quantile models, fitted on all rows but the test rows."""
    return derived(params, "band", paths.key)


def in_use(params: Params) -> QuantileBand | None:
    """Return the bands where they are asked for and computed."""
    return band(params).value if params.varying and possible(params) else None


def job(params: PathParams) -> Job:
    """Return the work that fits the quantile models."""
    rows, found = choices.rest(params), band(params)
    model = LpMKLRegressor(kernels=dictionaries.dictionary(params), p=getattr(paths.estimator(params), "p", 1.0))
    model.set_params(**finals.settings(params, model))

    def fit(report: Report) -> QuantileBand:
        report.heard_by(model)
        with suppress_convergence_warnings():
            return QuantileBand(model, judging.LEVEL, random_state=params.seed).fit(rows.table, rows.y)

    return found.work("Bands of varying width", fit, FITS)
