"""More rows than a stack of exact kernels has room for: the chosen kernels on all of them, by Nystroem's approximation.

Landmarks grow while the score on the validation rows does and the work stays within a budget that is counted in
operations, never in seconds: the same table gives the same answer on any machine and at any load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.data.dataset import Dataset
from mklcore.errors import suppress_convergence_warnings
from mklcore.exploration.candidates import Candidate, parts_of_rows
from mklcore.kernels.nystroem import Nystroem
from mklcore.kernels.operators.factored import FeatureBlocks, FeatureStack
from mklcore.paths.path import Path, fit_path, judged, log_grid, path_grid
from mklcore.selection.references import FLAT
from mklcore.selection.scoring import Scoring

LANDMARKS = 100  # of every kernel at first
GROWTH = (3.0, 2.0, 1.5)  # how many times as many follow, where there is room
NEEDS_MORE = 0.9  # share of its landmarks that a kernel has features from, if more of them would tell more
OPERATIONS = 3e10  # that a path on features may take
MANY_MORE = 3  # times the rows on which candidates were compared: from there on a richer one may be the better
SOLVES = 6  # of a problem along the path, in each of which a matrix of all features is decomposed
LEAST_SHARE = 0.01  # of the weight, below which a kernel is left out where others get more landmarks
AROUND = 2  # values before the best that are solved again with more landmarks, beside those after it
VALUES, DECADES = 7, 6  # of C, and how far they go from where the solution starts to move


@dataclass(frozen=True, eq=False)
class Large:
    """The candidate on features of all rows, its path, the features, the rows that judge and their features."""

    candidate: Candidate
    path: Path
    stack: FeatureStack
    blocks: FeatureBlocks
    judge: Dataset
    parts: Array
    summary: str

    @property
    def score(self) -> float:
        """The validation score at the best point."""
        return float(self.path.val_score[self.path.first_look])


def on_all_rows(candidates: Sequence[Candidate], train: Dataset, judge: Dataset, scoring: Scoring) -> Large | None:
    """The plainest of the candidates that none gains on by more than one standard error, on all of ``train``; None
    where every one of them would take more than the budget at its first step.
    """
    found: Large | None = None
    for candidate in candidates:
        tried = _grown(candidate, train, judge, scoring)
        if tried is None:
            continue
        if found is not None:
            ahead = tried.parts - found.parts
            error = float(ahead.std(ddof=1) / np.sqrt(ahead.size)) if ahead.size > 1 else 0.0
            if not tried.score > found.score + error:
                continue
        found = tried
    return found


def _grown(candidate: Candidate, train: Dataset, judge: Dataset, scoring: Scoring) -> Large | None:
    """A candidate with as many landmarks as raise its score on ``judge``. The loss is the squared one, whose work does
    not grow with the rows once sums are taken."""
    found: Large | None = None
    classes = 1 if train.task != "multiclass" else len(np.unique(train.y))
    problems, grid = classes, np.empty(0)
    count: int | None = min(LANDMARKS, train.n_samples)
    while count is not None:
        stack = Nystroem(count).features(candidate.dictionary, train.table)
        if found is None and candidate.joint and operations(stack.n_samples, stack.ends[-1], classes) > OPERATIONS:
            problems = 1  # weights of every class would be too dear
        if operations(stack.n_samples, stack.ends[-1], problems, grid.size or VALUES) > OPERATIONS:
            break
        joint = problems < classes
        tried = replace(candidate, loss="squared", joint=joint, approximation=Nystroem(count))
        blocks = stack.cross(judge.table)
        machine = tried.machine(train.task)
        if not grid.size:
            first = path_grid(machine, stack, train.y, "C", 2)[0]
            grid = log_grid(3.0 * first, 10.0**DECADES * first, VALUES)
        with suppress_convergence_warnings():
            path = fit_path(machine, stack, train.y, "C", grid, blocks, judge.y, scoring=scoring)
        score = float(path.val_score[path.first_look])
        if found is not None and score <= found.score + FLAT:
            break
        point = path.estimators[path.first_look]
        decided = point.decide_blocks(blocks)
        cuts = parts_of_rows(judge.task, judge.y)
        parts = np.array([judged([point], [decided[cut]], judge.y[cut], scoring)[0] for cut in cuts])
        summary = f"all training rows, with {count} landmarks for every kernel that needs them"
        found = Large(tried, path, stack, blocks, judge, parts, summary)
        grid = grid[max(0, path.first_look - AROUND) :]
        kept = _kept(candidate, path)
        if kept.size < len(path.kernel_names):
            specs = tuple(candidate.dictionary.specs[m] for m in kept)
            candidate = replace(candidate, dictionary=replace(candidate.dictionary, specs=specs))
        count = _more(train.n_samples, np.diff(stack.ends)[kept], count, problems, grid.size)
    return found


def _kept(candidate: Candidate, path: Path) -> Indices:
    """The kernels that more landmarks are worth: with p = 1 those that hold ``LEAST_SHARE`` of all weight at the best
    point or the one before, else all, as where some of the dictionary have no features at all."""
    if candidate.p != 1.0 or len(path.kernel_names) < len(candidate.dictionary):
        return np.arange(len(path.kernel_names))
    weights = path.weights[max(0, path.first_look - 1) : path.first_look + 1]
    return np.flatnonzero((weights / weights.sum(axis=1, keepdims=True)).max(axis=0) >= LEAST_SHARE)


def _more(n: int, ranks: Indices, count: int, problems: int, values: int = VALUES) -> int | None:
    """More landmarks than ``count`` on n rows, within the budget; None where no kernel needs them or there is no
    room."""
    needs = ranks >= NEEDS_MORE * count
    for factor in GROWTH if needs.any() else ():
        more = int(factor * count)
        width = np.where(needs, more, ranks).sum()
        if more <= n and operations(n, width, problems, values) <= OPERATIONS:
            return more
    return None


def operations(n: int, width: int, problems: int, values: int = VALUES) -> float:
    """Multiplications of a path of so many values on ``width`` features of n rows: all inner products once, and a
    decomposition in every solve.
    """
    return n * float(width) ** 2 + problems * values * SOLVES * float(width) ** 3 / 3.0
