"""Many rows in the app: low rank follows the first answer, stands beside exact kernels, and leaves as a script."""

from types import SimpleNamespace

import numpy as np
import pytest

import mklcore as mkl
from mklcore.kernels.features import FactoredSum
from mklcore.kernels.operators import factored
from mklcore.paths.held_out import scored_on
from pages._parts.derive import caches, gram_stacks, left_out, low_rank, many_rows, paths, tables
from pages._parts.explore import many_rows as explore_many_rows
from pages._parts.params.parameters import LOW_RANK, MOST_LANDMARKS, SAMPLE, Params
from tests.pages import memory, open_app, quiet, wait_until, words
from tests.test_exports import handed_out, run_script

DATA = mkl.load_sample("diabetes")
KERNELS = mkl.KernelDictionary.rbf_grid([0.5, 2.0]) + mkl.KernelDictionary((mkl.Linear(), mkl.Linear(features=(3,))))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred rows count as many, and a stack holds forty of them; nothing is left of other tests' stacks."""
    caches.shared.clear()
    for place, name, value in ((low_rank, "MANY", 200), (low_rank, "LANDMARKS", 15), (gram_stacks, "ROWS", 40),
                               (gram_stacks, "FEWEST_JUDGES", 40)):  # fmt: skip
        monkeypatch.setattr(place, name, value)


def test_low_rank_follows_the_first_answer_and_leaves_the_exact_ones_beside_it(few, tmp_path, monkeypatch):
    app = open_app("pages/explore.py", data="diabetes", widths="2", seed="0")
    wait_until(lambda: memory(app).params.way == LOW_RANK and left_out.known(memory(app).params), app)
    params, parts = memory(app).params, tables.split(memory(app).params)
    low, sampled = paths.known(params), paths.known(low_rank.exactly(params))
    assert (low.estimators[0].n_train_, sampled.estimators[0].n_train_) == (len(parts.train.y), 40)
    assert low.estimators[0].approximation == mkl.Nystroem(15, 0)
    rest = parts.validation
    assert low.val_score[2] == pytest.approx(low.estimators[2].score(rest.X, rest.y))
    assert f"**{len(parts.train.y)} training rows: two ways**" in words(app)
    assert "Approximation error of the kernels, as a share of the trace" in words(app)
    assert low.val_score[low.first_look] >= sampled.val_score[sampled.first_look]
    assert words(app).count("better of these") == 1
    script, _ = handed_out(params, "explore")
    names = run_script(script, tmp_path, monkeypatch)
    np.testing.assert_allclose(names["path"].weights, low.weights, atol=1e-12)

    quiet(app.button(key=f"way_{SAMPLE}").click().run())
    quiet(app.run())
    assert memory(app).params.way == SAMPLE
    assert memory(app).answer.path is paths.known(low_rank.exactly(params))


@pytest.mark.parametrize(("sampled", "many", "final", "taken"), [
    (0.7, 0.8, True, True), (0.8, 0.7, True, False), (0.7, 0.8, False, False), (0.8, 0.8, True, True), (None, 0.1, True, True),  # noqa: E501
])  # fmt: skip
def test_nobody_is_moved_to_a_worse_model(monkeypatch, sampled, many, final, taken):
    params, path = Params(data="diabetes"), SimpleNamespace(estimators=[object()])
    reported = (many_rows.Way("sample", params, 40, sampled, 1.0, final), many_rows.Way("all", params, 300, many, 1.0))
    lost = many_rows.Lost(15, 30, {"A": 0.1, "B": 0.6})
    for place, name, value in (
        (many_rows, "is_many", lambda params: True),
        (many_rows, "ways", lambda params: reported),
        (paths, "known", lambda params: path),
        (many_rows, "lost", lambda path: lost),
    ):
        monkeypatch.setattr(place, name, value)
    assert (many_rows.may_take(params) is not None) == taken
    known = sampled is not None and final
    assert many_rows.best(reported) is (
        (reported[0] if sampled > many else max(reported[:2], key=lambda way: way.score)) if known else None
    )
    short = many_rows.falls_short(params)
    assert (short is lost) == (known and sampled > many)
    assert lost.worst == "B"


