"""Sparse or not?

The same rows under every norm from p = 1 to p = ∞. Validation rows decide between few kernels and
many.
"""

import numpy as np

import mklcore as mkl

data, _ = mkl.make_mkl_toy(150, 5, seed=0, n_features=20)
train, test = data.split(test_size=0.4, seed=0)
model = mkl.LpMKLClassifier(kernels=mkl.KernelDictionary.per_feature(mkl.Linear(), 20), C=1.0)
path = mkl.fit_path(
    model,
    train.X,
    train.y,
    "p",
    [1, 1.1, 1.25, 4 / 3, 1.5, 2, 4, np.inf],
    X_val=test.X,
    y_val=test.y,
)
figure = mkl.figures.score_path(path)
