"""Many rows and many runs: a model of all rows from files, and equal results on the workers of a
Dask cluster.
"""

from functools import partial

import dask.array
import dask.dataframe
import distributed
import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mklcore as mkl
from mklcore.io import rows
from tests.helpers.every import EVERY_CASE, every
from tests.helpers.models import reloaded
from tests.helpers.refusals import data_error, parameter_error

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"
)

DATA = mkl.load_sample("diabetes")
COLUMNS = list(DATA.feature_names)
TABLE = pd.DataFrame(DATA.X, columns=COLUMNS).assign(
    y=(DATA.y - DATA.y.mean()) / DATA.y.std() + 1e3
)
CLASSES = TABLE.assign(y=np.where(DATA.y > 150, "high", "low"))
KERNELS = mkl.KernelDictionary.rbf_grid([0.5, 2.0]) + mkl.KernelDictionary(
    (mkl.Linear(), mkl.Linear(features=(2,)))
)
FIT = partial(mkl.fit_rows, target="y", kernels=KERNELS, n_components=20, C=0.3)


def written(table, folder, kind="parquet", size=100):
    """The table in files of ``size`` rows."""
    for k, top in enumerate(range(0, len(table), size)):
        part = table.iloc[top : top + size]
        part.to_parquet(folder / f"{k}.parquet") if kind == "parquet" else part.to_csv(
            folder / f"{k}.csv", index=False
        )
    return folder


@pytest.fixture(scope="module")
def client():
    """A process of its own, or two where every case is asked for: the only cluster of the whole
    suite. Tests use it by ``with client.as_current()``.
    """
    quiet = {"dashboard_address": None, "silence_logs": 50}
    with (
        distributed.LocalCluster(
            n_workers=2 if EVERY_CASE else 1, threads_per_worker=1, processes=True, **quiet
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as found,
    ):
        yield found


# One model of all rows


@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0])
def test_a_model_from_sums_is_the_model_of_all_rows(tmp_path, p):
    seen = []
    model = FIT(written(TABLE, tmp_path), p=p, tol=1e-8, callback=lambda *k: seen.append(k))
    exact = mkl.LpMKLRegressor(
        p=p, C=0.3, tol=1e-8, kernels=KERNELS, approximation=mkl.Nystroem(20)
    )
    exact.fit(TABLE[COLUMNS], TABLE.y)
    assert type(model) is mkl.LpMKLRegressor
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-8)
    assert model.relative_gap_ < 1e-8
    assert_allclose(model.weights_, exact.weights_, atol=1e-6)
    assert_allclose(model.predict(TABLE[COLUMNS]), exact.predict(TABLE[COLUMNS]), atol=1e-5)
    assert_allclose(model.approximation_error_, exact.approximation_error_)
    assert (model.n_train_, model.dual_coef_.size, model.dual_point_) == (442, 0, None)
    assert seen == [(k, 5) for k in range(1, 6)] * 2
    assert np.array_equal(reloaded(model).predict(TABLE[COLUMNS]), model.predict(TABLE[COLUMNS]))


class Interchanged:
    """A data frame of another library, of which only the interchange protocol is known."""

    def __init__(self, frame):
        self.__dataframe__ = frame.__dataframe__


class ByArrow:
    """One of which Arrow's protocol and the names of its columns are known, as of polars."""

    def __init__(self, frame):
        self.columns = list(frame.columns)
        self.__arrow_c_stream__ = frame.__arrow_c_stream__


@every("wrap", [lambda frame: frame, Interchanged, ByArrow, "Dataset"])
def test_a_table_in_memory_is_learnt_and_its_raw_rows_are_predicted(wrap):
    table = CLASSES.assign(city=np.where(TABLE.bmi > TABLE.bmi.median(), "Bonn", "Ulm"))
    data = mkl.read_table(table, "y")
    given = data if wrap == "Dataset" else wrap(table)
    kernels = mkl.KernelDictionary.per_feature(mkl.Linear(), data.n_features)
    model = mkl.fit_rows(given, "y", kernels=kernels, n_components=20, loss="logistic")
    assert model.relative_gap_ < 1e-3
    assert any("city" in name for name in model.kernel_names_)
    assert dict(model.source_columns_).keys() == {*COLUMNS, "city"}
    rows_out = table.drop(columns="y").iloc[:9, ::-1]
    said = reloaded(model).predict(rows_out)
    assert set(said) <= {"high", "low"}
    assert_array_equal(said, model.predict(data.X[:9]))


LETTERS = mkl.Dataset(np.ones((4, 1)), np.arange(4.0), sequences=(("s", tuple("ACGT")),))


