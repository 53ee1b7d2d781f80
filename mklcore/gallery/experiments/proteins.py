"""Kernels of proteins and enzymes: where in the cell a protein works, and which enzymes react.

Table 1 of the lp-norm paper and Figure 2 of the MKL-GOMP paper take 69 kernels of proteins. lp-norm
MKL separates one class from the rest, and the Matthews correlation of the test rows chooses C, as
in the paper. MKL-GOMP takes one set of kernels for all classes, and three folds choose lambda and
size. Table 2 and Figure 6 of the lp-norm paper take five folds over the enzymes, one per
repetition. A model for every training enzyme separates its partners from the others, and its
decision values on the held-out enzymes score these pairs.

Every data set is an .npz file with K (M, n, n) and y (n,), as on the Kernels page; that of a network
has K and ``edges`` (a, 2), the pairs that are related. ``np.savez("plant.npz", K=K, y=y)`` writes
one. Made kernels stand in where there is no file.

Source: Kloft et al. (2011), sections 6.2 and 6.4; Sindhwani and Lozano (2011), Figure 2; Bleakley
and others (2007).
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import f1_score, make_scorer, matthews_corrcoef, roc_auc_score
from sklearn.model_selection import train_test_split

from mklcore.arrays import Array, Indices, Labels
from mklcore.errors import DataError
from mklcore.estimators.baselines import BestKernelClassifier
from mklcore.estimators.gomp import GOMPClassifier
from mklcore.estimators.lp import LpMKLClassifier
from mklcore.gallery.experiments.base import TableLine
from mklcore.kernels.functions import RBF
from mklcore.kernels.grams import GramStack, alignment_matrix, as_stack, check_gram
from mklcore.kernels.operators import grams_among
from mklcore.paths.choosing import choose, cross_validate_path
from mklcore.paths.path import PUBLISHED_NORMS, fit_path

MADE = "made proteins, a stand-in"
MADE_NETWORK = "made network, a stand-in"
N_MADE = 400
QUICK_MADE = 200
N_NETWORK = 120
QUICK_NETWORK = 60
VIEWS = 4  # sets of motif kernels, each of which sees one view of the proteins
PER_VIEW = 16
QUICK_PER_VIEW = 6
CLASSES = 4
NORMS = PUBLISHED_NORMS
COSTS = (1 / 32, 1 / 8, 1 / 2, 1, 2, 4, 8, 32, 128)
QUICK_COSTS = (1 / 8, 1, 8)
HELD_OUT = 0.2  # of every class
LAMS = 10.0 ** np.arange(-4.0, 1.5)
SIZES = (1, 2, 4, 8, 12, 16, 24, 32)
FOLDS = 3
PAIR_NORMS = (np.inf, 1.0, 4 / 3, 2.0, 4.0, 8.0, 10.0)
MORE_NORMS = (1.0, 4 / 3, 2.0, 4.0)
PAIR_FOLDS = 5
FEWEST = 3  # related enzymes without which the problem of a model is ill-defined


# Proteins


def norms(line: TableLine) -> list[float]:
    """One split: 100 (1 - mean correlation) at every p, at the C that is best on the test rows."""
    stack, blocks, y, held = _split(line)
    costs = QUICK_COSTS if line.quick else COSTS
    scorer = make_scorer(mean_correlation)
    errors = []
    for p in NORMS:
        model = LpMKLClassifier(p=p)
        path = fit_path(model, stack, y, "C", costs, blocks, held, scoring=scorer)
        errors.append(100.0 * (1.0 - path.val_score.max()))
    return errors


def greedy(line: TableLine) -> list[float]:
    """One split: 100 x score of MKL-GOMP, MKL at p = 1, the sum and the best kernel.

    The number of kernels of the first two follows.
    """
    stack, blocks, y, held = _split(line)
    score = mean_correlation if line.row == "plant" else mean_f1
    sizes = [size for size in SIZES if size <= stack.n_kernels]
    costs = QUICK_COSTS if line.quick else COSTS
    usual: dict[str, Any] = {
        "n_splits": FOLDS,
        "seed": line.seed,
        "scoring": make_scorer(score),
    }
    grids: dict[str, Any] = {"lam": LAMS, "s": sizes}
    lam, size = choose(cross_validate_path(GOMPClassifier(), stack, y, params=grids, **usual))
    sparse = GOMPClassifier(lam=float(LAMS[lam]), n_kernels=sizes[size])
    models: list[Any] = [sparse.fit(stack, y)]
    for model in (LpMKLClassifier(p=1.0), LpMKLClassifier(p=np.inf), BestKernelClassifier()):
        folds = cross_validate_path(model, stack, y, "C", costs, **usual)
        best = int(np.argmax(folds.val_score))
        models.append(model.set_params(C=float(costs[best])).fit(stack, y))
    scores = [100.0 * score(held, model.predict_blocks(blocks)) for model in models]
    return [*scores, models[0].n_kernels_, models[1].n_kernels_]


def mean_correlation(y: Labels, predicted: Labels) -> float:
    """The Matthews correlation of every class against the rest, averaged over the classes."""
    classes = np.unique(y)
    return float(np.mean([matthews_corrcoef(y == label, predicted == label) for label in classes]))


def mean_f1(y: Labels, predicted: Labels) -> float:
    """The F1 score averaged over the classes."""
    return float(f1_score(y, predicted, average="macro"))


def _split(line: TableLine) -> tuple[GramStack, Array, Labels, Labels]:
    """Training kernels, blocks (M, n_test, n) of the test rows, and the classes of both."""
    if line.row == MADE:
        n = QUICK_MADE if line.quick else N_MADE
        K, y = made_proteins(n, QUICK_PER_VIEW if line.quick else PER_VIEW, line.draw())
    else:
        K, y = labelled(line)
    seed = line.draw() % 2**31
    rows = train_test_split(np.arange(len(y)), test_size=HELD_OUT, random_state=seed, stratify=y)
    train, test = map(np.sort, rows)
    K = multiplicative(K, train)
    stack = GramStack.from_array(grams_among(K, train, train))
    return stack, grams_among(K, test, train), y[train], y[test]


def labelled(line: TableLine) -> tuple[Array, Labels]:
    """Kernels (M, n, n) and classes (n,) of a file in the folder of the run.

    Raises ``DataError`` for a file of another kind.
    """
    name = f"{line.row}.npz"
    K, y = line.arrays(name, K="mnn", y="n")
    return _kernels(name, K), y


def _kernels(name: str, K: Any) -> Array:
    values = as_stack(K)
    for m, gram in enumerate(values):
        check_gram(f"kernel {m} of {name}", gram)
    return values


def multiplicative(K: Array, train: Indices) -> Array:
    """Every kernel divided by its variance over the training rows (Kloft et al. 2011, (27))."""
    grams = grams_among(K, train, train)
    squares = np.einsum("mii->m", grams) / len(train)
    scales = squares - grams.mean(axis=(1, 2))
    is_kept = scales > 1e-12 * np.maximum(squares, 1e-300)
    scaled: Array = K[is_kept] / scales[is_kept, None, None]
    return scaled


def made_proteins(n: int, per_view: int, seed: int) -> tuple[Array, Labels]:
    """Kernels (5 + 4 per_view, n, n) and four classes (n,), in the shape of the protein dictionary.

    Two kernels tell much and three tell something. In four sets of ``per_view`` RBF kernels only
    the width differs; the first set tells a little, and the others nothing. So the truth is sparse,
    and most kernels are copies in all but name.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % CLASSES)
    strengths = [0.8] * 2 + [0.5] * 3 + [0.3] + [0.0] * (VIEWS - 1)
    kernels: list[Array] = []
    for view, strength in enumerate(strengths):
        centres = rng.standard_normal((CLASSES, 5))
        X = strength * centres[y] + rng.standard_normal((n, 5))
        widths = [1.0] if view < 5 else np.geomspace(0.5, 2.0, per_view)
        kernels += [_rbf(X, float(width) * np.sqrt(10.0)) for width in widths]
    return np.stack(kernels), y


