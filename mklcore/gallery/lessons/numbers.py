"""The numbers of every lesson: one seeded computation each, with one surprise.

Sources: Kloft, Brefeld, Sonnenburg, Zien (2011), section 6.1 (sparse, dense), equation (1) (edge)
and section 6.2 with Sonnenburg, Rätsch and Rieck (2007) (letters); Jin, Yang and Mahdavi (2013),
section 2 (copies); Sindhwani and Lozano (2011), equations (3)-(5) and algorithm 1 (prices, greedy);
Bach (2008), sections 3 and 5 (hull); Subrahmanya and Shin (2010), near-infrared experiments
(bands); Williams and Seeger (2001), with weak duality for the bound (landmarks).
"""

from __future__ import annotations

from collections.abc import Sequence
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
from mklcore.gallery.lessons.found import LessonResult, found
from mklcore.gallery.lessons.toy import FEW_NORMS, N_FEATURES, NORMS, Level, draws_of, toy_parts
from mklcore.hkl.bases import PolynomialBasis
from mklcore.hkl.design import Design
from mklcore.kernels.dictionary import KernelDictionary, SequenceDictionary
from mklcore.kernels.features import Nystroem
from mklcore.kernels.functions import Linear, Polynomial
from mklcore.kernels.grams import GramStack
from mklcore.kernels.sequences import Spectrum, WeightedDegree
from mklcore.paths.path import Path, fit_path, path_grid
from mklcore.problem.problem import certificate
from mklcore.sparse.variants import duplicate_counterexample, lq_mkl

USED = 1e-6  # share of the largest weight above which a kernel counts as used


def _linear(columns: int) -> KernelDictionary:
    return KernelDictionary(tuple(KernelDictionary.per_feature(Linear(), columns)))


def _used(weights: Array) -> Any:
    """How many kernels are in use, by row."""
    table = np.atleast_2d(weights)
    return (table > USED * np.maximum(table.max(axis=1, keepdims=True), 1e-300)).sum(axis=1)


# Norms


def _features(level: Level) -> tuple[list[str], list[str]]:
    """Names and hues of the bars of one feature each."""
    informative = [j < level.informative for j in range(N_FEATURES)]
    names = [f"x{j + 1}, {'informative' if one else 'noise'}" for j, one in enumerate(informative)]
    return names, ["linear" if one else "grey" for one in informative]


def _norm_facts(level: Level) -> dict[str, str]:
    one = level.at(1.0)
    infinite = level.at(np.inf)
    return {
        "informative": str(level.informative), "draws": str(len(level.errors)), "bayes": number(level.bayes),
        "one": number(one.mean()), "two": number(level.at(2.0).mean()), "infinity": number(infinite.mean()),
        "one_wins": str(int((one < infinite).sum())), "best_norm": number(level.norms[level.best]),
    }  # fmt: skip


def sparse(seed: int = 0, draws: int = 8) -> LessonResult:
    """One of fifty features carries the class: errors at seven norms over eight draws."""
    level = draws_of(1, seed, draws, NORMS)
    names, hues = _features(level)
    return found(
        level.answer, _norm_facts(level), range(len(NORMS)), len(NORMS) // 2,
        p=[number(p) for p in NORMS], mean=level.mean, draw=level.errors.T, used=_used(level.weights),
        bayes=np.full(len(NORMS), level.bayes), above=level.mean - level.bayes, weights=(names, hues, level.weights),
    )  # fmt: skip


