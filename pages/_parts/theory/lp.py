"""Theory of ℓp-norm MKL: the error measured over p beside its bound, and the complexity that makes the bound."""

from typing import Any

import numpy as np
import streamlit as st

from mklcore import theory
from mklcore.figures import Curve, style
from pages._parts.derive import bounds as derive_bounds
from pages._parts.params.parameters import Params
from pages._parts.session import nav
from pages._parts.theory import rail as theory_rail
from pages._parts.theory.captions import bound, speaks, vacuous, what_if

DENSE = (1.0, *(1.0 + np.geomspace(0.005, 31.0, 320)).tolist(), np.inf)
LEAST = 1e-4  # margin risk that is drawn: below it the axis would be about nothing else


def draw(params: Params, found: theory.LpMeasured | None) -> None:
    """Draw the test error measured over p with its bound, and below it the price of learning the weights."""
    if derive_bounds.sizes(params)[0] < 2:
        st.info("The bounds compare kernels, and the dictionary holds one. Set M on the left, or add kernels.")
        nav.link("kernels", "Go to Kernels")
        return
    if found is not None and derive_bounds.classes(params):
        _measured(params, found)
    _price(params)
    if what_if(params):
        st.caption(what_if(params))


def _measured(params: Params, found: theory.LpMeasured) -> None:
    """Draw what is seen, the error beside its bound, and the handles of the bound."""
    best, worst = int(np.argmin(found.error)), int(np.argmax(found.error))
    st.markdown(
        f"**The test error is smallest at p = {style.number(found.p[best])}: {100 * found.error[best]:.1f} %**, and "
        f"largest at p = {style.number(found.p[worst])}: {100 * found.error[worst]:.1f} %, "
        f"on {found.y_held_out.size} test rows."
    )
    picture_side, handles = st.columns([3, 1], gap="medium")
    with handles:
        theory_rail.norm(float(found.norms.max()))
        theory_rail.radius(params)
        theory_rail.margin()
    with picture_side:
        _error(params, found)
    _words(params, found)


def _price(params: Params) -> None:
    (M, n), R = derive_bounds.sizes(params), derive_bounds.radius(params)
    price = np.array([theory.lp_rademacher_bound(p, M, n, R, params.theory_even) for p in DENSE])
    st.markdown(
        f"**The price of learning the weights of {M} kernels**, Rad(p): least at "
        f"p = {style.number(DENSE[int(np.argmin(price))])}. The steps come from rounding p* up to a whole number."
    )
    bound(
        "theory_price_of_p",
        DENSE,
        [Curve("the bound", price)],
        x_title="p, norm of the weights",
        y_title="Rademacher complexity",
        kind="norm",
    )


def _bounds(params: Params, found: theory.LpMeasured) -> np.ndarray:
    (M, n), R = derive_bounds.sizes(params), derive_bounds.radius(params)
    shared: dict[str, Any] = {
        "margin": params.theory_margin,
        "R": R,
        "delta": params.theory_delta,
        "conservative": params.theory_even,
        "choices": _choices(params, found),
    }
    risks = found.margin_risk(params.theory_margin)
    bounds = [
        theory.lp_margin_bound(float(risk), float(p), M, n, B=_norm(params, float(B)), **shared)
        for risk, p, B in zip(risks, found.p, found.norms, strict=True)
    ]
    return np.where(_covered(params, found), bounds, np.nan)


def _norm(params: Params, own: float) -> float:
    """Return B: the one set, or the fitted model's norm rounded up to the grid fixed beforehand."""
    return params.theory_bound or theory.lp_norm_on_grid(own)


def _covered(params: Params, found: theory.LpMeasured) -> np.ndarray:
    """Tell which models the bound is about: those whose norm is at most B."""
    limit = params.theory_bound or np.inf
    return np.asarray(found.norms) <= limit


def _choices(params: Params, found: theory.LpMeasured) -> int:
    """Return of how many classes, fixed beforehand, a fitted model picks one: every p, with every B of the grid where B
    is read off the model.
    """
    return int(found.p.size * (1 if params.theory_bound else theory.NORM_GRID.size))


def _error(params: Params, found: theory.LpMeasured) -> None:
    error, risk = found.error, found.margin_risk(params.theory_margin)
    curves = [
        Curve("the bound", _bounds(params, found)),
        Curve("test error", error, "test", np.sqrt(error * (1 - error) / found.y_held_out.size)),
        Curve("margin risk", np.where(risk > LEAST, risk, np.nan), "train"),
    ]
    bound(
        "theory_error_of_p",
        found.p,
        curves,
        x_title="p, norm of the weights",
        y_title="share of errors",
        level=1.0,
        kind="norm",
    )


def _words(params: Params, found: theory.LpMeasured) -> None:
    spotless = int(np.count_nonzero(found.error == 0))
    if spotless:
        norms = style.counted(spotless, "norm")
        st.caption(f"At {norms} no test row is wrong; a logarithmic scale has no place for that, so no point is drawn.")
    bounds, covered = _bounds(params, found), _covered(params, found)
    if not covered.any():
        vacuous([f"Every model has a norm above B = {style.number(params.theory_bound)}: the theorem covers none."])
        return
    best, (M, n), R = int(np.nanargmin(bounds)), derive_bounds.sizes(params), derive_bounds.radius(params)
    p, B = float(found.p[best]), _norm(params, float(found.norms[best]))
    least = f"The bound is smallest at p = {style.number(p)}: {style.number(bounds[best])}."
    if not covered.all():
        larger = [style.number(q) for q in found.p[~covered]]
        least += f" Models at p = {style.joined(larger)} have a larger norm than B and are not covered."
    if bounds[best] < 1:
        speaks(least)
        return
    price = 4 * B / params.theory_margin * theory.lp_rademacher_bound(p, M, n, R, params.theory_even)
    needed = theory.lp_rows_needed(
        float(found.margin_risk(params.theory_margin)[best]), p, M, lipschitz=1 / params.theory_margin, B=B, R=R,
        delta=params.theory_delta, conservative=params.theory_even, choices=_choices(params, found),
    )  # fmt: skip
    rows = f"{float(f'{needed:.2e}'):,.0f} rows"
    more = f"With the same B, R and margin it would take {rows}." if np.isfinite(needed) else ""
    vacuous(
        [
            f"{least} A share of errors never exceeds 1, so the bound cannot prefer a p here. With B\u00a0=\u00a0"
            f"{style.number(B)} and R\u00a0=\u00a0{style.number(R)} the complexity term alone is "
            f"{style.number(price)}.",
            more,
        ]
    )
