"""Compare: methods in the link, one cursor for several paths, the library's answers side by side."""

from functools import cache as once

import numpy as np
import pytest

from mklcore import ParameterError, fit_path, load_sample
from mklcore.answer.comparison import compare_answers
from mklcore.answer.explore import answered
from mklcore.figures import player_data
from mklcore.figures.player_data import MethodView
from pages.compare import sidebar
from pages.shared.export import files
from pages.shared.session import parameters
from pages.shared.session.parameters import METHODS, MethodParams, Params
from pages.shared.values import answers
from pages.shared.widgets import players
from tests.helpers.pages import FEW, change, go, memory, open_app, press, put, table, upload, words
from tests.helpers.stacks import with_stack

PAGE = "pages/compare/page.py"


def rows(app):
    assert len(app.dataframe) == 1, words(app)
    return app.dataframe[0].value


@once
def path(name, param, values, **settings):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = (X[:, 0] + 0.2 * rng.standard_normal(40) > 0).astype(int)
    return fit_path(
        METHODS[name].estimator("binary", **settings), X[:30], y[:30], param, values, X[30:], y[30:]
    )


# Methods as text


def test_every_method_over_every_path_survives_the_link():
    for name, over in [(key, one) for key in METHODS for one in METHODS[key].path_params]:
        methods = (
            parameters.usual_method(name, over),
            MethodParams("uniform", settings=(("loss", "squared"),)),
        )
        params, refused = parameters.read_link({"methods": parameters.write_methods(methods)})
        assert refused == ()
        assert answers.methods(params) == methods
        assert methods[0].over == over == answers.method_params(params, methods[0]).path


def test_methods_and_places_that_cannot_be_are_refused():
    methods = (
        "lp", "lp;lp;lp;lp;lp;lp;lp", "lp;nosuch", "lp;hkl", "lp;lp:lam", "lp;lp,p=0.5", "lp;lp,p=nan", "lp;lp,C=inf",
        "lp;lp,C", "lp;lp,C=1,C=2", "lp;lp,nosuch=1", "lp;lp,loss=square", "lp;gomp,n_kernels=2.5",
        "lp;gomp,keep_duplicates=maybe", "lp;;lp", "lp;" + "lp,C=1.0" * 300, "",
    )  # fmt: skip
    for text in methods:
        params, refused = parameters.read_link({"methods": text})
        assert params.methods == parameters.USUAL_METHODS
        assert ["methods has to be from 2 to 6 methods" in one for one in refused] == [True], text
    for text in ("101%", "-1", "0", "x", "nan", "1e", "5 %", "-3%"):
        params, refused = parameters.read_link({"methods_at": text})
        assert params.methods_at == ""
        assert "a number above 0, or a share of the path" in refused[0], text


def test_what_is_usual_or_moved_by_the_path_is_not_written():
    assert (
        parameters.write_methods(
            parameters.read_methods("lp,p=1.0;lp:C,p=2.0;lp:p,p=2.0;smkl,n_starts=1")
        )
        == "lp;lp,p=2.0;lp:p;smkl"
    )


def test_methods_are_named_by_what_parts_them():
    found = parameters.labels(
        parameters.read_methods("lp;lp,p=2.0,loss=logistic;gomp:lam;uniform"), "binary"
    )
    assert found[0].endswith("hinge, p = 1")
    assert found[1].endswith("logistic, p = 2")
    assert found[2] == "MKL-GOMP, over λ"
    assert found[3] == "Uniform sum"


def test_presets_are_sets_of_methods_a_link_can_hold():
    for data in ("iris", "diabetes"):
        found = sidebar.presets(Params(data=data))
        assert len(found) >= 6
        for text in found.values():
            assert parameters.write_methods(parameters.read_methods(text)) == text
    every = parameters.read_methods(found["All methods and the uniform sum"])
    assert {method.algorithm for method in every} == {*METHODS} - {
        "best",
        "aligned",
        "joint",
    }


# One cursor for several paths


def test_methods_share_a_value_or_a_share_of_their_path():
    wide = path("lp", "C", (0.01, 0.1, 1.0, 10.0))
    narrow = path("lp", "C", (0.5, 5.0), p=2.0)
    steps = player_data.shared_slider([wide, narrow], ["C", "C"])
    assert (steps.shared, steps.values[0], steps.values[-1]) == ("C", 0.01, 10.0)
    assert (steps.indices[0], steps.indices[-1]) == ((0, 0), (3, 1))
    best = players.shared_place(steps, [wide, narrow], "")
    assert best.best
    assert best.places == (wide.first_look, narrow.first_look)
    # a share means nothing where a value is shared
    assert players.shared_place(steps, [wide, narrow], "40%").best
    assert players.shared_place(steps, [wide, narrow], "0.1").places == (1.0, 0.0)
    assert players.shared_place(steps, [wide, narrow], "1e9").places == (3.0, 1.0)
    falling = path("smkl", "C", (10.0, 0.1))
    whole = path("gomp", "s", (1.0, 2.0, 3.0))
    steps = player_data.shared_slider([falling, whole, None], ["C", "s", "C"])
    assert (steps.shared, steps.text(20.5)) == ("", "51.25%")
    here = players.shared_place(steps, [falling, whole, None], "25%")
    # shares run from the least value to the largest
    assert here.places == (pytest.approx(0.75), 0.0, None)
    norms = path("lp", "p", (1.0, 2.0, np.inf))
    steps = player_data.shared_slider([norms, norms], ["p", "p"])
    # infinity is drawn one doubling beyond the last norm
    assert steps.value(1.5) == pytest.approx(2.0 * 2**0.5)
    assert players.shared_place(steps, [norms, norms], "inf").places == (2, 2)


