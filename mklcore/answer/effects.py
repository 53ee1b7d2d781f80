"""How much every column matters to a model, and what is lost when it is permuted.

Effects are exact Shapley values. Permuting a column, or what one part of the model says, raises the
squared error of rows that the model has not seen if that column counts. The growth is paired, row
by row, so that it can be tested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.stats import t as student

from mklcore.answer.candidates import DividedRows, standard_error, targets
from mklcore.answer.verdict import ColumnEffect
from mklcore.arrays import Array, Indices, Labels
from mklcore.data.dataset import Dataset
from mklcore.data.splitting import codes_of
from mklcore.errors import KernelError
from mklcore.estimators.shapley import shapley_values

WORK = 1.2e7  # multiplications of Shapley values, by which rows are counted
# Effects are averaged over at least `FEWEST` and at most `MOST` rows.
FEWEST = 20
MOST = 250
ALIKE = 0.9  # correlation from which columns are permuted together
REPEATS = 5  # permutations


def columns_that_matter(
    divided: DividedRows, model: Any
) -> tuple[tuple[ColumnEffect, ...], tuple[str, ...]]:
    """The effects of source columns on held-out rows, or on rows learned from where none are held
    out: on as many as Shapley values have time for; and a note where kernels take the place of
    columns.
    """
    d = max(len(getattr(model, "source_columns_", ())), 1)
    n = len(model._map.rows) if getattr(model, "_map", None) is not None else 1
    work = n * d * max(d // 2, 1)
    unseen = divided.learn if divided.test is None else divided.test
    rows = unseen.drawn(int(np.clip(WORK / work, FEWEST, MOST)), divided.request.seed)
    return effects(model, rows, divided.read(rows))


def effects(
    model: Any, rows: Dataset, read: Any = None
) -> tuple[tuple[ColumnEffect, ...], tuple[str, ...]]:
    """How much every source column matters on these rows, the largest effect first, and a note.

    Where columns cannot be separated, kernels take their place, and the note says why. ``read`` :
    the rows as the model takes them.
    """
    note: tuple[str, ...] = ()
    try:
        found = shapley_values(model, rows)
        values = np.atleast_3d(found.values)
        alone = np.atleast_3d(found.alone)
        names = [name for name, _ in model.source_columns_]
    except KernelError as error:
        values = alone = kernel_values(model, read)
        names = list(model.kernel_names_)
        note = (f"Kernels are ranked, not columns. {error}",)
    centred = values - values.mean(axis=0)
    total = centred.sum(axis=1)
    together = np.einsum("ijt,it->j", centred, total) / (float(np.sum(total * total)) or 1.0)
    sizes = np.abs(values).sum(axis=2)
    effect = sizes.mean(axis=0)
    error_of = sizes.std(axis=0, ddof=1) / np.sqrt(len(sizes))
    share = effect / (float(effect.sum()) or 1.0)
    sizes_alone = np.abs(alone).sum(axis=2).mean(axis=0)
    figures = np.column_stack([effect, share, sizes_alone, together, error_of])
    made = []
    for name, own in zip(names, figures.tolist(), strict=True):
        made.append(ColumnEffect(name, *own))
    return tuple(sorted(made, key=lambda one: (-one.effect, one.name))), note


def kernel_values(model: Any, read: Any) -> Array:
    """What every kernel adds (n, M, T) beyond its mean over the rows."""
    values = np.atleast_3d(np.moveaxis(model.contributions(read), 0, 1))
    centred: Array = values - values.mean(axis=0)
    return centred


# Growth of the squared error


def growth_of_columns(
    model: Any, rows: Dataset, sets: Sequence[Sequence[str]], seed: int
) -> dict[str, Array]:
    """By how much the squared error of rows, or of their owners, grows when a column is permuted, by
    its name; the columns of one of the ``sets`` are permuted together.
    """
    Y = targets(rows.y, getattr(model, "classes_", None))
    table = rows.table
    before = squared(residuals(model, table, Y))
    sources = dict(model.source_columns_)
    found: dict[str, Array] = {}
    for names in sets:
        columns = [j for name in names for j in sources[name]]

        def permuted(order: Indices, columns: list[int] = columns) -> Array:
            moved = np.array(table)
            moved[:, columns] = table[:, columns][order]
            return squared(residuals(model, moved, Y))

        more = mean_by_owner(growth_when_permuted(before, permuted, seed), rows.row_groups)
        found |= dict.fromkeys(names, more)
    return found


def growth_of_kernels(model: Any, rows: Dataset, read: Any, seed: int) -> dict[str, Array]:
    """The same for what every kernel says, by its name, of the rows as the model takes them; none
    for a model whose pairs of classes vote.
    """
    Y = targets(rows.y, getattr(model, "classes_", None))
    parts = model.contributions(read)
    if parts[0].size != Y.size:
        return {}
    off = residuals(model, read, Y)
    found = {}
    for name, part in zip(model.kernel_names_, parts, strict=True):
        more = growth_without_part(part.reshape(Y.shape), off, seed)
        found[name] = mean_by_owner(more, rows.row_groups)
    return found


def growth_without_part(part: Array, off: Array, seed: int) -> Array:
    """Growth of the squared error (n,) when ``part`` (n, T), one part of the model's output, is
    permuted, of a model with residuals ``off`` (n, T).
    """
    return growth_when_permuted(squared(off), lambda order: squared(off - part + part[order]), seed)


def growth_when_permuted(before: Array, permuted: Callable[[Indices], Array], seed: int) -> Array:
    """Growth of the squared error of each row (n,), on average over ``REPEATS`` permutations.

    ``before`` (n,) are the errors as they are, ``permuted`` returns those under an order of the rows.
    """
    rng = np.random.default_rng(seed)
    after = [permuted(rng.permutation(len(before))) for _ in range(REPEATS)]
    more: Array = np.mean(after, axis=0) - before
    return more


def residuals(model: Any, read: Any, Y: Array) -> Array:
    """What a model decides about rows, less their targets ``Y``, (n, T) both."""
    decided: Array = getattr(model, "decision_function", model.predict)(read)
    return decided.reshape(Y.shape) - Y


def squared(off: Array) -> Array:
    """The squared errors (n,) of rows."""
    found: Array = np.sum(off * off, axis=1)
    return found


def mean_by_owner(values: Array, owners: Labels | None) -> Array:
    """The mean over rows that belong together, which are one observation; the values (n,) where
    none do.
    """
    if owners is None:
        return values
    codes = codes_of(owners)
    return np.bincount(codes, values) / np.bincount(codes)


def p_value_of_growth(more: Array) -> float:
    """The p-value of "errors do not grow", of their growth (n,) row by row: Student's t, one-sided."""
    error = standard_error(more)
    if error == 0.0:
        return 0.0 if more.mean() > 0.0 else 1.0
    return float(student.sf(more.mean() / error, len(more) - 1))


def correlations(rows: Dataset) -> Array:
    """The largest |correlation| between features of two source columns (G, G), 0 where a column is
    constant.
    """
    X = rows.X - rows.X.mean(axis=0)
    X = X / np.maximum(np.sqrt(np.mean(X * X, axis=0)), 1e-300)
    order: list[int] = []
    starts: list[int] = []
    for _, members in rows.columns:
        starts.append(len(order))
        order.extend(members)
    each = np.abs(X.T @ X)[np.ix_(order, order)] / len(X)
    largest = np.maximum.reduceat(each, starts, axis=0)
    return np.maximum.reduceat(largest, starts, axis=1)


def correlated_sets(rows: Dataset) -> list[list[str]]:
    """The source columns in sets of those that are correlated above ``ALIKE``, directly or through
    others.
    """
    names = [name for name, _ in rows.columns]
    count, home = connected_components(correlations(rows) > ALIKE)
    sets: list[list[str]] = [[] for _ in range(count)]
    for name, place in zip(names, home, strict=True):
        sets[place].append(name)
    return sets + [[name] for name, _ in rows.strings if name not in names]
