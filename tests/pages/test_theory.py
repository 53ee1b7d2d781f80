"""Theory: four bounds beside their measurements, in the library and on the page, and what each says
for practice.
"""

import dataclasses

import numpy as np
import pytest

from mklcore import GOMPRegressor, KernelError, figures
from mklcore.figures import Curve
from mklcore.gallery import theory
from pages.shared.values import tables
from tests.helpers.every import every
from tests.helpers.pages import (
    change,
    go,
    memory,
    open_app,
    plain_words,
    press,
    put,
    settled,
    words,
)
from tests.helpers.refusals import data_error, parameter_error
from tests.helpers.stacks import with_stack
from tests.oracles.greedy import KERNELS, TARGETS

P1 = KERNELS["P1"]
P2 = KERNELS["P2"]
Y1 = TARGETS["P1"]
SMALL = {"data": "iris", "widths": "2", "each": "linear"}
NORMS = [1.0, 4 / 3, 2.0, np.inf]
PICTURES = ("lp", "gomp", "greedy", "hkl")


def halves(K, y):
    return (
        np.ascontiguousarray(K[:, :28, :28]),
        y[:28],
        np.ascontiguousarray(K[:, 28:, :28]),
        y[28:],
    )


def theory_page(picture, **query):
    return settled(open_app("pages/theory/page.py", theory=picture, **{**SMALL, **query}))


# What is measured


@every("p", [1.0, 1.5, 2.0, np.inf])
def test_the_complexity_is_the_largest_correlation_with_random_signs(p):
    """sup of (1/n) sum_i s_i f(x_i) over ||w||_{2,q} <= 1, by the gradient of the dual norm, at
    each of the signs.
    """
    n = P1.shape[1]
    q = 2.0 if np.isinf(p) else 2.0 * p / (p + 1.0)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (n, 5))
    best = []
    for s in signs.T:
        # ||sum_i s_i phi_m(x_i)||: the best w_m points there
        norms = np.sqrt([s @ K @ s for K in P1])
        sizes = (norms == norms.max()) * 1.0 if q == 1 else norms ** (1 / (q - 1))
        best.append(sizes @ norms / np.linalg.norm(sizes, q) / n)
    found = theory.measure_complexity(P1, [p], draws=5)
    assert found.mean[0] == pytest.approx(np.mean(best))
    assert found.error[0] == pytest.approx(np.std(best, ddof=1) / np.sqrt(5))


def test_a_complexity_needs_two_draws_and_the_radius_is_that_of_the_largest_row():
    assert theory.kernel_radius(P1) ** 2 == pytest.approx(np.einsum("mii->mi", P1).max())
    with parameter_error("draws must be 2 or more"):
        theory.measure_complexity(P1, NORMS, draws=1)


def test_gomp_measures_what_the_estimator_predicts():
    K, y, X, labels = halves(P1, Y1)
    found = theory.measure_gomp(K, y, X, labels, 0.02)
    for size in (1, 3):
        model = GOMPRegressor(0.02, size, 0.0, kernels="precomputed", fit_intercept=False).fit(K, y)
        assert found.held_out[size - 1] == pytest.approx(np.mean((model.predict(X) - labels) ** 2))
        total = K[list(model.selected_)].sum(axis=0)
        assert found.tau[size - 1] == pytest.approx(model.dual_coef_ @ total @ model.dual_coef_)
    assert np.all(found.held_out_error > 0)
    with data_error("do not fit"):
        theory.measure_gomp(K, y[:-1], X, labels, 0.02)


def test_the_rate_bound_holds_at_every_measured_step():
    for share in (0.02, 0.2):
        # any scale: kernels are divided by their largest k(x, x)
        found = theory.measure_greedy(P1 * 3.0, Y1, share)
        assert np.all(np.diff([found.start, *found.excess]) <= 1e-12)
        for d, excess in zip(found.d[1:], found.excess[1:], strict=True):
            assert excess <= theory.greedy_rate_bound(found.norm, int(d))
        assert found.excess[-1] == pytest.approx(0.0, abs=1e-6)
    with parameter_error("share"):
        theory.measure_greedy(P1, Y1, 1.5)
    with data_error("No kernel explains"):
        theory.measure_greedy(P1, np.zeros(40))


def test_a_measurement_can_be_cancelled_from_its_callback():
    def stop(done, total):
        raise InterruptedError

    K, y, X, labels = halves(P1, Y1)
    for run in (
        lambda: theory.measure_complexity(K, NORMS, callback=stop),
        lambda: theory.measure_gomp(K, y, X, labels, 0.1, callback=stop),
        lambda: theory.measure_greedy(K, y, callback=stop),
    ):
        with pytest.raises(InterruptedError):
            run()


def test_the_rows_needed_are_those_at_which_the_bound_speaks():
    n = theory.gomp_rows_needed(0.5, 3, 2.0, 4.0, 1.0, 0.05)
    assert theory.gomp_risk_bound(3, 2.0, 4.0, n, 1.0, 0.05) == pytest.approx(0.5)


