"""The Theory page and what it measures: bounds beside measurements, vacuity explained, nothing shown that is not
known.
"""

import dataclasses
import io

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import mklcore as mkl
from mklcore import figures, theory
from mklcore.errors import DataError, KernelError, ParameterError
from mklcore.estimators import GOMPRegressor
from mklcore.estimators.greedy import GreedyMKLRegressor
from mklcore.figures import Curve, style
from mklcore.figures.paths import norm_positions
from mklcore.penalties import LpNorm
from mklcore.solvers.gomp import GOMP
from pages._parts.derive import bounds, tables
from pages._parts.params.parameters import Params
from pages._parts.theory import lp, tabs
from pages.shared import work
from tests.pages import go, memory, open_app, quiet, table, upload, wait_until, words
from tests.reference_greedy import KERNELS, TARGETS

P1, P2, Y1 = KERNELS["P1"], KERNELS["P2"], TARGETS["P1"]
SIGNS = np.where(np.median(Y1) < Y1, 1.0, -1.0)
HALF = slice(0, 28), slice(28, 40)
SMALL = {"data": "iris", "widths": "2", "each": "linear"}
NORMS = [1.0, 4 / 3, 2.0, np.inf]


def halves(K: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    train, test = HALF
    return np.ascontiguousarray(K[:, train, train]), y[train], np.ascontiguousarray(K[:, test, train]), y[test]


def orthogonal(count: int = 4, n: int = 24, rank: int = 3) -> np.ndarray:
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0]
    return np.array([n * Q[:, rank * j : rank * (j + 1)] @ Q[:, rank * j : rank * (j + 1)].T for j in range(count)])


def settled(app: AppTest) -> AppTest:
    """Run until the session's job has ended and the page has seen it."""
    wait_until(lambda: not work.WORK._tasks)
    return quiet(app.run())


def theory_page(tab: str, **query: str) -> AppTest:
    return settled(open_app("pages/theory.py", theory=tab, **{**SMALL, **query}))


# What is measured


def test_the_block_norm_is_that_of_the_penalty_at_the_optimum():
    """At the optimum ||w||_{2,q}^2 = sum ||w_m||^2 / theta_m with ||theta||_p = 1, which is a'K a for K = sum theta_m
    K_m.
    """
    K, y, X, labels = halves(P1, SIGNS)
    found = theory.measure_lp(K, y, X, labels, NORMS, 1.0, tol=1e-7)
    for p, B, decisions in zip(NORMS, found.norms, found.decisions, strict=True):
        fit = theory.measured.fit_weighted(K, y, 1.0, theory.measured.make_loss("hinge"), LpNorm(p), False, tol=1e-7)
        assert fit.dual_coef @ decisions == pytest.approx(B**2, rel=2e-3)
        assert theory.block_norm(K, fit.weights, fit.dual_coef, p) == pytest.approx(B, rel=2e-3)
        assert found.objective(1.0)[NORMS.index(p)] == pytest.approx(fit.objective, rel=1e-5)
    assert found.gaps.max() <= 1e-7


def test_lp_measures_errors_and_margin_risks():
    K, y, X, labels = halves(P1, SIGNS)
    reported: list[tuple[int, int]] = []
    found = theory.measure_lp(K, y, X, labels, NORMS, callback=lambda *step: reported.append(step))
    assert reported[0] == (0, 4)
    assert reported[-1] == (4, 4)
    wrong = [np.mean(np.sign(d) != labels) for d in found.held_out]
    assert found.error == pytest.approx(wrong)
    by_hand = [np.mean([min(1, max(0, 1 - t * f / 0.5)) for t, f in zip(y, d, strict=True)]) for d in found.decisions]
    assert found.margin_risk(0.5) == pytest.approx(by_hand)
    with pytest.raises(DataError, match="two classes"):
        theory.measure_lp(K, Y1[:28], X, labels, NORMS)
    with pytest.raises(DataError, match="do not fit"):
        theory.measure_lp(K, y[:-1], X, labels, NORMS)


def test_a_measurement_can_be_cancelled_from_its_callback():
    def stop(done: int, total: int) -> None:
        raise InterruptedError

    K, y, X, labels = halves(P1, SIGNS)
    for run in (
        lambda: theory.measure_lp(K, y, X, labels, NORMS, callback=stop),
        lambda: theory.measure_gomp(K, y, X, labels, 0.1, callback=stop),
        lambda: theory.measure_greedy(K, y, callback=stop),
        lambda: theory.measure_recovery(K, [0], 0.1, callback=stop),
        lambda: theory.gomp_coherences(K, [0], 0.1, stop),
    ):
        with pytest.raises(InterruptedError):
            run()


