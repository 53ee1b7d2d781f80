"""lp-norm MKL: bounds for a uniform and a sparse truth, the toy experiment, and kernels on DNA.

Figure 1: H_p holds the functions with ||w||_{2,q} <= r, q = 2p / (p + 1). A truth of M blocks of
norm 1 needs r = M^(1/q), one of a single block r = 1: with Corollary 9 the Rademacher bound is
r sqrt(c M^(1/p*) min(e ceil(ln M), ceil(p*)) / n).

Figure 3: two Gaussians in R^50 with covariance I and means +-1.75 theta / ||theta||, theta = 1 on
some features; the Bayes error is Phi(-1.75) = 4.01 % whatever their number. One linear kernel per
feature, multiplicatively normalised; hinge loss; C by the error on validation rows.

Figures 4 and 5: strings of 100 letters with two motifs stand in for human DNA: one at its place,
moved by up to 5 letters, one anywhere; letters mutate. Hinge loss, C by further rows. A mixture
holds the weights of the chosen model as shares of their sum; alignments of pairs are those of
kernels scaled to rows of unit length.

Source: Kloft, Brefeld, Sonnenburg, Zien (2011), sections 5.1, 6.1 and 6.3; specification, sections
12 and 13.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.data.synthetic import make_sequences
from mklcore.errors import suppress_convergence_warnings
from mklcore.estimators.lp import LpMKLClassifier
from mklcore.gallery.experiments.base import TableLine
from mklcore.gallery.experiments.records import PaperComparison
from mklcore.gallery.lessons.toy import N_FEATURES, toy_draw
from mklcore.gallery.theory.lp import lp_rademacher_bound
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import Linear
from mklcore.kernels.grams import alignment_matrix, target_alignment
from mklcore.kernels.sequences import Spectrum, WeightedDegree
from mklcore.paths.path import fit_path

BOUNDED = (2, 50, 1000)  # kernels
BOUND_NORMS = {
    "1": 1.0,
    "32/31": 32 / 31,
    "8/7": 8 / 7,
    "4/3": 4 / 3,
    "2": 2.0,
    "4": 4.0,
    "∞": np.inf,
}
N_TRAIN = 50
N_CHECK = 10_000
NORMS = (1.0, 4.0 / 3.0, 2.0, 4.0, np.inf)
TOY_COSTS = 10.0 ** np.arange(-4, 0.25, 0.5)
BAYES = 100.0 * float(norm.cdf(-1.75))
# nu, the share of features without information, and how many carry some
INFORMATIVE = {"0": 50, "0.44": 28, "0.64": 18, "0.82": 9, "0.92": 4, "0.98": 1}
N_SITES = 400
LENGTH = 100
MOTIFS: tuple[Any, ...] = (("TATAAT", 40), "GGCCA")
COSTS = 10.0 ** np.arange(-2.0, 2.25, 1.0)
KERNELS = KernelDictionary(
    (WeightedDegree(6, 5), WeightedDegree(6), Spectrum(5), Spectrum(2), Linear())
)
NAMES = ("degree and shift", "degree", "spectrum 5", "spectrum 2", "shares of letters")
MIXED = (1.0, 2.0)  # norms whose mixtures are kept


def bounds(line: TableLine) -> list[float]:
    """The bound for the uniform truth, divided by M, and for the sparse one, at every number of
    kernels.
    """
    p = BOUND_NORMS[line.row]
    order = 0.5 + (0.0 if np.isinf(p) else 0.5 / p)  # 1 / q
    found = [lp_rademacher_bound(p, M, 1000) for M in BOUNDED]
    uniform = [M**order * bound / M for M, bound in zip(BOUNDED, found, strict=True)]
    return [*uniform, *found]


def toy(line: TableLine) -> list[float]:
    """Test error in % at every p, then the model error || theta^ / |theta^| - theta* / |theta*| ||
    at every p.
    """
    size, _, sparsity = line.row.partition(", ν = ")
    n = int(size.removeprefix("n = "))
    count = INFORMATIVE[sparsity]
    drawn = [line.seed, count, line.repetition, *([n] if n != N_TRAIN else [])]
    errors, weights = toy_draw(count, drawn, NORMS, n, N_CHECK, TOY_COSTS)
    truth = (np.arange(N_FEATURES) < count) / np.sqrt(count)
    return [
        *errors,
        *np.linalg.norm(
            weights / np.linalg.norm(weights, axis=1, keepdims=True) - truth, axis=1
        ).tolist(),
    ]


def correlation(found: PaperComparison, row: str) -> Array:
    """Correlation of test and model errors over the norms, one per repetition."""
    half = len(NORMS)
    return np.array(
        [
            np.corrcoef(one[:half], one[half:])[0, 1]
            for one in found.run.samples[found.rows.index(row)]
        ]
    )


def left_over(found: PaperComparison, row: str) -> Array:
    """What 800 points leave of the distance less what they leave of the error above Bayes, means
    over the norms.
    """
    half = len(NORMS)
    less = row.replace("800", "50")
    if less not in found.rows:
        return np.array([np.nan])
    many, few = (found.run.samples[found.rows.index(name)] for name in (row, less))
    excess = (many[:, :half].mean(axis=1) - BAYES) / (few[:, :half].mean(axis=1) - BAYES)
    return np.asarray(many[:, half:].mean(axis=1) / few[:, half:].mean(axis=1) - excess)


def sequences(line: TableLine) -> list[float]:
    """100 AUC at every p; alignment of every kernel with the target; mixtures at p = 1 and 2;
    alignments of pairs.
    """
    n = int(line.row.removeprefix("n = "))
    data = make_sequences(n + 2 * N_SITES, LENGTH, MOTIFS, line.draw(n), jitter=5, mutation=0.15)[0]
    cuts = (0, n, n + N_SITES, n + 2 * N_SITES)
    train, validation, test = (data.take(np.arange(a, b)) for a, b in pairwise(cuts))
    stack = KERNELS.grams(train, normalise="multiplicative", center=True)
    blocks = stack.cross(validation)
    held = stack.cross(test)
    found = [_chosen(p, stack, blocks, held, (train, validation, test)) for p in NORMS]
    pairs = alignment_matrix(KERNELS.grams(train, normalise="spherical"))[
        np.triu_indices(len(NAMES), 1)
    ]
    mixtures = [shares for p, (_, shares) in zip(NORMS, found, strict=True) if p in MIXED]
    aligned = target_alignment(stack, train.y, "binary")
    return [*(auc for auc, _ in found), *np.concatenate([aligned, *mixtures, pairs]).tolist()]


def _chosen(
    p: float, stack: Any, blocks: Any, held: Any, parts: tuple[Dataset, Dataset, Dataset]
) -> tuple[float, Array]:
    """100 AUC on the test rows at the cost that is best on the validation rows, and the shares of
    the kernels there.
    """
    with suppress_convergence_warnings():
        path = fit_path(
            LpMKLClassifier(p=p),
            stack,
            parts[0].y,
            "C",
            COSTS,
            blocks,
            parts[1].y,
            scoring="roc_auc",
        )
    best = path.estimators[int(np.argmax(path.val_score))]
    auc = 100.0 * float(roc_auc_score(parts[2].y, best.decide_blocks(held)))
    return auc, np.asarray(best.weights_) / np.sum(best.weights_)


def largest_share(found: PaperComparison, row: str) -> Array:
    """The share of the weightiest kernel at p = 1, one per repetition."""
    return np.asarray(np.max([found.of(row, f"{name} at p = 1") for name in NAMES], axis=0))