# The figure


def dashes(figure):
    return {trace.line.dash or "solid" for trace in figure.data if trace.mode == "lines"}


@every("dark", [False, True])
def test_a_bound_is_solid_where_it_speaks_and_dashed_where_it_is_vacuous(dark):
    curves = [
        Curve("the bound", np.array([0.5, 0.8, 2.0, 4.0])),
        Curve("error", np.full(4, 0.1), "test", np.full(4, 0.01)),
    ]

    def drawn(level):
        axes = {"x_title": "s", "y_title": "error"}
        return figures.bound_curves([1, 2, 3, 4], curves, **axes, level=level, dark=dark)

    figure = drawn(1.0)
    assert dashes(figure) == {"solid", "dash"}
    assert "A bound of 1 or more says nothing" in figure.layout.meta["alt"]
    assert "the bound from 0.5 to 4" in figure.layout.meta["alt"].lower()
    assert dashes(drawn(9.0)) == {"solid"}
    assert dashes(drawn(0.2)) == {"dash"}
    nothing = figures.bound_curves(
        [1, 2], [Curve("b", np.array([np.nan, np.inf]))], x_title="s", y_title="e"
    )
    assert "Nothing to draw" in nothing.layout.meta["alt"]


def test_the_axis_of_norms_ends_with_infinity():
    curve = Curve("the bound", np.array([3.0, 1.0, 2.0]))
    figure = figures.bound_curves(
        [np.inf, 1.0, 16.0], [curve], x_title="p", y_title="Rad", kind="norm"
    )
    assert figure.layout.xaxis.ticktext[-1] == "∞"
    assert list(figure.data[0].x) == [1, 16, 32]  # in order, whatever the order given
    assert list(figure.data[0].y) == [1, 2, 3]


# The page


@every(
    "picture, data", list(zip(PICTURES, ("diabetes", "iris", "iris", "breast_cancer"), strict=True))
)
def test_every_picture_begins_with_what_is_seen_and_what_follows(picture, data):
    app = theory_page(picture, data=data, hull_columns="1,2,3")
    said = words(app)
    assert not app.error
    assert len(app.get("plotly_chart")) == 1
    assert (
        said.index("For practice:")
        < said.index("What is measured.")
        < said.index("What it cannot tell.")
    )
    sliders = {"gomp": "theory_lam", "greedy": "theory_share"}
    assert {one.key for one in app.select_slider} == (
        {f"field_{sliders[picture]}"} if picture in sliders else set()
    )
    of_class = [one.key for one in app.selectbox if one.key == "field_theory_class"]
    assert len(of_class) == (data == "iris" and picture != "lp")


def test_the_theorem_promises_no_infinite_distance():
    said = words(settled(open_app("pages/theory/page.py", data="iris", theory="greedy")))
    assert "**After 1 kernel the loss is within " in said
    assert "the theorem speaks from the second kernel on.**" in said
    assert "∞" not in said.partition("For practice")[0]


def test_another_class_and_another_slider_are_another_measurement():
    app = theory_page("gomp")
    first = words(app)
    settled(put(app, "field_theory_class", 2))
    second = words(app)
    settled(put(app, "field_theory_lam", 1.0))
    assert len({first, second, words(app)}) == 3
    assert (memory(app).params.theory_class, memory(app).params.theory_lam) == (2, 1.0)


def test_large_tables_are_measured_on_request_and_a_failure_is_reported(monkeypatch):
    def refuse(*rows, **options):
        raise KernelError("The kernel is not square.")

    monkeypatch.setattr(theory, "measure_gomp", refuse)
    assert "The kernel is not square" in words(theory_page("gomp", seed="13"))
    app = theory_page("gomp", data="digits")
    assert "Measuring takes a while on this table" in words(app)
    assert "not square" not in words(app)
    press(app, "measure")
    assert "The kernel is not square" in words(settled(app))


@every("widths, said", [("0", "The dictionary is empty"), ("1", "the dictionary holds one")])
def test_what_cannot_be_drawn_is_refused_in_a_sentence(widths, said):
    app = theory_page("lp", widths=widths, linear="no", degree="0", each="none")
    assert said in plain_words(app)


def test_a_kernel_stack_is_measured_like_any_dictionary():
    app = go(change(with_stack(), theory="gomp"), "pages/theory/page.py")
    assert "is smallest at s =" in words(settled(app))
    put(app, "field_theory", "hkl")
    assert "A hull is built from columns, and this upload has none" in words(app)


def test_a_table_without_a_target_has_the_picture_that_needs_none(monkeypatch):
    table = tables.table
    monkeypatch.setattr(
        tables,
        "table",
        lambda params: dataclasses.replace(table(params), task="novelty", class_names=()),
    )
    for picture in ("lp", "hkl"):
        said = words(theory_page(picture))
        assert ("Choose one on the Data page" in said) == (picture != "lp"), picture
