"""Very many kernels whose Gram matrices are never stored: everything equals what the stored stack gives."""

import numpy as np
import pytest

import mklcore as mkl
import mklcore.estimators.base as base
import mklcore.kernels.dictionary as kernel_dictionary
from mklcore.errors import KernelError
from mklcore.kernels.grams import Rows
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.losses import make_loss
from mklcore.problem.penalties import LpNorm
from mklcore.problem.problem import certificate
from mklcore.sparse import gomp
from tests.helpers.every import every
from tests.helpers.settings import setting

N, D = 40, 6
MANY = mkl.KernelDictionary.per_feature((mkl.Linear(), mkl.RBF(1.0)), 120)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 120))
    return X, X[:, 0] - np.sin(2 * X[:, 1]) + 0.5 * X[:, 2] ** 2 + 0.3 * rng.standard_normal(N)


def targets(y, loss):
    return (
        y
        if loss.name in ("epsilon_insensitive", "huber", "pinball") or loss.total
        else np.where(y > np.median(y), 1.0, -1.0)
    )


@every("name", ["hinge", "squared", "logistic", "epsilon_insensitive", "huber"])
@every("dictionary", [MANY, MANY + mkl.KernelDictionary((mkl.Polynomial(2),))])
def test_at_p_1_the_kernels_that_matter_are_found_and_proved_among_all(table, name, dictionary):
    X, loss, y = table[0], make_loss(name), targets(table[1], make_loss(name))
    rows, K = Rows.build(dictionary, X), dictionary.grams(X).values
    found = fit_weighted(rows, y, 1.0, loss, LpNorm(1.0), True, tol=1e-6)
    stored = fit_weighted(K, y, 1.0, loss, LpNorm(1.0), True, tol=1e-6)
    assert found.status.ok
    assert found.solver.startswith("lp Newton and interior point steps on the kernels that may have weight")
    assert found.objective == pytest.approx(stored.objective, rel=2e-6)
    reported = certificate(
        K, y, found.weights, found.dual_coef, found.intercept, loss, 1.0, LpNorm(1.0), found.dual_point
    )
    assert reported == pytest.approx((found.objective, found.dual_objective), rel=1e-8)


@pytest.mark.parametrize("model", [
    mkl.LpMKLClassifier(p=4 / 3, kernels=MANY, loss="logistic"),
    mkl.LpMKLClassifier(p=1.0, kernels=MANY),
    mkl.LpMKLRegressor(p=2.0, kernels=MANY),
    mkl.GOMPRegressor(kernels=MANY, n_kernels=5, lam=1e-3, fit_intercept=True),
    mkl.GOMPClassifier(kernels=MANY + MANY, n_kernels=4),
    mkl.SMKLClassifier(kernels=MANY, C=10.0),
    mkl.SMKLRegressor(kernels=MANY, C=10.0),
], ids=lambda model: type(model).__name__)  # fmt: skip
def test_estimators_store_nothing_above_the_limit_and_answer_alike(table, model, monkeypatch):
    X, y = table
    classes = 3 if isinstance(model, mkl.SMKLClassifier) else 2
    y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)) if hasattr(model, "decision_function") else y
    stored = (
        model.copy_with("tol", 1e-5).fit(X, y) if hasattr(model, "tol") else model.copy_with("lam", model.lam).fit(X, y)
    )
    monkeypatch.setattr(kernel_dictionary, "QUICK_LIMIT_MB", 0.1)
    monkeypatch.setattr(base, "_FEWEST_ROWS", 10**9)
    monkeypatch.setattr(mkl.KernelDictionary, "grams", lambda *args, **kwargs: pytest.fail("a stack was built"))
    free = (
        model.copy_with("tol", 1e-5).fit(X, y) if hasattr(model, "tol") else model.copy_with("lam", model.lam).fit(X, y)
    )
    greedy = type(model).__name__.startswith("GOMP")
    near = 1e-8 if greedy or type(model).__name__.startswith("SMKL") else 2e-5
    assert np.sum(free.objective_) == pytest.approx(np.sum(stored.objective_), rel=near)
    if greedy:
        assert free.selected_.tolist() == stored.selected_.tolist()
        assert free.notes_ == stored.notes_
    reported = "decision_function" if hasattr(model, "decision_function") else "predict"
    expected = getattr(stored, reported)(X[:7] + 0.1)
    assert getattr(free, reported)(X[:7] + 0.1) == pytest.approx(
        expected, abs=1e-3 * np.ptp(expected) if near > 1e-8 else 1e-6
    )


def test_a_path_without_a_stack_is_the_path_with_one(table, monkeypatch):
    X, y = table
    model, found = mkl.LpMKLRegressor(p=4 / 3, kernels=MANY, tol=1e-6), []
    for limit in (512.0, 0.1):
        monkeypatch.setattr(kernel_dictionary, "QUICK_LIMIT_MB", limit)
        found.append(mkl.fit_path(model, X[:30], y[:30], "C", [0.1, 1.0], X[30:], y[30:]))
    for name in ("objective", "train_score", "val_score"):
        assert getattr(found[1], name) == pytest.approx(getattr(found[0], name), rel=5e-3)


def test_eigenvectors_that_would_not_fit_are_refused(table, monkeypatch):
    rows = Rows.build(mkl.KernelDictionary.per_feature(mkl.Laplacian(1.0), 120), table[0])
    setting(monkeypatch, "mklcore.sparse.gomp.most_mb", 0.5)
    with pytest.raises(KernelError, match=r"The eigenvectors of 120 kernels on 40 rows need more than 0 MB"):
        gomp.Spectra.of(rows)
