"""One kernel of one column: a matrix of rank one, on which exact steps meet systems that are nearly singular."""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.paths.path import path_grid
from tests.helpers.every import every


# Where no weight pays, R of the stopping rule is rounding: such a point may end a share of 1e-11 short.
@pytest.mark.filterwarnings("ignore::mklcore.errors.NotConvergedWarning")
@every("column", [0, 3])
def test_the_dual_of_a_path_sums_to_zero(column):
    data = mkl.load_sample("iris")
    train, _ = data.split(0.5, 0)
    kernels = mkl.KernelDictionary((mkl.Linear(features=(column,)),))
    model = mkl.BestKernelClassifier(kernels=kernels)
    values = path_grid(model, kernels.grams(train.X), train.y, "C", 7)
    path = mkl.fit_path(model, train.X, train.y, "C", values)
    for C, fitted in zip(path.values, path.estimators, strict=True):
        sums = np.abs(np.atleast_2d(fitted.dual_point_).sum(axis=1))
        assert sums.max() <= 1e-9 * C * train.n_samples
    assert (np.abs(path.relative_gap) <= 1e-3).all()
    assert (path.dual_gap >= -1e-9 * np.abs(path.objective)).all()
