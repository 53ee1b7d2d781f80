"""Explore without a browser: the sentence, one measure, what is left out, the cursor, what is asked
for, refusals.
"""

import io
import json
import threading
from collections import Counter
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

import mklcore as mkl
from mklcore.answer.candidates import Request
from mklcore.answer.exploration import Exploration
from mklcore.answer.verdict import rounded
from mklcore.figures import captions, style
from mklcore.figures.captions import behind_best
from pages.explore import errors, pictures, questions
from pages.shared.export import files, saved, scripts
from pages.shared.private_streamlit import plain
from pages.shared.session import parameters
from pages.shared.session.parameters import METHODS, Params
from pages.shared.values import answers, tables
from pages.shared.widgets import drawing
from pages.shared.work.work import Failed, Pending, PendingError, Ready
from tests.helpers.every import every
from tests.helpers.pages import (
    FEW,
    answer_of,
    csv,
    go,
    in_session,
    memory,
    open_app,
    press,
    put,
    quiet,
    shown_players,
    table,
    upload,
    wait_until,
    words,
)

EXPLORE = "pages/explore/page.py"
SAMPLES = {
    "regression": "diabetes",
    "binary": "mkl_toy_sparse",
    "multiclass": "iris",
    "novelty": "ring",
}


def explore(**query):
    return open_app(EXPLORE, **query)


def component(app, kind, **holds):
    """What the browser was sent for a player."""
    return next(data for data in shown_players(app, kind) if holds.items() <= data.items())


@every("task", ["regression", "multiclass"])
def test_the_screen_says_what_the_library_found_and_ranks_by_one_measure(task):
    app = explore(data=SAMPLES[task])
    with threadpool_limits(1):
        found = mkl.explore(mkl.load_sample(SAMPLES[task])).compare()
    chance = found.could_be_chance
    said = found.verdict.sentence(
        lambda name: f"**{plain(name)}**", plain(mkl.SAMPLES[SAMPLES[task]].label)
    )
    assert said in words(app)
    bars = component(app, "path_bars", set="columns")
    shown = [one.name for one in found.columns][:12]
    assert bars["names"][: len(shown)] == shown
    assert bars["numbers"][found.index][: len(shown)] == [
        style.number(one.effect, digits=2) for one in found.columns[:12]
    ]
    assert_allclose(
        bars["weights"][found.index][: len(shown)],
        [one.share for one in found.columns[:12]],
        atol=1e-4,
    )
    assert bars["ticked"] == bars["index"] == found.index
    grey = max(
        set(bars["colours"]),
        key=lambda hue: hue in [bars["colours"][shown.index(n)] for n in shown if chance[n]],
    )
    assert [bars["colours"][k] == grey for k in range(len(shown))] == [
        chance[name] for name in shown
    ]
    assert f"({sum(chance.values())} of {len(chance)})" in words(app)
    assert ("Learned from 112 rows, 38 held out" in words(app)) is (task == "multiclass")
    assert "✓ solved to" in words(app)
    assert {"linear", "RBF machine", "random forest", "gradient boosting"} <= set(
        app.table[0].value.index
    )


@every("task, look", [*product(SAMPLES, ["path"]), ("regression", "inside"), ("novelty", "inside")])
def test_every_look_is_drawn_for_every_task(task, look):
    app = explore(data=SAMPLES[task], look=look)
    charts = app.get("plotly_chart")
    drawn = shown_players(app, "path_chart") if look == "path" else charts
    assert len(drawn) >= (1 if task == "novelty" else 2)
    assert all(chart.proto.alt for chart in charts)
    assert ("**Errors** at" in words(app)) is (look == "inside" and task != "novelty")


def counting(monkeypatch, module, *names):
    """How many times functions of a module are called from now on."""
    calls = Counter()
    for name in names:
        function = getattr(module, name)

        def counted(*parts, name=name, function=function, **how):
            calls[name] += 1
            return function(*parts, **how)

        monkeypatch.setattr(module, name, counted)
    return calls


def test_the_pictures_inside_a_model_are_made_once_for_a_point(monkeypatch):
    made = []
    draw = pictures.surface_plot
    monkeypatch.setattr(
        pictures,
        "surface_plot",
        lambda surface, *parts, **how: made.append(surface.columns) or draw(surface, *parts, **how),
    )
    calls = counting(monkeypatch, pictures, "reliability", "confusion_figure", "gram_heatmap")
    app = explore(data=SAMPLES["multiclass"], look="inside", seed="7", over="2,3")
    app.run()
    assert made == [(1, 2)]
    put(app, "field_over_0", 3)
    assert made == [(1, 2), (3, 2)]
    assert calls == {"reliability": 1, "confusion_figure": 1, "gram_heatmap": 1}


