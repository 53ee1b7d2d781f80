"""Theory of MKL-GOMP: its bound over the number of kernels beside the error measured."""

import numpy as np
import streamlit as st

from mklcore import theory
from mklcore.figures import Curve, style
from pages._parts.derive import bounds as derive_bounds
from pages._parts.derive import tables
from pages._parts.params.parameters import Params
from pages._parts.theory.captions import bound, speaks, vacuous, what_if


def draw(params: Params, found: theory.GompMeasured | None) -> None:
    """Draw the bound on the excess error over s beside the test error, and the price of s kernels."""
    (M, n), kappa = derive_bounds.sizes(params), derive_bounds.radius(params) ** 2
    if found is None:
        st.caption("The picture appears here once the path is solved.")
        return
    tau = params.theory_tau or max(float(np.max(found.tau)), 1e-12)
    top = float(np.max(np.abs(derive_bounds.numbers(params, tables.split(params).train))))
    bounds = np.array([theory.gomp_risk_bound(s, kappa, tau, n, top, params.theory_delta) for s in found.s])
    _words(params, found, bounds, tau, top)
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**The bound on the excess error** beside the test error")
        curves = [
            Curve("the bound", bounds),
            Curve("test error", found.held_out, "test", found.held_out_error),
            Curve("training error", found.train, "train"),
        ]
        bound(
            "theory_error_of_s",
            found.s,
            curves,
            x_title="s, number of kernels",
            y_title="squared error",
            level=top**2,
            level_name="f = 0 is never worse than",
        )
    with right:
        st.markdown("**The price of s kernels**, and of ℓ1-MKL over all M")
        ours = np.array([theory.gomp_complexity(s, kappa, tau, n) for s in found.s])
        curves = [Curve("MKL-GOMP", ours)]
        if M >= 2:
            curves.append(Curve("ℓ1-MKL", np.full(ours.size, theory.l1_complexity(M, kappa, tau, n)), "other"))
        bound(
            "theory_price_of_s",
            found.s,
            curves,
            x_title="s, number of kernels",
            y_title="complexity",
        )
    if what_if(params):
        st.caption(what_if(params))


def _words(params: Params, found: theory.GompMeasured, bounds: np.ndarray, tau: float, top: float) -> None:
    best, least = int(np.argmin(found.held_out)), int(np.argmin(bounds))
    where = (
        f"The test error is smallest at s = {int(found.s[best])} with {style.number(found.held_out[best])}, where the "
        f"bound is "
        f"{style.number(bounds[best])}."
    )
    if bounds[least] < top**2:
        speaks(where)
        return
    kappa = derive_bounds.radius(params) ** 2
    needed = theory.gomp_rows_needed(top**2, float(found.s[least]), kappa, tau, top, params.theory_delta)
    vacuous(
        [
            f"Predicting 0 for every row has a squared error of at most {style.number(top**2)}, and the bound is "
            f"above that at "
            f"every s. {where}",
            f"With κ = {style.number(kappa)} and τ = {style.number(tau)} it would take {style.number(needed)} rows to "
            f"say "
            f"something at s = {int(found.s[least])}.",
        ]
    )
