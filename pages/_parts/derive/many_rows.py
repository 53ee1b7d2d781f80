"""Derive the two ways with many rows: exact kernels on a sample, and low rank on all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mklcore.errors import MKLError
from mklcore.figures import style
from mklcore.paths.path import Path
from pages._parts.derive import all_rows, gram_stacks, left_out, low_rank, paths, tables
from pages._parts.jobs.job import Job
from pages._parts.params.parameters import LOW_RANK, Params, PathParams


def is_many(params: PathParams) -> bool:
    """Tell whether there are more training rows than kernels are stored on, and the method can work on features."""
    if tables.on_stack(params) or len(tables.split(params).train.y) <= low_rank.MANY:
        return False
    return not low_rank.why_not(params)


def starts_unasked(params: PathParams) -> bool:
    """Tell whether the path on all rows follows the first answer by itself."""
    if params.way or not is_many(params):
        return False
    over = paths.runs_over(params)
    try:  # whatever the method refuses on features, it says so before anything is computed
        paths.estimator(low_rank.approximately(params)).copy_with(over.attribute, 1)
    except MKLError:
        return False
    return True


def under_way(params: Params) -> bool:
    """Tell whether the path on all rows will still be compared with the one that is shown."""
    if not starts_unasked(params):
        return False
    low = low_rank.approximately(params)
    return paths.known(low) is None or (all_rows.wanted(low) and not left_out.known(low))


def job(params: PathParams) -> Job:
    """Return the work on all rows: features, path, and its scores on all rows left out; it goes on beside shorter
    work.
    """
    low = low_rank.approximately(params)
    pieces = [paths.piece(low), *([left_out.piece(low)] if all_rows.wanted(low) else [])]
    more = {"slot": "long", "usual": paths.are_usual(low), "seconds": paths.seconds(low), "asked": False}
    return replace(paths.solution(low).job("Low rank", *pieces, **more), belongs=lambda now: True)


# What is lost


@dataclass(frozen=True)
class Lost:
    """What an approximation loses: landmarks, numbers per row, and the share of its trace that each kernel loses, by
    name.
    """

    landmarks: int
    features: int
    shares: dict[str, float]

    @property
    def worst(self) -> str:
        """The kernel that loses most."""
        return max(self.shares, key=self.shares.__getitem__)

    def sentence(self) -> str:
        """Return it in a sentence."""
        middle, largest = (style.percent(float(of(list(self.shares.values())))) for of in (np.median, np.max))
        return (
            f"{self.landmarks} landmarks, {self.features:,} features. Approximation error of the kernels, as a share "
            f"of the trace: median {middle}, largest {largest} for {self.worst}."
        )


def lost(path: Path) -> Lost | None:
    """Return what the approximation of a path loses; None for exact kernels and while its models are not there."""
    model: Any = path.estimators[0]
    errors = getattr(model, "approximation_error_", None)
    if errors is None:
        return None
    size = int(np.size(np.atleast_2d(model.feature_coef_.T)[0]))
    return Lost(model.approximation.n_components, size, dict(zip(path.kernel_names, map(float, errors), strict=True)))


# The two beside each other


@dataclass(frozen=True)
class Way:
    """One of the two: its parameters, rows, its best score on all rows left out, seconds."""

    label: str
    params: PathParams
    rows: int
    score: float | None
    seconds: float | None
    is_final: bool = True  # measured on all rows left out


def ways(params: PathParams) -> tuple[Way, Way]:
    """Return the two ways with what is known of each."""
    exact, low = replace(params, way=""), low_rank.approximately(params)
    sampled = _of_path("Exact, on a sample", exact, len(gram_stacks.parts(exact).train.y))
    landmarks = params.landmarks or low_rank.LANDMARKS
    many = _of_path(f"Low rank, {landmarks} landmarks", low, len(low_rank.parts(low).train.y))
    return sampled, many


def _of_path(label: str, params: PathParams, rows: int) -> Way:
    path = paths.known(params)
    if path is None:
        return Way(label, params, rows, None, None)
    final = not all_rows.wanted(params) or left_out.known(params)
    score = float(path.val_score[path.first_look]) if path.can_choose else None
    return Way(label, params, rows, score, float(np.sum(path.seconds)), final)


def best(several: Sequence[Way]) -> Way | None:
    """Return the way of the highest score on all rows left out; None while fewer than two of them have one."""
    final = [way for way in several if way.score is not None and way.is_final]
    return max(final, key=lambda way: way.score or 0.0) if len(final) > 1 else None


def may_take(params: Params) -> Params | None:
    """Return the parameters of the path on all rows where nobody has chosen otherwise and it is not worse on the rows
    left out. While one of the two is still to come nothing is taken: which of them came first would decide.
    """
    if params.way or not is_many(params):
        return None
    low, exact = replace(params, way=LOW_RANK, at=None), paths.known(low_rank.exactly(params))
    if paths.known(low) is None or exact is None:
        return None
    sampled, many = ways(params)
    if sampled.score is None or many.score is None or exact.estimators[0] is None:
        return low  # there is nothing to compare it with
    return low if sampled.is_final and many.is_final and many.score >= sampled.score else None


def falls_short(params: PathParams) -> Lost | None:
    """Return what the approximation loses where its path is worse on the rows left out than exact kernels on a
    sample.
    """
    sampled, many = ways(params)
    low = paths.known(low_rank.approximately(params))
    if low is None or not (sampled.is_final and many.is_final) or sampled.score is None or many.score is None:
        return None
    return lost(low) if many.score < sampled.score else None
