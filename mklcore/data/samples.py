"""The samples: data that is always there, each chosen for what it teaches.

Nothing is read from a folder or the network: five samples come inside scikit-learn, the others are
generated from a fixed seed. An installed copy therefore has them all. Six views of handwritten
digits, of the kinds of the multiple features data set, are computed from scikit-learn's pictures.

Source: M. van Breukelen, R. P. W. Duin, D. M. J. Tax, J. E. den Hartog, Handwritten digit
recognition by combined classifiers, Kybernetika 34, 1998: Fourier coefficients, profiles,
Karhunen-Loève coefficients, pixels, moments and morphology of digits. The pictures here are other
ones, and smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset, Groups, listed
from mklcore.data.synthetic import make_mkl_toy, make_ring, make_sparse_polynomial, make_spectra
from mklcore.errors import DataError

SIDE = 8
KARHUNEN = 16


def _fourier(pictures: Array) -> Array:
    """Absolute coefficients of the two-dimensional transform, without their mirror images."""
    sizes: Array = np.abs(np.fft.rfft2(pictures))
    return sizes.reshape(len(pictures), -1)


def _profiles(pictures: Array) -> Array:
    """Ink of every row, every column and every diagonal of either direction."""
    profiles = [pictures.sum(axis=2), pictures.sum(axis=1)]
    for turned in (pictures, pictures[:, :, ::-1]):
        offsets = range(1 - SIDE, SIDE)
        profiles += [np.trace(turned, offset, axis1=1, axis2=2) for offset in offsets]
    return np.column_stack(profiles)


def _karhunen(pictures: Array) -> Array:
    """The first principal components, with signs that make the largest loadings positive."""
    rows = pictures.reshape(len(pictures), -1)
    centred = rows - rows.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    first = directions[:, ::-1][:, :KARHUNEN]
    first = first * np.sign(first[np.argmax(np.abs(first), axis=0), np.arange(KARHUNEN)])
    found: Array = np.round(centred @ first, 6)
    return found


def _moments(pictures: Array) -> Array:
    """Central moments up to the fourth order, each free of scale."""
    ink, row, column = _centres(pictures)
    down = np.arange(SIDE)[None, :, None] - row[:, None, None]
    across = np.arange(SIDE) - column[:, None, None]
    moments = []
    for order in (2, 3, 4):
        for i in range(order + 1):
            moment = (pictures * down**i * across ** (order - i)).sum(axis=(1, 2))
            moments.append(moment / ink ** (1 + order / 2))
    return np.column_stack(moments)


def _shape(pictures: Array) -> Array:
    """Ink, its centre, its extent, and how often a line through the middle meets it."""
    ink, row, column = _centres(pictures)
    dark = pictures >= 4.0
    height = dark.any(axis=2).sum(axis=1)
    width = dark.any(axis=1).sum(axis=1)
    crossings = []
    for line in (dark[:, SIDE // 2, :], dark[:, :, SIDE // 2]):
        entries = np.diff(line.astype(int), axis=1, prepend=0) == 1
        crossings.append(entries.sum(axis=1))
    return np.column_stack([ink, row, column, height, width, *crossings]).astype(float)


def _centres(pictures: Array) -> tuple[Array, Array, Array]:
    ink = pictures.sum(axis=(1, 2))
    row = (pictures.sum(axis=2) @ np.arange(SIDE)) / ink
    column = (pictures.sum(axis=1) @ np.arange(SIDE)) / ink
    return ink, row, column


@dataclass(frozen=True)
class Sample:
    """One entry of the gallery: a label, the task, one line on what it teaches, and how to get it.

    ``by_column``: what it teaches is about single columns, so kernels see them one by one, however
    many there are. ``source``: who made the data and where it is published. ``licence``: the terms
    its publisher states.
    """

    label: str
    task: str
    teaches: str
    load: Callable[[], Dataset]
    by_column: bool = False
    source: str = ""
    licence: str = ""


def load_sample(name: str) -> Dataset:
    """The sample of this name; `SAMPLES` lists them. Raises DataError for a name that is not there.

    Parameters
    ----------
    name : str
        Name of a sample in ``SAMPLES``.

    Returns
    -------
    Dataset
        The sample.

    Examples
    --------
    >>> load_sample("iris").n_features
    4
    """
    if name not in SAMPLES:
        raise DataError(
            f"There is no sample {name!r}; the samples are {listed(SAMPLES, most=len(SAMPLES))}."
        )
    return SAMPLES[name].load()


def _rounded(data: Dataset) -> Dataset:
    """A computed table without its last digits.

    These differ from processor to processor; the fingerprint of the rounded table does not.
    """
    y = np.round(data.y, DECIMALS) if data.task == "regression" else data.y
    return replace(data, X=np.round(data.X, DECIMALS) + 0.0, y=y)  # without -0.0


def _diabetes() -> Dataset:
    from sklearn import datasets  # not at start-up

    bunch = datasets.load_diabetes(scaled=False)
    note = (
        "442 patients; the target is how far diabetes advanced within a year (a score from 25 "
        "to 346)."
    )
    groups = _spans(("person", 4), ("blood serum", 6))
    return Dataset(
        bunch.data,
        bunch.target,
        bunch.feature_names,
        "progression",
        "regression",
        (),
        groups,
        (note,),
    )


def _digits() -> Dataset:
    from sklearn import datasets  # not at start-up

    bunch = datasets.load_digits()
    y = np.where(bunch.target % 2 == 1, "odd", "even")
    names = tuple(f"pixel_{row}_{column}" for row, column in np.ndindex(8, 8))
    groups = _spans(*((f"row {row}", 8) for row in range(8)))
    blank = int((np.ptp(bunch.data, axis=0) == 0).sum())
    notes = (
        (
            "Handwritten digits as 8 x 8 pixels from 0 to 16; the target is whether the digit "
            "is odd or even."
        ),
        (
            f"{blank} pixels at the edge are blank in every picture; they are kept so that the "
            "picture stays whole."
        ),
    )
    return Dataset(bunch.data, y, names, "parity", "binary", groups=groups, notes=notes)


def _digit_views() -> Dataset:
    from sklearn import datasets  # not at start-up

    bunch = datasets.load_digits()
    rows = np.flatnonzero(np.isin(bunch.target, (3, 5, 8, 9)))[:_PICTURES]
    pictures = bunch.images[rows]
    views = {
        "fourier": _fourier(pictures),
        "profiles": _profiles(pictures),
        "karhunen": _karhunen(pictures),
        "pixels": pictures.reshape(len(pictures), -1),
        "moments": _moments(pictures),
        "shape": _shape(pictures),
    }
    sizes = {view: columns.shape[1] for view, columns in views.items()}
    names: list[str] = []
    for view, size in sizes.items():
        names += [f"{view}_{j}" for j in range(1, size + 1)]
    notes = (
        (
            f"The first {_PICTURES} pictures of 3, 5, 8 and 9, seen in six ways: as pixels, by "
            "Fourier coefficients, ink profiles, principal components, moments and shape."
        ),
    )
    X = np.hstack(list(views.values()))
    y = bunch.target[rows].astype(str).astype(object)
    groups = _spans(*sizes.items())
    return _rounded(Dataset(X, y, tuple(names), "digit", "multiclass", groups=groups, notes=notes))


def _classes(name: str, target: str, note: str, groups: Groups = ()) -> Dataset:
    """A sample of scikit-learn whose target are classes with names."""
    from sklearn import datasets  # not at start-up

    bunch = getattr(datasets, f"load_{name}")()
    y = np.array([str(name) for name in bunch.target_names], dtype=object)[bunch.target]
    task = "binary" if len(bunch.target_names) == 2 else "multiclass"
    return Dataset(
        bunch.data, y, tuple(bunch.feature_names), target, task, groups=groups, notes=(note,)
    )


def _spans(*spans: tuple[str, int]) -> Groups:
    """Neighbouring columns as groups: (name, how many) in order."""
    groups = []
    start = 0
    for name, size in spans:
        groups.append((name, tuple(range(start, start + size))))
        start += size
    return tuple(groups)


_PICTURES = 240
DECIMALS = 9  # of computed tables
CC_BY = (
    "CC BY 4.0, as the UCI Machine Learning Repository states; comes with scikit-learn "
    "(BSD-3-Clause)"
)
UNSTATED = "none stated by its authors; comes with scikit-learn (BSD-3-Clause)"
OWN = "BSD-3-Clause, as this project"

SAMPLES: dict[str, Sample] = {
    "breast_cancer": Sample(
        "Breast cancer",
        "binary",
        "One kernel per feature: which of 30 overlapping measurements does a sparse mixture keep?",
        lambda: _classes(
            "breast_cancer",
            "diagnosis",
            (
                "Wisconsin diagnostic breast cancer, 10 measurements of cell nuclei as mean, "
                "standard error and worst value."
            ),
            _spans(("mean", 10), ("error", 10), ("worst", 10)),
        ),
        source=(
            "W. Wolberg, O. Mangasarian, W. N. Street, 1995: Breast Cancer Wisconsin "
            "(Diagnostic), doi:10.24432/C5DW2B"
        ),
        licence=CC_BY,
    ),
    "mkl_toy": Sample(
        "MKL toy, 9 of 50 informative",
        "binary",
        (
            "Sparse or not? Nine of 50 features carry the class, and no rule errs less than "
            "4.0 %: which p comes close?"
        ),
        lambda: make_mkl_toy(n=400, n_informative=9, seed=0)[0],
        by_column=True,
        source=(
            "generated: make_mkl_toy(n=400, n_informative=9, seed=0), after Kloft and others (2011)"
        ),
        licence=OWN,
    ),
    "digits": Sample(
        "Digits, odd against even",
        "binary",
        (
            "The width decides: a linear kernel misses one digit in ten, an RBF of half the "
            "median distance one in fifty."
        ),
        _digits,
        source=(
            "E. Alpaydin and C. Kaynak, 1998: Optical Recognition of Handwritten Digits (its "
            "test set), doi:10.24432/C50P49"
        ),
        licence=CC_BY,
    ),
    "digit_views": Sample(
        "Digits in six views",
        "multiclass",
        (
            "Six descriptions of the same pictures, one group of columns each: which does a "
            "mixture keep?"
        ),
        _digit_views,
        source=(
            "E. Alpaydin and C. Kaynak, 1998: Optical Recognition of Handwritten Digits (its "
            "test set), doi:10.24432/C50P49"
        ),
        licence=CC_BY,
    ),
    "wine": Sample(
        "Wine",
        "multiclass",
        "Three classes, 13 features on very different scales: one mixture of kernels per class.",
        lambda: _classes(
            "wine",
            "grower",
            "Chemical analysis of wines from three growers of one region of Italy.",
        ),
        source="S. Aeberhard and M. Forina, 1992: Wine, doi:10.24432/C5PC7J",
        licence=CC_BY,
    ),
    "iris": Sample(
        "Iris",
        "multiclass",
        (
            "Small enough to see: petals tell the species apart better than sepals; do the "
            "group weights say so?"
        ),
        lambda: _classes(
            "iris",
            "species",
            "Sepals and petals of 150 iris flowers, in cm.",
            _spans(("sepal", 2), ("petal", 2)),
        ),
        source="R. A. Fisher, 1936: Iris, doi:10.24432/C56C76",
        licence=CC_BY,
    ),
    "diabetes": Sample(
        "Diabetes",
        "regression",
        (
            "A noisy number to predict: half of its variation or more stays unexplained, so "
            "overfitting shows early."
        ),
        _diabetes,
        source=(
            "B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, 2004: Least Angle "
            "Regression, Annals of Statistics 32"
        ),
        licence=UNSTATED,
    ),
    "mkl_toy_sparse": Sample(
        "MKL toy, 1 of 50 informative",
        "binary",
        (
            "One feature carries the class, 49 are noise: the case for p = 1, where few "
            "kernels keep a weight."
        ),
        lambda: make_mkl_toy(n=400, n_informative=1, seed=0)[0],
        by_column=True,
        source="generated: make_mkl_toy(n=400, n_informative=1, seed=0)",
        licence=OWN,
    ),
    "mkl_toy_dense": Sample(
        "MKL toy, all 50 informative",
        "binary",
        (
            "Every feature carries a little of the class: the case for p = ∞, where all "
            "kernels count alike."
        ),
        lambda: make_mkl_toy(n=400, n_informative=50, seed=0)[0],
        by_column=True,
        source="generated: make_mkl_toy(n=400, n_informative=50, seed=0)",
        licence=OWN,
    ),
    "sparse_polynomial": Sample(
        "Sparse polynomial, 12 columns",
        "regression",
        "A sum of products of few columns: which of them act together, among millions of kernels?",
        lambda: _rounded(make_sparse_polynomial(n=500, p=12, seed=4)[0]),
        source="generated: make_sparse_polynomial(n=500, p=12, seed=4), rounded",
        licence=OWN,
    ),
    "spectra": Sample(
        "Spectra, 3 of 10 bands decide",
        "regression",
        (
            "150 wavelengths in ten bands, of which three decide the target: which method "
            "keeps just those?"
        ),
        lambda: _rounded(
            make_spectra(
                n=200,
                n_wavelengths=150,
                informative_bands=3,
                seed=0,
            )[0]
        ),
        source=(
            "generated: make_spectra(n=200, n_wavelengths=150, informative_bands=3, seed=0), "
            "rounded"
        ),
        licence=OWN,
    ),
    "ring": Sample(
        "Ring, 15 of 300 rows elsewhere",
        "novelty",
        (
            "No target: what is unlike the others? Wide kernels call the empty middle "
            "ordinary, narrow ones do not."
        ),
        lambda: make_ring(n=300, n_outside=15, seed=0)[0],
        source="generated: make_ring(n=300, n_outside=15, seed=0)",
        licence=OWN,
    ),
}
