"""Experiments, the rail: which paper, which experiment of it, and with which seed."""

import streamlit as st

from mklcore.gallery.experiments import EXPERIMENTS
from pages.of_experiments import runs
from pages.shared.session import fields, history


def _briefly(article: str) -> str:
    """Return an article by its first author where it has more than two."""
    authors, _, year = article.rpartition(" ")
    return f"{authors.split(',')[0]} et al. {year}" if authors.count(",") > 1 else article


def draw() -> None:
    """Draw them."""
    papers, shown = runs.by_paper(), EXPERIMENTS.get(history.current().experiment, next(iter(EXPERIMENTS.values())))
    fields.view(
        st.selectbox, "Paper", "paper", shown.article, lambda paper: history.change(experiment=papers[paper][0]),
        options=list(papers), format_func=_briefly,
    )  # fmt: skip
    keys = papers[shown.article]
    fields.field_view(
        "Experiment", "experiment", kind=st.radio, options=keys, format_func=lambda key: EXPERIMENTS[key].place,
        captions=[EXPERIMENTS[key].title for key in keys], to=lambda key: key if key in keys else keys[0],
    )  # fmt: skip
    fields.field_view("Seed", "experiment_seed")
    st.caption("Another seed: other made data, and numbers that differ by their standard errors.")
