"""Theory, the rail: every number of a bound, at first that of the table in use, on a scale that suits it."""

from collections.abc import Iterable

import numpy as np
import streamlit as st

from mklcore import theory
from mklcore.figures import captions, style
from pages._parts.derive import bounds, caches, dictionaries
from pages._parts.drawing import controls
from pages._parts.params.parameters import KernelParams, Params
from pages._parts.session import fields, history, nav


def _stops(grid: Iterable[float], usual: float, value: float) -> list[float]:
    """Return the stops of a slider, one for each text: its widget tells stops apart by what they are shown as."""
    return sorted({style.number(stop): stop for stop in (*grid, usual, value)}.values())


def _whole(label: str, name: str, usual: int, steps: list[int], help: str) -> None:
    """A slider over round numbers whose usual place is the table's own number."""
    options = _stops(steps, usual, getattr(history.current(), name) or usual)
    fields.field_view(
        st.select_slider, label, name, options=options, format_func=lambda v: style.number(float(v)), help=help,
        to=lambda v: v or usual, back=lambda v: 0 if v == usual else int(v),
    )  # fmt: skip


def _steps(label: str, name: str, low: float, high: float, help: str, usual: float | None = None) -> None:
    """A slider over round numbers 1, 2, 5 per decade; ``usual`` is what 0 stands for."""
    value = float(getattr(history.current(), name) or usual or low)
    options = _stops(controls.human_steps(low, high), value if usual is None else float(usual), value)
    fields.field_view(
        st.select_slider,
        label,
        name,
        options=options,
        format_func=style.number,
        help=help,
        to=lambda v: float(v or usual or 0.0),
        back=lambda v: 0.0 if usual is not None and v == float(usual) else float(v),
    )


def _sizes(params: Params, kernels: bool = True) -> None:
    own = bounds.stack(params)
    if kernels:
        steps = [round(v) for v in controls.human_steps(2, 1e6)]
        _whole("Kernels M", "theory_kernels", max(own.n_kernels, 2), steps, "More kernels on offer: a larger price.")
    steps = [round(v) for v in controls.human_steps(10, 1e9)]
    _whole("Rows n", "theory_rows", own.n_samples, steps, "More rows: every bound falls like one over the root of n.")


def _handle(label: str, name: str, low: float, high: float, help: str, usual: float) -> None:
    """A slider whose stops are a tenth of a power of two apart; ``usual`` is what 0 stands for."""
    value = float(getattr(history.current(), name) or usual)
    grid = [float(f"{stop:.3g}") for stop in np.geomspace(low, high, 1 + round(8 * np.log2(high / low)))]
    fields.field_view(
        st.select_slider, label, name, options=_stops(grid, usual, value), format_func=style.number, help=help,
        to=lambda v: float(v or usual), back=lambda v: 0.0 if v == usual else float(v),
    )  # fmt: skip


def norm(largest: float) -> None:
    """Draw the handle of B; its usual place is the largest norm of the models measured."""
    _handle(
        "Norm B", "theory_bound", largest / 32, largest * 4,
        "‖w‖ ≤ B, fixed before the rows are seen. At first every model has its own norm, rounded up to a grid. "
        "A smaller B: a smaller bound, and models with a larger norm are not covered.", usual=largest,
    )  # fmt: skip


def radius(params: Params) -> None:
    """Draw the handle of R; its usual place is that of the training rows."""
    key = ("radius", params.part(KernelParams), dictionaries.normalisation(params))
    own = caches.result_cache(params).made(key, lambda: theory.kernel_radius(bounds.stack(params)))
    _handle("Radius R", "theory_radius", own / 32, own * 4, "k(x, x) ≤ R². A larger R: a larger price.", usual=own)


def margin() -> None:
    """Draw the handle of the margin."""
    _steps("Margin γ", "theory_margin", 0.01, 100.0, "Larger γ: a smaller price, and more rows count as errors.")


def _delta() -> None:
    _steps("Risk δ of failure", "theory_delta", 1e-6, 0.5, "Smaller δ: the bound holds more surely, and is larger.")


def _classes(params: Params) -> None:
    names = bounds.classes(params)
    if len(names) > 2:
        fields.field_view(
            st.selectbox, "Class against the rest", "theory_class", options=range(len(names)),
            format_func=lambda k: names[k], to=lambda k: k if k < len(names) else 0,
        )  # fmt: skip


