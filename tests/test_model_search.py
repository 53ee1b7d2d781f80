"""The search for a model: folds are shared, the honest score chooses inside, time is kept, and words say what was left
out.
"""

import numpy as np
import pytest
from scipy.stats import ttest_rel
from sklearn.base import clone

import mklcore as mkl
from mklcore.errors import DataError, ParameterError
from mklcore.paths.path import fit_path, path_grid
from mklcore.selection import search as model_search
from mklcore.selection.references import plain_references
from mklcore.selection.search import Candidate, Outcome, Trial, candidates, search_models
from mklcore.selection.splitters import folds

LINE = mkl.KernelDictionary((mkl.Linear(),))
BENT = mkl.KernelDictionary.rbf_widths([0.7, 1.5])


@pytest.fixture(scope="module")
def data() -> mkl.Dataset:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 2))
    return mkl.Dataset(X, np.where(X[:, 0] * X[:, 1] + 0.2 * rng.standard_normal(80) > 0, "in", "out"), task="binary")


def two() -> list[Candidate]:
    return [Candidate("line", mkl.LpMKLClassifier(p=2.0), LINE), Candidate("bent", mkl.LpMKLClassifier(p=2.0), BENT)]


def test_the_better_one_wins_and_its_folds_are_those_of_a_hand_made_run(data):
    seen, known = [], {}
    found = search_models(data, two(), n_folds=3, callback=lambda *k: seen.append(k), known=known)
    assert [one.name for one in found.tried] == ["bent", "line"]
    assert found.simplest == "bent"
    assert found.n_folds == 3
    assert seen[0] == (0, 6)
    assert seen[-1] == (6, 6)
    train, left_out = folds(mkl.LpMKLClassifier(), data.y, 3, 0)[1]
    part, judge = data.take(train).split(0.25, seed=1)
    model = mkl.LpMKLClassifier(kernels=BENT, p=2.0)
    path = fit_path(
        model, part.X, part.y, "C", path_grid(model, part.X, part.y, "C", 7), judge.X, judge.y, grow=model_search.GROW
    )
    hand = model.copy_with("C", float(path.values[path.first_look])).fit(data.X[train], data.y[train])
    assert known[Trial(1, 1)].inner == pytest.approx(path.val_score[path.first_look])
    assert known[Trial(1, 1)].outer == pytest.approx(hand.score(data.X[left_out], data.y[left_out]))
    assert "honest accuracy" in found._repr_html_()
    again = search_models(data, two(), n_folds=3, known=known)
    assert again.honest == found.honest
    assert again.seconds < 1.0


def test_the_honest_score_is_that_of_the_inner_choice_and_intervals_are_paired():
    inner = np.array([[0.9, 0.5, 0.5, 0.5], [0.8, 0.8, 0.8, 0.8]])
    outer = np.array([[0.6, 0.9, 0.95, 0.9], [0.7, 0.8, 0.7, 0.75]])
    rows = {Trial(f, c): Outcome(inner[c, f], outer[c, f], 1.0, 5 - 4 * c, 0.0) for c in range(2) for f in range(4)}
    found = model_search._summed(tuple(two()), rows, 4, "accuracy", 1.0)
    assert found.best.name == "line"
    assert found.best.score == pytest.approx(outer[0].mean())
    assert found.honest == pytest.approx(np.mean([0.6, 0.8, 0.7, 0.75]))
    other = found.tried[1]
    assert other.behind == pytest.approx(np.mean(outer[0] - outer[1]))
    plain = ttest_rel(outer[0], outer[1]).confidence_interval(0.95)
    widening = np.sqrt((1 / 4 + 1 / 3) / (1 / 4))
    assert other.high - other.low == pytest.approx(widening * (plain.high - plain.low))
    assert found.best.behind == found.best.high == 0.0
    assert found.simplest == "line"  # the other is not within one standard error
    near = rows | {Trial(f, 1): Outcome(0.8, outer[0, f] - 0.01, 1.0, 1, 0.0) for f in range(4)}
    assert model_search._summed(tuple(two()), near, 4, "accuracy", 1.0).simplest == "bent"


