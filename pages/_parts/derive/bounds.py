"""Derive what bounds are computed from: the target as numbers, and measurements made on the table in use."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mklcore import theory
from mklcore.catalog import ESTIMATORS
from mklcore.catalog.controls import COLUMN_BASES
from mklcore.data.dataset import Dataset, Split
from mklcore.errors import DataError, MKLError, suppress_convergence_warnings
from mklcore.kernels.grams import GramStack
from mklcore.paths.path import Path, fit_path, path_grid
from mklcore.solvers.hkl.bases import BASES
from mklcore.solvers.hkl.design import Design
from mklcore.solvers.variants import Counterexample, duplicate_counterexample
from pages._parts.derive import dictionaries, gram_stacks, hulls, tables
from pages._parts.params.parameters import HullParams, KernelParams, TheoryParams
from pages.shared import work
from pages.shared.work import Failed, Pending, Ready

NORMS = (1.0, 16 / 15, 8 / 7, 5 / 4, 4 / 3, 3 / 2, 7 / 4, 2.0, 3.0, 4.0, 8.0, 16.0, np.inf)
MOST_SIZES = 40
TEST_ROWS = 2000
DRAWS = 40
LAMS = 10  # points of the path of hulls
HULL_COLUMNS = 12
HULL_DEGREE = 3
HULL_SECONDS = 3.0
SMALL_ENTRIES = 2e7  # kernels x rows x rows up to which a measurement starts without being asked for
Measure = Callable[[Callable[..., None]], Any]
SECONDS = 5.0


# The table as the theorems see it


def has_target(params: TheoryParams) -> bool:
    """Tell whether the table has anything to predict."""
    return tables.table(params).task != "novelty"


def classes(params: TheoryParams) -> tuple[str, ...]:
    """Return the names of the classes, none for a regression or without a target."""
    return tables.split(params).train.class_names if tables.table(params).task in ("binary", "multiclass") else ()


def positive(params: TheoryParams) -> str:
    """Return the class that counts as +1: the second of two, else the one chosen against the rest."""
    names = classes(params)
    if len(names) == 2:
        return names[1]
    return names[params.theory_class] if params.theory_class < len(names) else names[0]


def numbers(params: TheoryParams, part: Dataset) -> np.ndarray:
    """Return the target of a part as numbers: -1 and +1, or the distance from the mean of the training rows."""
    if not classes(params):
        train = gram_stacks.parts(params).train
        return part.y.astype(np.float64) - float(np.mean(train.y.astype(np.float64)))
    return np.where(part.y.astype(str) == positive(params), 1.0, -1.0)


def target_as_text(params: TheoryParams) -> str:
    """Return what counts as the target, where that needs saying."""
    names = classes(params)
    if not has_target(params):
        return ""
    if not names:
        return "The target is its distance from the mean of the training rows."
    return "" if len(names) == 2 else "More than two classes: the theorems see one of them against the rest."


def stack(params: TheoryParams) -> GramStack:
    """Return the kernels on the training rows."""
    return gram_stacks.grams(params).train


def held_out(params: TheoryParams) -> Callable[[], np.ndarray]:
    """Return how to get the kernels between test and training rows, (M, m, n); for the worker, because it takes a
    while.
    """
    if tables.on_stack(params):
        rows = gram_stacks.test_rows(params)
        return lambda: rows
    kernels, X = stack(params), tested(params).test.table
    return lambda: kernels.cross(X)


def tested(params: TheoryParams) -> Split:
    """Return the split whose training rows the kernels are built on, with as many test rows as are measured here."""
    parts = gram_stacks.parts(params)
    return parts if tables.on_stack(params) else parts._replace(test=parts.test.drawn(TEST_ROWS, params.seed))


def radius(params: TheoryParams) -> float:
    """Return R: the one set, or the smallest that holds on the training rows."""
    return params.theory_radius or own_radius(params)


def own_radius(params: TheoryParams) -> float:
    """Return the smallest R that holds on the training rows."""
    key = ("radius", params.part(KernelParams), dictionaries.normalisation(params))
    return work.now(key, lambda: theory.kernel_radius(stack(params)))


def sizes(params: TheoryParams) -> tuple[int, int]:
    """Return M and n: those set, or those of the table and its dictionary."""
    kernels = stack(params)
    return params.theory_kernels or kernels.n_kernels, params.theory_rows or kernels.n_samples


def sampled(params: TheoryParams) -> np.ndarray:
    """Return the kernels on an evenly spaced part of the training rows, for what costs the cube of them."""
    kernels = stack(params)
    some = np.unique(np.linspace(0, kernels.n_samples - 1, min(params.theory_sample, kernels.n_samples)).astype(int))
    return np.ascontiguousarray(kernels.values[:, some][:, :, some])


def good(params: TheoryParams) -> list[int]:
    """Return the kernels taken for the right ones: those chosen, or the first two."""
    count = stack(params).n_kernels
    wanted = sorted({int(part) - 1 for part in params.theory_good.split(",") if part})
    chosen = [j for j in wanted if 0 <= j < count]
    return chosen or list(range(min(2, count)))


# What is measured, by name


def measured(params: TheoryParams, tab: str) -> Ready | Pending | Failed:
    """Return what a tab measures, or how far it is. Raises ``MKLError``."""
    return work.get(_key(params, tab), _MEASURES[tab][0](params), title="Measuring", seconds=SECONDS)


def known(params: TheoryParams, tab: str) -> Any:
    """Return what a tab has measured, None where it has not."""
    found = work.peek(_key(params, tab))
    return None if found is None else found.value


def _key(params: TheoryParams, tab: str) -> tuple[Any, ...]:
    return "theory", tab, *_depends(params, tab)


def _depends(params: TheoryParams, tab: str) -> tuple[Any, ...]:
    own = (method(params),) if tab == "hkl" else (getattr(params, name) for name in _MEASURES[tab][1])
    return *bottom(params), *own


def bottom(params: TheoryParams) -> tuple[Any, ...]:
    """Return what every measurement depends on: the table, its split, its kernels, and the class in question."""
    return params.part(KernelParams), dictionaries.normalisation(params), params.theory_class


def entries(params: TheoryParams, tab: str) -> float:
    """Return kernels times rows squared, what a measurement costs."""
    if tab == "hkl":
        return float(len(hull_columns(params)) * len(tables.split(params).train.y) ** 2)
    kernels = stack(params)
    rows = min(params.theory_sample, kernels.n_samples) if tab == "recovery" else kernels.n_samples
    return float(kernels.n_kernels * rows**2) * (3.0 if tab == "recovery" else 1.0)


def rows(params: TheoryParams) -> Callable[[], tuple[GramStack, np.ndarray, np.ndarray, np.ndarray]]:
    """Return how to get kernels and target of the training rows, then of the test rows."""
    parts, kernels, cross = tested(params), stack(params), held_out(params)
    y, y_test = numbers(params, parts.train), numbers(params, parts.test)
    return lambda: (kernels, y, cross(), y_test)


def _lp(params: TheoryParams) -> Measure:
    given = rows(params)
    return lambda progress: theory.measure_lp(*given(), NORMS, params.theory_cost, callback=work.counted(progress))


def _gomp(params: TheoryParams) -> Measure:
    given = rows(params)
    return lambda progress: theory.measure_gomp(
        *given(), params.theory_lam, MOST_SIZES, callback=work.counted(progress)
    )


def _greedy(params: TheoryParams) -> Measure:
    kernels, y = stack(params), numbers(params, gram_stacks.parts(params).train)
    return lambda progress: theory.measure_greedy(kernels, y, params.theory_share, callback=work.counted(progress))


def _recovery(params: TheoryParams) -> Measure:
    kernels, chosen, lam = sampled(params), good(params), params.theory_lam
    others = len(kernels) - len(chosen)

    def measure(progress: Callable[..., None]) -> dict[str, Any]:
        tick, total = work.counted(progress), others + DRAWS + 2
        coherences = theory.gomp_coherences(kernels, chosen, lam, lambda done, _: tick(done, total))
        recovered = theory.measure_recovery(
            kernels, chosen, lam, params.theory_noise, DRAWS, callback=lambda done, _: tick(others + done, total)
        )
        correlation = theory.kernel_correlation(kernels)
        tick(total - 1, total)
        condition = theory.restricted_condition(kernels, params.theory_size)
        from_correlation = theory.condition_from_correlation(kernels, params.theory_size)
        return {
            "coherences": coherences,
            "recovery": recovered,
            "correlation": correlation,
            "condition": condition,
            "from_correlation": from_correlation,
        }

    return measure


def counterexample(params: TheoryParams) -> Counterexample:
    """Return what copies of a kernel do to every method, on the built-in problem: no table, so it is everybody's."""
    key = ("duplicates", params.theory_copies, params.theory_price)
    with suppress_convergence_warnings():
        return work.now(key, lambda: duplicate_counterexample(lam=params.theory_price, copies=params.theory_copies))


