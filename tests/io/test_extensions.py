"""One class and one line in a registry: it then stands in the library, on its page, in the export
and in a saved file.
"""

import re
import runpy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import mklcore as mkl
from mklcore.data.samples import Sample
from mklcore.figures import style
from mklcore.gallery.experiments import EXPERIMENTS, Experiment, Outcome
from mklcore.gallery.experiments.claims import Check, Claim
from mklcore.io.catalog import ESTIMATORS, Control
from mklcore.kernels.dictionary_text import read_entries, write_entries
from mklcore.kernels.functions import KERNELS, KernelEntry, KernelSpec
from mklcore.lp.reweighting import Reweighting
from mklcore.lp.schedule import SOLVERS
from mklcore.parameters import Parameter
from mklcore.problem.losses import Loss
from mklcore.problem.penalties import LpNorm, Penalty
from pages.shared.export import scripts
from pages.shared.session import parameters
from tests.helpers.every import every
from tests.helpers.models import reloaded
from tests.helpers.pages import FEW, open_app, quiet, words


@pytest.fixture(scope="module")
def table():
    X = np.random.default_rng(0).standard_normal((40, 3))
    return X, X[:, 0] + 0.1 * X[:, 1] ** 3


SMALL = {"data": "diabetes", "widths": "1", "degree": "0", "each": "none", **FEW}


@pytest.fixture
def exported(monkeypatch, tmp_path):
    """Run what Explore exports at these parameters, none of which may be refused, and return its
    text and its names.
    """

    def run(**query):
        params, refused = parameters.read_link(query)
        assert refused == ()
        text = scripts.script(scripts.cells(params))
        monkeypatch.chdir(tmp_path)
        (tmp_path / "screen.py").write_text(text, encoding="utf-8")
        return text, runpy.run_path("screen.py")

    return run


def model_of(exported, **query):
    """The first model along the path of an export that imports its newcomer."""
    text, names = exported(**query)
    assert "import tests.io.test_extensions\n" in text
    return names["found"].path.estimators[0]


# A kernel


@dataclass(frozen=True, repr=False)
class Scaled(KernelSpec):
    """k(x, z) = strength x'z."""

    strength: float = 1.0

    family: ClassVar[str] = "scaled"
    base: ClassVar[str] = "inner"

    @property
    def title(self):
        return f"scaled {self.strength:g}"

    def fill(self, base, upper, out):
        np.copyto(out, base)
        with np.errstate(all="ignore"):  # entries below the diagonal are undefined when `upper`
            out *= self.strength


SCALED = KernelEntry(
    "scaled", "Scaled", Scaled, "s\\,x^\\top z", "A straight line, steeper.",
    (Parameter("strength", "Strength", "real", 2.0, 0.0, 9.0, "Larger: steeper."),),
)  # fmt: skip


def test_a_kernel(monkeypatch, table, exported):
    monkeypatch.setitem(KERNELS, "scaled", SCALED)
    X, y = table
    kernels = mkl.KernelDictionary((Scaled(3.0), mkl.Linear()))
    stack = kernels.grams(X, normalise=None)
    assert stack.values[0] == pytest.approx(3.0 * stack.values[1])
    assert style.family_hues()["scaled"] not in [
        hue for key, hue in style.family_hues().items() if key != "scaled"
    ]
    assert write_entries(read_entries("scaled3.5@*;~scaled@1", 3)) == "scaled3.5@*;~scaled@1"
    again = reloaded(mkl.LpMKLRegressor(kernels=kernels).fit(X, y))
    assert again.kernels == kernels

    page = open_app("pages/kernels/page.py", data="diabetes", others="scaled", each="scaled")
    assert "scaled" in page.multiselect(key="field_others").options
    assert "scaled, every column" in page.selectbox(key="field_each").options
    shown = page.selectbox(key="field_shown").options
    assert "scaled 2" in shown
    assert "scaled 2, age" in shown

    assert model_of(exported, data="diabetes", edited="scaled3.5@*;lin@*").kernels.specs[
        0
    ] == Scaled(3.5)


# A loss


