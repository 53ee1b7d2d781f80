"""Theory, the rail: every number of a bound, at first that of the table in use, on a scale that suits it."""

from collections.abc import Iterable

import numpy as np
import streamlit as st

from mklcore.figures import captions, style
from pages._parts.derive import bounds
from pages._parts.drawing import controls
from pages._parts.params.parameters import Params
from pages._parts.session import fields, history, nav


def _slider(label: str, name: str, help: str, stops: Iterable[float] = (), usual: float | None = None) -> None:
    """Draw a slider over ``stops``, else over 1, 2, 5 per decade of what the parameter may be; 0 stands for ``usual``.

    It has one stop for each text: its widget tells stops apart by what they are shown as.
    """
    now, (low, high) = getattr(history.current(), name), fields.bounds_of(name) or (0, 1)
    value = float(now or usual or low)
    grid = stops or controls.human_steps(low, high)
    options = {style.number(stop): stop for stop in (*grid, value if usual is None else float(usual), value)}
    fields.field_view(
        label, name, kind=st.select_slider, options=sorted(options.values()), format_func=style.number, help=help,
        to=lambda v: float(v or usual or 0), back=lambda v: type(now)(0 if v == usual else v),
    )  # fmt: skip


def _sizes(params: Params) -> None:
    own = bounds.stack(params)
    _slider(
        "Kernels M", "theory_kernels", "More kernels on offer: a larger price.", controls.human_steps(2, 1e6),
        max(own.n_kernels, 2),
    )  # fmt: skip
    _slider(
        "Rows n", "theory_rows", "More rows: every bound falls like one over the root of n.",
        controls.human_steps(10, 1e9), own.n_samples,
    )  # fmt: skip


def _around(usual: float) -> list[float]:
    """Return stops an eighth of a power of two apart, from a 32nd of the usual value to four times of it."""
    return [float(f"{usual * stop:.3g}") for stop in np.geomspace(1 / 32, 4, 57)]


def norm(largest: float) -> None:
    """Draw the handle of B; its usual place is the largest norm of the models measured."""
    _slider(
        "Norm B", "theory_bound",
        "‖w‖ ≤ B, fixed before the rows are seen. At first every model has its own norm, rounded up to a grid. "
        "A smaller B: a smaller bound, and models with a larger norm are not covered.", _around(largest), largest,
    )  # fmt: skip


def radius(params: Params) -> None:
    """Draw the handle of R; its usual place is that of the training rows."""
    own = bounds.own_radius(params)
    _slider("Radius R", "theory_radius", "k(x, x) ≤ R². A larger R: a larger price.", _around(own), own)


def margin() -> None:
    """Draw the handle of the margin."""
    _slider("Margin γ", "theory_margin", "Larger γ: a smaller price, and more rows count as errors.")


def _delta() -> None:
    _slider("Risk δ of failure", "theory_delta", "Smaller δ: the bound holds more surely, and is larger.")


def _classes(params: Params) -> None:
    names = bounds.classes(params)
    if len(names) > 2:
        fields.field_view(
            "Class against the rest", "theory_class", options=range(len(names)),
            format_func=lambda k: names[k], to=lambda k: k if k < len(names) else 0,
        )  # fmt: skip


def lp(params: Params) -> None:
    """Draw the controls of the lp-norm bounds."""
    _classes(params)
    _slider("Cost C of the models", "theory_cost", "Larger C: fewer errors in training, a larger norm B.")
    _sizes(params)
    _delta()
    fields.field_view(
        "Conservative rounding", "theory_even",
        help="Rounds up to the even integers for which the inequality behind the bound is stated.",
    )  # fmt: skip


def conversions(params: Params) -> None:
    """Draw the controls of what carries a bound, or a solution, from one form to another."""
    _classes(params)
    norms = [float(p) for p in bounds.NORMS if np.isfinite(p)]
    fields.field_view(
        "From the norm q", "theory_norm", kind=st.select_slider, options=norms, format_func=style.number,
        to=lambda v: min(norms, key=lambda p: abs(p - v)),
        help="The bound that is carried on, and the norm of the model whose two forms are drawn.",
    )  # fmt: skip
    _slider("Size s of the weights", "theory_scale", "The weights of the penalised form are s θ.")
    _slider("Cost C of the models", "theory_cost", "The cost of the constrained form.")
    _sizes(params)
    radius(params)


