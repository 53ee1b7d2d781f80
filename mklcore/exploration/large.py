"""More rows than a stack of exact kernels has room for: the chosen kernels on all of them, by Nystroem's approximation.

Landmarks grow while the score on the validation rows does and the work stays within a budget that is counted in
operations, never in seconds: the same table gives the same answer on any machine and at any load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mklcore.data.dataset import Dataset
from mklcore.errors import suppress_convergence_warnings
from mklcore.exploration.candidates import BEHIND, Candidate
from mklcore.lowrank.features import FeatureBlocks, FeatureStack
from mklcore.lowrank.nystroem import Nystroem
from mklcore.paths.path import Path, fit_path, log_grid, no_better, path_grid
from mklcore.scoring import Scoring
from mklcore.selection.references import FLAT

LANDMARKS = (100, 200, 400, 800)
OPERATIONS = 2e11  # that a path on features may take
SOLVES = 6  # of a problem along the path, in each of which a matrix of all features is decomposed
VALUES, DECADES = 6, 5  # of C


class Large(NamedTuple):
    """The candidate on features of all rows, its path, the features and those of the validation rows, and how many
    landmarks.
    """

    candidate: Candidate
    path: Path
    stack: FeatureStack
    blocks: FeatureBlocks
    told: str


def on_all_rows(
    candidate: Candidate, steps: Sequence[tuple[str, Any]], train: Dataset, judge: Dataset, scoring: Scoring
) -> Large | None:
    """The candidate on all of ``train``, with as many landmarks as raise its score on ``judge``; None where the
    first step would take more than the budget. The loss is the squared one, whose work does not grow with the rows
    once sums are taken.
    """
    found: Large | None = None
    problems = 1 if train.task != "multiclass" else len(np.unique(train.y))
    for count in LANDMARKS:
        if count > train.n_samples:
            break
        tried = replace(candidate, loss="squared", joint=False, approximation=Nystroem(count))
        stack = Nystroem(count).features(tried.dictionary, train.table)
        if operations(stack, problems) > OPERATIONS:
            break
        blocks = stack.cross(judge.table)
        machine = tried.machine(train.task)
        first = path_grid(machine, stack, train.y, "C", 2)[0]
        grid = log_grid(3.0 * first, 10.0**DECADES * first, VALUES)
        ends = no_better(blocks, judge.y, VALUES // 2, BEHIND, scoring)
        with suppress_convergence_warnings():
            path = fit_path(machine, stack, train.y, "C", grid, blocks, judge.y, scoring=scoring, until=ends)
        told = f"all training rows, with {count} landmarks for every kernel that needs them"
        before = -np.inf if found is None else found.path.val_score[found.path.first_look]
        if path.val_score[path.first_look] <= before + FLAT:
            break
        found = Large(tried, path, stack, blocks, told)
    return found


def operations(stack: FeatureStack, problems: int) -> float:
    """Multiplications of a path on features: inner products of all of them once, and a decomposition in every solve."""
    width = float(stack.ends[-1])
    return stack.n_samples * width**2 + problems * VALUES * SOLVES * width**3 / 3.0
