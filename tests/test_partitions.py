"""Rows in parts: models from sums against models of all rows at once, in one process and on two workers."""

import numpy as np
import pandas as pd
import pytest

import mklcore as mkl
from mklcore.kernels.operators.factored import FeatureStack
from mklcore.parallel.partitions import ArrayParts, ParquetParts, fit_parts, predict_parts, score_parts
from mklcore.solvers import fit_weighted

DATA = mkl.load_sample("diabetes")
Z = (DATA.y - DATA.y.mean()) / DATA.y.std()
KERNELS = mkl.KernelDictionary.rbf_grid([0.5, 2.0]) + mkl.KernelDictionary((mkl.Linear(), mkl.Linear(features=(2,))))
HOW = {"kernels": KERNELS, "approximation": mkl.Nystroem(20)}
PARTS = ArrayParts(DATA.X, Z + 0.3, 100)


def whole(model) -> FeatureStack:
    """All rows together, by the map of a model."""
    table = model._map.cross(DATA.X).table
    return FeatureStack(
        table, model._map, model.kernel_names_, model.kernel_families_, np.zeros(len(model.kernel_names_))
    )


@pytest.mark.parametrize(("p", "intercept"), [(1.0, True), (4 / 3, True), (2.0, False)])
def test_a_model_from_sums_is_the_model_of_all_rows(p, intercept):
    asked = mkl.LpMKLRegressor(p=p, C=0.1, tol=1e-7, fit_intercept=intercept, **HOW)
    model = fit_parts(asked, PARTS, sample=200)
    stack = whole(model)
    exact = fit_weighted(stack, PARTS.y, 0.1, asked.loss_in_use, asked.penalty_in_use, intercept, tol=1e-7)
    assert model.objective_ == pytest.approx(exact.objective, rel=1e-10)
    np.testing.assert_allclose(model.weights_, exact.weights, atol=1e-7)
    f = stack.times(stack.spread(exact.weights) * stack.coefficients(exact.dual_coef)) + exact.intercept
    np.testing.assert_allclose(np.concatenate(predict_parts(model, PARTS)), f, atol=1e-6)
    assert score_parts(model, PARTS) == pytest.approx(model.score(DATA.X, PARTS.y), rel=1e-12)
    assert model.n_train_ == DATA.n_samples
    assert model.dual_point_ is None
    assert asked.fit_intercept is intercept


@pytest.mark.parametrize("offset", [1e7, -1e9, 1e11])
@pytest.mark.parametrize("make", [lambda: mkl.LpMKLRegressor(p=4 / 3, C=0.1, **HOW), lambda: mkl.GOMPRegressor(**HOW)])
def test_sums_of_a_target_far_from_zero_keep_what_varies(make, offset):
    """At 1e9 its squares had no digits left for that: the objective was far too large, and R2 minus infinity."""
    near, far = (fit_parts(make(), ArrayParts(DATA.X, at + Z, 100), sample=200) for at in (0.0, offset))
    lost = 1e-15 * abs(offset)
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-6 + lost)
    assert far.predict(DATA.X) - offset == pytest.approx(near.predict(DATA.X), abs=1e-4 + lost)
    judged = [score_parts(model, ArrayParts(DATA.X, at + Z, 100)) for model, at in ((near, 0.0), (far, offset))]
    assert judged[1] == pytest.approx(judged[0], abs=1e-4 + lost)


def test_a_target_that_never_varies_has_a_score_as_on_all_rows_at_once():
    model = fit_parts(mkl.LpMKLRegressor(C=0.1, **HOW), PARTS, sample=200)
    assert score_parts(model, ArrayParts(DATA.X, np.full(DATA.n_samples, 0.1), 100)) == 0.0


