"""A table without a target in the app: Data, Kernels, Explore, Predict, exports, and the pages that need one."""

import runpy
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import mklcore as mkl
from mklcore.paths.path import ACCEPTED
from pages._parts.derive import paths, predictions
from pages._parts.export import scripts
from pages._parts.params import link, places
from pages._parts.params.algorithms import METHODS
from pages._parts.params.parameters import Params
from tests.pages import go, memory, open_app, quiet, table, upload, wait_for_path, wait_until, words

RING = {"data": "ring", "widths": "3", "p": "2.0"}


def explore(**query: str) -> AppTest:
    return wait_for_path(open_app("pages/explore.py", True, **{**RING, **query}))


def test_the_sample_goes_from_data_to_predict() -> None:
    app = open_app(**RING)
    assert "one-class (anomaly detection)" in words(app)
    assert "has the largest effective rank" in words(go(app, "pages/kernels.py"))
    app = wait_for_path(go(app, "pages/explore.py"))
    assert "✓ certified" in words(app)
    assert type(memory(app).answer.path.estimators[0]) is mkl.LpMKLOneClass


@pytest.mark.parametrize("look", ["columns", "path", "inside"])
@pytest.mark.parametrize("param", ["C", "p"])
def test_every_view_of_explore_says_what_the_score_is_and_starts_in_the_middle(look: str, param: str) -> None:
    app = explore(look=look, path=param)
    path, said = memory(app).answer.path, words(app)
    assert path.score_name == ACCEPTED
    assert places.place(path, None).index == len(path) // 2
    assert f"validation {ACCEPTED}" in said
    assert "cannot choose the parameter" in said
    assert "Without a target no score" in said
    assert "✓ certified" in said
    assert all(chart.proto.alt for chart in app.get("plotly_chart"))
    assert ("The baselines need a target." in said) == (look == "columns")
    assert ("Line: the boundary" in said) == (look == "inside")
    assert not app.error


def test_only_methods_that_learn_without_a_target_are_offered() -> None:
    app = explore()
    names = app.selectbox(key="field_algorithm").options
    assert names == [METHODS["lp"].label]
    every = list(METHODS)
    assert METHODS.offered("multiclass") == METHODS.offered("binary", chosen="joint") == every
    assert METHODS.offered("binary") == [key for key in every if key != "joint"]


@pytest.mark.parametrize("algorithm", [name for name in METHODS if name != "lp"])
def test_other_methods_say_that_they_need_a_target_and_lead_on(algorithm: str) -> None:
    app = open_app("pages/explore.py", **RING, algorithm=algorithm)
    assert f"{METHODS[algorithm].label} needs a target" in words(app)
    app.button(key="take_lp").click().run()
    assert memory(app).params.algorithm == "lp"
    assert "✓ certified" in words(wait_for_path(quiet(app)))


def test_an_exact_value_the_test_score_and_refits_work_without_a_target() -> None:
    app = explore(at="0.0123")
    assert "Refits the model at C = 0.0123" in words(app)
    app.button(key="show_test").click().run()
    assert f"test {ACCEPTED}" in words(quiet(app))
    params = memory(app).params
    solved = paths.point(params, 0.0123)
    assert solved.statuses[0].ok
    app.button(key="ask_frequency").click().run()
    wait_until(lambda: "At least one kernel used" in words(quiet(app)), app)


@pytest.mark.parametrize("at", [None, 0.0123])
def test_the_code_of_the_screen_gives_the_same_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: float | None
) -> None:
    app = explore(**({} if at is None else {"at": str(at)}))
    params = memory(app).params
    script = tmp_path / "screen.py"
    script.write_text(scripts.script(scripts.cells(params, "explore")), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    ran = runpy.run_path(str(script))
    here = predictions.chosen(params)
    assert here is not None
    assert ran["point"].values[ran["index"]] == pytest.approx(here.value)
    assert ran["fitted"].objective_ == pytest.approx(here.fitted.objective_, rel=1e-6)


def test_an_uploaded_table_without_a_target_is_learnt() -> None:
    app = upload(open_app(widths="2"), table().replace(b"label", b"dose"))
    app.selectbox(key="field_task").set_value("novelty").run()
    app.selectbox(key="field_target").set_value("").run()
    app = wait_for_path(go(quiet(app), "pages/explore.py"))
    assert "✓ certified" in words(app)
    assert not app.error


def test_labels_in_the_file_are_not_used() -> None:
    app = upload(open_app(widths="2", look="inside"), table())
    app.selectbox(key="field_task").set_value("novelty").run()
    app.selectbox(key="field_target").set_value("label").run()
    app = wait_for_path(go(quiet(app), "pages/explore.py"))
    assert "Line: the boundary" in words(app)
    assert not app.error


@pytest.mark.parametrize(
    ("page", "said"), [("compare", "no target"), ("hulls", "target"), ("theory", "target"), ("experiments", "")]
)
def test_pages_that_need_a_target_say_so(page: str, said: str) -> None:
    app = open_app(f"pages/{page}.py", **RING)
    assert said in words(app)


def test_a_link_about_the_ring_restores_it() -> None:
    params = Params(data="ring", path="p", settings=(("C", 0.05),))
    assert link.read(link.text(params)) == (params, ())
