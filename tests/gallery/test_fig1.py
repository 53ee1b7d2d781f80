"""The Fig. 1 experiment as a library call, and what every registered experiment owes its reader."""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.errors import ParameterError
from mklcore.gallery.experiments import Experiment, Outcome, TableLine
from mklcore.gallery.experiments.lp import INFORMATIVE
from tests.helpers.every import every

FIG1 = mkl.EXPERIMENTS["gomp_fig1"]


@every("experiment", mkl.EXPERIMENTS.values())
def test_every_experiment_says_what_it_is(experiment):
    assert isinstance(experiment, Experiment)
    assert mkl.EXPERIMENTS[experiment.key] is experiment
    assert all(
        (experiment.title, experiment.paper, experiment.did, experiment.claims, experiment.open_points, experiment.unit)
    )
    assert set(experiment.numbers) | set(experiment.spread) | set(experiment.quick) <= set(experiment.rows)


def test_the_rows_are_shares_of_features_without_information():
    for label, count in INFORMATIVE.items():
        assert float(label) == pytest.approx(1 - count / 50, abs=0.005)


def test_one_row_with_two_repetitions():
    reported: list[tuple[int, int]] = []
    found = FIG1.run(repetitions=2, rows=["0.82"], seed=1, callback=lambda *s: reported.append(s))
    assert reported == [(1, 2), (2, 2)]
    assert found.samples.shape == (1, 2, 13)
    gomp, l1, q43, q2, q4, plain, kernels = found.mean[0, :7]
    assert ((found.samples[0, :, 7:] >= -4) & (found.samples[0, :, 7:] <= 4)).all()  # the grid of lam
    bayes = 4.0
    assert bayes - 0.5 < gomp < min(l1, q43, q2, q4, plain)  # below the lower envelope
    assert q2 < plain
    assert 4 <= kernels <= 20
    reference = FIG1.reference(["0.82"])[0]
    assert found.mean[0, :6] == pytest.approx(reference[:6], abs=3.0)
    assert found.standard_error.shape == (1, 13)
    assert found.samples[0, 1] == pytest.approx(FIG1.measure(TableLine("0.82", 1, 1)))  # seeded


def test_extreme_sparsity_needs_one_kernel():
    line = FIG1.measure(TableLine("0.98"))
    assert line[6] == 1.0
    assert abs(line[0] - 4.0) < 1.0
    assert line[1] < line[3] < line[4] < line[5]  # the larger q, the worse


def test_one_repetition_has_no_standard_error():
    assert np.isnan(Outcome("key", ("row",), ("a", "b"), np.ones((1, 1, 2))).standard_error).all()


def test_refusals():
    with pytest.raises(ParameterError, match=r"rows must be among 0, 0\.44"):
        FIG1.run(1, ["0.5"])
    with pytest.raises(ParameterError, match="repetitions must be a whole number"):
        FIG1.run(0)