def test_gomp_measures_what_the_estimator_predicts():
    K, y, X, labels = halves(P1, Y1)
    found = theory.measure_gomp(K, y, X, labels, 0.02)
    for size in (1, 3):
        model = GOMPRegressor(0.02, size, 0.0, kernels="precomputed", fit_intercept=False).fit(K, y)
        assert found.held_out[size - 1] == pytest.approx(np.mean((model.predict(X) - labels) ** 2))
        assert found.order[:size] == tuple(model.selected_)
        total = K[list(model.selected_)].sum(axis=0)
        assert found.tau[size - 1] == pytest.approx(model.dual_coef_ @ total @ model.dual_coef_)
    assert np.all(found.held_out_error > 0)


def test_the_rate_bound_holds_at_every_measured_step():
    for share in (0.02, 0.2):
        found = theory.measure_greedy(P1 * 3.0, Y1, share)  # any scale: kernels are divided by their largest k(x, x)
        assert np.all(np.diff(found.objective) <= 1e-12)
        assert found.lam == pytest.approx(share * found.critical)
        for d, excess in zip(found.d[1:], found.excess[1:], strict=True):
            assert excess <= theory.greedy_rate_bound(found.norm, int(d))
        assert found.excess[-1] == pytest.approx(0.0, abs=1e-6)
    with pytest.raises(ParameterError, match="share"):
        theory.measure_greedy(P1, Y1, 1.5)


def test_the_risk_bound_is_fed_the_steps_of_algorithm_2():
    """Repeats count as steps; the loss of f* comes from Algorithm 1, which has no steps in the sense of Theorem 5."""
    found = theory.measure_greedy(P1 * 3.0, Y1, 0.02, steps=12)
    tops = (P1 * 3.0).diagonal(axis1=1, axis2=2).max(axis=1)
    scaled = P1 * 3.0 / tops[:, None, None]
    model = GreedyMKLRegressor("empirical", n_kernels=12, kernels="precomputed", fit_intercept=False).fit(scaled, Y1)
    assert found.empirical == pytest.approx([record.objective for record in model.history_])
    one = GreedyMKLRegressor(lam=found.lam, kernels="precomputed", fit_intercept=False, tol=1e-8).fit(scaled, Y1)
    assert found.loss == pytest.approx(np.mean((Y1 - one.predict(scaled)) ** 2) / 2, rel=1e-5)
    assert len(found.order) < 12


def test_nothing_to_measure_is_refused():
    with pytest.raises(DataError, match="No kernel explains"):
        theory.measure_greedy(P1, np.zeros(40))


def test_orthogonal_kernels_are_recovered_and_noise_hides_them():
    clear = theory.measure_recovery(orthogonal(), [1, 3], 0.01, noise=0.05, draws=20)
    assert (clear.hits, clear.draws, clear.good) == (20, 20, (1, 3))
    assert 0 < clear.standard_error < 0.1
    drowned = theory.measure_recovery(orthogonal(), [1, 3], 0.01, noise=20.0, draws=20)
    assert drowned.hits < 15
    with pytest.raises(ParameterError, match="good must name kernels"):
        theory.measure_recovery(orthogonal(), [7], 0.01)


def test_coherence_is_the_largest_of_its_parts():
    whole, parts = theory.gomp_coherence(P2, [0, 3], 0.01), theory.gomp_coherences(P2, [0, 3], 0.01)
    assert parts.others.tolist() == [1, 2, 4, 5]
    assert (whole.lower, whole.upper) == (parts.lower.max(), parts.upper.max())
    assert theory.gomp_coherences(P2, range(6), 0.01).others.size == 0
    assert theory.gomp_coherence(orthogonal(), [0], 0.1).value == pytest.approx(0.0, abs=1e-6)


def test_the_rows_needed_are_those_at_which_the_bound_speaks():
    given = {"B": 3.0, "R": 2.0, "delta": 0.1}
    for p in (1.0, 1.7, np.inf):
        n = theory.lp_rows_needed(0.2, p, 20, lipschitz=2.0, **given)
        assert theory.lp_margin_bound(0.2, p, 20, n, margin=0.5, **given) == pytest.approx(1.0)
    assert theory.lp_rows_needed(1.0, 2.0, 20) == np.inf
    n = theory.gomp_rows_needed(0.5, 3, 2.0, 4.0, 1.0, 0.05)
    assert theory.gomp_risk_bound(3, 2.0, 4.0, n, 1.0, 0.05) == pytest.approx(0.5)


