"""Theory of lp-norm MKL in two forms: a bound carried from one norm to another, and a constrained model as a penalised
one.
"""

import numpy as np
import streamlit as st

from mklcore import theory
from mklcore.figures import Curve, style
from mklcore.solvers.variants import ivanov_to_tikhonov
from pages._parts.derive import bounds as derive_bounds
from pages._parts.params.parameters import Params
from pages._parts.session import nav
from pages._parts.theory.captions import bound, speaks
from pages._parts.theory.lp import DENSE

SIZES = np.geomspace(0.01, 100.0, 81)  # of the penalised weights


def draw(params: Params, found: theory.LpMeasured | None) -> None:
    """Draw what Theorem 6 makes of the bound at q for every larger p, and the constants of the two forms of Theorem
    1.
    """
    if derive_bounds.sizes(params)[0] < 2:
        st.info("The bounds compare kernels, and the dictionary holds one. Set M on the left, or add kernels.")
        nav.link("kernels", "Go to Kernels")
        return
    left, right = st.columns(2, gap="medium") if found is not None else (st.container(), st.container())
    with left:
        _carried(params)
    if found is not None:
        with right:
            _forms(params, found)


def _carried(params: Params) -> None:
    (M, n), R, q = derive_bounds.sizes(params), derive_bounds.radius(params), params.theory_norm
    own = np.array([theory.lp_rademacher_bound(p, M, n, R) for p in DENSE])
    start = theory.lp_rademacher_bound(q, M, n, R)
    carried = np.array([theory.lp_conversion(start, q, p, M) if p >= q else np.nan for p in DENSE])
    st.markdown("**A bound carried to larger norms**, Theorem 6")
    bound(
        "theory_carried",
        DENSE,
        [Curve(f"from q = {style.number(q)}", carried), Curve("Rad(p)", own, "other")],
        x_title="p, norm of the weights",
        y_title="Rademacher complexity",
        kind="norm",
    )
    end, plain = float(carried[-1]), float(own[-1])
    st.caption(
        f"From q = {style.number(q)} to p = ∞ the bound grows by $M^{{1/(2q)}}$, from {style.number(start)} to "
        f"{style.number(end)}; the "
        f"bound of p = ∞ itself is {style.number(plain)}, {'no larger' if plain <= end else 'larger'}."
    )


def _forms(params: Params, found: theory.LpMeasured) -> None:
    at = int(np.argmin(np.abs(found.p - params.theory_norm)))
    R, J = float(found.regulariser[at]), float(found.objective(params.theory_cost)[at])
    s = np.unique(np.append(SIZES, params.theory_scale))
    if not R > 0:
        st.info("At this C the model is f = 0, and no penalised form is its own. Take a larger C.")
        return
    twins = [ivanov_to_tikhonov(J, R, params.theory_cost, float(size)) for size in s]
    mu, here = np.array([twin.mu for twin in twins]), int(np.flatnonzero(s == params.theory_scale)[0])
    st.markdown("**Penalised problems with the same model**, Theorem 1")
    chosen = np.where(np.arange(s.size) == here, mu, np.nan)
    bound(
        "theory_forms",
        [twin.C_tilde for twin in twins],
        [Curve("same w and b", mu), Curve("this s", chosen, "test")],
        x_title="C̃, cost of the penalised form",
        y_title="μ, price of the weights",
        kind="log",
    )
    twin = twins[here]
    speaks(
        f"The model at p = {style.number(float(found.p[at]))} with ‖θ‖ ≤ 1 and C = {style.number(params.theory_cost)} "
        f"is that of "
        f"C̃ = {style.number(twin.C_tilde)} and μ = {style.number(twin.mu)}, whose weights are "
        f"{style.number(params.theory_scale)} θ: objectives {style.number(J)} and {style.number(twin.objective)}."
    )
