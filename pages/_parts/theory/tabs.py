"""The tabs of the Theory page: for each theorem its controls, its picture beside what was measured, and what to say about it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from mklcore import theory
from mklcore.errors import MKLError
from mklcore.figures import Curve, bound_curves, coherence_dots, duplicate_bars, kernel_colours, style
from mklcore.figures import theory as theory_figures
from pages._parts.derive import bounds as derive_bounds
from pages._parts.derive import tables
from pages._parts.drawing import charts
from pages._parts.jobs import board
from pages._parts.params.parameters import Params
from pages._parts.session import nav, words
from pages._parts.theory import rail as theory_rail

HEIGHT = 340
NEED_TARGET = ("gomp", "greedy", "hkl")
MOST_BARS = theory_figures.MOST_BARS
DENSE = (1.0, *(1.0 + np.geomspace(0.005, 31.0, 320)).tolist(), np.inf)


@dataclass(frozen=True)
class Tab:
    """One tab: its label, the theorem it is about, its controls and its picture; ``measures`` says that a job is needed."""

    label: str
    paper: str
    rail: Callable[[Params], None]
    draw: Callable[[Params, Any], None]
    measures: bool = True
    columns: bool = False


# Pictures


def _picture(figure: go.Figure, key: str, height: int | None = None) -> None:
    """Draw a figure, dimmed while it answers the settings before these."""
    waiting = st.session_state.get("theory_waiting", False)
    charts.show(charts.dimmed(figure, dark=charts.is_dark()) if waiting else figure, key, height)


def _explained(name: str) -> None:
    st.markdown(words.text(f"theory_{name}"))


def _what_if(params: Params) -> str:
    own, (M, n) = derive_bounds.stack(params), derive_bounds.sizes(params)
    if (M, n) == (own.n_kernels, own.n_samples):
        return ""
    return (
        f"The bound is drawn for M = {style.number(M)} and n = {style.number(n)}; the measurements are from "
        f"{own.n_kernels} kernels and {own.n_samples} rows."
    )


def _vacuous(sentences: list[str]) -> None:
    st.markdown(":orange-badge[:material/radio_button_unchecked: vacuous here] " + " ".join(sentences))


def _speaks(sentence: str) -> None:
    st.markdown(f":blue-badge[:material/verified: says something here] {sentence}")


def _lp(params: Params, found: theory.LpMeasured | None) -> None:
    dark, (M, n), R = charts.is_dark(), derive_bounds.sizes(params), derive_bounds.radius(params)
    if M < 2:
        st.info("The bounds compare kernels, and the dictionary holds one. Set M on the left, or add kernels.")
        nav.link("kernels", "Go to Kernels")
        return
    left, right = st.columns(2, gap="medium")
    price = {even: np.array([theory.lp_rademacher_bound(p, M, n, R, even) for p in DENSE]) for even in (False, True)}
    chosen, other = params.theory_even, not params.theory_even
    curves = [Curve("the bound", price[chosen]), Curve("even rounding" if other else "plain", price[other], "other")]
    left.markdown("**The price of learning the weights**, Rad(p)")
    with left:
        figure = bound_curves(
            DENSE, curves, x_title="p, norm of the weights", y_title="Rademacher complexity", kind="norm", dark=dark
        )
        _picture(figure, "theory_price_of_p", HEIGHT)
    if derive_bounds.classes(params):
        right.markdown("**The bound on the error** beside the test error")
        with right:
            _lp_error(params, found, dark)
    if _what_if(params):
        st.caption(_what_if(params))
    if found is not None:
        _lp_words(params, found)


def _lp_bounds(params: Params, found: theory.LpMeasured) -> np.ndarray:
    (M, n), R = derive_bounds.sizes(params), derive_bounds.radius(params)
    shared: dict[str, Any] = {
        "margin": params.theory_margin,
        "R": R,
        "delta": params.theory_delta,
        "conservative": params.theory_even,
    }
    risks = found.margin_risk(params.theory_margin)
    return np.array(
        [
            theory.lp_margin_bound(float(risk), float(p), M, n, B=float(B), **shared)
            for risk, p, B in zip(risks, found.p, found.norms, strict=True)
        ]
    )


def _lp_error(params: Params, found: theory.LpMeasured | None, dark: bool) -> None:
    if found is None:
        st.caption("The picture appears here once the models are solved.")
        return
    error = found.error
    curves = [
        Curve("the bound", _lp_bounds(params, found)),
        Curve("test error", error, "test", np.sqrt(error * (1 - error) / found.y_held_out.size)),
        Curve("margin risk", found.margin_risk(params.theory_margin), "train"),
    ]
    figure = bound_curves(
        found.p, curves, x_title="p, norm of the weights", y_title="share of errors", level=1.0, kind="norm", dark=dark
    )
    _picture(figure, "theory_error_of_p", HEIGHT)


def _lp_words(params: Params, found: theory.LpMeasured) -> None:
    spotless = int(np.count_nonzero(found.error == 0))
    if spotless:
        norms = style.counted(spotless, "norm")
        st.caption(f"At {norms} no test row is wrong; a logarithmic scale has no place for that, so no point is drawn.")
    bounds, (M, n), R = _lp_bounds(params, found), derive_bounds.sizes(params), derive_bounds.radius(params)
    best, measured = int(np.argmin(bounds)), int(np.argmin(found.error))
    p, B = float(found.p[best]), float(found.norms[best])
    risk = float(found.margin_risk(params.theory_margin)[best])
    where = (
        f"The bound is smallest at p = {style.number(p)} with {style.number(bounds[best])}; the test error is smallest at "
        f"p = {style.number(found.p[measured])} with {100 * found.error[measured]:.1f} %."
    )
    if bounds[best] < 1:
        _speaks(where)
        return
    price = 4 * B / params.theory_margin * theory.lp_rademacher_bound(p, M, n, R, params.theory_even)
    needed = theory.lp_rows_needed(
        risk, p, M, lipschitz=1 / params.theory_margin, B=B, R=R, delta=params.theory_delta,
        conservative=params.theory_even,
    )  # fmt: skip
    reason = f"At no p is it below 1, and a share of errors never exceeds 1. {where}"
    cause = (
        f"There B = {style.number(B)} and R = {style.number(R)}, so the complexity term alone is {style.number(price)}."
    )
    more = f"With the same B, R and margin it would take {style.number(needed)} rows." if np.isfinite(needed) else ""
    _vacuous([reason, cause, more])


def _gomp(params: Params, found: theory.GompMeasured | None) -> None:
    dark, (M, n), kappa = charts.is_dark(), derive_bounds.sizes(params), derive_bounds.radius(params) ** 2
    if found is None:
        st.caption("The picture appears here once the path is solved.")
        return
    tau = params.theory_tau or max(float(np.max(found.tau)), 1e-12)
    top = float(np.max(np.abs(derive_bounds.numbers(params, tables.split(params).train))))
    bounds = np.array([theory.gomp_risk_bound(s, kappa, tau, n, top, params.theory_delta) for s in found.s])
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**The bound on the excess error** beside the test error")
        curves = [
            Curve("the bound", bounds),
            Curve("test error", found.held_out, "test", found.held_out_error),
            Curve("training error", found.train, "train"),
        ]
        figure = bound_curves(
            found.s, curves, x_title="s, number of kernels", y_title="squared error", level=top**2,
            level_name="f = 0 is never worse than", dark=dark,
        )  # fmt: skip
        _picture(figure, "theory_error_of_s", HEIGHT)
    with right:
        st.markdown("**The price of s kernels**, and of ℓ1-MKL over all M")
        ours = np.array([theory.gomp_complexity(s, kappa, tau, n) for s in found.s])
        curves = [Curve("MKL-GOMP", ours)]
        if M >= 2:
            curves.append(Curve("ℓ1-MKL", np.full(ours.size, theory.l1_complexity(M, kappa, tau, n)), "other"))
        figure = bound_curves(found.s, curves, x_title="s, number of kernels", y_title="complexity", dark=dark)
        _picture(figure, "theory_price_of_s", HEIGHT)
    if _what_if(params):
        st.caption(_what_if(params))
    _gomp_words(params, found, bounds, tau, top)


def _gomp_words(params: Params, found: theory.GompMeasured, bounds: np.ndarray, tau: float, top: float) -> None:
    best, least = int(np.argmin(found.held_out)), int(np.argmin(bounds))
    where = (
        f"The test error is smallest at s = {int(found.s[best])} with {style.number(found.held_out[best])}, where the bound is "
        f"{style.number(bounds[best])}."
    )
    if bounds[least] < top**2:
        _speaks(where)
        return
    kappa = derive_bounds.radius(params) ** 2
    needed = theory.gomp_rows_needed(top**2, float(found.s[least]), kappa, tau, top, params.theory_delta)
    _vacuous(
        [
            f"Predicting 0 for every row has a squared error of at most {style.number(top**2)}, and the bound lies above that at "
            f"every s. {where}",
            f"With κ = {style.number(kappa)} and τ = {style.number(tau)} it would take {style.number(needed)} rows to say "
            f"something at s = {int(found.s[least])}.",
        ]
    )


def _recovery(params: Params, found: dict[str, Any] | None) -> None:
    if found is None:
        st.caption("The picture appears here once the coherences are computed.")
        return
    kernels, dark = derive_bounds.stack(params), charts.is_dark()
    parts, recovered = found["coherences"], found["recovery"]
    colours = kernel_colours(kernels.families, dark=dark)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.markdown("**Coherence of every other kernel** with the good ones")
        names = [kernels.names[j] for j in parts.others]
        figure = coherence_dots(names, parts.lower, parts.upper, [colours[j] for j in parts.others], dark=dark)
        _picture(figure, "theory_coherence")
        if len(names) > MOST_BARS:
            st.caption(f"The {MOST_BARS} largest of {len(names)}.")
    with right:
        _recovery_words(parts, recovered)
        _condition_words(params, found)


def _recovery_words(parts: theory.Coherences, recovered: theory.Recovery) -> None:
    if parts.upper.size == 0:
        return
    largest, lower = float(parts.upper.max()), float(parts.lower.max())
    share = recovered.hits / recovered.draws
    seen = (
        f"MKL-GOMP found exactly these kernels in **{recovered.hits} of {recovered.draws}** made targets "
        f"({100 * share:.0f} ± {100 * recovered.standard_error:.0f} %)."
    )
    if largest < 1:
        _speaks(f"The coherence is {style.number(largest)}, below 1. {seen}")
    elif lower < 1:
        _vacuous([f"The coherence lies between {style.number(lower)} and {style.number(largest)}: undecided. {seen}"])
    else:
        _vacuous([f"The coherence is at least {style.number(lower)}, above 1, so the theorem says nothing. {seen}"])


def _condition_words(params: Params, found: dict[str, Any]) -> None:
    st.markdown(f"**Rates of greedy descent** for d = {params.theory_size}")
    condition, bound = found["condition"], found["from_correlation"]
    correlation = f"The largest cosine between the spans of two kernels is {style.number(found['correlation'])}."
    if np.isfinite(condition.upper):
        low, high = style.number(condition.lower), style.number(condition.upper)
        _speaks(f"{correlation} γ lies between {low} and {high}.")
    else:
        _vacuous([correlation, words.plain(condition.words.replace("gamma", "γ"))])
    if not bound.is_vacuous:
        st.caption(f"From the correlation alone: γ ≤ {style.number(float(bound))}.")


def _greedy(params: Params, found: theory.GreedyMeasured | None) -> None:
    if found is None:
        st.caption("The picture appears here once the steps are solved.")
        return
    if found.d.size < 2:
        st.info("One kernel is enough at this λ: the theorem speaks from the second kernel on. Take a smaller share.")
        return
    bounds = np.array([float(theory.greedy_rate_bound(found.norm, int(d))) for d in found.d])
    shown = np.where(found.excess > 1e-12, found.excess, np.nan)
    curves = [Curve("the bound", bounds), Curve("measured", shown, "test")]
    st.markdown("**The bound on the distance to the optimum** beside the distance measured")
    figure = bound_curves(
        found.d, curves, x_title="d, kernels chosen", y_title="L(f) above the optimum", level=found.start,
        level_name="f = 0 is as close as", dark=charts.is_dark(),
    )  # fmt: skip
    _picture(figure, "theory_rate", HEIGHT)
    _greedy_words(params, found, bounds)


def _greedy_words(params: Params, found: theory.GreedyMeasured, bounds: np.ndarray) -> None:
    told = (
        f"λ = {style.number(found.lam)}, critical λ = {style.number(found.critical)}, ‖f*‖ = {style.number(found.norm)}; "
        f"{style.counted(len(found.order), 'kernel')} chosen until the optimum."
    )
    speaking = np.flatnonzero(bounds < found.start)
    if speaking.size:
        first = int(found.d[speaking[0]])
        _speaks(f"From d = {first} on the bound is better than f = 0. {told}")
    else:
        needed = int(np.floor(2 * found.norm**2 / found.start)) + 2
        _vacuous(
            [
                f"f = 0 is already within {style.number(found.start)} of the optimum, and the bound falls below that only from "
                f"d = {needed} on, when the optimum is reached after {len(found.order)}.",
                told,
            ]
        )
    st.caption(_risk_words(params, found))


def _risk_words(params: Params, found: theory.GreedyMeasured) -> str:
    """What Theorem 5 says, which is about the steps of Algorithm 2 and not about the kernels drawn above."""
    M, n = derive_bounds.sizes(params)
    steps = found.empirical.size - 1
    risk = theory.greedy_risk_bound(found.norm, max(steps, 1), M, n)
    if steps < 1 or risk.is_vacuous:
        why = words.plain(risk.words) if risk.is_vacuous else "no kernel moves the fit."
        return f"The risk bound of the same paper, about the gradient steps of its Algorithm 2: {why}"
    close = theory.greedy_close(found.norm, steps, n)
    return (
        f"The risk bound of the same paper is about its Algorithm 2: after **{steps}** of its gradient steps the training loss is "
        f"{style.number(float(found.empirical[-1]))}, that of f* is {style.number(found.loss)}. Either the two functions are "
        f"within {style.number(close)} of each other in norm, or the risk exceeds that of the best f with ‖f‖ ≤ ‖f*‖ by at most "
        f"this difference plus {style.number(float(risk))}. For |y| ≤ 1 the loss of f = 0 is at most 1/2, so anything above that "
        "is vacuous."
    )


def _duplicates(params: Params, _: Any) -> None:
    found = derive_bounds.counterexample(params)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _picture(duplicate_bars(found, dark=charts.is_dark()), "theory_duplicates")
    with right:
        st.markdown(found.words)
        st.markdown(
            f"The optimum is {style.number(found.objective_two)} with two kernels and {style.number(found.objective_many)} "
            "with the copies."
        )
        picks = pd.DataFrame({"method": list(found.greedy), "picks first": list(found.greedy.values())})
        st.dataframe(picks, hide_index=True, alt="The kernel every greedy method picks first")
    st.caption("A made problem of two kernels, solved as you move the sliders; your table is not in it.")


def _hkl(params: Params, found: dict[str, Any] | None) -> None:
    if found is None:
        st.caption("The picture appears here once the hulls are found.")
        return
    path, conditions = found["path"], found["conditions"]
    defined = [None if isinstance(item, str) else item for item in conditions]
    values = {
        name: np.array([np.nan if item is None else getattr(item, name) for item in defined])
        for name in ("necessary", "sufficient")
    }
    left, right = st.columns(2, gap="medium")
    dark = charts.is_dark()
    with left:
        st.markdown("**Could the hull at λ be recovered?** Both conditions")
        curves = [Curve("sufficient", values["sufficient"]), Curve("necessary", values["necessary"], "other")]
        figure = bound_curves(
            path.values, curves, x_title="λ, the price of the norm", y_title="value of the condition", level=1.0,
            level_name="has to be below", kind="log", dark=dark,
        )  # fmt: skip
        _picture(figure, "theory_consistency", HEIGHT)
    with right:
        st.markdown("**Squared error on the test rows**, as a share of their variance")
        error = Curve("test error", 1.0 - path.val_score, "test")
        figure = bound_curves(
            path.values, [error], x_title="λ, the price of the norm", y_title="1 − R²", level=1.0,
            level_name="the mean alone has", kind="log", dark=dark,
        )  # fmt: skip
        _picture(figure, "theory_hull_error", HEIGHT)
    _hkl_words(path, conditions)


def _hkl_words(path: Any, conditions: list[Any]) -> None:
    known = [item for item in conditions if not isinstance(item, str)]
    holding = sum(item.sufficient < 1 for item in known)
    if holding:
        _speaks(f"The sufficient condition holds for {holding} of {len(path)} hulls on the path.")
    else:
        _vacuous(
            [f"The sufficient condition holds for none of the {len(path)} hulls, so recovery is promised for none."]
        )
    frame = pd.DataFrame(
        {
            "λ": [style.number(float(v)) for v in path.values],
            "nodes": [len(fitted.hull_) for fitted in path.estimators],
            "gap": [style.percent(float(gap)) for gap in path.relative_gap],
            "necessary, at most 1": [_value(item, "necessary") for item in conditions],
            "sufficient, below 1": [_value(item, "sufficient") for item in conditions],
            "what follows": [_follows(item) for item in conditions],
        }
    )
    st.dataframe(frame, hide_index=True, alt="What the conditions say about every hull on the path")


def _value(item: Any, name: str) -> str:
    return "not defined" if isinstance(item, str) else style.number(getattr(item, name))


def _follows(item: Any) -> str:
    if isinstance(item, str):
        return "nothing: the features of the hull are collinear" if "collinear" in item else item
    return "not recovered" if item.necessary > 1 else "recovered" if item.sufficient < 1 else "undecided"


TABS: dict[str, Tab] = {
    "lp": Tab("ℓp-norm MKL", "Kloft, Brefeld, Sonnenburg, Zien (2011), Corollaries 9 to 11", theory_rail.lp, _lp),
    "gomp": Tab("MKL-GOMP", "Sindhwani and Lozano (2011), Theorem 1", theory_rail.gomp, _gomp),
    "recovery": Tab(
        "Recovery", "Sindhwani and Lozano (2011), Theorem 2; Jin, Yang and Mahdavi (2013), Proposition 2", theory_rail.recovery,
        _recovery,
    ),
    "greedy": Tab("Greedy descent", "Jin, Yang and Mahdavi (2013), Theorems 1 and 5", theory_rail.greedy, _greedy),
    "duplicates": Tab(
        "Duplicates", "Jin, Yang and Mahdavi (2013), section 2", theory_rail.duplicates, _duplicates, measures=False
    ),
    "hkl": Tab("Hulls", "Bach (2008), Propositions 4 and 5", theory_rail.hkl, _hkl, columns=True),
}  # fmt: skip


def _see_to(params: Params, name: str) -> None:
    """See to it that what the tab measures is there or on its way, or offer to start it."""
    if derive_bounds.known(params, name) is not None:
        return
    job = board.mine(derive_bounds.key(params, name))
    if job is None and derive_bounds.entries(params, name) <= derive_bounds.SMALL_ENTRIES:
        derive_bounds.ask(params, name)
        return
    if job is not None and (job.live or job.state is board.JobState.DONE):
        return
    if job is None:
        st.info("Measuring on this table takes a while. Start it when you like; the bounds are there at once.")
    elif job.error:
        st.warning(f"The measurement failed: {words.plain(job.error)}")
    else:
        st.warning(f"The measurement was {job.state.value}.")
    st.button("Measure", key="measure", type="primary", on_click=_ask_again, args=(params, name))


def _ask_again(params: Params, name: str) -> None:
    try:
        derive_bounds.ask(params, name)
    except MKLError as error:
        st.session_state["theory_refused"] = str(error)


def lacking(params: Params) -> str:
    """Return in words what the table lacks for the tab in use; nothing where it has all that is needed."""
    if TABS[params.theory].columns and tables.on_stack(params):
        return "A hull is built from columns, and the upload is a ready kernel stack without them. Choose a table."
    if params.theory in NEED_TARGET and not derive_bounds.has_target(params):
        return "This theorem is about predicting a target, and the table has none. Choose one on the Data page."
    return ""


def begin(params: Params) -> bool:
    """Draw the head of the tab and see to what it measures; tell whether there is anything to draw below it."""
    tab, lack = TABS[params.theory], lacking(params)
    told = derive_bounds.target_in_words(params) if tab.measures and params.theory != "recovery" else ""
    st.caption(f"{tab.paper}. {told}")
    if lack:
        st.info(lack)
        nav.link("data", "Go to Data")
        return False
    refused = st.session_state.pop("theory_refused", None)
    if refused:
        st.error(words.plain(refused))
    if params.theory == "lp" and not derive_bounds.classes(params):
        what = "this target is a number" if derive_bounds.has_target(params) else "this table has no target"
        st.info(f"The bounds on the error are about classes, and {what}. The price needs no target.")
    elif tab.measures:
        _see_to(params, params.theory)
    return True


def show(params: Params) -> None:
    """Draw the picture of the tab with what has been measured, and the words about it."""
    tab, bottom = TABS[params.theory], derive_bounds.bottom(params)
    found = derive_bounds.known(params, params.theory) if tab.measures else None
    last = st.session_state.setdefault("theory_last", {})
    if found is not None:
        last[params.theory] = bottom, found
    elif tab.measures and last.get(params.theory, (None,))[0] == bottom:
        found = last[params.theory][1]
        st.session_state["theory_waiting"] = True
        st.caption("The picture answers the settings before these, until the new ones are measured.")
    try:
        tab.draw(params, found)
    finally:
        st.session_state["theory_waiting"] = False
    _explained(params.theory)
