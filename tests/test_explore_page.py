"""Explore without a browser: its tabs, what stands beside the cursor, presets, exact values, refusals."""

import json
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import mklcore as mkl
from mklcore.catalog import ESTIMATORS, EVERY_TASK
from mklcore.estimators.importance import ColumnAnswer
from mklcore.estimators.smkl import SMKLRegressor
from mklcore.figures import moving, style
from mklcore.selection.paired import Compared
from pages._parts.derive import (
    finals,
    gram_stacks,
    importance,
    looks,
    paths,
    predictions,
    settling,
    tables,
    terms,
    verdicts,
)
from pages._parts.drawing import listings, ranked
from pages._parts.explore import ahead, chart, edges, rail, views
from pages._parts.jobs import worker
from pages._parts.params import link, places
from pages._parts.params.algorithms import METHODS
from pages._parts.params.parameters import Params
from pages._parts.session import words as session_words
from tests.pages import FEW, cursor_texts, go, memory, open_app, quiet, table, upload, wait_for_path, wait_until, words

SAMPLE_OF = {"binary": "breast_cancer", "multiclass": "iris", "regression": "diabetes"}


def explore(unfolded: bool = False, **query: str) -> AppTest:
    usual = {"data": "iris", "widths": "2"}
    return wait_for_path(open_app("pages/explore.py", unfolded, **{**usual, **query}))


def settled(app: AppTest) -> AppTest:
    wait_until(lambda: not settling.open_points(memory(app).params), app)
    return quiet(app.run())


def wait_for(app: AppTest, said: str) -> AppTest:
    wait_until(lambda: said in words(app), app)
    return app


def component(app: AppTest, key: str) -> dict:
    """The data of the component called ``key``."""
    found = [element.proto for element in app.get("bidi_component") if element.proto.id.endswith(f"-{key}")]
    assert len(found) == 1, key
    return json.loads(found[0].json)


def release(app: AppTest, index: int) -> AppTest:
    app.session_state["player"] = {"report": {"index": index, "time": time.monotonic(), "turn": 1}}
    return quiet(app.run())


# The first tab


@pytest.mark.parametrize(("gap", "error", "start"), [
    (-0.03, 0.01, "Boosted trees are ahead by 3.0 ± 1.0: the target has steps"),
    (-0.015, 0.01, "Boosted trees score 1.5 ± 1.0 more, which may be chance: perhaps the target has steps"),
    (-0.005, 0.01, ""), (0.03, 0.01, ""), (-0.03, np.nan, ""),
])  # fmt: skip
def test_a_lead_of_boosted_trees_by_more_than_an_error_is_explained(gap, error, start) -> None:
    found = {"boosting": Compared(0.9, 0.01, gap, error)}
    text = verdicts.boosting(verdicts.Verdict("accuracy", 400, Compared(0.9 + gap, 0.01, 0.0, 0.0), found))
    assert text.startswith(start)
    assert bool(text) == bool(start)
    assert ("ahead" in text) == (found["boosting"].place == "behind")


@pytest.mark.parametrize("task", EVERY_TASK)
def test_the_first_screen_is_a_verdict_and_a_chart(task: str) -> None:
    app = settled(explore(data=SAMPLE_OF[task], **FEW))
    path, params = memory(app).answer.path, memory(app).params
    found = verdicts.verdict(params).value
    assert verdicts.sentence(found) in words(app)
    assert set(found.plain) == {"mean" if task == "regression" else "majority", "linear", "RBF", "forest", "boosting"}
    index = places.place(path, None).index
    assert path.chosen == index  # by folds: rows are few
    assert found.ours.score == pytest.approx(path.val_score[index])
    data, along = component(app, "bars_columns"), terms.along(params).value
    assert np.sum(data["weights"], axis=1)[path.n_nonzero > 0] == pytest.approx(1.0, abs=0.01)
    assert data["index"] == index
    shares = [along.shares[index][k] for k in range(len(along.columns))]
    assert shares == sorted(shares, reverse=True)
    assert (style.theme(False).grey in data["colours"][: len(along.columns)]) == any(along.indistinct[: chart.MOST])
    refit = finals.final(params, float(path.values[index])).value
    assert refit.n_train_ == len(tables.split(params).train.y) + len(tables.split(params).validation.y)
    assert predictions.chosen(params).fitted is refit
    assert not app.error
    assert not app.warning
    assert not app.get("plotly_chart")  # all else is one click deeper


