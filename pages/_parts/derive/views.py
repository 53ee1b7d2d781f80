"""Derive views: tables that were joined by a key, the rows of each, and the weight of its kernels."""

from dataclasses import replace

import numpy as np

from mklcore.data.joining import packed_tables
from mklcore.data.reading import describe_table
from pages._parts.derive import importance, paths, tables
from pages._parts.derive.caches import result_cache
from pages._parts.params.parameters import DataParams, Params
from pages._parts.params.places import place
from pages._parts.session.uploads import upload


def parts(params: DataParams) -> dict[str, bytes]:
    """Return the tables of an upload of several, by the names of the views; none for other data."""
    if not params.is_upload:
        return {}
    return packed_tables(upload(params.data).content)


def shared_columns(params: DataParams) -> tuple[str, ...]:
    """Return the columns that all tables of an upload share, any of which may join them. Raises ``DataError``."""

    def make() -> tuple[str, ...]:
        first, *others = (
            [column.name for column in describe_table(content).columns] for content in parts(params).values()
        )
        return tuple(name for name in first if all(name in names for names in others))

    return result_cache(params).made(("shared columns", params.data), make)


def present(params: DataParams) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the names of the views, and which rows each has (views, rows)."""
    table = tables.table(params)
    marks = dict(table.present)
    every = np.ones(table.n_samples, dtype=bool)
    rows = [table.X[:, marks[name]] > 0 if name in marks else every for name, _ in table.groups]
    return tuple(name for name, _ in table.groups), np.array(rows)


def weights(params: Params) -> dict[str, float]:
    """Return the share of the kernel weights of each view at the chosen point of a known path; empty without one."""
    path = paths.known(params)
    if path is None:
        return {}
    members = importance.members(paths.Answer(path, params, waiting=False), "views")
    at = place(path, params.at).index
    sizes = np.abs(np.asarray(path.weights[at], dtype=float))
    total = float(sizes.sum()) or 1.0
    return {name: float(sizes[places].sum()) / total for name, places in members.items()}


def one_kernel_per_view(params: Params) -> Params:
    """Return the parameters whose dictionary has one RBF kernel on every view and no other."""
    return replace(
        params, recipe="builders", widths=0, laplacians=0, others="", linear=False, degree=0, each="none", groups=True,
        group_kernels="rbf", bands=0, subspaces=0, edited="",
    )  # fmt: skip
