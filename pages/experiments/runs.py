"""Experiments: what was recorded, what runs here, and what it came to.

What was computed here is about made data: it is in everybody's, and in the folder for data, so that
a restart brings it back.
"""

import json
import logging
import math
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mklcore.errors import DataError, MKLError
from mklcore.figures import agreement_plot, comparison_plot
from mklcore.gallery.experiments import EXPERIMENTS, Experiment, Outcome, PaperComparison
from mklcore.gallery.experiments.base import SMALL
from mklcore.gallery.experiments.claims import (
    ABSENT,
    AGREES,
    DISAGREES,
    EQUAL,
    UNSAID,
    ClaimVerdict,
    by_data,
    counted,
    published_answers,
)
from mklcore.gallery.experiments.records import records
from pages.shared.private_streamlit import plain
from pages.shared.session import state
from pages.shared.session.disk_files import KeptFiles, NotKeptError, default_home
from pages.shared.widgets import controls, drawing, grids
from pages.shared.work import work

MOST_KEPT = 8
MOST_BYTES = 2**24  # of a file


def by_paper() -> dict[str, list[str]]:
    """Return the keys of the experiments, grouped by the paper they are from."""
    papers: dict[str, list[str]] = {}
    for key, experiment in EXPERIMENTS.items():
        papers.setdefault(experiment.article, []).append(key)
    return papers


# What is kept


def keep(outcome: Outcome, own: bool = False) -> None:
    """Keep an outcome, the newest first; an earlier one of the same size and seed is replaced.

    ``own``: it came from a file of this session, so it is this session's; what was computed here is
    everybody's.
    """
    name = _list(outcome.key, own)
    known = work.now(name, lambda: () if own else _written(outcome.key))
    work.drop(name)
    work.now(
        name, lambda: (outcome, *(old for old in known if _name(old) != _name(outcome)))[:MOST_KEPT]
    )


def kept(key: str) -> tuple[Outcome, ...]:
    """Return the outcomes of one experiment: the record that comes with the project, which nothing
    replaces; those this session opened and those computed here, the newest first and small runs
    last; then the small record.
    """
    mine = (*work.now(_list(key, True), tuple), *work.now(_list(key, False), lambda: _written(key)))
    given = recorded(EXPERIMENTS[key])
    ours = sorted(mine, key=lambda one: one.repetitions <= SMALL)
    return (*given[:1], *ours, *given[1:])


@lru_cache(maxsize=64)
def recorded(experiment: Experiment) -> tuple[Outcome, ...]:
    """Return the runs that come with the project, the largest first."""
    return records(experiment.key)


@lru_cache(maxsize=64)
def _on_record(experiment: Experiment) -> tuple[str, list[ClaimVerdict]]:
    """Return what the record covers of the paper's table, and its verdicts."""
    given = recorded(experiment)
    if not given:
        return f"{experiment.place}: no run comes with the project.", []
    return experiment.coverage(given[0]), judged(experiment, given[0])


@lru_cache(maxsize=64)
def judged(experiment: Experiment, outcome: Outcome) -> list[ClaimVerdict]:
    """Return what a run says of the claims of the paper, judged once."""
    return experiment.judge(outcome)


def _list(key: str, own: bool) -> tuple[str, str, str]:
    return "experiments", key, work.mine() if own else ""


def _written(key: str) -> tuple[Outcome, ...]:
    """Return what earlier starts of the server wrote down."""
    return tuple(one for file in _files(key) if (one := _read_file(key, file)) is not None)


def write_down(outcome: Outcome) -> None:
    """Keep an outcome beyond a restart as a file, where the server keeps anything, and the newest
    of them alone.
    """
    if default_home() is None:
        return
    try:
        _folder(outcome.key).keep(
            f"{outcome.repetitions}-{outcome.seed}.json", outcome.to_json().encode()
        )
    except NotKeptError as error:
        logging.getLogger(__name__).warning("The run is not kept for a restart: %s", error)


def _folder(key: str) -> KeptFiles:
    return KeptFiles(f"experiments/{key}", re.compile(r"\d+-\d+\.json"), MOST_KEPT, MOST_BYTES)