def test_the_radius_bounds_every_kernel_on_the_rows():
    K = P1 * np.arange(1.0, 9.0)[:, None, None]
    assert theory.kernel_radius(K) ** 2 == pytest.approx(np.einsum("mii->mi", K).max())


# Figures


def dashes(figure) -> set[str]:
    return {trace.line.dash or "solid" for trace in figure.data if trace.mode == "lines"}


@pytest.mark.parametrize("dark", [False, True])
def test_a_bound_is_solid_where_it_speaks_and_dashed_where_it_is_vacuous(dark):
    curves = [
        Curve("the bound", np.array([0.5, 0.8, 2.0, 4.0])),
        Curve("error", np.full(4, 0.1), "test", np.full(4, 0.01)),
    ]
    figure = figures.bound_curves([1, 2, 3, 4], curves, x_title="s", y_title="error", level=1.0, dark=dark)
    assert dashes(figure) == {"solid", "dash"}
    assert "A bound of 1 or more says nothing" in figure.layout.meta["alt"]
    assert "the bound from 0.5 to 4" in figure.layout.meta["alt"].lower()
    assert figure.layout.paper_bgcolor == "rgba(0,0,0,0)"
    assert dashes(figures.bound_curves([1, 2, 3, 4], curves, x_title="s", y_title="e", level=9.0)) == {"solid"}
    assert dashes(figures.bound_curves([1, 2, 3, 4], curves, x_title="s", y_title="e", level=0.2)) == {"dash"}


def test_the_axis_of_norms_ends_with_infinity():
    assert norm_positions([1, 16, np.inf]).tolist() == [1, 16, 32]
    curve = Curve("the bound", np.array([3.0, 1.0, 2.0]))
    figure = figures.bound_curves([np.inf, 1.0, 16.0], [curve], x_title="p", y_title="Rad", kind="norm")
    assert figure.layout.xaxis.ticktext[-1] == "∞"
    assert list(figure.data[0].x) == [1, 16, 32]  # in order, whatever the order given
    assert list(figure.data[0].y) == [1, 2, 3]


def test_what_cannot_be_drawn_is_left_out():
    nothing = figures.bound_curves([1, 2], [Curve("b", np.array([np.nan, np.inf]))], x_title="s", y_title="e")
    assert "Nothing to draw" in nothing.layout.meta["alt"]
    partly = figures.bound_curves([1, 2], [Curve("b", np.array([0.0, 2.0]))], x_title="s", y_title="e")
    assert np.isnan(partly.data[0].y[0])


def test_coherences_are_hollow_where_they_are_not_certain():
    figure = figures.coherence_dots(["a", "b"], [0.5, 0.9], [0.5, 1.2])
    marks = figure.data[-1].marker
    assert marks.color[1] != marks.color[0] == "#FFFFFF"  # b comes first: its upper bound is larger
    assert "largest is b with 1.2; 1 are below 1" in figure.layout.meta["alt"]
    assert "Every kernel is among the good ones" in figures.coherence_dots([], [], []).layout.meta["alt"]


def test_the_shares_of_the_counterexample_are_drawn_one_by_one():
    found = mkl.duplicate_counterexample(copies=4)
    figure = figures.duplicate_bars(found)
    assert sum(bar.x[0] for bar in figure.data) == pytest.approx(3.0)
    assert len(figure.data) == 2 + 5 + 5
    assert found.words in figure.layout.meta["alt"]


# The page


@pytest.mark.parametrize("tab", tabs.TABS)
def test_every_theorem_has_its_picture_and_says_whether_it_speaks(tab):
    app = theory_page(tab)
    said = words(app)
    assert not app.error
    assert len(app.get("plotly_chart")) >= 1
    assert tabs.TABS[tab].paper in said
    assert "What to look for." in said
    assert "What it cannot tell." in said
    assert "vacuous here" in said or "says something here" in said or tab == "duplicates"


