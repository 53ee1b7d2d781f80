"""One answer for a table: the model that is taken, what it says of columns, how sure it is, and
what is refused.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import balanced_accuracy_score

from mklcore import (
    RBF,
    Blend,
    Dataset,
    GramStack,
    JointMKLClassifier,
    JointMKLRegressor,
    KernelDictionary,
    Linear,
    LpMKLOneClass,
    LpMKLRegressor,
    Nystroem,
    explore,
    load_sample,
    make_sequences,
    read_table,
    save_model,
)
from mklcore.answer import exploration, one_machine, references
from mklcore.answer import explore as pipeline
from mklcore.answer.candidates import (
    Candidate,
    Request,
    ScoredCandidate,
    kernel_along,
    low_rank_along,
    targets,
)
from mklcore.answer.explore import STAGES, WHOLE, choose, made_of, stages
from mklcore.answer.one_machine import ONE, member_weights
from mklcore.estimators.inspection.parts import unblended
from mklcore.kernels import blends
from mklcore.paths.scoring import predictions
from mklcore.verify import verify
from tests.helpers.every import every
from tests.helpers.models import reloaded
from tests.helpers.refusals import data_error, parameter_error
from tests.kernels.test_dictionary import made


@pytest.fixture(scope="module", params=["binary", "multiclass", "regression"])
def answered(request):
    data = made(200, task="binary" if request.param == "multiclass" else request.param)
    if request.param == "multiclass":
        data = Dataset(
            data.X,
            data.y + 2 * (data.X[:, 0] > 0.6),
            data.feature_names,
            task="multiclass",
            columns=data.columns,
        )
    return data, explore(data)


# What an answer holds


def test_the_columns_that_matter_come_first_and_their_shares_sum_to_one(answered):
    _, found = answered
    assert {one.name for one in found.columns[:3]} == {"straight", "bent", "kind"}
    assert [one.effect for one in found.columns] == sorted(
        (one.effect for one in found.columns), reverse=True
    )
    assert sum(one.share for one in found.columns) == pytest.approx(1.0)
    assert sum(one.variance for one in found.columns) == pytest.approx(1.0)
    assert min(min(one.share, one.alone) for one in found.columns) >= 0.0
    assert sum(term.share for term in found.terms) == pytest.approx(1.0)
    assert min(term.share for term in found.terms) > -1e-9


def test_columns_of_noise_could_be_chance_once_it_is_asked(answered):
    _, found = answered
    assert not any(found.could_be_chance[name] for name in ("straight", "bent", "kind"))
    noise = [one.name for one in found.columns if one.chance]
    assert len(noise) >= 3
    assert set(found.verdict.chance) == set(noise)
    assert not set(noise) & {one.name for one in found.verdict.matters}
    assert "could be chance" in str(found.verdict)


def test_columns_act_together_where_held_out_rows_say_so():
    rng = default_rng(4)
    X = rng.normal(size=(240, 4))
    # of all columns: it can hold any set of them
    kernels = KernelDictionary.laplacian_grid([1.0])
    alone = explore(
        Dataset(X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=240)), kernels=kernels, p=2.0
    ).terms
    assert all(len(term.columns) < 2 or term.is_sure for term in alone)
    assert alone[0].columns == ("x0",)
    both = explore(
        Dataset(X, X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=240)), kernels=kernels, p=2.0
    ).terms
    assert both[0].columns == ("x0", "x1")
    assert both[0].is_sure
    few = explore(Dataset(X[:50], X[:50, 0] * X[:50, 1])).terms  # no row is held out
    assert not any(len(term.columns) == 2 or term.is_sure for term in few)


def test_its_scores_beat_guessing_and_plain_models_stand_beside_it(answered):
    data, found = answered
    assert set(found.baselines) == {"linear", "RBF"}
    assert set(found.test_scores()) == {"ours", "linear", "RBF"}
    assert found.test_scores()["ours"] > found.test_scores()["linear"]  # one column is bent
    assert found.score == pytest.approx(found.path.val_score[found.index])
    assert found.verdict.better_than_guess
    assert found.verdict.rows == found.test.n_samples == 50
    assert found.model.n_train_ == found.learnt_from.n_samples == data.n_samples - 50
    assert f"Predicting {data.target_name}: " in str(found.verdict)
    assert {one.name for one in found.compare(("forest",)).verdict.references} == {
        "linear",
        "RBF",
        "forest",
    }


def test_its_model_takes_rows_a_table_or_a_data_frame_and_says_how_sure_it_is(answered):
    data, found = answered
    said = found.model.predict(data.X)
    assert_array_equal(found.model.predict(data), said)
    frame = pd.DataFrame(data.X, columns=data.feature_names)
    assert_array_equal(found.model.predict(frame.iloc[:, ::-1]), said)
    with data_error("lacks 1 column the model needs: 'bent'"):
        found.model.predict(frame.drop(columns="bent"))
    if data.task == "regression":
        low, high = found.predict_interval(data.X, level=0.8).T
        assert np.mean((low <= data.y) & (data.y <= high)) > 0.75
    else:
        sets = found.predict_set(data.X)
        assert (
            sets[np.arange(len(data.y)), np.searchsorted(found.model.classes_, data.y)].mean()
            > 0.85
        )
        assert_allclose(found.model.predict_proba(data.X[:3]).sum(axis=1), 1.0)
    assert_array_equal(reloaded(found.model).predict(frame), said)


def test_its_path_is_certified_and_can_be_dragged_with_the_share_of_every_column(answered):
    _, found = answered
    assert found.path.finished.all()
    assert np.nanmax(found.path.relative_gap) <= 1e-2
    assert found.effects_along.shape == (len(found.path), 7)
    assert_allclose(found.effects_along[found.index], [one.effect for one in found.columns])
    point = found.at(float(found.path.values[0]) * 1.5)  # between two points
    assert point.statuses[0].ok
    near = np.sort(found.effects_along[:2], axis=0)
    assert np.all(found.effects_of(point.estimators)[0] <= 1.2 * near[1] + 0.05 * near.max())
    assert "straight" in found._repr_html_()


def test_test_rows_change_nothing_but_the_verdict():
    data = made(200, task="regression")
    found = explore(data)
    assert all(one.chance is None for one in found.columns)  # until it is asked for
    where = [int(np.flatnonzero((row == data.X).all(axis=1))[0]) for row in found.test.X]
    X = data.X.copy()
    X[where] = X[where][::-1]
    other = explore(Dataset(X, data.y, data.feature_names, task=data.task, columns=data.columns))
    assert other.notes == found.notes
    assert_array_equal(other.path.val_score, found.path.val_score)


# Which model is taken


def judged(label, *scores):
    return ScoredCandidate(Candidate(label, None, np.array([1.0])), np.array(scores)[:, None])


def test_held_out_rows_are_predicted_once_for_all_figures_of_the_verdict(monkeypatch):
    found = explore(load_sample("iris"))
    of_ours = []

    def counted(model, rows):
        of_ours.append(model is found.model)
        return predictions(model, rows)

    monkeypatch.setattr(exploration, "predictions", counted)
    alone = found.alone()
    assert alone.verdict.references == alone.verdict.references == ()
    assert alone.baselines == {}
    assert len(found.verdict.references) == 2
    assert found.verdict.score == alone.verdict.score
    assert sum(of_ours) == 1


def test_the_simplest_within_one_error_of_the_best_is_taken_if_it_is_hardly_behind():
    plain = judged("plain", 0.700, 0.800, 0.750)
    rich = judged("rich", 0.704, 0.800, 0.7515)
    assert choose([plain, rich]) is rich  # more than one standard error
    assert choose([judged("plain", 0.70, 0.802, 0.750), rich]).candidate.label == "plain"
    far = judged("far", 0.69, 0.81, 0.72)
    assert choose([far, rich]) is rich  # within one error, and further behind than .002
    assert choose([rich, judged("richer", 0.704, 0.800, 0.7515)]) is rich
    # a member, no choice of its own
    assert choose([rich, judged(next(iter(WHOLE)), 0.9, 0.9, 0.9)]) is rich


def test_members_are_weighed_by_what_they_say_out_of_folds():
    rng = default_rng(1)
    Y = rng.normal(size=(500, 2))
    noise = rng.normal(size=(500, 2))
    assert_allclose(member_weights([Y, -Y, noise], Y), [1.0, 0.0, 0.0], atol=0.05)
    assert_allclose(member_weights([0.8 * Y, 0.8 * Y], Y), [0.5, 0.5], atol=1e-9)
    # worse than the mean
    assert_allclose(member_weights([-Y, -Y + 0.1 * noise], Y), [0.5, 0.5])


def test_decisions_out_of_folds_are_those_of_rows_that_a_fold_leaves_out():
    X = np.arange(60.0)[:, None]
    data = Dataset(X, (np.arange(60) > 29).astype(int) + (np.arange(60) == 59), task="multiclass")
    divided = pipeline.divide_rows(data, Request(test_size=0.0))
    assert divided.left_out.tolist() == list(range(59))  # the only row of a class is in no fold
    parts = [data.X[rows] for _, rows in divided.folds]
    assert_array_equal(divided.out_of_folds(parts), data.X[:59])


def test_shares_are_said_in_quarters_that_sum_to_one():
    said = made_of(
        {"straight lines": 0.37, "single columns and pairs": 0.37, "all columns together": 0.26}
    )
    assert said.startswith(
        "Of what it says, about half is straight lines, about a quarter is single columns and pairs"
    )
    assert made_of({"straight lines": 1.02, "all columns together": -0.02}) == (
        "Of what it says, nearly all is straight lines."
    )


@every(
    "hold_out, kept, which",
    [
        ("last", (40, 60), "the last of them"),
        ("first", (20, 40), "the first of them"),
    ],
)
def test_a_note_says_which_rows_in_the_order_of_time_are_learned_from(hold_out, kept, which):
    time = np.arange(80.0)
    data = Dataset(time[:, None], np.sin(time), task="regression")
    divided = pipeline.divide_rows(data, Request(test_size=20 / 80, max_rows=20, hold_out=hold_out))
    assert_array_equal(divided.learn.X[:, 0], np.arange(*kept))
    assert divided.notes == (f"Learned from 20 of 60 rows, {which}.",)


def test_one_machine_can_be_taken_apart_and_checked(tmp_path):
    data = MADE_FOR[ONE]
    found = explore(data, max_rows=200)
    model = found.model
    rows = found.test.X[:9]
    assert found.label == ONE
    assert model.relative_gap_ < 1e-6
    parts = unblended(model).contributions(rows).sum(axis=0) + model.intercept_
    assert_allclose(parts, model.decision_function(rows), atol=1e-9)
    few = model.copy_with("approximation", Nystroem(40)).fit(found.learnt_from)
    parts = unblended(few).contributions(rows).sum(axis=0) + few.intercept_
    # features are in single precision
    assert_allclose(parts, few.decision_function(rows), atol=1e-4)
    assert sum(found.taken.variance_shares.values()) == pytest.approx(1.0)
    save_model(tmp_path / "model.mkl", model)
    np.savez(tmp_path / "table.npz", X=data.X, y=data.y)
    assert all(
        statement.holds for statement in verify(tmp_path / "model.mkl", tmp_path / "table.npz")
    )


RNG = default_rng(2)
Z, BITS = RNG.normal(size=(400, 4)), RNG.integers(0, 2, size=(400, 5)).astype(float)
NOISE = 0.1 * RNG.normal(size=400)
MADE_FOR = {
    "straight lines": Dataset(Z, Z[:, 0] - Z[:, 1] + NOISE),
    "columns and pairs": Dataset(Z, Z[:, 0] * Z[:, 1] + Z[:, 2] + NOISE),
    ONE: Dataset(BITS, (BITS.sum(axis=1) % 2).astype(int), task="binary"),
}


@every("label", MADE_FOR)
def test_the_kernels_that_the_target_was_made_for_are_taken(label):
    found = explore(MADE_FOR[label])
    assert found.label == label
    assert any(f"Taken by folds: {label}" in note for note in found.notes)
    assert found.test_scores()["ours"] > 0.9
    if label == "columns and pairs":
        assert {term.columns for term in found.terms[:2]} == {("x0", "x1"), ("x2",)}


def test_classes_share_their_weights():
    y = np.arange(240) % 6
    rng = default_rng(5)
    data = Dataset(
        np.column_stack([y + 0.2 * rng.normal(size=240), rng.normal(size=240)]),
        y,
        task="multiclass",
    )
    found = explore(data)
    assert isinstance(found.model, JointMKLClassifier)
    assert found.columns[0].name == "x0"
    assert found.test_scores()["ours"] > 0.8


def test_what_is_fixed_is_taken():
    data = made(120, task="regression")
    kernels = KernelDictionary.per_feature(RBF(1.0), data.n_features)
    found = explore(data, kernels=kernels, p=4 / 3, C=3.0)
    assert (found.model.p, found.model.C, found.dictionary) == (4 / 3, 3.0, kernels)
    assert len(found.path) == 1
    assert explore(data, method="gomp", kernels=kernels, s=3).model.n_kernels_ <= 3


def test_trees_are_not_compared_with_on_sequences():
    found = explore(make_sequences(80, 20, ["ACGTA"], 0)[0])
    assert "cannot read sequences" in found.compare().notes[-1]


def test_without_a_target_it_says_which_rows_are_unusual(rng):
    data = Dataset(rng.normal(size=(80, 3)), np.ones(80, dtype=int), task="novelty")
    found = explore(data)
    assert isinstance(found.model, LpMKLOneClass)
    assert found.verdict.better_than_guess is None
    assert "unusual" in str(found.verdict)


def test_many_rows_are_compared_on_some_and_the_model_has_landmarks(monkeypatch):
    rng = default_rng(3)
    X = rng.normal(size=(900, 2))
    data = Dataset(X, (np.sin(4 * X[:, 0]) * np.sin(4 * X[:, 1]) > 0).astype(int), task="binary")
    monkeypatch.setattr(pipeline, "CHOSEN_ON", 300)
    monkeypatch.setattr(pipeline, "PATH_ROWS", 200)
    for module in (pipeline, one_machine, references):
        monkeypatch.setattr(module, "EXACT", 400)
    every = list(stages(data, Request()))
    first, last = (value for name, value in every if name == "refit")
    found = dict(every)["references"]
    assert first[2].n_train_ == 200  # the path is there before the model on all rows
    assert last[0] is first[0] is found.path
    assert found.label == ONE
    assert (found.rows.used, found.rows.of, found.model.n_train_) == (200, 675, 675)
    assert found.model.approximation is not None
    assert found.test_scores()["ours"] > 0.75
    assert any("compared on 300 of 675 rows" in note for note in found.notes)


# Closed forms


def test_a_kernel_along_C_is_the_estimator_at_each(rng):
    X = rng.normal(size=(40, 3))
    Y = rng.normal(size=(40, 2))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    stack = GramStack.from_array(K[None, :30, :30])
    costs = np.array([0.1, 10.0])
    along = kernel_along(K[:30, :30], K[30:, :30], Y[:30], costs)
    for C, found in zip(costs, along, strict=True):
        model = JointMKLRegressor(kernels="precomputed", p=2.0, C=C).fit(stack, Y[:30])
        assert_allclose(found, model.predict(K[None, 30:, :30]), atol=1e-9)


@every("far, rate", [(1, 1e-3), (3, 0.1), (20, 1e-5), (20, 1.0)])
def test_a_kernel_of_few_different_rows_is_solved_in_single_precision(far, rate):
    rng = default_rng(0)
    X = rng.integers(0, 2, size=(600, 3)).astype(float)
    X[:far] += 30.0 * rng.random((far, 3))
    Y = X[:, :1] - X[:, 1:2]
    apart = ((X[:, None] - X[None]) ** 2).sum(axis=2).astype(np.float32)
    K = np.expm1(-np.float32(rate) * apart)
    K /= -K.mean()
    for found in kernel_along(K, K, Y, np.array([1.0, 1e3])):
        assert np.mean((found - Y) ** 2) < np.mean((Y - Y.mean()) ** 2)


@pytest.mark.parametrize("upper", [False, True])
def test_a_blend_is_added_up_in_blocks_of_rows(monkeypatch, upper):
    X = default_rng(0).normal(size=(50, 3))
    blend = Blend(Linear(features=(0,)), RBF(1.0), shares=(0.25, 0.75)).settle(X)
    whole = blend.values(X, X)
    monkeypatch.setattr(blends, "_BLOCK", 200)
    monkeypatch.setattr(blends, "_LEAST_ROWS", 3)
    found = blend.values(X, X, upper)
    kept = np.triu_indices(50) if upper else np.indices((50, 50))
    assert_allclose(found[tuple(kept)], whole[tuple(kept)], atol=1e-12)


@every("p", [4 / 3, 2.0])
def test_features_along_C_come_near_the_certified_optimum(p):
    data = made(150, task="regression")
    kernels = KernelDictionary.recommended(data, whole=False)
    stack = Nystroem(30).features(kernels, data.X[:100])
    new = stack.cross(data.X[100:]).table.astype(float)
    Y = targets(data.y[:100], None)
    grid = np.array([0.1, 1.0, 10.0])
    for C, (found, _) in zip(
        grid, low_rank_along(stack.table.astype(float), stack.ends, Y, p, grid, new), strict=True
    ):
        model = LpMKLRegressor(kernels=kernels, p=p, C=C, approximation=Nystroem(30), tol=1e-6)
        wanted = model.fit(data.X[:100], data.y[:100]).predict(data.X[100:])
        assert np.abs(found[:, 0] - wanted).max() < 0.05 * np.std(data.y)


# Stages


def test_stages_come_in_order_and_can_be_cancelled_between_and_inside():
    data = made(120)
    assert tuple(name for name, _ in stages(data, Request())) == STAGES
    calls = []
    explore(data, callback=lambda done, total: calls.append((done, total)))
    assert calls == sorted(calls)
    assert len(calls) > len(STAGES)  # inside of them, too

    def stop(done, total):
        if done >= 4:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        explore(data, callback=stop)


# Verdicts


def test_without_held_out_rows_the_verdict_is_of_folds_and_says_so():
    found = explore(made(50, task="regression"))
    assert found.test is None
    assert (found.verdict.held_out, found.verdict.rows) == (False, 50)
    assert "folds of 50 rows, which is optimistic" in str(found.verdict)
    with data_error("No row was held out"):
        found.test_scores()


def test_where_a_class_is_rare_all_classes_count_alike_beside_the_rows(rng):
    X = rng.normal(size=(400, 2))
    data = Dataset(X, (X[:, 0] + 0.1 * rng.normal(size=400) > 1.6).astype(int), task="binary")
    found = explore(data)
    right = balanced_accuracy_score(found.test.y, found.model.predict(found.test.X))
    assert right > 0.6
    assert found.verdict.balanced == pytest.approx((right, 0.5))
    assert (
        f"counting all classes alike, {100 * right:.0f}\u00a0% are right; by guessing 50\u00a0%"
        in str(found.verdict)
    )
    assert explore(made(120)).verdict.balanced is None


def test_correlated_columns_are_named_and_permuted_together(rng):
    first = rng.normal(size=200)
    X = np.column_stack([first, first + 0.05 * rng.normal(size=200), rng.normal(size=200)])
    found = explore(Dataset(X, first + 0.3 * rng.normal(size=200)))
    assert any("x0 and x1 are correlated (1.00)" in note for note in found.notes)
    assert found.could_be_chance["x0"] == found.could_be_chance["x1"] is False


# Refusals


@every(
    "X, y, sentence",
    [
        (np.eye(2), np.arange(2.0), "The table has 2 rows, and an answer needs at least 6"),
        (np.arange(20.0)[:, None], np.full(20, 3.0), "The target 'y' has one value only, 3.0"),
        (np.ones((20, 2)), np.arange(20.0), "Every column is constant"),
        (np.tile(np.arange(8.0), (60_000, 1)).T, np.arange(8.0), "The table has 60,000 columns"),
    ],
)
def test_a_table_without_an_answer_is_refused_with_a_repair(X, y, sentence):
    with data_error(sentence):
        explore(Dataset(X, y))


@every(
    "fixed, sentence",
    [
        ({"test_size": 1.0}, "test_size is the share of rows"),
        ({"method": "magic"}, "method is one of lp"),
        (
            {"method": "hkl"},
            "'hkl' makes kernels of its own, so it stands alone: fit HKLClassifier",
        ),
        ({"lam": 0.1}, "lam is a parameter of another method"),
        ({"method": "gomp", "p": 2.0}, "has no parameter 'p'"),
    ],
)
def test_what_cannot_be_fixed_is_refused(fixed, sentence):
    with parameter_error(sentence):
        explore(made(60), **fixed)


def odd_tables():
    """Columns of tables that strangers bring and that break programs."""
    rng = default_rng(3)
    n = 60
    a = rng.normal(size=n).round(3)
    b = rng.normal(size=n).round(3)
    side = rng.integers(0, 2, n)
    classes = np.where(side, "yes", "no")
    few = rng.integers(0, 8, n)
    rare = np.arange(n) < 2
    yield "copied rows", {"a": a[few], "b": b[few], "y": classes}
    yield "constant within a class", {"a": side, "b": 5 - 2 * side, "c": a, "y": classes}
    yield (
        "more columns than rows",
        {**{f"g{j}": rng.normal(size=n).round(2) for j in range(62)}, "y": classes},
    )
    yield "far apart scales", {"a": 1e12 * a, "b": 1e-12 * b, "c": 1e30 * side, "y": a + b}
    yield "outliers", {"a": np.where(rare, 1e9, a), "b": b, "y": np.where(rare, 1e7, b)}
    yield "six rows of one column", {"a": a[:6], "y": b[:6]}
    yield (
        "gaps in a text",
        {"a": ["" if i % 3 else f"red fox and hound {i}" for i in range(n)], "b": a, "y": classes},
    )


def test_every_odd_table_has_an_answer():
    for name, columns in odd_tables():
        found = explore(read_table(pd.DataFrame(columns).to_csv(index=False).encode(), "y"))
        assert str(found.verdict), name
        assert (
            sum(one.share for one in found.columns) == pytest.approx(1.0)
            or not found.columns[0].effect
        ), name


def test_a_target_far_from_zero_has_the_answer_of_the_same_target_near_it():
    data = made(90, task="regression")
    far = Dataset(data.X, data.y + 1e8, data.feature_names, columns=data.columns)
    near = explore(data)
    other = explore(far)
    assert other.label == near.label
    assert other.score == pytest.approx(near.score, abs=1e-3)
    assert other.columns[0].effect == pytest.approx(near.columns[0].effect, rel=1e-3)


# scikit-learn


def test_the_path_of_one_method_is_handed_over_before_folds_score_it():
    found = list(stages(made(80), Request(method="uniform")))
    names = [name for name, _ in found]
    first, last = (value for name, value in found if name == "refit")
    assert names.index("refit") < names.index("path")
    assert first[0].estimators == last[0].estimators
    assert not np.isfinite(first[0].val_score).any()
    assert np.isfinite(last[0].val_score).all()
