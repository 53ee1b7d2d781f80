"""Derive Gram matrices on the training rows and against them from a dictionary, within the server's memory."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from mklcore.data.dataset import Split
from mklcore.data.grouping import read_numbers
from mklcore.errors import DataError, KernelError
from mklcore.kernels import stacks
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import USUAL
from mklcore.kernels.grams import Forecast, GramStack
from mklcore.kernels.interactions import Interaction
from pages._parts.derive.budget import SHARE, Budget
from pages._parts.derive.caches import LargePlace
from pages._parts.derive.dictionaries import dictionary, normalisation
from pages._parts.derive.tables import drawn, on_stack, split, stack_file
from pages._parts.jobs import machine
from pages._parts.jobs.preparing import preparation
from pages._parts.params.parameters import DataParams, KernelParams, PathParams
from pages._parts.session import turns
from pages._parts.session.memory import memory
from pages._parts.session.uploads import ON_STACK, edited_text

MEMORY_LIMIT_MB = 800.0
# Above the limit and up to this, a stack is built only while the server holds no other one of its size.
LARGE_LIMIT_MB = 2600.0
ROWS = 2000  # training rows that are used unasked
FEWEST_ROWS, FEWEST_JUDGES = 40, 300


@dataclass(frozen=True, eq=False)
class Grams:
    """The kernels on the training rows, and against them on the validation rows: (M, n, n) and (M, n_val, n); or
    features.
    """

    train: Any
    validation: Any


def parts(params: KernelParams) -> Split:
    """Return the split whose training and validation rows the kernels are built on: drawn where all would be too many.

    Test rows stay as they are. Without a number of rows asked for at most ``ROWS``, and as many as the usual limit of
    memory holds; with one, as many as the limit for large stacks holds.
    """
    most = _most_rows(params, len(split(params).validation.y))
    return drawn(params, most, max(most, FEWEST_JUDGES))


def _most_rows(params: KernelParams, n_validation: int) -> int:
    """Return how many training rows fit, with as many validation rows at most."""
    count = len(chosen_kernels(params)) if on_stack(params) else len(dictionary(params))
    asked, limit = params.rows, LARGE_LIMIT_MB if params.rows else MEMORY_LIMIT_MB
    entries = limit * 1e6 / (8 * count)
    alike = int(np.sqrt(entries / 2))  # as many validation rows as training rows
    fit = alike if alike < n_validation else int((np.sqrt(n_validation**2 + 4 * entries) - n_validation) / 2)
    return max(FEWEST_ROWS, min(fit, asked or ROWS))


def is_drawn(params: KernelParams) -> bool:
    """Tell whether only some of the training rows are used."""
    return len(parts(params).train.y) < len(split(params).train.y)


def entries(params: KernelParams) -> float:
    """Return the size of the training stack, kernels x rows x rows, before it is built."""
    return float(foresee(params).n_kernels) * len(parts(params).train.y) ** 2


def foresee(params: KernelParams) -> Forecast:
    """Return what the kernels on training and validation rows will cost, before they are built."""
    cut = parts(params)
    n_rows, n_new = len(cut.train.y), len(cut.validation.y)
    if on_stack(params):
        return stacks.foresee(len(chosen_kernels(params)), n_rows, n_new)
    return dictionary(params).foresee(n_rows, n_new=n_new)


def _build_grams(params: KernelParams, _parts: Split, _kernels: KernelDictionary) -> Grams:
    preparation().wait(_are_usual(_kernels))
    normalise = None if params.normalise == "none" else params.normalise  # never "auto": grams() has settled it
    stack = _kernels.grams(_parts.train, normalise, params.center, memory_limit_mb=LARGE_LIMIT_MB)
    validation = stack.cross(_parts.validation)
    validation.setflags(write=False)
    return Grams(stack, validation)


def _are_usual(kernels: KernelDictionary) -> bool:
    parts = [part for spec in kernels for part in (spec.parts if isinstance(spec, Interaction) else (spec,))]
    return all(type(part) in USUAL for part in parts)


def are_usual(params: KernelParams) -> bool:
    """Tell whether the kernels are of the kinds that are compiled first. Raises ``MKLError``."""
    return not on_stack(params) and _are_usual(dictionary(params))


@st.cache_resource(max_entries=1, show_spinner=False)
def budget() -> Budget:
    """Return the server's room for stacks; each is the same object for everyone who asks."""
    return Budget(SHARE * machine.memory_bytes())


@st.cache_resource(max_entries=1, show_spinner=False)
def large_place() -> LargePlace:
    """Return the server's one place for a large stack."""
    return LargePlace()


def grams(params: PathParams) -> Grams:
    """Return the Gram matrices for these parameters. Raises ``MKLError``."""
    cost, cut, owner = foresee(params), parts(params), memory().me
    if on_stack(params):
        stack, named = chosen_stack(params), (params.part(DataParams), params.edited, len(cut.train.y))
        return budget().made(named, cost.bytes, turns.slow("Cutting the stack")(lambda: _cut_grams(cut, stack)), owner)
    settled, kernels = replace(params.part(KernelParams), normalise=normalisation(params)), dictionary(params)
    key = settled, len(cut.train.y)
    make = turns.slow("Building the kernels")(lambda: _build_grams(settled, cut, kernels))
    if cost.megabytes > MEMORY_LIMIT_MB:
        return large_place().made(key, owner, make)
    return budget().made(key, cost.bytes, make, owner if params.is_upload else None)


def _cut_grams(cut: Split, stack: GramStack) -> Grams:
    validation = stacks.block_of(stack, cut.validation, cut.train)
    validation.setflags(write=False)
    return Grams(stack.take(stacks.rows_of(cut.train)), validation)


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