@pytest.mark.parametrize("sample", ["diabetes", "breast_cancer"])
@pytest.mark.parametrize("tab", tabs.TABS)
def test_every_kind_of_target_is_dealt_with(tab, sample):
    app = theory_page(tab, data=sample, widths="1", each="none", hull_columns="1,2,3")
    assert not app.error
    reported = "this target is a number" in words(app)
    assert reported == (tabs.TABS[tab].measured == "lp" and sample == "diabetes")


def test_the_two_forms_and_the_steps_move_with_their_sliders():
    app = theory_page("conversions")
    found = bounds.known(memory(app).params, "lp")
    R, J = found.regulariser[0], found.objective(1.0)[0]
    for s in (2.0, 0.5):
        twin = mkl.ivanov_to_tikhonov(J, R, 1.0, s)
        reported = f"that of C̃ = {style.number(twin.C_tilde)} and μ = {style.number(twin.mu)}, whose weights"
        assert reported in words(app)
        quiet(app.select_slider(key="field_theory_scale").set_value(0.5).run())
    app = theory_page("decay", theory_gamma="2.0")
    for gamma in (2.0, 5.0):
        steps = theory.greedy_steps_bound(gamma, 1e-3)
        assert f"After {style.number(float(np.ceil(steps)))} steps Theorem 4" in words(app)
        quiet(app.select_slider(key="field_theory_gamma").set_value(5.0).run())


def test_sliders_start_at_the_numbers_of_the_table():
    app = theory_page("lp")
    params = memory(app).params
    kernels = app.select_slider(key="field_theory_kernels")
    assert (kernels.value, app.select_slider(key="field_theory_rows").value) == (8, 74)
    assert params.theory_kernels == params.theory_rows == 0
    assert "The bound is drawn for" not in words(app)
    quiet(app.select_slider(key="field_theory_rows").set_value(1_000_000).run())
    assert memory(app).params.theory_rows == 1_000_000
    assert "The bound is drawn for M = 8 and n = 1 × 10⁶; the measurements are from 8 kernels and 74 rows" in words(app)
    assert "says something here" in words(app)
    quiet(app.select_slider(key="field_theory_rows").set_value(74).run())
    assert memory(app).params.theory_rows == 0


def test_another_class_is_another_target():
    app = theory_page("lp")
    params = memory(app).params
    assert bounds._key(params, "lp") != bounds._key(dataclasses.replace(params, theory_class=2), "lp")
    box = app.selectbox(key="field_theory_class")
    settled(box.set_value(2).run())
    assert memory(app).params.theory_class == 2
    assert bounds.known(memory(app).params, "lp") is not None


def test_large_tables_are_measured_on_request(monkeypatch):
    monkeypatch.setattr(bounds, "SMALL_ENTRIES", 1.0)
    app = theory_page("gomp", seed="11")
    assert "Measuring takes a while here" in words(app)
    assert bounds.known(memory(app).params, "gomp") is None
    app.button(key="measure").click().run()
    assert "is smallest at s =" in words(settled(app))


def test_the_last_picture_stays_while_the_next_is_measured(monkeypatch):
    app = theory_page("gomp", seed="12")
    monkeypatch.setattr(bounds, "SMALL_ENTRIES", 1.0)
    quiet(app.select_slider(key="field_theory_lam").set_value(0.5).run())
    assert "answers the settings before these" in words(app)
    assert len(app.get("plotly_chart")) == 2


def test_a_failed_measurement_is_reported(monkeypatch):
    def refuse(*rows, **options):
        raise KernelError("The kernel is not square.")

    monkeypatch.setattr(theory, "measure_gomp", refuse)
    app = theory_page("gomp", seed="13")
    assert "The kernel is not square" in words(app)


def test_an_empty_dictionary_is_refused():
    app = theory_page("lp", widths="0", linear="no", degree="0", each="none")
    assert "The dictionary is empty" in words(app)


def test_one_kernel_is_not_enough_for_the_norms():
    app = theory_page("lp", widths="1", linear="no", degree="0", each="none")
    assert "the dictionary holds one" in words(app)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("theory", "nonsense"),
        ("theory_delta", "2"),
        ("theory_margin", "0"),
        ("theory_copies", "1"),
        ("theory_good", "a"),
    ],
)
def test_a_bad_link_is_refused(name, value):
    app = open_app("pages/theory.py", **{**SMALL, name: value})
    assert f"{name} = '{value}', but {name} has to be" in words(app).replace("\\", "")


