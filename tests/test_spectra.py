"""Spectra: wavelengths out of names, the usual steps before kernels, dictionaries over bands, the figure, and the
point.
"""

import io
from dataclasses import replace

import numpy as np
import pytest

from mklcore.data.dataset import Dataset, standardise
from mklcore.data.spectra import (
    average_neighbours,
    band_edges,
    can_be_prepared,
    measured_columns,
    prepared,
    read_spectra,
    standardise_spectra,
    wavelengths,
    with_bands,
    with_second_differences,
)
from mklcore.data.synthetic import make_spectra
from mklcore.errors import DataError, ParameterError
from mklcore.estimators.lp import LpMKLRegressor
from mklcore.estimators.smkl import SMKLRegressor
from mklcore.figures.spectra import selected_bands
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import RBF, Linear, Polynomial
from mklcore.kernels.spectra import BAND_KERNELS, kernel_edges, spectral_dictionary
from mklcore.paths.path import fit_path, log_grid

PLACES = np.arange(850, 1050, 10)


def _spectra(n=12, places=PLACES, name="{:g}", seed=0):
    X = np.random.default_rng(seed).standard_normal((n, len(places))).cumsum(axis=1) + 5.0
    return Dataset(X, X[:, 1], tuple(name.format(p) for p in places), "fat", "regression")


def _csv(data, extra=""):
    head = ",".join([*data.feature_names, *(["moisture"] if extra else []), "fat"])
    lines = [
        ",".join([*(f"{v:.6f}" for v in row), *([extra] if extra else []), f"{t:.6f}"])
        for row, t in zip(data.X, data.y, strict=True)
    ]
    lines = [line.replace(extra, f"{k / 7:.4f}") if extra else line for k, line in enumerate(lines)]
    return io.BytesIO("\n".join([head, *lines]).encode())


def test_preparations_are_the_usual_steps_in_their_order():
    raw = _spectra()
    (rows,) = standardise_spectra(raw)
    assert prepared(raw, "") is raw
    np.testing.assert_array_equal(prepared(raw, "rows").X, rows.X)
    np.testing.assert_array_equal(prepared(raw, "differences").X, with_second_differences(raw).X)
    np.testing.assert_array_equal(prepared(raw, "both").X, with_second_differences(rows).X)
    with pytest.raises(ParameterError, match="one of rows, differences, both"):
        prepared(raw, "smooth")


# Wavelengths


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("850", "852.5", "855"), [850, 852.5, 855]),
        (("850 nm", "852 nm", "854 nm"), [850, 852, 854]),
        (("nm850", "nm852", "Δ²nm852"), [850, 852, 852]),
        (("wl_4000", "wl_3998", "wl_3996"), [4000, 3998, 3996]),
        (("1e3", "1.1e3", "1.2e3"), [1000, 1100, 1200]),
    ],
)
def test_wavelengths_are_read_from_names(names, expected):
    assert wavelengths(names) == pytest.approx(expected)


@pytest.mark.parametrize("names", [("850", "fat"), ("x1", "y2"), ("850 nm", "851 cm")])
def test_other_names_are_no_wavelengths(names):
    with pytest.raises(DataError, match="no wavelengths"):
        wavelengths(names)


@pytest.mark.parametrize("name", ["{:g}", "nm{:g}", "{:g} nm"])
def test_a_wide_table_is_read_and_other_columns_are_left_out(name):
    data = _spectra(name=name)
    read = read_spectra(_csv(data, extra="@"), target="fat")
    assert read.feature_names == data.feature_names
    assert np.allclose(read.X, data.X, rtol=0, atol=1e-6)
    assert read.y == pytest.approx(data.y, abs=1e-6)
    assert any("20 wavelengths from 850 to 1040" in note for note in read.notes)
    assert any("'moisture'" in note for note in read.notes)


def test_falling_wavenumbers_are_put_in_order():
    data = _spectra(places=PLACES[::-1])
    read = read_spectra(_csv(data), target="fat")
    assert np.array_equal(wavelengths(read), PLACES)
    assert np.allclose(read.X, data.X[:, ::-1], rtol=0, atol=1e-6)
    assert any("order of their wavelengths" in note for note in read.notes)


def test_tables_without_a_spectrum_are_refused():
    with pytest.raises(DataError, match=r"No spectrum is in this table: 2 columns.*use read_table"):
        read_spectra(io.BytesIO(b"850,851,a,y\n1,2,3,4.5\n5,3,5,5.5\n3,1,4,7.5\n"))
    with pytest.raises(DataError, match="same wavelength \\(851\\)"):
        read_spectra(io.BytesIO(b"850,851,851.0,y\n1,2,3,4.5\n5,3,5,5.5\n3,1,4,7.5\n"))


