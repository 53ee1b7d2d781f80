"""Theory in common: how every tab draws its figure and says whether its theorem says anything here."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from mklcore.figures import Curve, bound_curves, style
from pages._parts.derive import bounds as derive_bounds
from pages._parts.drawing import charts
from pages._parts.params.parameters import Params
from pages._parts.session import words
from pages._parts.session.memory import memory

HEIGHT = 340


def picture(figure: go.Figure, key: str, height: int | None = None) -> None:
    """Draw a figure, dimmed while it answers the settings before these."""
    waiting = memory().theory.waiting
    charts.show(charts.dimmed(figure, dark=charts.is_dark()) if waiting else figure, key, height)


def bound(key: str, x: Any, lines: Sequence[Curve], **options: Any) -> None:
    """Draw a bound with what is measured beside it, over ``x``."""
    picture(bound_curves(x, lines, dark=charts.is_dark(), **options), key, HEIGHT)


def explained(name: str) -> None:
    """Draw the words about a tab."""
    st.markdown(words.text(f"theory_{name}"))


def what_if(params: Params) -> str:
    """Return that the bound is drawn for other sizes than those measured; empty where it is not."""
    own, (M, n) = derive_bounds.stack(params), derive_bounds.sizes(params)
    if (M, n) == (own.n_kernels, own.n_samples):
        return ""
    return (
        f"The bound is drawn for M = {style.number(M)} and n = {style.number(n)}; the measurements are from "
        f"{own.n_kernels} kernels and {own.n_samples:,} rows."
    )


def vacuous(sentences: list[str]) -> None:
    """Say that a theorem says nothing here, and why."""
    st.markdown(":orange-badge[:material/radio_button_unchecked: vacuous here] " + " ".join(sentences))


def speaks(sentence: str) -> None:
    """Say what a theorem says here."""
    st.markdown(f":blue-badge[:material/verified: says something here] {sentence}")
