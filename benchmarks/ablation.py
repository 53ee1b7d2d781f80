"""What each part of the lp-norm solver is worth: its work without the part, beside its work with
it.

    python -m benchmarks.ablation [PART]      with PART measures such parts and rows alone

Parts are measured on a path of 25 values of C, A and B as in ``paths``, p = 1 and 4/3; rows of the
schedule on a problem of their class. CPU seconds, the two in turn; a part is worth its lines where
the work without it takes 1.5 times as long, or does not reach the tolerance. A part is switched off
from outside, by another table, another setting or another function in its place, so that solvers
have no switches.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

import mklcore as mkl
from benchmarks.lines import Line, cpu, reported
from benchmarks.paths import problem
from mklcore.errors import MKLError, suppress_convergence_warnings
from mklcore.kernels.features import Nystroem
from mklcore.kernels.grams import Rows
from mklcore.kernels.operators import cached
from mklcore.lp import schedule
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.losses import make_loss
from mklcore.problem.penalties import LpNorm, Penalty
from mklcore.problem.problem import Carried, Phase, Problem

GRID = np.geomspace(1e-2, 1e2, 25)
NORMS = {"1": 1.0, "4/3": 4 / 3}
TURNS = 2  # the first one warms what is compiled


class Case(NamedTuple):
    """A problem that a part is measured on: kernels and target, norm, loss, the costs of a path;
    ``cold`` fits each cost by itself, by ``solver`` and under a ``penalty`` other than the lp norm
    of ``p``.
    """

    name: str
    data: str
    p: float
    loss: str = "hinge"
    costs: tuple[float, ...] = tuple(GRID)
    cold: bool = False
    solver: str = "auto"
    penalty: Penalty | None = None

    def problem(self, C: float) -> Problem:
        """The problem at one cost."""
        K, y = kernels(self.data)
        return Problem(y, C, make_loss(self.loss), True, cached(K), self.penalty or LpNorm(self.p))

    def run(self) -> bool:
        """Fit it; whether every gap is within the tolerance."""
        K, y = kernels(self.data)
        if not self.cold:
            path = mkl.fit_path(
                mkl.LpMKLClassifier(p=self.p, loss=self.loss), K, y, "C", self.costs
            )
            return bool(path.finished.all())
        loss = make_loss(self.loss)
        penalty = self.penalty or LpNorm(self.p)
        return all(
            fit_weighted(K, y, C, loss, penalty, True, solver=self.solver).status.ok
            for C in self.costs
        )


def alone(name: str, data: str, p: float, loss: str = "hinge", **options: Any) -> Case:
    """A case at C = 1, without a neighbour."""
    return Case(name, data, p, loss, **{"costs": (1.0,), "cold": True, **options})


PATHS = tuple(
    Case(f"path of {name}, p = {norm}", name, p) for name in "AB" for norm, p in NORMS.items()
)
SUMS = (
    alone("plain sum of 10 kernels, 2,500 rows, C = 100", "dense", np.inf, costs=(100.0,)),
    alone("plain sum of 10 kernels, 2,500 rows, C = 1e4", "dense", np.inf, costs=(1e4,)),
)
ROWS = {
    "features": (
        alone("2,500 rows on 600 features, p = 1, C = 100", "features", 1.0, costs=(100.0,)),
        alone("2,500 rows on 600 features, p = 4/3, C = 100", "features", 4 / 3, costs=(100.0,)),
    ),
    "kernels that are not stored": (
        alone("1,000 rows, 150 kernels not stored, p = 4/3", "many", 4 / 3),
        alone("2,500 rows, 12 kernels not stored, p = 4/3", "few", 4 / 3),
    ),
    "p = 1": (PATHS[0], PATHS[2]),
    "p > 1": (PATHS[1], PATHS[3]),
    "every other penalty": (),  # where no other row can work
}
NAMED = (
    alone("A, C = 1, p = 1", "A", 1.0, solver="interleaved"),
    alone("B, C = 1, p = 4/3", "B", 4 / 3, solver="interleaved"),
    alone("A, C = 1, p = 1", "A", 1.0, solver="silp"),
)
# rows and kernels that are not stored, above ``dictionary.QUICK_LIMIT_MB``: smaller ones always are
SIZES = {"many": (1000, 150), "few": (2500, 12)}


@cache
def kernels(data: str) -> tuple[Any, np.ndarray]:
    """Kernels and target of a case."""
    if data in "AB":
        return problem(data)
    rng = np.random.default_rng(0)
    n = 2500
    X = rng.standard_normal((n, 10))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    if data in SIZES:
        n, M = SIZES[data]
        return Rows.build(mkl.KernelDictionary.rbf_grid(mkl.log_grid(0.25, 4, M)), X[:n]), y[:n]
    wide = mkl.KernelDictionary.rbf_grid(mkl.log_grid(0.25, 4, 10))
    if data == "features":
        return Nystroem(60).features(wide, X, "multiplicative", False), y
    return wide.grams(X), y


class Part(NamedTuple):
    """A part, what stands in its place when it is off (place below ``mklcore``: value), and the
    norms and the data it matters to.
    """

    name: str
    off: Mapping[str, Any]
    norms: tuple[float, ...] = tuple(NORMS.values())
    data: tuple[str, ...] = ("A", "B", "dense")


def nothing(*given: Any, **options: Any) -> None:
    """Stand in place of a function that is switched off."""


def methods() -> Iterator[Part]:
    """Every method of the rows that hold for the paths, without it."""
    one, above = (schedule.row_for(case.problem(1.0)) for case in PATHS[:2])
    interior = schedule.NEWTON_THEN_INTERIOR
    for row, name, instead, p, data in (
        (one, "Newton on all kernels at first", (schedule.LIVE_KERNELS,), 1.0, ("A",)),
        (one, "live kernels", interior, 1.0, ("A",)),
        (above, "pairs at first", (schedule.NEWTON,), 4 / 3, ("A",)),
        (above, "Newton after the pairs", (schedule.PAIRS,), 4 / 3, ("A", "B")),
    ):
        table = _table(row, row._replace(phases=always(instead)))
        yield Part(f"{row.problems}: {name}", {"lp.schedule.TABLE": table}, (p,), data)
    yield Part(
        "p = 1: interior points",
        {"lp.schedule.NEWTON_THEN_INTERIOR": (schedule.NEWTON,)},
        (1.0,),
        ("A",),
    )
    yield Part(
        "p = 1: all of few kernels on many rows", {"lp.schedule.MOST_KERNELS": 0}, (1.0,), ("B",)
    )


def always(phases: tuple[Phase, ...]) -> Callable[[Problem, float], tuple[Phase, ...]]:
    """A row's choice of methods that takes these, whatever the problem."""
    return lambda task, tol: phases


