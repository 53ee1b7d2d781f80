"""Kernels of proteins and enzymes from files: where in the cell a protein works, and which enzymes
react together.

Table 1 of the lp-norm paper and Figure 2 of the MKL-GOMP paper take 69 kernels of proteins. lp-norm
MKL one class against the rest, C by the Matthews correlation of the test rows, as the paper has it;
MKL-GOMP with one set of kernels for all classes, lambda and size by three folds. Table 2 and Figure
6 of the lp-norm paper: five folds over the enzymes, one per repetition; a model for every training
enzyme tells its partners from the others, and its decision values on the enzymes left out score
these pairs.

One .npz file per data set: K (M, n, n) and y (n,), as on the Kernels page; for a network K and
``edges`` (a, 2), the pairs that are related. ``np.savez("plant.npz", K=K, y=y)`` writes one. Made
kernels stand in where there is no file.

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
from mklcore.errors import DataError, suppress_convergence_warnings
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
# sets of motif kernels: each sees one view of the proteins
VIEWS = 4
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
FEWEST = 3  # related enzymes that a model needs: fewer leave the problem ill-defined


# Proteins


def norms(line: TableLine) -> list[float]:
    """One split: 100 (1 - mean correlation) at every p, at the C that is best on the test rows."""
    stack, blocks, y, held = _split(line)
    costs = QUICK_COSTS if line.quick else COSTS
    found = list[float]()
    for p in NORMS:
        with suppress_convergence_warnings():
            path = fit_path(
                LpMKLClassifier(p=p),
                stack,
                y,
                "C",
                costs,
                blocks,
                held,
                scoring=make_scorer(mean_correlation),
            )
        found.append(100.0 * (1.0 - float(path.val_score.max())))
    return found


def greedy(line: TableLine) -> list[float]:
    """One split: 100 x score of MKL-GOMP, of MKL at p = 1, of the sum and of the best kernel;
    kernels of the first two.
    """

    stack, blocks, y, held = _split(line)
    score = mean_correlation if line.row == "plant" else mean_f1
    sizes = [size for size in SIZES if size <= stack.n_kernels]
    costs = QUICK_COSTS if line.quick else COSTS
    with suppress_convergence_warnings():
        surface = cross_validate_path(
            GOMPClassifier(),
            stack,
            y,
            params={"lam": LAMS, "s": sizes},
            n_splits=FOLDS,
            seed=line.seed,
            scoring=make_scorer(score),
        )
        lam, size = choose(surface)
        models = [
            GOMPClassifier(
                lam=float(LAMS[lam]),
                n_kernels=sizes[size],
            ).fit(stack, y)
        ]
        for kind in (LpMKLClassifier(p=1.0), LpMKLClassifier(p=np.inf), BestKernelClassifier()):
            kept = cross_validate_path(
                kind, stack, y, "C", costs, FOLDS, line.seed, scoring=make_scorer(score)
            )
            models.append(
                kind.set_params(C=float(costs[int(np.argmax(kept.val_score))])).fit(stack, y)
            )
    scores = [100.0 * score(held, model.predict_blocks(blocks)) for model in models]
    return [*scores, float(models[0].n_kernels_), float(models[1].n_kernels_)]


def mean_correlation(y: Labels, said: Labels) -> float:
    """Matthews correlation of every class against the rest, averaged over the classes."""
    return float(np.mean([matthews_corrcoef(y == one, said == one) for one in np.unique(y)]))


def mean_f1(y: Labels, said: Labels) -> float:
    """F1 averaged over the classes."""
    return float(f1_score(y, said, average="macro"))


def _split(line: TableLine) -> tuple[GramStack, Array, Labels, Labels]:
    """Training kernels, blocks (M, n_test, n) of the test rows, and the classes of both."""
    if line.row == MADE:
        n, per_view = (QUICK_MADE, QUICK_PER_VIEW) if line.quick else (N_MADE, PER_VIEW)
        K, y = made_proteins(n, per_view, line.draw())
    else:
        K, y = labelled(line)
    train, test = map(
        np.sort,
        train_test_split(
            np.arange(len(y)), test_size=HELD_OUT, random_state=line.draw() % 2**31, stratify=y
        ),
    )
    K = multiplicative(K, train)
    return (
        GramStack.from_array(grams_among(K, train, train)),
        grams_among(K, test, train),
        y[train],
        y[test],
    )


def labelled(line: TableLine) -> tuple[Array, Labels]:
    """Kernels (M, n, n) and classes (n,) of a file in the folder of the run.

    DataError where it is another kind.
    """
    name = f"{line.row}.npz"
    K, y = line.arrays(name, "K", "y")
    K = _kernels(name, K)
    if y.shape != K.shape[1:2]:
        raise DataError(
            f"{name}: y has the shape {y.shape}; expected one class for each of the "
            f"{K.shape[1]} rows of K."
        )
    return K, y


def _kernels(name: str, K: Any) -> Array:
    values = as_stack(K)
    for m, gram in enumerate(values):
        check_gram(f"kernel {m} of {name}", gram)
    return values


def multiplicative(K: Array, train: Indices) -> Array:
    """Every kernel divided by its variance over the training rows (Kloft et al. 2011, equation 27)."""
    own = grams_among(K, train, train)
    squares = np.einsum("mii->m", own) / len(train)
    scales = squares - own.mean(axis=(1, 2))
    kept = scales > 1e-12 * np.maximum(squares, 1e-300)
    scaled: Array = K[kept] / scales[kept, None, None]
    return scaled


def made_proteins(n: int, per_view: int, seed: int) -> tuple[Array, Labels]:
    """Kernels (5 + 4 per_view, n, n) and four classes (n,), in the shape of the protein dictionary.

    Two kernels that tell much, three that tell something, and four sets of ``per_view`` RBF kernels
    that differ in width alone: the first set tells a little, the others nothing. The truth is
    sparse, and most kernels are copies in all but name.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % CLASSES)
    strengths = [0.8] * 2 + [0.5] * 3 + [0.3] + [0.0] * (VIEWS - 1)
    found = list[Array]()
    for place, strength in enumerate(strengths):
        centres = rng.standard_normal((CLASSES, 5))
        X = strength * centres[y] + rng.standard_normal((n, 5))
        widths = [1.0] if place < 5 else np.geomspace(0.5, 2.0, per_view)
        found += [_rbf(X, float(width) * np.sqrt(10.0)) for width in widths]
    return np.stack(found), y


