"""Checks of a model that was read from a file: what does not fit together is refused before anything is computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas

from mklcore.errors import DataError
from mklcore.kernels.finishing import NORMALISATIONS
from mklcore.kernels.functions import KernelSpec
from mklcore.kernels.maps import KernelMap
from mklcore.kernels.operators.factored import FeatureMap
from mklcore.solvers.hkl.design import Design
from mklcore.solvers.hkl.levels import Table
from mklcore.solvers.hkl.listed import ListedSpace

PROVES = ("training_target_", "row_fingerprints_", "sample_weight_", "dual_point_")


def numbers(value: Any, ndim: int, what: str) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or array.ndim != ndim or not np.isfinite(array).all():
        raise DataError(f"The {what} in the model file are not finite numbers in {ndim} dimension(s).")
    return np.ascontiguousarray(array, dtype=np.float64)


def check_map(found: KernelMap) -> None:
    M = len(found.specs)
    n, d = numbers(found.rows, 2, "training rows").shape
    shapes = {
        "column_means": (d,), "column_scales": (d,), "scales": (M,), "factors": (M, n), "row_means": (M, n),
        "grand_means": (M,),
    }  # fmt: skip
    for name, shape in shapes.items():
        if numbers(getattr(found, name), len(shape), name).shape != shape:
            raise DataError(f"{name} in the model file does not fit {M} kernels, {n} rows and {d} columns.")
    if found.normalise not in NORMALISATIONS or not isinstance(found.center, bool):
        raise DataError(f"The model file asks for the normalisation {str(found.normalise)[:60]!r}, which is unknown.")
    if found.kept.dtype.kind not in "iu" or found.kept.ndim != 1 or not ((found.kept >= 0) & (found.kept < n)).all():
        raise DataError("The model file refers to training rows that are not in it.")
    if not (found.scales > 0).all() or not (found.column_scales > 0).all():
        raise DataError("Scales in the model file must be above 0.")
    for spec in _all_specs(found.specs):
        if not isinstance(spec.features, tuple) or max(spec.features) >= d or spec.is_relative:
            raise DataError(f"A kernel of the model file does not fit its {d} columns: {spec!r}")


def _all_specs(specs: Sequence[KernelSpec]) -> Iterator[KernelSpec]:
    """The kernels and those they are made of."""
    for spec in specs:
        yield spec
        yield from _all_specs(getattr(spec, "parts", ()))


def check_features(found: FeatureMap) -> None:
    """Numbers of a map to features that have to agree before anything is computed from them."""
    M = len(found.specs)
    m, D = numbers(found.roots, 2, "roots").shape
    ends, places = np.asarray(found.ends), np.asarray(found.places)
    whole = isinstance(found.landmarks, KernelMap) and m == len(found.landmarks.rows) and found.landmarks.kept.size == m
    spans = ends.dtype.kind in "iu" and places.dtype.kind in "iu" and ends.shape == (M + 1,) and places.shape == (M,)
    if not (whole and spans and ends[0] == 0 and ends[-1] == D and np.array_equal(places, ends[:-1])):
        raise DataError("The features in the model file do not fit their landmarks.")
    if (np.diff(ends) < 0).any() or numbers(found.means, 1, "means").size != D or not (found.scales > 0).all():
        raise DataError("The features in the model file do not fit their kernels.")
    if found.scales.shape != (M,) or found.normalise not in NORMALISATIONS or not isinstance(found.center, bool):
        raise DataError("The scales of the features in the model file do not fit their kernels.")


def check_fitted(estimator: Any) -> None:
    """Sizes that have to agree before anything is computed from them."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    for name in PROVES:  # version 1 lacks them
        if not hasattr(estimator, name):
            setattr(estimator, name, None)
    M, n = len(estimator.kernel_names_), estimator.n_train_
    if not all(isinstance(name, str) for name in (*estimator.kernel_names_, *estimator.kernel_families_)):
        raise DataError("The names of the kernels in the model file are no texts.")
    for name in ("weights_", "dual_coef_", "dual_point_", "intercept_", "offset_", "refit_coef_", "refit_intercept_"):
        value = getattr(estimator, name, None)
        if value is not None and not np.isfinite(np.asarray(value, dtype=np.float64)).all():
            raise DataError(f"{name} in the model file holds values that are not finite.")
    for name in ("training_target_", "row_fingerprints_", "sample_weight_"):
        value = getattr(estimator, name)
        if value is not None and (np.shape(value)[:1] != (n,) or np.asarray(value).dtype.kind not in "fiu"):
            raise DataError(f"{name} in the model file does not hold numbers for each of {n} training rows.")
    weights, dual = np.asarray(estimator.weights_), np.asarray(estimator.dual_coef_)
    if weights.ndim not in (1, 2) or weights.shape[-1] != M or (weights < 0).any():
        raise DataError(f"weights_ in the model file does not hold one weight from 0 on for each of {M} kernels.")
    summed = dual.shape == (0,) and isinstance(getattr(estimator, "_map", None), FeatureMap)  # of rows in parts
    if (n not in dual.shape and not summed) or len(estimator.kernel_families_) != M:
        raise DataError(f"dual_coef_ in the model file does not fit {n!r} training rows.")
    found = getattr(estimator, "_map", None)
    if isinstance(found, FeatureMap):
        _check_coefficients(estimator, found, M)
    elif found is not None and (not isinstance(found, KernelMap) or (len(found.specs), found.kept.size) != (M, n)):
        raise DataError("The kernels in the model file do not fit its weights.")
    sigmoids = getattr(estimator, "calibration_", None)
    if sigmoids is not None:
        outputs = 1 if len(estimator.classes_) == 2 else len(estimator.classes_)
        if numbers(sigmoids, 2, "calibration_").shape != (outputs, 2):
            raise DataError(f"calibration_ in the model file does not hold slope and offset of {outputs} outputs.")
    design = getattr(estimator, "design_", None)
    if design is not None and (
        not isinstance(design, (Design, ListedSpace)) or design.n != n or len(estimator._nodes) != M
    ):
        raise DataError("The nodes in the model file do not fit its design.")


