"""Splitters: every class is learnt from, however rare, and where none is rare the rows are those
scikit-learn draws.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import StratifiedKFold, train_test_split

import mklcore as mkl
from mklcore.data.dataset import Dataset, three_way_split
from mklcore.data.splitting import rare_note, split_rows
from mklcore.estimators.calibration import calibrate, sigmoids
from mklcore.paths.folds import folds
from mklcore.paths.scoring import scorings_for
from tests.helpers.every import every
from tests.helpers.refusals import parameter_error

MODEL = mkl.LpMKLClassifier()


def classes(*counts, seed=0):
    """Labels "a", "b", ... so many times each, in random order."""
    y = np.repeat(list("abcdefghijkl")[: len(counts)], counts)
    return np.random.default_rng(seed).permutation(y)


def dataset(*counts):
    y = classes(*counts)
    X = np.random.default_rng(1).normal(size=(len(y), 2)) + (y == "a")[:, None]
    return Dataset(X, y.astype(object), task="binary" if len(counts) == 2 else "multiclass")


@every("counts", [(30, 20, 12), (50, 7), (9, 9, 9, 9)])
def test_where_no_class_is_rare_the_rows_are_those_of_scikit_learn(counts):
    data, y, n = dataset(*counts), classes(*counts), sum(counts)

    def cut(rows, size):
        return train_test_split(rows, test_size=size, random_state=3, stratify=y[rows])

    rest, test = cut(np.arange(n), int(np.ceil(n / 4)))
    parts = three_way_split(data, 0.25, 0.25, 3)
    for part, rows in zip(parts, (*cut(rest, int(np.ceil(n / 4))), test), strict=True):
        assert_array_equal(part.X, data.X[rows])
    for size in (0.25, int(np.ceil(n / 4))):
        assert data.split(size, 3)[1] == parts.test
    assert_array_equal(data.drawn(20, 3).X, data.X[cut(np.arange(n), 20)[1]])
    theirs = StratifiedKFold(5, shuffle=True, random_state=3).split(y, y)
    for one, other in zip(folds(MODEL, y, 5, 3), theirs, strict=True):
        assert_array_equal(np.concatenate(one), np.concatenate(other))


@every(
    "counts", [(40, 30, 1), (40, 30, 2), (40, 2), (200, 100, 3, 2, 2, 1), (4, 3, 3, 2, 2, 2, 1, 1)]
)
@every("seed", range(4))
def test_rows_of_a_rare_class_stay_in_training(counts, seed):
    data = dataset(*counts)
    parts = three_way_split(data, 0.25, 0.25, seed)
    assert sum(part.n_samples for part in parts) == data.n_samples
    assert set(parts.train.y) == set(data.y)
    assert min(part.n_samples for part in parts) >= 2
    rare = {label for label, count in zip("abcdefgh", counts, strict=False) if count < 3}
    for label in rare:
        assert np.sum(parts.train.y == label) == np.sum(data.y == label)
    reported = [part.notes[-1] for part in parts]
    assert len(set(reported)) == 1
    assert all(f"'{label}' ({int(np.sum(data.y == label))} row" in reported[0] for label in rare)
    train, _ = data.split(0.3, seed)
    assert set(train.y) == set(data.y)
    assert bool(train.notes) == (1 in counts)


def test_a_sample_keeps_every_class_and_its_size():
    """Twenty rows of one of ten classes among 2126 are no reason to refuse a sample of any size."""
    data = dataset(384, 579, 53, 81, 72, 332, 252, 107, 246, 20)
    for count in (10, 40, 300, 1000, 2120, 2125):
        drawn = data.drawn(count, 0)
        assert drawn.n_samples == count
        assert set(drawn.y) == set(data.y)
    assert data.drawn(4).n_samples == 10
    assert dataset(300, 2).drawn(40).y.tolist().count("b") >= 1
    assert np.sum(data.drawn(1063, 0).y == "j") == 10


@every("n_splits", [2, 5, 10])
def test_every_fold_trains_on_every_class(n_splits):
    y = classes(40, 12, 3, 2, 1, 1)
    held = np.zeros(len(y), dtype=int)
    for train, test in folds(MODEL, y, n_splits, 0):
        assert set(y[train]) == set(y)
        assert len(train) + len(test) == len(y)
        held[test] += 1
    assert_array_equal(held, np.isin(y, ["a", "b", "c", "d"]))
    with parameter_error(r"from 2 to the 57 rows whose class has another one; got 58"):
        folds(MODEL, y, 58, 0)
    for train, test in folds(MODEL, classes(3, 3, 3), 7, 0):
        assert (len(train) + len(test), len(test) >= 1) == (9, True)
        assert len(set(classes(3, 3, 3)[train])) == 3


def test_a_note_names_class_count_and_what_was_done():
    assert rare_note(classes(5, 4), 3) == ""
    assert rare_note(classes(5, 2, 1), 3) == (
        "Too rare to be held out: classes 'b' (2 rows), 'c' (1 row); their rows stay in "
        "training, and no score counts them."
    )
    assert "'f' (1 row) and 2 more" in rare_note(classes(1, 1, 1, 1, 1, 1, 1, 1, 5), 2)


# a machine of one row against all others
@pytest.mark.filterwarnings("ignore::mklcore.errors.NotConvergedWarning")
def test_folds_work_beside_a_rare_class():
    data = dataset(40, 30, 1)
    kernels = mkl.KernelDictionary.per_feature(mkl.Linear(), 2)
    model = mkl.LpMKLClassifier(kernels=kernels, p=2.0)
    for name in scorings_for(data.task):
        found = mkl.cross_validate_path(model, data.X, data.y, "C", [0.1, 1.0], scoring=name)
        assert np.isfinite(found.scores).all()
        assert len(found.notes) == 1
    chosen = mkl.choose_C(model, data.X, data.y, [0.1, 1.0], rule="kfold", n_splits=5)
    assert chosen.C in (0.1, 1.0)
    assert len(chosen.notes) == 1


def test_probabilities_of_a_class_that_few_rows_have():
    y = classes(30, 20, 1)
    decision = np.eye(3)[np.searchsorted(["a", "b", "c"], y)] + 0.3 * np.random.default_rng(
        0
    ).normal(size=(51, 3))
    found = sigmoids(decision, calibrate(decision, y, np.array(["a", "b", "c"])))
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert np.mean(found.argmax(axis=1) == np.searchsorted(["a", "b", "c"], y)) > 0.9
    absent = sigmoids(
        decision, calibrate(decision[y != "c"], y[y != "c"], np.array(["a", "b", "c"]))
    )
    assert np.all(absent[:, 2] > 0.001)
    assert np.mean(absent[:, 2]) < 0.1


def test_a_first_answer_says_which_class_no_score_counts():
    found = mkl.explore(dataset(60, 2), max_rows=20, scoring="roc_auc")
    assert found.score == 0.5  # no validation row has the rare class
    assert any("class 'b' (1 row); their rows stay in training" in note for note in found.notes)
    assert set(found.model.classes_) == {"a", "b"}


@every("hold_out", ["random", "last", "first"])
@every("n_owners", [4, 9, 40])
def test_owners_stay_whole_and_parts_are_about_as_large_as_asked_for(hold_out, n_owners):
    rng = np.random.default_rng(n_owners)
    owners = np.concatenate([np.arange(n_owners), rng.integers(n_owners, size=200 - n_owners)])
    codes = np.arange(200) % 2
    largest = np.bincount(owners).max()
    parts = split_rows(codes, 200, (30, 50), 0, hold_out=hold_out, row_groups=owners)
    assert_array_equal(np.sort(np.concatenate(parts)), np.arange(200))
    assert sum(len(np.unique(owners[part])) for part in parts) == n_owners
    assert set(codes[parts[0]]) == {0, 1}
    for part, size in zip(parts, (120, 30, 50), strict=True):
        assert 0 < len(part) <= size + 2 * largest
