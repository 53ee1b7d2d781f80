"""Experiments, what came out: drawn beside the reference, said in a sentence, and every number of it."""

import numpy as np
import streamlit as st

from mklcore.figures import comparison_plot, style
from mklcore.gallery.experiments import Experiment, Outcome, PaperComparison
from mklcore.gallery.experiments.claims import AGREES, DISAGREES, UNSAID, counted
from pages.of_experiments import runs
from pages.shared.drawing import charts, listings
from pages.shared.session import fields, history, words

LEVEL = 0.95
LONGEST = 20  # letters at the head of the first column
SAID = {AGREES: "Agrees", DISAGREES: "Disagrees", UNSAID: "Too small to call"}
ICONS = {AGREES: ":material/check:", DISAGREES: ":material/close:", UNSAID: ":material/question_mark:"}


def picture(experiment: Experiment, comparison: PaperComparison) -> None:
    """Draw ours and the reference, one group of columns at a time."""
    panels, place = experiment.groups(), history.current().experiment_panel
    if len(panels) > 1:
        fields.field_view(
            "Measured", "experiment_panel", kind=st.segmented_control, options=range(len(panels)), required=True,
            format_func=lambda k: panels[k][0], to=lambda k: min(k, len(panels) - 1), label_visibility="collapsed",
        )  # fmt: skip
    title, part = panels[min(place, len(panels) - 1)]
    floor = experiment.floor if part.start == 0 else None
    figure = comparison_plot(
        comparison, part, y_title=title, row_name=experiment.mark_name or experiment.row_name,
        ordered=experiment.ordered, floor=floor, marks=experiment.marks_of(comparison.rows), dark=charts.is_dark(),
    )  # fmt: skip
    charts.show(figure, "experiment_figure")
    st.caption(_read_as(comparison, part, floor is not None))


def _read_as(comparison: PaperComparison, part: slice, with_floor: bool) -> str:
    """Say what the marks in the picture mean, those that are there."""
    sentences = ["Filled: ours, with one standard error."] * bool(np.isfinite(comparison.ours[:, part]).any())
    sentences += ["Hollow: the reference."] * bool(np.isfinite(comparison.reference[:, part]).any())
    return " ".join([*sentences, *["Dotted: the error no method can beat."] * with_floor])


def claims(experiment: Experiment, outcome: Outcome) -> None:
    """Draw what the paper states, each claim with what this run says of it; what disagrees stands first."""
    judged = experiment.judge(outcome)
    lines = [
        f"- {ICONS[one.answer]} **{SAID[one.answer]}:** {words.plain(one.claim.sentence)}  \n  "
        f"{words.plain(one.figures)}"
        for one in judged
    ]
    st.markdown("\n".join([f"**What the paper states, and what this run finds: {counted(judged)}.**\n", *lines]))


def stated(experiment: Experiment) -> None:
    """Draw what the paper states, where there is no run to judge it by."""
    lines = [f"- {words.plain(claim.sentence)}" for claim in experiment.claims]
    st.markdown("\n".join(["**What the paper states.**\n", *lines]))


def verdict(comparison: PaperComparison, outcome: Outcome) -> None:
    """Say in one sentence how ours and the reference agree, or that there is nothing to agree with."""
    if not comparison.compared:
        text = "There is no published number to set beside these"
        st.markdown(f"{text}. {runs.label(outcome)[:1].upper()}{runs.label(outcome)[1:]}.")
        return
    beyond, compared, reach = comparison.beyond(LEVEL), comparison.compared, comparison.reach(LEVEL)
    agreeing = compared - int(beyond.sum())
    differences = np.where(beyond, np.abs(comparison.difference) / np.where(reach > 0, reach, np.nan), np.nan)
    text = f"**{agreeing} of {compared} numbers** differ from the published ones by no more than chance allows"
    text += f" ({100 * LEVEL:.0f} % level)"
    if agreeing < compared and np.isfinite(differences).any():
        i, j = np.unravel_index(int(np.nanargmax(differences)), differences.shape)
        difference = style.minus(f"{comparison.difference[i, j]:+.3g}")
        far = f"{comparison.columns[j]} at {comparison.rows[i]}: {difference}"
        text += f"; the largest difference is {words.plain(far)} ± {comparison.joint_error[i, j]:.2g}"
    text += f". By chance alone about {(1 - LEVEL) * compared:.0f} would differ by more"
    rough = " With so few repetitions the standard errors are rough." if outcome.repetitions <= runs.SMALL else ""
    st.markdown(f"{text}. {runs.label(outcome)[:1].upper()}{runs.label(outcome)[1:]}.{rough}")


def numbers(experiment: Experiment, comparison: PaperComparison, outcome: Outcome) -> None:
    """Draw every number beside the reference, and the files to take away."""
    table = comparison.frame().rename(columns={"row": experiment.row_name}).dropna(axis="columns", how="all")
    two, name = st.column_config.NumberColumn, experiment.row_name
    label = name if len(name) <= LONGEST else name.partition(",")[0]
    st.dataframe(
        table,
        hide_index=True,
        height=300,
        alt="Every number of the run beside the reference",
        column_config={
            name: st.column_config.TextColumn(label, width=None if len(label) > LONGEST else "small", help=name),
            "ours": two("ours", format="%.4g"),
            "ours_error": two("± standard error", format="%.2g"),
            "reference": two("reference", format="%.4g"),
            "reference_error": two("± standard error ", format="%.2g"),
            "difference": two("difference", format="%+.3g"),
            "joint_error": two("± joint", format="%.2g"),
            "in_joint_errors": two("in joint errors", format="%+.1f"),
        },
    )
    st.caption(
        "Difference: ours minus the reference, with the standard error of both together. Where the paper gives no "
        "spread, ours is used for both. Chance is judged by Student's t: with few repetitions it allows more."
    )
    left, right, _ = st.columns([1, 1.4, 3])
    listings.take(lambda: runs.whole(experiment, outcome), experiment.key, "experiment_csv", place=left)
    right.download_button(
        "All samples as JSON", lambda: runs.as_json(experiment, outcome), f"{experiment.key}.json",
        "application/json", key="experiment_json", icon=":material/download:", on_click="ignore",
    )  # fmt: skip