@pytest.mark.parametrize("task", EVERY_TASK)
def test_one_click_deeper_are_columns_and_plain_models(task: str) -> None:
    app = explore(unfolded=True, data=SAMPLE_OF[task], **FEW)
    wait_for(app, "best single kernel, at its best")
    path, params = memory(app).answer.path, memory(app).params
    index = places.place(path, None).index
    sentence = next(text for text in cursor_texts(app) if "the weight is on " in text)
    assert sentence.startswith(f"At {places.label('C', path.values[index])} the weight is on ")
    families = component(app, "bars_families")
    expected = {}
    for name, weight in zip(path.kernel_families, path.weights[index], strict=True):
        expected[name] = expected.get(name, 0.0) + weight / path.weights[index].sum()
    assert dict(zip(families["full"], families["weights"][index], strict=True)) == pytest.approx(expected, abs=1e-3)
    scores = component(app, "bars_scores")
    nothing = "mean" if task == "regression" else "majority class"
    names = [nothing, "linear model", "RBF SVM", "random forest", "gradient boosting"]
    assert scores["names"] == ["this model", *names, "uniform sum", "best single kernel"]
    assert scores["weights"][index][0] == pytest.approx(path.val_score[index])
    wait_until(lambda: importance.ranking(params, float(path.values[index])).value is not None, app)
    reported = importance.ranking(params, float(path.values[index])).value
    quiet(app.run())
    assert list(app.dataframe[0].value["column"]) == [one.name for one in reported]
    place = [unit.name for unit in importance.seen(params)].index(reported[-1].name) + 1
    memory(app).params = replace(params, column=place)
    assert f"**{reported[-1].name}**" in words(quiet(app.run())).replace("\\", "")
    assert not app.error


@pytest.mark.settling
def test_a_first_look_comes_before_the_answer_and_rows_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "ENTRIES", 0.0)
    for name, count in {"ROWS": 30, "FEWEST_ROWS": 20, "FEWEST_JUDGES": 20}.items():
        monkeypatch.setattr(gram_stacks, name, count)
    app = wait_for_path(open_app("pages/explore.py", data="iris", widths="2", seed="77"))
    params, path = memory(app).params, memory(app).answer.path
    look = looks.first(params).value
    assert len(look.path) <= looks.grid_points(tables.table(params)) < paths.POINTS <= len(path)
    assert look.columns == ()  # thirty rows support no column
    assert np.isfinite(look.error)
    assert path.estimators[0].n_train_ == 30
    wait_for(app, "Trained on 30 of 74 training rows, drawn class by class; chosen on all 38 validation rows")
    rest, scored = tables.split(params).validation, memory(app).answer.path
    assert len(gram_stacks.parts(params).validation.y) == 30
    assert scored.estimators is path.estimators
    assert scored.val_score[3] == pytest.approx(scored.estimators[3].score(rest.X, rest.y))
    point = paths.point(params, float(np.sqrt(path.values[3] * path.values[4])))
    assert point.val_score[0] == pytest.approx(point.estimators[0].score(rest.X, rest.y))
    assert not paths.is_quick(params, path, 1.0)  # scoring many rows is not for waiting
    first = paths.Answer(look.path, params, True, looks.FIRST, look.columns)
    assert looks.rows_caption(first).startswith("**First look**; the answer on 30 rows follows.")
    assert not first.older


def test_the_stretches_of_spectra_in_use_are_drawn() -> None:
    app = explore(data="spectra", recipe="recommended")
    assert any(chart.proto.alt.startswith("Mean spectrum with") for chart in app.get("plotly_chart"))
    assert "Which stretches are used" in words(app)


def test_the_baselines_are_the_paths_explore_shows_for_them() -> None:
    app = wait_for(explore(unfolded=True, seed="2"), "best single kernel, at its best")
    shown = paths.baseline(memory(app).params, "uniform")
    assert paths.key(shown) == paths.key(replace(memory(app).params, algorithm="uniform"))
    assert type(paths.known(shown).estimators[0]) is ESTIMATORS["uniform"].classifier


def test_columns_without_groups_are_reported_one_by_one() -> None:
    app = explore(data="wine", widths="1")
    names = component(app, "bars_columns")["full"]
    assert "proline" in [name.partition(";")[0] for name in names]


def test_refits_tell_how_often_each_kernel_is_chosen() -> None:
    app = explore(unfolded=True, seed="4", **FEW)
    app.button(key="ask_frequency").click().run()
    wait_for(app, "At least one kernel used")
    params, path = memory(app).params, memory(app).answer.path
    value = float(path.values[places.place(path, None).index])
    found = paths.frequency(params, value).value
    assert found.n_resamples == paths.RESAMPLES
    assert any(f"{paths.RESAMPLES} refits" in chart.proto.alt for chart in app.get("plotly_chart"))
    release(app, 3)
    assert "Run stability selection" in [button.label for button in app.button]
    quiet(app.run())


