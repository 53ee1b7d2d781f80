"""Bands of a spectrum

One kernel per band of wavelengths. The weights show which stretches of the spectrum predict the
target.
"""

import mklcore as mkl

data = mkl.load_sample("spectra")
banded = mkl.data.with_bands(data, 12)
kernels = mkl.KernelDictionary.per_group(mkl.RBF(1.0), banded.groups)
model = mkl.LpMKLRegressor(kernels=kernels, p=1, C=10.0).fit(banded.X, banded.y)
names = [name for name, _ in banded.groups]
figure = mkl.figures.weights_bar(model.weights_, names, ["RBF"] * len(names))
