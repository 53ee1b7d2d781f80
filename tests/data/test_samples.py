"""Every sample loads, from anywhere, and is what its registry entry says."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mklcore import (
    SAMPLES,
    load_sample,
    make_mkl_toy,
    make_ringnorm,
    make_sparse_polynomial,
    make_spectra,
    make_twonorm,
)
from mklcore.data import synthetic
from mklcore.data.samples import _rounded
from tests.helpers.every import every
from tests.helpers.project import run_python, text_of
from tests.helpers.refusals import data_error, parameter_error

README = text_of("sample_data/README.md")


@every("name", SAMPLES)
def test_sample(name):
    data = load_sample(name)
    sample = SAMPLES[name]
    counts = f"{data.task}, {len(data.class_names)}" if data.task == "multiclass" else data.task
    assert f"| `{name}` | {data.n_samples} x {data.n_features} | {counts}" in README
    assert data.task == sample.task
    assert data == load_sample(name)
    assert sample.label
    assert data.notes
    assert 40 < len(sample.teaches) < 120
    assert "\n" not in sample.teaches
    grouped = sorted(j for _, members in data.groups for j in members)
    assert grouped in ([], list(range(data.n_features)))


def test_labels_are_words():
    assert load_sample("breast_cancer").class_names == ("benign", "malignant")
    assert load_sample("iris").class_names == ("setosa", "versicolor", "virginica")
    assert load_sample("iris").groups == (("sepal", (0, 1)), ("petal", (2, 3)))
    digits = load_sample("digits")
    # the first four pictures are 0, 1, 2, 3
    assert digits.y[:4].tolist() == ["even", "odd", "even", "odd"]
    assert digits.feature_names[9] == "pixel_1_1"
    blank = int((np.ptp(digits.X, axis=0) == 0).sum())
    assert digits.notes[1].startswith(f"{blank} pixels")


def test_unknown_names_are_refused_with_the_known_ones():
    with data_error("no sample 'irises'") as caught:
        load_sample("irises")
    assert all(f"'{name}'" in str(caught.value) for name in SAMPLES)


def test_samples_need_no_folder(tmp_path):
    """A process elsewhere, which sees the package and not the checkout's sample_data, loads all of
    them.
    """
    package = Path(sys.modules["mklcore.errors"].__file__ or "").parent
    (tmp_path / "mklcore").symlink_to(package, target_is_directory=True)
    code = (
        "from mklcore.data.samples import SAMPLES, load_sample; "
        "print(sorted(load_sample(n).task for n in SAMPLES))"
    )
    assert run_python("-c", code, folder=tmp_path, PYTHONPATH="").count("binary") == 5


@every("name", SAMPLES)
def test_what_is_said_to_make_a_sample_does(name):
    sample = SAMPLES[name]
    assert sample.source
    assert sample.licence
    assert f"| `{name}` | {sample.source} | {sample.licence} |" in README
    if sample.source.startswith("generated: "):
        call = re.match(r"generated: (\w+)\((.*?)\)", sample.source)
        arguments = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", call[2])}
        made = getattr(synthetic, call[1])(**arguments)[0]
        assert (_rounded(made) if sample.source.endswith(", rounded") else made) == load_sample(
            name
        )


@every("name", ["digit_views", "sparse_polynomial", "spectra"])
def test_computed_samples_have_one_fingerprint_on_every_processor(name):
    data = load_sample(name)
    other = np.random.default_rng(0).uniform(-1e-13, 1e-13, data.X.shape)
    assert _rounded(replace(data, X=data.X + other)) == data


# -- The generators against what is known about them: Bayes errors, moments, structure, determinism


GENERATORS = {
    "toy": lambda n, seed: make_mkl_toy(n, 9, seed),
    "polynomial": lambda n, seed: make_sparse_polynomial(n, 6, seed),
    "rotated": lambda n, seed: make_sparse_polynomial(n, 6, seed, rotate=True),
    "spectra": lambda n, seed: make_spectra(n, 100, (1, 4), seed),
    "ringnorm": make_ringnorm,
    "twonorm": make_twonorm,
}


def error_rate(scores, y):
    return np.mean(np.sign(scores) != y)


@every("name", GENERATORS)
def test_seeded(name):
    first, truth = GENERATORS[name](60, 5)
    again, _ = GENERATORS[name](60, 5)
    other, _ = GENERATORS[name](60, 6)
    assert first == again
    assert first != other
    assert first.n_samples == 60
    assert isinstance(truth, tuple)
    for n in (60, 61):
        data = GENERATORS[name](n, 0)[0]
        assert data.task == "regression" or abs(int(data.y.sum())) == n % 2
    assert first.notes[0].startswith("Generated")


@every("k", [1, 9, 50])
def test_toy_has_the_bayes_error_of_the_paper(k):
    data, truth = make_mkl_toy(100_000, k, seed=1)
    assert truth.bayes_error == pytest.approx(0.04006, abs=5e-6)
    # four standard deviations of an error rate over 100,000 points are 0.25 %
    assert error_rate(data.X @ truth.mean, data.y) == pytest.approx(0.04006, abs=0.0025)
    assert np.linalg.norm(truth.mean) == pytest.approx(1.75)
    assert truth.informative == tuple(range(k))
    assert_allclose((data.X * data.y[:, None]).mean(axis=0), truth.mean, atol=0.02)
    assert_allclose((data.X - data.y[:, None] * truth.mean).std(axis=0), 1.0, atol=0.02)


MEAN = 2 / np.sqrt(20)
# mean and variance of each class, the error of the best rule, and the log ratio of the densities
NORMS = {
    make_twonorm: ((MEAN, 1.0), (-MEAN, 1.0), 0.02275, lambda X: 2 * MEAN * X.sum(axis=1)),
    make_ringnorm: (
        (0.0, 4.0),
        (MEAN, 1.0),
        0.0124,
        lambda X: ((X - MEAN) ** 2).sum(axis=1) / 2 - (X**2).sum(axis=1) / 8 - 20 * np.log(2),
    ),
}


@every("make", NORMS)
def test_the_normals_are_breimans(make):
    data, truth = make(100_000, seed=0)
    *classes, error, log_ratio = NORMS[make]
    assert data.n_features == 20
    for label, (mean, variance) in zip((1, -1), classes, strict=True):
        rows = data.X[data.y == label]
        assert_allclose(rows.mean(axis=0), mean, atol=0.03 * variance**0.5)
        assert_allclose(np.cov(rows.T), variance * np.eye(20), atol=0.03 * variance)
    assert truth.bayes_error == pytest.approx(error, abs=5e-5)
    assert error_rate(log_ratio(data.X), data.y) == pytest.approx(truth.bayes_error, abs=0.002)


@every("p", [1, 2, 3, 4, 16, 64])
def test_polynomial_is_what_its_truth_says(p):
    data, truth = make_sparse_polynomial(2000, p, seed=2)
    products = [data.X[:, list(monomial)].prod(axis=1) for monomial in truth.monomials]
    assert_allclose(np.column_stack(products) @ truth.coefficients, truth.signal, atol=1e-10)
    assert truth.signal.std() == pytest.approx(1.0)
    assert (data.y - truth.signal).std() == pytest.approx(0.2, abs=0.015)
    assert data.task == "regression"
    assert len(truth.variables) == min(p, 8)
    assert {j for monomial in truth.monomials for j in monomial} <= set(truth.variables)
    assert all(1 <= len(set(monomial)) == len(monomial) <= 4 for monomial in truth.monomials)
    assert len(set(truth.monomials)) == len(truth.monomials) == min(8, 2**p - 1)
    assert_allclose(data.X.std(axis=0), 1.0, atol=0.1)


def test_rotation_hides_the_variables_and_nothing_else():
    plain, truth = make_sparse_polynomial(300, 16, seed=4)
    turned, hidden = make_sparse_polynomial(300, 16, seed=4, rotate=True)
    assert_array_equal(plain.y, turned.y)
    assert truth.rotation is None
    assert_allclose(hidden.rotation @ hidden.rotation.T, np.eye(16), atol=1e-12)
    assert_allclose(turned.X, plain.X @ hidden.rotation, atol=1e-12)
    assert np.abs(hidden.rotation).max() < 0.95


def test_spectra_carry_the_target_in_their_bands():
    data, truth = make_spectra(400, 200, (2, 7), seed=0)
    assert truth.informative_bands == (2, 7)
    assert np.flatnonzero(truth.coefficients).tolist() == [2, 7]
    assert [name for name, _ in data.groups] == [f"band {b}" for b in range(10)]
    assert sorted(j for _, members in data.groups for j in members) == list(range(200))
    noise = data.y - truth.concentrations @ truth.coefficients
    assert noise.std() == pytest.approx(truth.noise_std, rel=0.15)
    explained = []
    for _, members in data.groups:
        columns = np.column_stack([np.ones(400), data.X[:, members]])
        rest = data.y - columns @ np.linalg.lstsq(columns, data.y, rcond=None)[0]
        explained.append(1 - rest.var() / data.y.var())
    assert set(np.argsort(explained)[-2:].tolist()) == {2, 7}
    assert max(np.delete(explained, [2, 7])) < 0.2 < min(explained[2], explained[7])
    neighbours = np.diag(np.corrcoef(data.X.T), 1)
    assert np.median(neighbours) > 0.95
    drawn = make_spectra(20, 40, 3, seed=0)[1]
    assert (len(drawn.informative_bands), len(drawn.wavelengths)) == (3, 40)


@every(
    "make, words",
    [
        (lambda: make_mkl_toy(1, 1, 0), "n must be a whole number of 2 or more; got 1"),
        (
            lambda: make_mkl_toy(10, 0, 0),
            "n_informative must be a whole number from 1 to 50; got 0",
        ),
        (lambda: make_mkl_toy(10, 5, 0, n_features=4), "from 1 to 4"),
        (lambda: make_mkl_toy(10, 5, 0, rho=0.0), "rho is 0.0; expected a positive number"),
        (lambda: make_mkl_toy(10.5, 5, 0), "n must be a whole number .*got 10.5"),  # type: ignore[arg-type]
        (lambda: make_sparse_polynomial(10, 0, 0), "p must be a whole number .*got 0"),
        (lambda: make_sparse_polynomial(10, 1025, 0), "from 1 to 1024"),
        (lambda: make_spectra(10, 19, (1,), 0), "n_wavelengths must be a whole number .*got 19"),
        (lambda: make_spectra(10, 40, (10,), 0), "expected band numbers from 0 to 9"),
        (lambda: make_spectra(10, 40, 11, 0), "informative_bands must be a whole number .*got 11"),
        (lambda: make_twonorm(1, 0), "n must be a whole number .*got 1"),
        (lambda: make_ringnorm(True, 0), "n must be a whole number of 2 or more; got True"),
    ],
)
def test_refusals(make, words):
    with parameter_error(words):
        make()
