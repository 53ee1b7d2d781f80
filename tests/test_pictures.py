"""Pictures of methods beyond the papers: what is found on generated rows, and what is drawn of it."""

import numpy as np
import pytest

from mklcore.experiments.pictures import PICTURES
from mklcore.figures.pictures import column_scales, target_views

DRAWN = {"joint": target_views, "scales": column_scales}


@pytest.fixture(scope="module")
def found():
    return {name: picture.compute(1) for name, picture in PICTURES.items()}


def test_joint_weights_leave_out_the_view_that_no_target_needs(found):
    joint = found["joint"]
    assert joint.weights[3] < 0.1 * joint.weights[:3].min()
    np.testing.assert_allclose(joint.shares.sum(axis=0), joint.r2)
    assert joint.r2.min() > 0.7
    assert joint.gap < 1e-3


def test_scales_are_above_zero_on_the_bands_that_decide_alone(found):
    scales = found["scales"]
    assert (scales.scales[scales.decides] > 0).all()
    assert (scales.scales[~scales.decides] > 0).mean() < 0.2


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", PICTURES)
def test_pictures_say_what_they_show(found, name, dark):
    figure = DRAWN[name](found[name], dark=dark)
    assert figure.data
    assert figure.layout.meta["alt"].endswith(".")
