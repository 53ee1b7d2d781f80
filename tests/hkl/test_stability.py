"""Stability of the selection: half samples that select what is there, the same for the same seed,
and can be ended.
"""

import numpy as np
import pytest

from mklcore import HKLClassifier, HKLRegressor
from mklcore.hkl.stability import selection_stability
from tests.helpers.refusals import data_error


def made(n=120):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    return X, X[:, 0] * X[:, 1] + 2 * X[:, 2] + 0.1 * rng.standard_normal(n)


def test_what_is_there_is_selected_on_every_half_and_noise_is_not():
    X, y = made()
    model = HKLRegressor(lam=0.01)
    found = selection_stability(model, X, y, rounds=5, seed=1)
    assert found.columns[2] == 1.0
    assert found.columns[3] < 0.5
    seen = {i for node in found.extreme_points for i, level in enumerate(node) if level}
    assert seen == set(np.flatnonzero(found.columns))
    shares = list(found.extreme_points.values())
    assert shares == sorted(shares, reverse=True)
    again = selection_stability(model, X, y, rounds=5, seed=1)
    np.testing.assert_array_equal(again.columns, found.columns)
    assert not hasattr(model, "hull_")


def test_every_class_is_in_every_half():
    X, y = made(60)
    rare = np.where(np.arange(60) < 3, "rare", np.where(y > 0, "more", "less"))
    found = selection_stability(HKLClassifier(lam=0.1), X, rare, rounds=2)
    assert found.rounds == 2


def test_rows_that_belong_together_are_drawn_together(monkeypatch):
    X, y = made(60)
    owners = np.random.default_rng(1).integers(12, size=60)
    drawn = []
    fit = HKLRegressor.fit
    monkeypatch.setattr(
        HKLRegressor, "fit", lambda model, X, y: drawn.append(set(y)) or fit(model, X, y)
    )
    selection_stability(HKLRegressor(lam=0.3), X, y, rounds=4, row_groups=owners)
    of_owners = [set(y[owners == owner]) for owner in np.unique(owners)]
    for half in drawn:
        assert all(rows <= half or not rows & half for rows in of_owners)
        assert 20 <= len(half) <= 40
    assert len({frozenset(half) for half in drawn}) == 4
    with data_error("name another column, or none"):
        selection_stability(HKLRegressor(), X, y, row_groups=np.zeros(60))


def test_it_reports_every_half_and_can_be_cancelled():
    done = []

    def stop(k, of):
        done.append((k, of))
        if k == 2:
            raise KeyboardInterrupt

    X, y = made(40)
    with pytest.raises(KeyboardInterrupt):
        selection_stability(HKLRegressor(lam=0.1), X, y, rounds=9, callback=stop)
    assert done == [(1, 9), (2, 9)]
    with data_error("Half of 12 rows is too small"):
        selection_stability(HKLRegressor(), X[:12], y[:12])
