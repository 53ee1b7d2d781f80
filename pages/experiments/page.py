"""Experiments: what the papers did and found, and the same done again beside it."""

import streamlit as st

from mklcore.errors import MKLError
from mklcore.gallery.experiments import EXPERIMENTS, Experiment, Outcome
from pages.experiments import runs
from pages.shared.private_streamlit import plain
from pages.shared.session import state
from pages.shared.work.work import Failed, Pending

UPLOAD_MB = 2


def buttons(experiment: Experiment) -> None:
    """Draw the two ways to run it, and how the last run ended if it did not end well."""
    seed = state.current().experiment_seed
    run = runs.run()
    busy = isinstance(run, Pending)
    small, full, note = st.columns([2.4, 2.8, 4], vertical_alignment="center")
    whole = experiment.repetitions
    one_core = "The time is that of the processor on one core."
    for place, size, label, key, said in (
        (small, runs.SMALL, "Run small", "run_small", "repetitions of every row."),
        (
            full,
            whole,
            "Run full size",
            "run_full",
            "repetitions, in the background: it goes on while you use the other pages.",
        ),
    ):
        place.button(
            f"{label} ({runs.foreseen(experiment, size)})",
            key=key,
            type="primary" if place is small else "secondary",
            on_click=runs.ask,
            args=(experiment, size, seed),
            disabled=busy,
            help=f"{size} {said} {one_core}",
        )
    if busy:
        note.caption("A run is on its way; its progress is at the top of every page.")
    elif isinstance(run, Failed):
        note.warning(plain(run.sentence))


def outcome_of(experiment: Experiment) -> Outcome | None:
    """Draw the list of runs that are kept, if there are several, and return the one to show."""
    kept = runs.kept(experiment.key)
    if len(kept) < 2:
        return kept[0] if kept else None
    chosen = st.selectbox(
        "Run",
        kept,
        format_func=runs.in_list,
        key=f"run_{experiment.key}_{runs.label(kept[0])}",
        width=380,
        help=(
            "The record that comes with the project stands first, and no other run replaces it. "
            "CPU s: seconds of the processor, summed over all processes."
        ),
    )
    return next(run for run in kept if runs.is_same(run, chosen))


def reopen(experiment: Experiment) -> None:
    """Draw the place for a run that was downloaded before."""
    box = st.expander("Open a run you downloaded", icon=":material/upload_file:")
    file = box.file_uploader(
        "JSON of a run",
        type=["json"],
        key=f"experiment_file_{experiment.key}",
        max_upload_size=UPLOAD_MB,
    )
    if file is None or state.memory().experiment_file == file.file_id:
        return
    if refused := state.refusal(file):
        box.error(refused)
        return
    state.memory().experiment_file = file.file_id
    try:
        runs.keep(runs.read(experiment, file.getvalue()), own=True)
    except MKLError as error:
        box.error(plain(error))
    else:
        state.rerun()


def show(experiment: Experiment) -> None:
    """Draw the experiment: what it is, how to run it, and what came out."""
    st.subheader(experiment.title, anchor=False)
    runs.counts(experiment)
    buttons(experiment)
    outcome = outcome_of(experiment)
    comparison = experiment.alone() if outcome is None else experiment.compare(outcome)
    runs.panels(experiment)
    runs.agreement(experiment, comparison)
    if outcome is None:
        runs.picture(experiment, comparison)
        st.caption("Only the reference is drawn so far. Run the experiment to see ours beside it.")
        runs.stated(experiment)
    else:
        runs.claims(experiment, outcome)
        runs.beside(experiment, outcome)
        runs.picture(experiment, comparison)
        runs.verdict(experiment, comparison, outcome)
        for reason in experiment.reasons(comparison):
            st.markdown(f"**Beyond chance:** {plain(reason)}")
        runs.numbers(experiment, comparison, outcome)
    st.markdown(f"**What the paper did.** {experiment.did}")
    st.caption(f"Reference numbers: {experiment.source}.")
    st.markdown(f"**What it leaves open, and how that is settled here.** {experiment.open_points}")
    reopen(experiment)


try:
    with st.sidebar:
        runs.draw_sidebar()
    asked = EXPERIMENTS.get(state.current().experiment)
    if asked is None:
        name = plain(state.current().experiment)
        st.warning(f"There is no experiment called {name}. The first one is shown.")
    show(asked or next(iter(EXPERIMENTS.values())))
except MKLError as error:
    st.error(plain(error))
