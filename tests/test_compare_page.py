"""Compare: methods in the link, one cursor for several paths, work in the background, the table, the toy experiment."""

import io
import time
from dataclasses import replace
from functools import cache as once

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mklcore.errors import ParameterError
from mklcore.experiments import Line
from mklcore.figures import moving, sparsity_figure
from mklcore.figures.moving import MethodView, peak_shares, shares_of_weight
from mklcore.paths.path import Path, fit_path
from pages._parts.compare import rail, toy
from pages._parts.compare import table as compare_table
from pages._parts.derive import comparison, paths
from pages._parts.derive.comparison import Shown
from pages._parts.export import explorable
from pages._parts.jobs.job import Job, JobState
from pages._parts.params import link
from pages._parts.params import methods as params_methods
from pages._parts.params import steps as params_steps
from pages._parts.params.algorithms import METHODS
from pages._parts.params.methods import Method
from pages._parts.params.parameters import Params, PathParams
from tests.pages import go, memory, open_app, quiet, table, upload, wait_until, words

SMALL = {"widths": "2", "each": "none"}


def read(text: str) -> tuple[Method, ...]:
    return params_methods.read(text)


def compare(methods: str = "", data: str = "iris", **query: str) -> AppTest:
    """Open the page with small kernels and wait until every method has ended."""
    asked = {"methods": methods} if methods else {}
    return ended(open_app("pages/compare.py", data=data, **SMALL, **asked, **query))


def ended(app: AppTest) -> AppTest:
    wait_until(lambda: not ("short" in memory(app).jobs and memory(app).jobs["short"].live), app)
    return quiet(app.run())


def press(app: AppTest, key: str) -> AppTest:
    app.button(key=key).click()
    quiet(app.run())
    return ended(app)


def rows(app: AppTest):
    assert len(app.dataframe) == 1, words(app)
    return app.dataframe[0].value


@once
def path(name: str, param: str, values: tuple[float, ...], **settings: float) -> Path:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = (X[:, 0] + 0.2 * rng.standard_normal(40) > 0).astype(int)
    return fit_path(METHODS[name].estimator("binary", **settings), X[:30], y[:30], param, values, X[30:], y[30:])


# Methods as text


@pytest.mark.parametrize("name", METHODS)
def test_every_method_over_every_path_survives_the_link(name: str) -> None:
    for over in METHODS[name].path_params:
        methods = (
            params_methods.method(name, over),
            Method("uniform", settings=(("loss", "squared"),)),
        )
        params, refused = link.read({"methods": params_methods.write(methods)})
        assert refused == ()
        assert comparison.methods(params) == methods
        assert methods[0].over == over


@pytest.mark.parametrize(
    "text",
    [
        "lp",
        "lp;lp;lp;lp;lp;lp",
        "lp;nosuch",
        "lp;hkl",
        "lp;lp:lam",
        "lp;lp,p=0.5",
        "lp;lp,p=nan",
        "lp;lp,C=inf",
        "lp;lp,C",
        "lp;lp,C=1,C=2",
        "lp;lp,nosuch=1",
        "lp;lp,loss=square",
        "lp;gomp,n_kernels=2.5",
        "lp;gomp,keep_duplicates=maybe",
        "lp;;lp",
        "lp;" + "lp,C=1.0" * 300,
        "",
    ],
)
def test_a_method_that_cannot_be_is_refused(text: str) -> None:
    params, refused = link.read({"methods": text})
    assert params.methods == params_methods.USUAL
    assert len(refused) == 1
    assert "methods has to be from 2 to 5 methods" in refused[0]


@pytest.mark.parametrize("text", ["101%", "-1", "0", "x", "nan", "1e", "5 %", "-3%"])
def test_a_place_that_cannot_be_is_refused(text: str) -> None:
    params, refused = link.read({"methods_at": text})
    assert params.methods_at == ""
    assert "a number above 0, or a share of the path" in refused[0]


