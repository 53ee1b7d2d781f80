"""The numbers of every lesson: one seeded computation each, with one surprise.

Sources: Kloft, Brefeld, Sonnenburg, Zien (2011), section 6.1 (sparse, dense), equation (1) (edge)
and section 6.2 with Sonnenburg, Rätsch and Rieck (2007) (letters); Jin, Yang and Mahdavi (2013),
section 2 (copies); Sindhwani and Lozano (2011), equations (3)-(5) and algorithm 1 (prices, greedy);
Bach (2008), sections 3 and 5 (hull); Subrahmanya and Shin (2010), near-infrared experiments
(bands); Williams and Seeger (2001), with weak duality for the bound (landmarks).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.data.synthetic import (
    N_BANDS,
    make_ringnorm,
    make_sequences,
    make_sparse_polynomial,
    make_spectra,
)
from mklcore.errors import suppress_convergence_warnings
from mklcore.estimators.best_k import BestSetRegressor
from mklcore.estimators.gomp import GOMPClassifier, GOMPRegressor
from mklcore.estimators.hkl import HKLRegressor
from mklcore.estimators.lp import LpMKLClassifier, LpMKLRegressor
from mklcore.estimators.smkl import SMKLRegressor
from mklcore.figures import hulls
from mklcore.figures.style import number, percent
from mklcore.gallery.lessons.found import Bars, LessonResult, found
from mklcore.gallery.lessons.toy import FEW_NORMS, N_FEATURES, NORMS, draws_of, toy_parts
from mklcore.hkl.bases import PolynomialBasis
from mklcore.hkl.design import Design
from mklcore.kernels.dictionary import KernelDictionary, SequenceDictionary
from mklcore.kernels.features import Nystroem
from mklcore.kernels.functions import Linear, Polynomial
from mklcore.kernels.grams import GramStack
from mklcore.kernels.sequences import Spectrum, WeightedDegree
from mklcore.paths.choosing import used_kernels
from mklcore.paths.path import fit_path, path_grid
from mklcore.problem.problem import certificate
from mklcore.sparse.variants import duplicate_counterexample, lq_mkl

# A fit that stops short of its tolerance belongs to the story of some lessons.
without_warnings = suppress_convergence_warnings()


def _linear(columns: int) -> KernelDictionary:
    return KernelDictionary(tuple(KernelDictionary.per_feature(Linear(), columns)))


def _used(weights: Array) -> Any:
    """How many kernels have a weight that is not negligible, in every row (L, M)."""
    return used_kernels(weights).sum(axis=1)


def _within(value: float, limits: Mapping[str, float], beyond: str) -> str:
    """The first answer whose limit is not below ``value``; ``beyond`` where all are."""
    return next((answer for answer, limit in limits.items() if value <= limit), beyond)


# Norms


def sparse(
    seed: int = 0,
    draws: int = 8,
) -> LessonResult:
    """One of fifty features carries the class: errors at seven norms over eight draws."""
    level = draws_of(1, seed, draws, NORMS)
    names = ["x1, informative", *(f"x{j}, noise" for j in range(2, N_FEATURES + 1))]
    return found(
        level.answer,
        {
            "informative": level.informative,
            "draws": draws,
            "one_wins": (level.at(1.0) < level.at(np.inf)).sum(),
            "best_norm": level.norms[level.best],
        },
        range(len(NORMS)),
        len(NORMS) // 2,
        p=[number(p) for p in NORMS],
        mean=level.mean,
        draw=level.errors.T,
        used=_used(level.weights),
        bayes=level.bayes,
        above=level.mean - level.bayes,
        weights=Bars(names, ["linear", *["grey"] * (N_FEATURES - 1)], level.weights),
    )


def dense(
    seed: int = 0,
    draws: int = 3,
    counts: Sequence[int] = (1, 4, 9, 28, 50),
) -> LessonResult:
    """From one to all of fifty features carry the class: errors at five norms over three draws."""
    levels = [draws_of(count, seed, draws, FEW_NORMS) for count in counts]
    errors = np.array([level.mean for level in levels])
    names = [f"p = {number(p)}" for p in FEW_NORMS]
    return found(
        levels[-1].answer,
        {"draws": draws},
        range(len(counts)),
        len(counts) - 1,
        count=[str(count) for count in counts],
        one=errors[:, FEW_NORMS.index(1.0)],
        two=errors[:, FEW_NORMS.index(2.0)],
        infinity=errors[:, FEW_NORMS.index(np.inf)],
        best=[number(level.norms[level.best]) for level in levels],
        least=errors.min(axis=1),
        errors=Bars(names, ["ink"] * len(names), errors),
    )


# What weights say


@without_warnings
def copies(_: int = 0) -> LessonResult:
    """Two kernels, the better one two to ten times over; nothing is drawn.

    At p > 1 the optimum moves as well: c copies act as one kernel c^(1 - 1/p) times as large.
    """
    most = 10
    examples = [duplicate_counterexample(copies=count) for count in range(2, most + 1)]
    last = examples[-1]
    # The number of copies from which on the two stages keep B.
    turns = next((one for one in examples if one.two_stage["symmetric"] == "B"), last)
    # Copies come first and B comes last, with zeros for the copies that are not there yet.
    symmetric = np.zeros((len(examples), most + 1))
    block = np.zeros_like(symmetric)
    for k, example in enumerate(examples):
        for table, split in ((symmetric, example.symmetric), (block, example.block_descent)):
            table[k, : example.copies] = split[:-1]
            table[k, -1] = split[-1]
    names = [*(f"A{k + 1}" for k in range(most)), "B"]
    hues = ["rbf"] * most + ["linear"]
    answers = set(last.two_stage.values())
    return found(
        "depends" if len(answers) > 1 else answers.pop().lower(),
        {"turns": turns.copies},
        range(len(examples)),
        len(examples) - 1,
        count=[str(one.copies) for one in examples],
        each=symmetric[:, 0],
        block=block[:, 0],
        alone=symmetric[:, -1],
        keeps=[one.two_stage["symmetric"] for one in examples],
        keeps_block=[one.two_stage["block"] for one in examples],
        objective=[f"{one.objective_many:.6f}" for one in examples],
        copied=[f"{one.objective_two:.6f}" for one in examples],
        symmetric=Bars(names, hues, symmetric),
        descent=Bars(names, hues, block),
    )


@without_warnings
def prices(seed: int = 0) -> LessonResult:
    """MKL-GOMP with a fixed number of kernels and l1-norm ridge MKL along lambda, on one draw of
    the toy.
    """
    informative = 4
    requested = 10
    lambdas = 10.0 ** np.linspace(-3.0, 1.0, 13)
    (train, test), stack = toy_parts(informative, [seed, informative], 80, 2000)
    blocks = stack.cross(test.X)
    top = train.y.max()
    y = np.where(train.y == top, 1.0, -1.0)
    labels = np.where(test.y == top, 1.0, -1.0)
    used = np.empty(len(lambdas), dtype=int)
    errors = np.empty((len(lambdas), 2))
    norms = np.empty((len(lambdas), N_FEATURES))
    l1_weights = np.empty_like(norms)
    l1_error = np.empty(len(lambdas))
    for k, lam in enumerate(lambdas):
        model = GOMPClassifier(lam=lam)
        path = fit_path(model, stack, train.y, "s", [informative, requested], blocks, test.y)
        largest = path.estimators[1]
        alpha = np.ravel(largest.dual_coef_)
        forms = np.einsum("i,mij,j->m", alpha, stack.values, alpha)
        used[k] = largest.n_kernels_
        errors[k] = 100.0 * (1.0 - path.val_score)
        norms[k] = largest.weights_ * np.sqrt(np.maximum(forms, 0.0))
        fit = lq_mkl(stack.values, y, lam, 1.0, tol=1e-4)
        decision = np.einsum("m,mij,j->i", fit.weights, blocks, fit.dual_coef)
        l1_weights[k] = fit.weights
        l1_error[k] = 100.0 * np.mean(np.sign(decision) != labels)
    small, error = errors.T
    l1_used = _used(l1_weights)
    answer = "more"
    if used[0] == used[-1]:
        answer = "same"
    elif used[-1] <= 1:
        answer = "one"
    elif used[-1] < used[0]:
        answer = "half"
    facts = {
        "shrunk": norms[0].max() / norms[-1].max(),
        "l1_at_best": l1_used[np.argmin(l1_error)],
    }
    ever = np.flatnonzero(norms.max(axis=0) > 0)
    names = [f"x{j + 1}" for j in ever]
    hues = np.where(ever < informative, "linear", "grey").tolist()
    return found(
        answer,
        facts,
        lambdas,
        int(np.argmax(np.abs(used - l1_used))),
        used=used,
        error=error,
        small=small,
        l1_used=l1_used,
        l1_error=l1_error,
        largest=norms.max(axis=1),
        norms=Bars(names, hues, norms[:, ever]),
    )


@without_warnings
def greedy(seed: int = 0) -> LessonResult:
    """The target is a + b; c is a noisy copy of that sum and looks best alone.

    MKL-GOMP, and l1-norm MKL along C.
    """
    names = ["a", "b", "c", *(f"noise {k + 1}" for k in range(7))]
    n = 100
    sizes = (1, 2, 3, 4, 5)
    costs = 10.0 ** np.linspace(-3.0, 2.0, 21)
    rng = np.random.default_rng([seed, 3])
    X = rng.standard_normal((2 * n, len(names)))
    total = X[:, 0] + X[:, 1]
    X[:, 2] = total + 0.5 * X[:, 2]
    y = total + 0.3 * rng.standard_normal(2 * n)
    stack = _linear(len(names)).grams(X[:n], normalise="multiplicative")
    check = (stack.cross(X[n:]), y[n:])
    pursuit = GOMPRegressor(lam=1e-3, fit_intercept=True)
    gomp = fit_path(pursuit, stack, y[:n], "s", sizes, *check)
    convex = fit_path(LpMKLRegressor(p=1.0, tol=1e-5), stack, y[:n], "C", costs, *check)
    search = BestSetRegressor(lam=1e-3, fit_intercept=True)
    best_sets = fit_path(search, stack, y[:n], "s", sizes[:3])

    def named(kernels: Sequence[int]) -> list[str]:
        return [names[m] for m in kernels]

    held = [[int(m) for m in model.selected_] for model in gomp.estimators]
    shares = 100.0 * convex.weights / convex.weights.sum(axis=1, keepdims=True)
    ranked = np.argsort(-shares, axis=1, kind="stable")
    choices = search.problem(stack, y[:n])
    above = np.empty((len(costs), 6))  # greedy and convex for one, two and three kernels
    for k, lowest in enumerate(best_sets.objective):
        convex_choices = np.array([choices.value(order[: k + 1]) for order in ranked])
        above[:, 2 * k] = gomp.objective[k] / lowest - 1.0
        above[:, 2 * k + 1] = convex_choices / lowest - 1.0
    above = np.round(100.0 * np.maximum(above, 0.0), 6)
    best = int(np.argmax(convex.val_score))
    top = sorted(ranked[best, :2].tolist())
    greedy_is_right = set(held[1]) == {0, 1}
    convex_is_right = top == [0, 1]
    answer = "greedy" if greedy_is_right else "neither"
    if convex_is_right:
        answer = "both" if greedy_is_right else "convex"
    # The first size at which MKL-GOMP holds both; the largest where none does.
    holds_both = [{0, 1} <= set(chosen) for chosen in held]
    both = holds_both.index(True) if any(holds_both) else len(sizes) - 1
    facts = {
        "first": names[held[0][0]],
        "pair": " and ".join(named(sorted(held[1]))),
        "pair_r2": f"{gomp.val_score[1]:.2f}",
        "found": sizes[both],
        "found_r2": f"{gomp.val_score[both]:.2f}",
        "top": " and ".join(named(top)),
        "steps": ", then ".join(named(held[2])),
        "best_pair": " and ".join(named(best_sets.estimators[1].selected_)),
        "proven": "proven" if best_sets.finished.all() else "not proven",
        "greedy_above": above[0, 2],
        "greedy_then": above[0, 4],
        "convex_above": above[best, 3],
    }
    ways = [f"{way} {k}" for k in (1, 2, 3) for way in ("greedy", "ℓ1")]
    return found(
        answer,
        facts,
        costs,
        best,
        a=shares[:, 0],
        b=shares[:, 1],
        c=shares[:, 2],
        noise=shares[:, 3:].sum(axis=1),
        used=convex.n_nonzero,
        r2=convex.val_score,
        two=gomp.val_score[1],
        three=gomp.val_score[2],
        shares=Bars(names, ["linear", "linear", "rbf", *["grey"] * 7], shares),
        above=Bars(ways, ["grey", "linear"] * 3, above),
    )


# Spectra and sequences

BAND_NAMES = [f"band {k}" for k in range(N_BANDS)]


def _spectral(seed: int, normalise: str) -> tuple[GramStack, Dataset, Dataset, tuple[int, ...]]:
    """One linear kernel per band on half of the spectra, those rows, the others, and the bands that
    decide.
    """
    data, truth = make_spectra(200, 150, 3, seed)
    train, rest = data.split(0.5, seed)
    stack = KernelDictionary.per_group(Linear(), data.groups).grams(train.X, normalise=normalise)
    return stack, train, rest, truth.informative_bands


@without_warnings
def bands(seed: int = 0) -> LessonResult:
    """SMKL and sparse lp-norm MKL along C on the same kernels, one per band."""
    stack, train, check, truth = _spectral(seed, "trace")
    paths = []
    for model in (SMKLRegressor(terms="log+gl"), LpMKLRegressor(p=1.0)):
        costs = path_grid(model, stack, train.y, "C", 17)
        path = fit_path(model, stack, train.y, "C", costs, stack.cross(check.X), check.y)
        paths.append(path)
    smkl, lp = paths
    own = int(np.nanargmax(smkl.val_score))
    other = int(np.nanargmax(lp.val_score))
    kept = [np.flatnonzero(row).tolist() for row in used_kernels(smkl.weights)]
    chosen = set(kept[own])
    answer = "exact"
    if len(chosen) == N_BANDS:
        answer = "all"
    elif chosen != set(truth):
        answer = "fewer" if chosen < set(truth) else "more"
    hues = ["linear" if band in truth else "grey" for band in range(N_BANDS)]
    return found(
        answer,
        {"truth": ", ".join(map(str, truth))},
        smkl.values,
        own,
        r2=smkl.val_score,
        sparse_r2=lp.val_score[other],
        count=[len(one) for one in kept],
        sparse_count=_used(lp.weights[[other]])[0],
        which=[", ".join(map(str, one)) or "none" for one in kept],
        weights=Bars(BAND_NAMES, hues, smkl.weights),
    )


@without_warnings
def edge(seed: int = 0) -> LessonResult:
    """A grid over C that ends too early, and the same path further on."""
    tried = 7
    costs = 10.0 ** np.linspace(-3.0, 2.0, 16)
    stack, train, rest, _ = _spectral(seed, "multiplicative")
    check, test = rest.split(0.5, seed)
    model = LpMKLRegressor(p=1.0)
    path = fit_path(model, stack, train.y, "C", costs, stack.cross(check.X), check.y)
    final = stack.cross(test.X)
    scores = np.empty(len(costs))
    for k, fitted in enumerate(path.estimators):
        scores[k] = fitted.path_score(fitted.predict_blocks(final), test.y)
    end = int(np.argmax(path.val_score[:tried]))
    best = int(np.argmax(path.val_score))
    times = float(costs[best] / costs[tried - 1])
    gain = float(path.val_score[tried - 1] - path.val_score[tried - 2])
    answer = _within(times, {"there": 1.0, "just": 3.0, "ten": 30.0}, "far")
    facts = {
        "edge_r2": f"{path.val_score[end]:.2f}",
        "edge_left": 100 * (1 - scores[end]),
        "best_C": costs[best],
        "best_r2": f"{path.val_score[best]:.2f}",
        "best_left": 100 * (1 - scores[best]),
        "times": round(times, 6),
        "gain": f"{gain:.2f}",
    }
    return found(
        answer,
        facts,
        costs,
        end,
        validation=path.val_score,
        test=scores,
        used=path.n_nonzero,
        shade=[costs[0], costs[tried - 1]],
        where=["Tried at first" if k < tried else "Beyond" for k in range(len(costs))],
        weights=Bars(BAND_NAMES, ["linear"] * N_BANDS, path.weights),
    )


@without_warnings
def letters(seed: int = 0) -> LessonResult:
    """Strings with one planted word whose place varies more and more; kernels of six bands of
    places, and of words.
    """
    count = 6
    width = 10
    place = 23
    jitters = (0, 1, 2, 3, 4, 8, 16)
    costs = 10.0 ** np.linspace(-1.0, 1.0, 5)
    parts: list[tuple[Any, slice]] = [(Spectrum(4), slice(None))] * (count + 1)
    for k in range(count):
        parts[k] = (WeightedDegree(4), slice(k * width, (k + 1) * width))
    subsets = (slice(None), slice(0, count), slice(count, None))  # both kinds, places, words
    shares = np.empty((len(jitters), count + 1))
    accuracy = np.empty((len(jitters), len(subsets)))
    for row, jitter in enumerate(jitters):
        planted_words = [("TATAAT", place)]
        data = make_sequences(240, count * width, planted_words, seed, jitter=jitter)[0]
        train, check = data.split(0.5, seed)
        grams = []
        blocks = []
        for spec, part in parts:
            stack = SequenceDictionary((spec,)).grams([text[part] for text in _texts(train)])
            grams.append(stack.values)
            blocks.append(stack.cross([text[part] for text in _texts(check)]))
        paths = []
        for subset in subsets:
            stack = GramStack.from_array(np.concatenate(grams[subset]))
            held = np.concatenate(blocks[subset])
            model = LpMKLClassifier(p=1.0)
            paths.append(fit_path(model, stack, train.y, "C", costs, held, check.y))
        weights = paths[0].weights[paths[0].first_look]
        shares[row] = 100 * weights / weights.sum()
        accuracy[row] = [100 * path.val_score[path.first_look] for path in paths]
    both, places, words = accuracy.T
    own = int(np.argmax(shares[0]))
    planted = place // width
    last = shares[-1]
    if last[-1] >= 80:
        answer = "words"
    elif last.max() > 50:
        answer = "band"
    else:
        answer = "bands" if last[-1] < 20 else "even"
    majority = np.flatnonzero(shares[:, -1] > 50)
    facts = {
        "first_band": shares[0, own],
        "band_number": own + 1,
        "turns": jitters[majority[0] if majority.size else -1],
    }
    names = [*(f"band {k + 1}" for k in range(count)), "words"]
    hues = [*["grey"] * count, "rbf"]
    hues[planted] = "linear"
    return found(
        answer,
        facts,
        range(len(jitters)),
        len(jitters) - 1,
        jitter=[str(jitter) for jitter in jitters],
        own=shares[:, planted],
        other=shares[:, :count].sum(axis=1) - shares[:, planted],
        word=shares[:, -1],
        both=both,
        places=places,
        words=words,
        shares=Bars(names, hues, shares),
    )


def _texts(data: Dataset) -> Sequence[str]:
    return data.sequences[0][1]


# Many kernels, many rows


@without_warnings
def hull(seed: int = 4) -> LessonResult:
    """Certified hulls along lambda on products of columns, and the best that a sum over single
    columns reaches.
    """
    columns = 12
    n = 250
    degree = 3
    data, truth = make_sparse_polynomial(2 * n, columns, seed)
    names = data.feature_names
    train = data.take(range(n))
    check = data.take(range(n, 2 * n))
    model = HKLRegressor(basis=PolynomialBasis(degree), memory_mb=400)
    design: Any = Design(train.X, model.basis, names=list(names), memory_mb=400)
    lambdas = path_grid(model, design, train.y, "lam", 12)[::-1]
    path = fit_path(model, design, train.y, "lam", lambdas, check.X, check.y)
    single = KernelDictionary(tuple(KernelDictionary.per_feature(Polynomial(degree), columns)))
    stack = single.grams(train.X)
    additive = LpMKLRegressor(p=1.0)
    costs = path_grid(additive, stack, train.y, "C", 15)
    alone = fit_path(additive, stack, train.y, "C", costs, stack.cross(check.X), check.y)

    def enters(pair: Sequence[int]) -> int:
        """The first point whose hull holds a product of the two columns."""
        for k, fitted in enumerate(path.estimators):
            if any(node[pair[0]] and node[pair[1]] for node in fitted.hull_):
                return k
        return len(path)

    pairs = [product for product in truth.monomials if len(product) == 2]
    pair = [int(j) for j in min(pairs, key=enters)]
    best = int(np.nanargmax(path.val_score))
    first = enters(pair)
    chosen = path.estimators[best]
    kernels = int(path.estimators[0].n_dag_kernels_)
    visited = max(int(fitted.n_visited_) for fitted in path.estimators)
    facts = {
        "visited": hulls.kernel_count(visited),
        "one_in": hulls.kernel_count(kernels // visited),
        "hull": len(chosen.hull_),
        "order": chosen.interaction_order_,
        "r2": path.val_score[best],
        "additive": np.nanmax(alone.val_score),
        "first": names[pair[0]],
        "second": names[pair[1]],
        "points": len(path),
        "enters": path.values[first] if first < len(path) else "none",
        "certified": sum(bool(fitted.certified_) for fitted in path.estimators),
    }
    layout, states = hulls.drawn_along(path, names, (pair[0], pair[1]))
    drawn = hulls.hull_json(layout, states, range(1, columns + 1), dark=False)
    limits = {"less": 0.001, "hundredth": 0.03, "tenth": 0.5}
    answer = _within(visited / kernels, limits, "all")
    return found(answer, facts, lambdas, best, hull=drawn, pair=pair)


@without_warnings
def landmarks(seed: int = 0) -> LessonResult:
    """lp-norm MKL with exact kernels, then with those of more and more landmark rows, and what
    these prove.
    """
    widths = (0.25, 0.5, 1.0, 2.0)
    near = 1.0
    train, test = make_ringnorm(800, seed)[0].split(0.4, seed)
    counts = (2, 4, 8, 16, 32, 64, 128, 256, len(train.y))
    kernels = KernelDictionary.rbf_grid(widths)
    model = LpMKLClassifier(kernels=kernels, p=4.0 / 3.0, C=1.0)
    exact = 100.0 * float(model.fit(train.X, train.y).score(test.X, test.y))
    K = kernels.grams(train.X, normalise="multiplicative").values
    y = np.where(train.y == train.y.max(), 1.0, -1.0)
    accuracy = np.empty(len(counts))
    proved = np.empty(len(counts))
    lost = np.empty((len(counts), len(widths)))
    for k, count in enumerate(counts):
        model.set_params(approximation=Nystroem(count)).fit(train.X, train.y)
        primal, dual = certificate(
            K,
            y,
            model.weights_,
            model.dual_coef_,
            float(model.intercept_),
            model.loss_in_use,
            model.C,
            model.penalty_in_use,
            model.dual_point_,
        )
        accuracy[k] = 100.0 * model.score(test.X, test.y)
        proved[k] = 100 * (primal - dual) / primal
        lost[k] = model.approximation_error_
    too_low = np.flatnonzero(accuracy < exact - near)
    enough = int(too_low[-1]) + 1 if too_low.size else 0
    share = counts[min(enough, len(counts) - 1)] / counts[-1]
    facts = {
        "share": 100 * share,
        "enough_proved": percent(proved[enough] / 100),
        "half": counts[-2],
        "half_proved": percent(proved[-2] / 100),
        "all_proved": percent(proved[-1] / 100),
        "narrow_lost": 100 * lost[enough].max(),
        "wide_lost": 100 * lost[enough].min(),
    }
    names = [f"RBF, width {number(width)} × median" for width in widths]
    hues = [f"rbf {k}" for k in range(len(widths))]
    return found(
        _within(share, {"less": 0.05, "tenth": 0.2, "half": 0.6}, "all"),
        facts,
        counts,
        enough,
        count=[str(count) for count in counts],
        accuracy=accuracy,
        exact=exact,
        proved=proved,
        lost=Bars(names, hues, lost),
    )
