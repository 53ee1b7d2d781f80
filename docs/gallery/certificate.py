"""How the gap closes

Every iteration has a primal and a dual value; the optimum is between them. The picture shows their
distance.
"""

import mklcore as mkl

data = mkl.load_sample("diabetes")
kernels = mkl.KernelDictionary.rbf_grid([0.5, 1, 2, 4])
model = mkl.LpMKLRegressor(kernels=kernels, p=4 / 3, C=1.0, solver="wrapper", tol=1e-5).fit(
    data.X[:200], data.y[:200]
)
print(f"relative gap {model.relative_gap_:.1e}")
figure = mkl.figures.gap_convergence(model.history_)
