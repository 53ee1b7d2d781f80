"""What one kernel sees

The Gram matrix of an RBF kernel on the iris flowers, rows sorted by class: three blocks, two of
them close.
"""

import mklcore as mkl

data = mkl.load_sample("iris")
stack = mkl.KernelDictionary.rbf_grid([1.0]).grams(data.X)
figure = mkl.figures.gram_heatmap(stack.values[0], data.y)