# Hulls, with squared loss and a basis of columns, as the theorem has them


def hull_columns(params: TheoryParams) -> list[int]:
    """Return the columns that enter: those of the Hulls page, at most a dozen."""
    return hulls.columns(params)[:HULL_COLUMNS]


def method(params: TheoryParams) -> HullParams:
    """Return the parameters of the hulls measured here."""
    basis = params.hull_basis if params.hull_basis in COLUMN_BASES else "polynomial"
    return replace(params.part(HullParams), hull_basis=basis, hull_loss="squared")


def _hkl(params: TheoryParams) -> Measure:
    parts, chosen = tables.split(params), hull_columns(params)
    if not chosen:
        raise DataError("The table has no columns to build a hull from.")
    basis: Any = BASES[method(params).hull_basis]
    asked = ESTIMATORS["hkl"].regressor(basis=basis(min(params.hull_degree, HULL_DEGREE)), max_seconds=HULL_SECONDS)
    y, y_test = numbers(params, parts.train), numbers(params, parts.test)
    names = [parts.train.feature_names[j] for j in chosen]

    def measure(progress: Callable[..., None]) -> dict[str, Any]:
        rows: Any = Design(parts.train.X[:, chosen], asked.basis, names=names)
        asked.set_params(callback=lambda record: progress())
        values = path_grid(asked, rows, y, "lam", LAMS)[::-1]
        path = fit_path(asked, rows, y, "lam", values, parts.test.X[:, chosen], y_test, work.counted(progress))
        return {"path": path, "conditions": [_conditions(path, k) for k in range(len(path))]}

    return measure


def _conditions(path: Path, index: int) -> theory.HKLConsistency | str:
    """Return both conditions at one hull, or why they are not defined there."""
    fitted = path.estimators[index]
    try:
        return theory.hkl_consistency(fitted.design_, fitted.hull_, fitted.beta_)
    except MKLError as error:
        return str(error)


# What measures for each tab, and the parameters it depends on besides the kernels
_MEASURES: dict[str, tuple[Callable[[TheoryParams], Measure], tuple[str, ...]]] = {
    "lp": (_lp, ("theory_cost",)),
    "gomp": (_gomp, ("theory_lam",)),
    "greedy": (_greedy, ("theory_share",)),
    "recovery": (_recovery, ("theory_lam", "theory_good", "theory_sample", "theory_noise", "theory_size")),
    "hkl": (_hkl, ()),
}
