"""Derive the dictionary of kernels from the parameters: as the table suggests, by the builders, or edited by hand."""

from mklcore.data.dataset import Groups
from mklcore.data.samples import SAMPLES
from mklcore.errors import KernelError
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import KernelSpec
from mklcore.kernels.notation import Entry, read_entries
from mklcore.kernels.recipes import Recipe
from mklcore.kernels.units import MOST_COLUMNS, Unit, units
from pages._parts.derive.shelves import shelf
from pages._parts.derive.tables import on_stack, table
from pages._parts.params.parameters import METHODS, Params
from pages._parts.session.uploads import ON_STACK, edited_text


def dictionary(params: Params) -> KernelDictionary:
    """Return the kernels the parameters ask for. Raises ``KernelError`` or ``ParameterError`` in words."""
    if on_stack(params):
        raise KernelError("The upload is a ready kernel stack: it has no columns to build kernels on.")
    specs = tuple(entry.spec for entry in entries(params) if entry.on)
    if not specs:
        raise KernelError("The dictionary is empty. Switch on at least one kind of kernel.")
    return KernelDictionary(specs, feature_names=table(params).feature_names)


def entries(params: Params) -> tuple[Entry, ...]:
    """Return the dictionary as a table: the one edited by hand, else the one suggested or built. ``MKLError`` in words."""
    data, text = table(params), edited_text(params)
    if text.startswith(ON_STACK):
        raise KernelError("This dictionary chooses kernels of a stack, but this table has columns. Use the builders.")
    return read_entries(text, data.n_features, named_columns(params)) if text else tuple(map(Entry, built(params)))


def built(params: Params) -> tuple[KernelSpec, ...]:
    """Return what the table suggests, or what the builders make of it."""
    data = table(params)
    if params.recommended:
        return recommended(params).specs
    return Recipe.of(params).specs(data.n_features, data.groups)


def recommended(params: Params) -> KernelDictionary:
    """Return the dictionary that the table in use suggests."""
    data = table(params)
    make = lambda: KernelDictionary.recommended(data, whole=params.together, most_columns=most_columns(params))  # noqa: E731
    return shelf(params).made(("recommended", data.fingerprint, params.together), make)


def most_columns(params: Params) -> int:
    """Return up to how many columns kernels look at them one by one."""
    return 10**6 if params.data in SAMPLES and SAMPLES[params.data].by_column else MOST_COLUMNS


def made_of(params: Params) -> tuple[Unit, ...]:
    """Return what the table in use is made of: what the kernels of a recommended dictionary look at."""
    data = table(params)
    return shelf(params).made(("units", data.fingerprint), lambda: units(data, most_columns(params)))


def named_columns(params: Params) -> Groups:
    """Return the sets of columns that have a name: groups, columns of the table, and what else kernels are called by."""
    data = table(params)

    several = [(name, members) for name, members in data.columns if len(members) > 1]
    found = dict([*((unit.name, unit.columns) for unit in made_of(params)), *several, *data.groups])
    return tuple(found.items())


def normalisation(params: Params) -> str:
    """Return how kernels are normalised; "auto" is what the algorithm's estimators do by themselves."""
    if params.normalise != "auto":
        return params.normalise
    return getattr(METHODS[params.algorithm].classifier, "default_normalise", None) or "none"
