"""What the answer on approximated kernels proves for the kernels themselves: one exact pass, and no Gram matrix stored.

The dual of the approximated problem is feasible for the exact one, whose feasible set does not depend on the kernels.
Its forms a'K_m a with the exact kernels give a lower bound, and the weights with the same coefficients give an upper
one:

    dual = Lin(s a) - price(s^2 a'K_m a) at the best multiple s  <=  optimum  <=  C sum_i V(f_i + b, y_i) + regulariser

The pass costs what computing every kernel once between all rows and the support rows costs: O(n n_support M).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, Indices, one_blas_thread
from mklcore.errors import ParameterError
from mklcore.kernels.features import FeatureMap
from mklcore.kernels.functions import own_values
from mklcore.kernels.maps import KernelMap, as_rows, standardise_rows
from mklcore.losses.intercepts import best_intercept, total_loss
from mklcore.solvers.bound import dual_bound

_VALUES = 8_000_000  # kernel values held at a time


class Whole(NamedTuple):
    """Primal and dual value for the exact kernels, summed over one-vs-rest problems."""

    primal: float
    dual: float

    @property
    def relative_gap(self) -> float:
        """The distance between the two as a share of the primal value; large where the approximation is coarse."""
        return (self.primal - self.dual) / max(abs(self.primal), 1e-300)


def whole_certificate(model: Any, X: Any, y: Any) -> Whole:
    """The bounds that a fitted lp-norm model with ``approximation`` gives to the problem of the exact kernels, at its
    scales.

    ``X`` (n, d) and ``y`` (n,) are the rows it was fitted on, in their order. ParameterError for other models, for
    other rows and for centred kernels, whose exact means the pass does not know. Source: weak duality; Kloft et al.
    (2011), equation (17).
    """
    transform = getattr(model, "_map", None)
    if not isinstance(transform, FeatureMap) or not hasattr(model, "penalty_in_use"):
        raise ParameterError(
            "The pass over exact kernels belongs to an lp-norm model fitted with approximation=Nystroem()."
        )
    if transform.center:
        raise ParameterError("The means of centred kernels are approximated, too: fit with center=False for this pass.")
    rows = as_rows(X, transform.rows.shape[1])
    if len(rows) != model.n_train_:
        raise ParameterError(f"The model was fitted on {model.n_train_} rows; got {len(rows)}. Pass the training rows.")
    rows = standardise_rows(rows, transform.column_means, transform.column_scales)
    weights, duals = np.atleast_2d(model.weights_), np.atleast_2d(model.dual_coef_)
    proofs, intercepts = np.atleast_2d(model.dual_point_), np.atleast_1d(model.intercept_)
    targets = _targets(model, y, len(duals))
    with one_blas_thread():
        G = exact_products(transform, rows, np.vstack([duals, proofs]))
    primal = dual = 0.0
    w = getattr(model, "sample_weight_", None)
    loss, penalty = model.loss_in_use, model.penalty_in_use
    kept: Any = slice(None) if w is None else np.flatnonzero(w)
    for k, target in enumerate(targets):
        C = model.C if w is None else model.C * w[kept]
        Q, f = np.maximum(G[:, :, k] @ duals[k], 0.0), (weights[k] @ G[:, :, k])[kept]
        b = best_intercept(loss, f, target[kept], C) if model.fit_intercept else float(intercepts[k])
        primal += total_loss(loss, f, b, target[kept], C) + penalty.regulariser(weights[k] * np.sqrt(Q))
        forms = np.maximum(G[:, :, k + len(duals)] @ proofs[k], 0.0)
        dual += max(
            dual_bound(loss, penalty, a[kept], q, target[kept], C).value for a, q in ((duals[k], Q), (proofs[k], forms))
        )
    return Whole(float(primal), float(dual))


def exact_products(transform: FeatureMap, rows: Array, duals: Array) -> Array:
    """K_m a for exact kernels at the scales of ``transform`` and every a of ``duals`` (T, n), as (M, n, T).

    ``rows`` (n, d) standardised. Rows where all duals are zero are not compared with.
    """
    support: Indices = np.flatnonzero(duals.any(axis=0))
    M, near = len(transform.specs), rows[support]
    factors = np.broadcast_to(transform.scales[:, None] ** -0.5, (M, support.size))
    if transform.normalise == "spherical":
        own = np.array([own_values(spec, near) for spec in transform.specs])
        factors = np.where(own > 0, 1.0 / np.sqrt(np.where(own > 0, own, 1.0)), 0.0)
    exact = KernelMap(
        transform.specs, near, transform.column_means, transform.column_scales, transform.scales, np.array(factors),
        np.zeros((M, support.size)), np.zeros(M), np.arange(support.size), transform.normalise,
    )  # fmt: skip
    out, chosen = np.empty((M, len(rows), len(duals))), np.ascontiguousarray(duals[:, support].T)
    step = max(1, _VALUES // max(1, M * support.size))
    for top in range(0, len(rows), step):
        part = slice(top, top + step)
        out[:, part] = exact.cross_standardised(rows[part]) @ chosen
    return out


def _targets(model: Any, y: Any, count: int) -> list[Array]:
    """The signed target of every problem."""
    given = np.asarray(y)
    if not hasattr(model, "classes_"):
        return [given.astype(np.float64)]
    positive = model.classes_[1:] if count == 1 else model.classes_
    return [np.where(given == label, 1.0, -1.0) for label in positive]
