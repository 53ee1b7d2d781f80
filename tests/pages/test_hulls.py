"""The Hulls page without a browser: the chain of answers, the cursor, exact hulls, nodes, scores,
settings, refusals.
"""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from mklcore.answer.hulls import hull_verdict
from mklcore.errors import NotConvergedWarning
from mklcore.estimators.hkl import HKLRegressor
from mklcore.figures import captions, style
from mklcore.hkl import baselines, stability
from mklcore.hkl.bases import BASES, GaussianBasis
from mklcore.io.catalog.controls import COLUMN_BASES
from mklcore.paths.path import fit_path
from mklcore.problem.driver import Status
from pages.shared.session.parameters import Params
from pages.shared.values import hulls, tables
from pages.shared.widgets import drawing, players
from pages.shared.work import work
from tests.helpers.every import every
from tests.helpers.pages import (
    FEW,
    PATIENCE,
    csv,
    go,
    in_session,
    memory,
    open_app,
    press,
    put,
    quiet,
    settled,
    shown_players,
    table,
    upload,
    wait_for_hulls,
    wait_until,
    words,
)
from tests.helpers.stacks import with_stack

SMALL = {"data": "diabetes", "hull_columns": "3,4,9", "hull_degree": "2"}


def at_hulls(**query):
    return open_app("pages/hulls/page.py", **query)


def ready(**query):
    return wait_for_hulls(at_hulls(**query))


def data_of(app):
    """What the component in the browser was given."""
    return shown_players(app, "hull_player")[0]


def components(app):
    """The chart of what the chosen node adds, if there is one."""
    return [chart for chart in app.get("plotly_chart") if chart.key == "hull_component"]


def path_of(app):
    with in_session(app):
        return hulls.known(memory(app).params)


def report(app, name, **said):
    """Let the browser speak."""
    before = dict(app.session_state["hull_player"]) if "hull_player" in app.session_state else {}
    spoken = {name: {**said, "time": time.monotonic()}}
    app.session_state["hull_player"] = {"report": None, "picked": None, **before, **spoken}
    return quiet(app.run())


def release(app, index, turn=1):
    """Let the cursor go at an index."""
    return report(app, "report", index=index, turn=turn)


def click(app, node):
    """Click a node of the graph or the grid."""
    return report(app, "picked", node=node)


def three_columns(part):
    """The columns bmi, bp and s5 of a part of diabetes."""
    return part.select([2, 3, 8])


# The answer


@every("sample, kernels", [("breast_cancer", "243"), ("iris", "81")])
def test_a_hull_ends_with_its_certificate_and_says_out_of_how_many_kernels(sample, kernels):
    app = ready(data=sample, hull_columns="1,2,3,4,5", hull_degree="2")
    said = words(app)
    assert "verified: certified] within" in said
    assert f"over all **{kernels}** kernels" in said
    assert hulls.METHOD.look_for in said
    assert hulls.METHOD.cannot_tell in said
    assert ("the union of their hulls" in said) == (sample == "iris")
    assert not app.error
    assert not app.warning


def test_the_headline_is_the_verdict_on_held_out_rows_about_the_hull_that_was_chosen():
    app = ready(**SMALL)
    for _ in range(2):
        wait_until(lambda: "held-out rows)" in words(app), app)
        params = memory(app).params
        path = path_of(app)
        train = three_columns(hulls.parts(params).train)
        best = path.estimators[path.first_look]
        said = hull_verdict(best, train, three_columns(hulls.held_out(params)))
        assert said.sentence(lambda name: f"**{name}**", "Diabetes") in words(app)
        used = {
            name for name, level in zip(("bmi", "bp", "s5"), best.relevance_, strict=True) if level
        }
        assert {*said.chance, *(one.name for one in said.matters)} == used
        release(app, 2)


def test_pure_noise_is_no_sign_of_a_relation(rng):
    noise = csv(dict(zip("abcy", rng.standard_normal((4, 160)).round(3), strict=True)))
    app = wait_for_hulls(go(upload(open_app(), noise), "pages/hulls/page.py"))
    wait_until(lambda: "held-out rows)" in words(app), app)
    assert "no sign of a relation" in words(app)
    assert "predict it" not in words(app)


