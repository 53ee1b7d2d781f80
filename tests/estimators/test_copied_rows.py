"""Tables with few distinct rows, constant columns and rare classes: every estimator answers with
numbers or an error of ours.
"""

from __future__ import annotations

import numpy as np

import mklcore as mkl
from mklcore.errors import DataError, KernelError, suppress_convergence_warnings
from tests.helpers.every import every

TERMS = ("log", "gl", "log+gl", "mf")
ORDERS = (1.0, 4 / 3, 2.0, np.inf)
LOSSES = ("hinge", "squared_hinge", "logistic"), ("squared", "epsilon_insensitive", "huber")


def drawn(seed):
    """A table (n, d), classes (n,), the last of them rare, and rounded numbers (n,)."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(16, 50))
    distinct = int(rng.integers(4, 12))
    columns = [
        rng.integers(0, 3, distinct).astype(float), np.round(rng.normal(size=distinct), 1), np.full(distinct, 3.0)
    ]  # fmt: skip
    X = np.column_stack([*columns, columns[0]])[rng.integers(0, distinct, n)]
    y = np.where(rng.random(n) < 0.1, 2, rng.integers(0, 2, n))
    y[:3] = 0, 1, 2
    X[y == 2, 1] = 0.5  # constant within the class
    return X, y, np.round(X.sum(axis=1) + rng.normal(size=n) * (seed % 2))


def models(seed, d):
    """Estimators at a C and p of the seed's own, each with the parameter of its path and a few
    values.
    """
    C = 10.0 ** (seed % 7 - 3)
    p = ORDERS[seed % 4]
    term = TERMS[seed % 4]
    specs = (mkl.Linear(), mkl.RBF(1.0, relative=True))
    kernels = mkl.KernelDictionary.per_feature(specs, d) + mkl.KernelDictionary.rbf_grid([0.5, 2.0])
    costs = ("C", [1e-2, 1.0, 30.0, 1e3])
    for k, kind in enumerate(("Classifier", "Regressor")):
        for name, asked, path in (
            ("LpMKL", {"p": p, "C": C, "loss": LOSSES[k][seed % 3]}, costs),
            ("LpMKL", {"p": 1.0, "C": C}, costs),
            ("UniformMKL", {"C": C}, costs),
            ("GOMP", {"n_kernels": 3, "lam": 1e-3}, ("s", [1, 3])),
            ("GreedyMKL", {"lam": 0.1}, ("lam", [0.5, 0.05])),
            ("SMKL", {"C": C, "terms": term, "max_iter": 60}, costs),
        ):
            yield k, getattr(mkl, name + kind)(kernels=kernels, **asked), path


@every("seed", range(4))
def test_copied_rows_lead_to_numbers_or_to_an_error_of_ours(seed):
    X, *targets = drawn(seed)
    answers = 0
    for k, model, (param, values) in models(seed, X.shape[1]):
        try:
            with suppress_convergence_warnings():
                path = mkl.fit_path(model, X, targets[k], param, values, X[:9], targets[k][:9])
                point = path.estimators[-1]
        except (DataError, KernelError):  # a ProofError is a fault, and none of these
            continue
        answers += 1
        for values in (
            path.objective,
            path.weights,
            path.train_score,
            point.intercept_,
            point.dual_coef_,
        ):
            assert np.all(np.isfinite(values)), model
    assert answers >= 10