def test_where_there_is_no_sign_of_a_relation_nothing_is_ranked_and_what_could_help_is_said(rng):
    numbers = {f"x{j}": rng.standard_normal(90).round(4) for j in range(3)}
    people = [f"person {k}" for k in range(90)]
    content = csv({**numbers, "who": people, "y": rng.integers(0, 2, 90)})
    app = go(upload(open_app(), content), EXPLORE)
    assert "no sign of a relation" in words(app)
    assert "What could help" in words(app)
    assert "matter most" not in words(app)
    with pytest.raises(StopIteration):
        component(app, "path_bars", set="columns")
    assert "Not used: 'who'" in words(app)
    press(app, "use_0")
    assert memory(app).params.uses == "4c"
    put(app, "field_explore_target", "x1")
    assert "Predicting **x1** in table\\.csv" in words(app)


def test_a_point_between_two_is_solved_and_told_from_the_chosen_one():
    app = explore(data="diabetes", at="0.7")
    found = answer_of(app)
    point = found.at(0.7)
    player = component(app, "path_player")
    share = found.effects_of(point.estimators)[0]
    assert_allclose(player["exact"]["sets"]["columns"][0:10], share / share.sum(), atol=1e-4)
    chosen, other = (float(found.path.values[k]) for k in (found.index, found.index - 1))
    assert (
        f"You look at C = 0.7; the sentence is about C = {chosen:.3g}, which folds chose"
        in words(app)
    )
    put(app, "exact_C", other)
    assert component(app, "path_player")["exact"] is None
    assert f"You look at C = {other:.3g}" in words(app)


@every("at", [0, 0.7])
def test_the_words_about_a_column_follow_the_cursor(at):
    found = answer_of(explore(data="diabetes"))
    value = at or float(found.path.values[0])
    effects = found.effects_of(found.at(value).estimators)[0] if at else found.effects_along[0]
    name = found.columns[1].name
    app = explore(
        data="diabetes", at=repr(value), column=str(found.learnt_from.feature_names.index(name) + 1)
    )
    shown = component(app, "path_bars", set="columns")["numbers"][0][1]
    said = (
        f"**{name}** moves the prediction by **{rounded(effects[1], 2)}** on average at C = "
        f"{value:.3g} "
    )
    assert f"{said}({100 * effects[1] / effects.sum():.1f}\u00a0% of all effects)." in words(app)
    assert at or shown == style.number(effects[1], digits=2)


def release(app, step, time, player="threshold_player"):
    """Let a slider go at a step."""
    app.session_state[player] = {"report": {"index": step, "time": time, "turn": 1}}
    return quiet(app.run())