@pytest.mark.parametrize(("way", "reason"), [("", True), (SAMPLE, False), (LOW_RANK, False)])
def test_the_sample_is_said_to_stay_shown_only_where_nobody_chose_it(monkeypatch, way, reason):
    said: list[str] = []
    monkeypatch.setattr(many_rows, "falls_short", lambda params: many_rows.Lost(MOST_LANDMARKS, 30, {"A": 0.6}))
    monkeypatch.setattr(explore_many_rows.st, "markdown", said.append)
    explore_many_rows._short(Params(data="diabetes", way=way))
    assert [("the sample stays shown" in words, "approximation error of A is 60 %" in words) for words in said] == [
        (reason, True)
    ]


def test_what_cannot_be_approximated_says_so_and_goes_on_with_exact_kernels():
    params = Params(data="diabetes", way=LOW_RANK, algorithm="smkl")
    assert "works on Gram matrices alone" in low_rank.why_not(params)
    assert not low_rank.in_use(params)
    assert paths.key(params) == paths.key(low_rank.exactly(params))
    assert "without a target" in low_rank.why_not(Params(data="ring", way=LOW_RANK))
    hinge = Params(data="breast_cancer", algorithm="gomp", settings=(("loss", "hinge"),))
    assert not many_rows.starts_unasked(hinge)


def test_features_are_scored_on_rows_left_out_a_few_at_a_time(monkeypatch):
    train, rest = DATA.split(0.5, seed=0)
    stack = mkl.Nystroem(12).features(KERNELS, train.X)
    path = mkl.fit_path(mkl.GOMPRegressor(kernels=KERNELS, n_kernels=2), stack, train.y, "lam", [1e-3, 1e-1])
    monkeypatch.setattr("mklcore.paths.held_out.BLOCK_MB", 8e-6 * stack.transform.numbers_per_row * 50)
    reported = []
    found = scored_on(path, stack, rest.X, rest.y, callback=lambda *k: reported.append(k))
    assert reported[-1] == (5, 5)
    np.testing.assert_allclose(found.val_score, [model.score(rest.X, rest.y) for model in path.estimators], rtol=1e-9)


def test_a_system_on_features_is_solved_as_the_whole_matrix_is():
    stack = mkl.Nystroem(12).features(KERNELS, DATA.X)
    random = np.random.default_rng(0)
    theta, h = np.array([0.5, 0.0, 1.0, 2.0]), random.uniform(1e-3, 10.0, DATA.n_samples)
    table, total, rows = stack.table.astype(float), FactoredSum(stack, theta), np.arange(0, DATA.n_samples, 3)
    K, right = (table * stack.spread(theta)) @ table.T, random.standard_normal((DATA.n_samples, 3))
    np.testing.assert_allclose(total.solve(right, h), np.linalg.solve(K + np.diag(h), right), rtol=1e-6, atol=1e-8)
    plain = np.linalg.solve(K + 2.0 * np.eye(len(K)), right)
    np.testing.assert_allclose(total.solve(right, 2.0), plain, rtol=1e-6, atol=1e-8)
    for some in (np.arange(len(K)), rows, rows[:5]):  # all, more of them than features, and fewer
        expected = np.linalg.solve(K[np.ix_(some, some)] + np.diag(h[some]), right[some])
        np.testing.assert_allclose(total.solve_block(some, h[some], right[some]), expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(total.diagonal(), np.diag(K), rtol=1e-6)
    found = total.solve_block(np.arange(len(K)), np.zeros(len(K)), right)
    lifted = factored._NEARLY * float(total.diagonal().mean())
    np.testing.assert_allclose(found, FactoredSum(stack, theta).solve(right, lifted), rtol=1e-9)


def test_kernels_that_tie_are_certified_on_features():
    twice = KERNELS + mkl.KernelDictionary((mkl.Linear(), mkl.Linear(), mkl.RBF(1.0, relative=True)))
    y = np.where(DATA.y > np.median(DATA.y), 1.0, -1.0)
    model = mkl.LpMKLClassifier(p=1.0, C=3.0, kernels=twice, approximation=mkl.Nystroem(40)).fit(DATA.X, y)
    assert model.status_.ok
    assert model.history_[0].note.startswith("lp interior point")
    assert model.relative_gap_ < 1e-3
