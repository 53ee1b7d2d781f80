"""Frames and files in, raw rows out: what people hold goes in as it is, and new rows come as they
are.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mklcore as mkl
from mklcore import verify
from tests.helpers.every import every
from tests.helpers.models import reloaded
from tests.helpers.refusals import data_error, parameter_error


def houses(n=90, seed=0):
    """A table with numbers, a category, a date, a text, gaps, and owners of rows."""
    rng = np.random.default_rng(seed)
    words = ["bright", "quiet", "cellar", "garden", "renovated", "balcony", "station", "attic"]
    frame = pd.DataFrame({
        "size": rng.normal(80, 20, n),
        "city": rng.choice(["Bonn", "Köln", "Ulm"], n),
        "sold": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, n), "D"),
        "said": [" ".join(rng.choice(words, 6)) for _ in range(n)],
        "owner": rng.integers(0, n // 4, n).astype(str),
    })  # fmt: skip
    frame["price"] = 2 * frame["size"] + 40 * (frame.city == "Ulm") + rng.normal(0, 4, n)
    frame.loc[rng.choice(n, n // 10, replace=False), "size"] = np.nan
    frame.loc[rng.choice(n, n // 10, replace=False), "city"] = None
    return frame


@pytest.fixture(scope="module")
def found():
    return mkl.explore(houses(), "price", row_groups="owner")


def test_a_frame_with_categories_gaps_dates_and_texts_has_an_answer(found):
    assert {one.name for one in found.columns} == {"size", "city", "sold", "said"}
    assert found.score > 0.5
    assert not set(found.test.row_groups) & set(found.learnt_from.row_groups)


def test_raw_rows_are_predicted_as_they_come_and_again_from_a_file(found, tmp_path):
    new = houses(12, seed=3)[["said", "city", "size", "sold"]]
    new.loc[0, "city"] = "Rome"
    new.loc[1, "said"] = None
    said = found.predict(new)
    (tmp_path / "new.csv").write_text(new.iloc[::-1].to_csv(index=False))
    assert_array_equal(found.predict(tmp_path / "new.csv")[::-1], said)
    for row in (new.iloc[3], new.iloc[3].to_dict(), new.iloc[[3]]):
        assert_allclose(found.predict(row), said[[3]], rtol=1e-12)
    values, base = found.shapley(new)
    assert_allclose(values.sum(axis=1) + base, said, rtol=1e-9)
    ends = found.predict_interval(new, 0.8)
    assert np.all((ends[:, 0] < said) & (said < ends[:, 1]))
    again = reloaded(found)
    assert_allclose(again.predict(new), said, rtol=1e-12)
    assert_allclose(again.predict_interval(new, 0.8), ends, rtol=1e-12)
    assert (str(again), again.columns) == (str(found.verdict), found.columns)
    assert_array_equal(again.path.weights, found.path.weights)
    with data_error("lacks 1 column the model needs: 'city'"):
        again.predict(new.drop(columns="city"))
    with parameter_error("no probabilities of classes: use predict or predict_interval"):
        again.predict_proba(new)


def test_weights_of_rows_are_a_column_or_numbers_and_act_in_the_model_and_its_proof(tmp_path):
    frame = houses()[["size", "city", "price"]]
    w = np.arange(90) % 3.0
    given = {"kernels": mkl.KernelDictionary((mkl.Linear(),)), "C": 1.0}
    named = mkl.explore(frame.assign(w=w), "price", sample_weight="w", **given)
    assert {one.name for one in named.columns} == {"size", "city"}
    assert (
        "Rows count by their weights in the model, and once each in folds and in the verdict."
        in named.notes
    )
    new = frame.drop(columns="price")
    for data, weights in ((frame, w), (mkl.read_table(frame.assign(w=w), "price"), "w")):
        other = mkl.explore(data, "price", sample_weight=weights, **given)
        assert_allclose(other.predict(new), named.predict(new), rtol=1e-9)
    assert (
        np.abs(mkl.explore(frame, "price", **given).predict(new) - named.predict(new)).max() > 0.01
    )
    mkl.save_model(tmp_path / "answer.mkl", named)
    frame.assign(w=w).to_csv(tmp_path / "table.csv", index=False)
    assert verify.main([str(tmp_path / "answer.mkl"), str(tmp_path / "table.csv"), "price"]) == 0
    with data_error("'city' holds weights of rows, and row 1 has none"):
        mkl.explore(frame, "price", sample_weight="city")
    with parameter_error("GOMPRegressor takes no sample_weight"):
        mkl.explore(frame, "price", sample_weight=w, method="gomp")


@every("given, error", [
    ((12, "price"), "source is a int; expected a data frame, a path, bytes or an open file"),
    ((houses(), "prise"), "no column 'prise'; close to it: 'price'"),
    ((houses().drop(columns="price").assign(a=1.0 * np.arange(90) % 7, b=np.arange(90) % 5 / 2),), "to be predicted"),
    ((mkl.load_sample("iris"), "petal"), "The Dataset predicts 'species'"),
])  # fmt: skip
def test_what_cannot_be_a_table_is_refused_by_name(given, error):
    with data_error(error):
        mkl.explore(*given)


@every("hold_out", ["random", "last", "first"])
def test_rows_that_belong_together_are_held_out_together(hold_out):
    owners = np.random.default_rng(1).integers(0, 25, 150)
    y = np.arange(150) % 3
    data = mkl.Dataset(np.arange(150.0)[:, None], y, task="multiclass", row_groups=owners)
    parts = mkl.data.three_way_split(data, 0.2, 0.2, hold_out=hold_out)
    assert sum(part.n_samples for part in parts) == 150
    assert sum(len(set(part.row_groups)) for part in parts) == 25
    few = data.drawn(60, seed=2)
    assert all(
        (owners == owner).sum() == (few.row_groups == owner).sum() for owner in set(few.row_groups)
    )
    pairs, _ = mkl.paths.folds.fold_pairs(mkl.LpMKLClassifier(), data, data.y, 5, 0, None)
    for train, held in pairs:
        assert not set(owners[train]) & set(owners[held])
    with data_error("belong together have 0 owners that can be held out"):
        data.with_row_groups(np.zeros(150)).split(0.2, hold_out=hold_out)


def test_auto_keeps_labels_names_and_owners():
    frame = houses().assign(target=lambda table: np.arange(90.0) % 11)
    y = pd.Series(np.where(frame.price > frame.price.median(), "NA", "low"), name="target")
    model = mkl.AutoMKLClassifier().fit(frame.drop(columns="price"), y, groups=frame.owner)
    assert model.classes_.tolist() == ["NA", "low"]
    assert model.exploration_.learnt_from.target_name == "target (2)"
    proba = model.predict_proba(frame.drop(columns="price"))
    assert proba.shape == (90, 2)
    assert_allclose(proba.sum(axis=1), 1.0)
    again = reloaded(model).predict_proba(frame.drop(columns="price"))
    assert_allclose(again, proba, rtol=1e-12)
    rows = frame.drop(columns=["price", "target"])
    numbers = mkl.AutoMKLRegressor().fit(rows, frame.price)
    assert numbers.score(rows, frame.price) > 0.8
    assert np.isfinite(numbers.predict(rows.assign(city="unseen"))).all()


@every("cls", [mkl.AutoMKLClassifier, mkl.AutoMKLRegressor])
def test_auto_refuses_a_target_of_dates_or_with_gaps_alike_for_frames_and_arrays(cls):
    frame = houses()[["price"]]
    y = np.tile([1.0, 2.0, np.nan], 30)
    for rows in (frame, frame.to_numpy()):
        with data_error("dates or durations: predict a number"):
            cls().fit(rows, houses().sold)
        with data_error(r"The target is missing \(NaN\) in 30 rows, first in row 3"):
            cls().fit(rows, y)
