"""The registry is what the app is built from: controls that act, presets that hold, norms by
choice.
"""

import inspect

import numpy as np
import pytest

from mklcore import GramStack, KernelDictionary, Linear, alignment_matrix
from mklcore.io.catalog import ESTIMATORS, EVERY_TASK
from mklcore.io.catalog.controls import NORMS
from mklcore.problem.penalties import columns_seen, make_terms
from pages.shared.session import parameters
from tests.helpers.every import every
from tests.helpers.project import run_python
from tests.helpers.refusals import parameter_error

METHODS = pytest.mark.parametrize("method", ESTIMATORS.values(), ids=lambda method: method.key)


@pytest.fixture(scope="module")
def stack():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    kernels = KernelDictionary.rbf_grid([0.5, 1.0]) + KernelDictionary.per_feature(Linear(), 3)
    return kernels.grams(X), X[:, 0] > 0


@METHODS
def test_what_is_reported_of_the_estimators_without_importing_them_is_so(method):
    both = [inspect.signature(kind).parameters for kind in (method.classifier, method.regressor)]
    assert method.is_approximable == all("approximation" in one for one in both)
    for kind in (method.classifier, method.regressor):
        assert method.normalise == getattr(kind, "default_normalise", None)
    for task in ("binary", "regression") if "C" in method.path_params else ():
        has_loss = any(one.name == "loss" and task in one.tasks for one in method.controls)
        assert has_loss == ("loss" in inspect.signature(method.kind(task)).parameters)


@every("method", parameters.METHODS.values())
def test_every_control_is_a_parameter_or_is_made_into_one(method):
    made = {"norm": "penalty", "q": "penalty", "mu": "penalty", "delta": "loss", "quantile": "loss"}
    for control in method.controls:
        kinds = (method.classifier, method.regressor)
        wanted = [
            kind
            for kind, tasks in zip(kinds, (("binary", "multiclass"), ("regression",)), strict=True)
            if set(tasks) & set(control.tasks)
        ]
        for kind in wanted:
            assert made.get(control.name, control.name) in inspect.signature(kind).parameters
        assert control.help.endswith(".")
        assert control.default in control.choices or control.kind != "choice"
        if control.when is not None:
            other = [c for c in method.controls if c.name == control.when[0]]
            assert other
            assert set(control.when[1]) <= {choice for one in other for choice in one.choices}


@METHODS
@every("task", EVERY_TASK)
def test_presets_are_states_of_the_controls(method, task):
    for preset in method.presets:
        if task not in preset.tasks:
            continue
        for name, value in preset.settings:
            control = next(c for c in method.controls if c.name == name and task in c.tasks)
            assert parameters.accepts(control, value)
        assert not preset.path or preset.path in method.path_params
        assert preset.help.endswith(".")
    offered = [preset.label for preset in method.presets if task in preset.tasks]
    assert len(set(offered)) == len(offered)
    assert method.on == "table" or 2 <= len(offered) <= 4


@every(
    "key, task, path, changed, shown, hidden",
    [
        ("lp", "binary", "C", {}, {"p", "norm", "solver", "loss"}, {"C", "q", "epsilon"}),
        ("lp", "binary", "C", {"norm": "block norm"}, {"q"}, {"p"}),
        ("lp", "binary", "p", {}, set(), {"p", "norm"}),
        ("lp", "regression", "C", {"loss": "squared"}, set(), {"epsilon"}),
        ("lp", "regression", "C", {"loss": "epsilon_insensitive"}, {"epsilon"}, set()),
        ("greedy", "binary", "s", {"criterion": "empirical"}, {"step"}, {"tol"}),
    ],
)
def test_controls_without_effect_are_not_shown(key, task, path, changed, shown, hidden):
    usual = {control.name: control.default for control in ESTIMATORS[key].controls}
    names = {control.name for control in ESTIMATORS[key].shown(task, path, usual | changed)}
    assert shown <= names
    assert not hidden & names


def test_a_control_that_changes_the_problem_changes_its_formula_and_words():
    lp = ESTIMATORS["lp"]
    greedy = ESTIMATORS["greedy"]
    assert lp.words_for({"norm": "lp"}) is lp
    assert lp.words_for({}) is lp
    words = {lp.words_for({"norm": norm}).formula for norm in NORMS}
    assert len(words) == len(NORMS)
    assert "0.05" in lp.words_for({"norm": "elliptic"}).formula
    assert "lambda" not in greedy.words_for({"criterion": "empirical"}).formula
    assert "no certificate" in greedy.words_for({"criterion": "empirical"}).cannot_tell
    smkl = ESTIMATORS["smkl"]
    assert "local minimum" in smkl.words_for({"terms": "log+gl"}).cannot_tell
    for terms in ("gl", "mkl"):
        assert make_terms(terms).is_convex
        assert "convex" in smkl.words_for({"terms": terms}).cannot_tell


def test_norms_made_from_the_kernels_ask_for_them(stack):
    with parameter_error("made from the kernels: pass stack"):
        ESTIMATORS["lp"].estimator("binary", norm="elliptic")
    grams, _ = stack
    assert columns_seen(grams) == (3.0, 3.0, 1.0, 1.0, 1.0)
    assert columns_seen(GramStack.from_array(grams.values)) == (1.0,) * 5
    alignment = alignment_matrix(grams.values)
    for given in (alignment, lambda: alignment):
        model = ESTIMATORS["lp"].estimator("binary", stack=grams, alignment=given, norm="elliptic")
        assert np.allclose(model.penalty.E, alignment + 0.05 * np.eye(5))


def test_no_candidates_means_all_and_jitter_is_a_number():
    assert ESTIMATORS["gomp"].estimator("binary", n_candidates=0).n_candidates is None
    assert ESTIMATORS["gomp"].estimator("binary", n_candidates=3).n_candidates == 3
    assert ESTIMATORS["smkl"].estimator("binary", init_jitter="0.01").init_jitter == 0.01


def test_methods_are_described_without_their_classes():
    check = (
        "import sys; from mklcore.io.catalog.registry import ESTIMATORS\nfor method in "
        "ESTIMATORS.values():\n    for task in ('binary', 'regression', "
        "'novelty'):\n        method.fits(task), method.shown(task, "
        "method.path_params[0], {}), method.words_for({}, "
        "task)\nprint(*sorted({'sklearn', 'mklcore.estimators.lp', "
        "'mklcore.estimators.base'} & set(sys.modules)))"
    )
    assert run_python("-c", check).strip() == ""
