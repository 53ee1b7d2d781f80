"""Theory of recovery: coherences of kernels, made targets that are found again, and restricted conditions."""

from typing import Any

import numpy as np
import streamlit as st

from mklcore import theory
from mklcore.figures import captions, coherence_dots, kernel_colours, style
from mklcore.figures.comparisons import MOST_BARS
from pages._parts.derive import bounds as derive_bounds
from pages._parts.drawing import charts
from pages._parts.params.parameters import Params
from pages._parts.session import words
from pages._parts.theory.captions import picture, speaks, vacuous


def draw(params: Params, found: dict[str, Any] | None) -> None:
    """Draw the coherence of every other kernel with the good ones, and what follows for recovery and rates."""
    if found is None:
        st.caption("The picture appears here once the coherences are computed.")
        return
    kernels, dark = derive_bounds.stack(params), charts.is_dark()
    parts, recovered = found["coherences"], found["recovery"]
    colours = kernel_colours(kernels.families, dark=dark)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.markdown("**Coherence of every other kernel** with the good ones")
        called = captions.labels(kernels.names, kernels.families)
        names = [called[j] for j in parts.others]
        figure = coherence_dots(names, parts.lower, parts.upper, [colours[j] for j in parts.others], dark=dark)
        picture(figure, "theory_coherence")
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
        speaks(f"The coherence is {style.number(largest)}, below 1. {seen}")
    elif lower < 1:
        vacuous([f"The coherence is between {style.number(lower)} and {style.number(largest)}: undecided. {seen}"])
    else:
        vacuous([f"The coherence is at least {style.number(lower)}, above 1, so the theorem says nothing. {seen}"])


def _condition_words(params: Params, found: dict[str, Any]) -> None:
    st.markdown(f"**Rates of greedy descent** for d = {params.theory_size}")
    condition, bound = found["condition"], found["from_correlation"]
    correlation = f"The largest cosine between the spans of two kernels is {style.number(found['correlation'])}."
    if np.isfinite(condition.upper):
        low, high = style.number(condition.lower), style.number(condition.upper)
        speaks(f"{correlation} γ is between {low} and {high}.")
    else:
        vacuous([correlation, words.plain(condition.words.replace("gamma", "γ"))])
    if not bound.is_vacuous:
        st.caption(f"From the correlation alone: γ ≤ {style.number(float(bound))}.")
