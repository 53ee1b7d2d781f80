"""The kernels inside a fitted model: what each says, which are in use, and what they are called."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pandas import DataFrame

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.estimators.shapley import coefficients_of
from mklcore.kernels.blends import Blend
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.features import FeatureMap
from mklcore.kernels.functions import KernelSpec


def unblended(model: Any) -> Any:
    """The same fitted model with every kernel of its blend as a kernel of its own, at weight one.

    The shares of a blend are scales of its kernels, and its duals theirs; of an approximated model
    the kernels are those with the landmarks. A model without a blend comes back as it is.
    """
    found = getattr(model, "_map", None)
    if found is None or [spec.family for spec in found.specs] != [Blend.family]:
        return model
    (blend,) = found.specs
    plain = found.landmarks if isinstance(found, FeatureMap) else found
    shares = np.asarray(blend.shares)
    other = copy.copy(model)
    other.__dict__.pop("feature_coef_", None)
    names = getattr(model, "table_columns_", None)
    other.kernel_names_ = KernelDictionary(blend.parts, feature_names=names).names
    shape = shares.size, len(plain.rows)
    other._map = replace(
        plain,
        specs=blend.parts,
        scales=1.0 / shares,
        factors=np.broadcast_to(1.0, shape),
        row_means=np.broadcast_to(0.0, shape),
        grand_means=np.zeros(shares.size),
        kept=np.arange(len(plain.rows)),
        normalise=None,
        center=False,
        weights=None,
    )
    duals = coefficients_of(model, 0)
    other.n_train_ = len(plain.rows)
    if np.ndim(model.weights_) == 2:
        other.weights_ = np.ones((len(model.weights_), shares.size))
        other.dual_coef_ = duals.T
    else:
        other.weights_ = np.ones(shares.size)
        other.dual_coef_ = duals[:, 0] if np.ndim(model.dual_coef_) == 1 else duals
    return other


def problem_names(model: Any) -> tuple[str, ...]:
    """What the outputs of a model with several are called: one class each, or a pair of classes; ()
    for one output.
    """
    classes = [str(name) for name in getattr(model, "classes_", ())]
    if np.size(model.intercept_) < 2:
        return ()
    pairs = getattr(model, "pairs_", None)
    if pairs is not None:
        return tuple(f"{classes[second]} against {classes[first]}" for first, second in pairs)
    return tuple(classes) or tuple(f"target {k + 1}" for k in range(len(model.intercept_)))


def weights_by_class(model: Any) -> tuple[tuple[str, ...], Array] | None:
    """Names (T,) and kernel weights (T, M) of the problems behind a model, or None where one set of
    weights serves all.
    """
    weights = np.asarray(model.weights_, dtype=float)
    return None if weights.ndim == 1 else (problem_names(model), weights)


def kernels_in_use(model: Any) -> list[int]:
    """The kernels that have a weight, for any output."""
    weights = np.atleast_2d(np.asarray(model.weights_, dtype=float))
    used: list[int] = np.flatnonzero((weights > 0).any(axis=0)).tolist()
    return used


def specs_of(model: Any) -> tuple[KernelSpec, ...]:
    """The kernels of a fitted model, with settled columns and widths; ParameterError for a model of
    a ready stack.
    """
    specs: tuple[KernelSpec, ...] = map_of(model).specs
    return specs


def map_of(model: Any) -> Any:
    transform = getattr(model, "_map", None)
    if transform is None:
        raise ParameterError(
            "This model was fitted on a ready kernel stack, so it knows no columns. Fit "
            "it on a table with a KernelDictionary."
        )
    return transform


def outputs_of(model: Any, rows: Array, kernels: Sequence[int]) -> Array:
    """(m, n, K): what some kernels say at ``rows``; (0, n, 1) of no kernel."""
    if not kernels:
        return np.zeros((0, len(rows), 1))
    names = getattr(model, "feature_names_in_", None)
    given = rows if names is None else DataFrame(rows, columns=names)
    return np.asarray(model.contributions(given, kernels), dtype=float).reshape(
        len(kernels), len(rows), -1
    )


def one_output(said: Array, output: int) -> Array:
    """One of the outputs of a model, of decisions (n, K), or its only one."""
    column: Array = said[:, min(output, said.shape[1] - 1)]
    return column