def test_a_kernel_stack_is_measured_like_any_dictionary():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    file = io.BytesIO()
    np.savez(file, K=np.einsum("im,jm->mij", X, X), y=(X[:, 0] > 0).astype(int))
    app = open_app(theory="gomp")
    app.file_uploader(key="uploader").upload("stack.npz", file.getvalue(), "application/zip").run()
    assert "is smallest at s =" in words(settled(go(quiet(app), "pages/theory.py")))
    app.segmented_control(key="field_theory").set_value("recovery").run()
    assert "made targets" in words(settled(app))
    app.segmented_control(key="field_theory").set_value("hkl").run()
    assert "the upload is a ready kernel stack without them" in words(quiet(app))


@pytest.mark.parametrize("tab", tabs.TABS)
def test_a_table_without_a_target_says_what_it_lacks(tab, monkeypatch):
    table = tables.table
    monkeypatch.setattr(
        tables, "table", lambda params: dataclasses.replace(table(params), task="novelty", class_names=())
    )
    app = open_app("pages/theory.py", theory=tab, **SMALL)
    reported = words(settled(app))
    assert ("Choose one on the Data page" in reported) == (tab in tabs.NEED_TARGET)
    assert ("this table has no target" in reported) == (tabs.TABS[tab].measured == "lp")


def test_kernels_a_dictionary_lacks_are_left_out_of_the_good_ones():
    assert "theory_good" not in words(theory_page("recovery", theory_good="2,900"))
    assert theory_page("recovery", theory_good="2,900").multiselect(key="field_theory_good").value == [1]


def test_what_is_measured_on_an_upload_stays_with_its_session():
    app = upload(open_app(theory="gomp", widths="2"), table())
    settled(go(app, "pages/theory.py"))
    params = memory(app).params
    kept = [key for key in work.WORK._kept if key[1] == bounds._key(params, "gomp")]
    assert [secret != "" for secret, _ in kept] == [True]


def test_the_measured_path_is_that_of_the_solver():
    params = Params(data="iris", widths=2, each="linear")
    kernels, y, cross, labels = bounds.rows(params)()
    found = theory.measure_gomp(kernels, y, cross, labels, 0.01, 3)
    method = GOMP(kernels.values, y[:, None], 0.01, n_kernels=1, score_tol=0.0)
    start = method.init()
    first = method.step(start, start, None)
    assert found.order[0] == first.selected[0]
    assert set(np.unique(y)) == {-1.0, 1.0}


def test_the_bound_that_is_drawn_pays_for_reading_p_and_the_norm_off_the_fits(monkeypatch):
    from pages._parts.theory import lp

    monkeypatch.setattr(lp.derive_bounds, "sizes", lambda params: (20, 5000))
    monkeypatch.setattr(lp.derive_bounds, "radius", lambda params: 1.0)
    y = np.array([1.0, -1.0])
    found = theory.LpMeasured(
        np.array([1.0, 2.0]), np.array([1.1, 3.0]), np.zeros(2), np.ones((2, 2)), np.ones((2, 2)), y, y
    )
    drawn, given = lp._bounds(Params(), found), {"margin": Params().theory_margin, "delta": Params().theory_delta}
    for p, B, bound, risk in zip(found.p, found.norms, drawn, found.margin_risk(given["margin"]), strict=True):
        assert bound > theory.lp_margin_bound(risk, p, 20, 5000, B=B, **given)  # as if both had been fixed beforehand
        choices = 2 * theory.NORM_GRID.size
        rounded = theory.lp_norm_on_grid(B)
        assert bound == pytest.approx(theory.lp_margin_bound(risk, p, 20, 5000, B=rounded, choices=choices, **given))


def test_a_smaller_norm_gives_a_smaller_bound_on_fewer_models(monkeypatch) -> None:
    found = theory.measure_lp(*halves(orthogonal_kernels(), SIGNS), NORMS, 1.0)
    monkeypatch.setattr(bounds, "sizes", lambda params: (4, 28))
    limit = float(np.sort(found.norms)[1])
    one, two = (lp._bounds(Params(theory_bound=limit, theory_radius=R), found) for R in (1.0, 2.0))
    assert np.array_equal(np.isfinite(one), found.norms <= limit)
    three = lp._bounds(Params(theory_bound=limit, theory_radius=3.0), found)
    np.testing.assert_allclose(three - two, two - one)  # the price is B R times what p, M and n make of it


def orthogonal_kernels() -> np.ndarray:
    return orthogonal(n=len(SIGNS))
