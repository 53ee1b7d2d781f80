"""Predict without a browser: the library's numbers, a row and its changes, whole files, refusals
with a sentence.
"""

import json
import re
from dataclasses import replace

import nbformat
import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal

from mklcore import Dataset, LpMKLClassifier, explore, load_sample, read_table
from mklcore.figures import style, waterfall
from pages.predict import batch, row
from pages.shared.export import files, scripts
from tests.helpers.every import every
from tests.helpers.pages import (
    answer_of,
    csv,
    go,
    memory,
    open_app,
    plain_words,
    press,
    put,
    quiet,
    upload,
    words,
)
from tests.helpers.project import run_python
from tests.helpers.refusals import parameter_error

PREDICT = "pages/predict/page.py"


def alt(app):
    (chart,) = app.get("plotly_chart")
    return chart.proto.alt


def slider(app, label):
    (one,) = [one for one in app.slider if one.label.replace("\\", "") == label]
    return one


# One row


@every("sample", ["iris", "diabetes"])
def test_the_page_says_what_the_library_says(sample):
    app = open_app(PREDICT, data=sample, row="5", seed="3")
    data = load_sample(sample)
    known = explore(data, seed=3)
    row = data.X[4:5]
    step = known.verdict.typical_error / 10
    said = known.model.predict(row)[0]
    shown = style.rounded_to(float(said), step) if data.task == "regression" else said
    assert f"#### {data.target_name}: {shown}" in plain_words(app)
    # the server may know what trees reach
    said = str(known.verdict).split(": ", 1)[1].partition(" Not yet")[0]
    assert said in plain_words(app).replace("**", "")
    values, base = known.model.shapley(row)
    if data.task == "multiclass":
        k = int(known.model.decision_function(row).argmax())
        values = values[..., k]
        base = base[k]
    total = style.rounded_to(
        float(base + values.sum()), step if data.task == "regression" else 0.01
    )
    first = style.rounded_to(float(base), step if data.task == "regression" else 0.01)
    assert alt(app).startswith(f"From {first}, no column known, to the prediction {total}.")
    parts = values.ravel()
    largest = int(np.argmax(np.abs(parts)))
    name, _ = known.model.source_columns_[largest]
    shown = style.rounded_to(
        float(parts[largest]), step if data.task == "regression" else 0.01, sign=True
    )
    assert re.search(rf"parts: {re.escape(name)} = \S+ {re.escape(shown)}", alt(app))
    if data.task == "regression":
        low, high = (style.rounded_to(float(end), step) for end in known.predict_interval(row)[0])
        assert f"fall inside **{low}** to **{high}**" in plain_words(app)
    else:
        names = np.array(data.class_names)[known.predict_set(row)[0]]
        assert f"are among: **{', '.join(names)}**" in plain_words(app)


def test_sentence_and_bars_are_about_the_place_of_the_cursor():
    known = answer_of(open_app(PREDICT, data="diabetes"))
    value = float(known.path.values[0])
    assert known.index != 0
    here = known.of_model(known.path.estimators[0])
    app = open_app(PREDICT, data="diabetes", at=repr(value))
    # the server may know what trees reach
    said = str(here.verdict).split(": ", 1)[1].partition(" Not yet")[0]
    assert said in plain_words(app).replace("**", "")
    assert "the place of the cursor on Explore" in words(app)
    step = here.verdict.typical_error / 10
    base = here.model.shapley(load_sample("diabetes").X[:1])[1]
    assert alt(app).startswith(f"From {style.rounded_to(float(base), step)}, no column known")
    few = uploaded(table(40))
    memory(few).params = replace(memory(few).params, at=0.0123)
    assert "No row was held out, so we cannot say how good the model at C = " in words(
        go(few, PREDICT)
    )


def test_a_method_that_explains_no_row_says_why():
    app = open_app(PREDICT, data="iris", algorithm="smkl", rows="40")
    assert "vote in pairs" in words(app)
    assert not app.error


