"""Seeded generators with known truth: each returns a `Dataset` and a named tuple with the truth.

Sources: the toy of the lp-norm experiment (Kloft, Brefeld, Sonnenburg and Zien, JMLR 2011, section
6.1), the sparse polynomial of hierarchical kernel learning (Bach, NIPS 2008), ringnorm and twonorm
(Breiman, Bias, variance and arcing classifiers, 1996), and spectra in the manner of the
near-infrared experiments of sparse MKL.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

import numpy as np

from mklcore.arrays import Array, Columns, Indices, Labels, Mask, Names
from mklcore.data.dataset import Dataset
from mklcore.errors import ParameterError
from mklcore.parameters import check_whole

N_BANDS = 10
POLYNOMIAL_NOISE = 0.2
SPECTRA_NOISE = 0.05
NORM_DIMENSION = 20
DNA = np.array(list("ACGT"))
RING_RADIUS = 2.0
RING_NOISE = 0.15
RING_GAP = 0.75


class ToyTruth(NamedTuple):
    """`theta` (d,) is 1 on informative features; class y has mean y * `mean`; errors are shares."""

    informative: Columns
    theta: Array
    mean: Array
    bayes_error: float


class PolynomialTruth(NamedTuple):
    """y = `signal` + noise, where the signal is a sum of monomials.

    signal = sum of coefficients[k] * product of the columns monomials[k] before the rotation.
    """

    monomials: tuple[Columns, ...]
    coefficients: Array
    variables: Columns
    signal: Array
    noise_std: float
    rotation: Array | None


class SpectraTruth(NamedTuple):
    """y = `concentrations` (n, 10) @ `coefficients` (10,) + noise.

    Coefficients are 0 outside the informative bands.
    """

    informative_bands: Columns
    coefficients: Array
    concentrations: Array
    wavelengths: Array
    noise_std: float


class RingTruth(NamedTuple):
    """`outside` (n,) is true for the rows away from the ring of this `radius`.

    The other rows are about `noise_std` from it.
    """

    outside: Mask
    radius: float
    noise_std: float


class NormTruth(NamedTuple):
    """Class +1 is N(means[0], variances[0] I), class -1 N(means[1], variances[1] I)."""

    means: Array
    variances: tuple[float, float]
    bayes_error: float


class SequencesTruth(NamedTuple):
    """`motifs` (strings) stand at `positions` (n, m) in the rows of class +1, -1 in the others."""

    motifs: Names
    positions: Indices


def make_sequences(
    n: int,
    length: int,
    motifs: Sequence[str | tuple[str, int]],
    seed: int,
    *,
    jitter: int = 0,
    mutation: float = 0.1,
) -> tuple[Dataset, SequencesTruth]:
    """DNA with planted motifs: n strings of ``length`` random letters, half with the motifs.

    The strings of class +1 contain every motif.

    ``motifs``: strings, each planted anywhere; or pairs (string, position), planted there, moved by
    up to ``jitter`` places. Every letter of a motif mutates with probability ``mutation``. Rows of
    class -1 get the letters of the motif in another order at such a place, so that neither letters
    nor places tell the classes apart, only words. X: the shares of letters, no help.

    Parameters
    ----------
    n : int
        Number of rows, from 1.
    length : int
        Number of letters of every string.
    motifs : sequence of str or (str, int) pairs
        Words that class +1 holds, see above.
    seed : int
        Seed of the random draws: the same number gives the same result.
    jitter : int, default 0
        Number of places by which a motif may be moved.
    mutation : float, default 0.1
        Probability with which a letter of a motif changes.

    Returns
    -------
    tuple of (Dataset, SequencesTruth)
        The data and the truth behind it.

    Examples
    --------
    >>> data, truth = make_sequences(40, 60, [("TATAAT", 20)], seed=0)
    >>> data.sequences[0][0], len(data.sequences[0][1][0]), truth.motifs
    ('sequence', 60, ('TATAAT',))
    """
    check_whole("n", n, 4)
    check_whole("length", length, 2)
    if not motifs or not 0 <= mutation <= 1 or jitter < 0:
        raise ParameterError(
            "Expected a motif or more, mutation as a share, and jitter of 0 or more; got "
            f"{motifs!r}, {mutation!r} and {jitter!r}."
        )
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.where(np.arange(n) % 2, 1, -1))
    rows = rng.choice(DNA, (n, length))
    positions = np.full((n, len(motifs)), -1)
    planted = [(one, None) if isinstance(one, str) else one for one in motifs]
    for i, sign in enumerate(y):
        for m, (motif, place) in enumerate(planted):
            word = np.array(list(motif))
            first = 0
            last = length - len(word)
            if not motif or not 0 <= (place or 0) <= last:
                raise ParameterError(
                    f"The motif {motif!r} at {place} does not fit into {length} letters."
                )
            if place is not None:
                first = max(place - jitter, 0)
                last = min(place + jitter, last)
            start = int(rng.integers(first, last + 1))
            if sign > 0:
                positions[i, m] = start
            else:
                word = _shuffled(word, rng)
            mutated = rng.random(len(word)) < mutation
            drawn = rng.choice(DNA, len(word))
            rows[i, start : start + len(word)] = np.where(mutated, drawn, word)
    shares = np.column_stack([(rows == letter).mean(axis=1) for letter in DNA])
    strings = tuple("".join(row) for row in rows)
    names = tuple(f"share of {letter}" for letter in DNA)
    data = Dataset(shares, y, names, task="binary", sequences=(("sequence", strings),))
    return data, SequencesTruth(tuple(motif for motif, _ in planted), positions)


def _shuffled(word: Labels, rng: np.random.Generator) -> Labels:
    """The letters in another order, where they have one."""
    for _ in range(20):
        other = rng.permutation(word)
        if not np.array_equal(other, word):
            return other
    return word


def make_mkl_toy(
    n: int, n_informative: int, seed: int, n_features: int = 50, rho: float = 1.75
) -> tuple[Dataset, ToyTruth]:
    """x = y rho theta / ||theta||_2 + N(0, I), with theta = 1 on `n_informative` features, else 0.

    y is -1 or +1 in equal numbers. Whatever the sparsity, the Bayes error is Phi(-rho): 4.006 % for
    rho = 1.75.

    Parameters
    ----------
    n : int
        Number of rows, from 1.
    n_informative : int
        Number of features that carry the class.
    seed : int
        Seed of the random draws: the same number gives the same result.
    n_features : int, default 50
        Number of features.
    rho : float, default 1.75
        Distance of the class means from 0.

    Returns
    -------
    tuple of (Dataset, ToyTruth)
        The data and the truth behind it.

    Examples
    --------
    >>> data, truth = make_mkl_toy(50, 9, seed=0)
    >>> data.X.shape
    (50, 50)
    """
    from scipy.stats import norm  # not at start-up

    check_whole("n", n, 2)
    check_whole("n_features", n_features, 1)
    check_whole("n_informative", n_informative, 1, n_features)
    if not 0 < rho < np.inf:
        raise ParameterError(
            f"rho is {rho!r}; expected a positive number, the distance of a class mean from 0."
        )
    rng = np.random.default_rng(seed)
    theta = (np.arange(n_features) < n_informative).astype(float)
    mean = rho * theta / np.linalg.norm(theta)
    y = _balanced_labels(n, rng)
    X = y[:, None] * mean + rng.standard_normal((n, n_features))
    note = (
        f"Generated: the first {n_informative} of {n_features} features carry the class, the "
        "rest is noise."
    )
    data = Dataset(X, y, _numbered("x", n_features), "class", "binary", notes=(note,))
    informative = tuple(range(n_informative))
    return data, ToyTruth(informative, theta, mean, float(norm.cdf(-rho)))


def make_sparse_polynomial(
    n: int, p: int, seed: int, rotate: bool = False
) -> tuple[Dataset, PolynomialTruth]:
    """A regression target of a few monomials in a few of p correlated variables.

    There are at most eight monomials of degree 1 to 4 in at most eight variables.

    X is normal with the covariance S'S (S 1024 x 1024 standard normal) scaled to a unit diagonal,
    first p coordinates. A monomial is a product of distinct variables with coefficient +-1 / its
    standard deviation; the sum is scaled to standard deviation 1, and N(0, 0.2^2) is added.
    `rotate` turns X by a random orthogonal matrix after y is made, so that no single variable
    matters any more. The published description leaves number and degree of the monomials open.

    Parameters
    ----------
    n : int
        Number of rows, from 1.
    p : int
        Number of variables, from 1.
    seed : int
        Seed of the random draws: the same number gives the same result.
    rotate : bool, default False
        Whether X is turned by a random orthogonal matrix.

    Returns
    -------
    tuple of (Dataset, PolynomialTruth)
        The data and the truth behind it.
    """
    check_whole("n", n, 2)
    check_whole("p", p, 1, 1024)
    rng = np.random.default_rng(seed)
    S = rng.standard_normal((1024, p))
    S /= np.linalg.norm(S, axis=0)
    root = np.linalg.cholesky(S.T @ S + 1e-12 * np.eye(p))
    X = rng.standard_normal((n, p)) @ root.T
    variables = _drawn(p, min(p, 8), rng)
    monomials = _draw_monomials(variables, rng)
    products = np.empty((n, len(monomials)))
    for k, monomial in enumerate(monomials):
        products[:, k] = X[:, list(monomial)].prod(axis=1)
    coefficients = rng.choice([-1.0, 1.0], size=len(monomials))
    coefficients /= products.std(axis=0)
    coefficients /= (products @ coefficients).std()
    signal = products @ coefficients
    y = signal + POLYNOMIAL_NOISE * rng.standard_normal(n)
    rotation = _haar(p, rng) if rotate else None
    words = (
        f"Generated: a sum of {len(monomials)} products of up to 4 out of {len(variables)} "
        "variables"
    )
    note = f"{words}, then rotated." if rotate else f"{words}."
    data = Dataset(
        X if rotation is None else X @ rotation,
        y,
        _numbered("x", p),
        "y",
        "regression",
        notes=(note,),
    )
    return data, PolynomialTruth(
        monomials, coefficients, variables, signal, POLYNOMIAL_NOISE, rotation
    )


def make_spectra(
    n: int, n_wavelengths: int, informative_bands: int | Sequence[int], seed: int
) -> tuple[Dataset, SpectraTruth]:
    """Smooth absorption spectra with ten equal bands of wavelengths; a few bands decide the target.

    Each band holds one absorption peak (a Gaussian over wavelength) whose height is the
    concentration of one substance, uniform on [0, 1]; offset and slope of the baseline vary between
    spectra, and a little noise is added. The target is the weighted sum of the concentrations in
    `informative_bands`: band numbers from 0 to 9, or how many to draw. The bands are the groups of
    the data set.

    Parameters
    ----------
    n : int
        Number of rows, from 1.
    n_wavelengths : int
        Number of wavelengths.
    informative_bands : int or sequence of int
        Bands that decide the target, or how many to draw.
    seed : int
        Seed of the random draws: the same number gives the same result.

    Returns
    -------
    tuple of (Dataset, SpectraTruth)
        The data and the truth behind it.
    """
    check_whole("n", n, 2)
    check_whole("n_wavelengths", n_wavelengths, 2 * N_BANDS)
    rng = np.random.default_rng(seed)
    chosen = _chosen_bands(informative_bands, rng)
    bands = np.array_split(np.arange(n_wavelengths), N_BANDS)
    wavelengths = np.linspace(1000.0, 2500.0, n_wavelengths)
    concentrations = rng.uniform(size=(n, N_BANDS))
    peaks = _peaks(wavelengths, bands)
    position = np.linspace(-1.0, 1.0, n_wavelengths)
    offset = rng.normal(0.5, 0.05, size=(n, 1))
    slope = rng.normal(0.0, 0.05, size=(n, 1))
    baseline = offset + slope * position
    X = concentrations @ peaks + baseline + 0.005 * rng.standard_normal((n, n_wavelengths))
    coefficients = np.zeros(N_BANDS)
    coefficients[list(chosen)] = rng.uniform(0.5, 1.5, size=len(chosen))
    y = concentrations @ coefficients + SPECTRA_NOISE * rng.standard_normal(n)
    note = (
        f"Generated: the target is read off {len(chosen)} of {N_BANDS} bands "
        f"({', '.join(map(str, chosen))})."
    )
    groups = tuple((f"band {b}", tuple(band.tolist())) for b, band in enumerate(bands))
    names = _numbered("w", n_wavelengths)
    data = Dataset(X, y, names, "concentration", "regression", groups=groups, notes=(note,))
    return data, SpectraTruth(chosen, coefficients, concentrations, wavelengths, SPECTRA_NOISE)


def make_ringnorm(n: int, seed: int) -> tuple[Dataset, NormTruth]:
    """Breiman's ringnorm in 20 dimensions: a normal distribution inside another one.

    Class +1 is N(0, 4 I), class -1 is N((a, ..., a), I), a = 2 / sqrt(20).

    Classes in equal numbers. The exact Bayes error is 1.24 % (Breiman reports 1.3 %): the log ratio
    of the densities is a squared distance from 4/3 of the mean, which is noncentral chi-squared
    under either class.

    Parameters
    ----------
    n : int
        Number of rows, from 1.
    seed : int
        Seed of the random draws: the same number gives the same result.

    Returns
    -------
    tuple of (Dataset, NormTruth)
        The data and the truth behind it.
    """
    from scipy.stats import ncx2  # not at start-up

    d = NORM_DIMENSION
    square = 4.0
    threshold = (d * np.log(4.0) + square / 3.0) / 0.75
    wide = ncx2.cdf(threshold / 4.0, d, 4.0 / 9.0 * square)
    narrow = ncx2.sf(threshold, d, square / 9.0)
    mean = np.full(d, 2.0 / np.sqrt(d))
    means = np.vstack([np.zeros(d), mean])
    truth = NormTruth(means, (4.0, 1.0), float(wide + narrow) / 2.0)
    return _two_normals("ringnorm", n, seed, truth)


def make_twonorm(n: int, seed: int) -> tuple[Dataset, NormTruth]:
    """Breiman's twonorm in 20 dimensions: two normal distributions side by side.

    They are N((a, ..., a), I) and N((-a, ..., -a), I), a = 2 / sqrt(20).

    Classes in equal numbers. The Bayes rule is linear and its error is Phi(-2) = 2.275 %.

    Parameters
    ----------
    n : int
        Number of rows, from 1.
    seed : int
        Seed of the random draws: the same number gives the same result.

    Returns
    -------
    tuple of (Dataset, NormTruth)
        The data and the truth behind it.
    """
    from scipy.stats import norm  # not at start-up

    mean = np.full(NORM_DIMENSION, 2.0 / np.sqrt(NORM_DIMENSION))
    means = np.vstack([mean, -mean])
    truth = NormTruth(means, (1.0, 1.0), float(norm.cdf(-2.0)))
    return _two_normals("twonorm", n, seed, truth)


def make_ring(n: int, n_outside: int, seed: int) -> tuple[Dataset, RingTruth]:
    """A table without a target: rows near a ring in the plane, and rows away from it.

    There are ``n - n_outside`` rows near the ring of radius 2.

    Distances from the ring are N(0, 0.15^2); rows outside are uniform on the square from -3 to 3,
    at least 0.75 from the ring.
    """
    check_whole("n", n, 2)
    check_whole("n_outside", n_outside, 0, n - 1)
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, 2.0 * np.pi, n - n_outside)
    radius = RING_RADIUS + RING_NOISE * rng.standard_normal(n - n_outside)
    directions = np.column_stack([np.cos(angle), np.sin(angle)])
    near = radius[:, None] * directions
    square = rng.uniform(-3.0, 3.0, (100 + 20 * n_outside, 2))
    distances = np.abs(np.hypot(*square.T) - RING_RADIUS)
    away = square[distances >= RING_GAP][:n_outside]
    order = rng.permutation(n)
    note = (
        f"Generated: {n - n_outside} rows near a ring and {n_outside} away from it; which is "
        "which is not in the table."
    )
    data = Dataset(
        np.vstack([near, away])[order],
        np.ones(n, dtype=np.int64),
        ("x1", "x2"),
        "y",
        "novelty",
        notes=(note,),
    )
    return data, RingTruth(order >= n - n_outside, RING_RADIUS, RING_NOISE)


def _two_normals(
    name: str,
    n: int,
    seed: int,
    truth: NormTruth,
) -> tuple[Dataset, NormTruth]:
    check_whole("n", n, 2)
    rng = np.random.default_rng(seed)
    y = _balanced_labels(n, rng)
    which = (y < 0).astype(int)
    deviations = np.sqrt(np.array(truth.variances))[which, None]
    X = truth.means[which] + deviations * rng.standard_normal((n, NORM_DIMENSION))
    note = f"Generated: {name}, two normal classes in {NORM_DIMENSION} dimensions."
    names = _numbered("x", NORM_DIMENSION)
    return Dataset(X, y, names, "class", "binary", notes=(note,)), truth


def _balanced_labels(n: int, rng: np.random.Generator) -> Array:
    """-1 and +1 in equal numbers (an odd n has one +1 more), in random order."""
    return rng.permutation(np.where(np.arange(n) % 2 == 0, 1, -1))


def _numbered(letter: str, count: int) -> Names:
    return tuple(f"{letter}{j + 1:0{len(str(count))}d}" for j in range(count))


def _drawn(population: int | Sequence[int], count: int, rng: np.random.Generator) -> Columns:
    """``count`` different members of a population (or of 0 .. population - 1), in order."""
    drawn: Indices = np.sort(rng.choice(population, size=count, replace=False))
    return tuple(drawn.tolist())


def _draw_monomials(variables: Columns, rng: np.random.Generator) -> tuple[Columns, ...]:
    """Up to eight different products of 1 to 4 distinct variables, every degree equally likely."""
    top = min(4, len(variables))
    possible = sum(comb(len(variables), degree) for degree in range(1, top + 1))
    found: set[Columns] = set()
    while len(found) < min(8, possible):
        degree = int(rng.integers(1, top + 1))
        found.add(_drawn(variables, degree, rng))
    return tuple(sorted(found, key=lambda monomial: (len(monomial), monomial)))


def _haar(p: int, rng: np.random.Generator) -> Array:
    """A random orthogonal matrix; the signs of R make the QR factor uniform (Haar)."""
    Q, R = np.linalg.qr(rng.standard_normal((p, p)))
    return Q * np.sign(np.diag(R))


def _chosen_bands(
    wanted: int | Sequence[int],
    rng: np.random.Generator,
) -> Columns:
    if isinstance(wanted, (int, np.integer)):
        check_whole("informative_bands", int(wanted), 1, N_BANDS)
        return _drawn(N_BANDS, int(wanted), rng)
    chosen = tuple(sorted({int(b) for b in wanted}))
    if not chosen or not 0 <= chosen[0] <= chosen[-1] < N_BANDS:
        raise ParameterError(
            f"informative_bands is {wanted!r}; expected band numbers from 0 to {N_BANDS - 1}."
        )
    return chosen


def _peaks(wavelengths: Array, bands: Sequence[Indices]) -> Array:
    """(10, n_wavelengths): one peak in each band, with three standard deviations inside it."""
    middles = np.array([wavelengths[band].mean() for band in bands])
    width = (wavelengths[-1] - wavelengths[0]) / N_BANDS / 6.0
    peaks: Array = np.exp(-0.5 * ((wavelengths - middles[:, None]) / width) ** 2)
    return peaks