# Steps


def test_neighbours_are_averaged_with_a_shorter_rest():
    data = _spectra()
    found = average_neighbours(data, 8)
    assert found.X[:, 0] == pytest.approx(data.X[:, :8].mean(axis=1))
    assert found.X[:, 2] == pytest.approx(data.X[:, 16:].mean(axis=1))
    assert wavelengths(found) == pytest.approx([885, 965, 1025])
    assert np.allclose(average_neighbours(data, 1).X, data.X)
    with pytest.raises(ParameterError, match="width must be a whole number from 1 to 20"):
        average_neighbours(data, 0)
    with pytest.raises(DataError, match="before second differences"):
        average_neighbours(with_second_differences(data), 2)


def test_every_spectrum_or_every_column_is_standardised():
    train, test = _spectra(), _spectra(seed=1)
    rows, other = standardise_spectra(train, test)
    for part in (rows, other):
        assert part.X.mean(axis=1) == pytest.approx(np.zeros(12), abs=1e-12)
        assert part.X.std(axis=1) == pytest.approx(np.ones(12))
    columns = standardise_spectra(train, test, by="column")
    assert np.array_equal(columns[1].X, standardise(train, test)[1].X)
    flat = Dataset(np.vstack([np.full(5, 3.0), np.arange(5.0)]), np.arange(2.0))
    assert np.array_equal(standardise_spectra(flat)[0].X[0], np.zeros(5))
    with pytest.raises(ParameterError, match="expected 'spectrum'"):
        standardise_spectra(train, by="row")


def test_second_differences_are_curvature_and_join_their_band():
    data = with_bands(_spectra(), 4)
    found = with_second_differences(data)
    assert found.n_features == 20 + 18
    assert found.X[:, 20] == pytest.approx(data.X[:, 2] - 2 * data.X[:, 1] + data.X[:, 0])
    assert found.feature_names[20] == "Δ²860"
    straight = Dataset(np.outer(np.arange(1.0, 4.0), np.arange(6.0)) + 7.0, np.arange(3.0), tuple("123456"))
    assert with_second_differences(straight).X[:, 6:] == pytest.approx(np.zeros((3, 4)), abs=1e-12)
    assert found.groups[0] == ("850–890", (0, 1, 2, 3, 4, 20, 21, 22, 23))
    assert with_bands(found, 4).groups == found.groups
    with pytest.raises(DataError, match="appended already"):
        with_second_differences(found)
    with pytest.raises(DataError, match="at least 3 wavelengths"):
        with_second_differences(_spectra(places=PLACES[:2]))


def test_bands_share_the_wavelengths_evenly():
    data = with_bands(_spectra(), 3)
    assert [len(columns) for _, columns in data.groups] == [6, 7, 7]
    assert band_edges(data) == ((850, 900), (910, 970), (980, 1040))
    with pytest.raises(ParameterError, match="n_bands must be a whole number from 1 to 20"):
        with_bands(data, 21)


# Dictionaries


def test_dictionaries_cross_bands_with_four_kernels():
    data = with_bands(with_second_differences(_spectra()), 5)
    kernels = spectral_dictionary(data.groups)
    assert len(kernels) == 20
    assert kernels.families[:4] == ("linear", "polynomial", "rbf", "rbf")
    assert kernels.specs[1] == Polynomial(3, features=data.groups[0][1], label="850–880")
    assert spectral_dictionary(n_bands=5) == KernelDictionary.bands(5, BAND_KERNELS)
    assert len(spectral_dictionary(data.groups, specs=(Linear(), RBF(1.0)))) == 10
    stack = kernels.grams(data.X, normalise="trace")
    edges = kernel_edges(stack.specs, wavelengths(data))
    assert edges.shape == (20, 2)
    assert edges[::4] == pytest.approx(np.array(band_edges(data)))


