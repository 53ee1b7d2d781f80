"""The Experiments page: every registered experiment, ours beside the reference, runs that go on,
wait, end and are kept.
"""

import io
import json
import re
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mklcore import EXPERIMENTS
from mklcore.errors import cancellation_scope
from mklcore.figures import agreement_plot, comparison_plot
from mklcore.gallery.experiments import Experiment, Outcome
from mklcore.gallery.experiments.claims import (
    AGREES,
    Check,
    Claim,
    counted,
    published_answers,
)
from mklcore.gallery.experiments.records import record, records
from mklcore.io.launcher import HOME
from pages.experiments import runs
from pages.shared.private_streamlit import plain
from pages.shared.widgets import grids
from pages.shared.work import work
from tests.helpers.every import every
from tests.helpers.pages import PATIENCE, go, open_app, press, put, quiet, settled, upload, words
from tests.helpers.refusals import data_error, parameter_error

ROWS = ("first", "second")
COLUMNS = ("ours alone", "with a reference")


def measure(line):
    rng = np.random.default_rng([line.seed, ROWS.index(line.row), line.repetition])
    return (10.0 + rng.standard_normal(2)).tolist()


TINY = Experiment(
    key="tiny",
    title="A made experiment",
    paper="Nobody (2020), Table 1",
    did="Nothing.",
    claims=(
        Claim(
            "The mean of the second column is ten.",
            "Table 1",
            (Check("between", COLUMNS[1:], low=5.0, high=15.0),),
        ),
        Claim(
            "It is 90.",
            "Table 1",
            (Check("between", COLUMNS[1:], low=89.0, high=91.0),),
            why="Nobody measured it.",
        ),
    ),
    open_points="Everything.",
    row_name="row",
    rows=ROWS,
    columns=COLUMNS,
    unit="error in %",
    source="Table 1",
    numbers={"first": (np.nan, 10.0), "second": (np.nan, 11.0)},
    repetitions=16,
    measure=measure,
    spread={"first": (np.nan, 1.0), "second": (np.nan, 1.0)},
    floor=1.0,
    ordered=False,
    seconds=0.001,
)


ONCE = Outcome("tiny", ROWS, COLUMNS, np.ones((2, 1, 2)))


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "tiny", TINY)
    work.WORK.clear()
    return TINY


def page(**query):
    return open_app("pages/experiments/page.py", **query)


# Numbers


def test_differences_come_with_the_standard_error_of_both():
    samples = np.array([[[1.0, 9.0], [1.0, 11.0]], [[1.0, 13.0], [1.0, 15.0]]])
    found = TINY.compare(Outcome("tiny", ROWS, COLUMNS, samples))
    assert found.difference[:, 1] == pytest.approx([0.0, 3.0])
    assert found.ours_error[:, 1] == pytest.approx([1.0, 1.0])
    assert found.reference_error[:, 1] == pytest.approx([0.25, 0.25])
    assert found.joint_error[:, 1] == pytest.approx(np.sqrt([1.0625, 1.0625]))
    welch = (1.0 + 0.0625) ** 2 / (1.0 / 1 + 0.0625**2 / 15)
    assert found.freedom[:, 1] == pytest.approx([welch, welch])
    assert found.reach(0.95)[0, 1] == pytest.approx(stats.t.ppf(0.975, welch) * np.sqrt(1.0625))
    assert (int(found.beyond(0.95).sum()), int(found.beyond(0.5).sum())) == (0, 1)
    line = found.frame().iloc[3]
    assert (line["row"], line["column"], line["difference"]) == ("second", "with a reference", 3.0)


def test_a_run_is_foreseen_from_the_one_that_comes_with_the_project(monkeypatch):
    run = replace(ONCE, samples=np.ones((2, 3, 2)), seconds=42.0)
    strange = {"quick": True}, {"seconds": np.nan}
    cases = (run, "about 4 min"), *((replace(run, **one), "about 1 s") for one in strange)
    for given, said in cases:
        monkeypatch.setattr(runs, "recorded", lambda experiment, given=given: (given,))
        assert runs.foreseen(TINY, 16) == said
    monkeypatch.setattr(runs, "recorded", lambda experiment: (replace(run, quick=True),))
    assert runs.foreseen(TINY, runs.SMALL) == "about 28 s"


