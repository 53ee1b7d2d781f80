"""Run times against the numbers of rows and of kernels: Figure 7 of the lp-norm paper, and the growth stated for sparse
MKL.

Twonorm in 20 dimensions stands in for the images of the first paper, which are not part of this project. RBF kernels
whose squared widths grow by 1.2. Seconds are those of the processor, Gram matrices built before or, on the fly, kernel
rows computed in between; machines differ, slopes less.

Source: Kloft et al. (2011), section 6.5, Figure 7; Subrahmanya and Shin (2010), section 4; specifications, sections 14
and C.6.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np

from mklcore.data.synthetic import make_twonorm
from mklcore.errors import suppress_convergence_warnings
from mklcore.estimators.lp import LpMKLClassifier, UniformMKLClassifier
from mklcore.estimators.smkl import SMKLClassifier
from mklcore.experiments.base import Experiment, is_quick, pause, seed_of
from mklcore.experiments.claims import Claim, at_most, below, close, highest, lowest, published, same
from mklcore.kernels.dictionary import KernelDictionary

ROWS, KERNELS = (100, 200, 400, 800), (25, 50, 100, 200)
QUICK_ROWS, QUICK_KERNELS, MANY_KERNELS = (100, 200, 400), (20, 40, 80), (400, 800, 1600)
MANY_ROWS = (2500, 5000, 10000)  # where Gram matrices are too many to be stored: 40 GB for 10,000 rows and 50 kernels
GROWING = "rows n", "kernels K", "kernels K, many"
FIXED_ROWS, FIXED_KERNELS = 100, 50
STORED: dict[str, Any] = {  # on Gram matrices that are made before the clock starts
    "p = ∞": lambda: UniformMKLClassifier(kernels="precomputed"),
    "analytic, p = 2": lambda: LpMKLClassifier(p=2.0, solver="wrapper", max_iter=2000, kernels="precomputed"),
    "analytic, p = 1": lambda: LpMKLClassifier(p=1.0, solver="wrapper", max_iter=2000, kernels="precomputed"),
    "newton, p = 2": lambda: LpMKLClassifier(p=2.0, solver="newton", kernels="precomputed"),
    "newton, p = 1": lambda: LpMKLClassifier(p=1.0, solver="newton", kernels="precomputed"),
    "silp, p = 1": lambda: LpMKLClassifier(p=1.0, solver="silp", max_iter=100, kernels="precomputed"),
}
AFRESH: dict[str, Any] = {  # from the table: computing kernels is part of the time; interleaved stores no Gram matrix
    "p = ∞, kernels included": lambda kernels: UniformMKLClassifier(kernels=kernels),
    "interleaved, p = 2, on the fly": lambda kernels: LpMKLClassifier(p=2.0, solver="interleaved", kernels=kernels),
}
WAYS = (*STORED, *AFRESH)
SPARSE: dict[str, Any] = {
    "SMKL": lambda: SMKLClassifier(kernels="precomputed"),
    "MKL": lambda: LpMKLClassifier(p=1.0, kernels="precomputed"),
}


def seconds(n: int, M: int, ways: dict[str, Any], seed: int) -> list[float]:
    """Processor seconds of every way with M kernels on n rows."""
    data = make_twonorm(n, seed)[0]
    widths = np.sqrt(0.5 * 1.2 ** (50.0 * np.arange(M) / max(M - 1, 1))) * 0.5
    K = KernelDictionary.rbf_widths(widths.tolist()).grams(data.X).values
    return [_clocked(make(), K, data.y) for make in ways.values()]


def _clocked(model: Any, X: Any, y: Any) -> float:
    """Processor seconds of a fit."""
    pause()
    clock = time.process_time()
    with suppress_convergence_warnings():
        model.fit(X, y)
    return time.process_time() - clock


def kernels_of(M: int) -> KernelDictionary:
    """RBF kernels with 2 sigma^2 = 1.2^0 to 1.2^(M - 1); above 50 of them in the range of 50, beyond which they are
    constant.
    """
    powers = np.arange(M) if M <= FIXED_KERNELS else np.linspace(0.0, FIXED_KERNELS - 1.0, M)
    return KernelDictionary.rbf_widths(np.sqrt(1.2**powers / 2.0).tolist())


@cache
def _compiled() -> None:
    """Fit every way once with few kernels, so that no measurement pays for loading or compiling code."""
    data, kernels = make_twonorm(200, 0)[0], kernels_of(5)
    K = kernels.grams(data.X).values
    for make in STORED.values():
        _clocked(make(), K, data.y)
    for way in AFRESH.values():
        _clocked(way(kernels), data.X, data.y)


def by_size(row: str, seed: int, repetition: int) -> list[float]:
    """Base-10 logarithms of the seconds of every way; of those on the fly alone where matrices are too large."""
    what, _, value = row.partition(" = ")
    n, M = (int(value), FIXED_KERNELS) if what == "n" else (FIXED_ROWS, int(value))
    draw = seed_of(seed, n, M, repetition)
    _compiled()
    data, kernels = make_twonorm(n, draw)[0], kernels_of(M)
    found = [np.nan] * len(STORED)
    if n not in MANY_ROWS:
        K = kernels.grams(data.X).values
        found = [_clocked(make(), K, data.y) for make in STORED.values()]
    found += [_clocked(make(kernels), data.X, data.y) for make in AFRESH.values()]
    return [float(np.log10(max(value, 1e-6))) for value in found]


def growth(row: str, seed: int, repetition: int) -> list[float]:
    """The exponent with which the seconds of SMKL and MKL grow, fitted on a log-log scale."""
    rows, kernels = (QUICK_ROWS, QUICK_KERNELS) if is_quick() else (ROWS, KERNELS)
    sizes = dict(zip(GROWING, (rows, kernels, MANY_KERNELS), strict=True))[row]
    draw = seed_of(seed, repetition)
    grid = [seconds(*((size, 40) if row == GROWING[0] else (150, size)), SPARSE, draw) for size in sizes]
    slopes = np.polyfit(np.log(sizes), np.log(np.maximum(grid, 1e-6)), 1)[0]
    return [float(slope) for slope in slopes]


_N, _M, _MANY = (
    tuple(f"{what} = {size}" for size in sizes) for what, sizes in (("n", ROWS), ("M", KERNELS), ("n", MANY_ROWS))
)
_SIZES = (*_N, *_MANY, *_M)
_INTERLEAVED = "interleaved, p = 2, on the fly"
LP_FIG7 = Experiment(
    key="lp_fig7",
    title="Run time against the number of rows and of kernels",
    paper="Kloft, Brefeld, Sonnenburg, Zien (2011), Figure 7",
    did="Odd against even digits of MNIST; 50 RBF kernels and up to 20,000 rows, then 1000 rows and up to 10,000 "
    "kernels; seconds "
    "of the plain SVM, the interleaved and the wrapper algorithm for several p, SILP, SimpleMKL and HessianMKL.",
    claims=(
        Claim(
            "The SVM with the unweighted sum of precomputed kernels is the fastest method.",
            "section 6.5.1",
            lowest("p = ∞", tuple(STORED), _N),
        ),
        Claim(
            "Wrappers are the slowest: they are slower even than methods that compute kernels on the fly (here: the "
            "slower one of the SILP wrapper and the analytic one at p = 1).",
            "section 6.5.1",
            highest(("silp, p = 1", "analytic, p = 1"), WAYS, _N),
        ),
        Claim(
            "With the computation of kernels included run times are higher than with precomputed ones (here: of the "
            "sum).",
            "section 6.5.1",
            below("p = ∞", "p = ∞, kernels included", _N),
        ),
        Claim(
            "Without storing kernel matrices the interleaved algorithm trains where they would not fit into memory: "
            "20,000 rows (here: 10,000, in less than ten minutes).",
            "section 6.5.1",
            at_most(_INTERLEAVED, float(np.log10(600.0)), _MANY[-1]),
        ),
        Claim(
            "The SVM with the unweighted sum is hardly affected by the number of kernels (here: from 25 to 200 its "
            "time grows by less than half of the factor 8).",
            "section 6.5.2",
            same("p = ∞", _M[0], _M[-1], float(np.log10(4.0))),
        ),
        Claim(
            "With a growing number of kernels the analytic update at p = 1 performs worse than at p > 1.",
            "section 6.5.2",
            below("analytic, p = 2", "analytic, p = 1", _M),
        ),
    ),
    open_points="A stand-in: twonorm in 20 dimensions instead of the digits, 100 rows instead of 1000 where the "
    "kernels grow, and at most 200 of them. The paper shows curves only. Widths are those of the paper, 2σ² = 1.2⁰ to "
    "1.2⁴⁹ for 50 kernels; more share this range, since 1.2^(M − 1) is a constant kernel long before M = 200. Analytic "
    "means a full SVM between two analytic updates, SILP is the wrapper by cutting planes; interleaved takes kernel "
    "rows as it needs them, their computation included, and runs alone with the plain sum from 2500 rows on. "
    "SimpleMKL, HessianMKL and chunking SILP are not part of this library. All at a relative gap of 10⁻³; seconds are "
    "those of the processor of the machine that ran it, beside other work.",
    row_name="size",
    rows=_SIZES,
    columns=WAYS,
    unit="log₁₀ of processor seconds",
    replicated=((np.nan,) * len(WAYS),) * len(_SIZES),
    repetitions=5,
    measure=by_size,
    source="none: a stand-in, and the paper shows curves only",
    quick=("n = 100", "n = 400", "M = 25", "M = 100"),
    seconds=10.0,
    marks=(*(("rows n", str(n)) for n in (*ROWS, *MANY_ROWS)), *(("kernels M", str(M)) for M in KERNELS)),
    mark_name="size",
)
SMKL_TIMES = Experiment(
    key="smkl_times",
    title="How the time of sparse MKL grows with kernels and with rows",
    paper="Subrahmanya, Shin (2010), section 4",
    did="Seconds of SMKL for growing numbers of kernels K and of rows n, fitted as powers: K^1.0 n^1.6, beside the "
    "K^1.1 n^1.4 reported for the SMO-like algorithm of Bach, Lanckriet and Jordan (2004).",
    claims=(
        Claim(
            "The cost of SMKL grows like K^1.0 with the number of kernels (here: to ±0.25).",
            "section 4",
            close("SMKL", 1.0, 0.25, (GROWING[1], GROWING[2])),
            why="up to a hundred kernels the time is mostly that of the machines, which does not grow with K.",
        ),
        Claim(
            "The cost of SMKL grows like n^1.6 with the number of rows (here: to ±0.25).",
            "section 4",
            close("SMKL", 1.6, 0.25, GROWING[0]),
            why="exponents depend on the solver inside and on the range of sizes.",
        ),
        Claim("The growth with the rows is less than quadratic.", "section 4", at_most("SMKL", 2.0, GROWING[0])),
        Claim(
            "The SMO-like algorithm of another paper was reported to grow like K^1.1 n^1.4 (it is not part of this "
            "library).",
            "section 4",
            published(),
        ),
    ),
    open_points="A stand-in as to data: twonorm in 20 dimensions. Exponents depend on the machine, on the range of "
    "sizes and on the solver inside; MKL is this library's ℓ1-norm MKL, not the SMO-like algorithm. With few kernels "
    "the exponent of K is far below the paper's: the seconds are those of the machine on 150 rows, a + b K with a "
    "larger than b K up to about 200 kernels. The third row shows it: from 400 to 1600 kernels the same fits grow "
    "about linearly, as published.",
    row_name="in",
    rows=("kernels K", "rows n", "kernels K, many"),
    columns=("SMKL", "MKL"),
    unit="exponent",
    replicated=((np.nan,) * 2,) * 3,
    repetitions=5,
    measure=growth,
    source="none: exponents of another machine are stated, not compared",
    ordered=False,
    seconds=20.0,
)
