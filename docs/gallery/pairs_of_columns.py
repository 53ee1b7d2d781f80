"""Columns and pairs by their shares

Kernels of single columns, and of pairs that explain the residuals of a sum over columns. The shares
of the terms add up to 100 %.
"""

import mklcore as mkl

data = mkl.load_sample("sparse_polynomial")
train, test = data.split(test_size=0.3, seed=0)
kernels = mkl.KernelDictionary.interactions(train)
model = mkl.LpMKLRegressor(kernels=kernels, p=1, C=0.3).fit(train.X, train.y)
figure = mkl.figures.term_bars(mkl.decompose(model, train).terms)