def test_a_large_table_has_its_rows_drawn_and_its_columns_ranked(monkeypatch):
    monkeypatch.setattr(hulls, "ROWS", 90)
    monkeypatch.setattr(hulls, "JUDGES", 50)
    app = ready(**SMALL, seed="31")  # samples' hulls are everybody's: no other test shall see these
    params = memory(app).params
    said = words(app)
    assert "Trained on 90 of 220 training rows, chosen on 50 of 111 validation rows" in said
    assert "validation rows, drawn at random. The test score" in said
    assert path_of(app).estimators[0].n_train_ == 90
    wait_until(lambda: "columns used" in words(app), app)
    found = next(iter(app.dataframe)).value
    assert set(found["column"]) == {"bmi", "bp", "s5"}
    assert found["column"].iloc[0] in ("bmi", "s5")
    whole = hulls.parts(replace(params, hull_rows=220))
    assert (len(whole.train.y), len(whole.validation.y)) == (220, 50)


@pytest.mark.threads
def test_provisional_hulls_stand_until_the_certified_ones_are_there_and_are_not_scored(monkeypatch):
    gate = threading.Event()
    fit = hulls.fit_path

    def held(asked, *args, **more):
        if asked.search == "certified":
            gate.wait(PATIENCE)
        return fit(asked, *args, **more)

    monkeypatch.setattr(hulls, "fit_path", held)
    app = at_hulls(**SMALL, seed="3")
    wait_until(lambda: "radio_button_unchecked: provisional]" in words(app), app)
    said = words(app)
    drawn = data_of(app)
    assert "interactions can be missing altogether" in said
    assert "Not scored" in said
    assert "validation R²" not in said
    assert not any(button.key == "show_test" for button in app.button)
    assert app.number_input(key="hull_exact").disabled
    assert {(state["badge"], state["certified"]) for state in drawn["states"]} == {
        ("provisional", False)
    }
    assert not any("R²" in state["status"] for state in drawn["states"])
    gate.set()
    wait_for_hulls(app)
    assert "verified: certified]" in words(app)
    assert {state["badge"] for state in data_of(app)["states"]} == {"certified"}
    assert hulls.known(memory(app).params) is not None


def test_a_hull_without_certificate_says_how_far_it_is_from_one_and_which_control_helps():
    app = ready(
        data="diabetes",
        hull_columns="1,3,4,5,9",
        hull_degree="3",
        hull_more="max_nodes=10;depth_weight=2",
    )
    path = path_of(app)
    index = next(k for k in range(len(path)) if not path.estimators[k].certified_)
    release(app, index)
    said = words(app)
    assert f"not certified] gap **{style.percent(float(path.relative_gap[index]))}**" in said
    assert "may look at 10 nodes, and needs more: raise **Most nodes looked at**" in said
    assert app.number_input(key="hull_setting_max_nodes").value == 10
    assert data_of(app)["states"][index]["badge"] == "not certified"


@pytest.fixture(scope="module")
def path():
    X = np.random.default_rng(2).standard_normal((40, 4))
    return fit_path(HKLRegressor(), X, X[:, 0], "lam", [10.0, 1.0, 0.1], X, X[:, 0])


def certificate(path, model, lam):
    shown = hulls.HullsView(path, Params())
    return hulls.certificate(shown, hulls.HullView(lam, model, 0.0, 0.0))


def test_a_first_look_that_was_cut_short_does_not_claim_the_necessary_condition(path):
    X = np.random.default_rng(2).standard_normal((80, 4))
    model = HKLRegressor(lam=1e-5, search="necessary", max_nodes=2)
    with pytest.warns(NotConvergedWarning):
        model.fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    assert model.status_ is Status.MAX_NODES
    assert "not even the **necessary** condition holds" in certificate(path, model, 1e-5)
    whole = HKLRegressor(lam=0.1, search="necessary").fit(X, X[:, 0])
    assert "only the **necessary** condition is checked" in certificate(path, whole, 0.1)


def test_a_root_alone_is_reported_certified_or_not_with_the_sign_of_the_page(path):
    X = np.random.default_rng(2).standard_normal((40, 3))
    model = HKLRegressor(GaussianBasis(2, 5.0), lam=1e4).fit(X, np.cos(5 * X[:, 0]))
    said = certificate(path, model, 1e4)
    assert "The optimum at this λ is the root alone" in said
    assert "Take a smaller λ" in said
    model.certified_ = False
    model.status_ = Status.MAX_NODES
    model.notes_ = (model._root_alone(model.design_),)
    said = certificate(path, model, 1e4)
    assert "not certified" in said
    assert "The hull found is the root alone" in said
    assert "lam" not in said