@dataclass(frozen=True)
class Steep(Loss):
    """V = k |y - t|."""

    steepness: float = 1.0

    name: ClassVar[str] = "steep"
    label: ClassVar[str] = "steep"
    formula: ClassVar[str] = r"k|y_i-t_i|"
    tasks: ClassVar[tuple[str, ...]] = ("regression",)
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "steepness", "Steepness k", "log", 1.0, 0.01, 100.0, "Larger: every error costs more."
        ),
    )
    machine: ClassVar[str] = "svm"
    piecewise_linear: ClassVar[bool] = True

    def __post_init__(self):
        object.__setattr__(self, "slopes", (-self.steepness, self.steepness))

    def value(self, t, y):
        return self.steepness * np.abs(y - t)

    def best_intercept(self, f, y):
        return float(np.median(y - f))


def test_a_loss(monkeypatch, table, exported):
    monkeypatch.setitem(mkl.LOSSES, "steep", Steep)
    X, y = table
    for p in (1.0, 2.0):
        model = mkl.LpMKLRegressor(loss="steep", p=p).fit(X, y)
        assert model.status_.ok
        assert model.dual_gap_ >= 0
    assert reloaded(mkl.LpMKLRegressor(loss=Steep(3.0)).fit(X, y)).loss == Steep(3.0)

    page = open_app("pages/explore/page.py", loss="steep", **SMALL)
    box = page.selectbox(key="open_loss")
    assert "steep" in box.options
    assert box.value == "steep"
    assert page.select_slider(key="setting_steepness_log").value == 1.0

    assert model_of(exported, loss="steep", steepness="2.0", **SMALL).loss == Steep(2.0)


# A penalty


@dataclass(frozen=True)
class Tight(Penalty):
    """||share theta||_2 <= 1: the weights of the lp norm at p = 2, smaller by a factor."""

    share: float = 2.0

    name: ClassVar[str] = "tight"
    help: ClassVar[str] = "smaller weights"
    problem: ClassVar[str] = r"\tfrac{s}{2}\|w\|_{2,4/3}^2"
    look_for: ClassVar[str] = "Nothing new."
    cannot_tell: ClassVar[str] = "Anything."
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("share", "Share s", "log", 2.0, 0.1, 10.0, "Larger: smaller weights."),
    )

    def start(self, M):
        return LpNorm(2.0).start(M) / self.share

    def scale(self, weights):
        return LpNorm(2.0).scale(weights) / self.share

    def regulariser(self, n):
        return self.share * LpNorm(2.0).regulariser(n)

    def conjugate(self, Q):
        return LpNorm(2.0).conjugate(Q) / self.share

    def update(self, weights, Q):
        return LpNorm(2.0).update(weights, Q) / self.share


def test_a_penalty(monkeypatch, table, exported):
    monkeypatch.setitem(mkl.PENALTIES, "tight", Tight)
    X, y = table
    model = mkl.LpMKLRegressor(penalty=Tight(4.0), C=4.0).fit(X, y)
    plain = mkl.LpMKLRegressor(p=2.0, C=1.0).fit(X, y)
    assert model.status_.ok
    assert model.objective_ == pytest.approx(4.0 * plain.objective_, rel=2e-3)
    assert reloaded(model).penalty == Tight(4.0)
    lp = ESTIMATORS["lp"]
    assert lp.estimator("regression", norm="tight", share=3.0).penalty == Tight(3.0)
    assert Tight.problem in lp.words_for({"norm": "tight"}).formula

    page = open_app("pages/explore/page.py", data="diabetes", norm="tight")
    assert "tight" in page.selectbox(key="setting_norm_choice").options
    assert page.select_slider(key="setting_share_log").value == 2.0

    assert model_of(exported, norm="tight", share="5.0", **SMALL).penalty == Tight(5.0)


# A solver


class Plodding(Reweighting):
    """The analytic update under another name."""


def test_a_solver(monkeypatch, table, exported):
    monkeypatch.setitem(SOLVERS, "plodding", Plodding)
    X, y = table
    model = mkl.LpMKLRegressor(p=2.0, solver="plodding").fit(X, y)
    assert model.objective_ == pytest.approx(
        mkl.LpMKLRegressor(p=2.0).fit(X, y).objective_, rel=2e-3
    )
    assert reloaded(model).solver == "plodding"

    page = open_app("pages/explore/page.py", solver="plodding", **SMALL)
    assert page.selectbox(key="setting_solver_choice").value == "plodding"
    assert model_of(exported, solver="plodding", p="2.0", **SMALL).solver == "plodding"


# An algorithm, with a control of its own


