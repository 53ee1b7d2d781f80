"""Experiments: what the papers did and found, and the same done again beside it."""

# ruff: noqa: E402  the door comes first

from pages._parts.session import nav

nav.through_app()

import numpy as np
import streamlit as st

from mklcore.errors import MKLError
from mklcore.experiments import EXPERIMENTS, Comparison, Experiment, Outcome
from mklcore.figures import comparison_plot
from pages._parts.drawing import charts, listings
from pages._parts.experiments import work
from pages._parts.session import board, fields, history, words
from pages._parts.session.memory import memory

UPLOAD_MB = 2
LEVEL = 0.95


def rail() -> None:
    """Draw which paper, which experiment of it, and with which seed."""
    papers, shown = work.by_paper(), EXPERIMENTS.get(history.current().experiment, next(iter(EXPERIMENTS.values())))
    fields.view(
        st.selectbox, "Paper", "paper", shown.article, lambda paper: history.change(experiment=papers[paper][0]),
        options=list(papers),
    )  # fmt: skip
    keys = papers[shown.article]
    fields.field_view(
        st.radio, "Experiment", "experiment", options=keys, format_func=lambda key: EXPERIMENTS[key].place,
        captions=[EXPERIMENTS[key].title for key in keys], to=lambda key: key if key in keys else keys[0],
    )  # fmt: skip
    fields.field_view(st.number_input, "Seed", "experiment_seed", min_value=0, max_value=9999, step=1)
    st.caption("Another seed: other made data, and numbers that differ by their standard errors.")


def story(experiment: Experiment) -> None:
    """Draw what the paper did and reports."""
    did, reports = st.columns(2, gap="large")
    did.markdown(f"**What the paper did.** {experiment.did}")
    reports.markdown("**What it reports.**\n" + "\n".join(f"- {words.plain(claim)}" for claim in experiment.claims))
    st.caption(f"Reference numbers: {experiment.source}.")


def buttons(experiment: Experiment) -> None:
    """Draw the two ways to run it, and how the last run ended if it did not end well."""
    seed, busy = history.current().experiment_seed, work.running()
    small, full, note = st.columns([2.4, 2.8, 4], vertical_alignment="center")
    small.button(
        f"Run small ({work.foreseen(experiment, work.SMALL)})", key="run_small", type="primary",
        on_click=work.ask, args=(experiment, work.SMALL, seed), disabled=busy,
        help=f"{work.SMALL} repetitions of every row. The time is that of an idle machine.",
    )  # fmt: skip
    full.button(
        f"Run full size ({work.foreseen(experiment, experiment.repetitions)})", key="run_full",
        on_click=work.ask, args=(experiment, experiment.repetitions, seed), disabled=busy,
        help=f"{experiment.repetitions} repetitions, in the background: it goes on while you use the other pages. "
        "The time is that of an idle machine.",
    )  # fmt: skip
    run = work.progress(experiment)
    if busy:
        note.caption("A run is on its way; its progress is at the top of every page.")
    elif run is not None and run.error:
        note.warning(f"The run {board.ending(run)}")
    elif run is not None and run.broke_off:
        note.caption(f"The last run {board.ending(run)}")


def outcome_of(experiment: Experiment) -> Outcome | None:
    """Draw the list of runs that are kept, if there are several, and return the one to show."""
    kept = work.kept(experiment.key)
    if len(kept) < 2:
        return kept[0] if kept else None
    return st.selectbox(
        "Run", kept, format_func=work.label, key=f"run_{experiment.key}_{work.label(kept[0])}", width=320
    )


def picture(experiment: Experiment, comparison: Comparison) -> None:
    """Draw ours and the reference, one group of columns at a time."""
    panels, place = experiment.groups(), history.current().experiment_panel
    if len(panels) > 1:
        fields.field_view(
            st.segmented_control, "Measured", "experiment_panel", options=range(len(panels)), required=True,
            format_func=lambda k: panels[k][0], to=lambda k: min(k, len(panels) - 1), label_visibility="collapsed",
        )  # fmt: skip
    title, part = panels[min(place, len(panels) - 1)]
    floor = [experiment.floor[experiment.rows.index(row)] for row in comparison.rows] if experiment.floor else None
    figure = comparison_plot(
        comparison, part, y_title=title, row_name=experiment.row_name, ordered=experiment.ordered,
        floor=floor if part.start == 0 else None, dark=charts.is_dark(),
    )  # fmt: skip
    charts.show(figure, "experiment_figure")
    st.caption("Filled: ours, with one standard error. Hollow: the reference. Dotted: the error no method can beat.")