def _files(key: str) -> list[Path]:
    """Return the files of an experiment, the newest first."""
    return [] if default_home() is None else _folder(key).files()


def _read_file(key: str, file: Path) -> Outcome | None:
    try:
        return read(EXPERIMENTS[key], _folder(key).read(file))
    except (OSError, MemoryError, MKLError) as error:
        # damaged, of another release, or not to be read now
        logging.getLogger(__name__).warning(
            "The run %s is left out, and left where it is: %s", file, error
        )
    return None


def _name(outcome: Outcome) -> tuple[Any, ...]:
    return outcome.rows, outcome.repetitions, outcome.seed


def is_same(one: Outcome, other: Outcome) -> bool:
    """Tell whether two are the same run: what a person chose from a list comes back as a copy."""
    return _name(one) == _name(other) and np.array_equal(one.samples, other.samples, equal_nan=True)


def read(experiment: Experiment, content: str | bytes) -> Outcome:
    """Read an outcome that was downloaded before. Raises ``MKLError``."""
    outcome = Outcome.from_json(content)
    if outcome.key != experiment.key:
        raise DataError(
            f"The file is about {outcome.key[:40]}, and this is {experiment.key}. Choose "
            "that experiment first."
        )
    experiment.compare(outcome)
    return outcome


# Runs


def ask(experiment: Experiment, repetitions: int, seed: int) -> None:
    """Have an experiment run: a small run while its page is looked at, a full one whatever page is."""
    state.memory().experiment_run = experiment.key, repetitions, seed
    work.drop(("experiment", state.memory().experiment_run))


def run() -> work.Found | None:
    """Return the run that this session asked for last, or how far it is; None where it asked for
    none.
    """
    asked = state.memory().experiment_run
    if asked is None or asked[0] not in EXPERIMENTS:
        return None
    experiment, (_, repetitions, seed) = EXPERIMENTS[asked[0]], asked
    count = len(_rows(experiment, repetitions)) * repetitions
    quick = repetitions <= SMALL

    def make(progress: Callable[..., None]) -> Outcome:
        outcome = experiment.run(
            repetitions,
            seed=seed,
            quick=quick,
            callback=lambda done, total: progress(done / total, f"{done} of {count}"),
        )
        keep(outcome)
        write_down(outcome)
        return outcome

    seconds = _seconds(experiment, repetitions)
    found = work.get(
        ("experiment", asked), make, title="Experiment", seconds=seconds, long=not quick
    )
    if isinstance(found, work.Ready):
        state.memory().experiment_run = None
    return found


def _rows(experiment: Experiment, repetitions: int) -> tuple[str, ...]:
    """Return the rows of a run of that size, or of one whose files are missing: it says so when it
    is asked for.
    """
    quick = repetitions <= SMALL
    return experiment.rows_on_disk(None, quick) or (quick and experiment.quick) or experiment.rows


def foreseen(experiment: Experiment, repetitions: int) -> str:
    """Return how long a run takes on one core, roughly: as long as the one that comes with the
    project, line by line.
    """
    return f"about {work.duration(_seconds(experiment, repetitions))}"


def _seconds(experiment: Experiment, repetitions: int) -> float:
    """Return the seconds of the processor for a run of that size."""
    quick = repetitions <= SMALL
    each = experiment.seconds
    for run in recorded(experiment):
        if run.quick == quick and math.isfinite(run.seconds):
            each = run.seconds / run.samples[:, :, 0].size
            break
    return each * len(_rows(experiment, repetitions)) * repetitions


# Numbers


def label(outcome: Outcome) -> str:
    """Return what a run is called in a list."""
    return f"{outcome.size}, seed {outcome.seed}{', ' * bool(outcome.took)}{outcome.took}"


def in_list(outcome: Outcome) -> str:
    """Return what a run is called in the list of all, where the record says that it is one."""
    on_record = any(is_same(outcome, one) for one in recorded(EXPERIMENTS[outcome.key]))
    return f"{'On record: ' * on_record}{label(outcome)}"