def test_few_bands_carry_the_target_and_smkl_finds_them():
    """The informative bands, with at most half the bands of l1-norm MKL at equal error (C of both by validation)."""
    data, truth = make_spectra(500, 100, 3, seed=0)
    train, validation, test = (data.take(rows) for rows in np.split(np.arange(500), [100, 200]))
    mean, scale = train.y.mean(), train.y.std()
    kernels = spectral_dictionary(data.groups)
    errors, bands = {}, {}
    for model in (SMKLRegressor(kernels=kernels), LpMKLRegressor(p=1.0, kernels=kernels, normalise="trace")):
        target = (train.y - mean) / scale
        path = fit_path(model, train.X, target, "C", log_grid(1, 1e4, 9), validation.X, (validation.y - mean) / scale)
        best = path.estimators[int(np.argmax(path.val_score))]
        name = type(model).__name__
        errors[name] = float(np.mean((best.predict(test.X) * scale + mean - test.y) ** 2) / data.y.var())
        bands[name] = {m // len(BAND_KERNELS) for m in best.selected_}
    assert bands["SMKLRegressor"] == set(truth.informative_bands)
    assert 2 * len(bands["SMKLRegressor"]) <= len(bands["LpMKLRegressor"])
    assert errors["SMKLRegressor"] <= 1.02 * errors["LpMKLRegressor"] < 0.02


# The figure


@pytest.mark.parametrize("dark", [False, True])
def test_selected_bands_are_shaded_over_the_mean_spectrum(dark):
    data = with_bands(_spectra(), 4)
    stack = spectral_dictionary(data.groups).grams(data.X, normalise="trace")
    weights = np.zeros(16)
    weights[[4, 6, 13]] = [2.0, 1.0, 3.0]
    mean = data.X.mean(axis=0)
    figure = selected_bands(
        PLACES,
        mean,
        kernel_edges(stack.specs, PLACES),
        weights,
        stack.names,
        stack.families,
        spread=data.X.std(axis=0),
        dark=dark,
    )
    lines = [trace for trace in figure.data if trace.type == "scatter"]
    bars = [trace for trace in figure.data if trace.type == "bar"]
    assert np.array_equal(lines[1].y, mean)
    assert [bar.y[0] for bar in bars] == [2.0, 1.0, 3.0]
    assert bars[0].x == bars[1].x != bars[2].x
    assert bars[0].marker.color != bars[1].marker.color
    assert [(shape.x0, shape.x1) for shape in figure.layout.shapes] == [(895, 945), (995, 1045)]
    alt = figure.layout.meta["alt"]
    assert "2 bands of 4 shaded" in alt
    assert "900 to 940 and 1000 to 1040 nm" in alt
    assert "3 of 16 kernels are used" in alt


def test_a_figure_without_kernels_says_so():
    edges = np.array([[850, 900], [910, 1040]])
    figure = selected_bands(PLACES, np.ones(20), edges, np.zeros(2), ("a", "b"), ("rbf", "rbf"))
    assert "None of 2 kernels is used" in figure.layout.meta["alt"]
    assert not figure.layout.shapes


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mean": np.ones(19)}, "one mean for each"),
        ({"spread": np.ones(3)}, "The spread needs one value per wavelength"),
        ({"edges": np.ones((2, 3))}, r"2 weights need edges of shape \(2, 2\)"),
        ({"names": ("a",)}, "1 and 2"),
    ],
)
def test_figures_of_the_wrong_length_are_refused(change, words):
    whole = {
        "wavelengths": PLACES,
        "mean": np.ones(20),
        "edges": np.array([[850, 900], [910, 1040]]),
        "weights": np.ones(2),
        "names": ("a", "b"),
        "families": ("rbf", "rbf"),
    }
    with pytest.raises(ParameterError, match=words):
        selected_bands(**(whole | change))


def test_columns_beside_the_wavelengths_stay_as_they_are():
    X = np.random.default_rng(0).normal(size=(5, 7))
    data = Dataset(X, X[:, 0], ("water", "900", "910", "920", "930", "940", "ash"), task="regression")
    assert measured_columns(data) == [1, 2, 3, 4, 5]
    numbered = Dataset(X, X[:, 0], ("x1", "x3", "x4", "x5", "x6", "x7", "ash"), task="regression")
    assert measured_columns(numbered) == []
    curved = prepared(data, "differences")
    assert curved.feature_names[7:] == ("Δ²910", "Δ²920", "Δ²930")
    np.testing.assert_allclose(curved.X[:, 7:], np.diff(X[:, 1:6], n=2, axis=1))
    assert dict(curved.columns)["910"] == (2, 7)
    assert (can_be_prepared(data), can_be_prepared(curved), can_be_prepared(numbered)) == (True, False, False)
    turned = replace(data, feature_names=("water", "1000", "1010", "970", "980", "990", "ash"))  # in the order of text
    assert measured_columns(turned) == [3, 4, 5, 1, 2]
    np.testing.assert_allclose(prepared(turned, "differences").X[:, 7:], np.diff(X[:, [3, 4, 5, 1, 2]], n=2, axis=1))
    alike = prepared(data, "rows").X
    np.testing.assert_array_equal(alike[:, [0, 6]], X[:, [0, 6]])
    np.testing.assert_allclose(alike[:, 1:6].std(axis=1), 1.0)