def test_a_dragged_threshold_changes_the_counts_and_the_sentence_which_are_made_once(monkeypatch):
    calls = counting(monkeypatch, errors, "thresholds_json")
    app = explore(data="mkl_toy_sparse", look="errors", cost_false="3", seed="5")
    known = answer_of(app).errors
    steps = known.steps(known.cheapest(3.0, 1.0), 0.0)
    for time, step in enumerate((1, len(steps) // 3, len(steps) - 2), start=1):
        release(app, step, time)
        threshold = float(steps[step])
        assert memory(app).params.threshold == threshold
        assert component(app, "path_player", chart="picture")["index"] == step
        shown = component(app, "path_texts", chart="picture")
        assert shown["index"] == step
        _, *columns, (sentence,) = shown["texts"][step]
        counts = [[int(line[0][1]) for line in column[1:]] for column in columns]
        assert_array_equal(np.transpose(counts), known.confusion(threshold))
        assert sentence[0][1] == known.says(threshold, 3.0, 1.0)
        assert sentence[0][1] in words(app)
    assert calls == {"thresholds_json": 1}
    put(app, "field_cost_false", 0.5)
    assert calls == {"thresholds_json": 2}
    assert plain(known.advice(0.5, 1.0)) in words(app)
    assert "Predict, the script and the saved model use this threshold" in words(app)
    press(app, "threshold_take")
    assert memory(app).params.threshold == known.cheapest(0.5, 1.0)
    put(app, "open_loss", "hinge")
    assert memory(app).params.threshold is None
    assert "Errors" not in explore(data="diabetes", look="errors").button_group[0].options


def test_a_dragged_threshold_is_that_of_predict_the_script_and_the_saved_model(monkeypatch):
    app = explore(data="mkl_toy_sparse", look="errors")
    found = answer_of(app)
    steps = found.errors.steps(found.errors.cheapest(), 0.0)
    taken = {}
    monkeypatch.setattr(
        files.st, "download_button", lambda label, data, *_, **__: taken.update({label: data})
    )
    release(app, len(steps) // 4, 1)
    threshold = float(steps[len(steps) // 4])
    rows = mkl.load_sample("mkl_toy_sparse")
    decisions = found.model.decision_function(rows.X)
    called = found.model.classes_[(decisions > threshold).astype(int)]
    assert (called != found.model.predict(rows.X)).any()

    model = mkl.load_model(io.BytesIO(taken["Model"]()))
    assert model.threshold == threshold
    assert_array_equal(model.predict(rows.X), called)
    with in_session(app):
        script = scripts.script(scripts.cells(memory(app).params, "explore"))
    assert f"found = found.with_threshold({threshold!r})" in script
    moved = int(np.flatnonzero(called != found.model.predict(rows.X))[0])
    memory(app).params = replace(memory(app).params, row=moved + 1)
    go(app, "pages/predict/page.py")
    assert memory(app).params.threshold == threshold
    assert f"where its decision is above {style.number(threshold)}" in words(app)
    assert f"#### {plain(rows.target_name)}: {called[moved]}" in words(app)


def test_a_column_is_looked_at_closely_with_the_pairs_it_is_in():
    app = explore(data="sparse_polynomial", column="3")
    assert app.selectbox(key="field_column").value == "x03"
    assert "**x03** moves the prediction by" in words(app)
    pairs = [
        one
        for one in answers.terms(Params(data="sparse_polynomial")).value
        if len(one.columns) == 2
    ]
    mine = next(one for one in pairs if "x03" in one.columns)
    other = next(name for name in mine.columns if name != "x03")
    app = explore(data="sparse_polynomial", column="3", term=str(int(other[1:])))
    assert "Beyond what each of the two adds alone" in words(app)


@pytest.mark.settling  # a sentence that fewer values of C do not lead to
def test_kernels_that_are_ranked_are_called_kernels_and_nothing_is_said_twice():
    app = explore(data="iris", algorithm="smkl", rows="80")
    found = answer_of(app)
    assert found.ranks_kernels
    said = words(app)
    assert "Bar: how far the kernel moves the prediction" in said
    assert "shuffling this column" not in said
    assert component(app, "path_bars", set="columns")["title"].startswith("How far each kernel")
    assert str(found.verdict).count("perhaps the target jumps") == 1
    assert said.count("erhaps the target jumps") == 1
    assert said.count("Learned from 80 ") == 1
    assert "- 38 rows were held out" in said


def test_what_nobody_asked_for_waits_for_its_button():
    app = go(upload(open_app(repeats="2"), table(80)), EXPLORE)
    for key, said in (
        ("ask_intervals", "one class is enough to be right"),
        ("ask_noise", "false"),
        ("repeat", "standard deviation over 2 splits"),
        ("norm_map_request", "are within one standard error of it"),
    ):
        before = words(app)
        press(app, key)
        assert said in words(app)
        assert len(words(app)) > len(before)


def test_a_column_that_is_among_the_first_once_is_so_one_time(monkeypatch):
    said = []
    monkeypatch.setattr(questions.st, "markdown", said.append)
    monkeypatch.setattr(questions.grids, "take", lambda *_: None)
    questions.repeats([(1, 0.5, ("a", "b")), (2, 0.7, ("a",))])
    assert said[0].endswith("Among the first three columns: **a** 2 times, **b** 1 time.")


@every(
    "sets, begins, ends",
    [
        ([[1, 0], [0, 1]], "For all of the rows one class is enough", "similar new rows."),
        ([[1, 0], [1, 1]], "For **50 %** of the rows one class is", "the others need several."),
    ],
)
def test_no_row_is_said_to_need_several_classes_where_none_does(sets, begins, ends):
    data = mkl.load_sample("mkl_toy_sparse")
    found = SimpleNamespace(
        test=data, learnt_from=data, seed=0, predict_set=lambda rows: np.array(sets, dtype=bool)
    )
    text = questions.width_of(found)
    assert text.startswith(begins)
    assert text.endswith(ends)


def test_what_is_fixed_on_the_rail_is_taken_and_can_be_left_open_again():
    app = explore(data="diabetes", rows="60")
    assert app.selectbox(key="open_loss").value == ""
    put(app, "open_loss", "epsilon_insensitive")
    assert answers.get(memory(app).params).value.model.loss == "epsilon_insensitive"
    put(app, "open_loss", "")
    assert memory(app).params.settings == ()
    assert answers.request(memory(app).params).is_open


@every("hold_out, how", [("random", "drawn at random"), ("last", "nearest to those held out")])
def test_how_the_rows_of_the_path_were_drawn_is_known(hold_out, how):
    data = mkl.load_sample("iris")
    asked = Request(hold_out=hold_out)
    found = SimpleNamespace(request=asked, learnt_from=data, path_rows=asked.some(data, 40))
    assert Exploration.rows.fget(found) == (40, 150, how)


def test_a_path_of_some_rows_says_so_while_the_model_on_all_is_made():
    path = SimpleNamespace(estimators=[SimpleNamespace(training_target_=np.zeros(1200))])
    learn = SimpleNamespace(n_samples=75_000)
    partial = answers.Partial({"table": SimpleNamespace(learn=learn), "refit": (path, 0, None)})
    assert partial.sampled.startswith("The path is fitted on 1,200 of 75,000 rows;")
    learn.n_samples = 1200
    assert partial.sampled == answers.Partial({}).sampled == ""


def test_the_score_that_was_chosen_measures_and_one_of_another_task_is_left_alone():
    app = explore(data="iris", rows="60")
    assert app.selectbox(key="field_scoring").value == "accuracy"
    put(app, "field_scoring", "balanced_accuracy")
    assert answer_of(app).scoring == "balanced accuracy"
    assert "**Compared with**, balanced accuracy on" in words(app)
    params, refused = parameters.read_link({"data": "iris", "scoring": "accurate"})
    assert params.scoring == ""
    assert "one of accuracy, balanced_accuracy" in refused[0]
    assert parameters.read_link({"data": "iris", "scoring": "r2"}) == (
        Params(data="iris", scoring="r2"),
        (),
    )


def test_the_released_cursor_and_the_number_box_choose_the_point():
    app = explore(data="diabetes")
    path = answer_of(app).path
    release(app, 3, 1, "player")
    assert memory(app).params.at == path.values[3]
    release(app, 900, 2, "player")
    assert app.number_input(key="exact_C").value == memory(app).params.at == path.values[-1]
    put(app, "exact_C", 0.5)
    assert "All weights at C = 0.5, as a table" in [expander.label for expander in app.expander]
    press(app, "undo")
    assert memory(app).params.at == path.values[-1]


def test_a_box_that_reports_what_it_was_drawn_with_moves_nothing():
    app = explore(data="iris", algorithm="best")
    # as after a run that did not draw it, while the browser had it still
    memory(app).drawn["exact_C"] = 0.5, ""
    quiet(app.number_input(key="exact_C").set_value(0.5).run())
    assert memory(app).params.at is None
    put(app, "exact_C", 0.6)
    assert memory(app).params.at == 0.6


@every("algorithm", ["gomp", "smkl", "joint"])
def test_every_method_ends_with_its_certificate_or_says_that_it_has_none(algorithm):
    app = explore(
        data="diabetes" if algorithm != "joint" else "iris", algorithm=algorithm, rows="100", **FEW
    )
    path = answer_of(app).path
    assert ("no certificate" in words(app)) == bool(np.isnan(path.relative_gap).all())
    assert any(captions.certificate(path, k)[0][1] in words(app) for k in range(len(path)))
    assert METHODS[algorithm].cannot_tell in words(app)
    if algorithm == "gomp":
        assert "needs a target" in words(explore(data="ring", algorithm=algorithm))


def test_a_greedy_choice_has_its_bound_and_the_best_choices_are_searched_for_on_request():
    app = explore(data="diabetes", algorithm="gomp", look="path", rows="100", **FEW)
    path = answer_of(app).path
    index = path.first_look
    assert behind_best(path, index, None, pictures.bold) in words(app)
    assert "nearly as" not in words(app)
    press(app, "best_choices")
    best = answers.best_choices(memory(app).params.of(*parameters.ANSWER)).value
    assert best.kernel_names == path.kernel_names
    assert np.all(best.objective <= path.objective[: len(best)] * (1 + 1e-9))
    assert behind_best(path, index, best, pictures.bold) in words(app)
    assert ("nearly as well" in words(app)) != ("met no other choice" in words(app))


@every("algorithm", ["lp", "gomp", "smkl"])
def test_every_preset_sets_what_it_says_and_shows_itself(algorithm):
    for preset in METHODS[algorithm].presets:
        task = preset.tasks[0]
        params = Params(data=SAMPLES[task], algorithm=algorithm, path=preset.path)
        for name, value in preset.settings:
            params = params.with_setting(name, value)
        assert answers.holds(preset, params, task)
        assert not answers.holds(preset, Params(algorithm=algorithm), task) or algorithm != "lp"


def test_one_kernel_per_column_is_a_click_away_where_the_plain_machine_won(monkeypatch):
    found = answers.get(Params(data="iris")).value
    found = replace(
        found,
        taken=replace(
            found.taken, variance_shares={"straight lines": 0.5, "all columns together": 0.5}
        ),
    )
    with monkeypatch.context() as patch:
        patch.setattr(answers, "get", lambda params, asked=True: Ready(found))
        patch.setattr(answers, "further", lambda params, asked=True: Pending(0.0, ""))
        app = explore(data="iris")
    assert "on its way" in set(app.table[0].value["accuracy"])
    assert any("about half is straight lines" in one.value for one in app.caption)
    press(app, "one_per_column")
    assert not answers.get(memory(app).params).value.taken.variance_shares


def unscored_path():
    iris = mkl.load_sample("iris")
    return mkl.fit_path(mkl.UniformMKLClassifier(), iris.X, iris.y, "C", [0.1, 1.0, 10.0])


def test_until_it_is_there_a_placeholder_says_what_is_done_and_a_refusal_can_be_tried_again(
    monkeypatch,
):
    answer_so_far = Pending(0.4, "candidates")
    with monkeypatch.context() as patch:
        patch.setattr(answers, "get", lambda params, asked=True: answer_so_far)
        app = explore(data="iris")
        assert "candidates" in words(app)
        assert not app.get("plotly_chart")
        answer_so_far = Pending(0.6, "path", answers.Partial({"refit": (unscored_path(), 1, None)}))
        app = quiet(app.run())
        assert "Solution path" in words(app)
        assert "validation accuracy not measured" in words(app).replace("**", "")
        found = mkl.explore(mkl.load_sample("iris")).alone()
        answer_so_far = Pending(0.95, "verdict", answers.Partial({"references": found}))
        app = quiet(app.run())
        assert "Plain models are being fitted on the same rows" in words(app)
        assert found.columns[0].name in component(app, "path_bars", set="columns")["names"]
        answer_so_far = Failed("Answer was cancelled.", again=True)
        app = quiet(app.run())
    assert [error.value for error in app.error] == ["Answer was cancelled\\."]
    assert "matter most" in words(press(app, "explore_refused_again"))


def test_what_a_sample_of_the_rows_says_is_named_so_and_nothing_is_taken_from_it(monkeypatch):
    app = upload(open_app(), table(120))
    found = mkl.explore(mkl.read_table(table(120), "label"))
    first = answers.FirstAnswer(found, 120, 4000)
    label = "From a sample of 120 of 4,000 rows"
    with monkeypatch.context() as patch:
        patch.setattr(answers, "first", lambda params: first)

        def on_its_way(params):
            raise PendingError("Reading the table.")

        with patch.context() as reading:
            reading.setattr(tables, "table", on_its_way)
            assert_from_sample(go(app, EXPLORE), label, found)
        patch.setattr(answers, "get", lambda params, asked=True: Pending(0.1, "candidates"))
        assert_from_sample(quiet(app.run()), label, found)
        part = answers.Partial({"refit": (found.path, found.index, None)})
        patch.setattr(answers, "get", lambda params, asked=True: Pending(0.6, "path", part))
        assert_from_sample(quiet(app.run()), label, found)
        assert "Solution path" in words(app)
        for bars in bars_of(app):  # the cursor of the path of all rows does not move them
            assert "no cursor" in bars.proto.json
        unrelated = SimpleNamespace(relation="none", sentence=lambda *names: "No sign of it.")
        vague = Mock(wraps=found, verdict=unrelated, path=found.path, columns=found.columns)
        first = answers.FirstAnswer(vague, 120, 4000)
        app = quiet(app.run())
        assert "No sign of it" in words(app)
        assert not bars_of(app)
    app = quiet(app.run())
    assert label not in words(app)
    assert app.get("download_button")


@pytest.mark.threads
def test_the_answer_of_all_rows_takes_the_place_of_that_of_a_sample(monkeypatch):
    for name, value in (("BYTES", 0), ("ROWS", 200)):
        monkeypatch.setattr(answers, f"MANY_{name}", value)
    monkeypatch.setattr(answers, "FIRST_ROWS", 80)
    monkeypatch.setattr(answers, "FEW_ROWS", 100)
    shown = threading.Event()
    make_whole = answers._make

    def whole_once_the_sample_is_shown(data, request):
        whole = make_whole(data, request)

        def make(progress):
            shown.wait(60)
            return whole(progress)

        return make

    monkeypatch.setattr(answers, "_make", whole_once_the_sample_is_shown)
    app = go(upload(open_app(), table(400)), EXPLORE)
    wait_until(lambda: "From a sample of 80 of 400 rows" in words(app), app)
    shown.set()
    wait_until(lambda: "The sentence is about this point" in words(app), app)
    assert "From a sample" not in words(app)
    assert answer_of(app).learnt_from.n_samples == 300


def assert_from_sample(app, label, found):
    assert label in words(app)
    assert found.columns[0].name in words(app)
    assert bars_of(app)
    assert not app.get("download_button")
    assert not app.get("exception")


def bars_of(app):
    return [
        one
        for one in app.get("bidi_component")
        if one.proto.component_name == "path_bars" and '"columns"' in one.proto.json
    ]


@pytest.mark.earlier
def test_a_sample_is_drawn_from_what_comes_with_the_project(monkeypatch):
    monkeypatch.setattr(answers, "get", lambda params, asked=True: Pending(0.0, "waiting"))
    seen = saved.earlier_answers()["breast_cancer"]
    app = explore()
    assert seen.sentence in words(app)
    assert component(app, "path_bars", set="columns")["names"][0] == seen.columns[0].name
    assert "waiting" in words(explore(p="2.0"))  # another setting has no answer yet


def test_a_date_among_kernels_of_all_columns_is_seen_over_its_hour(rng):
    hours = rng.integers(0, 24, 120)
    other = rng.normal(size=120)
    times = [f"2024-01-{1 + k % 28:02d} {hour}:00" for k, hour in enumerate(hours)]
    load = np.sin(hours / 4) + 0.1 * other
    app = upload(open_app(), csv({"time": times, "other": other.round(3), "load": load.round(3)}))
    memory(app).params = replace(
        memory(app).params, target="load", recipe="builders", widths=1, linear=False
    )
    go(app, EXPLORE)
    assert any("over hour of time, " in chart.proto.alt for chart in app.get("plotly_chart"))


def test_a_day_is_drawn_as_a_date():
    days = np.datetime64("2019-01-01") + np.arange(90)
    app = upload(open_app(), csv({"day": days, "load": np.sin(np.arange(90) / 9).round(3)}))
    memory(app).params = replace(memory(app).params, target="load")
    (chart,) = [
        one for one in go(app, EXPLORE).get("plotly_chart") if "What a column" in one.proto.alt
    ]
    drawn = json.loads(chart.proto.spec)
    assert drawn["layout"]["xaxis"]["title"]["text"] == "day"
    assert ", at 2019-" in chart.proto.alt


def test_strings_and_ready_stacks_have_their_own_words():
    data, _ = mkl.make_sequences(90, 20, [("TATAAT", 6)], seed=0, mutation=0.0)
    letters = csv({"dna": dict(data.sequences)["sequence"], "y": data.y})
    app = go(upload(open_app(), letters), EXPLORE)
    assert "The strongest words" in words(app)


def test_a_difference_has_the_digits_its_error_leaves_it():
    said = [
        drawing.with_error("R²", value, error)
        for value, error in ((0.0466, 0.0297), (-0.0002, 0.0207), (0.5, 0))
    ]
    assert said == ["0.047 ± 0.030", "0.000 ± 0.021", "0.5 ± 0.0"]
    assert drawing.with_error("accuracy", -0.0251, 0.005) == "−2.5 ± 0.5"