# Figures


def test_a_kernel_has_one_colour_and_one_scale_in_all_methods():
    paths = [path("lp", "C", (0.01, 0.1, 1.0)), path("lp", "C", (0.01, 0.1, 1.0), p=2.0)]
    steps = player_data.shared_slider([*paths, None], ["C"] * 3)
    methods = [
        *(MethodView(str(k), one) for k, one in enumerate(paths)),
        MethodView("late", note="Not there yet."),
    ]
    drawn = player_data.methods_json(methods, steps, dark=False)
    first, second, late, *scores = drawn["chart"]["panels"]
    assert late["note"] == "Not there yet."
    assert first["y"]["high"] == second["y"]["high"] == late["y"]["high"]
    assert len({(one["y"]["low"], one["y"]["high"]) for one in scores}) == 1
    table = dict(zip(drawn["methods"]["full"], drawn["methods"]["colours"], strict=True))
    for panel in (first, second):
        colours = {one["name"]: one["colour"] for one in panel["lines"] if one["width"] > 1}
        assert len(colours) > 1
        assert all(table[name] == colour for name, colour in colours.items())


# The page


def test_the_page_says_what_the_library_says():
    data = "diabetes"
    app = open_app(PAGE, data=data, methods="lp,p=2.0;gomp;uniform", seed="3", rows="120")
    params = memory(app).params
    by_name = {}
    names = parameters.labels(answers.methods(params), load_sample(data).task)
    for name, method in zip(names, answers.methods(params), strict=True):
        asked = answers.request(answers.method_params(params, method))
        assert (asked.method, asked.seed) == (method.algorithm, 3)
        by_name[name] = answered(load_sample(data), asked)
    found = compare_answers(by_name)
    shown = rows(app)
    assert str(found).split(" (")[-1] in words(app)
    assert list(shown["method"]) == [one.name for one in found.answers]
    columns = ["by folds", "held out", "behind the first"]
    known = [(one.score, one.judged.score, one.judged.gap) for one in found.answers]
    np.testing.assert_allclose(shown[columns], known, atol=1e-9)
    assert not app.error


def test_a_release_moves_every_method_and_the_link():
    app = open_app(PAGE, data="iris", methods="gomp;uniform", methods_at="40%")
    assert "The methods have different parameters" in words(app)
    assert not app.button(key="compare_best").disabled
    press(app, "compare_best")
    assert "methods_at" not in app.query_params
    app = open_app(PAGE, data="iris", methods="lp,p=2.0;uniform")
    assert "Every method stands at its own best C" in words(app)
    assert "One C for all methods" not in words(app)
    assert "One C for all methods." in words(
        open_app(PAGE, data="iris", methods="lp,p=2.0;uniform", methods_at="1.0")
    )


def test_methods_are_added_changed_and_removed():
    app = open_app(PAGE, data="iris", methods="gomp;uniform")
    press(app, "method_add")
    assert len(answers.methods(memory(app).params)) == 3
    put(app, "method_0_algorithm", "greedy")
    put(app, "method_0_path", "lam")
    assert memory(app).params.methods == "greedy:lam;uniform;lp"
    press(app, "method_1_remove")
    assert memory(app).params.methods == "greedy:lam;lp"
    assert all(app.button(key=f"method_{place}_remove").disabled for place in (0, 1))
    put(app, "method_1_p_p", 2.0)
    assert memory(app).params.methods == "greedy:lam;lp,p=2.0"
    put(app, "methods_preset", "Kernel by kernel")
    assert memory(app).params.methods == "gomp;best_k;greedy"


def test_the_first_kernels_of_every_method_stand_beside_the_best_ones():
    app = open_app(PAGE, data="diabetes", rows="100", methods="gomp;best_k;uniform", **FEW)
    (table,) = (one.value for one in app.dataframe if "k = 1" in one.value)
    assert table["method"].tolist() == ["MKL-GOMP", "Uniform sum"]
    assert table.loc[0, "k = 1"] == pytest.approx(0.0, abs=1e-6)
    assert table.loc[1].isna().sum() == table.shape[1] - 1
    said = next(line for line in words(app).splitlines() if "How far from the best" in line)
    assert ("GOMP does as well" in said) != ("GOMP is " in said)


def test_a_method_that_fails_says_why_and_the_others_stay(monkeypatch):
    make = answers.stages

    def failing(data, asked, *rest):
        if asked.method == "greedy":
            raise ParameterError("This method has no answer.")
        return make(data, asked, *rest)

    monkeypatch.setattr(answers, "stages", failing)
    app = open_app(PAGE, data="iris", seed="44", methods="gomp;greedy;uniform")
    assert ["This method has no answer" in error.value for error in app.error] == [True]
    assert len(rows(app)) == 2


def test_uploads_and_ready_stacks_are_compared():
    for app in (upload(open_app(), table()), with_stack()):
        assert len(rows(go(change(app, methods="gomp;uniform"), PAGE))) == 2


def test_a_file_of_methods_tells_each_problem_once_with_the_methods_that_solve_it():
    params = Params(data="iris", methods="lp,norm=block norm,q=4.0;lp;lp,p=2.0")
    methods = zip(("a", "b", "c"), answers.methods(params), strict=True)
    drawn = [
        answers.ComparedMethod(name, method, answers.method_params(params, method))
        for name, method in methods
    ]
    block, plain = files.problems(drawn)
    assert (block.title, plain.title) == ("a", "b and c")
    assert plain.formula == METHODS["lp"].formula != block.formula
    assert [one.title for one in files.problems(drawn[1:])] == [""]
