"""Several tables about the same rows

Six views of handwritten digits as six groups of columns. One weight per view says which of them the classes need.
"""

import mklcore as mkl

data = mkl.load_sample("digit_views")
train, test = data.split(test_size=0.6, seed=0)
kernels = mkl.KernelDictionary.per_group(mkl.RBF(1.0), data.groups)
model = mkl.LpMKLClassifier(kernels=kernels, p=4 / 3, C=10.0).fit(train.X, train.y)
names = [name for name, _ in data.groups]
figure = mkl.figures.weights_bar(model.weights_.mean(axis=0), names, ["RBF"] * len(names))