def test_time_is_kept_and_what_it_did_not_reach_is_reported(data, monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr(model_search.time, "monotonic", lambda: float(next(clock)))
    found = search_models(data, two(), n_folds=5, seconds=70.0)
    assert 2 <= found.n_folds < 5
    with pytest.raises(ParameterError, match="Give more seconds"):
        search_models(data, two(), n_folds=5, seconds=3.0)


def test_a_candidate_that_is_refused_holds_up_none_of_the_others(data):
    broken = Candidate("broken", mkl.LpMKLClassifier(p=0.2), BENT)
    found = search_models(data, [*two(), broken], n_folds=2, scoring="balanced_accuracy")
    assert found.score_name == "balanced accuracy"
    assert [name for name, _ in found.left_out] == ["broken"]
    assert "must be 1 or more" in found.left_out[0][1]
    assert 0.5 < found.best.score <= 1.0
    with pytest.raises(ParameterError, match="Nothing was tried often enough"):
        search_models(data, [broken], n_folds=2)


def test_what_is_tried_unasked_suits_the_table(data):
    names = [one.name for one in candidates(data)]
    assert len(names) == len(set(names)) == 15
    assert names[5] == "p = ∞ (uniform sum), recommended kernels"
    assert {one.param for one in candidates(data)} == {"C", "lam", "s", "leaves per tree"}
    with pytest.raises(DataError, match="no target"):
        candidates(mkl.load_sample("ring"))
    with pytest.raises(ParameterError, match="seconds must be"):
        search_models(data, two(), seconds=0)
    with pytest.raises(ParameterError, match="nothing to try"):
        search_models(data, [])
    with pytest.raises(ParameterError, match="hand over stack"):
        search_models(data, [Candidate("ready", mkl.LpMKLClassifier(), None)])
    with pytest.raises(DataError, match="must be the same rows"):
        search_models(data, two(), stack=LINE.grams(data.X[:9]))


def test_a_ready_stack_is_searched_by_its_rows_and_columns(data):
    whole = mkl.GramStack.from_array(BENT.grams(data.X, normalise=None).values)
    asked = candidates(data, whole)
    assert len(asked) == 8
    known: dict = {}
    found = search_models(data, [asked[1], *asked[-3:]], n_folds=2, stack=whole, known=known)
    assert not found.left_out
    train, left_out = folds(mkl.LpMKLClassifier(), data.y, 2, 0)[0]
    C = known[Trial(0, 0)].value
    hand = mkl.LpMKLClassifier(kernels="precomputed", p=4 / 3, C=C).fit(
        whole.values[:, train[:, None], train], data.y[train]
    )
    outer = hand.score(whole.values[:, left_out[:, None], train], data.y[left_out])
    assert known[Trial(0, 0)].outer == pytest.approx(outer)
    assert known[Trial(0, 3)].value == known[Trial(0, 3)].n_kernels  # greedy selection chooses their number


def test_a_linear_model_and_boosting_are_searched_on_the_same_folds(data):
    plain, known = [one for one in candidates(data) if one.reference], {}
    assert [one.name for one in plain] == ["linear model", "gradient boosting"]
    found = search_models(data, [*plain, two()[1]], n_folds=2, known=known)
    train, left_out = folds(mkl.LpMKLClassifier(), data.y, 2, 0)[1]
    part, judge = data.take(train).split(0.25, seed=1)
    hand = plain_references(part, judge, only=("boosting",))[0]
    fitted = clone(hand.model).fit(data.X[train], data.y[train])
    outer = fitted.score(data.X[left_out], data.y[left_out])
    boosted = known[Trial(1, 1)]
    assert (boosted.inner, boosted.outer, boosted.value) == pytest.approx((hand.score, outer, hand.value))
    assert {one.name for one in found.tried if np.isnan(one.n_kernels)} == {one.name for one in plain}
    assert found.simplest == "bent"


def test_a_plain_model_is_the_simplest_only_where_no_other_is_near():
    plain = Candidate("boosting", None, None, "leaves per tree", "boosting")
    rows = {Trial(f, 0): Outcome(0.9, 0.9, 3.0, np.nan, 0.0) for f in range(4)}
    rows |= {Trial(f, 1): Outcome(0.5, 0.5, 1.0, 2, 0.0) for f in range(4)}
    found = model_search._summed((plain, two()[0]), rows, 4, "accuracy", 1.0)
    assert (found.best.name, found.simplest) == ("boosting", "boosting")