def whole(experiment: Experiment, outcome: Outcome) -> pd.DataFrame:
    """Return the table of a run with its comparison and how it was made."""
    table = experiment.compare(outcome).frame().rename(columns={"row": experiment.row_name})
    return table.assign(repetitions=outcome.repetitions, seed=outcome.seed)


def as_json(experiment: Experiment, outcome: Outcome) -> str:
    """Return every sample of a run as JSON, which this page opens again."""
    content = json.loads(outcome.to_json())
    return json.dumps(
        content | {"paper": experiment.paper, "unit": experiment.unit}, ensure_ascii=False, indent=1
    )


# What it came to


LONGEST = 20  # letters at the head of the first column
SAID = {
    AGREES: "Agrees",
    EQUAL: "Equal",
    DISAGREES: "Disagrees",
    UNSAID: "Too small to call",
    ABSENT: "No number",
}
ICONS = {
    AGREES: ":material/check:",
    EQUAL: ":material/equal:",
    DISAGREES: ":material/close:",
    UNSAID: ":material/question_mark:",
    ABSENT: ":material/remove:",
}


def counts(experiment: Experiment) -> None:
    """Draw what the records hold of the whole paper, a line per table or figure: the verdicts on
    the paper's data, and those on stand-ins apart.
    """
    lines = []
    for key in by_paper()[experiment.article]:
        covered, verdicts = _on_record(EXPERIMENTS[key])
        line = f"- {plain(covered)}"
        for heading, some in by_data(verdicts):
            line += f" {heading}: {counted(some)}." if some else ""
        lines.append(line)
    st.markdown("\n".join([f"**{plain(experiment.article)}, as recorded**\n", *lines]))


def agreement(experiment: Experiment, comparison: PaperComparison) -> None:
    """Draw ours against the published numbers, a dot per cell, where there are any."""
    title, part = _panel(experiment)
    if not np.isfinite(comparison.difference[:, part]).any():
        return
    figure = agreement_plot(comparison, part, title=title, dark=drawing.is_dark())
    drawing.show(figure, "agreement_figure")
    st.caption(
        "One dot per cell, with one standard error of ours and of the reference. On the line both "
        "are the same."
    )


def beside(experiment: Experiment, shown: Outcome) -> None:
    """Draw what other runs say than the one that is shown, a line each."""
    others = [run for run in kept(experiment.key) if run is not shown]
    lines = [f"- {label(run)}: {counted(judged(experiment, run))}." for run in others]
    if lines:
        st.markdown("\n".join(["**Other runs, beside it**\n", *lines]))


def _panel(experiment: Experiment) -> tuple[str, slice]:
    """Return the group of columns that is looked at."""
    panels = experiment.groups()
    return panels[min(state.current().experiment_panel, len(panels) - 1)]


def panels(experiment: Experiment) -> None:
    """Draw the choice of a group of columns, where there are several."""
    panels = experiment.groups()
    if len(panels) > 1:
        controls.field_view(
            "Measured",
            "experiment_panel",
            kind=st.segmented_control,
            options=range(len(panels)),
            required=True,
            format_func=lambda k: panels[k][0],
            to=lambda k: min(k, len(panels) - 1),
            label_visibility="collapsed",
        )


def picture(experiment: Experiment, comparison: PaperComparison) -> None:
    """Draw ours and the reference over the rows, one group of columns at a time."""
    title, part = _panel(experiment)
    floor = experiment.floor if part.start == 0 else None
    figure = comparison_plot(
        comparison,
        part,
        y_title=title,
        row_name=experiment.mark_name or experiment.row_name,
        ordered=experiment.ordered,
        floor=floor,
        marks=experiment.marks_of(comparison.rows),
        dark=drawing.is_dark(),
    )
    drawing.show(figure, "experiment_figure")
    beaten = "" if floor is None else " Dotted: the error no method can beat."
    st.caption(f"Filled: ours, with one standard error. Hollow: the reference.{beaten}")


def claims(experiment: Experiment, outcome: Outcome) -> None:
    """Draw what the paper states, each claim with what this run says of it; what disagrees stands
    first.
    """
    for heading, verdicts in by_data(judged(experiment, outcome)):
        if verdicts:
            lines = map(_line, verdicts)
            st.markdown("\n".join([f"**{heading}: {counted(verdicts)}.**\n", *lines]))


