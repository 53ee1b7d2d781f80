"""Derive Gram matrices on the training rows from a dictionary, within the server's memory."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mklcore.data.dataset import Split
from mklcore.data.grouping import read_numbers
from mklcore.errors import DataError, KernelError, cancellation_scope
from mklcore.kernels import stacks
from mklcore.kernels.grams import Forecast, GramStack
from pages.shared import work
from pages.shared.derive.dictionaries import dictionary, normalisation
from pages.shared.derive.tables import drawn, on_stack, stack_file
from pages.shared.machine import memory_bytes
from pages.shared.params.parameters import DataParams, KernelParams, PathParams
from pages.shared.session.uploads import ON_STACK, edited_text

MEMORY_LIMIT_MB = min(800.0, work.SHARE * memory_bytes() / 2e6)
ROWS = 2000  # training rows that are used unasked
FEWEST_ROWS, FEWEST_JUDGES = 40, 300


def parts(params: KernelParams) -> Split:
    """Return the split on whose training rows the kernels are built: drawn where all would be too many.

    Test rows stay as they are. At most as many rows as were asked for, ``ROWS`` otherwise, and as the memory holds.
    """
    count = len(chosen_kernels(params)) if on_stack(params) else len(dictionary(params))
    fit = int(np.sqrt(0.95 * MEMORY_LIMIT_MB * 1e6 / (8 * count)))
    most = max(FEWEST_ROWS, min(fit, params.rows or ROWS))
    return drawn(params, most, max(most, FEWEST_JUDGES))


def foresee(params: KernelParams) -> Forecast:
    """Return what the kernels on the training rows will cost, before they are built."""
    n_rows = len(parts(params).train.y)
    if on_stack(params):
        return stacks.foresee(len(chosen_kernels(params)), n_rows)
    return dictionary(params).foresee(n_rows)


def grams(params: PathParams) -> GramStack:
    """Return the Gram matrices on the training rows. Raises ``MKLError``, until they are built as well."""
    train = parts(params).train
    if on_stack(params):
        stack = chosen_stack(params)
        key = "cut", params.part(DataParams), params.edited, train.n_samples
        return work.value(key, lambda progress: stack.take(stacks.rows_of(train)), title="Cutting the stack")
    settled, kernels = replace(params.part(KernelParams), normalise=normalisation(params)), dictionary(params)

    def build(progress: Callable[..., None]) -> GramStack:
        normalise = None if settled.normalise == "none" else settled.normalise  # never "auto"
        with cancellation_scope(progress):
            return kernels.grams(train, normalise, settled.center, memory_limit_mb=MEMORY_LIMIT_MB)

    seconds = foresee(params).seconds
    return work.value(("kernels", settled, train.n_samples), build, title="Building the kernels", seconds=seconds)


def chosen_kernels(params: KernelParams) -> tuple[int, ...]:
    """Return which kernels of an uploaded stack are switched on. Raises ``KernelError``."""
    count, text = stack_file(params).stack.n_kernels, edited_text(params)
    if not text.startswith(ON_STACK):
        return tuple(range(count))
    try:
        return read_numbers(text.removeprefix(ON_STACK), count, "kernel")
    except DataError as error:
        raise KernelError(str(error)) from None


def chosen_stack(params: KernelParams) -> GramStack:
    """Return the kernels of an uploaded stack that are switched on, on all its rows."""
    stack, chosen = stack_file(params).stack, chosen_kernels(params)
    return stack if len(chosen) == stack.n_kernels else stacks.subset(stack, chosen)


def test_rows(params: KernelParams) -> np.ndarray:
    """Return what a model takes for the test rows: rows of the table, or their block (M, n_test, n) of a stack."""
    cut = parts(params)
    if not on_stack(params):
        return cut.test.table
    return stacks.block_of(chosen_stack(params), cut.test, cut.train)