def _rbf(X: Array, width: float) -> Array:
    values = RBF(width).settle(X).values(X, X)
    return np.asarray((values + values.T) / 2.0)


# Enzymes


def enzymes(line: TableLine) -> list[float]:
    """One fold: 100 AUC of the single kernels, the sum, every norm, and norms with more kernels.

    The alignments of the three kernels follow.
    """
    if line.row == MADE_NETWORK:
        K, related = made_network(QUICK_NETWORK if line.quick else N_NETWORK, line.seed)
    else:
        K, related = network(line)
    if len(K) != 3:
        raise DataError(
            f"metabolic.npz holds {len(K)} kernels; expected three: expression, "
            "localisation and phylogeny."
        )
    # The folds are drawn anew after five repetitions.
    draw, fold = divmod(line.repetition, PAIR_FOLDS)
    order = np.random.default_rng([line.seed, draw]).permutation(len(related))
    new = np.sort(order[fold::PAIR_FOLDS])
    known = np.setdiff1d(np.arange(len(related)), new)

    def auc(K: Array, p: float) -> float:
        scores = local_scores(LpMKLClassifier(p=p), K, related, known, new)
        is_scored = np.isfinite(scores)
        truth = related[new[:, None], known]
        return 100.0 * float(roc_auc_score(truth[is_scored], scores[is_scored]))

    scaled = multiplicative(K, known)
    more = multiplicative(recombined(K), known)
    areas = [auc(kernel[None], np.inf) for kernel in scaled]
    areas += [auc(scaled, p) for p in PAIR_NORMS]
    areas += [auc(more, p) for p in MORE_NORMS]
    return [*areas, *alignment_matrix(K)[np.triu_indices(3, 1)]]