def test_what_is_usual_or_moved_by_the_path_is_not_written() -> None:
    assert params_methods.write(read("lp,p=1.0;lp:C,p=2.0;lp:p,p=2.0;smkl,n_starts=1")) == "lp;lp,p=2.0;lp:p;smkl"


def test_methods_are_named_by_what_parts_them() -> None:
    found = params_methods.labels(read("lp;lp,p=2.0,loss=logistic;gomp:lam;uniform"), "binary")
    assert found[0].endswith("hinge, p = 1")
    assert found[1].endswith("logistic, p = 2")
    assert found[2] == "MKL-GOMP, over λ"
    assert found[3] == "Uniform sum"


def test_a_method_equal_to_explore_is_the_same_path_as_there() -> None:
    params = Params(algorithm="lp", path="C", settings=(("p", 2.0), ("terms", "log")))
    assert comparison.of_explore(params) == Method("lp", "", (("p", 2.0),))
    assert comparison.method_params(params, Method("lp", "", (("p", 2.0),))) == params.part(PathParams)
    assert comparison.method_params(params, Method("lp")).settings == ()


def test_presets_are_sets_of_methods_a_link_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in ("iris", "diabetes"):
        found = rail.presets(Params(data=data))
        assert len(found) >= 6
        for methods in found.values():
            assert read(params_methods.write(methods)) == methods
    assert {method.algorithm for method in found["All methods and the uniform sum"]} == {*METHODS} - {
        "best",
        "aligned",
        "joint",
    }


# One cursor for several paths


def test_methods_with_one_parameter_share_its_value_and_stand_at_their_nearest_point() -> None:
    wide, narrow = path("lp", "C", (0.01, 0.1, 1.0, 10.0)), path("lp", "C", (0.5, 5.0), p=2.0)
    steps = moving.steps([wide, narrow], ["C", "C"])
    assert steps.shared == "C"
    assert steps.values[0] == 0.01
    assert steps.values[-1] == 10.0
    assert steps.indices[0] == (0, 0)
    assert steps.indices[-1] == (3, 1)
    for value, (first, second) in zip(steps.values, steps.indices, strict=True):
        for one, at in ((wide, first), (narrow, second)):
            away = np.abs(np.log(one.values / value))
            assert away[at] == away.min()


def test_equal_grids_are_the_steps_themselves_and_infinity_is_one_of_them() -> None:
    one = path("lp", "p", (1.0, 2.0, np.inf))
    steps = moving.steps([one, one], ["p", "p"])
    assert steps.values == (1.0, 2.0, np.inf)
    assert params_steps.place(steps, [one, one], "inf").indices == (2, 2)


def test_methods_with_different_parameters_share_a_share_of_their_path() -> None:
    first, second = path("lp", "C", (0.01, 0.1, 1.0, 10.0, 100.0)), path("gomp", "s", (1.0, 2.0, 3.0))
    steps = moving.steps([first, second, None], ["C", "s", "C"])
    assert steps.shared == ""
    assert steps.indices[0] == (0, 0, None)
    assert steps.indices[-1] == (4, 2, None)
    assert params_steps.place(steps, [first, second, None], "50%").indices == (2, 1, None)


def test_a_place_is_the_best_of_each_method_a_solved_point_or_a_value_between_two() -> None:
    paths = [path("lp", "C", (0.01, 0.1, 1.0, 10.0)), path("lp", "C", (0.01, 0.1, 1.0, 10.0), p=2.0)]
    steps = moving.steps(paths, ["C", "C"])
    best = params_steps.place(steps, paths, "")
    assert best.best
    assert best.indices == tuple(int(np.argmax(one.val_score)) for one in paths)
    solved = params_steps.place(steps, paths, "0.1")
    assert (solved.places, solved.values) == ((1.0, 1.0), (None, None))
    exact = params_steps.place(steps, paths, repr(10**-0.5))
    assert exact.values == (10**-0.5,) * 2
    assert exact.places == pytest.approx((1.5, 1.5))  # half way on the log scale
    assert params_steps.place(steps, paths, "40%").best  # a share means nothing where a value is shared
    assert params_steps.place(steps, paths, "1e9").values == (1e6, 1e6)  # and values stay within their bounds


