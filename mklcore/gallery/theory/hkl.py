"""Two conditions on the covariance of the features under which HKL finds the right hull.

W is the hull of the truth (or of an estimate), Sigma the covariance of the features, and beta the
coefficients on W:

    r_w = ( sum_{v in A(w)} d_v / ||beta_D(v)|| ) beta_w,     s = Sigma_WW^{-1} r_W

    necessary (Proposition 5)    max_{t in sources of W^c} ||Sigma_tW s||^2 / d_t^2  <=  1
    sufficient (Proposition 4)   max_{t in sources of W^c} sum_{w in D(t)} ||Sigma_wW s||^2 / (sum_{v in A(w) and D(t)}
                                 d_v)^2  <  1

The paper prints r = Diag(d_v / ||beta_D(v)||) beta, without the sum over ancestors; that is the
gradient of the norm only where the graph has no edges. With g = Phi_W s (centred), ||Sigma_wW s||^2
= g'K_w g / n^2, so the sum over exponentially many w is the same factorised sum that the
certificate uses.

Source: Bach (2008), Propositions 4 and 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.hkl.design import Design
from mklcore.hkl.graph import Ancestry, Hull, Node, touched

_SINGULAR = 1e-10


class HKLConsistency(NamedTuple):
    """The maxima of both conditions, the sources where they are reached, and the ``verdict``.

    A source is a tuple of levels; it is None where the hull is the whole grid.
    """

    necessary: float
    sufficient: float
    necessary_at: tuple[int, ...] | None
    sufficient_at: tuple[int, ...] | None
    verdict: str


def hkl_consistency(
    design: Design,
    hull: Sequence[Sequence[int]],
    coefficients: Sequence[float] | Array,
    *,
    depth_weight: float | None = None,
    root_weight: float = 0.1,
) -> HKLConsistency:
    """Evaluate both conditions for recovering the hull W, with the covariance of these rows.

    This is a diagnostic. The propositions are about the true hull, its coefficients and the population, as n grows. For
    an estimate on few rows they tell whether recovery is plausible; they prove neither that it
    happens nor that it cannot.

    Parameters
    ----------
    design : Design
        The grid over the rows, of a basis of columns; covariances are those of its rows.
    hull : sequence of tuple
        The nodes of W as p levels each, e.g. ``model.hull_``.
    coefficients : sequence of ndarray
        (m,) beta_w of every node, in the same order, e.g. ``model.beta_``.
    depth_weight : float or None, default None
        Base of the weight ``depth_weight ** depth`` of a node, >= 1.
    root_weight : float, default 0.1
        Weight of the root of the grid, > 0.

    Returns
    -------
    HKLConsistency
        Both conditions with their values.
    """
    nodes = [touched(full) for full in hull]
    beta = np.asarray(coefficients, dtype=float)
    _check(design, nodes, beta)
    weights = design.order.weights(depth_weight, root_weight)
    slope = norm_slope(Ancestry(design.order, nodes), beta, weights.of(nodes))
    features = design.columns_of(nodes)
    features = features - features.mean(axis=0)
    # The constant root has no covariance; its norm term stays in the slope.
    moving = features.std(axis=0) > 0
    part = features[:, moving]
    covariance = part.T @ part / design.n
    spectrum = np.linalg.eigvalsh(covariance) if moving.any() else np.ones(1)
    if spectrum[0] < _SINGULAR * spectrum[-1]:
        raise ParameterError(
            "The features of the hull are collinear on these rows (eigenvalues from "
            f"{spectrum[0]:.2g} to {spectrum[-1]:.2g}), so the conditions are not defined. "
            "Use more rows than nodes, or a smaller hull."
        )
    g = np.zeros(design.n)
    if moving.any():
        g = part @ np.linalg.solve(covariance, slope[moving])
    outside = sorted(Hull(design.order, nodes).sources)
    if not outside:
        verdict = "The hull is the whole grid: there is nothing left to exclude."
        return HKLConsistency(0.0, 0.0, None, None, verdict)
    single = design.quadratic_forms(outside, g / design.n) / weights.of(outside) ** 2
    summed = design.descendant_sums(outside, g / design.n, weights)
    k = int(np.argmax(single))
    j = int(np.argmax(summed))
    necessary = float(single[k])
    sufficient = float(summed[j])
    verdict = _verdict(design, necessary, sufficient, outside[k])
    at = design.order.key
    return HKLConsistency(necessary, sufficient, at(outside[k]), at(outside[j]), verdict)


def norm_slope(ancestry: Ancestry, beta: Array, d: Array) -> Array:
    """r (m,): the gradient of Omega(beta) = sum_v d_v ||beta_D(v)|| on a hull of nodes of rank one."""
    return (d / np.sqrt(ancestry.down(beta**2))) @ ancestry.matrix() * beta


def _check(design: Design, nodes: Sequence[Node], beta: Array) -> None:
    if not design.all_columns:
        raise ParameterError(
            "The conditions need features of finite dimension: use a polynomial basis."
        )
    if len(nodes) == 0 or beta.shape != (len(nodes),):
        raise ParameterError(
            f"One coefficient per node is needed; got {len(nodes)} nodes and coefficients "
            f"{beta.shape}."
        )
    if len(Hull(design.order, nodes)) != len(set(nodes)):
        raise ParameterError(
            "The nodes are no hull: every parent of a node must be among them. Add the "
            "missing ones."
        )
    squares = Ancestry(design.order, nodes).down(beta**2)
    if not np.all(np.isfinite(beta)) or np.any(squares <= 0):
        raise ParameterError(
            "Every node of the hull needs a coefficient other than zero at it or below "
            "it; drop the nodes that have none."
        )


def _verdict(design: Design, necessary: float, sufficient: float, at: Node) -> str:
    if necessary > 1:
        return (
            f"The necessary condition fails on these rows: {design.name(at)} looks too "
            f"much like the hull ({necessary:.3g}, at most 1 is needed). A diagnostic, not "
            "a proof: were this hull the truth and the population like these rows, more "
            "rows would not recover it. A larger depth_weight can help."
        )
    if sufficient < 1:
        return (
            f"The sufficient condition holds on these rows ({sufficient:.3g} < 1). A "
            "diagnostic, not a proof: were this hull the truth and the population like "
            "these rows, it would be recovered as n grows."
        )
    return (
        f"Undecided on these rows: the necessary condition holds ({necessary:.3g} <= 1), "
        f"the sufficient one does not ({sufficient:.3g}, less than 1 is needed)."
    )