def test_a_point_that_scores_higher_without_a_certificate_is_named_beside_the_certified_one(path):
    def said(scores, *statuses):
        scored = replace(path, val_score=np.array(scores), statuses=statuses)
        shown = hulls.HullsView(scored, Params())
        return hulls.higher_unsure(shown, hulls.at(shown, 0))

    sure = Status.CONVERGED
    unsure = Status.MAX_NODES
    assert said([0.2, 0.5, 0.4], sure, sure, sure) == ""
    expected = "λ = 1, not certified, scores higher on validation rows: 0.500"
    assert said([0.2, 0.5, 0.4], sure, unsure, unsure) == expected
    assert said([0.6, 0.5, 0.4], sure, unsure, unsure) == ""


@every("status", hulls.STOPPED)
def test_every_reason_to_stop_names_a_control_that_is_there(status):
    labels = [control.label for control in hulls.METHOD.controls if control.advanced]
    words_of = hulls.STOPPED[status].format(**hulls.settings(Params()))
    assert any(f"**{label}**" in words_of for label in labels)


@every("basis", BASES)
def test_every_basis_has_a_hull_a_component_and_a_true_name_for_its_root(basis):
    app = ready(
        data="iris",
        hull_columns="1,2,4",
        hull_degree="2",
        hull_loss="squared",
        hull_basis=basis,
        **FEW,
    )
    drawn = data_of(app)
    path = path_of(app)
    constant = path.estimators[0].design_.root_is_constant
    assert constant == (basis not in ("gaussian", "kernel_pca"))
    assert (
        drawn["nodes"][0]["name"]
        == path.estimators[0].kernel_names_[0]
        == ("1" if constant else "level 0 of all")
    )
    for index in (0, len(path) - 1):
        release(app, index)
        assert len(components(app)) == 1 - ("Only the root is in the hull" in words(app))
    click(app, "root")
    assert ("so it adds nothing itself" in words(app)) == constant
    assert len(components(app)) == (not constant)


