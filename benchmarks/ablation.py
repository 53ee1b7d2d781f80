"""What each part of the lp-norm solver is worth: a path of 25 values of C without it, beside the path with it.

    python -m benchmarks.ablation [PART]     keeps the record and writes docs/ablation.md; with PART measures such parts
                                             alone and keeps nothing

A and B as in ``lp_speed``, from a ready stack, p = 1 and 4/3, CPU seconds, the two in turn. A part is switched off from
outside, by another table of phases, another setting or another function in its place, so that solvers have no switches.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

import mklcore as mkl
from benchmarks.lines import cpu
from benchmarks.lp_speed import problem
from benchmarks.records import keep, on_page
from mklcore._numba.warmup import warm_up
from mklcore.errors import suppress_convergence_warnings
from mklcore.kernels.operators import cached
from mklcore.losses import make_loss
from mklcore.machines import svm
from mklcore.penalties import LpNorm
from mklcore.solvers import reweighting, schedule, working_set
from mklcore.solvers.problem import Carried, Problem

GRID = np.geomspace(1e-2, 1e2, 25)
NORMS = {"1": 1.0, "4/3": 4 / 3}
REPEATS = 3
LEAST = 1.2  # times: a part that is worth less on every path leaves, unless it is there for something else
CERTIFIES, MANY = "certificates where kernels tie", "many kernels"


class Part(NamedTuple):
    """A part, what stands in its place when it is off (place below ``mklcore``: value), the norms it matters to, and
    what else it is there for."""

    name: str
    off: Mapping[str, Any]
    norms: tuple[str, ...] = tuple(NORMS)
    also: str = ""


def nothing(*given: Any, **options: Any) -> None:
    """Stand in place of a function that is switched off."""


def _update(method: Any, Q: np.ndarray) -> np.ndarray:
    updated: np.ndarray = method.problem.penalty.update(method.theta, Q)
    return updated


def phases() -> Iterator[Part]:
    """Every phase of the rows that hold for the paths, without it."""
    stack, y = problem("A")
    for norm, p in NORMS.items():
        row = schedule.row_for(Problem(cached(stack), y, 1.0, make_loss("hinge"), LpNorm(p), True), "auto", 1e-3)
        for k, phase in enumerate(row.phases):
            left = row._replace(phases=row.phases[:k] + row.phases[k + 1 :])
            table = tuple(left if one is row else one for one in schedule.TABLE)
            also = {"inside_where_wide": MANY, "interior": CERTIFIES}.get(phase.make.__name__, "")
            yield Part(f"{row.problems}: {phase.name}, phase {k + 1}", {"solvers.schedule.TABLE": table}, (norm,), also)


def parts() -> list[Part]:
    """Everything that is switched off, one at a time."""
    steady = replace(reweighting.SETTINGS, sharp=(1e-9, 0.05, 5e-5))
    all_kernels = replace(working_set.SETTINGS, from_kernels=10**9)
    plain = replace(svm.SETTINGS, blocks_from=10**9)
    products = "kernels.operators.cached"
    return [
        *phases(),
        Part("products from those of an earlier dual",
             {f"{products}.SETTINGS": replace(_settings(products), worth=-1.0)}),
        Part("the answer of the neighbour, where it holds", {"solvers.schedule.Reused.of": nothing}),
        Part("what a method hands on to the neighbour", {"solvers.problem.WarmStart.carried": Carried()}, ("1",)),
        Part("duals scaled with C", {"solvers.problem.WarmStart.dual_for": lambda self, C, loss: self.dual}),
        Part("a working set of kernels", {"solvers.working_set.SETTINGS": all_kernels}, ("1",), MANY),
        Part("Newton's step instead of the analytic update", {"solvers.newton.Newton._curve": nothing}),
        Part("weights of pairs gone on in log theta", {
            "solvers.interleaved.Interleaved._next_weights": lambda self, Q: self._penalty.update(self.theta, Q)},
            ("4/3",)),
        Part("accuracy of a machine follows the gap", {"solvers.reweighting.SETTINGS": steady}),
        Part("pairs within blocks", {"machines.svm.SETTINGS": plain}),
        Part("exact steps on free support vectors", {"machines.svm._active_set_steps": nothing}),
    ]  # fmt: skip


def _settings(module: str) -> Any:
    return vars(sys.modules[f"mklcore.{module}"])["SETTINGS"]


def path(stack: mkl.GramStack, y: np.ndarray, p: float, part: Part | None = None) -> float:
    """CPU seconds of a path, without a part."""
    with ExitStack() as changes:
        for place, value in ({} if part is None else part.off).items():
            changes.enter_context(patch(f"mklcore.{place}", value))
        changes.enter_context(suppress_convergence_warnings())
        return cpu(lambda: mkl.fit_path(mkl.LpMKLClassifier(p=p), stack, y, "C", GRID))[0]


def measured(chosen: str = "") -> list[dict[str, Any]]:
    """For every part the CPU seconds of each path without it over those with it: the least of each, taken in turn."""
    found = []
    with threadpool_limits(1):
        data = {name: problem(name) for name in "AB"}
        for part in (one for one in parts() if chosen in one.name):
            ratios = {}
            for name, (stack, y) in data.items():
                for norm in part.norms:
                    turns = [
                        (path(stack, y, NORMS[norm], part), path(stack, y, NORMS[norm])) for _ in range(REPEATS + 1)
                    ]
                    without, beside = np.min(turns[1:], axis=0)
                    ratios[f"{name}, p = {norm}"] = round(float(without / beside), 2)
            found.append({"part": part.name, "also": part.also, "ratios": ratios})
            sys.stdout.write(f"{part.name}: {ratios}\n")
    return found


def written(record: dict[str, Any]) -> dict[Path, str]:
    """The table of docs/ablation.md."""
    paths = [f"{name}, p = {norm}" for name in "AB" for norm in NORMS]
    lines = [f"| without | {' | '.join(paths)} | kept for |", "|---" * (len(paths) + 2) + "|"]
    for one in record["found"]:
        cells = [f"{one['ratios'][place]:.2f}" if place in one["ratios"] else "" for place in paths]
        worth = "speed" if max(one["ratios"].values()) >= LEAST else one["also"] or "not decided"
        lines.append(f"| {one['part']} | {' | '.join(cells)} | {worth} |")
    return on_page("ablation", record, lines)


def main(chosen: str = "") -> None:
    warm_up()
    found = measured(chosen)
    if not chosen:
        keep("ablation", found)


if __name__ == "__main__":
    main(*sys.argv[1:2])
