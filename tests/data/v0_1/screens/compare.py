# Methods side by side on Iris
#
# Written by MKL Explorer, mklcore 0.1.0. It computes the numbers of the screen with the library alone.

import warnings

import numpy as np
import pandas as pd

import mklcore as mkl

# Points that stop short of their tolerance keep their gap, which is printed below.
warnings.filterwarnings("ignore", category=mkl.NotConvergedWarning)

# The table

data = mkl.load_sample('iris')
if data.fingerprint != "704a613d318c6f66f402ef3604e3d20a0d1adab87f79f28d7c7744d671f81637":
    raise ValueError("This is not the table of the screen: another file, or another release of mklcore.")
train, validation, test = mkl.data.three_way_split(data, validation=0.4, test=0.4, seed=3)
print(data)

# The kernels

specs = (
    mkl.RBF(width=0.25, relative=True),
    mkl.RBF(width=4.0, relative=True),
    mkl.Linear(),
    mkl.Polynomial(degree=2),
    *(mkl.Linear(features=(j,)) for j in range(0, 4)),
)
kernels = mkl.KernelDictionary(
    specs,
    feature_names=data.feature_names,
)
stack = kernels.grams(train.X, normalise='multiplicative', center=False)
blocks = stack.cross(validation.X)
print(stack)

# The lanes

paths = {}

stack = kernels.grams(train.X, normalise='multiplicative', center=False)
blocks = stack.cross(validation.X)
model = mkl.LpMKLClassifier(p=2.0, kernels=kernels)
values = mkl.path.path_grid(model, stack, train.y, 'C', 25)
path = mkl.fit_path(model, stack, train.y, 'C', values, blocks, validation.y, grow=12)
paths['ℓp-norm MKL, p = 2'] = path

stack = kernels.grams(train.X, normalise='trace', center=False)
blocks = stack.cross(validation.X)
model = mkl.SMKLClassifier(kernels=kernels)
values = mkl.path.path_grid(model, stack, train.y, 'C', 25)
path = mkl.fit_path(model, stack, train.y, 'C', values, blocks, validation.y, grow=12)
paths['SMKL, concave selection'] = path

stack = kernels.grams(train.X, normalise='multiplicative', center=False)
blocks = stack.cross(validation.X)
model = mkl.GOMPClassifier(n_kernels=3, kernels=kernels)
values = mkl.path.path_grid(model, stack, train.y, 'lam', 25)
path = mkl.fit_path(model, stack, train.y, 'lam', values, blocks, validation.y, grow=12)
paths['MKL-GOMP, s = 3, over λ'] = path

rows = {}
for name, path in paths.items():
    index = path.first_look
    at, score = path.values[index], path.val_score[index]
    rows[name] = {path.param: at, "validation": score, "kernels": path.n_nonzero[index], "gap": path.relative_gap[index]}
print(pd.DataFrame(rows).T.to_string())

# The picture

figure = mkl.figures.explore_figure(next(iter(paths.values())))
figure.write_html("figure.html", include_plotlyjs=True)
