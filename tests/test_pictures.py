"""Pictures of methods beyond the papers: what is found on generated rows, and what is drawn of it."""

import numpy as np
import pytest

from mklcore.experiments.pictures import PICTURES, kaplan_meier
from mklcore.figures.pictures import column_scales, survival_curves, target_views

DRAWN = {"joint": target_views, "scales": column_scales, "survival": survival_curves}


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


def test_survival_puts_weight_on_the_pathways_that_decide_and_orders_the_thirds(found):
    survival = found["survival"]
    assert survival.weights[survival.decides].sum() > 0.8 * survival.weights.sum()
    assert (np.diff(survival.predicted[:, 1:], axis=0) < 0).all()  # a higher risk, an earlier event
    assert survival.concordance > 0.65
    assert survival.gap < 1e-3


def test_kaplan_meier_is_the_share_left_where_nothing_is_censored():
    times = np.array([3.0, 1.0, 2.0, 4.0])
    y = np.column_stack([times, np.ones(4)])
    np.testing.assert_allclose(kaplan_meier(y, np.array([0.5, 1.0, 2.5, 9.0])), [1.0, 0.75, 0.5, 0.0])
    y[1, 1] = 0.0  # censored at 1: three are left, of whom one has an event at 2
    np.testing.assert_allclose(kaplan_meier(y, np.array([1.5, 2.0])), [1.0, 2 / 3])


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", PICTURES)
def test_pictures_say_what_they_show(found, name, dark):
    figure = DRAWN[name](found[name], dark=dark)
    assert figure.data
    assert figure.layout.meta["alt"].endswith(".")
