"""The generators against what is known about them: Bayes errors, moments, structure, determinism."""

import numpy as np
import pytest

from mklcore.data.synthetic import (
    make_mkl_toy,
    make_ringnorm,
    make_sparse_polynomial,
    make_spectra,
    make_twonorm,
)
from mklcore.errors import ParameterError
from tests.every import every

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
    assert first.notes[0].startswith("Generated")


@every("name", ["toy", "ringnorm", "twonorm"])
@every("n", [60, 61])
def test_classes_are_balanced(name, n):
    data, _ = GENERATORS[name](n, 0)
    assert data.class_names == ("-1", "1")
    assert abs(int(data.y.sum())) == n % 2


@pytest.mark.parametrize("k", [1, 9, 50])
def test_toy_has_the_bayes_error_of_the_paper(k):
    data, truth = make_mkl_toy(100_000, k, seed=1)
    assert truth.bayes_error == pytest.approx(0.04006, abs=5e-6)
    # four standard deviations of an error rate over 100,000 points are 0.25 %
    assert error_rate(data.X @ truth.mean, data.y) == pytest.approx(0.04006, abs=0.0025)
    assert np.linalg.norm(truth.mean) == pytest.approx(1.75)
    assert truth.informative == tuple(range(k))
    np.testing.assert_allclose((data.X * data.y[:, None]).mean(axis=0), truth.mean, atol=0.02)
    np.testing.assert_allclose((data.X - data.y[:, None] * truth.mean).std(axis=0), 1.0, atol=0.02)


def test_twonorm_is_breimans():
    data, truth = make_twonorm(100_000, seed=0)
    assert data.n_features == 20
    np.testing.assert_allclose(data.X[data.y == 1].mean(axis=0), 2 / np.sqrt(20), atol=0.03)
    np.testing.assert_allclose(data.X[data.y == -1].mean(axis=0), -2 / np.sqrt(20), atol=0.03)
    np.testing.assert_allclose(np.cov(data.X[data.y == 1].T), np.eye(20), atol=0.03)
    assert truth.bayes_error == pytest.approx(0.02275, abs=1e-5)
    assert error_rate(data.X.sum(axis=1), data.y) == pytest.approx(0.02275, abs=0.002)


def test_ringnorm_is_breimans():
    data, truth = make_ringnorm(100_000, seed=0)
    assert data.n_features == 20
    np.testing.assert_allclose(data.X[data.y == 1].mean(axis=0), 0.0, atol=0.06)
    np.testing.assert_allclose(data.X[data.y == -1].mean(axis=0), 2 / np.sqrt(20), atol=0.03)
    np.testing.assert_allclose(np.cov(data.X[data.y == 1].T), 4 * np.eye(20), atol=0.12)
    np.testing.assert_allclose(np.cov(data.X[data.y == -1].T), np.eye(20), atol=0.03)
    # log density ratio, written from the definition and not from the closed form of the generator
    far = ((data.X - 2 / np.sqrt(20)) ** 2).sum(axis=1) / 2
    ratio = far - (data.X**2).sum(axis=1) / 8 - 20 * np.log(2)
    assert truth.bayes_error == pytest.approx(0.0124, abs=5e-5)
    assert error_rate(ratio, data.y) == pytest.approx(truth.bayes_error, abs=0.0015)


@every("p", [1, 2, 3, 4, 16, 64])
def test_polynomial_is_what_its_truth_says(p):
    data, truth = make_sparse_polynomial(2000, p, seed=2)
    products = [data.X[:, list(monomial)].prod(axis=1) for monomial in truth.monomials]
    np.testing.assert_allclose(np.column_stack(products) @ truth.coefficients, truth.signal, atol=1e-10)
    assert truth.signal.std() == pytest.approx(1.0)
    assert (data.y - truth.signal).std() == pytest.approx(0.2, abs=0.015)
    assert data.task == "regression"
    assert len(truth.variables) == min(p, 8)
    assert {j for monomial in truth.monomials for j in monomial} <= set(truth.variables)
    assert all(1 <= len(set(monomial)) == len(monomial) <= 4 for monomial in truth.monomials)
    assert len(set(truth.monomials)) == len(truth.monomials) == min(8, 2**p - 1)
    np.testing.assert_allclose(data.X.std(axis=0), 1.0, atol=0.1)


def test_rotation_hides_the_variables_and_nothing_else():
    plain, truth = make_sparse_polynomial(300, 16, seed=4)
    turned, hidden = make_sparse_polynomial(300, 16, seed=4, rotate=True)
    np.testing.assert_array_equal(plain.y, turned.y)
    assert truth.rotation is None
    np.testing.assert_allclose(hidden.rotation @ hidden.rotation.T, np.eye(16), atol=1e-12)
    np.testing.assert_allclose(turned.X, plain.X @ hidden.rotation, atol=1e-12)
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


def test_spectra_can_draw_their_bands():
    _, truth = make_spectra(20, 40, 3, seed=0)
    assert len(truth.informative_bands) == 3
    assert len(truth.wavelengths) == 40


@every(
    "make, words",
    [
        (lambda: make_mkl_toy(1, 1, 0), "n must be a whole number of 2 or more; got 1"),
        (lambda: make_mkl_toy(10, 0, 0), "n_informative must be a whole number from 1 to 50; got 0"),
        (lambda: make_mkl_toy(10, 51, 0), "n_informative must be a whole number .*got 51"),
        (lambda: make_mkl_toy(10, 5, 0, n_features=4), "from 1 to 4"),
        (lambda: make_mkl_toy(10, 5, 0, rho=0.0), "rho is 0.0; expected a positive number"),
        (lambda: make_mkl_toy(10.5, 5, 0), "n must be a whole number .*got 10.5"),  # type: ignore[arg-type]
        (lambda: make_sparse_polynomial(10, 0, 0), "p must be a whole number .*got 0"),
        (lambda: make_sparse_polynomial(10, 1025, 0), "from 1 to 1024"),
        (lambda: make_spectra(10, 19, (1,), 0), "n_wavelengths must be a whole number .*got 19"),
        (lambda: make_spectra(10, 40, (10,), 0), "expected band numbers from 0 to 9"),
        (lambda: make_spectra(10, 40, (), 0), "expected band numbers"),
        (lambda: make_spectra(10, 40, 11, 0), "informative_bands must be a whole number .*got 11"),
        (lambda: make_twonorm(1, 0), "n must be a whole number .*got 1"),
        (lambda: make_ringnorm(True, 0), "n must be a whole number of 2 or more; got True"),
    ],
)
def test_refusals(make, words):
    with pytest.raises(ParameterError, match=words):
        make()