def test_between_two_steps_every_method_moves_along_its_own_path() -> None:
    falling, whole = path("smkl", "C", (10.0, 0.1)), path("gomp", "s", (1.0, 2.0, 3.0))
    steps = moving.steps([falling, whole, None], ["C", "s", "C"])
    assert steps.text(20.5) == "51.25%"
    here = params_steps.place(steps, [falling, whole, None], "25%")
    assert here.places == (pytest.approx(0.75), 0.0, None)  # shares run from the least value to the largest
    assert here.values == (pytest.approx(10 * 0.01**0.75, rel=1e-3), None, None)
    assert steps.at(steps.position(25.0)) == here.places
    norms = path("lp", "p", (1.0, 2.0, np.inf))
    steps = moving.steps([norms, norms], ["p", "p"])
    assert steps.value(1.5) == pytest.approx(2.0 * 2**0.5)  # infinity is drawn one doubling beyond the last norm
    assert steps.text(2.0) == "inf"


# Figures


def test_a_kernel_has_one_colour_and_one_scale_in_all_methods() -> None:
    paths = [path("lp", "C", (0.01, 0.1, 1.0)), path("lp", "C", (0.01, 0.1, 1.0), p=2.0)]
    steps = moving.steps([*paths, None], ["C"] * 3)
    methods = [*(MethodView(str(k), one) for k, one in enumerate(paths)), MethodView("late", note="Not there yet.")]
    drawn = moving.methods_json(methods, steps, dark=False)
    first, second, late, *scores = drawn["chart"]["panels"]
    assert late["note"] == "Not there yet."
    assert first["y"]["high"] == second["y"]["high"] == late["y"]["high"]
    assert len({(one["y"]["low"], one["y"]["high"]) for one in scores}) == 1
    table = dict(zip(drawn["methods"]["full"], drawn["methods"]["colours"], strict=True))
    for panel in (first, second):
        colours = {one["name"]: one["colour"] for one in panel["lines"] if one["width"] > 1}
        assert len(colours) > 1
        assert all(table[name] == colour for name, colour in colours.items())


def test_shares_add_up_to_one_and_nothing_stays_nothing() -> None:
    assert shares_of_weight([[1.0, 3.0], [0.0, 0.0]]).tolist() == [[0.25, 0.75], [0.0, 0.0]]


def test_methods_over_other_kernels_are_refused() -> None:
    one = path("lp", "C", (0.01, 0.1, 1.0))
    other = replace(one, kernel_names=tuple(f"other {name}" for name in one.kernel_names))
    with pytest.raises(ParameterError, match="over the same kernels only"):
        peak_shares([one, other])


def test_the_toy_figure_draws_what_is_measured_and_the_bayes_line() -> None:
    means = np.array([[4.0, 5.0, 9.0], [np.nan] * 3])
    figure = sparsity_figure([1.0, 2.0, np.inf], ["few", "many"], means, np.full((2, 3), 0.5), 4.01)
    assert [trace.name for trace in figure.data] == ["few"]
    assert figure.layout.shapes[0].y0 == 4.01
    assert "least 4 % at p = 1" in figure.layout.meta["alt"]


# The page


@pytest.mark.parametrize("data", ["iris", "diabetes", "breast_cancer"])
def test_all_methods_stand_side_by_side_on_every_kind_of_target(data: str) -> None:
    app = compare(";".join(list(METHODS)[:5]), data)
    found = rows(app)
    assert len(found) == 5
    assert not app.error
    assert found["validation"].notna().all()
    assert (found["best validation"] >= found["validation"]).all()  # folds may have chosen another point than the best
    (chart,) = (one for one in app.get("bidi_component") if one.proto.component_name == "compare_chart")
    assert "5 methods side by side" in chart.proto.json
    for key in list(METHODS)[:5]:
        assert METHODS[key].look_for in words(app)


