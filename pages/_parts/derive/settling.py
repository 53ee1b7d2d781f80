"""Derive what of an answer is still to come: the choice of its point, its terms, the model on all rows, the verdict."""

from collections.abc import Callable

from pages._parts.derive import all_rows, choices, finals, left_out, paths, references, terms, verdicts
from pages._parts.derive.derived import together
from pages._parts.jobs.job import Job, Piece
from pages._parts.params.parameters import PathParams

Work = tuple[Callable[[PathParams], Piece], ...]


def key(params: PathParams, model: bool = False) -> object:
    """Return the key of the work that settles an answer, or the ``model`` alone."""
    return "settled", model, paths.key(params)


def open_points(params: PathParams, model: bool = False) -> dict[str, Work]:
    """Return what is still to come on a path that is there with its models, as a person would call it, and the work.

    What decides is first, plain models are last: whatever is said of the chosen point follows all that may move it, so
    that the order of other work changes nothing. ``model``: only what the model itself depends on.
    """
    path = paths.known(params)
    if path is None or path.estimators[0] is None:
        return {}
    chosen, over = choices.known(params), paths.runs_over(params).key
    final = finals.final(params, float(path.values[path.first_look])).value if chosen else None
    plain = () if references.plain(params).value else (references.plain_piece,)
    every: dict[str, tuple[bool, Work]] = {
        f"the choice of {'λ' if over == 'lam' else over} by {choices.FOLDS} folds": (not chosen, (choices.piece,)),
        "the score on all held-out rows": (
            not model and all_rows.wanted(params) and not left_out.known(params), (left_out.piece,)
        ),
        "the shares of columns and pairs": (
            not model and terms.can_be_found(params) and not (chosen and terms.along(params).value), (terms.piece,)
        ),
        "the fit on all rows but the test rows": (finals.wanted(params) and final is None, (finals.piece,)),
        "the plain models": (
            not model and verdicts.can_be_had(params) and verdicts.verdict(params).value is None,
            (*plain, verdicts.piece),
        ),
    }  # fmt: skip
    return {said: work for said, (is_open, work) in every.items() if is_open}


def job(params: PathParams, model: bool = False) -> Job:
    """Return the work that settles the answer, or the ``model`` alone."""
    pieces = [piece(params) for work in open_points(params, model).values() for piece in work]
    title = "Final model" if model else "Final answer"
    return together(params, lambda one: key(one, model), title, pieces, usual=paths.are_usual(params))