def lp(params: Params) -> None:
    """Draw the controls of the lp-norm bounds."""
    _classes(params)
    _steps("Cost C of the models", "theory_cost", 1e-4, 1e4, "Larger C: fewer errors in training, a larger norm B.")
    _sizes(params)
    _delta()
    fields.field_view(
        st.toggle, "Conservative rounding", "theory_even",
        help="Rounds up to the even integers for which the inequality behind the bound is stated.",
    )  # fmt: skip


def conversions(params: Params) -> None:
    """Draw the controls of what carries a bound, or a solution, from one form to another."""
    _classes(params)
    norms = [float(p) for p in bounds.NORMS if np.isfinite(p)]
    fields.field_view(
        st.select_slider, "From the norm q", "theory_norm", options=norms, format_func=style.number,
        to=lambda v: min(norms, key=lambda p: abs(p - v)),
        help="The bound that is carried on, and the norm of the model whose two forms are drawn.",
    )  # fmt: skip
    _steps("Size s of the weights", "theory_scale", 0.01, 100.0, "The weights of the penalised form are s θ.")
    _steps("Cost C of the models", "theory_cost", 1e-4, 1e4, "The cost of the constrained form.")
    _sizes(params)
    radius(params)


def decay(params: Params) -> None:
    """Draw the controls of the geometric rate of Algorithm 2."""
    found = bounds.measured(params, "recovery").value
    own = found["condition"].upper if found is not None else np.inf
    _steps("Condition γ(2d)", "theory_gamma", 1.0, 1e4, "How far kernels are from orthogonal. Larger: slower.")
    if np.isfinite(own):
        st.caption(f"On this table γ({params.theory_size}) is at most {style.number(own)}, as Recovery measured it.")
    else:
        st.caption(
            "Kernels whose spans overlap, as all Gaussian ones do, have γ = ∞. Recovery measures it on this table."
        )
    _steps(
        "Best loss left ε*",
        "theory_eps",
        1e-8,
        0.5,
        "How much more the best f of d kernels loses than the best of all.",
    )
    _steps(
        "Factor μ",
        "theory_mu",
        1.01,
        100.0,
        "Lemma 3 holds for every μ above 1: a larger one is faster and ends higher.",
    )


def gomp(params: Params) -> None:
    """Draw the controls of the risk bound of MKL-GOMP."""
    _classes(params)
    _steps("Ridge λ", "theory_lam", 1e-6, 1e2, "Larger λ: a smoother model with a smaller norm τ.")
    found = bounds.measured(params, "gomp").value
    own = float(np.max(found.tau)) if found is not None else 1.0
    _steps("Norm τ", "theory_tau", 1e-4, 1e6, "‖f‖² ≤ τ. The largest on the path, unless you move it.", usual=own)
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
    _steps("Ridge λ", "theory_lam", 1e-6, 1e2, "Larger λ: only the leading directions of a kernel count.")
    fields.field_view(st.slider, "Rows in use", "theory_sample", min_value=20, max_value=400, step=10,
                     help="Evenly spaced training rows; the cost grows with their cube.")  # fmt: skip
    fields.field_view(
        st.slider,
        "Noise",
        "theory_noise",
        min_value=0.0,
        max_value=3.0,
        step=0.1,
        to=lambda v: min(v, 3.0),
        help="Standard deviation on the made targets; each part has 1.",
    )
    fields.field_view(st.slider, "Kernels d in γ(d)", "theory_size", min_value=1, max_value=8,
                     help="How many kernels at once the rates of greedy descent have to tell apart.")  # fmt: skip


def greedy(params: Params) -> None:
    """Draw the controls of the rate of greedy descent."""
    _classes(params)
    _steps("λ as a share of the critical λ", "theory_share", 0.001, 0.9, "Smaller share: more kernels enter.")


def duplicates(params: Params) -> None:
    """Draw the controls of the counterexample."""
    fields.field_view(st.slider, "Copies of kernel A", "theory_copies", min_value=2, max_value=40,
                     help="More copies: a symmetric solver leaves less to each.")  # fmt: skip
    _steps("Penalty λ", "theory_price", 0.001, 1.0, "Larger λ: the weaker kernel shrinks first.")


def hkl(params: Params) -> None:
    """Draw the controls of the conditions on hulls."""
    _classes(params)
    st.caption(
        "Basis, degree and columns are those of the Hulls page as far as the theorem goes: a basis of columns, degree "
        f"{bounds.HULL_DEGREE} at most, the first {bounds.HULL_COLUMNS} columns. The loss is squared."
    )
    nav.link("hulls", "Go to Hulls")
