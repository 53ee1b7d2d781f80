"""A regularisation path over C

Sparse ℓ1 MKL on one kernel per column and four widths. Each line is the weight of one kernel; every
point is certified.
"""

import mklcore as mkl

data = mkl.load_sample("breast_cancer")
train, test = data.split(test_size=0.3, seed=0)
kernels = mkl.KernelDictionary.rbf_grid([0.25, 0.5, 1, 2])
kernels += mkl.KernelDictionary.per_feature(mkl.Linear(), data.n_features)
model = mkl.LpMKLClassifier(kernels=kernels, p=1)
path = mkl.fit_path(
    model, train.X, train.y, "C", mkl.log_grid(1e-2, 1e2, 15), X_val=test.X, y_val=test.y
)
figure = mkl.figures.weight_path(path)
