"""Derive the final model: the one that was chosen, fitted again on all rows but the test rows."""

from typing import Any

from mklcore.errors import suppress_convergence_warnings
from pages._parts.derive import choices, dictionaries, paths
from pages._parts.derive.derived import Derived, derived
from pages._parts.jobs.job import Piece, Report
from pages._parts.params.parameters import PathParams


def final(params: PathParams, value: float) -> Derived[Any]:
    """Return the model at ``value`` of the path's parameter, fitted on all rows but the test rows."""
    return derived(params, ("final", value), paths.key)


def wanted(params: PathParams) -> bool:
    """Tell whether there is one: all of these rows have room."""
    return choices.fits_whole(params)


def fitted(params: PathParams, value: float) -> Any:
    """Return that model, fitted now if need be; None where there is none. Raises ``MKLError``."""
    if not wanted(params):
        return None
    found = final(params, value)
    with suppress_convergence_warnings():
        return found.result_cache.made(found.key, lambda: _fit(params, value)(None))


def piece(params: PathParams) -> Piece:
    """Return the piece of work that fits the model at the point that was chosen, on a path that is there by then."""
    path = paths.solution(params)
    result_cache, prepare = path.result_cache, _fit(params, None)

    def make(report: Report) -> tuple[object, Any]:
        chosen = path.made
        value = float(chosen.values[chosen.first_look])
        return final_key(path.key, value), prepare(report, value)

    return Piece(make, lambda named: result_cache.put(*named))


def final_key(path: object, value: float) -> object:
    """Return the name under which the final model at a point of a path is kept."""
    return ("final", value), path


def settings(params: PathParams, asked: Any) -> dict[str, Any]:
    """Return what an estimator that computes the kernels itself has to be given, as far as it takes it."""
    named = dictionaries.scale(params)
    known = asked.get_params(deep=False)
    found = {"normalise": named, "center": params.center}
    return {name: given for name, given in found.items() if name in known}


def _fit(params: PathParams, at: float | None) -> Any:
    rows, asked, over = choices.rest(params), paths.estimator(params), paths.runs_over(params)

    def fit(report: Report | None, value: float | None = at) -> Any:
        assert value is not None
        asked.set_params(**{over.attribute: int(value) if over.key == "s" else value})
        asked.set_params(**settings(params, asked))
        if report is not None:
            report.heard_by(asked)
        return asked.fit(rows.table, rows.y)

    return fit
