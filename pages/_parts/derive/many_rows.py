"""Derive the three ways with many rows: exact on a sample, low rank on all of them, and exact on as many as can be."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mklcore.errors import MKLError
from mklcore.figures import style
from mklcore.parallel import cluster, shards
from mklcore.parallel import tasks as remote
from mklcore.paths.path import Path
from mklcore.solvers import MOST_SUMMED
from mklcore.solvers.interleaved import lacking
from pages._parts.derive import all_rows, dictionaries, gram_stacks, left_out, low_rank, paths, scores, tables
from pages._parts.derive.derived import Derived, derived
from pages._parts.jobs.job import Job, Piece, Report
from pages._parts.params.parameters import LOW_RANK, Params, PathParams

PAIRED_ROWS = 20_000  # on which pairs of rows are worked with, and no sum of kernels is stored


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
    more = {"slot": "long", "needs": paths.needs(low), "seconds": paths.seconds(low), "asked": False}
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


# Exact on as many rows as can be, at one point


@dataclass(frozen=True, eq=False)
class Whole:
    """One exact model on many rows: how many, where on the path, its score on all rows left out, gap and seconds."""

    rows: int
    value: float
    score: float
    gap: float | None
    seconds: float
    model: Any


def most_rows(params: PathParams) -> int:
    """Return on how many rows one exact model can be had at all: its kernels are then computed again and again."""
    from mklcore.estimators.lp import LpBase

    asked = paths.estimator(low_rank.exactly(params))
    paired = isinstance(asked, LpBase) and not lacking(asked.loss_in_use, asked.penalty_in_use)
    return min(len(tables.split(params).train.y), PAIRED_ROWS if paired else MOST_SUMMED)


def takes_shards(params: PathParams) -> bool:
    """Tell whether the exact model is left to all workers of a cluster together: one machine would not hold its
    kernels, and their sum has room.
    """
    exact = low_rank.exactly(params)
    asked: Any = _with_scales(exact)
    if not cluster.scheduler_address() or shards.why_not(asked) or most_rows(exact) > MOST_SUMMED:
        return False
    found = asked.foresee(most_rows(exact), tables.table(exact).X.shape[1])
    return not found.bytes or "disk" in found.stored


def _with_scales(exact: PathParams) -> Any:
    """Return the estimator, which itself makes its kernels as they are asked for."""
    asked: Any = paths.estimator(exact)
    named = dictionaries.scale(exact)
    return asked.set_params(normalise=named, center=exact.center)


def room(params: PathParams) -> str:
    """Return how the exact model on many rows holds its kernels."""
    exact = low_rank.exactly(params)
    asked: Any = paths.estimator(exact)
    found = asked.foresee(most_rows(exact), tables.table(exact).X.shape[1])
    if takes_shards(params):
        return "its kernels in shards on the workers of the cluster, where there are several, each computing its own"
    if not found.bytes:
        return "its kernels computed again and again, none of them stored"
    single, _, disk = found.stored.partition(", ")
    return f"its kernels in {single} precision, {found.bytes / 1e9:.1f} GB{f' {disk}' if disk else ''}"


def at(shown: PathParams, path: Path, index: int) -> float:
    """Return the value of the path's parameter that weighs errors on so many rows as the point of ``path`` does on its
    own.
    """
    value = float(path.values[index])
    n = path.estimators[index].n_train_ if path.estimators[index] is not None else 0
    return value * n / most_rows(shown) if path.param == "C" and n else value


def whole(params: PathParams) -> Derived[Whole]:
    """Return the exact model on many rows."""
    return derived(params, "whole", lambda one: paths.key(low_rank.exactly(one)))


def whole_job(params: PathParams, value: float) -> Job:
    """Return the work that gives the exact model at ``value`` on as many rows as can be."""
    exact, over = low_rank.exactly(params), paths.runs_over(params)
    asked, measure = _with_scales(exact), scores.scoring(exact)
    asked.set_params(**{over.attribute: int(value) if over.key == "s" else value})
    full, n = tables.split(exact), most_rows(exact)
    train = full.train if n == len(full.train.y) else full.train.drawn(n, exact.seed)

    rest = full.validation
    task = remote.WholeFit(asked, train.X, train.y, rest.X, rest.y, measure)
    run = remote.run_in_shards if takes_shards(params) else remote.run

    def solve(report: Report) -> Whole:
        fitted, score = run(task, report.tick, instead=report.note)
        gap = None if fitted.relative_gap_ is None else float(np.max(fitted.relative_gap_))
        fits = fitted.fit_ if isinstance(fitted.fit_, tuple) else (fitted.fit_,)
        seconds = sum(fit.history[-1].seconds for fit in fits)
        return Whole(n, value, score, gap, seconds, fitted)

    found = whole(params)
    piece = Piece(solve, found.keep, remote.STEPS, name=(found.key, value), there=lambda: _there(found.value, value))
    more = {"slot": "long", "counts": "% of the digits", "needs": paths.needs(exact)}
    return replace(found.job("Exact on many rows", piece, **more), belongs=lambda now: True)


def _there(found: Whole | None, value: float) -> Whole | None:
    """Return what is there where it is the model at this value, for a second job that asked for it."""
    return found if found is not None and found.value == value else None


# The three beside each other


@dataclass(frozen=True)
class Way:
    """One of the three: its parameters (None for a single model), rows, its best score on all rows left out,
    seconds.
    """

    label: str
    params: PathParams | None
    rows: int
    score: float | None
    seconds: float | None
    is_final: bool = True  # measured on all rows left out


def ways(params: PathParams) -> tuple[Way, Way, Way]:
    """Return the three ways with what is known of each."""
    exact, low = replace(params, way=""), low_rank.approximately(params)
    sampled = _of_path("Exact, on a sample", exact, len(gram_stacks.parts(exact).train.y))
    landmarks = params.landmarks or low_rank.LANDMARKS
    many = _of_path(f"Low rank, {landmarks} landmarks", low, len(low_rank.parts(low).train.y))
    found = whole(params).value
    one = Way(
        "Exact, in the background", None, most_rows(params) if found is None else found.rows,
        None if found is None else found.score, None if found is None else found.seconds,
    )  # fmt: skip
    return sampled, many, one


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
    sampled, many, _ = ways(params)
    if sampled.score is None or many.score is None or exact.estimators[0] is None:
        return low  # there is nothing to compare it with
    return low if sampled.is_final and many.is_final and many.score >= sampled.score else None


def falls_short(params: PathParams) -> Lost | None:
    """Return what the approximation loses where its path is worse on the rows left out than exact kernels on a
    sample.
    """
    sampled, many, _ = ways(params)
    low = paths.known(low_rank.approximately(params))
    if low is None or not (sampled.is_final and many.is_final) or sampled.score is None or many.score is None:
        return None
    return lost(low) if many.score < sampled.score else None
