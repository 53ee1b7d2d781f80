"""Pathways and survival times

One kernel per pathway of genes under Cox's partial likelihood. Two of the ten pathways decide when the event comes.
"""

import mklcore as mkl
from mklcore.data.survival import make_survival

data = make_survival(120, seed=0)
kernels = mkl.KernelDictionary.per_group(mkl.Linear(), data.groups)
model = mkl.CoxMKL(p=1, C=0.05, kernels=kernels).fit(data.X, data.y)
names = [name for name, _ in data.groups]
figure = mkl.figures.weights_bar(model.weights_, names, ["Linear"] * len(names))
