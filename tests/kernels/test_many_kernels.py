"""Very many kernels whose Gram matrices are never stored: everything equals what the stored stack gives."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import mklcore as mkl
import mklcore.estimators.base as base
import mklcore.kernels.dictionary as kernel_dictionary
from mklcore.errors import KernelError
from mklcore.kernels.grams import Rows
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


@every("model", [
    mkl.LpMKLClassifier(p=4 / 3, kernels=MANY, loss="logistic", tol=1e-5),
    mkl.LpMKLClassifier(p=1.0, kernels=MANY, tol=1e-5),
    mkl.LpMKLRegressor(p=2.0, kernels=MANY, tol=1e-5),
    mkl.GOMPRegressor(kernels=MANY, n_kernels=5, lam=1e-3, fit_intercept=True),
    mkl.GOMPClassifier(kernels=MANY + MANY, n_kernels=4),
    mkl.SMKLClassifier(kernels=MANY, C=10.0, tol=1e-5),
    mkl.SMKLRegressor(kernels=MANY, C=10.0, tol=1e-5),
])  # fmt: skip
def test_estimators_store_nothing_above_the_limit_and_answer_alike(table, model, monkeypatch):
    X, y = table
    classes = 3 if isinstance(model, mkl.SMKLClassifier) else 2
    y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)) if is_classifier(model) else y
    stored = clone(model).fit(X, y)
    with monkeypatch.context() as changed:
        changed.setattr(kernel_dictionary, "QUICK_LIMIT_MB", 0.1)
        changed.setattr(base, "_FEWEST_ROWS", 10**9)
        changed.setattr(mkl.KernelDictionary, "grams", lambda *args, **kwargs: pytest.fail("a stack was built"))
        free = clone(model).fit(X, y)
        found, expected = (
            (one.decision_function if is_classifier(model) else one.predict)(X[:7] + 0.1) for one in (free, stored)
        )
    lp = hasattr(model, "p")  # what stops at a gap may end elsewhere
    assert np.sum(free.objective_) == pytest.approx(np.sum(stored.objective_), rel=2e-5 if lp else 1e-8)
    assert found == pytest.approx(expected, abs=1e-3 * np.ptp(expected) if lp else 1e-6)
    if hasattr(model, "n_kernels"):
        assert free.selected_.tolist() == stored.selected_.tolist()
        assert free.notes_ == stored.notes_


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