def test_anova_nodes_on_digits_find_room_for_the_deeper_hulls(rng):
    X = rng.standard_normal((60, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2] ** 2
    one = 8 * 60**2 / 2**20  # MB of one trained matrix
    levels = 4 * 60 * 61 / 2 * 8 / 2**20
    wanted = HKLRegressor("anova", lam=1e-4).fit(X, y)
    thick = len(wanted.hull_) - 1
    assert thick > 3
    room = levels + 2.2 * thick * one  # two fifths of it, the usual share of a hull, is too little
    tight = HKLRegressor("anova", lam=1e-4, memory_mb=room).fit(X, y)
    assert tight.hull_ == wanted.hull_
    assert tight.certified_


# The cursor


@pytest.mark.settling
def test_a_release_moves_the_hull_once_and_never_beyond_the_ends():
    app = ready(**SMALL, seed="32")  # which no other test has with fewer points
    path = path_of(app)
    first = data_of(app)
    assert len(first["states"]) == len(path) == hulls.POINTS >= 12
    assert "Save as one file" in {button.label for button in app.get("download_button")}
    assert memory(app).params.hull_at is None
    release(app, 3, first["turn"])
    assert app.query_params["hull_at"] == repr(float(path.values[3]))
    # the echo of its own report does not move the cursor
    assert data_of(app)["turn"] == first["turn"]
    release(app, 999, first["turn"])
    assert memory(app).params.hull_at == float(path.values[-1])
    press(app, "undo")
    assert memory(app).params.hull_at == float(path.values[3])
    assert data_of(app)["turn"] == first["turn"] + 1
    assert data_of(app)["index"] == 3


def test_a_list_that_still_shows_what_was_written_over_chooses_no_node():
    app = ready(**SMALL)
    picked = "9^1" if app.selectbox(key="field_hull_node").value != "9^1" else "3^1"
    put(app, "field_hull_node", picked)
    assert memory(app).params.hull_node == picked
    press(app, "undo")
    put(app, "field_hull_node", picked)  # what the browser showed before it received the undo
    assert memory(app).params.hull_node == ""
    memory(app).written_over.clear()
    put(app, "field_hull_node", picked)
    assert memory(app).params.hull_node == picked


def test_states_hold_what_the_fitted_hulls_say():
    app = ready(**SMALL)
    drawn = data_of(app)
    path = path_of(app)
    names = [node["name"] for node in drawn["nodes"]]
    scored = zip(path.estimators, path.val_score, strict=True)
    for state_, (fitted, score) in zip(drawn["states"], scored, strict=True):
        assert [names[k] for k, *_ in state_["inside"]] == list(fitted.kernel_names_)
        extreme = [names[k] for k, _, outlined, _ in state_["inside"] if outlined]
        assert extreme == [fitted.design_.name(hull_node(v)) for v in fitted.extreme_points_]
        assert max(share for _, share, *_ in state_["inside"]) == 1
        shares = {fitted.design_.name(hull_node(v)): share for v, share in fitted.sources_.items()}
        assert all(
            shares[names[k]] == pytest.approx(share, abs=1e-5) for k, share, *_ in state_["outside"]
        )
        assert state_["badge"] == "certified"
        assert f"{len(fitted.hull_)} nodes" in state_["status"]
        assert captions.score("R²", score) in state_["status"]


def hull_node(levels):
    return tuple((i, level) for i, level in enumerate(levels) if level)


# Exact hulls


def test_any_lambda_is_solved_exactly_and_shown_when_it_is_there():
    app = ready(**SMALL)
    value = 0.0123
    put(app, "hull_exact", value)
    wait_until(lambda: data_of(app)["exact"] is not None, app)
    assert app.query_params["hull_at"] == repr(value)
    drawn = data_of(app)
    found = work.peek(("hull at", hulls.key(memory(app).params), value))
    assert drawn["exact"]["label"] == "λ = 0.0123"
    assert drawn["exact"]["certified"]
    params = memory(app).params
    parts = tables.split(params)
    train = three_columns(parts.train)
    validation = three_columns(parts.validation)
    cold = hulls.estimator(params).set_params(lam=value).fit(train.X, train.y)
    assert found.fitted.objective_ == pytest.approx(cold.objective_, rel=1e-3)
    assert found.fitted.hull_ == cold.hull_
    assert found.validation == pytest.approx(cold.score(validation.X, validation.y), abs=1e-2)
    assert f"**{len(cold.hull_)}** nodes in the hull" in words(app)


@pytest.mark.threads
def test_the_last_certified_hull_stays_while_an_exact_one_is_solved_and_a_cancelled_one_says_so(
    monkeypatch,
):
    app = ready(**SMALL, seed="5")
    with monkeypatch.context() as patch:
        patch.setattr(work.WORK, "_compiled", lambda: False)
        put(app, "hull_exact", 0.0456)
        assert "The hull at λ = 0\\.0456 is being solved." in words(app)
        assert "verified: certified]" in words(app)
        assert data_of(app)["exact"] is None
        press(app, "cancel_0")
    quiet(app.run())
    assert "There is no exact hull at λ = 0\\.0456" in words(app)
    settled(press(app, "hull_again"))
    assert data_of(app)["exact"]["label"] == "λ = 0.0456"


# Nodes, scores and tables


def test_a_clicked_node_shows_its_monomial_its_weight_and_what_it_adds():
    app = ready(**SMALL)
    path = path_of(app)
    for wrong in ("1^1", "3^9", "x", "3^1*", "", "3^-1"):  # no node of this grid
        click(app, wrong)
        assert memory(app).params.hull_node == "", wrong
    release(app, len(path) - 1)
    fitted = path.estimators[-1]
    click(app, "3^1*9^1")
    assert app.query_params["hull_node"] == "3^1*9^1"
    assert data_of(app)["selected"] == "3^1*9^1"
    said = words(app)
    zeta = fitted.weights_[fitted.hull_.index((1, 0, 1))]
    assert "**bmi·s5**, depth 2" in said
    assert f"weight ζ **{style.number(zeta)}**" in said
    assert components(app)[0].proto.alt.startswith(
        "What bmi·s5 adds to the prediction over bmi and s5"
    )
    put(app, "field_hull_node", "9^1")
    assert "**s5**, depth 1" in words(app)
    outside = next(node for node in fitted.sources_)
    click(app, hulls.written(outside, [2, 3, 8]))
    assert "of the way to entering" in words(app)
    assert "Outside the hull a node adds nothing" in words(app)
    assert not components(app)


def test_a_test_score_is_shown_once_it_is_asked_for_and_belongs_to_its_lambda():
    app = ready(**SMALL)
    assert "test R²" not in words(app)
    press(app, "show_test")
    test = three_columns(tables.split(memory(app).params).test)
    path = path_of(app)
    index = int(np.argmax(path.val_score))
    score = path.estimators[index].score(test.X, test.y)
    assert f"test R² **{style.number(score)}**" in words(app)
    release(app, (index + 1) % len(path))
    assert "test R²" not in words(app)


def test_other_models_on_the_same_kernels_stand_beside_the_hull_once_asked_for(monkeypatch):
    monkeypatch.setattr(baselines, "HULL_LAMS", (1e-1, 1e-2, 1e-3, 1e-4))
    monkeypatch.setattr(baselines, "HULL_NODES", 3)
    app = ready(**SMALL)
    settled(press(app, "hull_beside"))
    params = memory(app).params
    found = work.peek(("beside hulls", hulls.key(params)))
    assert [one.model.name for one in found[1:]] == ["L2", "greedy", "lasso-alpha", "MKL"]
    shown = app.table[-1].value
    assert len(shown) == 5
    path = hulls.known(params)
    rows = hulls.held_out(params)
    best = path.estimators[path.first_look]
    assert shown.columns[0] == f"R² on {rows.n_samples} held-out rows"
    score = best.score(three_columns(rows).X, rows.y)
    own = drawing.with_error("R²", score, found[0].score.error)
    assert shown.iloc[0, 0] == own
    assert (" better here.**" in words(app)) == any(one.score.place == "behind" for one in found)
    assert [one.model.chosen for one in found[1:]] == list(shown.iloc[1:, 2])
    level = [1.0 - np.mean((one.model.said - rows.y) ** 2) / np.var(rows.y) for one in found[1:]]
    assert [one.score.score for one in found[1:]] == pytest.approx(level)


def test_how_stable_a_selection_is_stands_in_table_bars_and_words_once_asked_for(monkeypatch):
    monkeypatch.setattr(hulls, "ROWS", 60)
    monkeypatch.setattr(stability, "HALVES", 3)
    app = ready(**SMALL, seed="41")
    assert data_of(app)["ticks"] is None
    press(app, "hull_stability")
    wait_until(lambda: "samples of half the rows" in words(app), app)
    wait_until(lambda: len(app.dataframe) > 0 and "selected again" in app.dataframe[0].value, app)
    params = memory(app).params
    index = players.place(path_of(app), params.hull_at).index
    train = three_columns(hulls.parts(params).train)
    known = stability.selection_stability(path_of(app).estimators[index], train.X, train.y, seed=41)
    shown = app.dataframe[0].value.set_index("column")["selected again"]
    assert shown[["bmi", "bp", "s5"]].tolist() == known.columns.tolist()
    drawn = data_of(app)
    assert drawn["ticks"] == [shown[name] for name in drawn["bars"]]
    share = max(known.extreme_points.values())
    assert f"{100 * share:.0f}\u00a0%" in words(app)


def test_tables_pictures_and_terms_of_a_hull_can_be_taken_away():
    app = ready(**SMALL)
    before = len(app.dataframe)  # the ranking of the columns
    app.session_state["hull_tables"] = True
    assert len(quiet(app.run()).dataframe) == before + 2
    fitted = path_of(app).estimators[-1]
    inside = hulls.nodes_table(fitted)
    outside = hulls.sources_table(fitted)
    assert set(inside["node"]) == set(fitted.kernel_names_)
    assert inside["‖β‖"].is_monotonic_decreasing
    assert len(outside) == len(fitted.sources_)
    charts = app.get("plotly_chart")
    assert any("share" in chart.proto.alt.lower() for chart in charts)
    assert len(app.selectbox(key="field_hull_term").options) >= 1
    for name in ("hull-by-depth", "relevance-of-the-columns"):
        app.session_state[f"take_{name}"] = True
    assert len(quiet(app.run()).get("plotly_chart")) == len(charts) + 2


# Settings


def test_every_advanced_control_of_the_registry_is_reachable_and_kept_in_the_link():
    app = ready(**SMALL)
    put(app, "hull_setting_memory_mb", 300)
    put(app, "hull_setting_tol", 0.01)
    put(app, "hull_setting_refit", True)
    assert set(app.query_params["hull_more"].split(";")) == {
        "refit=yes",
        "tol=0.01",
        "memory_mb=300",
    }
    asked = hulls.estimator(memory(app).params)
    assert (asked.memory_mb, asked.tol, asked.refit) == (300, 0.01, True)
    assert "refitted by least squares" in words(wait_for_hulls(app))
    for name in ("tol", "refit", "memory_mb"):
        drawn = {
            element.key
            for kind in (app.number_input, app.select_slider, app.toggle)
            for element in kind
        }
        assert f"hull_setting_{name}" in drawn
    put(app, "hull_setting_memory_mb", int(hulls.control("memory_mb").default))
    assert "memory_mb" not in app.query_params["hull_more"]
    assert hulls.control("refit").when == ("basis", COLUMN_BASES)


@every("basis", BASES)
def test_settings_that_do_not_act_on_a_basis_are_not_handed_to_it(basis):
    params = Params(
        data="diabetes",
        hull_basis=basis,
        hull_more="refit=yes;anova_b=0.5;width=2.0;gaussian_b=0.5",
    )
    asked = hulls.estimator(params)
    assert asked.refit == (basis in COLUMN_BASES)
    shape = {"anova": ("b", 0.5), "kernel_pca": ("width", 2.0), "gaussian": ("b", 0.5)}
    if basis in shape:
        assert getattr(asked.basis, shape[basis][0]) == shape[basis][1]


# What stays, what is refused


@pytest.mark.threads
def test_grid_and_node_are_in_the_link_and_other_settings_have_other_hulls():
    app = ready(**SMALL)
    put(app, "field_hull_node", "9^1")
    put(app, "field_hull_pair", [2, 3])
    assert (app.query_params["hull_node"], app.query_params["hull_pair"]) == ("9^1", "3,4")
    assert data_of(app)["grid"]["numbers"] == [3, 4]
    assert "over all **27** kernels" in words(app)
    put(app, "field_hull_degree", 1)
    wait_for_hulls(app)
    assert "over all **8** kernels" in words(app)


def test_the_hulls_of_an_uploaded_table_stay_in_their_session():
    app = go(upload(open_app(), table(seed=5)), "pages/hulls/page.py")
    assert "nodes in the hull" in words(wait_for_hulls(app))
    assert work.peek(("hulls", hulls.key(memory(app).params))) is None  # of another session


def test_columns_the_table_does_not_have_and_a_single_one_are_dealt_with():
    app = ready(data="iris", hull_columns="4,77", hull_pair="9,2", hull_node="9^1")
    assert "A grid needs two columns" in words(app)
    assert app.multiselect(key="field_hull_columns").value == [3]
    assert data_of(app)["grid"] is None


def test_levels_beyond_the_memory_are_refused_with_their_control():
    app = at_hulls(data="digits", hull_basis="anova", hull_more="memory_mb=50")
    wait_until(lambda: bool(app.error), app)
    assert "memory\\_mb=50" in words(app)
    assert app.number_input(key="hull_setting_memory_mb").label == "Memory in MB"


def test_a_stack_is_refused():
    assert "a stack has none: bring a table" in words(go(with_stack(), "pages/hulls/page.py"))


def test_widgets_carry_their_value_as_default_too():
    """A browser that skips the run in which a widget's state was set must not answer with the first
    option.
    """
    app = ready(**SMALL, hull_more="max_nodes=20;refit=yes;depth_weight=6;tol=0.01")
    quiet(app.run())
    assert app.number_input(key="hull_setting_max_nodes").proto.default == 20
    assert app.toggle(key="hull_setting_refit").proto.default
    depth = app.selectbox(key="hull_setting_depth_weight").proto
    assert depth.options[depth.default] == "6"
    tolerance = app.select_slider(key="hull_setting_tol").proto
    assert tolerance.options[int(tolerance.default[0])] == "0.01"
    assert app.slider(key="field_hull_degree").proto.default == [2]
    entering = app.multiselect(key="field_hull_columns").proto
    assert list(entering.default) == [2, 3, 8]
