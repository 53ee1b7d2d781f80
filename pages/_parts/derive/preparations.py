"""Derive how spectra of an upload are best prepared: a first look at every way, compared on the validation rows."""

from dataclasses import dataclass, replace

from mklcore.data.spectra import PREPARATIONS
from pages._parts.derive import looks, paths, tables
from pages._parts.derive.derived import together
from pages._parts.jobs.job import Job
from pages._parts.params.parameters import Params


@dataclass(frozen=True)
class Tried:
    """The best validation score of the first look at every preparation, by its key, and what the score is called."""

    scores: dict[str, float]
    score_name: str

    @property
    def best(self) -> str:
        """Return the preparation to take."""
        from mklcore.exploration import best_preparation

        return best_preparation(self.scores)


def wanted(params: Params) -> bool:
    """Tell whether ways of preparing are to be tried: nobody has chosen one, and neighbouring columns mean
    something.
    """
    ours = params.is_upload and params.recommended and not (params.spectra or params.edited)
    if not (ours and tables.are_spectra(params)):
        return False
    return tables.can_be_prepared(params) and tables.table(params).task != "novelty"


def _ways(params: Params) -> dict[str, Params]:
    return {how: replace(params, spectra=how, at=None) for how in ("", *PREPARATIONS)}


def known(params: Params) -> Tried | None:
    """Return what was tried, once all of it is known."""
    found = {how: looks.first(one).value for how, one in _ways(params).items()}
    scored = {how: look.path for how, look in found.items() if look is not None and look.path.can_choose}
    if len(scored) < len(found):
        return None
    return Tried({how: float(path.val_score[path.first_look]) for how, path in scored.items()}, scored[""].score_name)


def key(params: Params) -> object:
    """Return the name of the work that tries them."""
    return "preparations", paths.key(replace(params, spectra=""))


def job(params: Params) -> Job:
    """Return the work that looks at every preparation for a moment."""
    missing = [one for one in _ways(params).values() if looks.first(one).value is None]
    pieces = [piece for one in missing for piece in looks.job(one).pieces]
    more = {"counts": "points", "needs": paths.needs(params), "asked": False}
    return together(params, key, "Ways to prepare the spectra", pieces, **more)
