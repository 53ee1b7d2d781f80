"""Tasks of a person who knows scikit-learn, each as it would be typed; answers and their files are
in test_frames.
"""

import os
import shutil
from dataclasses import dataclass

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.special import entr
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight

import mklcore as mkl
from mklcore import (
    RBF,
    AlignedMKLRegressor,
    AutoMKLClassifier,
    BestKernelClassifier,
    Dataset,
    FeatureScalingRegressor,
    GOMPRegressor,
    GreedyMKLRegressor,
    HKLRegressor,
    JointMKLRegressor,
    KernelDictionary,
    Linear,
    LpMKLClassifier,
    LpMKLRegressor,
    PolynomialBasis,
    SequenceDictionary,
    SMKLRegressor,
    Spectrum,
    UniformMKLClassifier,
    decompose,
    fit_path,
    read_table,
)
from mklcore.io import launcher
from mklcore.problem.losses import Loss
from tests.helpers.every import every
from tests.helpers.refusals import data_error, parameter_error

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["age", "bmi", "dose"])
Y = X.age + X.bmi * X.dose
CLASSES = np.digitize(X.age, [-0.5, 0.5])
STRINGS = ["".join(RNG.choice(list("ACGT"), RNG.integers(8, 14))) for _ in range(60)]
FEW = [RBF(1.0), Linear()]


def test_a_pipeline_is_searched_over_C_and_p():
    steps = Pipeline([("scale", StandardScaler()), ("mkl", LpMKLClassifier(kernels=FEW))])
    found = GridSearchCV(steps, {"mkl__C": [0.1, 10.0], "mkl__p": [1.0, 2.0]}, cv=2).fit(X, CLASSES)
    assert found.best_score_ > 0.8


def test_a_list_of_kernels_is_a_dictionary_and_anything_else_is_refused_by_name():
    model = LpMKLRegressor(kernels=FEW).fit(X, Y)
    assert model.kernel_names_ == ("RBF 1", "linear")
    for kernels, held in (([RBF(1.0), 3], "a list of RBF, int"), ([], "a list"), (3, "a int")):
        with parameter_error(f"a list of kernels such as .* got {held}"):
            LpMKLRegressor(kernels=kernels).fit(X, Y)


@every("rows", [STRINGS, np.array(STRINGS), pd.Series(STRINGS)])
def test_strings_are_rows_in_folds_pipelines_and_clones(rows):
    y = np.array([text.count("A") > 2 for text in STRINGS])
    kernels = SequenceDictionary([Spectrum(1), Spectrum(2)])
    model = Pipeline([("mkl", LpMKLClassifier(kernels=kernels))])
    assert cross_val_score(model, rows, y, cv=3).mean() > 0.8
    assert_array_equal(
        clone(model).fit(rows, y).predict(rows[:9]), model.fit(STRINGS, y).predict(STRINGS[:9])
    )


@every(
    "model",
    [LpMKLRegressor(), GOMPRegressor(), HKLRegressor(basis=PolynomialBasis(2))],
)
def test_models_of_a_frame_name_its_columns_everywhere(model):
    fitted = clone(model).fit(X, Y)
    assert (
        fitted.feature_names_in_.tolist()
        == [name for name, _ in fitted.source_columns_]
        == list(X.columns)
    )
    assert any("dose" in name for name in fitted.kernel_names_)
    bare = clone(model).fit(X.to_numpy(), Y)
    assert [name for name, _ in bare.source_columns_] == ["x0", "x1", "x2"]
    assert any("x2" in name for name in bare.kernel_names_)


def test_a_model_of_a_frame_is_decomposed_without_a_warning():
    model = LpMKLRegressor(kernels=KernelDictionary.per_feature([RBF(1.0)], 3)).fit(X, Y)
    found = decompose(model, read_table(X.assign(y=Y), "y"))
    assert found.terms[0].columns == ("age",)


@dataclass(frozen=True)
class LogCosh(Loss):
    """A smooth loss of one's own, whose dual was forgotten."""

    name = "log cosh"
    label = "log cosh"
    formula = r"\log\cosh(y_i-t_i)"
    tasks = ("regression",)
    machine = "smooth"
    smooth = True
    slopes = (-1.0, 1.0)

    def value(self, t, y):
        return np.logaddexp(y - t, t - y) - np.log(2.0)

    def best_intercept(self, f, y):
        return float(np.median(y - f))


def test_a_smooth_loss_without_its_dual_is_refused_and_says_what_to_write():
    with parameter_error(r"'log cosh' is smooth and has no dual .* write dual\(a, y, C\)"):
        LpMKLRegressor(loss=LogCosh()).fit(X, Y)


class LogCoshWithDual(LogCosh):
    """The same, whole: V* (u) = u y + ((1 + u) log(1 + u) + (1 - u) log(1 - u)) / 2."""

    least_curvature = 1.0

    def derivative(self, t, y):
        return np.tanh(t - y)

    def second_derivative(self, t, y):
        return 1.0 - np.tanh(t - y) ** 2

    def dual(self, a, y, C):
        if np.any(np.abs(a) > C):
            return -np.inf
        return float(np.sum(a * y + C * (entr(1.0 + a / C) + entr(1.0 - a / C)) / 2.0))

    def curvature(self, a, y, C):
        return 1.0 / (C * np.maximum(1.0 - (a / C) ** 2, 1e-12))

    def best_multiple(self, a, y, C, norm):
        return 1.0

    def best_intercept(self, f, y):
        return float(
            brentq(lambda b: np.tanh(f + b - y).sum(), (y - f).min() - 1.0, (y - f).max() + 1.0)
        )


