"""Tables 1 and 2 of the hierarchical kernel learning paper, for every data file that is available.

Half of the rows for training, half held out, drawn anew in every repetition. Of the held-out half a third chooses the
parameters of every method and the rest measures it. Basis "pol4": polynomials of degree 4 per column, 5^p kernels;
"rbf": a Gaussian cut into 9 kernels per column. Table 1 by 100 x mean squared error over the variance, Table 2 by the
error in %, 1024 rows at most.

Source: Bach (2008), section 5, Tables 1 and 2; specification, section 8.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.data.reading import read_table
from mklcore.data.synthetic import make_ringnorm, make_twonorm
from mklcore.estimators.hkl import HKLClassifier, HKLRegressor
from mklcore.experiments.base import Experiment, file_of, is_quick, pause, seed_of
from mklcore.experiments.claims import Claim, above, at_most, below, published
from mklcore.experiments.hkl_full import (
    MEMORY,
    POWERS,
    Models,
    Rows,
    full_kernel,
    grown,
    hulls_along,
    line,
    squared,
    wrong,
)
from mklcore.experiments.hkl_numbers import TABLE_1, TABLE_2
from mklcore.solvers.hkl.baselines import hkl_flat_mkl, hkl_l2, hkl_lasso_alpha
from mklcore.solvers.hkl.bases import GaussianBasis, PolynomialBasis
from mklcore.solvers.hkl.design import Design

BASES: dict[str, Any] = {"pol4": PolynomialBasis(4), "rbf": GaussianBasis(8)}
MADE = {"twonorm": make_twonorm, "ringnorm": make_ringnorm}
LAMS, L2_LAMS = 10.0 ** np.arange(-1.0, -8.5, -1.0), 10.0 ** np.arange(-1.0, -10.5, -1.5)
HKL_LAMS = 10.0 ** np.arange(-2.0, -6.75, -0.5)
GREEDY_LAMS, GREEDY_SIZES = (1e-2, 1e-4), (5, 10, 20, 40)
MOST_ROWS, QUICK_ROWS, CLASS_ROWS = 8192, 1024, 1024
_TOL, _SECONDS = 1e-2, 60.0


def regression(row: str, seed: int, repetition: int) -> list[float]:
    """One half split: 100 MSE / var(y) of L2, greedy, lasso-alpha, MKL with one kernel per column, and HKL; nodes of
    HKL.
    """
    parts = _regression_parts(row.partition(", ")[0], seed, repetition)
    basis = BASES[row.rpartition(", ")[2]]
    scale = 100.0 / float(np.var(np.concatenate([y for _, y in parts])))
    return line(_regressors(*parts[0], basis), parts, lambda said, y: scale * squared(said, y))


def _regressors(X: Array, y: Array, basis: Any) -> Iterator[Models]:
    yield full_kernel(hkl_l2, X, y, basis, L2_LAMS)
    yield grown(X, y, basis, GREEDY_LAMS, GREEDY_SIZES)
    yield full_kernel(hkl_lasso_alpha, X, y, basis, LAMS, POWERS[:1], ())
    yield _flat(X, y, basis)
    yield hulls_along(HKLRegressor(basis, tol=_TOL, max_seconds=_SECONDS, memory_mb=MEMORY), X, y, HKL_LAMS)


def classification(row: str, seed: int, repetition: int) -> list[float]:
    """One half split: error in % of L2, greedy and HKL; nodes of HKL."""
    parts = _class_parts(row.partition(", ")[0], seed, repetition)
    return line(_classifiers(*parts[0], BASES[row.rpartition(", ")[2]]), parts, wrong)


def _classifiers(X: Array, y: Array, basis: Any) -> Iterator[Models]:
    loss = "logistic"
    yield full_kernel(hkl_l2, X, y, basis, L2_LAMS, loss=loss)
    yield grown(X, y, basis, GREEDY_LAMS, GREEDY_SIZES, loss)
    yield hulls_along(HKLClassifier(basis, tol=_TOL, max_seconds=_SECONDS, memory_mb=MEMORY, loss=loss), X, y, HKL_LAMS)


def _regression_parts(name: str, seed: int, repetition: int) -> list[Rows]:
    pause()
    data = read_table(file_of(_file(name)), task="regression")
    return _cut(np.array(data.X), np.array(data.y, dtype=float), MOST_ROWS, seed, repetition)


def _class_parts(name: str, seed: int, repetition: int) -> list[Rows]:
    pause()
    if name in MADE:
        draw = seed_of(seed, list(MADE).index(name), repetition)
        data = MADE[name](CLASS_ROWS, int(draw))[0]
    else:
        data = read_table(file_of(_file(name)), task="binary")
    return _cut(np.array(data.X), np.where(data.y == np.unique(data.y)[1], 1.0, -1.0), CLASS_ROWS, seed, repetition)


def _cut(X: Array, y: Array, most: int, seed: int, repetition: int) -> list[Rows]:
    """Training half, a third of the other half, and the rest."""
    rng = np.random.default_rng([seed, repetition])
    rows = rng.permutation(len(y))[: min(most, QUICK_ROWS) if is_quick() else most]
    X, y = X[rows], y[rows]
    half, third = len(y) // 2, len(y) // 2 + len(y) // 6
    return [(X[a:b], y[a:b]) for a, b in ((0, half), (half, third), (third, len(y)))]


def _file(name: str) -> str:
    return f"{name.replace('-', '')}.csv"


def _flat(X: Array, y: Array, basis: Any) -> Models:
    design, found = Design(X, basis, memory_mb=MEMORY), Models()
    for lam in LAMS[:4]:
        pause()
        model = hkl_flat_mkl(design, y, lam, tol=_TOL)
        found.append((model.predict, model))
    return found


def _table(number: int, numbers: Any, columns: tuple[str, ...], unit: str, measure: Any, **more: Any) -> Experiment:
    rows = tuple(numbers)
    names = [row.partition(", ")[0] for row in rows]
    nan = (float("nan"),)
    return Experiment(
        key=f"hkl_table{number}",
        paper=f"Bach (2008), Table {number}",
        row_name="data, kernel",
        rows=rows,
        columns=(*columns, "nodes of HKL"),
        unit=f"{unit}, then nodes",
        replicated=tuple(numbers[row][0] + nan for row in rows),
        repetitions=10,
        measure=measure,
        source=f"Table {number} of the paper, mean and standard deviation over 10 splits",
        spread=tuple(numbers[row][1] + nan for row in rows),
        panels=((unit, len(columns)), ("nodes in the hull of HKL", 1)),
        ordered=False,
        files=tuple((row, _file(name)) for row, name in zip(rows, names, strict=True) if name not in MADE),
        **more,
    )


_NONLINEAR = tuple(
    row for row in TABLE_1 if row.split(",")[0] in ("bank-32nm", "bank-32nh", "pumadyn-32nm", "pumadyn-32nh")
)
_BETTER = tuple(row for row in TABLE_2 if not row.startswith("mushrooms") and row != "ringnorm, pol4")
_WHY_TABLE1 = (
    "the error of L2 depends on the scale of its kernel and on where λ ends, which the paper does not tell; methods "
    "without HKL's products stay where they are. A small run trains on 512 rows instead of 4096, and every method that "
    "can learn products errs more."
)
_WHY_L2 = (
    "the error of L2 depends on the scale of its kernel, which the paper does not tell: in dimension 20 the sum of all "
    "products is nearly diagonal at one scale and learns at another."
)
_WHY_GREEDY = "greedy selection is wrong less often here than published: its λ and its number of kernels are chosen."
_OPEN = (
    "The paper reports every method at its best parameter over the ten splits; here a third of the held-out half "
    "chooses and the rest measures, so that the error is not optimistic. How the full kernel of L2 and lasso-α is "
    "scaled is not reported: here inputs of L2 are divided by √p, p^¾ or p, or levels are those of hulls, a product "
    "of |v| of them is divided by B^2|v|, B from 6 to 16, whichever is best on the rows that choose; inputs of lasso-α "
    "are divided by √p. Width and variance of the Gaussian series are not given; here its width is chosen so that its "
    "bumps are level. A row needs a file of its name in the folder of data ({files}), the target as a column with a "
    "telling name or the last one. "
)
HKL_TABLE1 = _table(
    1, TABLE_1, ("L2", "greedy", "lasso-α", "MKL", "HKL"), "100 × mean squared error / variance", regression,
    title="Hulls of 5ᵖ and 9ᵖ kernels on ten regression data sets",
    did="Ten random half splits of data sets with 506 to 8192 rows; five methods with the same kernels: polynomials of "
        "degree 4 per column, or a Gaussian cut into 9 kernels per column; mean squared error, scaled to variance 100.",
    claims=(
        Claim(
            "HKL outperforms the other methods, in particular on bank-32nm, bank-32nh, pumadyn-32nm and pumadyn-32nh, "
            "which are meant for nonlinear regression (here: on those of the four that were measured).",
            "section 5",
            below("HKL", ("L2", "greedy", "lasso-α", "MKL"), _NONLINEAR),
        ),
        Claim(
            "Graphs with very many nodes are explored efficiently (here: hulls of fewer than 1000 nodes among 10²² "
            "and 10³¹).",
            "section 5",
            at_most("nodes of HKL", 1000.0, _NONLINEAR),
        ),
        Claim(
            "The numbers of Table 1.",
            "Table 1",
            published(),
            why=_WHY_TABLE1,
        ),
    ),
    open_points=_OPEN.format(files="pumadyn32nm.csv, boston.csv, abalone.csv, ...")
    + "Small runs take 1024 rows, half of them for training, and are distinguished by that: what matters in "
      "pumadyn-32nm is a product of two columns with their powers, which asks for rows. Every hull grows from the one "
      "before, and λ goes down to 10^-6.5; of the full run this column was measured after the others, so the seconds "
      "of the whole are not reported.",
    explained=(
        ("pumadyn-32nm, pol4", "L2", "it depends on the scale of its kernel and on where λ ends, which the paper does "
                                     "not tell. With inputs divided by powers of p no λ comes near; with the levels of "
                                     "hulls and B = 10 the published error is met at λ = 10^-5.5, and smaller λ, down "
                                     "to 10^-10 here, are wrong less often."),
    ),
    quick=("pumadyn-32nm, pol4", "pumadyn-32nm, rbf"),
    seconds=300.0,
)  # fmt: skip
HKL_TABLE2 = _table(
    2, TABLE_2, ("L2", "greedy", "HKL"), "error in %", classification,
    title="Hulls of 5ᵖ and 9ᵖ kernels on five classification data sets",
    did="Ten random half splits of 1024 rows of five data sets; logistic loss; L2 regularisation with all kernels, "
        "greedy selection and HKL.",
    claims=(
        Claim(
            "On some data, such as spambase, HKL works better than L2 and greedy selection.",
            "section 5",
            below("HKL", ("L2", "greedy"), ("spambase, pol4", "spambase, rbf")),
        ),
        Claim(
            "Where the problem is known not to be sparse, on ringnorm and twonorm, HKL performs slightly worse than "
            "other approaches (here: than L2).",
            "section 5",
            above("HKL", "L2", tuple(f"{name}, {kernel}" for name in MADE for kernel in BASES)),
            why=_WHY_L2,
        ),
        Claim(
            "HKL is wrong less often than greedy selection on spambase, twonorm and magic04, and on ringnorm with "
            "Gaussians.",
            "Table 2",
            below("HKL", "greedy", _BETTER),
            why=_WHY_GREEDY,
        ),
        Claim("The numbers of Table 2.", "Table 2", published(), why=f"{_WHY_GREEDY} And {_WHY_L2}"),
    ),
    open_points=_OPEN.format(files="mushrooms.csv, spambase.csv, magic04.csv")
    + "Ringnorm and twonorm are made anew. With inputs divided by √p alone L2 errs on 20 % of ringnorm, undivided on "
      "half of it (the product of 20 columns is then nearly diagonal), divided by p or nearly so on about 4 %. The "
      "printed table leaves the order of some cells of L2 and HKL open: where a sentence of the paper orders them they "
      "stand so; on ringnorm and mushrooms with polynomials none does, and both stay empty.",
    explained=(("twonorm, pol4", "greedy", _WHY_GREEDY), ("twonorm, rbf", "greedy", _WHY_GREEDY),
        ("ringnorm, pol4", "greedy", _WHY_GREEDY)),
    quick=("twonorm, pol4", "ringnorm, pol4"),
    seconds=30.0,
)  # fmt: skip
