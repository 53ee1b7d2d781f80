"""Derive the dictionary of kernels from the parameters: by the builders, or as it was edited by hand."""

from mklcore.errors import KernelError
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import KernelSpec
from mklcore.kernels.notation import Entry, read_entries
from mklcore.kernels.recipes import Recipe
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
    """Return the dictionary as a table: the one edited by hand, else what the builders make. ``MKLError`` in words."""
    data, text = table(params), edited_text(params)
    if text.startswith(ON_STACK):
        raise KernelError("This dictionary chooses kernels of a stack, but this table has columns. Use the builders.")
    return read_entries(text, data.n_features, data.groups) if text else tuple(map(Entry, built(params)))


def built(params: Params) -> tuple[KernelSpec, ...]:
    """Return what the builders make of the table in use."""
    data = table(params)
    return Recipe.of(params).specs(data.n_features, data.groups)


def normalisation(params: Params) -> str:
    """Return how kernels are normalised; "auto" is what the algorithm's estimators do by themselves."""
    if params.normalise != "auto":
        return params.normalise
    return getattr(METHODS[params.algorithm].classifier, "default_normalise", None) or "none"
