"""lp-norm MKL: bounds for a uniform and a sparse truth, the toy experiment, and starts of genes.

Figure 1: H_p holds the functions with ||w||_{2,q} <= r, q = 2p / (p + 1). A truth of M blocks of
norm 1 needs r = M^(1/q), and one of a single block needs r = 1. By Corollary 9 the Rademacher bound
is r sqrt(c M^(1/p*) min(e ceil(ln M), ceil(p*)) / n).

Figure 3: two Gaussians in R^50 have covariance I and means +-1.75 theta / ||theta||, where theta = 1
on some features; the Bayes error is Phi(-1.75) = 4.01 % whatever their number. There is one linear
kernel per feature, normalised multiplicatively, and the error on validation rows chooses C.

Figures 4 and 5: made measurements stand in for human DNA. The paper explains its result by three
kernels that tell much and two that tell little, each of which knows something that the others do
not. So five views of a site are independent given its class, and each separates the classes as well
as the paper reports of the kernel by itself. Further rows choose C. A mixture holds the weights of
the chosen model as shares of their sum. Alignments of pairs are those of kernels scaled to rows of
unit length.

Source: Kloft, Brefeld, Sonnenburg, Zien (2011), sections 5.1, 6.1 and 6.3.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from mklcore.arrays import Array, Labels
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
# The share of features without information (nu), and how many carry some.
INFORMATIVE = {"0": 50, "0.44": 28, "0.64": 18, "0.82": 9, "0.92": 4, "0.98": 1}
N_SITES = 400
COSTS = 10.0 ** np.arange(-2.0, 2.25, 1.0)
# The area under the ROC curve of each kernel by itself, as the paper reports it.
VIEWS = {
    "start signal": 0.89,
    "promoter": 0.86,
    "first exon": 0.84,
    "angles": 0.55,
    "energies": 0.74,
}
NAMES = tuple(VIEWS)
VIEW_COLUMNS = 10
PLACES = np.arange(len(NAMES) * VIEW_COLUMNS).reshape(-1, VIEW_COLUMNS).tolist()
KERNELS = KernelDictionary.per_group(
    RBF(2.0, relative=True), PLACES[:3]
) + KernelDictionary.per_group(Linear(), PLACES[3:])


def bounds(line: TableLine) -> list[float]:
    """The bound for the uniform truth, divided by M, and for the sparse one, for every M."""
    p = BOUND_NORMS[line.row]
    inverse_order = 0.5 + 0.5 / p  # 1 / q
    sparse = np.array([lp_rademacher_bound(p, M, 1000) for M in BOUNDED])
    blocks = np.array(BOUNDED)
    uniform = blocks**inverse_order * sparse / blocks
    return [*uniform, *sparse]


def toy(line: TableLine) -> list[float]:
    """Test error in %, then the model error || theta^ / |theta^| - theta* / |theta*| ||, by p."""
    size, _, sparsity = line.row.partition(", ν = ")
    n = int(size.removeprefix("n = "))
    count = INFORMATIVE[sparsity]
    seeds = [line.seed, count, line.repetition]
    if n != N_TRAIN:
        seeds.append(n)
    errors, weights = toy_draw(count, seeds, NORMS, n, N_CHECK, TOY_COSTS)
    truth = (np.arange(N_FEATURES) < count) / np.sqrt(count)
    directions = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    return [*errors, *np.linalg.norm(directions - truth, axis=1)]


def correlation(found: PaperComparison, row: str) -> Array:
    """Correlation of test and model errors over the norms, one per repetition."""
    half = len(NORMS)
    samples = found.run.samples[found.rows.index(row)]
    correlations = np.empty(len(samples))
    for k, line in enumerate(samples):
        correlations[k] = np.corrcoef(line[:half], line[half:])[0, 1]
    return correlations


def left_over(found: PaperComparison, row: str) -> Array:
    """What 800 points leave of the distance less what they leave of the error above Bayes.

    Both are means over the norms.
    """
    fewer = row.replace("800", "50")
    if fewer not in found.rows:
        return np.array([np.nan])
    many_errors, many_distances = _means(found, row)
    few_errors, few_distances = _means(found, fewer)
    left: Array = many_distances / few_distances
    return left - (many_errors - BAYES) / (few_errors - BAYES)


def _means(found: PaperComparison, row: str) -> tuple[Array, Array]:
    """The means over the norms of errors and of distances, one per repetition."""
    samples = found.run.samples[found.rows.index(row)]
    errors, distances = np.split(samples, 2, axis=1)
    return errors.mean(axis=1), distances.mean(axis=1)


def made_sites(n: int, seed: int) -> tuple[Array, Labels]:
    """Measurements (n, 50) of places in five independent views, and their classes (n,).

    The class, whether a place is the start of a gene, moves the mean of a view so far that the view
    has its area under the ROC curve.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.where(np.arange(n) % 2, 1, -1))
    apart = np.sqrt(2.0) * norm.ppf(list(VIEWS.values()))
    means = np.repeat(apart / np.sqrt(VIEW_COLUMNS), VIEW_COLUMNS)
    noise = rng.standard_normal((n, means.size))
    return 0.5 * y[:, None] * means + noise, y


def sites(line: TableLine) -> list[float]:
    """100 AUC at every p, alignments with the target, mixtures at p = 1 and 2, and alignments of
    pairs.
    """
    n = int(line.row.removeprefix("n = "))
    X, y = made_sites(n + 2 * N_SITES, line.draw(n))
    train, validation, test = np.split(X, (n, n + N_SITES))
    classes, validation_classes, test_classes = np.split(y, (n, n + N_SITES))
    stack = KERNELS.grams(train, normalise="multiplicative", center=True)
    blocks = stack.cross(validation)
    test_blocks = stack.cross(test)
    areas = []
    mixtures = {}
    for p in NORMS:
        path = fit_path(
            LpMKLClassifier(p=p),
            stack,
            classes,
            "C",
            COSTS,
            blocks,
            validation_classes,
            scoring="roc_auc",
        )
        best = path.estimators[int(np.argmax(path.val_score))]
        areas.append(100.0 * roc_auc_score(test_classes, best.decide_blocks(test_blocks)))
        mixtures[p] = best.weights_ / np.sum(best.weights_)
    aligned = target_alignment(stack, classes, "binary")
    alignments = alignment_matrix(KERNELS.grams(train, normalise="spherical"))
    pairs = alignments[np.triu_indices(len(NAMES), 1)]
    return [*areas, *aligned, *mixtures[1.0], *mixtures[2.0], *pairs]


def largest_share(found: PaperComparison, row: str) -> Array:
    """The share of the weightiest kernel at p = 1, one per repetition."""
    shares = [found.of(row, f"{name} at p = 1") for name in NAMES]
    return np.asarray(np.max(shares, axis=0))
