"""Derive what is measured on the kernels in use: alignments, ranks, repeated and constant ones, eigenvalues."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mklcore.answer.explain import kernels_by_columns
from mklcore.kernels.grams import (
    alignment_matrix,
    constant_kernels,
    duplicates,
    effective_rank,
    effective_rows,
    eigenvalues,
    target_alignment,
)
from pages.shared import work
from pages.shared.derive.dictionaries import dictionary, made_of, normalisation
from pages.shared.derive.gram_stacks import grams, parts
from pages.shared.derive.tables import on_stack, table
from pages.shared.params.parameters import KernelParams, PathParams

FEW_ROWS = 5  # a kernel that depends on fewer rows than this
FEW_SHARE = 0.1  # of all, in small tables


@dataclass(frozen=True, eq=False)
class Measures:
    """How the kernels agree with each other (M, M) and with the target (M,), which is NaN where there is no target."""

    between: np.ndarray
    target: np.ndarray


def measures(params: PathParams) -> Measures:
    """Return the alignments of the kernels in use."""

    stack, train = grams(params), parts(params).train

    def compare(progress: Callable[..., None]) -> Measures:
        if train.task == "novelty":
            return Measures(alignment_matrix(stack), np.full(stack.n_kernels, np.nan))
        return Measures(alignment_matrix(stack), target_alignment(stack, train.y, train.task))

    return work.value(("measures", *_kernels(params)), compare, title="Comparing the kernels")


def _kernels(params: PathParams) -> tuple[object, ...]:
    return params.part(KernelParams), normalisation(params)


@dataclass(frozen=True, eq=False)
class Traits:
    """What stands out about the kernels in use.

    ranks (M,): effective ranks. twin: the kernel that each repeats, by index, None where it repeats none. constant:
    which kernels are the same number everywhere. lost: names of kernels of the dictionary that were left out as
    constant. rows (M,): how many training rows each kernel depends on; few: which depend on next to none.
    """

    ranks: np.ndarray
    twin: tuple[int | None, ...]
    constant: tuple[bool, ...]
    lost: tuple[str, ...]
    rows: np.ndarray
    few: tuple[bool, ...]


def traits(params: PathParams) -> Traits:
    """Return effective ranks, repeated and constant kernels."""

    stack = grams(params)
    lost = () if on_stack(params) else tuple(n for n in dictionary(params).names if n not in set(stack.names))

    def look(progress: Callable[..., None]) -> Traits:
        first = {m: group[0] for group in duplicates(stack) for m in group[1:]}
        twins = tuple(first.get(m) for m in range(stack.n_kernels))
        constant, rows = constant_kernels(stack), effective_rows(stack)
        few = ~constant & (rows < min(FEW_ROWS, FEW_SHARE * stack.n_samples))
        return Traits(effective_rank(stack), twins, tuple(constant.tolist()), lost, rows, tuple(few.tolist()))

    return work.value(("traits", *_kernels(params)), look, title="Looking at the kernels")


def spectrum(params: PathParams, index: int) -> np.ndarray:
    """Return the eigenvalues of one kernel on the training rows, and of the mean of all, (2, n), the largest first."""

    def make() -> np.ndarray:
        every = grams(params).values
        return np.array([eigenvalues(every[index]), eigenvalues(np.mean(every, axis=0))])

    return work.now(("spectrum", *_kernels(params), index), make)


def by_column(params: PathParams) -> dict[str, list[int]]:
    """Return the kernels of every column, or group of columns, by its name; of a ready stack every kernel alone."""
    stack = grams(params)
    if on_stack(params):
        return {name: [m] for m, name in enumerate(stack.names)}
    units = [(unit.name, unit.columns) for unit in made_of(params)]
    return kernels_by_columns(stack.specs or (), units, table(params).source_names)