@every(
    "source, target, sentence",
    [
        (TABLE, None, "Which column is to be predicted"),
        (DATA, "y", "The Dataset predicts 'progression"),
        (DATA.with_sample_weight(np.ones(442)), None, "weights of rows, and fit_rows counts every"),
        (mkl.load_sample("iris"), None, "has 3 classes, and fit_rows learns two"),
        (mkl.load_sample("ring"), None, "has no target"),
        (LETTERS, None, "texts or sequences"),
    ],
)
def test_a_table_in_memory_that_sums_cannot_learn_from_is_refused(source, target, sentence):
    with data_error(sentence):
        mkl.fit_rows(source, target, kernels=KERNELS)


@pytest.mark.parametrize(("loss", "p", "C"), [
    ("squared", 4 / 3, 1.0), ("logistic", 1.0, 0.1), ("logistic", 4 / 3, 10.0), ("squared_hinge", 1.0, 0.1),
    ("squared_hinge", 2.0, 10.0),
])  # fmt: skip
def test_two_classes_in_text_files_are_learnt_from_all_rows_in_few_passes(
    tmp_path, monkeypatch, loss, p, C
):
    monkeypatch.setattr(rows, "_SAMPLE", 150)
    monkeypatch.setattr(rows, "_BYTES", 1000)
    passes = []
    model = FIT(
        [written(CLASSES, tmp_path, "csv")],
        loss=loss,
        p=p,
        C=C,
        tol=1e-8,
        callback=lambda k, n: passes.append(k == n),
    )
    assert model.n_train_ == 442
    assert sum(passes) <= 9
    assert len(passes) > 5 * sum(passes)  # files are read in pieces
    assert set(model.classes_) == {"high", "low"}
    features = model._map.cross(DATA.X).table.astype(float)
    spread = np.repeat(model.weights_, np.diff(model._map.ends))
    v = spread * model.feature_coef_
    f = model.decision_function(TABLE[COLUMNS])
    signs = np.where(CLASSES.y == "low", 1.0, -1.0)
    assert_allclose(features @ v + model.intercept_, f, atol=1e-6)
    norms = np.array(
        [
            np.linalg.norm(v[first:last])
            for first, last in zip(model._map.ends, model._map.ends[1:], strict=False)
        ]
    )
    primal = C * float(model.loss_in_use.value(f, signs).sum()) + model.penalty_in_use.regulariser(
        norms
    )
    assert model.objective_ == pytest.approx(primal, rel=1e-6)
    assert model.dual_objective_ <= model.objective_ * (1 + 1e-12)
    assert model.relative_gap_ < 1e-6


def test_a_sample_of_all_rows_gives_landmarks_and_a_class_that_one_row_has_is_in_it(monkeypatch):
    monkeypatch.setattr(rows, "_SAMPLE", 60)
    y = np.zeros(442, dtype=int)
    y[430] = 1
    parts = dask.dataframe.from_pandas(TABLE.assign(y=y), npartitions=7)
    one, two = (FIT(parts, loss="logistic", random_state=seed) for seed in (0, 0))
    assert list(one.classes_) == [0, 1]
    assert one.n_train_ == 442
    assert np.array_equal(one.feature_coef_, two.feature_coef_)
    assert not np.array_equal(one._map.rows, FIT(parts, loss="logistic", random_state=1)._map.rows)


def test_dask_collections_give_the_model_of_files(tmp_path):
    here = FIT(written(TABLE, tmp_path))
    X = dask.array.from_array(DATA.X, chunks=(100, 4))
    y = dask.array.from_array(TABLE.y.to_numpy(), chunks=77)
    for source, target in (
        (dask.dataframe.from_pandas(TABLE, npartitions=5), "y"),
        (X, y),
        (dask.array.concatenate([X, y[:, None]], axis=1), 10),
    ):
        model = FIT(source, target=target)
        assert_allclose(model.feature_coef_, here.feature_coef_, rtol=1e-9)
        assert model.intercept_ == pytest.approx(here.intercept_, rel=1e-12)
    assert list(here.feature_names_in_) == COLUMNS


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
def test_workers_of_a_cluster_give_the_numbers_of_one_process(tmp_path, client, loss):
    folder = written(TABLE if loss == "squared" else CLASSES, tmp_path)
    here = FIT(folder, loss=loss)
    with client.as_current():
        there = FIT(folder, loss=loss)
    assert_allclose(there.feature_coef_, here.feature_coef_, rtol=1e-9)
    assert_allclose(there.weights_, here.weights_, rtol=1e-9)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-9)
    assert there.relative_gap_ == pytest.approx(here.relative_gap_, abs=1e-9)


