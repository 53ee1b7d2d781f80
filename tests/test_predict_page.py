"""Predict without a browser: a row and its changes, categories as choices, whole files, refusals with a message."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import mklcore as mkl
from mklcore.data.encoder import NewRows
from mklcore.figures import style
from mklcore.figures.contributions import contribution_bars, shares
from pages._parts.derive import finals, judging, paths, predictions, settling
from pages._parts.params.algorithms import METHODS
from pages._parts.params.parameters import Params
from pages._parts.predict import batch as predict_batch
from pages._parts.predict.batch import Batch
from tests.pages import FEW, memory, open_app, wait_until

PREDICT = "pages/predict.py"


def answered(app: AppTest) -> Batch | None:
    """The answers about a whole file that the session holds."""
    return next(iter(memory(app).caches.batch._items.values()), None)


def quiet(app: AppTest) -> AppTest:
    assert [error.message for error in app.exception] == []
    return app


def words(app: AppTest) -> str:
    elements = [*app.markdown, *app.caption, *app.error, *app.warning, *app.info]
    return "\n".join(element.value for element in elements)


def opened(page: str = PREDICT, **query: str) -> AppTest:
    return open_app(page, **query)


def ready(app: AppTest) -> AppTest:
    wait_until(lambda: "kernels used" in words(app), app)
    return app


def model(app: AppTest):
    point = predictions.chosen(memory(app).params)
    assert point is not None
    return point.fitted


def slider(app: AppTest, label: str):
    (found,) = [one for one in app.slider if one.label == label]
    return found


# One row


@pytest.mark.parametrize("algorithm", METHODS)
@pytest.mark.parametrize("sample", ["breast_cancer", "iris", "diabetes"])
def test_every_algorithm_speaks_about_a_row_and_its_parts_add_up(algorithm, sample):
    app = ready(opened(data=sample, widths="2", each="linear", algorithm=algorithm, row="5", **FEW))
    fitted, data = model(app), mkl.load_sample(sample)
    row = data.X[4:5]
    said = fitted.predict(row)[0]
    shown = style.number(float(said)) if sample == "diabetes" else said
    assert f"#### {data.target_name}: {shown}" in words(app)
    point = predictions.chosen(memory(app).params)
    answer = predictions.spoken(point, predictions.row(memory(app).params))
    if algorithm == "smkl" and sample == "iris":
        np.testing.assert_allclose(answer.values, fitted.pair_decisions(row)[0], atol=1e-9)
    elif sample == "diabetes":
        assert answer.values[0] == pytest.approx(float(said))
    else:
        np.testing.assert_allclose(answer.values, np.ravel(fitted.decision_function(row)), atol=1e-9)
    np.testing.assert_allclose(answer.parts.sum(axis=0) + answer.intercept, answer.values)
    (chart,) = app.get("plotly_chart")
    assert chart.proto.alt.startswith("What each kernel adds to f(x).")
    assert not app.error


def test_the_model_is_the_one_that_explore_settles_on_whatever_page_comes_first():
    here = {"data": "breast_cancer", "widths": "2", "each": "linear"}
    app = ready(opened(**here))
    wait_until(lambda: not settling.open_points(memory(app).params, model=True), app)
    first = predictions.chosen(memory(app).params)
    assert first.final is not None
    assert "this model fitted again on training and validation rows" in words(app.run())
    assert "Preliminary" not in words(app.run())
    other = opened("pages/explore.py", **here)
    wait_until(lambda: not settling.open_points(memory(other).params), other)
    second = predictions.chosen(memory(other).params)
    assert first.value == second.value
    X = mkl.load_sample("breast_cancer").X
    np.testing.assert_array_equal(first.fitted.decision_function(X), second.fitted.decision_function(X))


def test_every_column_has_a_control_and_moving_one_moves_the_answer_and_the_link():
    app = ready(opened(data="diabetes", widths="2", each="linear"))
    data = mkl.load_sample("diabetes")
    assert {one.label for one in app.slider} == {name.replace("_", "\\_") for name in data.feature_names}
    bmi = slider(app, "bmi")
    assert (bmi.min, bmi.max) == (data.X[:, 2].min(), data.X[:, 2].max())
    quiet(bmi.set_value(bmi.max).run())
    changed = data.X[0].copy()
    changed[2] = data.X[:, 2].max()
    now, before = (style.number(float(v)) for v in model(app).predict(np.stack([changed, data.X[0]])))
    assert f"#### progression: {now} :gray[before the changes {before}]" in words(app)
    assert app.query_params["moved"] == f"3={float(bmi.max)!r}"
    quiet(app.button(key="undo").click().run())
    assert "moved" not in app.query_params
    assert slider(app, "bmi").value == pytest.approx(data.X[0, 2])


def test_a_link_restores_the_row_and_the_way_back_drops_the_changes():
    app = ready(opened(data="iris", widths="2", row="120", moved="1=5.5,4=0.25,77=3"))
    assert [one.value for one in app.slider if one.label.startswith(("sepal length", "petal width"))] in (
        [5.5, 0.25],
        [0.25, 5.5],
    )
    assert "2 columns changed" in words(app)
    quiet(app.button(key="what_reset").click().run())
    assert "columns changed" not in words(app)
    quiet(app.number_input(key="what_row").set_value(3).run())
    assert app.query_params["row"] == "3"
    assert "its species is setosa" in words(app)


@pytest.mark.parametrize("moved", ["a=1", "1=", "1=nan", "1=1;2=2", "1=inf", "=", "1=" + "9" * 40])
def test_changes_that_are_none_are_refused(moved):
    app = opened(data="iris", moved=moved)
    assert any("numbers of columns with their new values" in line.value for line in app.warning)
    assert memory(app).params.moved == ""


def test_a_row_beyond_the_table_is_its_last_row_and_columns_beyond_it_are_left_alone():
    here = predictions.row(replace(Params(), data="iris", row=9999, moved="9=1.0"))
    assert (here.number, here.moves) == (150, {})
    assert (here.now == here.before).all()


def test_many_columns_come_in_pages_and_can_be_searched():
    app = ready(opened(data="breast_cancer", widths="2"))
    assert len(app.slider) == 24
    quiet(app.selectbox(key="what_page").set_value(24).run())
    assert len(app.slider) == 6
    quiet(app.text_input(key="what_find").set_value("concave").run())
    assert {one.label for one in app.slider} == {"mean concave points", "concave points error", "worst concave points"}
    quiet(app.text_input(key="what_find").set_value("zzz").run())
    assert "No column name contains this text." in words(app)


def test_another_class_can_be_looked_at_and_the_choice_is_in_the_link():
    app = ready(opened(data="iris", widths="2"))
    assert "**setosa" in words(app)
    quiet(app.selectbox(key="what_outcome").set_value(3).run())
    assert "**virginica" in words(app)
    assert app.query_params["outcome"] == "3"


# Uploads


def table(n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    colour = rng.choice(["red", "green", "blue"], n)
    size = rng.standard_normal(n).round(3)
    label = np.where(size + (colour == "red") > 0.3, "yes", "no")
    return pd.DataFrame({"size": size, "colour": colour, "sex": rng.choice(["f", "m"], n), "label": label})


def csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


def uploaded(frame: pd.DataFrame, **settings: object) -> AppTest:
    app = opened("pages/data.py")
    app.file_uploader(key="uploader").upload("table.csv", csv(frame), "text/csv").run()
    memory(app).params = replace(memory(app).params, widths=2, **settings)
    app.switch_page(PREDICT)
    return ready(quiet(app.run()))


def test_categories_are_chosen_by_name_and_set_all_their_columns():
    app = uploaded(table())
    boxes = {box.label: box for box in app.selectbox}
    assert set(boxes["colour"].options) == {"red", "green", "blue"}
    assert set(boxes["sex"].options) == {"f", "m"}
    now = boxes["colour"].value
    other = next(level for level in ("red", "green", "blue") if level != now)
    quiet(boxes["colour"].select(other).run())
    names = ["size", "colour=blue", "colour=green", "colour=red", "sex=m"]
    expected = {names.index(f"colour={other}") + 1: 1.0, names.index(f"colour={now}") + 1: 0.0}
    moved = dict(part.split("=") for part in app.query_params["moved"].split(","))
    assert {int(k): float(v) for k, v in moved.items()} == expected
    quiet({box.label: box for box in app.selectbox}["colour"].select(now).run())
    assert "moved" not in app.query_params


def batch(app: AppTest, content: bytes, name: str = "new.csv") -> AppTest:
    app.session_state["predict_tabs"] = "A whole file"
    quiet(app.run())
    app.file_uploader(key="batch_file").upload(name, content, "text/csv")
    return quiet(app.run())


def test_intervals_vary_with_the_row_on_request_for_a_row_and_a_file():
    app = ready(opened(data="diabetes", widths="2", each="linear", row="3"))
    app.toggle(key="field_varying").set_value(True)
    wait_until(lambda: judging.SENTENCE in words(app), quiet(app.run()))
    band, table = judging.in_use(memory(app).params), mkl.load_sample("diabetes")
    assert band is not None
    ends = band.predict_interval(table.X)
    assert f"**{style.number(ends[2, 0])}** to **{style.number(ends[2, 1])}**" in words(app)
    assert np.ptp(np.diff(ends)) > 0.1 * np.mean(np.diff(ends))
    inside = np.mean((table.y >= ends[:, 0]) & (table.y <= ends[:, 1]))
    assert inside > 0.8
    point = predictions.chosen(memory(app).params)
    frame = predict_batch.answers(point, NewRows(table.X[:5], None, ()), table, None, None, band).frame
    np.testing.assert_allclose(frame[["from (90% interval)", "to (90% interval)"]], ends[:5], rtol=1e-9)
    assert judging.in_use(replace(memory(app).params, varying=False)) is None


def test_a_file_is_predicted_as_the_training_rows_are_and_scored_where_it_has_the_target():
    frame = table()
    app = batch(uploaded(frame), csv(frame.iloc[::-1, ::-1]))
    found = answered(app).frame
    data = mkl.read_table(csv(frame))
    reference = app_model(app)
    np.testing.assert_array_equal(found["predicted label"], reference.predict(data.X[::-1]))
    np.testing.assert_allclose(found["decision value"], reference.decision_function(data.X[::-1]), atol=1e-9)
    share = float(np.mean(found["predicted label"] == frame["label"].to_numpy()[::-1]))
    assert f"accuracy on 80 rows with a target: **{100 * share:.1f} %**" in words(app)
    assert not app.error


@pytest.mark.parametrize(
    ("measure", "expected"),
    [("accuracy", 0.9), ("balanced_accuracy", 0.75), ("roc_auc", 15 / 16), ("matthews_corrcoef", 2 / 3)],
)
def test_a_file_is_scored_by_the_score_that_was_chosen(measure, expected):
    fitted = mkl.LpMKLClassifier()
    fitted.classes_ = np.array(["a", "b"], dtype=object)
    target = np.array([*"aaaaaaaabb", ""], dtype=object)  # one row without a target is not scored
    said, decision = np.array([*"aaaaaaaaabb"], dtype=object), np.array([-3.0] * 6 + [-0.5, 0.5, 0.25, 2.0, 9.0])
    found = predict_batch._score(fitted, said, decision[:, None], target, measure)
    assert found == (pytest.approx(expected), 10, "")


def test_a_file_that_cannot_be_scored_says_why():
    fitted, said = mkl.LpMKLRegressor(), np.array([1.0, 2.0])
    assert predict_batch._score(fitted, said, said, np.array([3.0, np.nan]), "r2") == (
        None,
        1,
        "their targets are all the same",
    )
    found = predict_batch._score(fitted, said, said, np.array([3.0, 6.0]), "neg_root_mean_squared_error")
    assert found == (pytest.approx(-np.sqrt((4 + 16) / 2)), 2, "")


def app_model(app: AppTest):
    """The chosen model of a session with an upload, whose results only it has, fitted on all rows but the test rows."""
    results, key = memory(app).caches.results, paths.key(memory(app).params)
    path = results.get(key)
    return results.get(finals.final_key(key, float(path.values[path.first_look])))


@pytest.mark.parametrize(
    ("change", "said"),
    [(lambda f: f.drop(columns=["size", "sex"]), "lacks 2 columns the model needs: 'size', 'sex'"),
     (lambda f: f.assign(size="tall"), "'size' holds 'tall' in row 1, 80 such cells in all"),
     (lambda f: f.iloc[:0], "header line only"),
     (lambda f: pd.concat([f] * 300), "at most 20,000 are predicted at once")],
)  # fmt: skip
def test_files_that_do_not_fit_are_refused(change, said):
    app = batch(uploaded(table()), csv(change(table())))
    reported = "\n".join(error.value.replace("\\", "") for error in app.error)
    assert said in reported


def test_hostile_files_are_refused_and_a_new_category_is_reported():
    app = uploaded(table())
    for content in (b"\x80\x04pickle" * 9, b"", b"\x00" * 100):
        batch(app, content)
        assert len(app.error) == 1
    batch(app, csv(table().assign(colour="violet").drop(columns="label")))
    assert not app.error
    assert "hold what the training table does not" in words(app).replace("\\", "")
    assert "with a target" not in words(app)


def test_a_large_file_is_predicted_in_the_background(monkeypatch):
    monkeypatch.setattr(predict_batch, "QUICK_ENTRIES", 0)
    app = batch(uploaded(table()), csv(table()))
    wait_until(lambda: answered(app) is not None, app)
    assert len(answered(app).frame) == 80


def test_what_one_session_predicted_is_in_no_other():
    app = batch(uploaded(table()), csv(table()))
    assert answered(app) is not None
    stranger = opened(**app.query_params)
    assert "upload the same file" in words(stranger)
    assert answered(stranger) is None


def test_everything_can_be_taken_away():
    app = ready(opened(data="iris", widths="2"))
    app.session_state["predict_tabs"] = "Take away"
    quiet(app.run())
    labels = {button.label for button in app.get("download_button")}
    assert {"Model", "Weights as CSV", "Path as CSV"} <= labels
    app.session_state["take_solution-path"] = True
    quiet(app.run())
    assert any(button.label == "HTML" for button in app.get("download_button"))


# The picture


def test_contribution_bars_add_up_and_keep_their_places():
    values, names, families = np.array([0.5, -2.0, 0.1]), ["a", "b", "c"], ["linear", "rbf", "rbf"]
    figure = contribution_bars(values, names, families, intercept=0.25, before=[0.1, 0.2, 0.3], ranking=[3, 2, 1])
    bars, before = figure.data
    assert list(bars.x) == [0.5, -2.0, 0.1]
    assert list(before.x) == [0.1, 0.2, 0.3]
    assert "b = 0.25 they make f(x) = −1.15" in figure.layout.meta["alt"]
    np.testing.assert_allclose(shares(values).sum(), 1)
    many = contribution_bars(np.ones(30), [str(k) for k in range(30)], ["rbf"] * 30, limit=5)
    assert list(many.data[0].x) == [1, 1, 1, 1, 1, 25]
    assert contribution_bars([], [], []).layout.meta["alt"].startswith("No kernel is in use")
    with pytest.raises(mkl.ParameterError, match="one value, one name and one family"):
        contribution_bars([1.0], [], [])


def test_the_prompt_names_the_columns_of_the_file():
    lines = [f"{i % 7},{'fm'[i % 2]},{'abc'[i % 3]},{i % 5}" for i in range(60)]
    data = mkl.read_table("\n".join(["age,Sex,class,y", *lines]).encode(), "y")
    assert "Sex=m" in data.feature_names
    assert predict_batch.columns_needed(data) == "age, Sex, class"
    assert predict_batch.columns_needed(data, most=2) == "age, Sex and 1 more"