def test_the_tab_is_in_the_link_and_the_last_two_are_not_computed_before_they_are_opened() -> None:
    app = explore()
    charts = {str(chart.key) for chart in app.get("plotly_chart")}
    assert charts == set()  # columns are looked at closely where it is asked for
    app.session_state["field_look"] = "path"
    state_of = memory(app).params
    assert state_of.look == "columns"
    app = explore(look="path")
    assert sum(one.proto.component_name == "path_chart" for one in app.get("bidi_component")) == 2
    assert app.query_params["look"] == "path"
    app = explore(look="inside")
    assert len(app.get("plotly_chart")) >= 2
    _, refused = link.read({"look": "everything"})
    assert "one of columns, path, inside" in refused[0]


# Facts, sort, sizes


def test_the_facts_follow_the_path_point_by_point() -> None:
    app = explore(look="path")
    path, data = memory(app).answer.path, component(app, "texts_facts")
    assert len(data["texts"]) == len(path)
    for k, (certificate, cost, scores) in enumerate(data["texts"]):
        said = ["".join(text for _, text in line) for line in (*certificate, *cost, *scores)]
        assert said[0].startswith("✓ certified")
        assert said[2] == f"{path.n_nonzero[k]} of {len(path.kernel_names)} kernels used"
        assert said[5] == f"validation accuracy {100 * path.val_score[k]:.1f} %"
    bars = component(app, "bars_kernels")
    assert np.array(bars["weights"]) == pytest.approx(
        moving.heights(np.asarray(path.weights), moving.order(path)), abs=1e-6
    )
    assert bars["sortable"]
    assert "Save as one file" in {button.label for button in app.get("download_button")}


def test_a_size_may_be_any_number_of_kernels_and_more_are_refused() -> None:
    app = explore(data="breast_cancer", widths="20", algorithm="gomp", look="path", **FEW)
    path = memory(app).answer.path
    assert path.values.tolist() == list(range(1, paths.SIZES + 1))
    assert len(path.kernel_names) == 52
    app.number_input(key="exact_s").set_value(51).run()
    wait_until(lambda: "at s = 51" in " ".join(expander.label for expander in app.expander), app)
    assert not app.error
    app = explore(data="breast_cancer", widths="20", algorithm="gomp", look="path", at="80", **FEW)
    assert "s = 80 asks for more kernels than the 52 of the dictionary" in words(app)
    assert app.number_input(key="exact_s").value == 52


# Exact values


@pytest.mark.threads
def test_a_value_between_the_points_is_solved_from_the_nearest(monkeypatch) -> None:
    app = explore(look="path", seed="6")
    wait_until(lambda: memory(app).answer is not None, app)  # till then it is drawn point by point
    monkeypatch.setattr(paths, "QUICK_SECONDS", -1.0)
    wait_until(lambda: memory(app).answer is not None, app)  # on a busy machine its first points are drawn before
    path = memory(app).answer.path
    value = float(f"{np.sqrt(path.values[9] * path.values[10]):.3g}")
    gate = threading.Event()
    worker.worker().submit(gate.wait)
    try:
        app.number_input(key="exact_C").set_value(value).run()
        params = memory(app).params
        assert "nothing is solved yet" in words(app)
        assert memory(app).jobs["short"].live
        assert component(app, "player")["exact"] is None
    finally:
        gate.set()
    wait_until(lambda: paths.exact(params, value).value is not None, app)
    quiet(app.run())
    point = paths.exact(params, value).value
    assert "nothing is solved yet" not in words(app)
    exact = component(app, "player")["exact"]
    assert exact["sets"]["kernels"] == pytest.approx(
        moving.heights(np.asarray(point.weights), moving.order(path))[0].tolist(), abs=1e-6
    )
    assert "certified" in json.dumps(exact["sets"]["facts"])


def test_a_point_the_solver_refuses_is_reported() -> None:
    app = open_app("pages/explore.py", data="iris", widths="2", each="none", path="p", solver="silp")
    wait_for(app, "The path failed")
    assert 'solver="silp" is for p = 1 only' in words(app)


# Controls


@pytest.mark.parametrize("algorithm", METHODS)
@pytest.mark.parametrize("task", EVERY_TASK)
def test_every_preset_sets_what_it_says_and_shows_itself(algorithm: str, task: str) -> None:
    params = Params(data=SAMPLE_OF[task], algorithm=algorithm)
    for preset in rail.presets(params):
        taken = Params(
            data=SAMPLE_OF[task], algorithm=algorithm, path=preset.path, settings=tuple(sorted(preset.settings))
        )
        assert rail.holds(preset, taken)
        assert link.read(link.text(taken)) == (taken, ())