def decay(params: Params) -> None:
    """Draw the controls of the geometric rate of Algorithm 2."""
    found = bounds.known(params, "recovery")
    own = found["condition"].upper if found is not None else np.inf
    _slider("Condition γ(2d)", "theory_gamma", "How far kernels are from orthogonal. Larger: slower.")
    if np.isfinite(own):
        st.caption(f"On this table γ({params.theory_size}) is at most {style.number(own)}, as Recovery measured it.")
    else:
        st.caption(
            "Kernels whose spans overlap, as all Gaussian ones do, have γ = ∞. Recovery measures it on this table."
        )
    _slider(
        "Best loss left ε*",
        "theory_eps",
        "How much more the best f of d kernels loses than the best of all.",
    )
    _slider(
        "Factor μ",
        "theory_mu",
        "Lemma 3 holds for every μ above 1: a larger one is faster and ends higher.",
    )


def gomp(params: Params) -> None:
    """Draw the controls of the risk bound of MKL-GOMP."""
    _classes(params)
    _slider("Ridge λ", "theory_lam", "Larger λ: a smoother model with a smaller norm τ.")
    found = bounds.known(params, "gomp")
    own = float(np.max(found.tau)) if found is not None else 1.0
    _slider(
        "Norm τ", "theory_tau", "‖f‖² ≤ τ. The largest on the path, unless you move it.",
        controls.human_steps(1e-4, 1e6), own,
    )  # fmt: skip
    _sizes(params)
    radius(params)
    _delta()


def recovery(params: Params) -> None:
    """Draw the controls of coherence and recovery."""
    own = bounds.stack(params)
    names = captions.labels(own.names, own.families)
    fields.view(
        st.multiselect, "Good kernels", "field_theory_good", bounds.good(params),
        lambda picked: history.change(theory_good=",".join(str(j + 1) for j in sorted(picked))),
        options=list(range(len(names))), format_func=lambda j: names[j], max_selections=8,
        help="The kernels assumed to be the right ones.",
    )  # fmt: skip
    _slider("Ridge λ", "theory_lam", "Larger λ: only the leading directions of a kernel count.")
    fields.field_view("Rows in use", "theory_sample", kind=st.slider, step=10,
                     help="Evenly spaced training rows; the cost grows with their cube.")  # fmt: skip
    fields.field_view(
        "Noise",
        "theory_noise",
        kind=st.slider,
        max_value=3.0,
        step=0.1,
        to=lambda v: min(v, 3.0),
        help="Standard deviation on the made targets; each part has 1.",
    )
    fields.field_view("Kernels d in γ(d)", "theory_size", kind=st.slider,
                     help="How many kernels at once the rates of greedy descent have to tell apart.")  # fmt: skip


def greedy(params: Params) -> None:
    """Draw the controls of the rate of greedy descent."""
    _classes(params)
    _slider("λ as a share of the critical λ", "theory_share", "Smaller share: more kernels enter.")


def duplicates(params: Params) -> None:
    """Draw the controls of the counterexample."""
    fields.field_view("Copies of kernel A", "theory_copies", kind=st.slider,
                     help="More copies: a symmetric solver leaves less to each.")  # fmt: skip
    _slider("Penalty λ", "theory_price", "Larger λ: the weaker kernel shrinks first.")


def hkl(params: Params) -> None:
    """Draw the controls of the conditions on hulls."""
    _classes(params)
    st.caption(
        "Basis, degree and columns are those of the Hulls page as far as the theorem goes: a basis of columns, degree "
        f"{bounds.HULL_DEGREE} at most, the first {bounds.HULL_COLUMNS} columns. The loss is squared."
    )
    nav.link("hulls", "Go to Hulls")
