"""What one term does, over one column or two: against the model itself, with its standard error, and its pictures."""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.answer.effects import half_refits, term_effect
from mklcore.answer.terms import Term, decompose
from mklcore.data.dataset import Dataset
from mklcore.errors import ParameterError
from mklcore.figures import term_bars, term_plot


def made(n=200, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    size, other, color = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n), rng.integers(0, 3, n)
    X = np.column_stack([size, other, color == 0, color == 1, color == 2, color == 0])
    y = size**2 + size * other + 0.5 * (color == 1) + noise * rng.standard_normal(n)
    return Dataset(
        X, y, ("size", "other", "color=r", "color=g", "color=b", "flag=yes"),
        columns=(("size", (0,)), ("other", (1,)), ("color", (2, 3, 4)), ("flag", (5,))),
    )  # fmt: skip


def fitted(data, C=30.0):
    pairs = [("size", "other"), ("size", "color"), ("color", "flag")]
    kernels = mkl.KernelDictionary.interactions(data, candidates=pairs)
    return mkl.LpMKLRegressor(kernels=kernels, p=2, C=C, loss="squared").fit(data.X, data.y)


@pytest.fixture(scope="module")
def model():
    data = made()
    return data, fitted(data)


def test_terms_over_their_axes_add_up_to_the_model(model):
    data, fit = model
    columns = [term.columns for term in decompose(fit, data).terms]
    row = np.array([0.25, 0.5, 0, 1, 0, 0])
    total = 0.0
    for one in columns:
        effect = term_effect(fit, data, one)
        places = []
        for axis in effect.axes:
            members = dict(data.columns)[axis.name]
            if axis.names:
                places.append(int(np.argmax(row[list(members)])) if len(members) > 1 else int(row[members[0]]))
            else:
                places.append(int(np.argmin(np.abs(axis.at - row[members[0]]))))
                row[members[0]] = axis.at[places[-1]] if len(one) == 1 else row[members[0]]
        if len(one) == 1:
            total += effect.values[places[0]]
            continue
        at = np.array(effect.axes[0].at)[places[0]] if not effect.axes[0].names else None
        assert effect.values.shape == (len(effect.axes[1].at), len(effect.axes[0].at))
        assert at is None or abs(at - row[0]) < 0.06
        total += effect.values[places[1], places[0]]
    predicted = fit.predict(row[None])[0] - fit.predict(data.X).mean()
    assert total == pytest.approx(predicted, abs=0.06)  # surfaces are read at the nearest place of a grid


def test_a_curve_and_a_surface_are_the_functions_they_come_from(model):
    data, fit = model
    curve = term_effect(fit, data, ["size"])
    truth = curve.axes[0].at ** 2
    assert np.corrcoef(curve.values, truth)[0, 1] > 0.97
    surface = term_effect(fit, data, ["size", "other"])
    assert np.corrcoef(surface.values.ravel(), np.outer(surface.axes[1].at, surface.axes[0].at).ravel())[0, 1] > 0.97
    turned = term_effect(fit, data, ["other", "size"])
    assert turned.values == pytest.approx(surface.values.T, abs=1e-9)
    assert term_effect(fit, data, ["color"]).axes[0].names == ("r", "g", "b")
    assert term_effect(fit, data, ["flag"]).axes[0].names == ("not yes", "yes")


def test_the_error_is_how_far_refits_on_halves_lie_and_falls_with_the_rows():
    errors = {}
    for n in (100, 400):
        data = made(n, noise=0.3)
        fit = fitted(data, 3.0)
        refits = half_refits(fit, data, pairs=3)
        assert [len(one.training_target_) for one in refits] == [n // 2] * 6
        effect = term_effect(fit, data, ["size"], refits=refits)
        others = [term_effect(one, data, ["size"]).values for one in refits]
        assert effect.error == pytest.approx(
            np.sqrt(np.mean((np.array(others) - effect.values) ** 2, axis=0)), abs=1e-9
        )
        errors[n] = effect.error.mean()
    assert errors[400] < 0.8 * errors[100]


def test_refits_keep_classes_and_can_be_ended():
    data = made()
    classes = Dataset(data.X, (data.y > np.median(data.y)).astype(np.int64), data.feature_names, task="binary")
    fit = mkl.LpMKLClassifier(kernels=mkl.KernelDictionary.interactions(classes, order=1)).fit(classes.X, classes.y)
    heard = []
    halves = half_refits(fit, classes, pairs=1, callback=lambda done, total: heard.append((done, total)))
    assert heard == [(0, 2), (1, 2)]
    assert sum(np.mean(one.training_target_ > 0) for one in halves) == pytest.approx(1.0, abs=0.02)

    fit.callback = heard.append
    by_stack = half_refits(fit, classes, stack=fit.kernels.grams(classes.X), pairs=1)
    assert by_stack[0].score(classes.X, classes.y) == pytest.approx(halves[0].score(classes.X, classes.y), abs=0.1)

    assert len(heard) == 2  # the callback of the model's own fit is left alone

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half_refits(fit, classes, callback=stop)


@pytest.mark.parametrize(
    ("columns", "message"),
    [((), "one or two"), (("size", "nobody"), "one or two"), (("other", "flag"), "no term of other × flag")],
)
def test_what_has_no_effect_is_refused(model, columns, message):
    data, fit = model
    with pytest.raises(ParameterError, match=message):
        term_effect(fit, data, columns)


# Pictures


@pytest.mark.parametrize("dark", [False, True])
def test_the_pictures_say_what_they_show(model, dark):
    data, fit = model
    terms = decompose(fit, data).terms
    bars = term_bars(terms, limit=3, dark=dark)
    assert sum(bars.data[0].x) == pytest.approx(1.0)
    assert list(bars.data[0].x[:3]) == sorted(bars.data[0].x[:3], reverse=True)
    assert "act together have" in bars.layout.meta["alt"]
    assert bars.layout.yaxis.ticktext[-1] == f"{len(terms) - 3} others"
    refits = half_refits(fit, data, pairs=1)
    curve = term_plot(term_effect(fit, data, ["size"], refits=refits), dark=dark)
    assert [trace.name for trace in curve.data[:2]] == ["band", "term"]
    assert "Two standard errors" in curve.layout.meta["alt"]
    assert len(term_plot(term_effect(fit, data, ["size"]), dark=dark).data) == 2
    bar = term_plot(term_effect(fit, data, ["color"], refits=refits), dark=dark)
    assert bar.data[0].error_y.array.size == 3
    surface = term_plot(term_effect(fit, data, ["size", "color"], refits=refits), dark=dark)
    heat = surface.data[0]
    assert heat.zmin == -heat.zmax
    assert list(heat.y) == ["r", "g", "b"]
    assert "beyond what each adds alone" in surface.layout.meta["alt"]


def test_a_term_that_is_rarely_selected_is_grey_and_a_constant_model_says_so():
    terms = [Term(("a",), 0.7, probability=0.9), Term(("b", "c"), 0.3, probability=0.2)]
    first, second = term_bars(terms).data[0].marker.color
    assert first != second
    assert second == mkl.figures.style.theme(False).grey
    assert "constant" in term_bars([]).layout.meta["alt"]