class Halved(mkl.UniformMKLRegressor):
    """The plain sum of kernels at a share of the cost."""

    def __init__(
        self, C=1.0, loss="squared", epsilon=0.1, share=0.5, *, kernels=None, normalise="auto", center=False,
        fit_intercept=True, tol=1e-3, max_iter=500, random_state=None, callback=None,
    ):  # fmt: skip
        super().__init__(
            C, loss, epsilon, kernels=kernels, normalise=normalise, center=center, fit_intercept=fit_intercept, tol=tol,
            max_iter=max_iter, random_state=random_state, callback=callback,
        )  # fmt: skip
        self.share = share


def test_an_algorithm(monkeypatch, table, exported):
    uniform = ESTIMATORS["uniform"]
    share = Control(
        "share", "Share", "log", 0.5, "Smaller: a smoother fit.", 0.01, 1.0, tasks=("regression",)
    )
    mine = replace(
        uniform,
        key="halved",
        label="Halved sum",
        regressor=Halved,
        controls=(*uniform.controls, share),
        presets=(),
    )
    monkeypatch.setitem(ESTIMATORS, "halved", mine)
    X, y = table
    assert reloaded(Halved(share=0.25).fit(X, y)).share == 0.25

    page = open_app("pages/explore/page.py", data="diabetes", algorithm="halved")
    assert page.selectbox(key="field_algorithm").value == "halved"
    assert "Halved sum" in page.selectbox(key="field_algorithm").options
    assert page.select_slider(key="setting_share_log").value == 0.5

    assert model_of(exported, algorithm="halved", share="0.2", **SMALL).share == 0.2


# A sample


def steps():
    X = np.random.default_rng(1).standard_normal((60, 2))
    return mkl.Dataset(X, np.sign(X[:, 0]) + X[:, 1], ("jump", "slope"), "height", "regression")


def test_a_sample(monkeypatch, exported):
    monkeypatch.setitem(
        mkl.SAMPLES, "steps", Sample("Steps", "regression", "A jump and a slope.", steps)
    )
    assert mkl.load_sample("steps").feature_names == ("jump", "slope")
    page = open_app("pages/data/page.py", data="steps")
    assert "jump" in "\n".join(
        map(str, [words(page), *(frame.value.to_string() for frame in page.dataframe)])
    )

    text, names = exported(data="steps", widths="1", degree="0", each="none")
    assert "data = mkl.load_sample('steps')" in text
    assert names["data"].target_name == "height"


# An experiment


def test_an_experiment(monkeypatch):
    tiny = Experiment(
        "tiny_one",
        "A tiny one",
        "Nobody (2000)",
        "Counted to one.",
        (Claim("It is one.", "section 1", (Check("between", ("n",), low=0.9, high=1.1),)),),
        "Nothing.",
        "row",
        ("a",),
        ("n",),
        "count",
        2,
        lambda line: [1.0],
        "Nobody",
        {"a": (1.0,)},
    )
    monkeypatch.setitem(EXPERIMENTS, "tiny_one", tiny)
    found = mkl.EXPERIMENTS["tiny_one"].run(2)
    assert Outcome.from_json(found.to_json()).mean == pytest.approx(found.mean)
    page = open_app("pages/experiments/page.py", experiment="tiny_one")
    assert "Counted to one." in words(page)
    assert "Nobody (2000)" in page.selectbox(key="paper").options
    assert page.radio(key="field_experiment").options == ["A tiny one"]


@every("base, part", [
    (mkl.estimators.base.KernelEstimator, "_solve"), (mkl.estimators.greedy.BudgetedEstimator, "_run"),
])  # fmt: skip
def test_an_estimator_that_lacks_a_part_is_refused_with_its_name(base, part):
    with pytest.raises(TypeError, match=f"abstract class Half .*{part}"):
        type("Half", (base,), {})()


# What the documentation shows

EXTEND = Path(__file__).resolve().parents[2] / "docs" / "extend"


@every("page", sorted(page.name for page in EXTEND.glob("*.md")))
def test_every_example_has_less_than_thirty_lines(page):
    for block in re.findall(
        r"```p\w+\n(.*?)```", (EXTEND / page).read_text(encoding="utf-8"), re.S
    ):
        assert len([line for line in block.splitlines() if line.strip(" .>")]) < 30


def test_the_page_of_the_documentation_is_drawn():
    (code,) = re.findall(
        r"```python\n(.*?)```", (EXTEND / "page.md").read_text(encoding="utf-8"), re.S
    )
    page = quiet(AppTest.from_string(code, default_timeout=300).run())
    assert len(page.dataframe[0].value) == mkl.load_sample("breast_cancer").n_features