def verdict(comparison: Comparison, outcome: Outcome) -> None:
    """Say in one sentence how ours and the reference agree, or that there is nothing to agree with."""
    if not comparison.compared:
        told = "There is no published number to set beside these"
        st.markdown(f"{told}. {work.label(outcome)[:1].upper()}{work.label(outcome)[1:]}.")
        return
    agreeing, compared, reach = comparison.agreeing(LEVEL), comparison.compared, comparison.reach(LEVEL)
    differences = np.abs(comparison.difference) / np.where(reach > 0, reach, np.nan)
    told = f"**{agreeing} of {compared}** numbers differ from the reference by no more than chance allows"
    told += f" at the {100 * LEVEL:.0f} % level"
    if agreeing < compared and np.isfinite(differences).any():
        i, j = np.unravel_index(int(np.nanargmax(differences)), differences.shape)
        far = f"{comparison.columns[j]} at {comparison.rows[i]}: {comparison.difference[i, j]:+.3g}"
        told += f"; the farthest is {words.plain(far)} ± {comparison.joint_error[i, j]:.2g}"
    told += f". About {(1 - LEVEL) * compared:.0f} would lie outside if nothing but chance were at work"
    rough = " So few repetitions leave the standard errors rough." if outcome.repetitions <= work.SMALL else ""
    st.markdown(f"{told}. {work.label(outcome)[:1].upper()}{work.label(outcome)[1:]}.{rough}")


def numbers(experiment: Experiment, comparison: Comparison, outcome: Outcome) -> None:
    """Draw every number beside the reference, and the files to take away."""
    table = work.frame(experiment, comparison).dropna(axis="columns", how="all")
    two = st.column_config.NumberColumn
    st.dataframe(
        table,
        hide_index=True,
        height=300,
        alt="Every number of the run beside the reference",
        column_config={
            experiment.row_name: st.column_config.TextColumn(width="small"),
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
        "Difference: ours minus the reference, with the standard error of both together. Where the reference does not tell "
        "its spread, it is taken to be ours. Chance is judged by Student's t, which is generous to few repetitions."
    )
    left, right, _ = st.columns([1, 1.4, 3])
    listings.take(lambda: work.whole(experiment, outcome), experiment.key, "experiment_csv", place=left)
    right.download_button(
        "All samples as JSON", lambda: work.as_json(experiment, outcome), f"{experiment.key}.json",
        "application/json", key="experiment_json", icon=":material/download:", on_click="ignore",
    )  # fmt: skip


def reopen(experiment: Experiment) -> None:
    """Draw the place for a run that was downloaded before."""
    box = st.expander("Open a run you downloaded", icon=":material/upload_file:")
    file = box.file_uploader(
        "JSON of a run", type=["json"], key=f"experiment_file_{experiment.key}", max_upload_size=UPLOAD_MB
    )
    if file is None or memory().experiment_file == file.file_id:
        return
    memory().experiment_file = file.file_id
    try:
        work.keep(work.read(experiment, file.getvalue()), work.opened())
    except MKLError as error:
        box.error(words.plain(error))
    else:
        history.rerun()


def show(experiment: Experiment) -> None:
    """Draw the experiment: what it is, how to run it, and what came out."""
    st.subheader(experiment.title, anchor=False)
    buttons(experiment)
    outcome = outcome_of(experiment)
    comparison = experiment.alone() if outcome is None else experiment.compare(outcome)
    picture(experiment, comparison)
    if outcome is None:
        st.caption("Only the reference is drawn so far. Run the experiment to see ours beside it.")
    else:
        verdict(comparison, outcome)
        numbers(experiment, comparison, outcome)
    story(experiment)
    st.markdown(f"**What it leaves open, and how that is settled here.** {experiment.open_points}")
    reopen(experiment)


with st.sidebar:
    rail()
asked = EXPERIMENTS.get(history.current().experiment)
if asked is None:
    st.warning(f"There is no experiment called {words.plain(history.current().experiment)}. The first one is shown.")
try:
    show(asked or next(iter(EXPERIMENTS.values())))
except MKLError as error:
    st.error(words.plain(error))
