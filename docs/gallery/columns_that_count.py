"""Which columns count?

Kernels, norm and cost are chosen on validation rows. Columns are ranked by the weight of their kernels and by the score
that is lost when their values are permuted.
"""

import mklcore as mkl

data = mkl.load_sample("wine")
answer = mkl.explore(data)
print([column.name for column in answer.columns[:3]])
figure = mkl.figures.explore_figure(answer.path)