def test_a_release_moves_every_method_and_the_link() -> None:
    app = compare("lp;lp,p=2.0")
    app.session_state["compare_player"] = {"report": {"index": 0, "position": 0, "turn": 1, "time": 1}}
    quiet(app.run())
    first = rows(app)
    assert memory(app).params.methods_at != ""
    assert app.query_params["methods_at"] == memory(app).params.methods_at
    app.session_state["compare_player"] = {"report": {"index": 10**6, "position": 1e6, "turn": 1, "time": 2}}
    quiet(app.run())
    assert (rows(app)["at"] != first["at"]).all()
    press(app, "compare_best")
    assert memory(app).params.methods_at == ""
    assert "Save as one file" in {button.label for button in app.get("download_button")}


def test_an_exact_value_is_solved_in_every_method_and_makes_objectives_comparable() -> None:
    app = compare("lp;lp,p=2.0", methods_at="0.0567")
    found = rows(app)
    assert (found["at"] == "C = 0.0567").all()
    # The set of weights grows with p, so the least objective at one C falls.
    assert found["objective"][1] <= found["objective"][0]
    app.number_input(key="compare_exact_C").set_value(0.0123)
    quiet(app.run())
    assert (rows(app)["at"] == "C = 0.0123").all()


def test_slow_exact_values_are_solved_by_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "is_quick", lambda params, path, value: False)
    app = compare("lp;lp,p=2.0", methods_at="0.0789", seed="47")
    assert (rows(ended(app))["at"] == "C = 0.0789").all()
    assert "Every method is solved here" in words(app)
    monkeypatch.setattr(paths, "fit_path", lambda *_, **more: (_ for _ in ()).throw(ParameterError("No such value.")))
    app.number_input(key="compare_exact_C").set_value(0.0333)
    ended(quiet(app.run()))
    assert "The methods are not solved at this value" in words(app)
    assert "No such value" in words(app)
    assert len(rows(app)) == 2


def test_objectives_of_different_methods_are_not_set_side_by_side() -> None:
    app = compare("lp;uniform", methods_at="0.0567")
    assert "objective" not in rows(app).columns
    assert "objectives are left out" in words(app)
    assert "objectives of different methods are not comparable" in words(app)


def test_test_scores_appear_once_asked_for_and_for_this_point_only() -> None:
    app = compare("gomp;greedy")
    assert "test" not in rows(app).columns
    press(app, "show_tests")
    assert rows(app)["test"].between(0, 1).all()
    app.session_state["compare_player"] = {"report": {"index": 0, "position": 0, "turn": 1, "time": 1}}
    quiet(app.run())
    assert "test" not in rows(app).columns


def test_methods_share_their_paths_with_explore() -> None:
    app = compare("gomp;uniform", algorithm="gomp", seed="41")
    job = memory(app).jobs["short"]
    go(app, "pages/explore.py")
    assert "kernels used" in words(app)
    assert memory(app).answer.path.param == "s"
    assert memory(app).jobs["short"] is job or memory(app).jobs["short"].job.key != job.job.key
    path = memory(app).answer.path
    go(app, "pages/compare.py")
    assert path.estimators[0] is memory(app).methods.shown[0].path.estimators[0]


def test_a_method_opens_on_explore_with_its_path() -> None:
    app = compare("gomp,lam=0.1;uniform")
    path = memory(app).methods.shown[0].path
    app.button(key="method_0_explore").click()
    quiet(app.run())
    assert memory(app).params.algorithm == "gomp"
    go(app, "pages/explore.py")
    assert memory(app).answer.path.estimators[0] is path.estimators[0]  # solved once, for both pages


def test_methods_work_on_a_kernel_stack() -> None:
    app = upload(open_app(methods="lp;gomp;smkl", **SMALL), stack(), "stack.npz")
    found = rows(ended(go(app, "pages/compare.py")))
    assert len(found) == 3
    assert len(rows(press(app, "show_tests"))["test"].dropna()) == 3


def stack() -> bytes:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 3))
    kernels = np.array([np.outer(x, x) + 0.1 * np.eye(60) for x in X.T])
    buffer = io.BytesIO()
    np.savez(buffer, K=kernels, y=(X[:, 0] > 0).astype(int))
    return buffer.getvalue()


