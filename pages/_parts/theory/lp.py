"""Theory of ℓp-norm MKL: its complexity over p, and its bound on the error beside the error measured."""

from typing import Any

import numpy as np
import streamlit as st

from mklcore import theory
from mklcore.figures import Curve, bound_curves, style
from pages._parts.derive import bounds as derive_bounds
from pages._parts.drawing import charts
from pages._parts.params.parameters import Params
from pages._parts.session import nav
from pages._parts.theory.telling import HEIGHT, picture, speaks, vacuous, what_if

DENSE = (1.0, *(1.0 + np.geomspace(0.005, 31.0, 320)).tolist(), np.inf)


def draw(params: Params, found: theory.LpMeasured | None) -> None:
    """Draw the price of learning the weights over p, and the bound on the error beside the test error."""
    dark, (M, n), R = charts.is_dark(), derive_bounds.sizes(params), derive_bounds.radius(params)
    if M < 2:
        st.info("The bounds compare kernels, and the dictionary holds one. Set M on the left, or add kernels.")
        nav.link("kernels", "Go to Kernels")
        return
    left, right = st.columns(2, gap="medium") if found is not None else (st.container(), st.container())
    price = {even: np.array([theory.lp_rademacher_bound(p, M, n, R, even) for p in DENSE]) for even in (False, True)}
    chosen, other = params.theory_even, not params.theory_even
    curves = [Curve("the bound", price[chosen]), Curve("even rounding" if other else "plain", price[other], "other")]
    left.markdown("**The price of learning the weights**, Rad(p)")
    with left:
        figure = bound_curves(
            DENSE, curves, x_title="p, norm of the weights", y_title="Rademacher complexity", kind="norm", dark=dark
        )
        picture(figure, "theory_price_of_p", HEIGHT)
    if found is not None and derive_bounds.classes(params):
        right.markdown("**The bound on the error** beside the test error")
        with right:
            _error(params, found, dark)
    if what_if(params):
        st.caption(what_if(params))
    if found is not None:
        _words(params, found)


def _bounds(params: Params, found: theory.LpMeasured) -> np.ndarray:
    (M, n), R = derive_bounds.sizes(params), derive_bounds.radius(params)
    shared: dict[str, Any] = {
        "margin": params.theory_margin,
        "R": R,
        "delta": params.theory_delta,
        "conservative": params.theory_even,
        "choices": _choices(found),
    }
    risks = found.margin_risk(params.theory_margin)
    return np.array(
        [
            theory.lp_margin_bound(float(risk), float(p), M, n, B=theory.lp_norm_on_grid(float(B)), **shared)
            for risk, p, B in zip(risks, found.p, found.norms, strict=True)
        ]
    )


def _choices(found: theory.LpMeasured) -> int:
    """Of how many classes, fixed beforehand, a fitted model picks one: every p drawn with every B of the grid."""
    return int(found.p.size * theory.NORM_GRID.size)


def _error(params: Params, found: theory.LpMeasured, dark: bool) -> None:
    error = found.error
    curves = [
        Curve("the bound", _bounds(params, found)),
        Curve("test error", error, "test", np.sqrt(error * (1 - error) / found.y_held_out.size)),
        Curve("margin risk", found.margin_risk(params.theory_margin), "train"),
    ]
    figure = bound_curves(
        found.p, curves, x_title="p, norm of the weights", y_title="share of errors", level=1.0, kind="norm", dark=dark
    )
    picture(figure, "theory_error_of_p", HEIGHT)


def _words(params: Params, found: theory.LpMeasured) -> None:
    spotless = int(np.count_nonzero(found.error == 0))
    if spotless:
        norms = style.counted(spotless, "norm")
        st.caption(f"At {norms} no test row is wrong; a logarithmic scale has no place for that, so no point is drawn.")
    bounds, (M, n), R = _bounds(params, found), derive_bounds.sizes(params), derive_bounds.radius(params)
    best, measured = int(np.argmin(bounds)), int(np.argmin(found.error))
    p, B = float(found.p[best]), theory.lp_norm_on_grid(float(found.norms[best]))
    risk = float(found.margin_risk(params.theory_margin)[best])
    where = (
        f"The bound is smallest at p = {style.number(p)} with {style.number(bounds[best])}; the test error is "
        f"smallest at "
        f"p = {style.number(found.p[measured])} with {100 * found.error[measured]:.1f} %."
    )
    if bounds[best] < 1:
        speaks(where)
        return
    price = 4 * B / params.theory_margin * theory.lp_rademacher_bound(p, M, n, R, params.theory_even)
    needed = theory.lp_rows_needed(
        risk, p, M, lipschitz=1 / params.theory_margin, B=B, R=R, delta=params.theory_delta,
        conservative=params.theory_even, choices=_choices(found),
    )  # fmt: skip
    reason = f"At no p is it below 1, and a share of errors never exceeds 1. {where}"
    cause = (
        f"There B = {style.number(B)} and R = {style.number(R)}, so the complexity term alone is {style.number(price)}."
    )
    more = f"With the same B, R and margin it would take {style.number(needed)} rows." if np.isfinite(needed) else ""
    vacuous([reason, cause, more])