def test_moving_a_column_moves_the_answer_and_the_link():
    app = open_app(PREDICT, data="diabetes")
    data = load_sample("diabetes")
    model = answer_of(app).model
    assert {one.label.replace("\\", "") for one in app.slider} == set(data.feature_names)
    bmi = slider(app, "bmi")
    assert (bmi.min, bmi.max) == (data.X[:, 2].min(), data.X[:, 2].max())
    quiet(bmi.set_value(bmi.max).run())
    changed = data.X[0].copy()
    changed[2] = data.X[:, 2].max()
    step = answer_of(app).verdict.typical_error / 10
    before = style.rounded_to(float(model.predict(data.X[:1])[0]), step)
    now = style.rounded_to(float(model.predict(changed[None])[0]), step)
    assert f"#### progression: {now} :gray[before the changes {before}]" in plain_words(app)
    assert app.query_params["moved"] == f"3={float(bmi.max)!r}"
    press(app, "undo")
    assert "moved" not in app.query_params


def test_a_link_restores_the_row_and_the_way_back_drops_the_changes():
    app = open_app(PREDICT, data="iris", row="120", moved="1=5.5,4=0.25,77=3", outcome="3")
    assert slider(app, "petal width (cm)").value == 0.25
    assert "2 columns changed" in words(app)
    assert app.selectbox(key="what_outcome").value == 3
    press(app, "what_reset")
    assert "changed" not in words(app)
    put(app, "what_row", 3)
    assert app.query_params["row"] == "3"
    assert "Its species is setosa." in words(app)
    assert open_app(PREDICT, data="iris", row="9999").number_input(key="what_row").value == 150


def test_a_row_that_was_left_out_for_there_are_too_many_is_one_the_model_has_not_seen():
    app = open_app(PREDICT, data="diabetes", rows="60")
    data = load_sample("diabetes")
    known = answer_of(app)
    assert known.learnt_from.n_samples == 60
    every = {tuple(row): number for number, row in enumerate(data.X, start=1)}
    learned = {every[tuple(row)] for row in known.learnt_from.X}
    held_out = {every[tuple(row)] for row in known.test.X}
    left_out = set(every.values()) - learned - held_out
    for rows, said in ((learned, "The model learned from this row"), (left_out, "has not seen")):
        put(app, "what_row", min(rows))
        assert said in words(app)


def test_a_row_is_shown_as_the_table_has_it_and_the_page_says_whether_the_model_learned_from_it(
    rng,
):
    frame = pd.DataFrame(
        {"year": rng.integers(1990, 2020, 120), "size": rng.integers(10_000, 99_999, 120) / 10}
    )
    frame["cost"] = frame["year"] * 3 + frame["size"] / 7 + rng.normal(size=120)
    app = uploaded(frame)
    known = answer_of(app)
    learned = int(
        next(
            k
            for k, row in enumerate(frame[["year", "size"]].to_numpy())
            if row in known.learnt_from.X
        )
    )
    put(app, "what_row", learned + 1)
    assert "The model learned from this row, so its answer for it is no prediction" in words(app)
    assert f"Its cost is {style.as_given(frame['cost'][learned])}." in words(app)
    press(app, "what_unseen")
    year, size = frame.iloc[memory(app).params.row - 1][["year", "size"]]
    assert "The model has not seen this row" in words(app)
    assert [year, size] in known.test.X.tolist()
    figure = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert {f"year = {year:.0f}", f"size = {size:g}"} <= set(figure["layout"]["yaxis"]["ticktext"])
    (control,) = [one for one in app.slider if one.label == "size"]
    assert float(control.proto.format % size) == pytest.approx(size, abs=control.step)


def test_where_the_model_predicts_nothing_no_row_is_explained():
    rng = default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(120, 4)).round(3), columns=list("abcd"))
    app = uploaded(frame.assign(y=rng.normal(size=120).round(3)))
    assert answer_of(app).verdict.relation == "none"
    assert "so its answer for a row is not explained" in words(app)
    assert not app.get("plotly_chart")


