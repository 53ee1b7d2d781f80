"""What a path says about values it has not solved: an interval that holds, and a start that saves work."""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.errors import ParameterError

KERNELS = mkl.KernelDictionary.rbf_grid([0.5, 1.0, 2.0]) + mkl.KernelDictionary.per_feature(mkl.Linear(), 3)


def table(task):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((50, 3))
    score = X[:, 0] - X[:, 1] ** 2 + 0.3 * rng.standard_normal(50)
    y = {"binary": score > -0.5, "multiclass": np.digitize(score, [-1.0, 0.3]), "regression": score}[task]
    return KERNELS.grams(X), y


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize(
    ("param", "values", "between"),
    [("C", [0.1, 1.0, 10.0], [0.05, 0.4, 3.0, 20.0]), ("p", [1.0, 2.0, 8.0], [1.3, 4.0, 16.0])],
)
def test_the_optimum_lies_in_the_interval(task, param, values, between):
    stack, y = table(task)
    losses = ("squared", "epsilon_insensitive") if task == "regression" else ("hinge", "logistic", "squared")
    for loss in losses:
        model = mkl.catalog.ESTIMATORS["lp"].estimator(task, loss=loss, p=1.5, tol=1e-5)
        path = mkl.fit_path(model, stack, y, param, values)
        for value in between:
            found = mkl.paths.interval_along(path, stack, y, value)
            exact = mkl.fit_path(model, stack, y, param, [value])
            assert found.low <= exact.objective[0] * (1 + 1e-6)
            assert found.high >= exact.objective[0] - exact.dual_gap[0] - 1e-9
            assert found.low <= found.high
            assert found.relative_gap == pytest.approx((found.high - found.low) / found.high)


def test_at_a_solved_value_the_interval_is_the_certificate():
    stack, y = table("binary")
    path = mkl.fit_path(mkl.LpMKLClassifier(p=1.5, tol=1e-6), stack, y, "C", [0.5, 2.0])
    found = mkl.paths.interval_along(path, stack.values, y, 2.0)
    assert found.nearest == 1
    assert found.high == pytest.approx(path.objective[1], rel=1e-9)
    assert found.relative_gap <= 1e-4


def test_other_norms_have_an_interval_and_methods_without_a_dual_have_none():
    stack, y = table("binary")
    for penalty in (mkl.BlockNorm(4.0), mkl.WeightedLpNorm(1.5, (1.0, 2.0, 1.0, 3.0, 1.0, 1.0))):
        model = mkl.LpMKLClassifier(penalty=penalty, tol=1e-5)
        path = mkl.fit_path(model, stack, y, "C", [0.5, 2.0])
        found = mkl.paths.interval_along(path, stack, y, 1.0)
        exact = mkl.fit_path(model, stack, y, "C", [1.0]).objective[0]
        assert found.low <= exact * (1 + 1e-6)
        assert found.high >= exact * (1 - 1e-5)
    greedy = mkl.fit_path(mkl.GOMPClassifier(), stack, y, "lam", [0.1, 0.01])
    assert mkl.paths.interval_along(greedy, stack, y, 0.05) is None
    concave = mkl.fit_path(mkl.SMKLClassifier(), stack, y, "C", [10.0])
    assert mkl.paths.interval_along(concave, stack, y, 12.0) is None
    alone = mkl.fit_path(mkl.BestKernelClassifier(), stack, y, "C", [0.5, 2.0])
    assert mkl.paths.interval_along(alone, stack, y, 1.0) is None


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_a_start_changes_the_work_and_not_the_answer(task):
    stack, y = table(task)
    model = mkl.catalog.ESTIMATORS["lp"].estimator(task, p=1.2, tol=1e-6)
    path = mkl.fit_path(model, stack, y, "C", [1.0])
    warm = mkl.fit_path(model, stack, y, "C", [1.05], start=path.estimators[0])
    cold = mkl.fit_path(model, stack, y, "C", [1.05])
    assert warm.objective == pytest.approx(cold.objective, rel=1e-5)
    assert warm.solves[0] <= cold.solves[0]
    assert warm.statuses[0].ok


def test_a_start_that_does_not_fit_is_refused():
    stack, y = table("binary")
    fitted = mkl.LpMKLClassifier().fit(stack, y)
    with pytest.raises(ParameterError, match="starts from a fitted LpMKLClassifier on the same 40 rows"):
        mkl.fit_path(mkl.LpMKLClassifier(), stack.take(np.arange(40)), y[:40], "C", [1.0], start=fitted)
    with pytest.raises(ParameterError, match="got a GOMPClassifier"):
        mkl.fit_path(mkl.LpMKLClassifier(), stack, y, "C", [1.0], start=mkl.GOMPClassifier().fit(stack, y))
