"""From parameters to the dictionary of kernels: the builders, or what was edited by hand."""

import numpy as np

from mklcore.errors import KernelError
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import RBF, KernelSpec, Laplacian, Linear, Polynomial
from mklcore.kernels.notation import Entry, read_entries
from mklcore.kernels.spectra import BAND_KERNELS
from pages._parts.derive.tables import on_stack, table
from pages._parts.derive.uploads import ON_STACK, edited_text
from pages._parts.params.parameters import METHODS, Params

AUTO_FEATURES = 40


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


def built(params: Params) -> list[KernelSpec]:
    """Return what the builders make of the table in use."""
    data = table(params)
    multiples = width_multiples(params.widths)
    specs: list[KernelSpec] = [RBF(width, relative=True) for width in multiples]
    specs += [Laplacian(width, relative=True) for width in width_multiples(params.laplacians)]
    if params.linear:
        specs.append(Linear())
    if params.degree:
        specs.append(Polynomial(params.degree))
    each = _each(params.each, data.n_features)
    if each is not None:
        specs += KernelDictionary.per_feature(each, data.n_features)
    if params.groups and data.groups:
        specs += KernelDictionary.per_group(_kinds(params.group_kernels), data.groups)
    if params.bands:
        count = min(params.bands, data.n_features)
        specs += KernelDictionary.bands(count, _kinds(params.band_kernels), data.n_features)
    if params.subspaces:
        size = min(params.subspace_size, data.n_features)
        kinds = _kinds(params.subspace_kernel)
        specs += KernelDictionary.random_subspaces(kinds, size, params.subspaces, params.subspace_seed, data.n_features)
    return specs


def _kinds(choice: str) -> tuple[KernelSpec, ...]:
    """Return the kernels a builder puts on each of its choices of columns."""
    rbf = RBF(1.0, relative=True)
    return {
        "linear": (Linear(),),
        "rbf": (rbf,),
        "laplacian": (Laplacian(1.0, relative=True),),
        "both": (Linear(), rbf),
        "spectral": BAND_KERNELS,
    }[choice]


def width_multiples(count: int) -> list[float]:
    """Return ``count`` multiples of the median distance from 1/4 to 4, evenly spaced on a log scale."""
    if count <= 1:
        return [1.0] * count
    return [float(f"{m:.3g}") for m in np.geomspace(0.25, 4.0, count)]


def _each(choice: str, n_features: int) -> KernelSpec | None:
    if choice == "none" or (choice == "auto" and n_features > AUTO_FEATURES):
        return None
    return _kinds("linear" if choice == "auto" else choice)[0]


def normalisation(params: Params) -> str:
    """Return how kernels are normalised; "auto" is what the algorithm's estimators do by themselves."""
    if params.normalise != "auto":
        return params.normalise
    return getattr(METHODS[params.algorithm].classifier, "default_normalise", None) or "none"
