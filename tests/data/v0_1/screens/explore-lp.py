# ℓp-norm MKL on Diabetes
#
# Written by MKL Explorer, mklcore 0.1.0. It computes the numbers of the screen with the library alone.

import warnings

import numpy as np
import pandas as pd

import mklcore as mkl

# Points that stop short of their tolerance keep their gap, which is printed below.
warnings.filterwarnings("ignore", category=mkl.NotConvergedWarning)

# The table

data = mkl.load_sample('diabetes')
if data.fingerprint != "cc0cf110a431b4b9c98c519ce608265c86a63aff63246788f8865cfa3cd96531":
    raise ValueError("This is not the table of the screen: another file, or another release of mklcore.")
train, validation, test = mkl.data.three_way_split(data, validation=0.4, test=0.4, seed=3)
print(data)

# The kernels

specs = (
    mkl.RBF(width=0.25, relative=True),
    mkl.RBF(width=4.0, relative=True),
    mkl.Linear(),
    mkl.Polynomial(degree=2),
    *(mkl.Linear(features=(j,)) for j in range(0, 10)),
)
kernels = mkl.KernelDictionary(
    specs,
    feature_names=data.feature_names,
)
stack = kernels.grams(train.X, normalise='multiplicative', center=False)
blocks = stack.cross(validation.X)
print(stack)

# The path over p
#
# The problem: $\min_{w,b,\theta\ge 0}\; C\sum_i V\big(y_i,f(x_i)\big)+\tfrac12\sum_m\frac{\|w_m\|^2}{\theta_m},\qquad
# \|\theta\|_p\le 1$

model = mkl.LpMKLRegressor(kernels=kernels)
values = mkl.path.path_grid(model, stack, train.y, 'p', 25)
path = mkl.fit_path(model, stack, train.y, 'p', values, blocks, validation.y)

# The model at the cursor

point, index = path, 5  # p = 2
fitted = point.estimators[index]
print(f"p = {point.values[index]:.6g}, {point.n_nonzero[index]} kernels, {point.statuses[index].value}")
print(f"train {point.score_name} {point.train_score[index]:.6f}, validation {point.val_score[index]:.6f}")
if np.isfinite(point.relative_gap[index]):
    print(f"within {100 * point.relative_gap[index]:.3g} % of the optimum")
weights = pd.Series(point.weights[index], index=list(point.kernel_names)).sort_values(ascending=False)
print(weights[weights > 0].to_string())

# Take the sign away once the point is chosen: test rows are looked at once.
# print('test', point.score_name, fitted.score(test.X, test.y))

# The picture

figure = mkl.figures.explore_figure(path)
figure.write_html("figure.html", include_plotlyjs=True)
