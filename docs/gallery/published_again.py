"""A published result made again

Greedy sparse MKL nears the optimum geometrically: its loss after some steps beside the bound of the
paper. Every published table and figure is a key of `EXPERIMENTS`.
"""

import mklcore as mkl

experiment = mkl.EXPERIMENTS["greedy_rate"]
outcome = experiment.run(repetitions=3)
print(
    *(f"{verdict.answer}: {verdict.claim.sentence}" for verdict in experiment.judge(outcome)),
    sep="\n",
)
(title, columns), *_ = experiment.groups()
figure = mkl.figures.comparison_plot(
    experiment.compare(outcome),
    columns,
    y_title=title,
    row_name=experiment.row_name,
    ordered=experiment.ordered,
)
