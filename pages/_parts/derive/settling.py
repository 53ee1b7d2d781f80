"""Derive what of an answer is still to come: the choice of its point, its terms, the model on all rows, the verdict."""

from pages._parts.derive import all_rows, choices, finals, left_out, paths, references, terms, verdicts
from pages._parts.jobs.job import Job, Piece
from pages._parts.params.parameters import PathParams


def key(params: PathParams) -> object:
    """Return the key of the work that settles an answer."""
    return "settled", paths.key(params)


def open_points(params: PathParams) -> list[str]:
    """Return what is still to come on a path that is there with its models, as a person would call it."""
    path = paths.known(params)
    if path is None or path.estimators[0] is None:
        return []
    if not choices.known(params):
        first = [f"the choice of {'λ' if path.param == 'lam' else path.param} by {choices.FOLDS} folds"]
    else:
        first = []
    if _scored_on_some(params):
        first.append("the score on all held-out rows")
    if not first and terms.can_be_found(params) and terms.along(params).value is None:
        first.append("the shares of columns and pairs")
    if not choices.known(params) or (finals.wanted(params) and _final(params) is None):
        first += ["the fit on all rows but the test rows"] if finals.wanted(params) else []
    if verdicts.can_be_had(params) and verdicts.verdict(params).value is None:
        first.append("the plain models")
    return first


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
