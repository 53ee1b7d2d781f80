# Hierarchical kernel learning on Diabetes
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
train, validation, test = mkl.data.three_way_split(data, validation=0.25, test=0.25, seed=0)
print(data)

# Hulls along λ
#
# The problem: $\min_{f=\sum_v f_v,\,b}\;\tfrac1n\sum_i \ell\big(y_i,f(x_i)+b\big)+\tfrac{\lambda}{2}\Big(\sum_v
# d_v\,\|\beta_{D(v)}\|\Big)^2$

columns = [2, 3, 8]
names = [data.feature_names[j] for j in columns]
model = mkl.HKLRegressor(basis=mkl.PolynomialBasis(degree=2), max_seconds=10.0, memory_mb=800)
design = mkl.solvers.hkl.Design(
    train.X[:, columns],
    model.basis,
    standardize=model.standardize,
    normalize=model.normalize_basis,
    names=names,
    memory_mb=model.memory_mb,
)
values = mkl.path.path_grid(model, design, train.y, 'lam', 16)[::-1]  # the largest first: each starts the next
path = mkl.fit_path(model, design, train.y, 'lam', values, validation.X[:, columns], validation.y)

index = 8  # lam = 0.001391
fitted = path.estimators[index]
print(f"lam = {fitted.lam:.6g}, certified: {fitted.certified_}, gap {fitted.relative_gap_}")
for name, part in (("train", train), ("validation", validation)):
    print(f"{name} {path.score_name} {fitted.score(part.X[:, columns], part.y):.6f}")
print(f"{len(fitted.hull_)} nodes of {fitted.n_dag_kernels_} kernels:")
print("\n".join(fitted.kernel_names_))

# The picture

figure = mkl.figures.hull_graph(fitted, names)
figure.write_html("figure.html", include_plotlyjs=True)