def test_a_refusal_of_a_worker_is_the_same_sentence(tmp_path, client):
    TABLE.assign(s3=np.inf).to_parquet(written(TABLE, tmp_path) / "9.parquet")
    with (
        client.as_current(),
        data_error(r"9\.parquet' holds missing or infinite values in the"),
    ):
        FIT(tmp_path)


@pytest.mark.parametrize(("change", "loss", "match"), [
    (lambda d: d.rename(columns={"s1": "z"}), "squared", r"9\.(parquet|csv)' has other columns than .*0\..*: s1, z"),
    (lambda d: d.drop(columns="s1"), "squared", r"9\..*' has other columns than .*: s1"),
    (lambda d: d.assign(s1="a"), "squared", r"9\..*' holds values in the column 's1' that are no numbers"),
    (lambda d: d.assign(s2=np.nan), "squared", r"9\..*' holds missing or infinite values in the column 's2'"),
    (lambda d: d.assign(y=[np.nan, *d.y[1:]]), "squared", r"9\..*' has no target \('y'\) in 1 rows"),
    (lambda d: d.assign(y="high"), "squared", r"9\..*' and .*0\..*' have targets of different types"),
    (lambda d: d.assign(y=np.arange(len(d))), "logistic", r"0\..*' holds a third class"),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_what_does_not_fit_is_refused_by_the_name_of_the_file(tmp_path, kind, change, loss, match):
    folder = written(TABLE, tmp_path, kind)
    made = change(TABLE.head(50))
    made.to_parquet(folder / "9.parquet") if kind == "parquet" else made.to_csv(
        folder / "9.csv", index=False
    )
    with data_error(match):
        FIT(folder, loss=loss)


def test_other_refusals_say_what_to_do(tmp_path, monkeypatch):
    with data_error(r"holds no file that ends in \.parquet or \.csv"):
        FIT(tmp_path)
    with data_error(r"a\.txt' is no file that ends in \.parquet or \.csv"):
        FIT([tmp_path / "a.txt"])
    (tmp_path / "a.parquet").write_bytes(b"no table")
    with data_error(r"a\.parquet' cannot be read as parquet"):
        FIT(tmp_path)
    (tmp_path / "a.parquet").unlink()
    written(CLASSES.assign(y="low"), tmp_path)
    with data_error(r"0\.parquet' and all others hold the class 'low' alone"):
        FIT(tmp_path)
    with data_error(r"0\.parquet' has no column 'z'; it has age, sex"):
        FIT(tmp_path, target="z")
    with data_error("has no rows, nor have any others"):
        FIT(dask.dataframe.from_pandas(TABLE.head(0), npartitions=1))
    with parameter_error("loss must be one of squared, logistic, squared_hinge"):
        FIT(tmp_path, loss="hinge")
    monkeypatch.setitem(__import__("sys").modules, "dask", None)
    with parameter_error(r"needs Dask, which is not installed: pip install 'mklcore\[dask\]'"):
        FIT(tmp_path)


# Many runs: the same rows in one process, in two, and on a cluster


def backends(client):
    if EVERY_CASE:
        yield joblib.parallel_config(backend="loky", n_jobs=2)
    with client.as_current():
        yield joblib.parallel_config(backend="dask")


def test_folds_and_experiments_are_the_same_on_every_backend(client):
    gomp = mkl.GOMPRegressor(kernels=KERNELS, n_kernels=3)
    left, right = DATA.split(0.3, seed=0)
    ticks = []

    def all_of_them():
        folds = mkl.cross_validate_path(
            gomp, DATA.X, DATA.y, "lam", [1e-3, 1e-2], 3, callback=lambda *k: ticks.append(k)
        )
        surface = mkl.cross_validate_path(
            gomp, DATA.X, DATA.y, params={"lam": [1e-3, 1e-2], "s": [1, 3]}, n_splits=2
        )
        curve = mkl.validation_curve(gomp, left.X, left.y, right.X, right.y, [1e-3, 1e-2], [1, 2])
        run = mkl.EXPERIMENTS["greedy_rate"].run(2, seed=3, quick=True)
        return [folds.scores, folds.selected, surface.scores, curve.scores, run.samples]

    here = all_of_them()
    assert ticks[-1] == (6, 6)
    for config in backends(client):
        with config:
            there = all_of_them()
        assert ticks[-1] == (6, 6)
        for one, other in zip(here, there, strict=True):
            assert np.array_equal(one, other)
