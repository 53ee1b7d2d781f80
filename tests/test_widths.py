"""Grids of widths that go on beyond their ends."""

import numpy as np

import mklcore as mkl
from mklcore.kernels.functions import Laplacian
from mklcore.selection.bandwidths import width_at_edge, width_grid, with_next_width
from tests.every import every

GRID = mkl.KernelDictionary.rbf_widths([0.5, 4.0, 1.0, 2.0])


def test_the_grid_is_the_largest_set_that_differs_in_width_alone():
    specs = (mkl.Linear(), Laplacian(1.0), Laplacian(2.0), *GRID.specs, mkl.RBF(1.0, features=(0,)))
    assert [specs[place].width for place in width_grid(specs)] == [0.5, 1.0, 2.0, 4.0]
    assert width_grid(specs[:3]) == []


@every(
    "weights, end",
    [((0, 3, 1, 2), -1), ((3, 0, 1, 2), 0), ((1, 2, 3, 0), None), ((1, 1, 1, 1), None), ((0, 0, 0, 0), None)],
)
def test_an_end_that_carries_most_is_the_edge(weights, end):
    assert width_at_edge(GRID.specs, np.array(weights, dtype=float)) == end


def test_the_next_width_keeps_the_ratio():
    assert with_next_width(GRID, -1).specs[-1] == mkl.RBF(8.0)
    assert with_next_width(GRID, 0).specs[-1] == mkl.RBF(0.25)