def _line(one: ClaimVerdict) -> str:
    sentence = f"**{said_of(one)}:** {plain(one.claim.sentence)}"
    return f"- {ICONS[one.answer]} {sentence}  \n  {plain(one.figures)}"


def said_of(one: ClaimVerdict) -> str:
    """What a run says of a claim; where the paper says "mostly", some comparisons may disagree."""
    return "Mostly agrees" if one.claim.mostly and one.answer == AGREES else SAID[one.answer]


def stated(experiment: Experiment) -> None:
    """Draw what the paper states, where there is no run to judge it by."""
    lines = [f"- {plain(claim.sentence)}" for claim in experiment.claims]
    st.markdown("\n".join(["**What the paper states.**\n", *lines]))


def verdict(experiment: Experiment, comparison: PaperComparison, outcome: Outcome) -> None:
    """Say in one sentence how many numbers are equal to the printed ones up to chance, judged as
    claims are.
    """
    run = f"{label(outcome)[:1].upper()}{label(outcome)[1:]}"
    answers = published_answers(experiment.claims, comparison)
    if not answers:
        st.markdown(f"There is no published number to set beside these. {run}.")
        return
    equal, apart, open_ = (answers.count(one) for one in (AGREES, DISAGREES, UNSAID))
    text = f"**{equal} of {len(answers)} numbers** are equal to the published ones up to chance"
    text += f", {open_} are too rough to tell" * (open_ > 0)
    if apart:
        text += f", {apart} differ{'s' * (apart == 1)}"
    rough = (
        " With so few repetitions the standard errors are rough."
        if outcome.repetitions <= SMALL
        else ""
    )
    st.markdown(f"{text}. {run}.{rough}")


def numbers(experiment: Experiment, comparison: PaperComparison, outcome: Outcome) -> None:
    """Draw every number beside the reference, and the files to take away."""
    table = (
        comparison.frame()
        .rename(columns={"row": experiment.row_name})
        .dropna(axis="columns", how="all")
    )
    two = st.column_config.NumberColumn
    name = experiment.row_name
    label = name if len(name) <= LONGEST else name.partition(",")[0]
    st.dataframe(
        table,
        hide_index=True,
        height=300,
        alt="Every number of the run beside the reference",
        column_config={
            name: st.column_config.TextColumn(
                label, width=None if len(label) > LONGEST else "small", help=name
            ),
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
        "Difference: ours minus the reference, with the standard error of both together. "
        "Where the paper gives no spread, ours is used for both. Chance is judged by "
        "Student's t: with few repetitions it allows more."
    )
    left, right, _ = st.columns([1, 1.4, 3])
    grids.take(lambda: whole(experiment, outcome), experiment.key, "experiment_csv", place=left)
    samples = lambda: as_json(experiment, outcome)  # noqa: E731
    name = f"{experiment.key}.json"
    controls.download("All samples as JSON", samples, name, "experiment_json", right)


# The sidebar


def _briefly(article: str) -> str:
    """Return an article by its first author where it has more than two."""
    authors, _, year = article.rpartition(" ")
    return f"{authors.split(',')[0]} et al. {year}" if authors.count(",") > 1 else article


def draw_sidebar() -> None:
    """Draw them."""
    papers, shown = (
        by_paper(),
        EXPERIMENTS.get(state.current().experiment, next(iter(EXPERIMENTS.values()))),
    )
    controls.view(
        st.selectbox,
        "Paper",
        "paper",
        shown.article,
        lambda paper: state.change(experiment=papers[paper][0]),
        options=list(papers),
        format_func=_briefly,
    )
    keys = papers[shown.article]
    controls.field_view(
        "Experiment",
        "experiment",
        kind=st.radio,
        options=keys,
        format_func=lambda key: EXPERIMENTS[key].place,
        captions=[EXPERIMENTS[key].title for key in keys],
        to=lambda key: key if key in keys else keys[0],
    )
    controls.field_view("Seed", "experiment_seed")
    st.caption("Another seed: other made data, and numbers that differ by their standard errors.")