@pytest.mark.parametrize(("loss", "p", "C", "intercept"), [
    ("logistic", 1.0, 0.1, True), ("logistic", 4 / 3, 10.0, True), ("logistic", 2.0, 10.0, False),
    ("squared_hinge", 1.0, 0.1, True), ("squared_hinge", 4 / 3, 10.0, True), ("squared_hinge", 2.0, 10.0, False),
])  # fmt: skip
def test_losses_with_slopes_take_a_few_passes_to_the_model_of_all_rows(loss, p, C, intercept):
    y = np.where(DATA.y > 150, "high", "low")
    reported = []
    asked = mkl.LpMKLClassifier(p=p, C=C, loss=loss, tol=1e-9, fit_intercept=intercept, callback=reported.append, **HOW)
    cut, together = (fit_parts(asked, ArrayParts(DATA.X, y, size)) for size in (100, 442))
    assert cut.objective_ == pytest.approx(together.objective_, rel=1e-10)
    np.testing.assert_allclose(cut.decision_function(DATA.X), together.decision_function(DATA.X), atol=1e-10)
    signs = np.where(y == "low", 1.0, -1.0)
    exact = fit_weighted(whole(cut), signs, C, asked.loss_in_use, asked.penalty_in_use, intercept, tol=1e-9)
    assert cut.objective_ == pytest.approx(exact.objective, rel=1e-9)
    assert cut.dual_objective_ <= exact.objective * (1 + 1e-12)
    assert cut.n_iter_ <= 10
    assert len(reported) >= cut.n_iter_
    assert (cut.n_train_, cut.dual_point_) == (442, None)
    assert score_parts(cut, ArrayParts(DATA.X, y, 70)) == pytest.approx(together.score(DATA.X, y))


def test_gomp_for_two_classes_chooses_and_predicts_as_on_all_rows(tmp_path):
    y = np.where(DATA.y > 150, "high", "low")
    asked = mkl.GOMPClassifier(lam=1e-3, n_kernels=2, **HOW)
    model = fit_parts(asked, ArrayParts(DATA.X, y, 150), sample=450)
    exact = mkl.GOMPClassifier(lam=1e-3, n_kernels=2, **HOW).fit(DATA.X, y)
    assert list(model.selected_) == list(exact.selected_)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-10)
    np.testing.assert_allclose(model.decision_function(DATA.X), exact.decision_function(DATA.X), atol=1e-8)
    assert score_parts(model, ArrayParts(DATA.X, y, 70)) == pytest.approx(exact.score(DATA.X, y), rel=1e-12)
    mkl.save_model(tmp_path / "m.mkl", model)
    again = mkl.load_model(tmp_path / "m.mkl")
    assert np.array_equal(again.decision_function(DATA.X[:5]), model.decision_function(DATA.X[:5]))
    assert model.lam == 1e-3


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: fit_parts(mkl.LpMKLRegressor(), PARTS), mkl.ParameterError, "need an estimator with approximation"),
        (lambda: fit_parts(mkl.LpMKLClassifier(**HOW), PARTS), mkl.ParameterError, "a loss with kinks is not"),
        (
            lambda: fit_parts(mkl.GOMPClassifier(**HOW), ArrayParts(DATA.X, np.arange(DATA.n_samples) % 3, 99)),
            mkl.DataError,
            "The target has 3 classes",
        ),
        (
            lambda: fit_parts(
                mkl.GOMPClassifier(**HOW), ArrayParts(DATA.X, np.sign(np.arange(442) - 440.0), 442), sample=9
            ),
            mkl.DataError,
            "holds the class .* which no row of the first sample has|at least two classes",
        ),
    ],
)
def test_what_sums_cannot_say_is_refused(make, error, match):
    with pytest.raises(error, match=match):
        make()


def test_files_that_are_no_tables_of_numbers_are_refused(tmp_path):
    with pytest.raises(mkl.DataError, match=r"holds no file that ends in \.parquet"):
        ParquetParts.of(tmp_path, "y")
    pd.DataFrame({"a": ["x", "z"], "b": [1.0, np.nan], "y": [0, 1]}).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(mkl.DataError, match="has no column 'target'; it has a, b, y"):
        ParquetParts.of(tmp_path, "target")
    with pytest.raises(mkl.DataError, match="holds columns that are no numbers"):
        ParquetParts.of(tmp_path, "y")(0)
    with pytest.raises(mkl.DataError, match="holds missing or infinite numbers"):
        ParquetParts.of(tmp_path, "y", ["b"])(0)
