"""What somebody wrote against version 0.1: public names, and modules by the paths the documentation gave.

It runs with any later version and leaves ``numbers``, which `tests/test_version_0_1.py` compares with those of version
0.1.
"""

import io

import numpy as np
import pandas as pd

import mklcore as mkl
from mklcore.data.synthetic import make_sparse_polynomial
from mklcore.estimators.lp import LpMKLClassifier
from mklcore.intervals import interval_along
from mklcore.kernels.functions import RBF
from mklcore.kernels.measures import alignment_matrix
from mklcore.losses import LOSSES
from mklcore.path import fit_path
from mklcore.path_files import read_paths, write_paths
from mklcore.penalties import LpNorm
from mklcore.selection import choose
from mklcore.selection_loo import choose_C
from mklcore.solvers import certificate
from mklcore.solvers.hkl.bases import PolynomialBasis
from mklcore.store import load_model, save_model
from mklcore.theory.lp import lp_rademacher_bound
from mklcore.verify import report

numbers = {}
data = mkl.load_sample("iris").take(np.arange(0, 150, 2))
train, test = data.split(test_size=0.3, seed=0)
kernels = mkl.KernelDictionary.rbf_grid([0.5, 2.0]) + mkl.KernelDictionary.per_feature(mkl.Linear(), data.n_features)
model = LpMKLClassifier(kernels=kernels, p=4 / 3, C=1.0, tol=1e-6).fit(train.X, train.y)
numbers["weights"] = model.weights_
numbers["objective"] = model.objective_
numbers["score"] = model.score(test.X, test.y)

stack = kernels.grams(train.X)
sign = np.where(train.y == "setosa", 1.0, -1.0)
one = mkl.LpMKLClassifier(kernels="precomputed", p=2.0, tol=1e-6).fit(stack, sign)
numbers["decision"] = one.decision_function(stack.cross(test.X))
numbers["alignment"] = alignment_matrix(stack.values)[0]
numbers["bounds"] = certificate(
    stack.values, sign, one.weights_, one.dual_coef_, one.intercept_, "hinge", one.C, LpNorm(2.0), one.dual_point_
)
numbers["rademacher"] = lp_rademacher_bound(4 / 3, 10, 100)
numbers["losses"] = sorted(set(LOSSES) & {"hinge", "logistic", "squared", "epsilon_insensitive", "one_class", "huber"})

path = fit_path(model, train.X, train.y, "C", mkl.log_grid(0.1, 10.0, 5), test.X, test.y)
numbers["path_objective"] = path.objective
numbers["chosen"] = choose(path, rule="best")
numbers["same_path"] = read_paths(write_paths(path=path))["path"].objective
between = interval_along(fit_path(one, stack, sign, "C", [0.5, 1.0, 2.0]), stack, sign, 1.5)
numbers["interval"] = between.low, between.high

polynomial, truth = make_sparse_polynomial(n=60, p=4, seed=0)
hull = mkl.HKLRegressor(basis=PolynomialBasis(2), lam=0.1).fit(polynomial.X, polynomial.y)
numbers["hull"] = [list(node) for node in hull.hull_]
greedy = mkl.GOMPRegressor(kernels=mkl.KernelDictionary([RBF(1.0), RBF(3.0)]), n_kernels=2, lam=0.1)
numbers["greedy"] = greedy.fit(polynomial.X, polynomial.y).predict(polynomial.X[:5])
concave = mkl.SMKLRegressor(terms="log+gl", C=1.0).fit(polynomial.X, polynomial.y)
numbers["concave"] = concave.weights_ / concave.weights_.max()

file = io.BytesIO()
save_model(file, greedy)
file.seek(0)
again = io.BytesIO(file.getvalue())
table = pd.DataFrame(polynomial.X, columns=polynomial.feature_names).assign(y=polynomial.y)
numbers["verified"] = report(again, {"X": polynomial.X, "y": polynomial.y}, "y")[1]
numbers["same_model"] = load_model(file).predict(polynomial.X[:5])
numbers["C"] = choose_C(
    mkl.LpMKLClassifier(kernels=kernels), train.X, sign, mkl.log_grid(0.1, 10.0, 3), rule="kfold", n_splits=3
).C