def test_a_smooth_loss_of_ones_own_with_its_dual_is_solved_and_certified():
    model = LpMKLRegressor(loss=LogCoshWithDual(), kernels=FEW, C=10.0).fit(X, Y)
    assert model.status_.ok
    assert 0.0 <= model.relative_gap_ < 1e-2
    assert model.score(X, Y) > 0.8


def test_weights_of_four_methods_are_one_picture_and_a_file(tmp_path, monkeypatch):
    models = {
        "p = 1": LpMKLRegressor(kernels=FEW), "GOMP": GOMPRegressor(kernels=FEW),
        "greedy": GreedyMKLRegressor(kernels=FEW), "hull": HKLRegressor(basis=PolynomialBasis(2)),
    }  # fmt: skip
    figure = mkl.figures.compare_weights({name: model.fit(X, Y) for name, model in models.items()})
    assert all(abs(sum(bars.x) - 1.0) < 1e-9 for bars in figure.data)
    mkl.figures.save(figure, tmp_path / "weights.html")
    assert "plotly" in (tmp_path / "weights.html").read_text(encoding="utf-8")
    with parameter_error(r"written as \.html or \.png"):
        mkl.figures.save(figure, tmp_path / "weights.txt")
    monkeypatch.setattr("mklcore.figures.saving.find_spec", lambda name: None)
    with parameter_error(r"pip install 'mklcore\[export\]'"):
        mkl.figures.save(figure, tmp_path / "weights.png")


@pytest.mark.browser
def test_a_figure_is_saved_as_png(tmp_path, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", os.environ.get("CHROMIUM") or shutil.which("chromium") or "")
    figure = mkl.figures.waterfall([3.0, -1.0], (("size", (0,)), ("city", (1, 2, 3))), 10.0)
    mkl.figures.save(figure, tmp_path / "row.png", width=400, height=200)
    assert (tmp_path / "row.png").read_bytes().startswith(b"\x89PNG")


def test_automkl_is_scored_by_the_log_loss_in_folds():
    data, y = load_iris(return_X_y=True, as_frame=True)
    assert cross_val_score(AutoMKLClassifier(), data, y, cv=3, scoring="neg_log_loss").mean() > -0.5


def test_several_outputs_have_a_model_of_their_own():
    both = np.column_stack([Y, X.bmi])
    with data_error("the target has 2 columns: use JointMKLRegressor"):
        LpMKLRegressor().fit(X, both)
    assert JointMKLRegressor(kernels=FEW).fit(X, both).predict(X).shape == (60, 2)


def test_weights_of_classes_are_weights_of_rows_on_paths_and_in_processes():
    weights = compute_sample_weight("balanced", CLASSES)
    plain = LpMKLClassifier(kernels=FEW).fit(X, CLASSES, sample_weight=weights)
    balanced = LpMKLClassifier(kernels=FEW, class_weight="balanced")
    path = fit_path(balanced, X, CLASSES, "C", [1.0])
    with joblib.parallel_config(backend="threading"):
        at_once = clone(balanced).set_params(n_jobs=2).fit(X, CLASSES)
    for other in (balanced.fit(X, CLASSES), path.estimators[0], at_once):
        assert_allclose(other.dual_coef_, plain.dual_coef_, atol=1e-9)
    assert fit_path(GOMPRegressor(kernels=FEW), X, Y, "n_kernels", [1, 2]).param == "s"
    for kind in (UniformMKLClassifier, BestKernelClassifier):
        by_rows = kind(kernels=FEW).fit(X, CLASSES, sample_weight=weights)
        by_class = kind(kernels=FEW, class_weight="balanced").fit(X, CLASSES)
        assert_allclose(by_class.dual_coef_, by_rows.dual_coef_, atol=1e-9)
    with pytest.raises(AttributeError, match="pass probability=True"):
        _ = plain.predict_proba


@every(
    "kind",
    [
        GOMPRegressor,
        GreedyMKLRegressor,
        SMKLRegressor,
        HKLRegressor,
        AlignedMKLRegressor,
        JointMKLRegressor,
        FeatureScalingRegressor,
    ],
)
def test_a_method_that_cannot_weigh_rows_says_so_by_name(kind):
    refused = f"{kind.__name__} takes no sample_weight: every row counts once"
    for given in ((X, Y), (Dataset(X, Y, sample_weight=np.ones(60)),)):
        more = {"sample_weight": np.ones(60)} if len(given) == 2 else {}
        with parameter_error(refused):
            kind().fit(*given, **more)


def test_the_command_writes_the_answer_as_one_page(tmp_path, capsys):
    X.assign(price=Y).to_csv(tmp_path / "table.csv", index=False)
    page = tmp_path / "page.html"
    assert (
        launcher.main([str(tmp_path / "table.csv"), "--target", "price", "--out", str(page)]) == 0
    )
    said = capsys.readouterr().out
    assert said.startswith("Predicting price")
    assert "price" in page.read_text(encoding="utf-8")
    assert launcher.main(["--out", str(page)]) == 2
    assert launcher.main(["table.csv", "--target", "price"]) == 2
    errors = capsys.readouterr().err
    assert "Name the table whose answer is to be written" in errors
    assert "name it with --out PAGE.html" in errors
