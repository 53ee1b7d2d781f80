"""The dictionary of kernels that the parameters ask for, and its Gram matrices on the training
rows.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mklcore.data.column_groups import read_numbers
from mklcore.data.dataset import Dataset, Groups, Split
from mklcore.data.samples import SAMPLES
from mklcore.errors import DataError, KernelError
from mklcore.kernels import stacks
from mklcore.kernels.dictionary import MOST_COLUMNS, KernelDictionary, Unit, units
from mklcore.kernels.dictionary_text import Entry, read_entries
from mklcore.kernels.functions import KernelSpec
from mklcore.kernels.grams import Forecast, GramStack
from mklcore.kernels.interactions import interacting
from mklcore.kernels.recipes import Recipe
from mklcore.kernels.sequences import SequenceKernel, Words, on_sequence
from pages.shared.session.parameters import GRAMS, METHODS, SPLIT, Params
from pages.shared.session.state import ON_STACK, edited_text
from pages.shared.values.tables import drawn, on_stack, split, stack_file, table
from pages.shared.work import work
from pages.shared.work.machine import memory_bytes

PAIRED = ("column", "category")  # kinds of columns whose products are looked at
# columns whose pairs are looked at unasked, and pairs that get kernels
MOST_PAIRED = 40
MOST_PAIRS = 8


def dictionary(params: Params) -> KernelDictionary:
    """Return the kernels the parameters ask for. Raises ``KernelError`` or ``ParameterError``."""
    if on_stack(params):
        raise KernelError(
            "The upload is a ready kernel stack: it has no columns to build kernels on."
        )
    # one that is kept in another session is refused, although its kernels may be in the cache
    edited_text(params)
    return work.now(("dictionary", params.of(*GRAMS)), lambda: _dictionary(params))


def _dictionary(params: Params) -> KernelDictionary:
    specs = tuple(entry.spec for entry in entries(params) if entry.on)
    if not specs:
        raise KernelError("The dictionary is empty. Switch on at least one kind of kernel.")
    return KernelDictionary(specs, feature_names=table(params).feature_names)


def entries(params: Params) -> tuple[Entry, ...]:
    """Return the dictionary as a table: the one edited by hand, else the one suggested or built.

    ``MKLError``.
    """
    data = table(params)
    text = edited_text(params)
    if text.startswith(ON_STACK):
        raise KernelError(
            "This dictionary chooses kernels of a stack, but this table has columns. Use "
            "the builders."
        )
    if not text:
        return tuple(map(Entry, built(params)))
    return tuple(
        _called(entry, data) for entry in read_entries(text, data.n_features, named_columns(params))
    )


def _called(entry: Entry, data: Dataset) -> Entry:
    """Return a kernel on a sequence called by the name of that sequence, and any other as it is."""
    spec = entry.spec
    if not isinstance(spec, SequenceKernel) or spec.place >= len(data.strings):
        return entry
    return Entry(replace(spec, label=data.strings[spec.place][0]), entry.on)


def built(params: Params) -> tuple[KernelSpec, ...]:
    """Return what the table suggests, or what the builders make of it."""
    data = table(params)
    if params.recommended:
        return recommended(params).specs
    strings = [
        spec
        for s in range(len(data.sequences))
        for spec in on_sequence(data, s, *of_strings(params))
    ]
    texts = [Words(s, label=name) for s, (name, _) in enumerate(data.texts, len(data.sequences))]
    return (*Recipe.of(params).specs(data.n_features, data.groups), *strings, *texts)


def of_strings(params: Params) -> tuple[int, int, int]:
    """Return the letters of words, the degree and the shift of kernels on sequences."""
    return params.spectrum, params.places, params.shift


def recommended(params: Params) -> KernelDictionary:
    """Return the dictionary that the table in use suggests."""
    data = table(params)
    k, degree, shift = of_strings(params)
    sets = pairs(params)

    def make() -> KernelDictionary:
        most = most_columns(params)
        curved = params.curved
        whole = params.together
        if sets:
            return KernelDictionary.interactions(
                data, candidates=sets, curved=curved, most_columns=most
            )
        return KernelDictionary.recommended(
            data, whole=whole, curved=curved, most_columns=most, k=k, degree=degree, shift=shift
        )

    return work.now(("recommended", params.of(*GRAMS), sets), make)


def pairs(params: Params) -> tuple[tuple[str, ...], ...]:
    """Return the pairs of columns that act together on the training rows, by name; () where none
    are wanted, or where kernels see groups, bands or sequences.
    """
    is_asked = params.pairs and params.curved and len(table(params).columns) <= MOST_PAIRED
    if not is_asked or any(unit.kind not in PAIRED for unit in made_of(params)):
        return ()
    find = lambda: interacting(split(params).train, 2, MOST_PAIRS)  # noqa: E731
    return work.now(("pairs", params.of(*SPLIT)), find)


def most_columns(params: Params) -> int:
    """Return up to how many columns kernels look at them one by one."""
    return 10**6 if params.data in SAMPLES and SAMPLES[params.data].by_column else MOST_COLUMNS


def made_of(params: Params) -> tuple[Unit, ...]:
    """Return what the table in use is made of: what the kernels of a recommended dictionary look
    at.
    """
    data = table(params)
    return work.now(("units", params.of(*SPLIT)), lambda: units(data, most_columns(params)))


def named_columns(params: Params) -> Groups:
    """Return the sets of columns that have a name: groups, columns of the table, and what else
    kernels are called by.
    """
    data = table(params)

    several = [(name, members) for name, members in data.columns if len(members) > 1]
    found = dict(
        [
            *((unit.name, unit.columns) for unit in made_of(params)),
            *several,
            *data.groups,
        ]
    )
    return tuple(found.items())


def normalisation(params: Params) -> str:
    """Return how kernels are normalised; "auto" is what the algorithm's estimators do by
    themselves.
    """
    if params.normalise != "auto":
        return params.normalise
    return METHODS[params.algorithm].normalise or "none"


# Gram matrices, within the server's memory


MEMORY_LIMIT_MB = min(800.0, work.SHARE * memory_bytes() / 2e6)
ROWS = 2000  # training rows that are used unasked
FEWEST_ROWS = 40
FEWEST_JUDGES = 300


def parts(params: Params) -> Split:
    """Return the split on whose training rows the kernels are built: drawn where all would be too
    many.

    Test rows stay as they are. At most as many rows as were asked for, ``ROWS`` otherwise, and as
    the memory holds.
    """
    count = len(chosen_kernels(params)) if on_stack(params) else len(dictionary(params))
    fit = int(np.sqrt(0.95 * MEMORY_LIMIT_MB * 1e6 / (8 * count)))
    most = max(FEWEST_ROWS, min(fit, params.rows or ROWS))
    return drawn(params, most, max(most, FEWEST_JUDGES))


def foresee(params: Params) -> Forecast:
    """Return what the kernels on the training rows will cost, before they are built."""
    n_rows = len(parts(params).train.y)
    if on_stack(params):
        return stacks.foresee(len(chosen_kernels(params)), n_rows)
    return dictionary(params).foresee(n_rows)


def grams(params: Params) -> GramStack:
    """Return the Gram matrices on the training rows.

    Raises ``MKLError``, until they are built as well.
    """
    train = parts(params).train
    if on_stack(params):
        stack = chosen_stack(params)
        key = "cut", params.of(*SPLIT), params.edited, train.n_samples
        return work.value(
            key, lambda progress: stack.take(stacks.rows_of(train)), title="Cutting the stack"
        )
    settled, kernels = (
        replace(params.of(*GRAMS), normalise=normalisation(params)),
        dictionary(params),
    )

    def build(progress: Callable[..., None]) -> GramStack:
        normalise = None if settled.normalise == "none" else settled.normalise  # never "auto"
        return kernels.grams(train, normalise, settled.center, memory_limit_mb=MEMORY_LIMIT_MB)

    seconds = foresee(params).seconds
    return work.value(
        ("kernels", settled, train.n_samples), build, title="Building the kernels", seconds=seconds
    )


def chosen_kernels(params: Params) -> tuple[int, ...]:
    """Return which kernels of an uploaded stack are switched on. Raises ``KernelError``."""
    count = stack_file(params).stack.n_kernels
    text = edited_text(params)
    if not text.startswith(ON_STACK):
        return tuple(range(count))
    try:
        return read_numbers(text.removeprefix(ON_STACK), count, "kernel")
    except DataError as error:
        raise KernelError(str(error)) from None


def chosen_stack(params: Params) -> GramStack:
    """Return the kernels of an uploaded stack that are switched on, on all its rows."""
    stack = stack_file(params).stack
    chosen = chosen_kernels(params)
    return stack if len(chosen) == stack.n_kernels else stacks.subset(stack, chosen)


def test_rows(params: Params) -> np.ndarray:
    """Return what a model takes for the test rows: rows of the table, or their block (M, n_test, n)
    of a stack.
    """
    cut = parts(params)
    if not on_stack(params):
        return cut.test.table
    return stacks.block_of(chosen_stack(params), cut.test, cut.train)