def local_scores(model: Any, K: Array, network: Array, known: Indices, new: Indices) -> Array:
    """Scores (a, b) of how likely every new enzyme (a,) is related to every known one (b,):

        s(j, i) = f_i(j),   where f_i separates the enzymes related to i from the others

    ``model`` is fitted as f_i on the known enzymes except i. ``network`` (n, n) is read between
    known enzymes only. Scores are NaN for an enzyme with too few relations to known ones.
    """
    scores = np.full((new.size, known.size), np.nan)
    for place, enzyme in enumerate(known):
        rest = known[known != enzyme]
        y = network[enzyme, rest]
        if FEWEST <= y.sum() < y.size:
            fitted = clone(model).fit(GramStack.from_array(grams_among(K, rest, rest)), y)
            scores[:, place] = fitted.decide_blocks(grams_among(K, new, rest))
    return scores


def recombined(K: Array) -> Array:
    """The kernels, the sums of two and of all, and the products of two and of all."""
    pairs = list(combinations(K, 2))
    sums = [first + second for first, second in pairs]
    products = [first * second for first, second in pairs]
    total = K.sum(axis=0)
    product = K.prod(axis=0)
    return np.stack([*K, *sums, total, *products, product])


def network(line: TableLine) -> tuple[Array, Array]:
    """Kernels (M, n, n) of a file and the symmetric network (n, n) of 0 and 1 in it."""
    name = "metabolic.npz"
    K, edges = line.arrays(name, K="mnn", edges="a2")
    K = _kernels(name, K)
    n = K.shape[1]
    is_inside = (edges >= 0) & (edges < n) & (edges == np.round(edges))
    if not edges.size or not is_inside.all():
        raise DataError(f"{name}: edges must be pairs of whole numbers from 0 to {n - 1}.")
    edges = edges.astype(int)
    related = np.zeros((n, n))
    related[edges[:, 0], edges[:, 1]] = 1.0
    related = np.maximum(related, related.T)
    np.fill_diagonal(related, 0.0)
    return K, related


def made_network(n: int, seed: int) -> tuple[Array, Array]:
    """Three kernels (3, n, n) of n things, and their network (n, n).

    Every thing has a place in six dimensions, and the nearest tenth of all pairs is related. Kernel
    k sees dimensions 2k and 2k + 1, with noise. The paper explains its result by kernels that do
    well alone and are little alike. So all three tell about as much here, each another thing, and
    they are so narrow that two of them have little in common.
    """
    rng = np.random.default_rng(seed)
    places = rng.standard_normal((n, 6))
    distances = np.square(places[:, None] - places).sum(axis=2)
    related = distances <= np.quantile(distances[np.triu_indices(n, 1)], 0.1)
    noisy = places + 0.4 * rng.standard_normal(places.shape)
    views = np.split(noisy, 3, axis=1)
    K = np.stack([_rbf(np.ascontiguousarray(view), 0.75) for view in views])
    network = related.astype(np.float64)
    np.fill_diagonal(network, 0.0)
    return K, network
