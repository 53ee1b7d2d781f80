"""What one term does, over one column or two: against the model itself, with its standard error,
and its pictures.
"""

import numpy as np
import pytest

from mklcore import Dataset, KernelDictionary, LpMKLRegressor, decompose
from mklcore.estimators.inspection.curves import term_effect
from mklcore.figures import bars, term_bars, term_plot
from tests.helpers.every import every
from tests.helpers.refusals import parameter_error


def made(n=200, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    size = rng.uniform(-1, 1, n)
    other = rng.uniform(-1, 1, n)
    color = rng.integers(0, 3, n)
    X = np.column_stack([size, other, color == 0, color == 1, color == 2, color == 0])
    y = size**2 + size * other + 0.5 * (color == 1) + noise * rng.standard_normal(n)
    return Dataset(
        X, y, ("size", "other", "color=r", "color=g", "color=b", "flag=yes"),
        columns=(("size", (0,)), ("other", (1,)), ("color", (2, 3, 4)), ("flag", (5,))),
    )  # fmt: skip


def fitted(data, C=30.0):
    pairs = [("size", "other"), ("size", "color"), ("color", "flag")]
    kernels = KernelDictionary.interactions(data, candidates=pairs)
    return LpMKLRegressor(kernels=kernels, p=2, C=C, loss="squared").fit(data.X, data.y)


@pytest.fixture(scope="module")
def model():
    data = made()
    return data, fitted(data)


def test_an_effect_over_its_axis_is_what_the_term_adds_to_the_rows(model):
    data, fit = model
    parts = decompose(fit, data).parts
    size, color = (term_effect(fit, data, [name]) for name in ("size", "color"))
    values = parts.values(data.X, [("size",), ("color",)])[..., 0]
    of_rows, of_colors = values - values.mean(axis=1, keepdims=True)
    assert np.interp(data.X[:, 0], size.axes[0].at, size.values) == pytest.approx(of_rows, abs=0.02)
    assert color.values[data.X[:, 2:5].argmax(axis=1)] == pytest.approx(of_colors)


def test_a_surface_is_the_function_that_it_comes_from_and_axes_have_names(model):
    data, fit = model
    surface = term_effect(fit, data, ["size", "other"])
    truth = np.outer(surface.axes[1].at, surface.axes[0].at)
    assert np.corrcoef(surface.values.ravel(), truth.ravel())[0, 1] > 0.97
    turned = term_effect(fit, data, ["other", "size"])
    assert turned.values == pytest.approx(surface.values.T, abs=1e-9)
    assert term_effect(fit, data, ["color"]).axes[0].names == ("r", "g", "b")
    assert term_effect(fit, data, ["flag"]).axes[0].names == ("not yes", "yes")


@every(
    "columns, message",
    [
        ((), "one or two"),
        (("size", "nobody"), "one or two"),
        (("other", "flag"), "no term of other × flag"),
    ],
)
def test_what_has_no_effect_is_refused(model, columns, message):
    data, fit = model
    with parameter_error(message):
        term_effect(fit, data, columns)


# Pictures


@pytest.mark.parametrize("dark", [False, True])
def test_the_pictures_say_what_they_show(model, dark, monkeypatch):
    monkeypatch.setattr(bars, "MOST_TERMS", 3)
    data, fit = model
    terms = decompose(fit, data).terms
    shares = term_bars(terms, dark=dark)
    assert sum(shares.data[0].x) == pytest.approx(1.0)
    assert list(shares.data[0].x[:3]) == sorted(shares.data[0].x[:3], reverse=True)
    assert "act together have" in shares.layout.meta["alt"]
    assert shares.layout.yaxis.ticktext[-1] == f"{len(terms) - 3} others"
    assert list(term_plot(term_effect(fit, data, ["color"]), dark=dark).data[0].x) == [
        "r",
        "g",
        "b",
    ]
    surface = term_plot(term_effect(fit, data, ["size", "color"]), dark=dark)
    heat = surface.data[0]
    assert heat.zmin == -heat.zmax
    assert list(heat.y) == ["r", "g", "b"]
    assert "beyond what each adds alone" in surface.layout.meta["alt"]
