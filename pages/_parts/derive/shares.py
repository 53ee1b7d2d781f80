"""Derive shares: how the weight of a path is spread over the columns of the table, or the families of its kernels."""

from dataclasses import replace

from mklcore.estimators.explain import (
    N_SHARES,
    Shares,
    kernels_by_columns,
    kernels_by_family,
    specs_of,
    weight_shares,
)
from mklcore.kernels.functions import KernelSpec
from mklcore.paths.path import Path
from pages._parts.derive import caches, dictionaries, gram_stacks, importance, tables
from pages._parts.derive.paths import Answer
from pages._parts.params.parameters import PathParams


def shares(shown: Answer, what: str, *, every: bool = False) -> Shares:
    """Return the shares of the kernel weights per group of columns or per family along the path: of the largest, or
    all.
    """
    path = shown.path

    def make() -> Shares:
        found = members(shown, what)
        return weight_shares(path.weights, found, limit=len(found) if every else N_SHARES)

    return caches.result_cache(shown.params).made(("shares", what, every, shown.tag), make)


def members(shown: Answer, what: str) -> dict[str, list[int]]:
    """Return the places of the kernels that see each column, or are of each family, by its name."""
    path, table = shown.path, tables.table(shown.params)
    if what == "families":
        return kernels_by_family(path.kernel_families)
    if tables.on_stack(shown.params):
        return {name: [m] for m, name in enumerate(path.kernel_names)}
    fitted = path.estimators[0]  # a path that was kept has none until it is solved anew
    if fitted is not None:
        specs = specs_of(fitted)
    else:
        specs = _specs(shown.params, path) if shown.earlier else gram_stacks.grams(shown.params).train.specs or ()
    units = [(unit.name, unit.columns) for unit in importance.seen(shown.params)]
    units = list(table.groups) if what == "views" else units
    views = [(name, members) for name, members in table.groups if len(members) > 1]
    return kernels_by_columns(specs, units, table.source_names, views)


def _specs(params: PathParams, path: Path) -> tuple[KernelSpec, ...]:
    """Return the kernels of a path that came with the project from the dictionary: no matrix is built to draw it."""
    made, n_features = dictionaries.dictionary(params), tables.table(params).n_features
    spec = {
        name: replace(one, features=tuple(one.columns(n_features)))
        for name, one in zip(made.names, made.specs, strict=True)
    }
    return tuple(spec[name] for name in path.kernel_names)
