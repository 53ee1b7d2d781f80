"""The first answer for a table: what a table is made of, the recommended dictionary, and which columns count."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone

import mklcore as mkl
from mklcore.data.dataset import Dataset
from mklcore.errors import DataError
from mklcore.exploration import Preliminary, first_answer, large, screening
from mklcore.exploration.candidates import Candidate, Judged, taken
from mklcore.exploration.relevance import scaled_by_relevance
from mklcore.exploration.scaling import NormalScores
from mklcore.kernels.functions import RBF, Delta, Laplacian, Linear
from mklcore.kernels.units import MOST_UNITS, units
from mklcore.selection.references import Reference

RNG = np.random.default_rng(0)


def made(n: int = 240, noise: int = 4, task: str = "binary", seed: int = 1) -> Dataset:
    """One straight column, one bent one, one category of three values, and columns of noise; only the first three
    count.
    """
    rng = np.random.default_rng(seed)
    straight, bent, kind = rng.normal(size=n), rng.normal(size=n), rng.integers(0, 3, n)
    value = 1.5 * straight + 2.0 * np.abs(bent) + np.array([2.0, -2.0, 0.0])[kind] + 0.1 * rng.normal(size=n)
    X = np.column_stack([straight, bent, *(kind == k for k in range(3)), rng.normal(size=(n, noise))])
    names = ("straight", "bent", "kind=a", "kind=b", "kind=c", *(f"noise {j}" for j in range(noise)))
    columns = (
        ("straight", (0,)),
        ("bent", (1,)),
        ("kind", (2, 3, 4)),
        *((f"noise {j}", (5 + j,)) for j in range(noise)),
    )
    y = value if task == "regression" else (value > np.median(value)).astype(int)
    return Dataset(X, y, names, task=task, columns=columns)


def test_delta_is_equality_of_codes():
    codes = np.array([[0, 1], [1, 0], [0, 1], [1, 1]], dtype=float)
    stack = mkl.KernelDictionary((Delta(),)).grams(codes, normalise=None)
    equal = (codes[:, None] == codes[None]).all(axis=-1)
    np.testing.assert_array_equal(stack.values[0], equal)
    np.testing.assert_array_equal(stack.cross(codes[2:])[0], equal[2:])


def test_every_kernel_sees_one_source_column_or_everything():
    data = made()
    dictionary = mkl.KernelDictionary.recommended(data)
    homes = [set(members) for _, members in data.columns]
    seen = [set(spec.columns(data.n_features)) for spec in dictionary]
    whole = [columns for columns in seen if len(columns) == data.n_features]
    assert len(whole) == 2
    assert all(columns in homes for columns in seen if len(columns) < data.n_features)
    assert len(mkl.KernelDictionary.recommended(data, whole=False)) == len(dictionary) - 2
    assert [type(spec).__name__ for spec in dictionary if set(spec.columns(data.n_features)) == {2, 3, 4}] == ["Delta"]


def test_a_wide_table_is_seen_by_groups_bands_or_clusters():
    X = RNG.normal(size=(80, 60))
    y = (X[:, 0] > 0).astype(int)
    numbered = Dataset(X, y, tuple(f"x{j + 1}" for j in range(60)), task="binary")
    assert {unit.kind for unit in units(numbered)} == {"cluster"}
    spectrum = Dataset(X, y, tuple(f"{850 + 2 * j}" for j in range(60)), task="binary")
    assert [unit.kind for unit in units(spectrum)] == ["band"] * MOST_UNITS
    grouped = Dataset(X, y, task="binary", groups=(("front", tuple(range(30))), ("back", tuple(range(30, 60)))))
    assert [unit[::2] for unit in units(grouped)] == [("front", "group"), ("back", "group")]
    for data in (numbered, spectrum, grouped):
        assert sorted(j for unit in units(data) for j in unit.columns) == list(range(60))


def test_wavelengths_beside_other_columns_are_bands_and_columns():
    X = RNG.normal(size=(30, 52))
    names = ("water", *(f"nm{850 + 2 * j}" for j in range(50)), "ash")
    found = units(Dataset(X, X[:, 0], names, task="regression"))
    assert [(unit.name, unit.kind) for unit in found[-2:]] == [("water", "column"), ("ash", "column")]
    assert {unit.kind for unit in found[:-2]} == {"band"}
    assert sorted(j for unit in found for j in unit.columns) == list(range(52))
    assert [names[j] for j in found[0].columns] == ["nm850", "nm852"]


def test_without_curved_kernels_every_column_counts_along_a_straight_line():
    names = {type(spec).__name__ for spec in mkl.KernelDictionary.recommended(made(40), curved=False)}
    assert names == {"Linear", "Delta"}


def test_where_a_linear_model_is_best_straight_lines_are_taken_and_reported():
    rng = np.random.default_rng(3)
    at = np.arange(60)
    X = rng.normal(size=(120, 8)) @ np.exp(-((at - np.linspace(0, 59, 8)[:, None]) ** 2) / 200)
    y = X[:, 20] - X[:, 28] + X[:, 40]
    data = Dataset(X, y + 0.02 * rng.normal(size=120), tuple(f"{900 + 2 * j}" for j in at), task="regression")
    found = mkl.explore(data)
    assert all(isinstance(spec, Linear) for spec in found.dictionary)
    assert any(note.startswith("Taken by 3 folds: straight lines") for note in found.notes)


def test_a_first_look_fits_no_plain_models():
    looked = mkl.explore(made(120), baselines=False)
    assert looked.baselines == {}
    assert set(looked.test_scores()) == {"ours"}


def test_with_many_classes_the_grid_is_coarse_and_its_ratio_larger():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(120, 2)), np.arange(120) % 5
    X[:, 0] += y
    found = mkl.explore(Dataset(X, y, task="multiclass"), baselines=False)
    few = mkl.explore(Dataset(X, y % 3, task="multiclass"), baselines=False)
    assert found.path.values[1] / found.path.values[0] > 5.0 > few.path.values[1] / few.path.values[0]


def test_columns_that_carry_the_same_are_one_cluster():
    sources = RNG.normal(size=(200, 10))
    X = np.hstack([sources + 0.05 * RNG.normal(size=(200, 10)) for _ in range(6)])
    found = units(Dataset(X, (X[:, 0] > 0).astype(int), task="binary"))
    home = {j: k for k, unit in enumerate(found) for j in unit.columns}
    assert len(found) <= MOST_UNITS
    assert all(home[j] == home[j + 10 * k] for j in range(10) for k in range(6))


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_the_columns_that_count_are_ranked_first(task):
    found = mkl.explore(made(task=task))
    assert {one.name for one in found.columns[:3]} == {"straight", "bent", "kind"}
    assert all(one.importance <= 0.05 for one in found.columns[3:])
    assert len(found.columns) == 7
    assert set(found.baselines) == {
        "majority" if task == "binary" else "mean",
        "linear",
        "RBF",
        "forest",
        "boosting",
        "uniform sum",
        "best single kernel",
    }
    assert found.score > found.baselines["linear"]  # one column is bent
    assert found.score == pytest.approx(found.path.val_score[found.index])
    assert found.standard_error > 0.0
    assert set(found.test_scores()) == {"ours", *found.baselines}
    assert "straight" in found._repr_html_()


def test_rows_are_drawn_and_reported_and_scores_can_be_chosen():
    rare = made(400)
    y = (rare.X[:, 0] > np.quantile(rare.X[:, 0], 0.95)).astype(int)
    data = Dataset(rare.X, y, rare.feature_names, task="binary", columns=rare.columns)
    found = mkl.explore(data, max_rows=100, scoring="balanced_accuracy")
    assert (found.rows.used, found.rows.of) == (100, 300)
    assert "drawn by class" in found.rows.how
    assert found.baselines["majority"] == 0.5
    assert any("A class is rare" in note for note in found.notes)


def test_a_preliminary_ranking_comes_once_and_before_the_answer_which_it_does_not_change():
    data, order, looks = made(), list[str](), list[Preliminary]()

    def see(look: Preliminary) -> None:
        order.append("ranking")
        looks.append(look)

    found = mkl.explore(data, preliminary=see, callback=lambda done, total: done == 1 and order.append("answer"))
    assert order == ["ranking", "answer"]
    (look,) = looks
    assert {one.name for one in look.columns[:3]} == {"straight", "bent", "kind"}
    assert {one.name for one in look.columns} == {one.name for one in found.columns}
    assert look.score > found.baselines["majority"]
    assert look.n_rows == 120  # two folds of the 180 rows that are not held out
    assert 0.0 < look.seconds[1] < found.seconds[1]
    without = mkl.explore(data)
    assert (without.columns, without.score, without.notes) == (found.columns, found.score, found.notes)


def test_a_preliminary_ranking_can_end_it_and_a_small_table_has_one():
    def stop(look: Preliminary) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        mkl.explore(made(), preliminary=stop)
    few, looks = Dataset(RNG.normal(size=(6, 2)), np.arange(6.0), task="regression"), list[Preliminary]()
    assert mkl.explore(few, test_size=0.0, baselines=False, preliminary=looks.append).columns
    assert len(looks) == 1
    assert all(np.isfinite(look.score) for look in looks)


def test_rows_too_few_for_a_preliminary_ranking_have_an_answer_without_one(monkeypatch):
    looks, rank, refused = list[Preliminary](), first_answer._ranking, [DataError("too few rows")]

    def ranking(*given):
        if refused:
            raise refused.pop()
        return rank(*given)

    monkeypatch.setattr(first_answer, "_ranking", ranking)
    assert mkl.explore(made(), baselines=False, preliminary=looks.append).columns
    assert not looks
    assert not refused


def test_models_that_one_fold_left_behind_have_the_score_of_that_fold():
    (note,) = [one for one in mkl.explore(made(), baselines=False).notes if one.startswith("Taken by 3 folds: ")]
    taken_one, *others = note.removesuffix(".").split("; ")
    assert "on one fold" not in taken_one
    assert len([one for one in others if not one.endswith(" on one fold")]) <= 1
    assert others[-1].endswith(" on one fold")


def test_it_can_be_cancelled_and_refuses_a_table_without_a_target():
    def stop(done: int, total: int) -> None:
        if done == 1:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        mkl.explore(made(), callback=stop)
    with pytest.raises(DataError, match="no target, so no column can matter"):
        mkl.explore(Dataset(RNG.normal(size=(30, 2)), np.ones(30, dtype=int), task="novelty"))


def test_the_model_is_fitted_on_all_rows_but_the_test_rows():
    data = made(200)
    found = mkl.explore(data, baselines=False)
    assert found.model[-1].n_train_ == 150
    assert found.path.estimators[0].n_train_ == 100
    whole = mkl.explore(data, test_size=0, baselines=False)
    assert whole.model[-1].n_train_ == 200
    C = float(whole.path.values[whole.index])
    again = clone(whole.model).fit(data.X, data.y)
    assert again[-1].C == C
    np.testing.assert_allclose(again.decision_function(data.X), whole.model.decision_function(data.X), atol=1e-8)
    with pytest.raises(DataError, match="No row was held out"):
        whole.test_scores()


def test_rows_in_the_order_of_time_are_held_out_from_the_end():
    data = made(200)
    found = mkl.explore(data, baselines=False, hold_out="last")
    np.testing.assert_array_equal(found._test.X, data.X[150:])
    assert found.model[-1].n_train_ == 150
    assert not any("folds" in note for note in found.notes)


@pytest.mark.parametrize("size", [1.0, -0.1, True])
def test_a_share_to_hold_out_that_is_none_is_refused(size):
    with pytest.raises(mkl.ParameterError, match="test_size is the share of rows"):
        mkl.explore(made(), test_size=size)


def test_test_rows_change_nothing_but_their_own_score():
    data = made(160)
    found = mkl.explore(data, baselines=False)
    test = found._test
    where = [int(np.flatnonzero((row == data.X).all(axis=1))[0]) for row in test.X]
    X, y = data.X.copy(), data.y.copy()
    X[where, 0], y[where] = X[where, 0][::-1], data.y[where]
    X[where, 1] = 0.1 * X[where, 1]
    other = mkl.explore(Dataset(X, y, data.feature_names, task="binary", columns=data.columns), baselines=False)
    assert found.notes == other.notes
    assert found.score == other.score
    np.testing.assert_array_equal(found.path.val_score, other.path.val_score)
    np.testing.assert_array_equal(found.model.predict(data.X), other.model.predict(data.X))


def test_the_same_table_gives_the_same_answer():
    first, second = (mkl.explore(made(150), baselines=False) for _ in range(2))
    assert (first.notes, first.score, first.columns) == (second.notes, second.score, second.columns)
    np.testing.assert_array_equal(first.model.predict(made(150).X), second.model.predict(made(150).X))


def test_rows_that_count_by_their_order_are_taken_as_normal_scores():
    rng = np.random.default_rng(4)
    hidden = rng.normal(size=(400, 3))
    y = (np.sin(2 * hidden[:, 0]) + hidden[:, 1] * hidden[:, 0] > 0).astype(int)
    data = Dataset(np.exp(4 * hidden), y, task="binary")
    found = mkl.explore(data, baselines=False)
    assert found.scaling == "normal scores"
    assert "columns as normal scores of their ranks" in " ".join(found.notes)
    assert found.test_scores()["ours"] > 0.85


def test_normal_scores_are_a_monotone_change_that_can_be_undone():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.exp(3 * rng.normal(size=200)), rng.integers(0, 3, 200)])
    scores = NormalScores().fit(X)
    Z = scores.transform(X)
    assert np.all(np.diff(Z[np.argsort(X[:, 0]), 0]) > 0)
    np.testing.assert_allclose(scores.inverse_transform(Z), X)
    np.testing.assert_allclose(np.sort(Z[:, 0]), norm.ppf((np.arange(200) + 0.5) / 200), atol=1e-12)
    assert np.all(scores.transform(X[:1] * 1e6) == Z.max(axis=0))
    with pytest.raises(DataError, match="use the same columns"):
        scores.transform(X[:, :1])


def test_leave_one_out_errors_are_those_of_as_many_fits():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(25, 2)), rng.normal(size=25)
    K, target = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2)), (y - y.mean())[:, None]
    means = K.mean(axis=0)
    centred = K - means - means[:, None] + means.mean()
    ridge = 0.1 * np.trace(centred) / 25
    errors = []
    for i in range(25):
        kept = np.arange(25) != i
        # intercept free: the bordered system of ridge regression
        system = np.block(
            [[K[np.ix_(kept, kept)] + ridge * np.eye(24), np.ones((24, 1))], [np.ones((1, 24)), np.zeros((1, 1))]]
        )
        found = np.linalg.solve(system, np.append(target[kept, 0], 0.0))
        errors.append((target[i, 0] - K[i, kept] @ found[:-1] - found[-1]) ** 2)
    found, dual = screening.ridge_errors(K, target, [0.1])
    np.testing.assert_allclose(found, errors)
    whole = np.linalg.solve(centred + ridge * np.eye(25), target)
    np.testing.assert_allclose(dual, whole)


@pytest.mark.parametrize("start", [RBF(1.0, relative=True), Laplacian(0.5, relative=True)])
def test_columns_that_the_target_moves_along_count_most_in_kernels_of_all_of_them(start):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 10)) * np.arange(1.0, 11.0)  # standardised first
    y = np.sin(2.0 * X[:, 0]) + 0.5 * (X[:, 4] / 5.0) ** 2 + 0.1 * rng.normal(size=200)
    kernels = scaled_by_relevance(Dataset(X, y, tuple("abcdefghij"), task="regression"), start)
    assert len(kernels) == 3
    for kernel in kernels:
        narrowest = sorted(kernel.parts, key=lambda part: part.width)
        assert narrowest[0].features == (0,)
        assert 4 in narrowest[1].features
    middle = sorted(kernels, key=lambda kernel: kernel.parts[0].width)[1]
    widths = np.ones(10)
    for part in middle.parts:
        widths[list(part.features)] = part.width
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    seen = sorted(column for part in middle.parts for column in part.features)
    plain = mkl.KernelDictionary((replace(start, width=1.0, relative=False),), standardize=False)
    wanted = plain.grams(rows[:, seen] / widths[seen]).values[0]
    np.testing.assert_allclose(mkl.KernelDictionary((middle,)).grams(X).values[0], wanted, rtol=1e-10)


def test_no_scales_are_offered_where_they_lower_no_error():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(150, 2))
    data = Dataset(X, X[:, 0] + X[:, 1], ("a", "b"), task="regression")
    assert scaled_by_relevance(data, RBF(1.0, relative=True)) == ()
    noise = Dataset(rng.normal(size=(150, 5)), rng.normal(size=150), tuple("abcde"), task="regression")
    assert scaled_by_relevance(noise, RBF(1.0, relative=True)) == ()


def test_a_richer_model_is_taken_where_it_gains_more_than_a_standard_error():
    kernels = mkl.KernelDictionary((Linear(),))

    def one(rank, *scores):
        return Judged(Candidate("", kernels, rank=rank), np.array([1.0]), np.array(scores)[:, None], True)

    plain, noisy, sure = one(0, 0.7, 0.8, 0.75), one(1, 0.8, 0.7, 0.77), one(2, 0.72, 0.83, 0.77)
    assert taken([noisy, plain]) is plain
    assert taken([noisy, plain, sure]) is sure
    assert taken([noisy, one(1, 0.9, 0.9, 0.9), plain]).score == 0.9


def test_numbered_categories_are_no_spectrum():
    X = RNG.integers(0, 3, size=(60, 56)).astype(float)
    data = Dataset(X, X[:, 0], tuple(f"attribute{j + 2}" for j in range(56)), task="regression")
    assert {unit.kind for unit in units(data)} == {"cluster"}


def test_columns_that_act_together_are_terms_by_name():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(260, 4))
    data = Dataset(X, X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=260), task="regression")
    found = mkl.explore(data, baselines=False)
    assert {term.columns for term in found.terms[:2]} == {("x1", "x2"), ("x3",)}
    assert sum(term.share for term in found.terms) == pytest.approx(1.0)
    assert all(term.share >= 0.0 for term in found.terms)
    assert found.terms[0].importance > 0.1
    assert found.test_scores()["ours"] > 0.9


def test_more_rows_than_a_stack_has_room_for_are_all_used(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1500, 2))
    data = Dataset(X, (np.sin(4 * X[:, 0]) * np.sin(4 * X[:, 1]) > 0).astype(int), task="binary")
    monkeypatch.setattr(first_answer, "STACK_MB", 4.0)
    found = mkl.explore(data, baselines=False)
    assert found.rows.used == 750
    assert "all training rows, with" in found.rows.how
    assert found.model[-1].n_train_ == 1125
    assert found.model[-1].approximation is not None
    assert found.test_scores()["ours"] > 0.85
    again = mkl.explore(data, baselines=False)
    np.testing.assert_array_equal(again.model.decision_function(X), found.model.decision_function(X))
    monkeypatch.setattr(large, "OPERATIONS", 1.0)
    sample = mkl.explore(data, baselines=False)
    assert sample.rows.used < 750
    assert sample.model[-1].n_train_ == sample.rows.used


def test_kernels_without_weight_get_no_more_landmarks():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1500, 6))
    data = Dataset(X, np.sin(9.0 * X[:, 0]) + 0.3 * rng.normal(size=1500), tuple("abcdef"), task="regression")
    kernels = mkl.KernelDictionary([RBF(0.03, features=(0,)), *(RBF(0.3, features=(j,)) for j in range(1, 6))])
    train, judge = data.take(np.arange(1000)), data.take(np.arange(1000, 1500))
    found = large.on_all_rows([Candidate("", kernels, 1.0)], train, judge, None)
    assert found is not None
    assert 0 < found.stack.n_kernels < 6
    assert found.path.kernel_names == found.stack.names
    assert len(found.candidate.dictionary) == found.stack.n_kernels


def test_landmarks_grow_beside_kernels_without_features():
    rng = np.random.default_rng(6)
    X = np.column_stack([rng.normal(size=(900, 2)), np.ones(900)])
    data = Dataset(X, np.sin(6.0 * X[:, 0]), ("a", "b", "constant"), task="regression")
    kernels = mkl.KernelDictionary([RBF(0.1, features=(0,)), RBF(0.1, features=(1,)), Linear(features=(2,))])
    train, judge = data.take(np.arange(600)), data.take(np.arange(600, 900))
    found = large.on_all_rows([Candidate("", kernels, 1.0)], train, judge, None)
    assert found is not None
    assert found.stack.n_kernels == 2
    assert found.score > 0.9


def test_landmarks_grow_where_kernels_need_them_as_far_as_the_budget_goes(monkeypatch):
    X = np.random.default_rng(3).normal(size=(900, 4))
    wide, narrow = (
        np.diff(mkl.Nystroem(100).features(mkl.KernelDictionary([kernel]), X).ends)
        for kernel in (mkl.Linear(), mkl.RBF(0.5))
    )
    assert large._more(900, wide, 100, 1) is None
    assert large._more(900, narrow, 100, 1) == 300
    for factor in (2, 1.5):
        monkeypatch.setattr(large, "OPERATIONS", large.operations(900, int(100 * factor), 1))
        assert large._more(900, narrow, 100, 1) == 100 * factor
    assert large._more(900, narrow, 100, 1, values=1) > 150  # fewer values of C leave room
    monkeypatch.setattr(large, "OPERATIONS", large.operations(900, 100, 1))
    assert large._more(900, narrow, 100, 1) is None


def test_plain_sums_beside_all_rows_have_exact_kernels_of_a_sample(monkeypatch):
    monkeypatch.setattr(first_answer, "STACK_MB", 0.5)
    found = mkl.explore(made(300))
    assert "all training rows, with" in found.rows.how
    assert 0.5 < found.baselines["uniform sum"] <= 1.0
    assert set(found.test_scores()) == {"ours", *found.baselines}


def test_many_classes_share_their_kernel_weights():
    rng = np.random.default_rng(5)
    y = np.arange(240) % 8
    data = Dataset(np.column_stack([y + 0.2 * rng.normal(size=240), rng.normal(size=240)]), y, task="multiclass")
    found = mkl.explore(data)
    assert isinstance(found.model[-1], mkl.JointMKLClassifier)
    assert found.model[-1].weights_.ndim == 1
    assert found.columns[0].name == "x1"
    assert found.test_scores()["ours"] > 0.8
    assert set(found.baselines) == {
        "majority",
        "linear",
        "RBF",
        "forest",
        "boosting",
        "uniform sum",
        "best single kernel",
    }


def test_where_boosting_is_ahead_it_is_said_what_that_means():
    boosting = Reference("boosting", 0.9, "", None, 0.02)
    (note,) = first_answer._behind([Reference("RBF", 0.95, "", None, 0.0), boosting], 0.87)
    assert note.startswith("Gradient boosting reaches 0.9 ± 0.02 on validation rows, ahead of 0.87: ")
    assert first_answer._behind([boosting], 0.885) == []
    assert first_answer._behind([Reference("boosting", 0.9, "", None)], 0.5) == []  # its error is not known


def test_two_categories_that_act_together_are_a_term_with_its_share():
    """Women of the third class do worse than a sum over sex and class would have it."""
    rng = np.random.default_rng(2)
    sex, place, age = rng.integers(0, 2, 360), rng.integers(0, 3, 360), rng.normal(size=360)
    chance = np.where(sex == 1, np.array([0.97, 0.95, 0.3])[place], np.array([0.1, 0.1, 0.3])[place])
    X = np.column_stack([sex, *(place == k for k in range(3)), age]).astype(float)
    columns = ("sex", (0,)), ("class", (1, 2, 3)), ("age", (4,))
    names = ("sex", "class=1", "class=2", "class=3", "age")
    data = Dataset(X, (rng.random(360) < chance).astype(int), names, task="binary", columns=columns)
    shares = {one.columns: one.share for one in mkl.explore(data, baselines=False).terms}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert min(shares.values()) >= 0.0
    assert max(shares, key=shares.get) == ("sex",)
    assert shares["sex", "class"] > 0.05


def test_of_many_classes_folds_choose_too_and_pairs_are_offered():
    X = np.random.default_rng(0).standard_normal((240, 3))
    y = np.array(list("abcdef"))[(3.0 * (np.arctan2(X[:, 1], X[:, 0]) / np.pi + 1.0) - 1e-9).astype(int)]
    found = mkl.explore(Dataset(X, y, task="multiclass"), baselines=False)
    (note,) = [one for one in found.notes if one.startswith("Taken by 3 folds: ")]
    assert "pairs" in note
    assert found.score > 0.6
