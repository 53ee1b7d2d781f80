"""lambda against s: in MKL-GOMP the ridge does not choose kernels, the count does; under the l1 norm one number does
both.

The published toy with four informative features of fifty. MKL-GOMP is asked for a fixed number of kernels at every
lambda; l1-norm ridge MKL on the same kernels drops one kernel after another as lambda grows.

Source: Sindhwani and Lozano (2011), equations (3)-(5); specification, A.1 and A.6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mklcore.arrays import Array, Mask
from mklcore.data.synthetic import make_mkl_toy
from mklcore.errors import suppress_convergence_warnings
from mklcore.figures.style import number
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import Linear
from mklcore.kernels.grams import GramStack
from mklcore.lessons.base import Lesson, Tick, silent
from mklcore.paths.path import fit_path
from mklcore.solvers.baselines import lq_mkl

N_FEATURES, N_INFORMATIVE, N_TRAIN, N_CHECK = 50, 4, 80, 2000
LAMBDAS = 10.0 ** np.linspace(-3.0, 1.0, 13)
ASKED = 10
USED = 1e-6


@dataclass(frozen=True, eq=False)
class Prices:
    """Along ``lambdas`` (L,): kernels used and test error in % of MKL-GOMP with ``ASKED`` kernels, of MKL-GOMP with as
    many as are informative, and of l1-norm ridge MKL; ``norms`` (L, M) are ||f_j|| of MKL-GOMP with ``ASKED`` kernels.
    """

    lambdas: Array
    gomp_used: Array
    gomp_error: Array
    small_error: Array
    l1_used: Array
    l1_error: Array
    l1_solved: Mask
    norms: Array

    @property
    def answer(self) -> str:
        """What becomes of the number of kernels from the smallest to the largest lambda."""
        first, last = int(self.gomp_used[0]), int(self.gomp_used[-1])
        return "same" if first == last else ("one" if last <= 1 else "half" if last < first else "more")

    @property
    def facts(self) -> dict[str, str]:
        """Figures for the text."""
        return {
            "gomp_first": str(int(self.gomp_used[0])),
            "gomp_last": str(int(self.gomp_used[-1])),
            "l1_first": str(int(self.l1_used[0])),
            "l1_last": str(int(self.l1_used[-1])),
            "shrunk": number(float(self.norms[0].max() / max(self.norms[-1].max(), 1e-300))),
            "small_best": number(self.small_error.min()),
            "small_worst": number(self.small_error.max()),
            "gomp_best": number(self.gomp_error.min()),
            "gomp_worst": number(self.gomp_error.max()),
            "l1_best": number(self.l1_error.min()),
            "l1_worst": number(self.l1_error.max()),
            "l1_at_best": str(int(self.l1_used[int(np.argmin(self.l1_error))])),
            "unsolved": str(int((~self.l1_solved).sum())),
            "factor": number(float(self.lambdas[-1] / self.lambdas[0])),
        }


def prices(tick: Tick = silent, seed: int = 0) -> Prices:
    """Solve both methods along lambda on one draw of the toy."""
    tick(0, LAMBDAS.size)
    first, second = np.random.SeedSequence([seed, N_INFORMATIVE]).generate_state(2)
    train = make_mkl_toy(N_TRAIN, N_INFORMATIVE, int(first), N_FEATURES)[0]
    test = make_mkl_toy(N_CHECK, N_INFORMATIVE, int(second), N_FEATURES)[0]
    kernels = KernelDictionary(tuple(KernelDictionary.per_feature(Linear(), N_FEATURES)), standardize=False)
    stack = kernels.grams(train.X, normalise="multiplicative")
    blocks, signs = stack.cross(test.X), np.where(test.y == test.y.max(), 1.0, -1.0)
    rows = []
    for k, lam in enumerate(LAMBDAS):
        rows.append((*_gomp(stack, train.y, lam, blocks, test.y), *_l1(stack, train.y, lam, blocks, signs)))
        tick(k + 1, LAMBDAS.size)
    used, error, small, norms, l1_used, l1_error, solved = (np.array(column) for column in zip(*rows, strict=True))
    return Prices(LAMBDAS, used, error, small, l1_used, l1_error, solved, norms)


def _gomp(stack: GramStack, y: Array, lam: float, blocks: Array, labels: Array) -> tuple[int, float, float, Array]:
    from mklcore.estimators.gomp import GOMPClassifier

    path = fit_path(GOMPClassifier(lam=lam), stack, y, "s", [N_INFORMATIVE, ASKED], blocks, labels)
    model = path.estimators[1]
    alpha = np.ravel(model.dual_coef_)
    norms = model.weights_ * np.sqrt(np.maximum(np.einsum("i,mij,j->m", alpha, stack.values, alpha), 0.0))
    small, asked = 100.0 * (1.0 - path.val_score)
    return int(model.n_kernels_), float(asked), float(small), norms


def _l1(stack: GramStack, y: Array, lam: float, blocks: Array, signs: Array) -> tuple[int, float, bool]:
    with suppress_convergence_warnings():
        fit = lq_mkl(stack.values, np.where(y == y.max(), 1.0, -1.0), lam, 1.0, tol=1e-4)
    says = np.einsum("m,mij,j->i", fit.weights, blocks, fit.dual_coef)
    used = int((fit.weights > USED * fit.weights.max()).sum())
    return used, float(100.0 * np.mean(np.sign(says) != signs)), fit.status.ok


_GIVEN = {
    "features": str(N_FEATURES),
    "informative": str(N_INFORMATIVE),
    "asked": str(ASKED),
    "rows": str(N_TRAIN),
    "low": number(LAMBDAS[0]),
    "high": number(LAMBDAS[-1]),
}
PRICES = Lesson("prices", LAMBDAS.size, prices, _GIVEN, ("one", "half", "same", "more"))
