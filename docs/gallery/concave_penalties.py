"""Fewer kernels: a concave penalty

SMKL with the log term keeps fewer kernels than p = 1 at a similar score. The answer is a local
minimum, so it is solved from several starts.
"""

import mklcore as mkl

data, _ = mkl.make_mkl_toy(120, 4, seed=1, n_features=15)
kernels = mkl.KernelDictionary.per_feature(mkl.Linear(), 15)
convex = mkl.LpMKLClassifier(kernels=kernels, p=1, C=1.0).fit(data.X, data.y)
concave = mkl.SMKLClassifier(
    kernels=kernels, terms="log+gl", C=1.0, n_starts=3, random_state=0
).fit(data.X, data.y)
peaks = convex.weights_ + concave.weights_
figure = mkl.figures.weights_bar(
    concave.weights_, data.feature_names, ["linear"] * 15, peaks=peaks, limit=15
)
