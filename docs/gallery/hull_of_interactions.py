"""Which columns act together: a hull

Hierarchical kernel learning searches all products of polynomial kernels of six columns, and
certifies the answer over those it never builds.
"""

import mklcore as mkl

data, _ = mkl.make_sparse_polynomial(150, 6, seed=0)
model = mkl.HKLRegressor(basis=mkl.PolynomialBasis(4), lam=1e-3).fit(data.X, data.y)
figure = mkl.figures.hull_graph(model, data.feature_names)
