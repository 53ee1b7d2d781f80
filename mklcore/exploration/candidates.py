"""Which models a first answer chooses among, how each is judged, and which is taken.

From plain to rich: straight lines, curves of single columns, pairs of columns, and kernels of all columns beside them.
Below ``FEW`` rows every candidate is judged by folds, else on the validation rows, cut in parts; either way there are
several scores of everything, whose differences have a standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, Indices, Labels
from mklcore.data.dataset import Dataset
from mklcore.data.splitting import codes_of, fold_rows
from mklcore.errors import KernelError, suppress_convergence_warnings
from mklcore.estimators.joint import JointMKLClassifier
from mklcore.estimators.lp import LpMKLClassifier, LpMKLRegressor
from mklcore.exploration.relevance import scaled_by_relevance
from mklcore.exploration.scaling import seen_through, steps_before
from mklcore.exploration.screening import Wide
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import KernelSpec
from mklcore.kernels.grams import GramStack, together
from mklcore.kernels.nystroem import Nystroem
from mklcore.kernels.screening import interacting
from mklcore.paths.path import judged, log_grid, no_better, path_grid
from mklcore.selection.scoring import Scoring

COMPARED_WORK, PATH_WORK = 2e7, 4e7  # classes x kernels x squared rows of a fit, in comparisons and along the path
FEW = 1000  # rows below which candidates are judged by folds
FOLDS, PARTS = 3, 8  # folds, and parts of the rows that each leaves out, which give a standard error
ROUGHLY = 1e-2  # relative gap at which models are compared
LEAST_PART = 8  # rows of such a part
CHOSEN_ON = 800  # training rows on which candidates are compared, where there are many
POINTS, COARSE = 13, 7  # values of C on a path, and where each is the work of many classes
MANY_CLASSES = 4  # from which the grid is coarse
SHARED = 5  # classes beyond which all share one set of kernel weights
COMPARED, DECADES = 6, 5  # values of C at which candidates are compared, and how far they go
LEAST_VALUES = 4  # of them that are always solved
MOST_PAIRS = 8  # pairs of columns that get kernels
BEHIND = 2  # values of C after the best one that have to be no better before a comparison ends


def grid_points(data: Dataset) -> int:
    """The points of a first path over C: fewer where every point is the work of many classes."""
    return COARSE if data.task == "multiclass" and len(data.class_names) >= MANY_CLASSES else POINTS


@dataclass(frozen=True)
class Candidate:
    """A model to be judged: ``label`` names it, ``scaling`` of its columns, its kernels, the order p of their norm and
    the loss.

    ``rank`` says how plain it is; of two whose scores cannot be distinguished the plainer one is taken. ``whole`` : the
    kernels of all columns beside pairs that are found on the rows to learn from; None where the dictionary is fixed.
    ``approximation`` where rows are many. ``joint`` where all classes share their weights. ``tested``: a test on the
    training rows found what it adds, so that it is taken unless it loses.
    """

    label: str
    dictionary: KernelDictionary
    p: float = 1.0
    scaling: str = ""
    loss: str = "squared"
    rank: int = 0
    whole: tuple[KernelSpec, ...] | None = None
    relevance: Wide | None = None
    approximation: Nystroem | None = None
    joint: bool = False
    tested: bool = False

    def machine(self, task: str, C: float = 1.0) -> Any:
        """The unfitted estimator."""
        kind: Any = LpMKLRegressor if task == "regression" else JointMKLClassifier if self.joint else LpMKLClassifier
        return kind(p=self.p, C=C, loss=self.loss, kernels=self.dictionary, approximation=self.approximation)


class Judged(NamedTuple):
    """A candidate with the values of C that were tried (L,) and their ``scores`` (F, L) by fold or part."""

    candidate: Candidate
    values: Array
    scores: Array
    by_folds: bool

    @property
    def best(self) -> int:
        """The index of the value of C with the highest mean score, the smallest of equals."""
        mean = np.nan_to_num(self.scores.mean(axis=0), nan=-np.inf)
        return int(np.flatnonzero(mean >= mean.max() - 1e-12)[0])

    @property
    def value(self) -> float:
        """The C there."""
        return float(self.values[self.best])

    @property
    def score(self) -> float:
        """The mean score there."""
        return float(self.scores[:, self.best].mean())

    @property
    def error(self) -> float:
        """The standard error of that mean; 0 where there is one part."""
        return _error(self.scores[:, self.best])

    def gain(self, other: Judged) -> tuple[float, float]:
        """By how much the score is above that of another one, part by part: mean and standard error."""
        ahead = self.scores[:, self.best] - other.scores[:, other.best]
        return float(ahead.mean()), _error(ahead)


def _error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0


@dataclass(frozen=True, eq=False)
class Ground:
    """The rows on which candidates are judged: ``data`` as the table has them, what is
    learned from and judged on in it, by number, a pair per fold, and how scores are measured.
    """

    data: Dataset
    pairs: tuple[tuple[Indices, Indices], ...]
    scoring: Scoring
    _made: dict[tuple[KernelDictionary, str, int], tuple[GramStack, Array]] = field(default_factory=dict, repr=False)
    _pairs: dict[tuple[str, int], tuple[tuple[str, ...], ...]] = field(default_factory=dict, repr=False)
    _scaled: dict[tuple[Wide, str, int], tuple[KernelSpec, ...]] = field(default_factory=dict, repr=False)

    @property
    def by_folds(self) -> bool:
        """Whether there are several pairs."""
        return len(self.pairs) > 1

    def judge(
        self,
        candidate: Candidate,
        tick: Callable[[], Any] = lambda: None,
        folds: int | None = None,
        first: Judged | None = None,
    ) -> Judged:
        """The scores of a candidate along C, on every part of the rows that a fold or the split leaves out; of the
        first ``folds`` alone for a first impression. ``first`` : what the first fold gave, which is not solved again.
        """
        seen, found = self.seen(candidate), list[Array]()
        grid: Array | None = None
        if first is not None:
            grid, found = first.values, [first.scores]
        for k in range(len(found), len(self.pairs[:folds])):
            train, test = self.pairs[k]
            tick()
            y, left_out = seen.y[train], seen.y[test]
            stack, blocks = self._kernels(candidate, seen, k)
            grid = _grid(candidate, stack, y) if grid is None else grid
            machine = candidate.machine(seen.task).copy_with("tol", ROUGHLY)
            points = self._points(machine, stack, y, blocks, left_out, grid)
            grid = grid[: len(points)]
            decided = points[0].decide_along(points, blocks)
            cuts = parts_of_rows(seen.task, left_out)
            scores = np.array([judged(points, [d[cut] for d in decided], left_out[cut], self.scoring) for cut in cuts])
            if not np.isfinite(scores).all():  # a score that some part has none of
                scores = judged(points, decided, left_out, self.scoring)[None]
            found = [*(earlier[:, : grid.size] for earlier in found), scores]
        assert grid is not None
        return Judged(candidate, grid, np.concatenate(found), self.by_folds)

    def first_machine(self, one: Judged) -> tuple[Any, Dataset]:
        """The candidate fitted at its best C on the first pair, and the rows that this pair leaves out."""
        seen = self.seen(one.candidate)
        train, test = self.pairs[0]
        stack, blocks = self._kernels(one.candidate, seen, 0)
        machine = one.candidate.machine(seen.task).copy_with("tol", ROUGHLY)
        (fitted,) = self._points(machine, stack, seen.y[train], blocks, seen.y[test], np.array([one.value]))
        return fitted, seen.take(test)

    def _kernels(self, candidate: Candidate, seen: Dataset, k: int) -> tuple[GramStack, Array]:
        """The stack of pair k and its block of the rows left out; of kernels that are there already, made for a larger
        dictionary, nothing is made again."""
        train, test = (seen.take(rows) for rows in self.pairs[k])
        wanted = self._wanted(candidate, train, k)
        specs = set(wanted.specs)
        for (dictionary, scaling, fold), (stack, blocks) in self._made.items():
            if (scaling, fold) == (candidate.scaling, k) and specs.issubset(dictionary.specs):
                kept = set(stack.names)  # all but those that are constant on these rows
                there = [one for one, name in zip(dictionary.specs, dictionary.names, strict=True) if name in kept]
                places = [j for j, spec in enumerate(there) if spec in specs]
                return (
                    (stack, blocks) if len(places) == len(there) else (stack.select(places), blocks[together(places)])
                )
        stack = wanted.grams(train)
        made = stack, stack.cross(test)
        self._made[wanted, candidate.scaling, k] = made
        return made

    def _wanted(self, candidate: Candidate, train: Dataset, k: int) -> KernelDictionary:
        """The kernels of a candidate on the rows to learn from of pair k: folds find pairs and scales there."""
        if candidate.whole is None or not self.by_folds:
            return candidate.dictionary
        if (key := (candidate.scaling, k)) not in self._pairs:
            self._pairs[key] = pairs(train)
        start = candidate.relevance
        if start is not None and (start, *key) not in self._scaled:
            self._scaled[start, *key] = scaled_by_relevance(train, start)
        scaled = () if start is None else self._scaled[start, *key]
        return _with_found(train, self._pairs[key], (*candidate.whole, *scaled))

    def seen(self, candidate: Candidate) -> Dataset:
        """The table as the kernels of a candidate see it."""
        return seen_through(steps_before(self.data, candidate.scaling), self.data)

    def _points(
        self, machine: Any, stack: GramStack, y: Labels, blocks: Array, left_out: Labels, grid: Array
    ) -> list[Any]:
        """The fitted models along C, up to where it has gone too far or double precision does not carry any more."""
        ends, points = no_better(blocks, left_out, LEAST_VALUES, BEHIND, self.scoring), list[Any]()
        with suppress_convergence_warnings(), suppress(KernelError):
            for point in machine.along(*machine.training_stack(stack, y), "C", grid.tolist(), "C"):
                points.append(point)
                if ends(point):
                    break
        if not points:
            raise KernelError("No value of C can be solved in double precision on these kernels; scale the columns.")
        return points


def parts_of_rows(task: str, y: Labels, most: int = PARTS) -> list[Indices]:
    """Rows left out, cut in at most ``most`` equal parts, by class where there are classes."""
    count = min(most, y.size // LEAST_PART)
    if count < 2:
        return [np.arange(y.size)]
    codes = None if task == "regression" else codes_of(y)
    return [test for _, test in fold_rows(codes, y.size, count, 0)]


def _grid(candidate: Candidate, stack: GramStack, y: Labels) -> Array:
    """The values of C that are compared: from where the solution starts to move, ``DECADES`` on."""
    first = path_grid(candidate.machine("regression" if y.dtype.kind == "f" else "binary"), stack, y, "C", 2)[0]
    return log_grid(3.0 * first, 10.0**DECADES * first, COMPARED)


def taken(judged_ones: Sequence[Judged]) -> Judged:
    """The candidate to take: going from plain to rich, a richer one where it gains more than one standard error of
    the difference, or where a test found what it adds and it does not lose as much, or half the standard error of its
    score; of equally rich ones the best mean.
    """
    ranks = sorted({one.candidate.rank for one in judged_ones})
    found: Judged | None = None
    for rank in ranks:
        best = max((one for one in judged_ones if one.candidate.rank == rank), key=lambda one: one.score)
        if found is None:
            found = best
            continue
        ahead, error = best.gain(found)
        least = -max(error, best.error / 2.0) if best.candidate.tested else max(error, 1e-12)
        if ahead > least:
            found = best
    assert found is not None
    return found


def rows_within(data: Dataset, n_kernels: int, work: float) -> int:
    """How many rows a fit may have so that classes x kernels x squared rows stay within ``work``; some of every
    class.
    """
    classes = len(data.class_names)
    problems = classes / SHARED if classes > SHARED else classes if classes > 2 else 1
    return max(4 * classes, int(np.sqrt(work / (problems * n_kernels))))


def pairs(train: Dataset) -> tuple[tuple[str, ...], ...]:
    """The pairs of columns that act together on these rows, the strongest ``MOST_PAIRS`` of them."""
    return () if train.sequences else interacting(train, 2, MOST_PAIRS)


def _with_found(data: Dataset, found: Sequence[Sequence[str]], whole: tuple[KernelSpec, ...]) -> KernelDictionary:
    """Kernels of single columns, products of them for the pairs that were found, and kernels of all columns."""
    own = KernelDictionary.interactions(data, candidates=found) if found else _own(data)
    return replace(own, specs=(*own.specs, *whole))


def _own(data: Dataset) -> KernelDictionary:
    return KernelDictionary.recommended(data, whole=False)


def offered(
    data: Dataset, scaling: str, whole: tuple[Wide, ...], found: Sequence[Sequence[str]] = ()
) -> list[Candidate]:
    """The candidates for a table, the richest first: kernels of all columns beside those of single ones and of the
    pairs that were ``found``, these without them, single columns, and straight lines; all at p = 2 and with the
    squared loss, where a fit takes a fraction of the time.
    """
    joint = len(data.class_names) > SHARED
    candidates = []
    if whole:
        label = "columns, pairs and all of them together" if found else "columns and all of them together"
        scaled = scaled_by_relevance(data, start := whole[len(whole) // 2])
        if scaled:
            made = _with_found(data, found, (*whole, *scaled))
            more = Candidate(f"{label}, scaled by relevance", made, 2.0, scaling, rank=3, whole=whole, relevance=start)
            candidates.append(more)
        made = _with_found(data, found, whole)
        candidates.append(Candidate(label, made, 2.0, scaling, rank=3, whole=whole if found else None))
    if found:
        made = _with_found(data, found, ())
        candidates.append(Candidate("columns and pairs of them", made, 2.0, scaling, rank=2, whole=(), tested=True))
    straight = KernelDictionary.recommended(data, whole=False, curved=False)
    candidates.append(Candidate("a function of every column", _own(data), 2.0, scaling, rank=1))
    candidates.append(Candidate("straight lines", straight, 2.0, rank=0))
    if joint:  # every fit is the work of many classes
        candidates = [replace(one, joint=True) for one in candidates if one.rank in (candidates[0].rank, 1)]
    return candidates


def contenders(judged_ones: Sequence[Judged]) -> list[Candidate]:
    """The candidate that is taken by a first impression, and the best of the others."""
    first = taken(judged_ones)
    others = [one for one in judged_ones if one is not first]
    if first.candidate.joint:
        return [first.candidate]
    return [first.candidate, *([max(others, key=lambda one: one.score).candidate] if others else [])]


def sparse(candidate: Candidate) -> Candidate:
    """The same with as few kernels as it takes (p = 1)."""
    return replace(candidate, p=1.0)


def with_loss(candidate: Candidate, loss: str) -> Candidate:
    """The same with another loss."""
    return replace(candidate, loss=loss)
