"""More rows than a stack of exact kernels has room for: the chosen kernels on all of them, by Nystroem's approximation.

Landmarks grow while the score on the validation rows does and the work stays within a budget that is counted in
operations, never in seconds: the same table gives the same answer on any machine and at any load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.errors import suppress_convergence_warnings
from mklcore.exploration.candidates import Candidate, parts_of_rows
from mklcore.kernels.functions import RBF, Laplacian
from mklcore.kernels.nystroem import Nystroem
from mklcore.kernels.operators.factored import FeatureBlocks, FeatureStack
from mklcore.paths.path import Path, fit_path, judged, log_grid, path_grid
from mklcore.selection.references import FLAT
from mklcore.selection.scoring import Scoring

LANDMARKS = (100, 300, 900)
OPERATIONS = 3e10  # that a path on features may take
MANY_MORE = 3  # times the rows on which candidates were compared: from there on a richer one may be the better
SOLVES = 6  # of a problem along the path, in each of which a matrix of all features is decomposed
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
    problems = 1 if candidate.joint or train.task != "multiclass" else len(np.unique(train.y))
    for count in LANDMARKS:
        if count > train.n_samples:
            break
        tried = replace(candidate, loss="squared", approximation=Nystroem(count))
        stack = Nystroem(count).features(tried.dictionary, train.table)
        same = found is not None and stack.ends[-1] == found.stack.ends[-1]  # more landmarks, no more features
        if found is not None and operations(stack, problems) > OPERATIONS:
            tried = one_whole(tried, found)
            stack = Nystroem(count).features(tried.dictionary, train.table)
        if same or operations(stack, problems) > OPERATIONS:
            break
        blocks = stack.cross(judge.table)
        machine = tried.machine(train.task)
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
    return found


def one_whole(candidate: Candidate, found: Large) -> Candidate:
    """The same with that one of the kernels of all columns alone that has the largest weight in ``found``, so that
    there is room for more of its landmarks."""
    names, specs = candidate.dictionary.names, candidate.dictionary.specs
    weights = dict(zip(found.path.kernel_names, found.path.weights[found.path.first_look], strict=True))
    wide = [j for j, spec in enumerate(specs) if isinstance(spec, RBF | Laplacian) and spec.features is None]
    best = max(wide, key=lambda j: weights.get(names[j], 0.0), default=None)
    kept = tuple(spec for j, spec in enumerate(specs) if j not in wide or j == best)
    return replace(candidate, dictionary=replace(candidate.dictionary, specs=kept))


def operations(stack: FeatureStack, problems: int) -> float:
    """Multiplications of a path on features: inner products of all of them once, and a decomposition in every solve."""
    width = float(stack.ends[-1])
    return stack.n_samples * width**2 + problems * VALUES * SOLVES * width**3 / 3.0