def test_the_bars_of_a_class_begin_at_its_share_of_the_rows():
    app = open_app(PREDICT, data="mkl_toy_sparse")
    known = answer_of(app)
    probable = replace(
        known,
        model=LpMKLClassifier(probability=True).fit(known.learnt_from.X, known.learnt_from.y),
    )
    first, last = row.ends(known.learnt_from, probable.model, known.learnt_from.X[:2], 0)
    name = known.learnt_from.class_names[1]
    assert first == f"({np.mean(known.learnt_from.y.astype(str) == name):.0%} of the rows)"
    assert last == f"({probable.model.predict_proba(known.learnt_from.X[:1])[0, 1]:.0%})"


def test_many_columns_can_be_searched():
    app = open_app(PREDICT, data="breast_cancer", rows="60")
    assert len(app.slider) == 24
    put(app, "what_find", "concave")
    assert {one.label for one in app.slider} == {
        "mean concave points",
        "concave points error",
        "worst concave points",
    }


def test_without_a_target_a_row_is_ordinary_or_unusual():
    app = open_app(PREDICT, data="ring")
    data = load_sample("ring")
    model = answer_of(app).model
    said = ["unusual", "ordinary"][int(model.predict(data.X[:1])[0] > 0)]
    assert f"#### This row: {said}" in words(app)
    far = batch.answers(model, batch.NewRows(np.array([[9.0, 9.0]]), None, ()), data, None)
    assert list(far.frame["the model says"]) == ["unusual"]
    assert far.n_scored == 0
    assert not app.error


# Uploads


def table(n=120):
    rng = default_rng(1)
    colour = rng.choice(["red", "green", "blue"], n)
    size = rng.standard_normal(n).round(3)
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 24 * 300, n), "h")
    label = np.where(size + (colour == "red") + (when.hour > 12) > 0.8, "yes", "no")
    return pd.DataFrame({
        "size": size, "colour": colour, "sex": rng.choice(["f", "m"], n), "when": when.strftime("%d.%m.%Y %H:%M"),
        "label": label,
    })  # fmt: skip


def uploaded(frame):
    return go(upload(open_app("pages/data/page.py"), csv(frame)), PREDICT)


def new_rows(app, content):
    app.session_state["predict_tabs"] = "A whole file"
    quiet(app.run())
    app.file_uploader(key="batch_file").upload("new.csv", content, "text/csv")
    return quiet(app.run())


def test_categories_and_dates_have_controls_that_set_all_their_features():
    app = uploaded(table())
    data = read_table(csv(table()))
    (box,) = [box for box in app.selectbox if box.label == "colour"]
    assert set(box.options) == {"red", "green", "blue"}
    other = next(level for level in ("red", "green", "blue") if level != box.value)
    quiet(box.select(other).run())
    moved = dict(part.split("=") for part in app.query_params["moved"].split(","))
    names = {data.feature_names[int(place) - 1]: float(value) for place, value in moved.items()}
    assert names[f"colour={other}"] == 1.0
    assert sum(names.values()) == 1.0
    (calendar,) = app.get("date_time_input") or app.get("datetime_input")
    assert f"{calendar.value:%d.%m.%Y %H:%M}" == table()["when"][0]


def test_a_file_is_predicted_as_the_training_rows_are_and_scored_where_it_has_the_target():
    frame = table()
    data = read_table(csv(table()))
    app = new_rows(uploaded(frame), csv(frame.iloc[::-1, ::-1]))
    model = explore(data).model
    shown = app.dataframe[0].value
    assert_array_equal(shown["predicted label"], model.predict(data.X[::-1]))
    assert_allclose(shown["probability of yes"], model.predict_proba(data.X[::-1])[:, 1], atol=1e-9)
    assert {"90% set", "label in the file"} <= set(shown.columns)
    share = float(np.mean(shown["predicted label"] == frame["label"].to_numpy()[::-1]))
    assert f"accuracy on 120 rows with a target: **{100 * share:.1f} %**" in words(app)
    quiet(new_rows(app, csv(frame.assign(colour="violet").drop(columns="label"))))
    assert "hold what the training table does not" in plain_words(app)
    assert "with a target" not in words(app)