def test_an_unknown_spread_is_taken_to_be_ours_and_one_repetition_takes_theirs():
    def compare(experiment, *second):
        return experiment.compare(
            Outcome("tiny", ROWS[:1], COLUMNS, np.array([[[1.0, value] for value in second]]))
        )

    plain = replace(TINY, spread={})
    found = compare(plain, 8.0, 12.0)
    assert found.joint_error[0, 1] == pytest.approx(np.sqrt(8.0 / 2 + 8.0 / 16))
    assert np.isnan(found.reference_error).all()
    assert found.freedom[0, 1] == 1.0
    once = compare(TINY, 8.0)
    assert np.isnan(once.ours_error).all()
    assert once.joint_error[0, 1] == pytest.approx(np.sqrt(1.0 + 1 / 16))
    assert once.freedom[0, 1] == 15.0
    rounded = compare(plain, 10.3, 10.3 + 1e-9)
    assert rounded.beyond(0.95).sum() == 0
    with parameter_error("not one of tiny"):
        TINY.compare(Outcome("other", ROWS, COLUMNS, np.ones((2, 1, 2))))


def test_what_a_run_lacks_survives_json():
    missing = Outcome("tiny", ROWS[:1], COLUMNS, np.array([[[1.0, np.nan]]]))
    again = Outcome.from_json(missing.to_json())
    assert np.isnan(again.samples[0, 0, 1])
    assert np.isnan(again.seconds)


@pytest.mark.threads
@every("experiment", EXPERIMENTS.values())
def test_a_run_can_be_cancelled_within_a_repetition(experiment):
    """A repetition may take seconds, so every experiment that fits anything listens while it does."""

    def stop():
        raise InterruptedError

    row = next((row for row in experiment.rows if row not in experiment.files), None)
    if row is None or experiment.key == "lp_fig1":  # bounds are no fits
        return
    with cancellation_scope(stop), pytest.raises(InterruptedError):
        experiment.run(1, [row], quick=True)


GOOD = json.loads(ONCE.to_json())


@every("text", ["", "[1, 2]", "null", "{}", "{" * 100_000, json.dumps(GOOD | {"format": "another"}), json.dumps(GOOD | {"samples": 1}),  # noqa: E501
     json.dumps(GOOD | {"samples": [[[1, "x"]]]}), json.dumps(GOOD | {"samples": [[[1], [2, 3]]]}), "\x00\xff",
     json.dumps(GOOD | {"samples": [[[np.inf, 1.0]]] * 2}), json.dumps(GOOD | {"rows": ["first"] * 2}),
     json.dumps(GOOD | {"rows": 3}), json.dumps(GOOD | {"rows": ["a"]}), json.dumps(GOOD | {"seed": None}),
     json.dumps(GOOD | {"rows": ["a"] * 2000, "samples": [[[1, 2]]] * 2000}), " " * 5_000_001])  # fmt: skip
def test_a_file_that_is_no_outcome_is_refused(text):
    with data_error(r"outcome"):
        Outcome.from_json(text)


@every("experiment", EXPERIMENTS.values())
def test_every_experiment_can_be_drawn_before_it_is_run(experiment):
    for title, part in experiment.groups():
        figure = comparison_plot(
            experiment.alone(), part, y_title=title, row_name="row", ordered=experiment.ordered
        )
        assert "reference" in figure.layout.meta["alt"]
    assert sum(part.stop - part.start for _, part in experiment.groups()) == len(experiment.columns)
    assert experiment.source


def test_ours_is_filled_the_reference_hollow_and_lines_end_where_a_series_does():
    found = TINY.compare(TINY.run(4))
    figure = comparison_plot(
        found, slice(0, 2), y_title="error", row_name="row", ordered=False, floor=1.0
    )
    looks = {trace.name: trace for trace in figure.data}
    assert looks["with a reference"].marker.symbol == "circle"
    assert looks["with a reference, reference"].marker.symbol == "diamond-open"
    assert looks["with a reference"].error_x.array.tolist() == found.ours_error[:, 1].tolist()
    assert "unknown" not in figure.layout.meta["alt"]
    experiment = EXPERIMENTS["hkl_fig2"]
    found = experiment.compare(record("hkl_fig2"))
    figure = comparison_plot(
        found, slice(0, 3), y_title="error", row_name="p", marks=experiment.marks_of(found.rows)
    )
    (line,) = [trace for trace in figure.data if trace.name == "HKL"]
    assert np.flatnonzero(np.isnan(line.y)).tolist() == [6]  # between the two series
    assert line.y[np.isfinite(line.y)].tolist() == found.ours[:, 2].tolist()
    assert list(figure.layout.xaxis.ticktext) == ["4", "8", "16", "32", "64", "128"] * 2
    assert {"<b>as drawn</b>", "<b>rotated</b>"} <= {
        note.text for note in figure.layout.annotations
    }


