"""Derive what of an answer is still to come: the choice of its point, its terms, the model on all rows, the verdict."""

from mklcore.paths.path import Path
from pages._parts.derive import all_rows, choices, finals, left_out, paths, references, terms, verdicts
from pages._parts.jobs.job import Job, Piece
from pages._parts.params.parameters import PathParams


def key(params: PathParams) -> object:
    """Return the key of the work that settles an answer."""
    return "settled", paths.key(params)


def model_key(params: PathParams) -> object:
    """Return the key of the work that settles the model alone."""
    return "settled model", paths.key(params)


def open_points(params: PathParams) -> list[str]:
    """Return what is still to come on a path that is there with its models, as a person would call it."""
    path = paths.known(params)
    if path is None or path.estimators[0] is None:
        return []
    first = _choice(params, path)
    if _scored_on_some(params):
        first.append("the score on all held-out rows")
    if not first and terms.can_be_found(params) and terms.along(params).value is None:
        first.append("the shares of columns and pairs")
    if model_is_open(params) and finals.wanted(params):
        first.append("the fit on all rows but the test rows")
    if verdicts.can_be_had(params) and verdicts.verdict(params).value is None:
        first.append("the plain models")
    return first


def model_points(params: PathParams) -> list[str]:
    """Return what of the model itself is still to come."""
    path = paths.known(params)
    if path is None or not model_is_open(params):
        return []
    return [*_choice(params, path), *(["the fit on all rows but the test rows"] if finals.wanted(params) else [])]


def _choice(params: PathParams, path: Path) -> list[str]:
    if choices.known(params):
        return []
    return [f"the choice of {'λ' if path.param == 'lam' else path.param} by {choices.FOLDS} folds"]


def model_is_open(params: PathParams) -> bool:
    """Tell whether the model itself is still to change, and not only what is said of it."""
    path = paths.known(params)
    if path is None or path.estimators[0] is None:
        return False
    return not choices.known(params) or (finals.wanted(params) and _final(params) is None)


def _scored_on_some(params: PathParams) -> bool:
    """Tell whether only some of the validation rows have chosen the point of the path."""
    return all_rows.wanted(params) and not left_out.known(params)


def _final(params: PathParams) -> object:
    path = paths.known(params)
    return None if path is None else finals.final(params, float(path.values[path.first_look])).value


def job(params: PathParams) -> Job:
    """Return the work that settles the answer: what decides first, plain models last.

    Whatever is said of the chosen point follows all that may move it, so that the order of other work changes nothing.
    """
    pieces: list[Piece] = []
    chosen = choices.known(params)
    if not chosen:
        pieces.append(choices.piece(params))
    if _scored_on_some(params):
        pieces.append(left_out.piece(params))
    if terms.can_be_found(params) and (not chosen or terms.along(params).value is None):
        pieces.append(terms.piece(params))
    if finals.wanted(params) and (not chosen or _final(params) is None):
        pieces.append(finals.piece(params))
    if verdicts.can_be_had(params):
        if references.plain(params).value is None:
            pieces.append(references.plain_piece(params))
        if verdicts.verdict(params).value is None:
            pieces.append(verdicts.piece(params))
    name = key(params)
    return Job(name, "Final answer", tuple(pieces), lambda now: key(now) == name, needs=paths.needs(params))


def model_job(params: PathParams) -> Job:
    """Return the work that settles the model alone: the choice of its point, and the fit on all rows."""
    pieces = [] if choices.known(params) else [choices.piece(params)]
    if finals.wanted(params):
        pieces.append(finals.piece(params))
    name = model_key(params)
    return Job(name, "Final model", tuple(pieces), lambda now: model_key(now) == name, needs=paths.needs(params))
