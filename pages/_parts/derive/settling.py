"""Derive what of an answer is still to come: the choice of its point, its terms, the model on all rows, the verdict."""

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
    if not _has_models(params):
        return []
    found = _choice(params)
    if _scored_on_some(params):
        found.append("the score on all held-out rows")
    if not found and terms.can_be_found(params) and terms.along(params).value is None:
        found.append("the shares of columns and pairs")
    found += _fit(params)
    if verdicts.can_be_had(params) and verdicts.verdict(params).value is None:
        found.append("the plain models")
    return found


def model_points(params: PathParams) -> list[str]:
    """Return what of the model itself is still to come, and not only of what is said of it."""
    return [*_choice(params), *_fit(params)] if _has_models(params) else []


def _has_models(params: PathParams) -> bool:
    path = paths.known(params)
    return path is not None and path.estimators[0] is not None


def _choice(params: PathParams) -> list[str]:
    over = paths.runs_over(params).key
    name = "λ" if over == "lam" else over
    return [] if choices.known(params) else [f"the choice of {name} by {choices.FOLDS} folds"]


def _fit(params: PathParams) -> list[str]:
    return ["the fit on all rows but the test rows"] if _final_is_open(params) else []


def _final_is_open(params: PathParams) -> bool:
    """Tell whether the model on all rows but the test rows is to be fitted at the point that is, or will be, chosen."""
    return finals.wanted(params) and (not choices.known(params) or _final(params) is None)


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
    if _final_is_open(params):
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
    if _final_is_open(params):
        pieces.append(finals.piece(params))
    name = model_key(params)
    return Job(name, "Final model", tuple(pieces), lambda now: model_key(now) == name, needs=paths.needs(params))
