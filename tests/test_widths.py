"""Grids of widths that go on beyond their ends."""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.kernels.functions import Laplacian
from mklcore.paths.path import fit_path
from mklcore.selection.bandwidths import widened, width_at_edge, width_grid, with_next_width

GRID = mkl.KernelDictionary.rbf_widths([0.5, 4.0, 1.0, 2.0])


def test_the_grid_is_the_largest_set_that_differs_in_width_alone():
    specs = (mkl.Linear(), Laplacian(1.0), Laplacian(2.0), *GRID.specs, mkl.RBF(1.0, features=(0,)))
    assert [specs[place].width for place in width_grid(specs)] == [0.5, 1.0, 2.0, 4.0]
    assert width_grid(specs[:3]) == []


@pytest.mark.parametrize(
    ("weights", "end"),
    [((0, 3, 1, 2), -1), ((3, 0, 1, 2), 0), ((1, 2, 3, 0), None), ((1, 1, 1, 1), None), ((0, 0, 0, 0), None)],
)
def test_an_end_that_carries_most_is_the_edge(weights, end):
    assert width_at_edge(GRID.specs, np.array(weights, dtype=float)) == end


def test_the_next_width_keeps_the_ratio():
    assert with_next_width(GRID, -1).specs[-1] == mkl.RBF(8.0)
    assert with_next_width(GRID, 0).specs[-1] == mkl.RBF(0.25)


def test_a_grid_goes_on_until_the_best_width_lies_inside_or_the_score_is_flat():
    rng = np.random.default_rng(0)
    X, X_val = rng.uniform(-1, 1, size=(90, 1)), rng.uniform(-1, 1, size=(60, 1))
    y, y_val = np.sin(12 * X[:, 0]), np.sin(12 * X_val[:, 0])
    start = mkl.KernelDictionary.rbf_widths([1.0, 2.0, 4.0])

    def fit(kernels):
        return fit_path(mkl.LpMKLRegressor(kernels=kernels, p=1.0), X, y, "C", [0.1, 1.0, 10.0], X_val, y_val)

    found = widened(fit, start)
    assert len(found.dictionary) > 3
    assert max(found.path.val_score) > max(fit(start).val_score) + 0.1
    assert found.at_edge is None
    short = widened(fit, start, most=1)
    assert short.dictionary.specs[-1] == mkl.RBF(0.5)
    assert short.at_edge == 0
