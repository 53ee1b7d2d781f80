"""Kernel by kernel: matching pursuit

MKL-GOMP adds one kernel at a time. Five of 20 columns carry the class; beyond them the validation
score stops rising.
"""

import mklcore as mkl

data, _ = mkl.make_mkl_toy(200, 5, seed=0, n_features=20)
train, test = data.split(test_size=0.4, seed=0)
model = mkl.GOMPClassifier(kernels=mkl.KernelDictionary.per_feature(mkl.Linear(), 20))
path = mkl.fit_path(model, train.X, train.y, "s", list(range(1, 13)), X_val=test.X, y_val=test.y)
figure = mkl.figures.score_path(path)