def test_dots_of_agreement_are_cells_with_both_numbers_on_axes_of_one_kind():
    found = TINY.compare(TINY.run(4))
    figure = agreement_plot(found, slice(0, 2), title="error in %")
    diagonal, dots = figure.data
    assert list(diagonal.x) == list(diagonal.y)
    assert dots.name == "with a reference"
    assert np.array_equal(dots.x, found.reference[:, 1])
    assert np.array_equal(dots.y, found.ours[:, 1])
    assert np.array_equal(dots.error_y.array, found.ours_error[:, 1])
    assert figure.layout.xaxis.type is None
    assert "in 2 cells" in figure.layout.meta["alt"]
    wide = replace(TINY, numbers={"first": (np.nan, 0.1), "second": (np.nan, 11.0)})
    figure = agreement_plot(wide.compare(found.run), slice(0, 2), title="error in %")
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert "No cell has" in agreement_plot(found, slice(0, 1), title="u").layout.meta["alt"]


# The page


@every("key", [*EXPERIMENTS][::4])
def test_every_experiment_tells_its_story_before_it_is_run(key):
    app = page(experiment=key)
    experiment = EXPERIMENTS[key]
    said = words(app)
    for reported in (experiment.did, experiment.source, experiment.open_points):
        assert reported in said
    assert app.get("plotly_chart")
    assert not app.error


def test_what_the_paper_says_mostly_mostly_agrees_and_all_counts_are_the_same():
    said = words(page(experiment="lp_fig3"))
    assert "**Mostly agrees:** In the other scenarios" in said
    assert "15 of 20 comparisons agree, 2 disagree" in said
    (count,) = set(re.findall(r"(\d+) of 60 (?:numbers|comparisons)", said))
    assert f"**{count} of 60 numbers** are equal" in said


def test_an_unknown_experiment_is_reported_and_the_first_one_shown():
    app = page(experiment="nothing")
    assert "There is no experiment called nothing" in words(app)
    assert next(iter(EXPERIMENTS.values())).did in words(app)


def test_a_new_experiment_needs_no_page_and_a_small_run_is_compared_and_kept(tiny):
    app = page(experiment="tiny")
    assert "Only the reference is drawn so far" in words(app)
    assert "It is 90" in words(app)
    press(app, "run_small")
    said = words(settled(app))
    found = runs.kept("tiny")
    assert [outcome.repetitions for outcome in found] == [runs.SMALL]
    answers = published_answers(tiny.claims, tiny.compare(found[0]))
    assert (
        f"**{answers.count(AGREES)} of 2 numbers** are equal to the published ones up to chance"
        in said
    )
    assert "With so few repetitions the standard errors are rough" in said
    reported = [one.claim.sentence for one in tiny.judge(found[0])]
    assert [said.index(plain(sentence)) for sentence in reported] == sorted(
        said.index(plain(sentence)) for sentence in reported
    )
    counts = "0 of 2 agree; 1 disagrees; 1 difference is too small to call"
    assert f"**What the paper states, on its data: {counts}.**" in said
    assert plain("Why: Nobody measured it.") in said
    shown = app.dataframe[0].value
    assert shown["ours"].tolist() == [float(v) for v in tiny.compare(found[0]).ours.ravel()]
    other = page(experiment="tiny")  # made data is everybody's
    assert "so few repetitions" in words(other)
    put(app, "field_experiment_seed", 5)
    press(app, "run_small")
    settled(app)
    assert [outcome.seed for outcome in runs.kept("tiny")] == [5, 0]
    assert [box.label for box in app.selectbox] == ["Run", "Paper"]
    runs.keep(tiny.run(runs.SMALL + 1))
    runs.keep(tiny.run(runs.SMALL, seed=7))
    assert [outcome.repetitions for outcome in runs.kept("tiny")][:2] == [
        runs.SMALL + 1,
        runs.SMALL,
    ]


def test_a_small_run_stands_beside_the_record_and_never_replaces_it():
    experiment = EXPERIMENTS["greedy_rate"]
    kept = record("greedy_rate")
    small = replace(kept, samples=kept.samples[:, :2], quick=True)
    for run in (small, kept):  # the second is of the record's own size and seed
        runs.keep(run)
        app = page(experiment="greedy_rate")
        said = words(app)
        assert app.selectbox[0].value.to_json() == kept.to_json()
        assert app.selectbox[0].options[0] == f"On record: {runs.label(kept)}"
        assert f"- {runs.label(run)}: {counted(experiment.judge(run))}." in said
    assert f"**{plain('Jin, Yang, Mahdavi (2013)')}, as recorded**" in said
    assert plain(experiment.coverage(kept)) in said
    work.WORK.clear()


def test_a_run_is_judged_once_however_often_the_page_is_drawn(tiny, monkeypatch):
    judged = []
    judge = Experiment.judge
    monkeypatch.setattr(
        Experiment, "judge", lambda self, run: judged.append(run) or judge(self, run)
    )
    both = [TINY.run(count, seed=seed) for count, seed in ((3, 1), (2, 2))]
    for run in both:
        runs.keep(run)
    app = page(experiment="tiny")
    quiet(app.run())
    assert len(judged) == 2
    assert {id(run) for run in judged} == {id(run) for run in both}


