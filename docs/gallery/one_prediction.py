"""One prediction taken apart

Exact Shapley values of one row: what each column adds to the decision, from the mean over the
training rows to the row's own value.
"""

import mklcore as mkl

data = mkl.load_sample("wine")
train, test = data.split(test_size=0.3, seed=0)
kernels = mkl.KernelDictionary.per_feature(mkl.RBF(1.0, relative=True), data.n_features)
model = mkl.LpMKLClassifier(kernels=kernels, p=4 / 3).fit(train.X, train.y == train.y[0])
values, base = model.shapley(test.X[:1])
figure = mkl.figures.waterfall(values[0], data.feature_names, float(base))