def test_what_is_taken_away_predicts_the_new_file_in_another_process(tmp_path):
    rng = default_rng(1)
    n = 90
    frame = pd.DataFrame({
        "size": rng.normal(80, 20, n).round(1), "city": rng.choice(["Bonn", "Köln", "Ulm"], n),
        "sold": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, n), "D"),
        "said": [" ".join(rng.choice(["bright", "quiet", "cellar", "garden", "attic"], 6)) for _ in range(n)],
    })  # fmt: skip
    frame["price"] = (2 * frame["size"] + 40 * (frame.city == "Ulm") + rng.normal(0, 4, n)).round(2)
    frame.loc[:5, "size"] = np.nan
    frame.loc[4:9, "city"] = None
    frame.loc[11, "sold"] = None
    new = frame.drop(columns="price").assign(city="Rome").iloc[:7, ::-1]
    app = new_rows(uploaded(frame), csv(new))
    said = app.dataframe[0].value["predicted price"].to_numpy()
    parts = scripts.use_cells("answer.mkl", answer_of(app).learnt_from, "mine.csv")
    (tmp_path / "answer.mkl").write_bytes(files.saved(answer_of(app)))
    (tmp_path / "mine.csv").write_bytes(csv(new))
    (tmp_path / "predict.py").write_text(scripts.script(parts))
    cells = nbformat.reads(scripts.notebook(parts), 4).cells
    (tmp_path / "cells.py").write_text(
        "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    )
    both = "import runpy; runpy.run_path('predict.py'); runpy.run_path('cells.py')"
    printed = run_python("-c", both, folder=tmp_path)
    assert printed.count("Predicting price") == 2
    numbers = [float(one) for part in re.findall(r"\[([^]]*)\]", printed) for one in part.split()]
    assert_allclose(numbers, [*said, *said], rtol=1e-6)
    app.session_state["predict_tabs"] = "Take away"
    quiet(app.run())


def test_files_that_do_not_fit_are_refused():
    app = uploaded(table())
    frame = table()
    cases = [
        (csv(frame.assign(size="tall")), "'size' holds 'tall' in row 1, 120 such cells in all"),
        (csv(frame.iloc[:0]), "header line only"),
        (csv(pd.concat([frame] * 200)), "at most 20,000 are predicted at once"),
        (b"\x80\x04pickle" * 9, ""),
        (b"", ""),
    ]
    for content, said in cases:
        new_rows(app, content)
        assert len(app.error) == 1
        assert said in app.error[0].value.replace("\\", "")


def test_a_file_is_scored_by_the_score_that_was_chosen_or_says_why_not(rng):
    X = rng.standard_normal((60, 2))
    data = Dataset(X, np.where(X[:, 0] > 0, "b", "a"), task="binary")
    model = LpMKLClassifier(loss="squared").fit(data)
    new = batch.NewRows(X[:20], np.array([*data.y[:19], ""], dtype=object), ())
    for scoring in ("accuracy", "balanced_accuracy", "roc_auc"):
        got = batch.answers(model, new, data, scoring)
        assert got.n_scored == 19
        assert 0.5 < got.score <= 1.0
    same = batch.NewRows(X[:2], np.array(["a", "a"], dtype=object), ())
    assert batch.answers(model, same, data, "roc_auc").unscored == "their targets are all the same"


# The picture


def test_a_waterfall_adds_up_and_rounds_to_what_is_known():
    figure = waterfall(
        [520.0, -2030.0, 12.0],
        ["a", "b", "c"],
        9000.0,
        step=150.0,
        ends=("", "(90 %)"),
        before=8000.0,
    )
    (bars,) = figure.data
    assert list(bars.x[1:-1]) == [520.0, -2030.0, 12.0]
    assert list(bars.base[1:-1]) == [9000.0, 9520.0, 7490.0]
    assert list(bars.text) == ["9,000", "+500", "−2,000", "+0", "7,500 (90 %)"]
    many = waterfall(np.ones(30), [str(k) for k in range(30)], 0.0)
    assert list(many.data[0].x[1:-1]) == [1] * 12 + [18]
    assert "No column adds anything" in waterfall([0.0], ["a"], 1.0).layout.meta["alt"]
    with parameter_error("as the names have it"):
        waterfall([1.0], [], 0.0)