def test_methods_are_added_changed_and_removed() -> None:
    app = compare("gomp;uniform")
    press(app, "method_add")
    assert len(comparison.methods(memory(app).params)) == 3
    app.selectbox(key="method_0_algorithm").set_value("greedy")
    quiet(app.run())
    app.segmented_control(key="method_0_path").set_value("lam")
    quiet(app.run())
    assert memory(app).params.methods == "greedy:lam;uniform;lp"
    press(app, "method_1_remove")
    assert memory(app).params.methods == "greedy:lam;lp"
    assert all(app.button(key=f"method_{place}_remove").disabled for place in (0, 1))
    app.selectbox(key="methods_preset").set_value("Kernel by kernel")
    quiet(app.run())
    assert memory(app).params.methods == "gomp;greedy"
    assert "One s for all methods" in words(ended(app))


def test_every_setting_of_a_method_can_be_moved() -> None:
    app = compare("lp;gomp", "diabetes")
    app.select_slider(key="method_0_p_p").set_value(2.0)
    quiet(app.run())
    assert memory(app).params.methods == "lp,p=2.0;gomp"
    app.selectbox(key="method_0_loss_choice").set_value("epsilon_insensitive")
    ended(app)
    assert memory(app).params.methods == "lp,loss=epsilon_insensitive,p=2.0;gomp"
    app.toggle(key="method_1_more").set_value(True)
    quiet(app.run())
    app.toggle(key="method_1_keep_duplicates_flag").set_value(True)
    quiet(app.run())
    assert memory(app).params.methods.endswith("gomp,keep_duplicates=yes")
    assert not ended(app).error


def test_while_a_method_is_computed_anew_its_older_path_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    app = compare("gomp;uniform", seed="42")
    monkeypatch.setattr(comparison, "job", lambda params: Job("nothing", "Nothing", ()))
    app.selectbox(key="method_0_algorithm").set_value("greedy")
    quiet(app.run())
    older = memory(app).methods.shown[0]
    assert older.method.algorithm == "gomp"
    assert len(rows(app)) == 1  # the older answer is drawn, but it is not an answer to what is asked


@pytest.mark.threads
def test_a_cancelled_run_says_so_and_offers_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*asked, **more):
        while True:
            asked[-2](0, 1)  # the report of progress, where a cancelled run ends
            time.sleep(0.01)

    monkeypatch.setattr(paths, "fit_path", endless)
    app = open_app("pages/compare.py", data="iris", seed="43", methods="lp;lp,p=2.0", **SMALL)
    memory(app).jobs["short"].stop.set()
    ended(app)
    monkeypatch.undo()
    assert memory(app).jobs["short"].state is JobState.CANCELLED
    assert "Methods that had ended stay" in words(app)
    assert len(rows(press(app, "compare_run"))) == 2


def test_a_method_that_fails_says_why_and_the_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    solve = paths.fit_path

    def failing(estimator, *rest, **more):
        if "Greedy" in type(estimator).__name__:
            raise ParameterError("This method has no answer.")
        return solve(estimator, *rest, **more)

    monkeypatch.setattr(paths, "fit_path", failing)
    app = compare("gomp;greedy", seed="44")
    assert any("This method has no answer" in error.value for error in app.error)
    assert len(rows(app)) == 1
    monkeypatch.undo()
    assert len(rows(press(app, "compare_again"))) == 2
    assert not app.error


def test_large_work_waits_for_its_button(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "is_small", lambda params, wanted: False)
    app = open_app("pages/compare.py", data="iris", seed="45", methods="gomp;uniform", **SMALL)
    assert "take a while" in words(app)
    assert len(rows(press(app, "compare_run"))) == 2


def test_methods_work_on_an_upload_and_stay_in_its_session() -> None:
    app = upload(open_app(methods="gomp;uniform", **SMALL), table())
    assert len(rows(ended(go(app, "pages/compare.py")))) == 2
    stranger = open_app("pages/compare.py", data=memory(app).params.data, methods="gomp;uniform", **SMALL)
    assert "upload the same file" in words(stranger)
    assert not stranger.dataframe