def dense(
    seed: int = 0,
    draws: int = 3,
    counts: Sequence[int] = (1, 4, 9, 28, 50),
) -> LessonResult:
    """From one to all of fifty features carry the class: errors at five norms over three draws
    each.
    """
    levels = [draws_of(count, seed, draws, FEW_NORMS) for count in counts]
    best = [level.norms[level.best] for level in levels]
    facts = _norm_facts(levels[-1]) | {
        "fewest": str(counts[0]), "fewest_norm": number(best[0]), "all_norm": number(best[-1]),
    }  # fmt: skip
    errors = np.array([level.mean for level in levels])
    one, two, infinite = (errors[:, FEW_NORMS.index(p)] for p in (1.0, 2.0, np.inf))
    names = [f"p = {number(p)}" for p in FEW_NORMS]
    return found(
        levels[-1].answer, facts, range(len(counts)), len(counts) - 1,
        count=list(map(str, counts)), one=one, two=two, infinity=infinite, best=[number(p) for p in best],
        least=errors.min(axis=1), errors=(names, ["ink"] * len(names), errors),
    )  # fmt: skip


# What weights say


def copies(seed: int = 5) -> LessonResult:
    """Two kernels, the better one two to ten times over; then two near copies on halves of the
    rows.

    At p > 1 the optimum moves as well: c copies act as one kernel c^(1 - 1/p) times as large.
    """
    most = 10
    rows = 80
    resamples = 20
    examples = [duplicate_counterexample(copies=count) for count in range(2, most + 1)]
    rng = np.random.default_rng([seed, 1])
    shared = rng.standard_normal(rows)
    X = np.column_stack([shared, shared, rng.standard_normal(rows)])
    X[:, :2] += 0.05 * rng.standard_normal((rows, 2))
    y = shared + 0.5 * X[:, 2] + 0.5 * rng.standard_normal(rows)
    twins = []
    for k in range(resamples):
        half = np.random.default_rng([seed, 2, k]).permutation(rows)[: rows // 2]
        twins.append(LpMKLRegressor(kernels=_linear(3), p=1.0).fit(X[half], y[half]).weights_[:2])
    first = np.array(twins)[:, 0] / np.maximum(np.sum(twins, axis=1), 1e-300)
    gomp = GOMPRegressor(kernels=_linear(most + 1), n_kernels=most + 1, score_tol=0.0)
    with suppress_convergence_warnings():  # fewer kernels than asked for: that is the point
        kept = int(gomp.fit(X[:, [0] * most + [2]], y).n_kernels_)
    last = examples[-1]
    facts = {
        "a": number(last.two_kernels[0]), "b": number(last.two_kernels[1]), "copies": str(most),
        "each": number(last.symmetric[0]), "first": number(last.block_descent[0]), "kernels": str(most + 1),
        "turns": str(next((e for e in examples if e.two_stage["symmetric"] == "B"), last).copies),
        "gomp_kept": str(kept), "gomp_first": last.greedy["MKL-GOMP, with copies"], "resamples": str(resamples),
        "one_only": str(int((first > 0.99).sum())), "two_only": str(int((first < 0.01).sum())),
        "both": str(int(((first >= 0.01) & (first <= 0.99)).sum())),
    }  # fmt: skip
    names = [*(f"A{k + 1}" for k in range(most)), "B"]
    hues = ["rbf"] * most + ["linear"]

    def padded(split: Any) -> Array:
        """Copies first, B last, zeros for the copies that are not there yet."""
        return np.array([np.r_[row[:-1], np.zeros(most + 1 - len(row)), row[-1]] for row in split])

    symmetric = padded([e.symmetric for e in examples])
    block = padded([e.block_descent for e in examples])
    answers = set(last.two_stage.values())
    return found(
        "depends" if len(answers) > 1 else answers.pop().lower(), facts, range(len(examples)), len(examples) - 1,
        count=[str(e.copies) for e in examples], each=symmetric[:, 0], block=block[:, 0], alone=symmetric[:, -1],
        keeps=[e.two_stage["symmetric"] for e in examples], keeps_block=[e.two_stage["block"] for e in examples],
        objective=[f"{e.objective_many:.6f}" for e in examples], copied=[f"{e.objective_two:.6f}" for e in examples],
        symmetric=(names, hues, symmetric), descent=(names, hues, block),
    )  # fmt: skip


def prices(seed: int = 0) -> LessonResult:
    """MKL-GOMP with a fixed number of kernels and l1-norm ridge MKL along lambda, on one draw of
    the toy.
    """
    informative = 4
    asked = 10
    lambdas = 10.0 ** np.linspace(-3.0, 1.0, 13)
    (train, test), stack = toy_parts(informative, [seed, informative], 80, 2000)
    blocks = stack.cross(test.X)
    y, labels = (np.where(part.y == train.y.max(), 1.0, -1.0) for part in (train, test))
    rows = []
    for lam in lambdas:
        path = fit_path(
            GOMPClassifier(lam=lam), stack, train.y, "s", [informative, asked], blocks, test.y
        )
        model = path.estimators[1]
        alpha = np.ravel(model.dual_coef_)
        norms = model.weights_ * np.sqrt(
            np.maximum(np.einsum("i,mij,j->m", alpha, stack.values, alpha), 0.0)
        )
        with suppress_convergence_warnings():
            fit = lq_mkl(stack.values, y, lam, 1.0, tol=1e-4)
        wrong = 100.0 * np.mean(
            np.sign(np.einsum("m,mij,j->i", fit.weights, blocks, fit.dual_coef)) != labels
        )
        rows.append(
            (
                int(model.n_kernels_),
                *(100.0 * (1.0 - path.val_score)),
                _used(fit.weights)[0],
                wrong,
                norms,
            )
        )
    used, small, error, l1_used, l1_error, norms = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    ever = np.flatnonzero(norms.max(axis=0) > 0)
    kept = (
        "same"
        if used[0] == used[-1]
        else "one"
        if used[-1] <= 1
        else "half"
        if used[-1] < used[0]
        else "more"
    )
    facts = {
        "gomp_first": str(used[0]), "gomp_last": str(used[-1]), "l1_first": str(l1_used[0]),
        "l1_last": str(l1_used[-1]), "shrunk": number(norms[0].max() / max(norms[-1].max(), 1e-300)),
        "small_best": number(small.min()), "small_worst": number(small.max()), "l1_best": number(l1_error.min()),
        "l1_worst": number(l1_error.max()), "l1_at_best": str(l1_used[int(np.argmin(l1_error))]),
    }  # fmt: skip
    names = [f"x{j + 1}" for j in ever]
    hues = ["linear" if j < informative else "grey" for j in ever]
    return found(
        kept, facts, lambdas, int(np.argmax(np.abs(used - l1_used))), lam=lambdas, used=used, error=error, small=small,
        l1_used=l1_used, l1_error=l1_error, largest=norms.max(axis=1), norms=(names, hues, norms[:, ever]),
    )  # fmt: skip


def greedy(seed: int = 0) -> LessonResult:
    """The target is a + b; c is a noisy copy of that sum and looks best alone.

    MKL-GOMP, and l1-norm MKL along C.
    """
    names = ["a", "b", "c", *(f"noise {k + 1}" for k in range(7))]
    n = 100
    sizes = (1, 2, 3, 4, 5)
    rng = np.random.default_rng([seed, 3])
    X = rng.standard_normal((2 * n, len(names)))
    total = X[:, 0] + X[:, 1]
    X[:, 2] = total + 0.5 * X[:, 2]
    y = total + 0.3 * rng.standard_normal(2 * n)
    stack = _linear(len(names)).grams(X[:n], normalise="multiplicative")
    rest = (stack.cross(X[n:]), y[n:])
    with suppress_convergence_warnings():
        gomp = fit_path(
            GOMPRegressor(lam=1e-3, fit_intercept=True), stack, y[:n], "s", sizes, *rest
        )
        costs = 10.0 ** np.linspace(-3.0, 2.0, 21)
        convex = fit_path(
            LpMKLRegressor(p=1.0, tol=1e-5),
            stack,
            y[:n],
            "C",
            costs,
            *rest,
        )
        search = BestSetRegressor(lam=1e-3, fit_intercept=True)
        best_sets = fit_path(search, stack, y[:n], "s", sizes[:3])
    held = [[int(m) for m in model.selected_] for model in gomp.estimators]
    shares = 100.0 * convex.weights / convex.weights.sum(axis=1, keepdims=True)
    choices = search.problem(stack, y[:n])
    above = np.empty((len(costs), 6))  # greedy and convex for one, two and three kernels
    for k, lowest in enumerate(best_sets.objective):
        largest = np.argsort(-shares, axis=1, kind="stable")[:, : k + 1]
        convex_choices = np.array([choices.value(chosen) for chosen in largest])
        above[:, 2 * k] = gomp.objective[k] / lowest - 1.0
        above[:, 2 * k + 1] = convex_choices / lowest - 1.0
    above = np.round(100.0 * np.maximum(above, 0.0), 6)
    best = int(np.argmax(convex.val_score))
    top = sorted(np.argsort(-shares[best], kind="stable")[:2].tolist())
    right = {0, 1} == set(held[1]), top == [0, 1]
    both = next((k for k, chosen in enumerate(held) if {0, 1} <= set(chosen)), len(sizes) - 1)
    facts = {
        "first": names[held[0][0]], "pair": " and ".join(names[m] for m in sorted(held[1])),
        "pair_r2": f"{gomp.val_score[1]:.2f}", "found": str(sizes[both]), "found_r2": f"{gomp.val_score[both]:.2f}",
        "top": " and ".join(names[m] for m in top), "decoy_first": number(shares[0, 2]),
        "decoy_best": number(shares[best, 2]), "best_C": number(costs[best]),
        "best_r2": f"{convex.val_score[best]:.2f}", "best_used": str(convex.n_nonzero[best]),
        "steps": ", then ".join(names[m] for m in held[2]),
        "best_pair": " and ".join(names[m] for m in best_sets.estimators[1].selected_),
        "proven": "proven" if best_sets.finished.all() else "not proven",
        "greedy_above": number(above[0, 2]), "greedy_then": number(above[0, 4]),
        "convex_above": number(above[best, 3]),
    }  # fmt: skip
    a, b, c = shares[:, :3].T
    return found(
        {(True, True): "both", (True, False): "greedy", (False, True): "convex",}.get(right, "neither"), facts, costs,
        best, C=costs, a=a, b=b, c=c, noise=shares[:, 3:].sum(axis=1), used=convex.n_nonzero, r2=convex.val_score,
        two=np.full(len(costs), gomp.val_score[1]), three=np.full(len(costs), gomp.val_score[2]),
        shares=(names, ["linear", "linear", "rbf", *["grey"] * 7], shares),
        above=([f"{way} {k}" for k in (1, 2, 3) for way in ("greedy", "ℓ1")], ["grey", "linear"] * 3, above),
    )  # fmt: skip


# Spectra and sequences


def _spectral(
    seed: int,
    normalise: str,
) -> tuple[GramStack, Dataset, Dataset, tuple[int, ...]]:
    """One linear kernel per band on half of the spectra, those rows, the others, and the bands that
    decide.
    """
    data, truth = make_spectra(200, 150, 3, seed)
    train, rest = data.split(0.5, seed)
    stack = KernelDictionary.per_group(Linear(), data.groups).grams(train.X, normalise=normalise)
    return stack, train, rest, truth.informative_bands


def bands(seed: int = 0) -> LessonResult:
    """SMKL and sparse lp-norm MKL along C on the same kernels, one per band."""
    stack, train, check, truth = _spectral(seed, "trace")

    def path_of(model: Any) -> Path:
        with suppress_convergence_warnings():
            values = path_grid(model, stack, train.y, "C", 17)
            return fit_path(
                model,
                stack,
                train.y,
                "C",
                values,
                stack.cross(check.X),
                check.y,
            )

    smkl = path_of(SMKLRegressor(terms="log+gl"))
    lp = path_of(LpMKLRegressor(p=1.0))
    own = int(np.nanargmax(smkl.val_score))
    other = int(np.nanargmax(lp.val_score))
    weights = np.asarray(smkl.weights)
    kept = [np.flatnonzero(w > USED * max(float(w.max()), 1e-300)).tolist() for w in weights]
    chosen = set(kept[own])
    count = _used(lp.weights[other])[0]
    answer = "exact" if chosen == set(truth) else "fewer" if chosen < set(truth) else "more"
    facts = {
        "smkl_bands": str(len(chosen)), "smkl_r2": f"{smkl.val_score[own]:.3f}", "sparse_bands": str(count),
        "sparse_r2": f"{lp.val_score[other]:.3f}", "truth": ", ".join(map(str, truth)),
    }  # fmt: skip
    names = [f"band {k}" for k in range(N_BANDS)]
    hues = ["linear" if k in truth else "grey" for k in range(N_BANDS)]
    constant = np.ones(len(smkl.values))
    return found(
        "all" if len(chosen) == N_BANDS else answer, facts, smkl.values, own, C=smkl.values, r2=smkl.val_score,
        sparse_r2=lp.val_score[other] * constant, count=[len(one) for one in kept], sparse_count=count * constant,
        which=[", ".join(map(str, one)) or "none" for one in kept], weights=(names, hues, weights),
    )  # fmt: skip


def edge(seed: int = 0) -> LessonResult:
    """A grid over C that ends too early, and the same path further on."""
    tried = 7
    costs = 10.0 ** np.linspace(-3.0, 2.0, 16)
    stack, train, rest, _ = _spectral(seed, "multiplicative")
    check, test = rest.split(0.5, seed)
    with suppress_convergence_warnings():
        path = fit_path(
            LpMKLRegressor(p=1.0), stack, train.y, "C", costs, stack.cross(check.X), check.y
        )
    final = stack.cross(test.X)
    scores = np.array(
        [fitted.path_score(fitted.predict_blocks(final), test.y) for fitted in path.estimators]
    )
    end = int(np.argmax(path.val_score[:tried]))
    best = int(np.argmax(path.val_score))
    times = float(costs[best] / costs[tried - 1])
    before = float(path.val_score[tried - 1] - path.val_score[tried - 2])
    facts = {
        "edge_r2": f"{path.val_score[end]:.2f}", "edge_left": number(100 * (1 - scores[end])),
        "best_C": number(costs[best]), "best_r2": f"{path.val_score[best]:.2f}",
        "best_left": number(100 * (1 - scores[best])), "times": number(round(times, 6)), "gain": f"{before:.2f}",
        "edge_bands": str(path.n_nonzero[end]),
    }  # fmt: skip
    names = [f"band {k}" for k in range(N_BANDS)]
    return found(
        "there" if times <= 1.0 else "just" if times < 3.0 else "far" if times >= 30.0 else "ten", facts, costs, end,
        C=costs, validation=path.val_score, test=scores, used=path.n_nonzero, shade=[costs[0], costs[tried - 1]],
        where=["Tried at first" if k < tried else "Beyond" for k in range(len(costs))],
        weights=(names, ["linear"] * N_BANDS, path.weights),
    )  # fmt: skip


def letters(seed: int = 0) -> LessonResult:
    """Strings with one planted word whose place varies more and more; kernels of six bands of
    places, and of words.
    """
    count = 6
    band = 10
    place = 23
    jitters = (0, 1, 2, 3, 4, 8, 16)
    cuts = [
        *((WeightedDegree(4), slice(k * band, (k + 1) * band)) for k in range(count)),
        (Spectrum(4), slice(None)),
    ]

    def at(jitter: int) -> tuple[Array, ...]:
        """Shares of the weight at the best cost, and validation accuracies of both kinds, of places
        and of words.
        """
        data = make_sequences(
            240,
            count * band,
            [("TATAAT", place)],
            seed,
            jitter=jitter,
        )[0]
        train, check = data.split(0.5, seed)
        stacks = [
            SequenceDictionary((spec,)).grams([text[cut] for text in train.sequences[0][1]])
            for spec, cut in cuts
        ]
        new = [[text[cut] for text in check.sequences[0][1]] for _, cut in cuts]
        blocks = np.concatenate(
            [stack.cross(rows) for stack, rows in zip(stacks, new, strict=True)]
        )
        values = np.concatenate([stack.values for stack in stacks])
        paths = []
        for kept in (slice(None), slice(0, count), slice(count, None)):
            stack = GramStack.from_array(
                values[kept], [f"kernel {m + 1}" for m in range(len(values[kept]))]
            )
            with suppress_convergence_warnings():
                costs = 10.0 ** np.linspace(-1.0, 1.0, 5)
                paths.append(
                    fit_path(
                        LpMKLClassifier(p=1.0), stack, train.y, "C", costs, blocks[kept], check.y
                    )
                )
        weights = paths[0].weights[paths[0].first_look]
        return 100 * weights / weights.sum(), *(
            100 * path.val_score[path.first_look] for path in paths
        )

    shares, both, places, words = (
        np.array(column) for column in zip(*map(at, jitters), strict=True)
    )
    own = int(np.argmax(shares[0]))
    planted = place // band
    last = shares[-1]
    turns = next((j for j, row in zip(jitters, shares, strict=True) if row[-1] > 50), jitters[-1])
    rest = "band" if last.max() > 50 else "bands" if last[-1] < 20 else "even"
    facts = {
        "first_band": number(shares[0, own]), "band_number": str(own + 1), "first_words": number(shares[0, -1]),
        "last_words": number(last[-1]), "turns": str(turns), "last": str(jitters[-1]),
        "first_words_only": number(words[0]), "first_places_only": number(places[0]),
        "last_words_only": number(words[-1]), "last_places_only": number(places[-1]),
    }  # fmt: skip
    names = [*(f"band {k + 1}" for k in range(count)), "words"]
    hues = ["linear" if k == planted else "grey" for k in range(count)] + ["rbf"]
    return found(
        "words" if last[-1] >= 80 else rest, facts, range(len(jitters)), len(jitters) - 1,
        jitter=list(map(str, jitters)),
        own=shares[:, planted], other=shares[:, :count].sum(axis=1) - shares[:, planted], word=shares[:, -1], both=both,
        places=places, words=words, shares=(names, hues, shares),
    )  # fmt: skip


# Many kernels, many rows


def hull(seed: int = 4) -> LessonResult:
    """Certified hulls along lambda on products of columns, and the best that a sum over single
    columns reaches.
    """
    columns = 12
    n = 250
    degree = 3
    data, truth = make_sparse_polynomial(2 * n, columns, seed)
    train = data.take(range(n))
    check = data.take(range(n, 2 * n))
    model = HKLRegressor(basis=PolynomialBasis(degree), memory_mb=400)
    design: Any = Design(
        train.X,
        model.basis,
        names=list(data.feature_names),
        memory_mb=400,
    )
    stack = KernelDictionary(
        tuple(KernelDictionary.per_feature(Polynomial(degree), columns))
    ).grams(train.X)
    with suppress_convergence_warnings():
        values = path_grid(model, design, train.y, "lam", 12)[::-1]
        path = fit_path(model, design, train.y, "lam", values, check.X, check.y)
        costs = path_grid(LpMKLRegressor(p=1.0), stack, train.y, "C", 15)
        alone = fit_path(
            LpMKLRegressor(p=1.0), stack, train.y, "C", costs, stack.cross(check.X), check.y
        )

    def enters(pair: Sequence[int]) -> int:
        """The first point whose hull holds a product of the two columns."""
        inside = (
            k
            for k, one in enumerate(path.estimators)
            if any(v[pair[0]] and v[pair[1]] for v in one.hull_)
        )
        return next(inside, len(path))

    relevant = sorted(
        np.argsort(-np.asarray(path.estimators[-1].relevance_), kind="stable")[:2].tolist()
    )
    pair = min((m for m in truth.monomials if len(m) == 2), key=enters, default=tuple(relevant))
    best = int(np.nanargmax(path.val_score))
    first = enters(pair)
    chosen = path.estimators[best]
    kernels = int(path.estimators[0].n_dag_kernels_)
    visited = max(int(one.n_visited_) for one in path.estimators)
    share = visited / kernels
    facts = {
        "visited": hulls.kernel_count(visited), "one_in": hulls.kernel_count(kernels // visited),
        "hull": str(len(chosen.hull_)), "order": str(chosen.interaction_order_), "r2": number(path.val_score[best]),
        "additive": number(np.nanmax(alone.val_score)), "first": data.feature_names[pair[0]],
        "second": data.feature_names[pair[1]], "points": str(len(path)),
        "enters": number(path.values[first]) if first < len(path) else "none",
        "certified": str(sum(bool(one.certified_) for one in path.estimators)),
    }  # fmt: skip
    layout, states = hulls.drawn_along(path, data.feature_names, (int(pair[0]), int(pair[1])))
    drawn = hulls.hull_json(layout, states, range(1, columns + 1), dark=False)
    answer = (
        "all"
        if share > 0.5
        else "tenth"
        if share > 0.03
        else "hundredth"
        if share > 0.001
        else "less"
    )
    return found(
        answer,
        facts,
        values,
        best,
        hull=drawn,
        pair=[int(j) for j in pair],
    )


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
    K = kernels.grams(train.X, normalise="multiplicative").values
    y = np.where(train.y == train.y.max(), 1.0, -1.0)
    rows = []
    with suppress_convergence_warnings():
        exact = 100.0 * float(model.fit(train.X, train.y).score(test.X, test.y))
        for count in counts:
            model.set_params(approximation=Nystroem(count)).fit(train.X, train.y)
            primal, dual = certificate(
                K, y, model.weights_, model.dual_coef_, float(model.intercept_), model.loss_in_use, model.C,
                model.penalty_in_use, model.dual_point_,
            )  # fmt: skip
            rows.append(
                (
                    100.0 * model.score(test.X, test.y),
                    100 * (primal - dual) / primal,
                    model.approximation_error_,
                )
            )
    accuracy, proved, lost = (np.array(column) for column in zip(*rows, strict=True))
    off = np.flatnonzero(accuracy < exact - near)
    at = int(off[-1]) + 1 if off.size else 0
    share = counts[min(at, len(counts) - 1)] / counts[-1]
    facts = {
        "enough": str(counts[at]), "share": number(100 * share), "enough_accuracy": number(accuracy[at]),
        "exact": number(exact), "enough_proved": percent(proved[at] / 100), "half": str(counts[-2]),
        "half_proved": percent(proved[-2] / 100), "all_proved": percent(proved[-1] / 100), "of": str(counts[-1]),
        "narrow_lost": number(100 * lost[at].max()), "wide_lost": number(100 * lost[at].min()),
    }  # fmt: skip
    names = [f"RBF, width {number(width)} × median" for width in widths]
    return found(
        "all" if share > 0.6 else "half" if share > 0.2 else "tenth" if share > 0.05 else "less", facts, counts, at,
        count=list(map(str, counts)), accuracy=accuracy, exact=np.full(len(counts), exact), proved=proved,
        lost=(names, [f"rbf {k}" for k in range(len(widths))], lost),
    )  # fmt: skip
