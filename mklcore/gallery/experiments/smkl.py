"""Sparse MKL on mass spectra, on pixels of an image in many bands, and on near-infrared spectra.

Table 2 has 40 groups of neighbouring readings with a linear kernel each. Table 3 has the spectrum
of every pixel, and the mean and the standard deviation around it in windows of five sizes: 11
groups with four kernels each, one class against one. In both tables the leave-one-out estimate of
the machine chooses the cost, as in the paper.

Tables 4 to 6 standardise every spectrum and append second differences. Ten bands x {linear, cubic,
RBF of half and of twice the median distance} are 40 kernels, and the loss is epsilon-insensitive.
Folds inside 80 % of the rows choose cost and tube. The tables report the normalised mean squared
error MSE / var(y) on the other 20 %, and the bands with a kernel in use. Beside them stand one
kernel of the whole spectrum, whose kind and width the same folds choose, and partial least squares,
whose number of components they choose.

Made spectra and a made image stand in where there is no file. They have what the paper explains its
results by. Real spectra are alike but for scatter and a few percent of chemistry, so each is
standardised; made ones share one shape, too, and the target follows three substances by a curve
that saturates, where a line is not enough. Where the paper says that selecting bands pays (Table
5), the other substances vary four times as much. The image has fields of about five by five pixels,
so that windows of that size tell most, and larger ones mix neighbours.

Source: Subrahmanya and Shin (2010), sections 4.1 and 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter
from sklearn.cross_decomposition import PLSRegression
from sklearn.model_selection import GridSearchCV, KFold, train_test_split

from mklcore.arrays import Array, Indices, Labels
from mklcore.data.column_groups import (
    spectral_columns,
    standardise_spectra,
    wavelengths,
    with_bands,
    with_second_differences,
)
from mklcore.data.dataset import Dataset
from mklcore.data.reading import read_table
from mklcore.data.synthetic import make_spectra
from mklcore.estimators.baselines import UniformMKLClassifier, UniformMKLRegressor
from mklcore.estimators.lp import LpMKLClassifier, LpMKLRegressor
from mklcore.estimators.smkl import SMKLClassifier, SMKLRegressor
from mklcore.gallery.experiments.base import TableLine, seed_of
from mklcore.kernels.dictionary import BAND_KERNELS, KernelDictionary
from mklcore.kernels.functions import RBF, KernelSpec, Linear, Polynomial
from mklcore.paths.choosing import choose, cross_validate_path, machines_of, used_kernels

MADE_MASS = "made mass spectra, a stand-in"
MADE_IMAGE = "made image, a stand-in"
READINGS = 10_000
AVERAGED = 5
GROUPS = 40
N_MADE = 150
MADE_READINGS = 400
SIDE = 36
QUICK_SIDE = 24
BANDS = 12
CLASSES = 4
WINDOWS = (3, 5, 7, 9, 11)
CLASS_COSTS = 10.0 ** np.arange(-1.0, 5.5)
QUICK_CLASS_COSTS = 10.0 ** np.arange(0.0, 4.5, 2.0)
TECATOR = "tecator (protein), a stand-in"
# Rows, wavelengths, and how much more the substances vary that do not decide the target.
MADE = {
    "made spectra as of wheat, a stand-in": (150, 150, 1.0),
    "made spectra as of fescue, a stand-in": (141, 1050, 4.0),
}
CETANE = "diesel of all seasons, cetane 40 to 60"  # the paper takes summer fuels alone
INFORMATIVE = 3
COSTS = 10.0 ** np.arange(-1.0, 2.5)
# Shares of the target's standard deviation.
TUBES = (0.01, 0.05, 0.2)
QUICK_TUBES = (0.05, 0.2)
FOLDS = 10
QUICK_FOLDS = 3
ALONE: tuple[KernelSpec, ...] = (
    Linear(),
    Polynomial(3),
    *(RBF(width, relative=True) for width in (0.5, 1.0, 2.0, 4.0)),
)
COMPONENTS = 15  # of partial least squares, at most


# Classes


def mass_spectra(line: TableLine) -> list[float]:
    """One split: accuracy in % of SMKL, MKL (p = 1) and one linear kernel of all readings.

    The numbers of groups that SMKL and MKL use follow.
    """
    X, y = _readings(line)
    groups = list(map(list, np.array_split(np.arange(X.shape[1]), GROUPS)))
    kernels = KernelDictionary.per_group(Linear(), groups)
    whole = KernelDictionary((Linear(),))
    methods = [
        SMKLClassifier(kernels=kernels, normalise="trace"),
        LpMKLClassifier(p=1.0, kernels=kernels, normalise="trace"),
        UniformMKLClassifier(kernels=whole, normalise="trace"),
    ]
    models, accuracies = _on_a_split(line, methods, X, y, 0.8)
    return [*accuracies, models[0].n_kernels_, models[1].n_kernels_]


def image(line: TableLine) -> list[float]:
    """One split: accuracy in % of SMKL, MKL and one kernel of the spectrum, one against one.

    The kernels per pair of classes follow.
    """
    X, y, n_bands = _pixels(line)
    groups = np.arange(X.shape[1]).reshape(-1, n_bands).tolist()
    kernels = KernelDictionary.per_group(BAND_KERNELS, groups)
    alone = KernelDictionary((RBF(1.0, features=tuple(groups[0]), relative=True),))
    methods = [
        SMKLClassifier(kernels=kernels, normalise="trace"),
        SMKLClassifier("mkl", kernels=kernels, normalise="trace"),
        SMKLClassifier("mkl", kernels=alone, normalise="trace"),
    ]
    models, accuracies = _on_a_split(line, methods, X, y, 0.2)
    return [*accuracies, models[0].mean_kernels_, models[1].mean_kernels_]


def _on_a_split(
    line: TableLine, methods: Sequence[Any], X: Array, y: Labels, share: float
) -> tuple[list[Any], list[float]]:
    """The models at the costs with the best leave-one-out estimates, and their accuracies in %.

    A ``share`` of the rows is for training, and the accuracies are those on the others.
    """
    train: Indices
    seed = line.draw() % 2**31
    rows = np.arange(len(y))
    train, test = train_test_split(rows, train_size=share, random_state=seed, stratify=y)
    costs = QUICK_CLASS_COSTS if line.quick else CLASS_COSTS
    models = []
    accuracies = []
    for method in methods:
        model = at_the_least_xi_alpha(method, X[train], y[train], costs)
        models.append(model)
        accuracies.append(100.0 * float(model.score(X[test], y[test])))
    return models, accuracies


def at_the_least_xi_alpha(model: Any, X: Array, y: Labels, costs: Array) -> Any:
    """The model at the cost with the smallest xi-alpha estimate.

    Ties go to the fewest kernels, then to the smallest cost.
    """
    model = model.copy_with("C", float(costs[0]))
    stack, target = model.training_stack(X, y)
    candidates = []
    for fitted in model.along(stack, target, "C", costs.tolist()):
        machines = list(machines_of(fitted, stack.values, y))
        sizes = [signed.size for _, signed, *_ in machines]
        errors = [xi_alpha(*machine) for machine in machines]
        error = np.average(errors, weights=sizes)
        candidates.append((error, fitted.n_kernels_, float(fitted.C)))
    return model.copy_with("C", min(candidates)[2]).fit(X, y)


def xi_alpha(K: Array, y: Array, dual_coef: Array, intercept: float = 0.0) -> float:
    """An estimate of a support vector machine's leave-one-out error, which is usually too high:

        (1/n) #{ i : 2 |a_i| R^2 + xi_i >= 1 },   R^2 = max_i K_ii - min(0, min K_ij),   xi_i = max(0, 1 - y_i f(x_i))

    ``K`` (n, n), ``y`` (n,) labels -1 / +1, ``dual_coef`` (n,) signed. Joachims requires c <= K_ij
    <= c + R^2. Here c is 0, or the smallest entry where some are negative, as those of linear and
    centred kernels are.
    """
    slack = np.maximum(0.0, 1.0 - y * (K @ dual_coef + intercept))
    lowest = min(0.0, float(K.min()))
    radius = float(np.diag(K).max()) - lowest
    return float(np.mean(2.0 * np.abs(dual_coef) * radius + slack >= 1.0))


def _readings(line: TableLine) -> tuple[Array, Labels]:
    """Readings (n, d), neighbours averaged, and classes (n,)."""
    if line.row == MADE_MASS:
        data = make_spectra(N_MADE, MADE_READINGS, 2, line.seed)[0]
        is_high = data.y > np.median(data.y)
        return np.array(data.X), np.where(is_high, 1, -1)
    X, y = line.arrays("ovarian.npz", X="nd", y="n")
    n_means = min(X.shape[1], READINGS) // AVERAGED
    readings = np.asarray(X[:, : n_means * AVERAGED], dtype=float)
    return readings.reshape(len(X), n_means, AVERAGED).mean(axis=2), y


def _pixels(
    line: TableLine,
) -> tuple[Array, Labels, int]:
    """Features (n, 11 bands) of the labelled pixels, their classes (n,), and the number of bands."""
    if line.row == MADE_IMAGE:
        cube, classes = made_image(QUICK_SIDE if line.quick else SIDE, line.seed)
    else:
        # A pixel without a class has 0.
        cube, classes = line.arrays("indian_pines.npz", cube="rcb", classes="rc")
        cube = np.asarray(cube, dtype=float)
    is_labelled = classes > 0
    features = np.concatenate(surroundings(cube), axis=2)[is_labelled]
    return features, classes[is_labelled], cube.shape[2]


def surroundings(cube: Array) -> list[Array]:
    """The spectrum of every pixel (rows, columns, bands), and its mean and its standard deviation
    in every window.
    """
    parts = [cube]
    for window in WINDOWS:
        mean = uniform_filter(cube, (window, window, 1), mode="nearest")
        square = uniform_filter(cube**2, (window, window, 1), mode="nearest")
        parts += [mean, np.sqrt(np.maximum(square - mean**2, 0.0))]
    return parts


def made_image(side: int, seed: int) -> tuple[Array, Labels]:
    """An image (side, side, 12) of fields, and the kinds of their plants, 1 to 4 (side, side).

    A field has 25 pixels on average, and single pixels are noisy.
    """
    rng = np.random.default_rng(seed)
    fields = side**2 // 25
    centres = rng.uniform(0, side, (fields, 2))
    kinds = np.arange(fields) % CLASSES + 1
    pixels = np.moveaxis(np.indices((side, side)), 0, -1)
    distances = np.square(pixels[:, :, None] - centres).sum(axis=-1)
    nearest = distances.argmin(axis=-1)
    spectrum = 0.5 * rng.standard_normal((CLASSES, BANDS)).cumsum(axis=1)
    classes = kinds[nearest]
    return spectrum[classes - 1] + 1.5 * rng.standard_normal((side, side, BANDS)), classes


# Near-infrared spectra


def spectra(line: TableLine) -> list[float]:
    """One split: NMSE of SMKL, MKL (p = 1), the best single kernel and partial least squares.

    The numbers of bands that SMKL and MKL use follow.
    """
    data = _spectra(line)
    train, test = data.split(0.2, line.draw() % 2**31)
    parts = standardise_spectra(train, test)
    train, test = [with_bands(with_second_differences(part), 10) for part in parts]
    usual: dict[str, Any] = {"loss": "epsilon_insensitive", "normalise": "trace"}
    bands = KernelDictionary.per_group(BAND_KERNELS, train.groups)
    sparse, _ = chosen(line, SMKLRegressor(terms="log+gl", kernels=bands, **usual), train)
    convex, _ = chosen(line, LpMKLRegressor(p=1.0, kernels=bands, **usual), train)
    single = best_alone(line, usual, train)
    squares = partial_least_squares(line, train)
    errors = []
    for model in (sparse, convex, single, squares):
        residuals = np.ravel(model.predict(test.X)) - test.y
        errors.append(np.mean(residuals**2) / np.var(data.y))
    return [*errors, _bands(sparse), _bands(convex)]


def chosen(line: TableLine, model: Any, train: Dataset) -> tuple[Any, float]:
    """The model at the tube and the cost that are best over folds of the training rows.

    Its score over the folds is returned as well.
    """
    spread = float(np.std(train.y))
    tubes = spread * np.array(QUICK_TUBES if line.quick else TUBES)
    costs = COSTS * 40.0 / spread
    folds = cross_validate_path(
        model,
        train.X,
        train.y,
        params={"epsilon": tubes, "C": costs},
        n_splits=_folds(line),
        seed=line.seed,
        scoring="neg_mean_squared_error",
    )
    tube, cost = choose(folds)
    best = model.copy_with("epsilon", float(tubes[tube]))
    best = best.copy_with("C", float(costs[cost])).fit(train.X, train.y)
    return best, float(folds.val_score[tube, cost])


def best_alone(line: TableLine, usual: dict[str, Any], train: Dataset) -> Any:
    """One kernel of all columns, of the kind and width in ``ALONE`` that are best over the folds."""
    best = None
    highest = -np.inf
    for spec in ALONE:
        kernels = KernelDictionary((spec,), standardize=True)
        model, score = chosen(line, UniformMKLRegressor(kernels=kernels, **usual), train)
        if score > highest:
            best = model
            highest = score
    return best


def partial_least_squares(line: TableLine, train: Dataset) -> Any:
    """Partial least squares with the number of components that is best over the folds."""
    splits = KFold(_folds(line), shuffle=True, random_state=line.seed)
    counts = {"n_components": list(range(1, min(COMPONENTS, train.n_features) + 1))}
    search = GridSearchCV(PLSRegression(), counts, scoring="neg_mean_squared_error", cv=splits)
    return search.fit(train.X, train.y)


def _folds(line: TableLine) -> int:
    return QUICK_FOLDS if line.quick else FOLDS


def _bands(fitted: Any) -> int:
    """How many bands have a kernel in use."""
    (is_used,) = used_kernels(fitted.weights_[None])
    return len({fitted._map.specs[m].label for m in np.flatnonzero(is_used)})


def _spectra(line: TableLine) -> Dataset:
    """Made spectra, or the columns of a file that are named by wavelengths, in their order."""
    if line.row in MADE:
        rows, columns, others = MADE[line.row]
        return made_spectra(rows, columns, others, seed_of(line.seed, rows))
    files = {TECATOR: ("tecator", "protein"), CETANE: ("diesel", None)}
    name, target = files.get(line.row, (line.row, None))
    table = read_table(line.file(f"{name}.csv"), target, header=True)
    if line.row == CETANE:
        is_inside = (table.y >= 40.0) & (table.y <= 60.0)
        table = table.take(np.flatnonzero(is_inside))
    spectral = np.array(spectral_columns(table.feature_names))
    places = wavelengths([table.feature_names[j] for j in spectral])
    order = np.argsort(places, kind="stable")
    return replace(table, groups=()).select(spectral[order].tolist())


def made_spectra(rows: int, columns: int, others: float, seed: int) -> Dataset:
    """Spectra that share one shape, each multiplied by and added to its own scatter.

    Ten substances change them by a few percent. Three decide the target, by a curve that saturates,
    and the other ones vary ``others`` times as much.
    """
    data, truth = make_spectra(rows, columns, INFORMATIVE, seed)
    rng = np.random.default_rng([seed, 1])
    places = np.linspace(0.0, 1.0, columns)
    centres = (np.arange(len(truth.coefficients)) + 0.5) / len(truth.coefficients)
    offsets = (places - centres[:, None]) / 0.03
    peaks = np.exp(-0.5 * offsets**2)
    amounts = truth.concentrations * np.where(truth.coefficients > 0, 1.0, others)
    shape = 2.0 * np.cos(2.0 * np.pi * places) + 0.05 * amounts @ peaks
    scatter = np.exp(0.1 * rng.standard_normal((rows, 1)))
    X = scatter * shape + 0.1 * rng.standard_normal((rows, 1))
    X += 5e-4 * rng.standard_normal(X.shape)
    y = np.log10(1.0 + 9.0 * truth.concentrations) @ truth.coefficients
    return replace(data, X=X, y=y)
