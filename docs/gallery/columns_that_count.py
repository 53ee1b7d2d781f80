"""Which columns count?

The simplest model that is not clearly behind is taken. Columns are ranked by how far they move its
decisions: the mean of their absolute Shapley values, which are exact.
"""

import mklcore as mkl

data = mkl.load_sample("wine")
answer = mkl.explore(data)
print([column.name for column in answer.columns[:3]])
figure = mkl.figures.weight_path(answer.path)