def _table(
    row: schedule.ScheduleRow, *instead: schedule.ScheduleRow
) -> tuple[schedule.ScheduleRow, ...]:
    """The schedule with other rows in place of one."""
    k = schedule.TABLE.index(row)
    return (*schedule.TABLE[:k], *instead, *schedule.TABLE[k + 1 :])


def parts() -> list[Part]:
    """Everything that is switched off, one at a time."""
    return [
        *methods(),
        Part("products from those of an earlier dual", {"kernels.operators.WORTH_READING": -1.0}),
        Part(
            "points fixed inside at first",
            {"lp.interior.PART": 0.0},
            (1.0,),
        ),
        Part(
            "what a method hands on to the neighbour",
            {"problem.problem.WarmStart.carried": Carried()},
            (1.0,),
        ),
        Part("Newton's step instead of the analytic update", {"lp.newton.Newton._curve": nothing}),
        Part(
            "pairs within blocks",
            {"problem.svm.BLOCKS_FROM": 10**9},
            (np.inf,),
        ),
        Part(
            "exact steps on free support vectors",
            {"problem.svm._active_set_steps": nothing},
            (np.inf,),
        ),
    ]


def seconds(case: Case, off: Mapping[str, Any]) -> float:
    """CPU seconds of a case with something switched off; infinite where a gap is not within the
    tolerance.
    """
    with ExitStack() as changes:
        for place, value in off.items():
            changes.enter_context(patch(f"mklcore.{place}", value))
        changes.enter_context(suppress_convergence_warnings())
        try:
            spent, is_solved = cpu(case.run)
        except MKLError:
            return np.inf
        return spent if is_solved else np.inf


def line(part: Part, case: Case, beside: Case | None = None) -> Line:
    """A case beside the same without a part, in turn."""
    turns = [(seconds(beside or case, {}), seconds(case, part.off)) for _ in range(TURNS)]
    whole, without = np.min(turns, axis=0)
    note = "" if np.isfinite(without) else "not solved without it"
    found = Line(f"{case.name}: {part.name}", [whole], "CPU s", float(without), "without it", note)
    print(reported([found]).splitlines()[-1], flush=True)
    return found


def row_lines(chosen: str = "") -> list[Line]:
    """Each row of the schedule beside the next that holds; what is taken only where it is asked for
    by name beside what is taken unasked.
    """
    found = []
    for row in schedule.TABLE:
        for case in ROWS[row.problems] if chosen in row.problems else ():
            assert schedule.row_for(case.problem(case.costs[-1])) is row, (case.name, row.problems)
            part = Part(f"the row “{row.problems}”", {"lp.schedule.TABLE": _table(row)})
            found.append(line(part, case))
    named = NAMED if chosen in "named" else ()
    return found + [
        line(Part(f"{case.solver} beside", {}), case._replace(solver="auto"), case)
        for case in named
    ]


def run(chosen: str = "") -> list[Line]:
    """Every part on the paths whose norm it matters to, and every row of the schedule on a problem
    of its class.
    """
    with threadpool_limits(1):
        of_parts = [
            line(part, case)
            for part in parts()
            if chosen in part.name
            for case in PATHS + SUMS
            if case.p in part.norms and case.data in part.data
        ]
        return of_parts + row_lines(chosen)


if __name__ == "__main__":
    run(*sys.argv[1:2])