def test_a_preset_is_taken_with_one_press() -> None:
    app = explore()
    app.button_group(key="preset_lp").set_value("smooth").run()
    assert memory(app).params.settings == (("norm", "lp"), ("p", 2.0))
    assert app.query_params["p"] == "2.0"
    app.button(key="undo").click().run()
    assert memory(app).params.settings == ()


@pytest.mark.parametrize("norm", ["weighted lp", "block norm", "elliptic"])
def test_every_norm_gives_a_certified_path(norm: str) -> None:
    app = explore(norm=norm, data="diabetes", each="none", p="1.5", **FEW)
    assert "✓ certified" in words(app)
    shown = [widget.label for widget in (*app.selectbox, *app.select_slider)]
    assert ("Block norm q" in shown) == (norm == "block norm")
    assert ("Norm p" in shown) == (norm == "weighted lp")


@pytest.mark.parametrize(("algorithm", "usual"), [("lp", "multiplicative"), ("greedy", "diag"), ("smkl", "trace")])
def test_each_algorithm_has_its_own_normalisation_unless_one_is_chosen(algorithm: str, usual: str) -> None:
    app = explore(algorithm=algorithm, each="none", **FEW)
    assert f"kernels {session_words.SCALES[usual]}, as this method does" in words(app)
    path = memory(app).answer.path
    method = ESTIMATORS[algorithm].classifier
    assert path.estimators[0]._map.normalise == usual == method.default_normalise
    app = explore(algorithm=algorithm, each="none", normalise="spherical", **FEW)
    assert "kernels scaled to rows of unit length" in words(app)
    assert "as this method does" not in words(app)


# Plain models that are ahead


@pytest.mark.parametrize(
    ("asked", "models", "offered"),
    [
        (Params(), {"linear"}, ["Straight lines only", "Every kernel a little"]),
        (Params(), {"RBF"}, ["All columns at once", "Every kernel a little"]),
        (Params(curved=False, settings=(("p", 2.0),)), {"linear"}, []),
    ],
)
def test_where_a_plain_model_is_ahead_its_kernels_are_offered(asked: Params, models: set, offered: list) -> None:
    found = ahead.offers(asked, models)
    assert [label for label, _, _ in found] == offered
    for _, changes, _ in found:
        wanted = replace(asked, **changes)
        assert link.read(link.text(wanted)) == (wanted, ())


# Inside the model


@pytest.mark.parametrize(("task", "charts"), [("binary", 5), ("multiclass", 6), ("regression", 3)])
def test_the_inside_shows_curves_a_surface_and_the_classes(task: str, charts: int) -> None:
    app = explore(data=SAMPLE_OF[task], look="inside", **FEW)
    alts = [chart.proto.alt for chart in app.get("plotly_chart")]
    assert len(alts) == charts
    judged = ("Residuals of",) if task == "regression" else ("Confusion matrix over", "ROC curves", "Calibration for")
    assert all(alt.startswith(start) for alt, start in zip(alts, judged, strict=False))
    assert any("of one column each" in alt for alt in alts)
    assert any(" over " in alt for alt in alts)
    assert "held at the training mean" in words(app)
    assert ("Kernel weights per class against the rest" in words(app)) == (task == "multiclass")
    if task == "multiclass":
        app.selectbox(key="field_output").set_value(2).run()
        assert "Higher favours virginica" in words(app)
        assert app.query_params["output"] == "2"


def test_the_surface_is_over_the_columns_of_the_link() -> None:
    app = explore(look="inside", over="1,4")
    table_names = [box.value for box in (app.selectbox(key="field_over_x"), app.selectbox(key="field_over_y"))]
    assert table_names == [0, 3]
    app.selectbox(key="field_over_y").set_value(1).run()
    assert app.query_params["over"] == "1,2"
    assert explore(look="inside", over="1,99").selectbox(key="field_over_y").value != 98
    _, refused = link.read({"over": "1,2,3"})
    assert "two numbers of columns" in refused[0]


def test_a_table_of_two_columns_shows_the_whole_model() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    lines = "\n".join(f"{a:.4f},{b:.4f},{int(a * b > 0)}" for a, b in X)
    app = go(upload(open_app(look="inside"), f"a,b,y\n{lines}\n".encode()), "pages/explore.py")
    assert "this is the whole model" in words(wait_for_path(app))


def test_one_shared_set_of_weights_is_said_to_be_shared() -> None:
    assert "All classes share one set of kernel weights" in words(explore(algorithm="gomp", look="inside", **FEW))


