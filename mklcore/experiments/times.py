"""Run times against the numbers of rows and of kernels: Figure 7 of the lp-norm paper, and the growth told for sparse MKL.

Twonorm in 20 dimensions stands in for the images of the first paper, which are not part of this project. RBF kernels whose
squared widths grow by 1.2. Seconds are those of the processor, the Gram matrices built before; machines differ, slopes less.

Source: Kloft et al. (2011), section 6.5, Figure 7; Subrahmanya and Shin (2010), section 5; specifications, sections 14 and C.6.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from mklcore.data.synthetic import make_twonorm
from mklcore.errors import told_elsewhere
from mklcore.estimators.lp import LpMKLClassifier, UniformMKLClassifier
from mklcore.estimators.smkl import SMKLClassifier
from mklcore.experiments.base import Experiment, is_quick, pause
from mklcore.experiments.claims import Claim, highest, lowest
from mklcore.kernels.dictionary import KernelDictionary

ROWS, KERNELS = (100, 200, 400, 800), (25, 50, 100, 200)
QUICK_ROWS, QUICK_KERNELS, MANY_KERNELS = (100, 200, 400), (20, 40, 80), (400, 800, 1600)
GROWING = "rows n", "kernels K", "kernels K, many"
FIXED_ROWS, FIXED_KERNELS = 100, 50
WAYS: dict[str, Any] = {
    "p = ∞": lambda: UniformMKLClassifier(kernels="precomputed"),
    "interleaved, p = 2": lambda: LpMKLClassifier(p=2.0, solver="interleaved", kernels="precomputed"),
    "newton, p = 2": lambda: LpMKLClassifier(p=2.0, solver="newton", kernels="precomputed"),
    "wrapper, p = 2": lambda: LpMKLClassifier(p=2.0, solver="wrapper", kernels="precomputed"),
    "newton, p = 1": lambda: LpMKLClassifier(p=1.0, solver="newton", kernels="precomputed"),
    "silp, p = 1": lambda: LpMKLClassifier(p=1.0, solver="silp", max_iter=100, kernels="precomputed"),
}
SPARSE: dict[str, Any] = {
    "SMKL": lambda: SMKLClassifier(kernels="precomputed"),
    "MKL": lambda: LpMKLClassifier(p=1.0, kernels="precomputed"),
}


def seconds(n: int, M: int, ways: dict[str, Any], seed: int) -> list[float]:
    """Processor seconds of every way with M kernels on n rows."""
    data = make_twonorm(n, seed)[0]
    widths = np.sqrt(0.5 * 1.2 ** (50.0 * np.arange(M) / max(M - 1, 1))) * 0.5
    K = KernelDictionary.rbf_widths(widths.tolist()).grams(data.X).values
    found = list[float]()
    for make in ways.values():
        pause()
        clock = time.process_time()
        with told_elsewhere():
            make().fit(K, data.y)
        found.append(time.process_time() - clock)
    return found


def by_size(row: str, seed: int, repetition: int) -> list[float]:
    """Base-10 logarithms of the seconds of every way."""
    what, _, value = row.partition(" = ")
    n, M = (int(value), FIXED_KERNELS) if what == "n" else (FIXED_ROWS, int(value))
    draw = int(np.random.SeedSequence([seed, n, M, repetition]).generate_state(1)[0])
    return [float(np.log10(max(value, 1e-6))) for value in seconds(n, M, WAYS, draw)]


def growth(row: str, seed: int, repetition: int) -> list[float]:
    """The exponent with which the seconds of SMKL and MKL grow, fitted on a log-log scale."""
    rows, kernels = (QUICK_ROWS, QUICK_KERNELS) if is_quick() else (ROWS, KERNELS)
    sizes = dict(zip(GROWING, (rows, kernels, MANY_KERNELS), strict=True))[row]
    draw = int(np.random.SeedSequence([seed, repetition]).generate_state(1)[0])
    grid = [seconds(*((size, 40) if row == GROWING[0] else (150, size)), SPARSE, draw) for size in sizes]
    slopes = np.polyfit(np.log(sizes), np.log(np.maximum(grid, 1e-6)), 1)[0]
    return [float(slope) for slope in slopes]


_SIZES = (*(f"n = {n}" for n in ROWS), *(f"M = {M}" for M in KERNELS))
LP_FIG7 = Experiment(
    key="lp_fig7",
    title="Run time against the number of rows and of kernels",
    paper="Kloft, Brefeld, Sonnenburg, Zien (2011), Figure 7",
    did="Odd against even digits of MNIST; 50 RBF kernels and up to 20,000 rows, then 1000 rows and up to 10,000 kernels; seconds "
    "of the plain SVM, the interleaved and the wrapper algorithm for several p, SILP, SimpleMKL and HessianMKL.",
    claims=(
        Claim(
            "The SVM with the unweighted sum of precomputed kernels is the fastest method.",
            "section 6.5.1",
            lowest("p = ∞", tuple(WAYS)),
        ),
        Claim(
            "Wrappers are the slowest (here: the SILP wrapper against the interleaved and analytic ways).",
            "section 6.5.1",
            highest("silp, p = 1", tuple(WAYS)),
        ),
    ),
    open_points="A stand-in: twonorm in 20 dimensions instead of the digits, up to 800 rows and 200 kernels, and seconds of the "
    "machine that ran it. The paper shows curves only. SimpleMKL and HessianMKL are not part of this library; its damped Newton "
    "method on the weights is the nearest relative of the latter.",
    row_name="size",
    rows=_SIZES,
    columns=tuple(WAYS),
    unit="log₁₀ of processor seconds",
    replicated=((np.nan,) * len(WAYS),) * len(_SIZES),
    repetitions=5,
    measure=by_size,
    source="none: a stand-in, and the paper shows curves only",
    quick=("n = 100", "n = 400", "M = 25", "M = 100"),
    seconds=10.0,
    marks=(*(("rows n", str(n)) for n in ROWS), *(("kernels M", str(M)) for M in KERNELS)),
    mark_name="size",
)
SMKL_TIMES = Experiment(
    key="smkl_times",
    title="How the time of sparse MKL grows with kernels and with rows",
    paper="Subrahmanya, Shin (2010), section 5",
    did="Seconds of SMKL for growing numbers of kernels K and of rows n, fitted as powers: K^1.0 n^1.6, against K^1.1 n^1.4 for "
    "SimpleMKL.",
    claims=("SMKL grows linearly with the kernels, and like n^1.6 with the rows.",),
    open_points="A stand-in as to data: twonorm in 20 dimensions. Exponents hang on the machine, on the range of sizes and on the "
    "solver inside; MKL is this library's ℓ1-norm MKL, not SimpleMKL. With few kernels the exponent of K is far below the paper's: "
    "the seconds are those of the machine on 150 rows, a + b K with a larger than b K up to about 200 kernels. The third row "
    "shows it: from 400 to 1600 kernels the same fits grow about linearly, as published.",
    row_name="in",
    rows=("kernels K", "rows n", "kernels K, many"),
    columns=("SMKL", "MKL"),
    unit="exponent",
    replicated=((np.nan,) * 2,) * 3,
    repetitions=5,
    measure=growth,
    source="none: exponents of another machine are told, not compared",
    ordered=False,
    seconds=20.0,
)