def test_a_table_without_target_is_reported_so() -> None:
    app = upload(open_app(), table())
    memory(app).params = replace(memory(app).params, task="novelty")
    go(app, "pages/compare.py")
    assert "no target" in words(app)


def test_the_table_compares_only_what_is_one_problem() -> None:
    def shown(text: str, one: Path) -> tuple[Shown, Path, int]:
        return Shown(text, read(f"{text};lp")[0], Params(), one), one, 1

    one, two = path("lp", "C", (0.01, 0.1, 1.0)), path("lp", "C", (0.02, 0.2, 1.0), p=2.0)
    assert compare_table.comparable([shown("lp", one), shown("lp,p=2.0", one)])
    assert compare_table.comparable([shown("lp", one), shown("lp,solver=silp", one)])
    assert not compare_table.comparable([shown("lp", one), shown("lp,p=2.0", two)])
    assert not compare_table.comparable([shown("lp", one), shown("lp,loss=squared", one)])
    assert not compare_table.comparable([shown("lp", one), shown("uniform", one)])


# Sparse against non-sparse


def test_the_toy_experiment_runs_and_draws_every_level(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def measure(line: Line) -> list[float]:
        asked.append((line.row, line.seed, line.repetition))
        return [10.0 + line.repetition] * 10

    monkeypatch.setattr(toy, "TOY", replace(toy.TOY, measure=measure))
    app = open_app("pages/compare.py", compare="toy", toy_seed="46")
    wait_for_toy(app)
    assert len(asked) == len(set(asked)) == 12
    assert "Mean over 2 of 2 repetitions, seed 46" in words(app)
    assert "Bayes error is 4.01 %" in app.get("plotly_chart")[0].proto.alt
    means, errors, counts = toy.table(toy.runs(memory(app).params), 2)
    assert np.allclose(means, 10.5)
    assert np.allclose(errors, 0.5)
    assert (counts == 2).all()
    app.number_input(key="field_toy_repetitions").set_value(3)
    quiet(app.run())
    wait_for_toy(press(app, "toy_run"))
    assert len(asked) == 18  # what is known is not measured again


def wait_for_toy(app: AppTest) -> None:
    wait_until(lambda: not toy.missing(memory(app).params))
    quiet(app.run())


def test_one_run_of_the_toy_is_that_of_the_library() -> None:
    found = toy.TOY.measure(Line("n = 50, ν = 0.98"))
    means, _, counts = toy.table({("0.98", 0): found}, 1)
    row = list(toy.INFORMATIVE).index("0.98")
    assert counts[row] == 1
    assert means[row].tolist() == found[:5]
    assert np.isnan(np.delete(means, row, axis=0)).all()
    assert found[0] < found[4]  # one informative kernel: sparse is right


def test_each_method_is_reported_with_the_problem_it_solves() -> None:
    app = compare("lp,norm=block norm,q=4.0;lp;smkl,terms=gl")
    formulas = [one.value.strip("$\n ") for one in app.latex]
    lp, smkl = METHODS["lp"], METHODS["smkl"]
    for reported in (lp, lp.words_for({"norm": "block norm"}), smkl.words_for({"terms": "gl"})):
        assert reported.formula in formulas


def test_a_file_of_methods_tells_each_problem_once_with_the_methods_that_solve_it() -> None:
    params = Params(data="iris", methods="lp,norm=block norm,q=4.0;lp;lp,p=2.0")
    methods = zip(("a", "b", "c"), comparison.methods(params), strict=True)
    drawn = [comparison.Shown(name, method, comparison.method_params(params, method)) for name, method in methods]
    block, plain = explorable.problems(drawn)
    assert (block.title, plain.title) == ("a", "b and c")
    assert plain.formula == METHODS["lp"].formula != block.formula
    assert [one.title for one in explorable.problems(drawn[1:])] == [""]