def _check_coefficients(estimator: Any, found: FeatureMap, M: int) -> None:
    coefficients = np.asarray(getattr(estimator, "feature_coef_", None), dtype=np.float64)
    if len(found.specs) != M or int(found.ends[-1]) not in coefficients.shape or coefficients.ndim not in (1, 2):
        raise DataError("The features in the model file do not fit its weights.")
    if coefficients.ndim != np.ndim(estimator.dual_coef_) or not np.isfinite(coefficients).all():
        raise DataError("feature_coef_ in the model file does not fit its features.")


def check_prediction(estimator: Any) -> None:
    """One prediction: what does not fit together in a way no check foresees shows here."""
    design, found = getattr(estimator, "design_", None), getattr(estimator, "_map", None)
    if found is not None:
        rows = found.rows[:1] * found.column_scales + found.column_means
    elif isinstance(design, ListedSpace):
        found = design.transform
        blocks = np.zeros((len(design.graph), 1, design.n))
        rows = blocks if found is None else found.rows[:1] * found.column_scales + found.column_means
    elif design is not None and isinstance(design.levels, Table):
        scale = np.where(np.isfinite(design.levels.scale), design.levels.scale, 0.0)
        rows = (design.levels.X[:, 0] * scale + design.levels.mean)[None]
    elif design is not None:
        rows = np.zeros((design.p, design.q + 1, 1, design.n))
    else:
        rows = np.zeros((len(estimator.kernel_names_), 1, estimator.n_train_))
    if (names := getattr(estimator, "feature_names_in_", None)) is not None:
        rows = pandas.DataFrame(rows, columns=names)
    decision = estimator._decisions(rows)
    if decision.shape[0] != 1 or not np.isfinite(decision).all():
        raise DataError("The model in the file does not predict finite numbers.")
    if len(estimator.predict(rows)) != 1:
        raise DataError("The model in the file does not predict one value per row.")
