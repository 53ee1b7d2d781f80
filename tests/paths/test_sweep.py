"""Sweeps: processes give the same rows, known rows are not run again, and repeated splits are what they say."""

import os
from concurrent.futures import CancelledError

import numpy as np
import pytest

from mklcore import (
    RBF,
    GOMPRegressor,
    GramStack,
    KernelDictionary,
    Linear,
    LpMKLClassifier,
    ParameterError,
    load_sample,
)
from mklcore.data import Dataset, three_way_split
from mklcore.paths.parallel import sweep
from mklcore.paths.repeats import Repeats, SplitProblem, SplitRow, SplitSpec, repeat_splits


def cube(number: int) -> int:
    return number**3


def where(number: int) -> int:
    return os.getpid()


def fails(number: int) -> int:
    raise ParameterError("The number is not allowed.")


def problem(p: float = 1.0) -> SplitProblem:
    data = load_sample("iris")
    kernels = KernelDictionary((RBF(0.5, relative=True), Linear()), feature_names=data.feature_names)
    return SplitProblem(data, LpMKLClassifier(kernels=kernels, p=p), kernels, normalise="multiplicative")


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_every_spec_is_run_once_and_the_rows_are_in_the_order_of_the_specs(n_jobs: int | None) -> None:
    seen: list[tuple[int, int]] = []
    rows = sweep(cube, [3, 1, 2, 3], n_jobs, callback=lambda done, total: seen.append((done, total)))
    assert list(rows.items()) == [(3, 27), (1, 1), (2, 8)]
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_processes_are_other_processes() -> None:
    assert os.getpid() not in sweep(where, [1, 2], 2).values()


def test_known_rows_are_not_run_again_and_an_interrupted_sweep_goes_on() -> None:
    known: dict[int, int] = {}

    def stop_at_two(done: int, total: int) -> None:
        if done == 2:
            raise CancelledError

    with pytest.raises(CancelledError):
        sweep(cube, [1, 2, 3], known=known, callback=stop_at_two)
    assert known == {1: 1, 2: 8}
    assert sweep(cube, [1, 2, 3], known={1: -1, 2: -2}) == {1: -1, 2: -2, 3: 27}


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_error_in_a_run_reaches_the_caller(n_jobs: int | None) -> None:
    with pytest.raises(ParameterError, match="not allowed"):
        sweep(fails, [1, 2], n_jobs)


def test_a_row_is_what_fitting_on_that_split_by_hand_gives() -> None:
    asked, spec = problem(), SplitSpec(7, 0.2, 0.3)
    row = asked(spec)
    parts = three_way_split(asked.data, 0.2, 0.3, 7)
    model = LpMKLClassifier(kernels=asked.kernels, p=1.0).fit(parts.train.X, parts.train.y)
    assert row.test == model.score(parts.test.X, parts.test.y)
    assert row.validation == model.score(parts.validation.X, parts.validation.y)
    assert row.n_kernels == model.n_kernels_
    assert row.gap == pytest.approx(np.max(model.relative_gap_))
    np.testing.assert_allclose(row.weights, model.weights_.mean(axis=0), rtol=1e-9)


def test_repeats_have_the_seeds_that_follow_and_their_mean_and_spread() -> None:
    found = repeat_splits(problem(), 4, SplitSpec(5))
    assert [row.spec.seed for row in found.rows] == [5, 6, 7, 8]
    scores = [row.test for row in found.rows]
    assert found.mean("test") == pytest.approx(np.mean(scores))
    assert found.sd("test") == pytest.approx(np.std(scores, ddof=1))
    assert len({row.test for row in found.rows} | {row.train for row in found.rows}) > 1
    assert found.used.shape == (2,)
    assert found.used.max() <= 4
    assert "4 splits" in found._repr_html_()


def test_repeats_in_processes_are_those_of_one_process() -> None:
    here, there = (repeat_splits(problem(), 2, n_jobs=n_jobs) for n_jobs in (None, 2))
    assert [row.test for row in here.rows] == [row.test for row in there.rows]
    np.testing.assert_array_equal([row.weights for row in here.rows], [row.weights for row in there.rows])


def test_a_ready_stack_is_cut_by_the_same_splits() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(60)
    stack = GramStack.from_array(np.stack([np.outer(x, x) for x in X.T]))
    rows = Dataset(np.arange(60.0)[:, None], y, ("row",), task="regression")
    row = SplitProblem(rows, GOMPRegressor(n_kernels=1), stack=stack)(SplitSpec(3))
    train, _, test = (part.X[:, 0].astype(int) for part in three_way_split(rows, 0.25, 0.25, 3))
    model = GOMPRegressor(n_kernels=1, kernels="precomputed").fit(stack.values[:, train[:, None], train], y[train])
    assert row.test == pytest.approx(model.score(stack.values[:, test[:, None], train], y[test]))
    assert row.used.tolist() == [True, False, False]


def test_one_split_has_no_spread() -> None:
    row = SplitRow(SplitSpec(0), 1.0, 1.0, 1.0, 1, 0.0, np.array([True]), np.array([1.0]), 0.1, ("linear",))
    assert np.isnan(Repeats((row,)).sd("test"))


@pytest.mark.parametrize("count", [1, 0, -3, 2.5, True, 10**6])
def test_a_number_of_repeats_that_makes_no_sense_is_refused(count: object) -> None:
    with pytest.raises(ParameterError, match="whole number from 2 to"):
        repeat_splits(problem(), count)


def test_kernels_and_a_stack_together_are_refused() -> None:
    asked = problem()
    with pytest.raises(ParameterError, match="either kernels or a ready stack"):
        SplitProblem(asked.data, asked.estimator)
