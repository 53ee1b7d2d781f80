"""Spectra: wavelengths out of names, the usual steps before kernels, dictionaries over bands, the
figure, and the point.
"""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from mklcore import Dataset, KernelDictionary, Polynomial
from mklcore.data.column_groups import (
    measured_columns,
    standardise_spectra,
    wavelengths,
    with_bands,
    with_second_differences,
)
from mklcore.kernels.dictionary import BAND_KERNELS
from tests.helpers.every import every
from tests.helpers.refusals import data_error, parameter_error

PLACES = np.arange(850, 1050, 10)


def _spectra(n=12, places=PLACES, name="{:g}", seed=0):
    X = np.random.default_rng(seed).standard_normal((n, len(places))).cumsum(axis=1) + 5.0
    return Dataset(X, X[:, 1], tuple(name.format(p) for p in places), "fat", "regression")


# Wavelengths


@every("names, expected", [
    (("850", "852.5", "855"), [850, 852.5, 855]),
    (("850 nm", "852 nm", "854 nm"), [850, 852, 854]),
    (("nm850", "nm852", "Δ²nm852"), [850, 852, 852]),
    (("wl_4000", "wl_3998", "wl_3996"), [4000, 3998, 3996]),
    (("1e3", "1.1e3", "1.2e3"), [1000, 1100, 1200]),
    *((names, None) for names in (("850", "fat"), ("x1", "y2"), ("850 nm", "851 cm"))),
])  # fmt: skip
def test_wavelengths_are_read_from_names(names, expected):
    with nullcontext() if expected else data_error("no wavelengths"):
        assert wavelengths(names) == pytest.approx(expected)


# Steps


def test_every_spectrum_is_standardised():
    train = _spectra()
    test = _spectra(seed=1)
    rows, other = standardise_spectra(train, test)
    for part in (rows, other):
        assert part.X.mean(axis=1) == pytest.approx(np.zeros(12), abs=1e-12)
        assert part.X.std(axis=1) == pytest.approx(np.ones(12))
    flat = Dataset(np.vstack([np.full(5, 3.0), np.arange(5.0)]), np.arange(2.0))
    assert np.array_equal(standardise_spectra(flat)[0].X[0], np.zeros(5))


def test_second_differences_are_curvature_and_join_their_band():
    data = with_bands(_spectra(), 4)
    found = with_second_differences(data)
    assert found.n_features == 20 + 18
    assert found.X[:, 20] == pytest.approx(data.X[:, 2] - 2 * data.X[:, 1] + data.X[:, 0])
    assert found.feature_names[20] == "Δ²860"
    straight = Dataset(
        np.outer(np.arange(1.0, 4.0), np.arange(6.0)) + 7.0, np.arange(3.0), tuple("123456")
    )
    assert with_second_differences(straight).X[:, 6:] == pytest.approx(np.zeros((3, 4)), abs=1e-12)
    assert found.groups[0] == ("850–890", (0, 1, 2, 3, 4, 20, 21, 22, 23))
    assert with_bands(found, 4).groups == found.groups
    with data_error("appended already"):
        with_second_differences(found)
    with data_error("at least 3 wavelengths"):
        with_second_differences(_spectra(places=PLACES[:2]))


def test_bands_share_the_wavelengths_evenly():
    data = with_bands(_spectra(), 3)
    assert [len(columns) for _, columns in data.groups] == [6, 7, 7]
    assert [name for name, _ in data.groups] == ["850–900", "910–970", "980–1040"]
    with parameter_error("n_bands must be a whole number from 1 to 20"):
        with_bands(data, 21)


# Dictionaries


def test_dictionaries_cross_bands_with_four_kernels():
    data = with_bands(with_second_differences(_spectra()), 5)
    kernels = KernelDictionary.per_group(BAND_KERNELS, data.groups)
    assert len(kernels) == 20
    assert kernels.families[:4] == ("linear", "polynomial", "rbf", "rbf")
    assert kernels.specs[1] == Polynomial(3, features=data.groups[0][1], label="850–880")
    stack = kernels.grams(data.X, normalise="trace")
    places = wavelengths(data)
    for spec, (name, _) in zip(stack.specs[::4], data.groups, strict=True):
        seen = places[list(spec.settled)]
        assert [seen.min(), seen.max()] == [float(end) for end in name.split("–")]


def test_measured_columns_are_those_along_an_axis_in_its_order():
    X = np.random.default_rng(0).normal(size=(5, 7))
    data = Dataset(
        X, X[:, 0], ("water", "900", "910", "920", "930", "940", "ash"), task="regression"
    )
    assert measured_columns(data) == [1, 2, 3, 4, 5]
    numbered = Dataset(X, X[:, 0], ("x1", "x3", "x4", "x5", "x6", "x7", "ash"), task="regression")
    assert measured_columns(numbered) == []
    # in the order of text
    turned = replace(data, feature_names=("water", "1000", "1010", "970", "980", "990", "ash"))
    assert measured_columns(turned) == [3, 4, 5, 1, 2]
