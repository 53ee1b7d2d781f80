"""lp-norm MKL: bounds for a uniform and a sparse truth, the toy experiment, and starts of genes.

Figure 1: H_p holds the functions with ||w||_{2,q} <= r, q = 2p / (p + 1). A truth of M blocks of
norm 1 needs r = M^(1/q), one of a single block r = 1: with Corollary 9 the Rademacher bound is
r sqrt(c M^(1/p*) min(e ceil(ln M), ceil(p*)) / n).

Figure 3: two Gaussians in R^50 with covariance I and means +-1.75 theta / ||theta||, theta = 1 on
some features; the Bayes error is Phi(-1.75) = 4.01 % whatever their number. One linear kernel per
feature, multiplicatively normalised; hinge loss; C by the error on validation rows.

Figures 4 and 5: made measurements stand in for human DNA. The paper explains its result by three
kernels that tell much and two that tell little, of which each knows something that the others do
not. So five views of a site are independent given its class, and each tells it apart as well as the
paper reports of the kernel by itself (area under the ROC curve 0.89, 0.86, 0.84, 0.55, 0.74). Hinge
loss, C by further rows. A mixture holds the weights of the chosen model as shares of their sum;
alignments of pairs are those of kernels scaled to rows of unit length.

Source: Kloft, Brefeld, Sonnenburg, Zien (2011), sections 5.1, 6.1 and 6.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from mklcore.arrays import Array, Labels
from mklcore.errors import suppress_convergence_warnings
from mklcore.estimators.lp import LpMKLClassifier
from mklcore.gallery.experiments.base import TableLine
from mklcore.gallery.experiments.records import PaperComparison
from mklcore.gallery.lessons.toy import N_FEATURES, toy_draw
from mklcore.gallery.theory.lp import lp_rademacher_bound
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import RBF, Linear
from mklcore.kernels.grams import alignment_matrix, target_alignment
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
COSTS = 10.0 ** np.arange(-2.0, 2.25, 1.0)
# area under the ROC curve of each kernel by itself, as the paper reports it
VIEWS = {
    "start signal": 0.89,
    "promoter": 0.86,
    "first exon": 0.84,
    "angles": 0.55,
    "energies": 0.74,
}
NAMES = tuple(VIEWS)
VIEW_COLUMNS = 10
PLACES = np.arange(len(NAMES) * VIEW_COLUMNS).reshape(len(NAMES), -1).tolist()
KERNELS = KernelDictionary(
    (
        *KernelDictionary.per_group(RBF(2.0, relative=True), PLACES[:3]).specs,
        *KernelDictionary.per_group(Linear(), PLACES[3:]).specs,
    )
)
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
    drawn = [
        line.seed,
        count,
        line.repetition,
        *([n] if n != N_TRAIN else []),
    ]
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


def made_sites(n: int, seed: int) -> tuple[Array, Labels]:
    """Measurements (n, 50) of places that are the start of a gene or not (n,), in five independent
    views: the class moves the mean of a view by what its area under the ROC curve asks for.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.where(np.arange(n) % 2, 1, -1))
    apart = np.sqrt(2.0) * norm.ppf(list(VIEWS.values()))
    means = np.repeat(apart / np.sqrt(VIEW_COLUMNS), VIEW_COLUMNS)
    return 0.5 * y[:, None] * means + rng.standard_normal((n, means.size)), y


def sites(line: TableLine) -> list[float]:
    """100 AUC at every p; alignment of every kernel with the target; mixtures at p = 1 and 2;
    alignments of pairs.
    """
    n = int(line.row.removeprefix("n = "))
    X, y = made_sites(n + 2 * N_SITES, line.draw(n))
    cuts = (n, n + N_SITES)
    train, validation, test = np.split(X, cuts)
    stack = KERNELS.grams(train, normalise="multiplicative", center=True)
    blocks = stack.cross(validation)
    held = stack.cross(test)
    classes = np.split(y, cuts)
    found = [_chosen(p, stack, blocks, held, classes) for p in NORMS]
    pairs = alignment_matrix(KERNELS.grams(train, normalise="spherical"))[
        np.triu_indices(len(NAMES), 1)
    ]
    mixtures = [shares for p, (_, shares) in zip(NORMS, found, strict=True) if p in MIXED]
    aligned = target_alignment(stack, classes[0], "binary")
    return [*(auc for auc, _ in found), *np.concatenate([aligned, *mixtures, pairs]).tolist()]


def _chosen(
    p: float, stack: Any, blocks: Any, held: Any, classes: Sequence[Labels]
) -> tuple[float, Array]:
    """100 AUC on the test rows at the cost that is best on the validation rows, and the shares of
    the kernels there.
    """
    with suppress_convergence_warnings():
        path = fit_path(
            LpMKLClassifier(p=p),
            stack,
            classes[0],
            "C",
            COSTS,
            blocks,
            classes[1],
            scoring="roc_auc",
        )
    best = path.estimators[int(np.argmax(path.val_score))]
    auc = 100.0 * float(roc_auc_score(classes[2], best.decide_blocks(held)))
    return auc, np.asarray(best.weights_) / np.sum(best.weights_)


def largest_share(found: PaperComparison, row: str) -> Array:
    """The share of the weightiest kernel at p = 1, one per repetition."""
    return np.asarray(np.max([found.of(row, f"{name} at p = 1") for name in NAMES], axis=0))
