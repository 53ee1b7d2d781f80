"""The numbers of Tables 1 and 2 of the hierarchical kernel learning paper, mean and standard deviation over ten half
splits.

Source: Bach (2008). In the text of Table 2 that we have some pairs of numbers stand without their columns. Which
belongs to L2 and which to HKL is settled by the paper's sentences (HKL is better on spambase, slightly worse on twonorm
and ringnorm); where no sentence does, both cells are open.
"""

from __future__ import annotations

_OPEN = float("nan")
# data set, kernel: means of L2, greedy, lasso-alpha, MKL, HKL; then their standard deviations
TABLE_1: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "abalone, pol4": ((44.2, 43.9, 47.9, 44.5, 43.3), (1.3, 1.4, 0.7, 1.1, 1.0)),
    "abalone, rbf": ((43.0, 45.0, 49.0, 43.7, 43.0), (0.9, 1.7, 1.7, 1.0, 1.1)),
    "bank-32fh, pol4": ((40.1, 39.2, 41.3, 38.7, 38.9), (0.7, 0.8, 0.7, 0.7, 0.7)),
    "bank-32fh, rbf": ((39.0, 39.7, 66.1, 38.4, 38.4), (0.7, 0.7, 6.9, 0.7, 0.7)),
    "bank-32fm, pol4": ((6.0, 5.0, 7.0, 6.1, 5.1), (0.1, 0.2, 0.2, 0.3, 0.1)),
    "bank-32fm, rbf": ((5.7, 5.8, 36.3, 5.9, 4.6), (0.2, 0.4, 4.1, 0.2, 0.2)),
    "bank-32nh, pol4": ((44.3, 46.3, 45.8, 46.0, 43.6), (1.2, 1.4, 0.8, 1.2, 1.1)),
    "bank-32nh, rbf": ((44.3, 49.4, 93.0, 46.1, 43.5), (1.2, 1.6, 2.8, 1.1, 1.0)),
    "bank-32nm, pol4": ((17.2, 18.2, 19.5, 21.0, 16.8), (0.6, 0.8, 0.4, 0.7, 0.6)),
    "bank-32nm, rbf": ((16.9, 21.0, 62.3, 20.9, 16.4), (0.6, 0.6, 2.5, 0.7, 0.6)),
    "boston, pol4": ((17.1, 24.7, 29.3, 22.2, 18.1), (3.6, 10.8, 2.3, 2.2, 3.8)),
    "boston, rbf": ((16.4, 32.4, 29.4, 20.7, 17.1), (4.0, 8.2, 1.6, 2.1, 4.7)),
    "pumadyn-32fh, pol4": ((57.3, 56.4, 57.5, 56.4, 56.4), (0.7, 0.8, 0.4, 0.7, 0.8)),
    "pumadyn-32fh, rbf": ((57.7, 72.2, 89.3, 56.5, 55.7), (0.6, 22.5, 2.0, 0.8, 0.7)),
    "pumadyn-32fm, pol4": ((6.9, 6.4, 7.5, 7.0, 3.1), (0.1, 1.6, 0.2, 0.1, 0.0)),
    "pumadyn-32fm, rbf": ((5.0, 46.2, 44.7, 7.1, 3.4), (0.1, 51.6, 5.7, 0.1, 0.0)),
    "pumadyn-32nh, pol4": ((84.2, 73.3, 84.8, 83.6, 36.7), (1.3, 25.4, 0.5, 1.3, 0.4)),
    "pumadyn-32nh, rbf": ((56.5, 81.3, 98.1, 83.7, 35.5), (1.1, 25.0, 0.7, 1.3, 0.5)),
    "pumadyn-32nm, pol4": ((60.1, 69.9, 78.5, 77.5, 5.5), (1.9, 32.8, 1.1, 0.9, 0.1)),
    "pumadyn-32nm, rbf": ((15.7, 67.3, 95.9, 77.6, 7.2), (0.4, 42.4, 1.9, 0.9, 0.1)),
}
# data set, kernel: means of L2, greedy, HKL; then their standard deviations
TABLE_2: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "mushrooms, pol4": ((_OPEN, 0.1, _OPEN), (_OPEN, 0.1, _OPEN)),
    "mushrooms, rbf": ((0.1, 0.1, 0.1), (0.2, 0.2, 0.2)),
    "ringnorm, pol4": ((_OPEN, 5.9, _OPEN), (_OPEN, 1.3, _OPEN)),
    "ringnorm, rbf": ((1.2, 2.4, 1.6), (0.4, 0.5, 0.4)),
    "spambase, pol4": ((8.3, 9.7, 8.1), (1.0, 1.8, 0.7)),
    "spambase, rbf": ((9.4, 10.6, 8.4), (1.3, 1.7, 1.0)),
    "twonorm, pol4": ((2.9, 4.7, 3.2), (0.5, 0.5, 0.6)),
    "twonorm, rbf": ((2.8, 5.1, 3.2), (0.6, 0.7, 0.6)),
    "magic04, pol4": ((15.9, 16.0, 15.6), (1.0, 1.6, 0.8)),
    "magic04, rbf": ((15.7, 17.7, 15.6), (0.9, 1.3, 0.9)),
}
