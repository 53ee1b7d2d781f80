# ℓp-norm MKL on Iris
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

# The path over C
#
# The problem: $\min_{w,b,\theta\ge 0}\; C\sum_i V\big(y_i,f(x_i)\big)+\tfrac12\sum_m\frac{\|w_m\|^2}{\theta_m},\qquad
# \|\theta\|_p\le 1$

model = mkl.LpMKLClassifier(kernels=kernels)
values = mkl.path.path_grid(model, stack, train.y, 'C', 25)
path = mkl.fit_path(model, stack, train.y, 'C', values, blocks, validation.y, grow=12)

# The model at the cursor

point, index = path, 12  # C = 4.566
fitted = point.estimators[index]
print(f"C = {point.values[index]:.6g}, {point.n_nonzero[index]} kernels, {point.statuses[index].value}")
print(f"train {point.score_name} {point.train_score[index]:.6f}, validation {point.val_score[index]:.6f}")
if np.isfinite(point.relative_gap[index]):
    print(f"within {100 * point.relative_gap[index]:.3g} % of the optimum")
weights = pd.Series(point.weights[index], index=list(point.kernel_names)).sort_values(ascending=False)
print(weights[weights > 0].to_string())

# Take the sign away once the point is chosen: test rows are looked at once.
# print('test', point.score_name, fitted.score(test.X, test.y))

# One row

row = data.X[76].copy()
row[0] = 6.5
row[2] = 1.25
said = fitted.predict(row[None])[0]
parts = fitted.contributions(row[None])[:, 0]  # what each kernel adds; with the intercept they make f(x)
value = parts.sum(axis=0) + fitted.intercept_
print(said, value)

# The picture

figure = mkl.figures.explore_figure(path)
figure.write_html("figure.html", include_plotlyjs=True)