def test_a_run_that_was_chosen_stays_chosen_and_is_not_listed_beside_itself():
    first, second = records("lp_fig3")
    app = page(experiment="lp_fig3")
    assert f"- {runs.label(first)}: " not in words(app)
    assert f"- {runs.label(second)}: " in words(app)
    quiet(app.selectbox[0].select_index(1).run())
    quiet(app.run())
    assert app.selectbox[0].index == 1
    assert f"- {runs.label(first)}: " in words(app)
    assert f"- {runs.label(second)}: " not in words(app)


def test_the_first_picture_is_ours_against_theirs_where_both_have_numbers():
    for key, both in (("hkl_table2", True), ("hkl_fig2", False)):
        app = page(experiment=key)
        assert len(app.get("plotly_chart")) == 1 + both
        assert ("On the line both are the same" in words(app)) is both


def test_what_was_found_survives_a_restart(home, tiny):
    for seed in (0, 5):
        app = page(experiment="tiny", experiment_seed=str(seed))
        press(app, "run_small")
        settled(app)
    strange = home / "experiments" / "tiny" / "9-9.json"
    strange.write_text('{"format": "mklcore experiment 9"}')
    before = runs.kept("tiny")
    assert [outcome.seed for outcome in before] == [5, 0]
    assert [outcome.repetitions for outcome in before] == [runs.SMALL] * 2
    assert all(outcome.seconds > 0 for outcome in before)
    work.WORK.clear()
    after = runs.kept("tiny")
    assert [outcome.to_json() for outcome in after] == [outcome.to_json() for outcome in before]


def test_only_the_newest_outcomes_stay_as_files(home, monkeypatch):
    monkeypatch.setenv(HOME, "off")
    runs.write_down(ONCE)
    monkeypatch.setenv(HOME, str(home))
    monkeypatch.setattr(runs, "MOST_KEPT", 2)
    for seed in (1, 2, 1, 3):
        runs.write_down(replace(ONCE, seed=seed))
    assert [path.name for path in runs._files("tiny")] == ["1-3.json", "1-1.json"]
    monkeypatch.setenv(HOME, str(home / "experiments" / "tiny" / "1-3.json"))
    runs.write_down(ONCE)  # nothing can be written: the run is kept in memory alone


def test_the_files_hold_every_number(tiny):
    found = tiny.run(3, seed=2)
    lines = pd.read_csv(io.StringIO(grids.csv(runs.whole(tiny, found))))
    assert lines["ours"].tolist() == pytest.approx(found.mean.ravel().tolist())
    assert set(lines["repetitions"]) == {3}
    again = runs.read(tiny, runs.as_json(tiny, found).encode())
    assert again.samples.tolist() == found.samples.tolist()
    with data_error("is about tiny"):
        runs.read(EXPERIMENTS["lp_fig3"], found.to_json().encode())


def test_an_opened_run_is_seen_by_its_session_alone(tiny):
    app = page(experiment="tiny")
    content = tiny.run(9, seed=3).to_json().encode()
    upload(app, content, "run.json", key="experiment_file_tiny")
    assert "9 repetitions, seed 3" in words(app)
    assert "9 repetitions" not in words(page(experiment="tiny"))
    upload(app, b"{}", "bad.json", key="experiment_file_tiny")
    assert "This is not an outcome of an experiment" in words(app)


# The long slot


@pytest.fixture
def gated(monkeypatch):
    """An experiment whose every measurement waits for the gate."""
    gate = threading.Event()

    def wait(line):
        assert gate.wait(PATIENCE)
        return measure(line)

    monkeypatch.setitem(EXPERIMENTS, "tiny", replace(TINY, measure=wait))
    work.WORK.clear()
    yield gate
    gate.set()


@pytest.mark.threads
def test_a_full_run_goes_on_beside_the_work_of_other_pages(gated):
    app = page(experiment="tiny")
    press(app, "run_full")
    assert app.button(key="run_full").disabled
    go(app, "pages/hulls/page.py")
    quiet(go(app, "pages/data/page.py"))
    (long,) = [task for task in work.WORK._tasks.values() if task.long]
    assert app.button(key="cancel_0")
    assert long.wanted_by
    gated.set()
    assert "of 2 numbers**" in words(go(settled(app), "pages/experiments/page.py"))
    assert runs.kept("tiny")[0].repetitions == TINY.repetitions


def test_no_more_than_the_newest_runs_are_kept(tiny):
    for seed in range(runs.MOST_KEPT + 3):
        runs.keep(replace(ONCE, seed=seed))
    kept = runs.kept("tiny")
    assert len(kept) == runs.MOST_KEPT
    assert kept[0].seed == runs.MOST_KEPT + 2
    runs.keep(replace(kept[3], seconds=1.0))
    assert len({outcome.seed for outcome in runs.kept("tiny")}) == runs.MOST_KEPT
