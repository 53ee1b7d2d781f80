"""Probabilities: sums of one, monotone in the decision, right where the truth is known, and judged on rows left out."""

import numpy as np
import pytest

from mklcore import figures
from mklcore.errors import DataError, ParameterError
from mklcore.paths.probabilities import calibrate, reliability, sigmoids

CLASSES = np.array(["no", "yes"])


def logistic(n, seed=0):
    """Decisions, labels drawn with probability 1 / (1 + exp(1 - 2 f)), and those probabilities."""
    rng = np.random.default_rng(seed)
    decision = rng.standard_normal(n)
    truth = 1 / (1 + np.exp(1 - 2 * decision))
    return decision, CLASSES[(rng.random(n) < truth).astype(int)], truth


def test_known_probabilities_are_found_again():
    decision, y, truth = logistic(4000)
    found = sigmoids(decision, calibrate(decision, y, CLASSES))
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert np.mean(np.abs(found[:, 1] - truth)) < 0.03
    assert np.all(np.diff(found[np.argsort(decision), 1]) >= -1e-12)
    said, share, counts = reliability(found[:, 1], y == "yes")
    assert counts.sum() == 4000
    assert np.average(np.abs(said - share), weights=counts) < 0.03


def test_separable_rows_are_not_said_for_sure():
    decision = np.array([-2.0, -1.5, -1.0, 1.0, 1.5, 2.0])
    found = sigmoids(decision, calibrate(decision, CLASSES[(decision > 0).astype(int)], CLASSES))
    assert np.all((found > 0.01) & (found < 0.99))


def test_what_no_sigmoid_can_be_fitted_to_is_refused():
    decision, y, _ = logistic(20)
    with pytest.raises(DataError, match="Class yes has fewer than 2"):
        calibrate(decision, np.repeat("no", 20), CLASSES)
    with pytest.raises(DataError, match=r"got \(20, 3\)"):
        calibrate(np.zeros((20, 3)), y, CLASSES)


def test_pictures_of_a_judgement_tell_their_numbers():
    drawn = figures.confusion_figure(np.array([[8, 2], [1, 4]]), CLASSES)
    assert "80.0% on the diagonal" in drawn.layout.meta["alt"]
    assert drawn.data[0].z[0] == pytest.approx([0.8, 0.2])
    with pytest.raises(ParameterError, match=r"must be \(2, 2\)"):
        figures.confusion_figure(np.zeros((3, 3)), CLASSES)
    residual = figures.residual_figure(np.array([1.0, 2.0]), np.array([1.5, 1.0]), "y")
    assert residual.data[0].y == pytest.approx([0.5, -1.0])