def test_pairs_of_classes_are_named() -> None:
    app = explore(algorithm="smkl", each="none", look="inside", **FEW)
    assert "Kernel weights per pair of classes" in words(app)
    assert app.selectbox(key="field_output").label == "Pair shown"


# Sessions


def test_what_is_computed_about_an_upload_stays_in_its_session() -> None:
    content = table(seed=31)
    owner = wait_for_path(go(upload(open_app(), content), "pages/explore.py"))
    settled(owner)
    params = memory(owner).params
    stranger = upload(open_app(), content)
    assert memory(stranger).params.data == params.data
    assert not [key for key in memory(stranger).caches.results._items if key[0] in ("path", "shares")]


def test_a_width_at_the_edge_of_its_grid_brings_one_more() -> None:
    app = explore(data="diabetes", recipe="builders", widths="3", each="none", degree="0")
    assert "Widths at their edge" in words(app)
    assert "the narrowest kernel of its grid carries the most; a narrower one may do better" in words(app)
    assert edges.with_one_more(memory(app).params, -1) == "rbf0.25m@*;rbf1m@*;rbf4m@*;lin@*;rbf16m@*"
    app.button(key="one_more_width").click().run()
    assert app.query_params["edited"] == "rbf0.25m@*;rbf1m@*;rbf4m@*;lin@*;rbf0.0625m@*"


def test_what_costs_next_to_nothing_is_not_named() -> None:
    found = [("amount", 0.384, 0.05), ("speed", 0.323, 0.09), ("hour", 0.004, 0.001), ("age", 0.068, 0.04)]
    said = ranked.sentence([ColumnAnswer(name, 0.1, *loss) for name, *loss in found], "accuracy", True, 90)
    assert (
        "Permuting **amount** lowers the validation accuracy by 38.4 points and **speed** by 32.3 points; for 1 of 4"
        in said
    )


def test_a_sentence_without_any_weight_says_so() -> None:
    app = explore(algorithm="greedy", path="lam", each="none", at="1000000", **FEW)
    wait_until(lambda: component(app, "player")["exact"] is not None, app)
    sets = component(app, "player")["exact"]["sets"]
    assert sum(sets["columns"]) == 0


@pytest.mark.parametrize(("look", "name"), [
    ("path", "solution-path"), ("path", "accuracy"), ("inside", "what-single-columns-add"),
    ("inside", "the-model-over-two-columns"), ("inside", "kernel-weights-per-class"),
])  # fmt: skip
def test_figures_can_be_taken_away(look: str, name: str) -> None:
    app = explore(look=look)
    before = len(app.get("plotly_chart"))
    app.session_state[f"take_{name}"] = True
    assert len(quiet(app.run()).get("plotly_chart")) == before + 1


def test_the_first_screen_says_how_to_go_on() -> None:
    assert "Go on:" in words(explore())
    assert "Go on:" not in words(explore(present="yes"))


def test_the_page_tells_how_far_the_starts_of_a_concave_price_spread():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4))
    y = X[:, 0] - X[:, 1] ** 2 + 0.3 * rng.standard_normal(40)
    several = SMKLRegressor("log", C=5.0, n_starts=4, random_state=0).fit(X, y)
    assert views._starts(several) == [f"best of 4 starts, L spreads by {style.number(several.start_spread_)}"]
    assert views._starts(SMKLRegressor("log", C=5.0).fit(X, y)) == []


def test_where_each_start_ended_is_a_table_the_best_first() -> None:
    data = mkl.load_sample("iris")
    kernels = mkl.KernelDictionary.rbf_grid([0.5, 1, 2]) + mkl.KernelDictionary.per_feature(mkl.Linear(), 4)
    model = mkl.SMKLClassifier("log", C=30.0, n_starts=3, random_state=0, kernels=kernels)
    assert listings.starts(mkl.SMKLClassifier()) is None
    pairs = model.fit(data.X[::3], data.y[::3])
    found = listings.starts(pairs, ["a", "b", "c"])
    assert found is not None
    assert found["pair"].tolist() == ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    assert found["objective L"].tolist()[::3] == pytest.approx(pairs.objective_)
    assert found["kernels"].tolist()[::3] == (pairs.weights_ > 0).sum(axis=1).tolist()
    two = model.fit(data.X[:100:3], data.y[:100:3])
    found = listings.starts(two)
    assert found is not None
    assert list(found.columns) == ["start", "objective L", "above the best", "kernels"]
    assert found["above the best"].iloc[0] == 0.0
    assert found["above the best"].max() == pytest.approx(two.start_spread_)