def _rbf(X: Array, width: float) -> Array:
    values = RBF(width).settle(X).values(X, X)
    return np.asarray((values + values.T) / 2.0)


# Enzymes


def enzymes(line: TableLine) -> list[float]:
    """One fold: 100 AUC of the single kernels, the sum, every norm, and norms with more kernels;
    then three alignments.
    """
    made = line.row == MADE_NETWORK
    K, related = (
        made_network(QUICK_NETWORK if line.quick else N_NETWORK, line.seed)
        if made
        else network(line)
    )
    if len(K) != 3:
        raise DataError(
            f"metabolic.npz holds {len(K)} kernels; expected three: expression, "
            "localisation and phylogeny."
        )
    # after five repetitions the folds are drawn anew
    drawn = np.random.default_rng([line.seed, line.repetition // PAIR_FOLDS]).permutation(
        len(related)
    )
    new = np.sort(drawn[line.repetition % PAIR_FOLDS :: PAIR_FOLDS])
    known = np.setdiff1d(np.arange(len(related)), new)

    def auc(K: Array, p: float) -> float:
        scores = local_scores(LpMKLClassifier(p=p), K, related, known, new)
        kept = np.isfinite(scores)
        return 100.0 * float(roc_auc_score(related[new[:, None], known][kept], scores[kept]))

    own = multiplicative(K, known)
    more = multiplicative(recombined(K), known)
    found = [auc(own[m : m + 1], np.inf) for m in range(3)]
    found += [auc(own, p) for p in PAIR_NORMS] + [auc(more, p) for p in MORE_NORMS]
    return [*found, *alignment_matrix(K)[np.triu_indices(3, 1)].tolist()]


def local_scores(
    model: Any,
    K: Array,
    network: Array,
    known: Indices,
    new: Indices,
) -> Array:
    """How likely every new enzyme (a,) is related to every known one (b,), as scores (a, b): what
    ``model`` says of it,

        s(j, i) = f_i(j),   f_i fitted to tell the enzymes related to i from the others, over the known ones except i

    ``network`` (n, n) is read between known enzymes only. One with too few relations to known ones
    gets no model: NaN.
    """
    scores = np.full((new.size, known.size), np.nan)
    for place, one in enumerate(known):
        rest = known[known != one]
        y = network[one, rest]
        if FEWEST <= y.sum() < y.size:
            # one of hundreds of models may stop short of its tolerance
            with suppress_convergence_warnings():
                fitted = clone(model).fit(GramStack.from_array(K[:, rest[:, None], rest]), y)
            scores[:, place] = fitted.decide_blocks(np.ascontiguousarray(K[:, new[:, None], rest]))
    return scores


def recombined(K: Array) -> Array:
    """The kernels, the sums of two and of all, and the products of two and of all: eleven from
    three.
    """
    pairs = list(combinations(range(len(K)), 2))
    sums = [K[i] + K[j] for i, j in pairs]
    products = [K[i] * K[j] for i, j in pairs]
    return np.stack(
        [
            *K,
            *sums,
            K.sum(axis=0),
            *products,
            K.prod(axis=0),
        ]
    )


def network(line: TableLine) -> tuple[Array, Array]:
    """Kernels (M, n, n) between things and who is related to whom (n, n), 0 or 1, symmetric, from a
    file.
    """
    name = "metabolic.npz"
    K, edges = line.arrays(name, "K", "edges")
    K = _kernels(name, K)
    n = K.shape[1]
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu" or not len(edges):
        raise DataError(
            f"{name}: edges has the shape {edges.shape}; expected whole numbers (a, 2), "
            "one pair per relation."
        )
    if edges.min() < 0 or edges.max() >= n:
        raise DataError(
            f"{name}: edges name things from 0 to {n - 1}; got {edges.min()} to {edges.max()}."
        )
    found = np.zeros((n, n))
    found[edges[:, 0], edges[:, 1]] = found[edges[:, 1], edges[:, 0]] = 1.0
    np.fill_diagonal(found, 0.0)
    return K, found


def made_network(n: int, seed: int) -> tuple[Array, Array]:
    """Three kernels (3, n, n) of n things and their network (n, n): each kernel sees a third of
    what decides who is related.

    Every thing has a place in six dimensions; the nearest tenth of all pairs is related. Kernel k
    sees dimensions 2k and 2k + 1, with noise. The paper explains its result by kernels that do well
    alone and are little alike: all three tell about as much here, each another thing, and they are
    so narrow that two of them have little in common.
    """
    rng = np.random.default_rng(seed)
    places = rng.standard_normal((n, 6))
    distances = np.square(places[:, None] - places).sum(axis=2)
    related = distances <= np.quantile(distances[np.triu_indices(n, 1)], 0.1)
    seen = places + 0.4 * rng.standard_normal(places.shape)
    K = np.stack([_rbf(np.ascontiguousarray(seen[:, 2 * k : 2 * k + 2]), 0.75) for k in range(3)])
    found = related.astype(np.float64)
    np.fill_diagonal(found, 0.0)
    return K, found
