"""What each part of the lp-norm solver is worth: a path of 25 values of C without it, beside the path with it.

    python -m benchmarks.ablation [PART]     keeps the record and writes docs/ablation.md; with PART measures such parts
                                             and rows alone, and the record keeps the others as they are

A and B as in ``lp_speed``, from a ready stack, p = 1 and 4/3, CPU seconds, the two in turn. What is worth little there
is measured on other problems, too: cold fits, small tolerances, other losses, more rows, kernels that are not stored. A
part is switched off from outside, by another table of phases, another setting or another function in its place, so that
solvers have no switches.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

import mklcore as mkl
from benchmarks.lines import cpu
from benchmarks.lp_speed import problem
from benchmarks.records import keep, kept, on_page
from mklcore._numba.warmup import warm_up
from mklcore.errors import suppress_convergence_warnings
from mklcore.kernels.nystroem import Nystroem
from mklcore.kernels.operators import cached
from mklcore.kernels.operators.lazy import LazyKernels
from mklcore.losses import make_loss
from mklcore.machines import svm
from mklcore.penalties import EllipticNorm, LpNorm, Penalty
from mklcore.solvers import fit_weighted, reweighting, schedule, working_set
from mklcore.solvers.problem import Carried, Problem

GRID = np.geomspace(1e-2, 1e2, 25)
NORMS = {"1": 1.0, "4/3": 4 / 3}
REPEATS = 2  # beside a first time; once on problems other than the paths
LEAST = 1.2  # times: a part that is worth less on every path leaves, unless it is there for something else
CERTIFIES, MANY = "certificates where kernels tie", "many kernels"
COSTS, LARGE = (0.1, 1.0, 10.0, 100.0), (1e3, 1e4, 1e5)


class Case(NamedTuple):
    """A problem that a part is measured on: which kernels, what is fitted to them, and at which costs; ``cold`` fits
    each cost by itself, by ``solver`` and under a ``penalty`` other than the lp norm of ``p``."""

    name: str
    data: str
    p: float
    loss: str = "hinge"
    tol: float = 1e-3
    costs: tuple[float, ...] = tuple(GRID)
    cold: bool = False
    solver: str = "auto"
    penalty: Penalty | None = None

    @property
    def norm(self) -> str:
        """The class of norms it is of, by the name of its first."""
        return "1" if self.p == 1.0 else "4/3"

    def problem(self, C: float) -> Problem:
        """The problem at one cost."""
        K, y = kernels(self.data)
        return Problem(cached(K), y, C, make_loss(self.loss), self.penalty or LpNorm(self.p), True)

    def run(self) -> bool:
        """Fit it; whether every gap is within the tolerance."""
        K, y = kernels(self.data)
        if self.cold:
            loss, penalty = make_loss(self.loss), self.penalty or LpNorm(self.p)
            how: dict[str, Any] = {"solver": self.solver, "tol": self.tol}
            return all(fit_weighted(K, y, C, loss, penalty, True, **how).status.ok for C in self.costs)
        kind = mkl.LpMKLRegressor if self.data == "diabetes" else mkl.LpMKLClassifier
        path = mkl.fit_path(kind(p=self.p, loss=self.loss, tol=self.tol), K, y, "C", self.costs)
        return bool(path.finished.all())


def alone(name: str, data: str, p: float, loss: str = "hinge", **options: Any) -> Case:
    """A case at C = 1, without a neighbour."""
    return Case(name, data, p, loss, **{"costs": (1.0,), "cold": True, **options})


PATHS = tuple(Case(f"{name}, p = {norm}", name, p) for name in "AB" for norm, p in NORMS.items())
OTHERS = (
    Case("A, each C alone, p = 1, gap 1e-5", "A", 1.0, tol=1e-5, costs=COSTS, cold=True),
    Case("A, each C alone, p = 1.1", "A", 1.1, costs=COSTS, cold=True),
    Case("A, each C alone, p = 4/3, gap 1e-5", "A", 4 / 3, tol=1e-5, costs=COSTS, cold=True),
    Case("A, each C alone, p = 4/3, gap 1e-8", "A", 4 / 3, tol=1e-8, costs=COSTS, cold=True),
    Case("A, each C alone, p = 2", "A", 2.0, costs=COSTS, cold=True),
    Case("B, each C alone, p = 1, gap 1e-5", "B", 1.0, tol=1e-5, costs=COSTS, cold=True),
    Case("B, each C alone, p = 4/3", "B", 4 / 3, costs=COSTS, cold=True),
    Case("A, path, squared hinge, p = 4/3, gap 1e-5", "A", 4 / 3, "squared_hinge", tol=1e-5),
    Case("A, path, logistic loss, p = 1", "A", 1.0, "logistic"),
    Case("A, path, logistic loss, p = 4/3", "A", 4 / 3, "logistic"),
    Case("diabetes, path, p = 4/3, gap 1e-5", "diabetes", 4 / 3, "epsilon_insensitive", tol=1e-5),
    Case("2,500 rows, each C alone, p = 1", "rows", 1.0, costs=COSTS[:3], cold=True),
    Case("2,500 rows, each C alone, p = 4/3", "rows", 4 / 3, costs=COSTS[:3], cold=True),
    Case("2,500 rows, kernels not stored, p = 4/3", "not stored", 4 / 3, costs=COSTS[:3], cold=True),
    Case("2,500 rows on 600 features, path, p = 4/3", "features", 4 / 3, costs=COSTS),
    Case("2,500 rows on 600 features, path, squared hinge", "features", 4 / 3, "squared_hinge", costs=COSTS),
    Case("A, large C alone, p = 4/3, gap 1e-5", "A", 4 / 3, tol=1e-5, costs=LARGE, cold=True),
    Case("linear kernels, large C alone, p = 1.1, gap 1e-5", "linear", 1.1, tol=1e-5, costs=LARGE, cold=True),
    Case("linear kernels, large C alone, p = 2, gap 1e-5", "linear", 2.0, tol=1e-5, costs=LARGE, cold=True),
    Case(
        "linear kernels, large C alone, squared hinge, p = 2, gap 1e-8",
        "linear",
        2.0,
        "squared_hinge",
        tol=1e-8,
        costs=LARGE,
        cold=True,
    ),
    Case("one linear kernel, C = 1e4, squared hinge", "one linear", 2.0, "squared_hinge", costs=(1e4,), cold=True),
)


ROWS = {
    "features, l1, piecewise-linear": alone("2,500 rows on 600 features, C = 100", "features", 1.0, costs=(100.0,)),
    "features, 1.2 <= p <= 3, piecewise-linear, large C":
        alone("2,500 rows on 600 features, p = 4/3, C = 100", "features", 4 / 3, costs=(100.0,)),
    "features, squared loss": alone("30,000 rows on 600 features, p = 4/3", "many rows", 4 / 3, "squared"),
    "features, p < 1.2":
        alone("2,500 rows on 600 features, squared hinge, p = 1.05", "features", 1.05, "squared_hinge", costs=COSTS),
    "features": alone("2,500 rows on 600 features, p = 4/3, C = 0.1", "features", 4 / 3, costs=(0.1,)),
    "p = infinity": alone("2,500 rows, 10 kernels not stored, p = infinity", "not stored", np.inf, costs=COSTS),
    "l1, very many kernels that are not stored": alone("200 rows, 120 kernels not stored, p = 1", "many", 1.0),
    "very many kernels that are not stored":
        alone("1,000 rows, 150 kernels not stored, p = 4/3, C = 100", "crowd", 4 / 3, costs=(100.0,)),
    "l1, kernels that are not stored, room for some of them":
        alone("1,000 rows, 80 kernels not stored, p = 1", "some", 1.0),
    "l1, few kernels that are not stored":
        alone("1,000 rows, 10 kernels not stored, p = 1, C = 100", "few", 1.0, costs=(100.0,)),
    "kernels that are not stored": alone("2,500 rows, 10 kernels not stored, p = 4/3", "not stored", 4 / 3),
    "l1, piecewise-linear": PATHS[0],
    "1 < p < 4, a small stack": PATHS[1],
    "p < 4": PATHS[3],
    "p >= 4": alone("B, p = 8", "B", 8.0),
    "every other penalty": alone("A, elliptic norm", "A", 2.0, penalty=EllipticNorm(0.9 + 0.1 * np.eye(50))),
}  # fmt: skip
NAMED = {
    "features": alone("2,500 rows on 600 features, p = 4/3", "features", 4 / 3, solver="newton"),
    "l1, piecewise-linear, stored": alone("A, C = 1, p = 1", "A", 1.0, solver="interleaved"),
    "all that pairs can do": alone("B, C = 1, p = 4/3", "B", 4 / 3, solver="interleaved"),
    "every lp norm": alone("A, C = 1, p = 4/3", "A", 4 / 3, solver="newton"),
    "l1, for comparison": alone("A, C = 1, p = 1", "A", 1.0, solver="silp"),
}
SIZES = {"many": (200, 120), "crowd": (1000, 150), "some": (1000, 80), "few": (1000, 10)}  # rows and kernels not stored
# Where the next row has the same method: what is measured in its place.
INSTEAD = {"p >= 4": (schedule._NEWTON,), "every other penalty": (schedule._PAIRS,)}


@cache
def kernels(data: str) -> tuple[Any, np.ndarray]:
    """Kernels and target of a case."""
    if data in "AB":
        return problem(data)
    if data == "diabetes":
        sample = mkl.load_sample(data)
        return mkl.KernelDictionary.rbf_grid(mkl.log_grid(0.1, 10, 20)).grams(sample.X), np.asarray(sample.y, float)
    if data in ("linear", "one linear"):
        sample, (_, y) = mkl.load_sample("breast_cancer"), kernels("A")
        train, _ = sample.split(test_size=0.3, seed=0)
        columns = sample.n_features if data == "linear" else 1
        return mkl.KernelDictionary.per_feature(mkl.Linear(), columns).grams(train.X[:, :columns]), y
    rng, n = np.random.default_rng(0), 30_000 if data == "many rows" else 2500
    X = rng.standard_normal((n, 10))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    if data in SIZES:
        n, M = SIZES[data]
        return LazyKernels.build(mkl.KernelDictionary.rbf_grid(mkl.log_grid(0.25, 4, M)), X[:n]), y[:n]
    wide = mkl.KernelDictionary.rbf_grid(mkl.log_grid(0.25, 4, 10))
    if data in ("features", "many rows"):
        return Nystroem(60).features(wide, X, "multiplicative", False), y
    return (LazyKernels.build(wide, X) if data == "not stored" else wide.grams(X)), y


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
            before = row.phases[:k]
            if k and k == len(row.phases) - 1:  # nothing follows: the one before goes on
                before = (*before[:-1], before[-1]._replace(leave=schedule.never))
            table = _table(row, row._replace(phases=before + row.phases[k + 1 :]))
            also = {"inside_where_wide": MANY, "interior": CERTIFIES}.get(phase.make.__name__, "")
            yield Part(f"{row.problems}: {phase.name}, phase {k + 1}", {"solvers.schedule.TABLE": table}, (norm,), also)


def _table(row: schedule.Row, *instead: schedule.Row) -> tuple[schedule.Row, ...]:
    """The schedule with other rows in place of one."""
    k = schedule.TABLE.index(row)
    return (*schedule.TABLE[:k], *instead, *schedule.TABLE[k + 1 :])


def row_case(row: schedule.Row) -> Case:
    """What a row is measured on."""
    return ROWS[row.problems] if "auto" in row.solvers.split() else NAMED[row.problems]


def measured_rows(chosen: str = "") -> list[dict[str, Any]]:
    """Each row of the schedule: the time of its case without it, in times of that with it; of a row that is taken only
    where it is asked for by name, its time in times of what is taken unasked."""
    found = []
    for row in (one for one in schedule.TABLE if chosen in one.problems):
        case, named = row_case(row), "auto" not in row.solvers.split()
        with threadpool_limits(1):
            taken = schedule.row_for(case.problem(case.costs[-1]), case.solver, case.tol)
        assert taken is row, (taken.problems, row.problems)
        other = INSTEAD.get(row.problems)
        table = _table(row, *([row._replace(phases=other)] if other else []))
        part = Part(row.problems, {} if named else {"solvers.schedule.TABLE": table})
        beside = case._replace(solver="auto") if named else case
        found.append({
            "row": row.problems, "solvers": row.solvers, "case": case.name, "named": named,
            "methods": ", then ".join(phase.name or phase.make.__name__ for phase in row.phases),
            "ratio": ratio(part, case, beside),
        })  # fmt: skip
    return found


def parts() -> list[Part]:
    """Everything that is switched off, one at a time."""
    steady = replace(reweighting.SETTINGS, accuracies=(1e-9, 0.05, 5e-5))
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


def seconds(case: Case, part: Part | None = None) -> float:
    """CPU seconds of a case, without a part; infinite where a gap is not within the tolerance."""
    with ExitStack() as changes:
        for place, value in ({} if part is None else part.off).items():
            changes.enter_context(patch(f"mklcore.{place}", value))
        changes.enter_context(suppress_convergence_warnings())
        spent, is_solved = cpu(case.run)
        return spent if is_solved else np.inf


def ratio(part: Part, case: Case, beside: Case | None = None) -> float | None:
    """CPU seconds of a case without a part over those with it, the least of each, in turn; None where the case is not
    solved without it."""
    repeats = REPEATS if case in PATHS else 1
    turns = [(seconds(case, part), seconds(beside or case)) for _ in range(repeats + 1)]
    without, whole = np.min(turns[1:], axis=0)
    found = round(float(without / whole), 2) if np.isfinite(without) else None
    sys.stdout.write(f"{part.name}; {case.name}: {found} ({whole:.2f} s)\n")
    sys.stdout.flush()
    return found


def ratios(part: Part, cases: tuple[Case, ...]) -> dict[str, float | None]:
    """The ratio of every case whose norm the part matters to."""
    return {case.name: ratio(part, case) for case in cases if case.norm in part.norms}


def measured(chosen: str = "") -> list[dict[str, Any]]:
    """Every part on the paths; those of little worth there on the other problems, too."""
    found = []
    with threadpool_limits(1):
        for part in (one for one in parts() if chosen in one.name):
            on_paths = ratios(part, PATHS)
            small = _most(on_paths) < LEAST and not part.also
            others = ratios(part, OTHERS) if small else {}
            found.append({"part": part.name, "also": part.also, "ratios": on_paths, "others": others})
    return found


def _most(ratios: Mapping[str, float | None]) -> float:
    return max((np.inf if one is None else one for one in ratios.values()), default=0.0)


def worth(one: dict[str, Any]) -> str:
    """What a part is kept for; "nothing" where it leaves."""
    if _most(one["ratios"]) >= LEAST:
        return "speed"
    elsewhere = "speed elsewhere" if np.isfinite(_most(one["others"])) else "problems that are not solved without it"
    return one["also"] or (elsewhere if _most(one["others"]) >= LEAST else "nothing")


def written(record: dict[str, Any]) -> dict[Path, str]:
    """The tables of docs/ablation.md."""
    found, names = record["found"]["parts"], [case.name for case in PATHS]
    lines = [f"| without | {' | '.join(names)} | kept for |", "|---" * (len(names) + 2) + "|"]
    lines += [f"| {one['part']} | {' | '.join(_cells(one['ratios'], names))} | {worth(one)} |" for one in found]
    small = [one for one in found if one["others"]]
    lines += ["", "Parts that are worth little on the four paths, on other problems:", ""]
    lines += [f"| without | {' | '.join(one['part'] for one in small)} |", "|---" * (len(small) + 1) + "|"]
    for case in OTHERS:
        cells = [cell for one in small for cell in _cells(one["others"], [case.name])]
        lines.append(f"| {case.name} | {' | '.join(cells)} |")
    lines += ["", "Every row of the schedule, on a problem of its class:", ""]
    lines += ["| class of problems | methods | measured on | without the row |", "|---|---|---|---|"]
    asked = "asked for by name: {} of what is taken unasked"
    for row in record["found"]["rows"]:
        figure = _cells(row, ["ratio"])[0]
        lines.append(f"| {row['row']} | {row['methods']} | {row['case']} | "
                     f"{asked.format(figure) if row['named'] else figure} |")  # fmt: skip
    return on_page("ablation", record, lines)


def _cells(ratios: Mapping[str, Any], names: list[str]) -> list[str]:
    return ["" if name not in ratios else "not solved" if ratios[name] is None else f"{ratios[name]:.2f}"
            for name in names]  # fmt: skip


def merged(before: list[dict[str, Any]], found: list[dict[str, Any]], *key: str) -> list[dict[str, Any]]:
    """What was found in place of what was on record under the same ``key``."""
    new = {tuple(one[part] for part in key): one for one in found}
    return [new.pop(tuple(one[part] for part in key), one) for one in before] + list(new.values())


def main(chosen: str = "") -> None:
    warm_up()
    found, before = {"parts": measured(chosen), "rows": measured_rows(chosen)}, {"parts": [], "rows": []}
    if chosen:
        before = kept("ablation")["found"]
    keep("ablation", {
        "parts": merged(before["parts"], found["parts"], "part"),
        "rows": merged(before["rows"], found["rows"], "row", "solvers"),
    })  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:2])
