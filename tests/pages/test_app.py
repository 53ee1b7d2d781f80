"""The app without a browser: every page and sample, the link's refusals, what survives and what is
dropped.
"""

import gc
import re
from dataclasses import replace
from itertools import cycle
from unittest.mock import patch

import numpy as np
import pytest
import streamlit as st
from threadpoolctl import threadpool_info, threadpool_limits

from mklcore.data import SAMPLES
from mklcore.errors import ProofError
from mklcore.problem import driver
from pages.shared import frame
from pages.shared.session import parameters, state
from pages.shared.session.parameters import ANSWER, GRAMS, METHODS, SEARCH, SPLIT, Params
from pages.shared.values import dictionaries
from pages.shared.work import compiling
from tests.helpers.every import every
from tests.helpers.pages import (
    FEW,
    go,
    memory,
    open_app,
    plain_words,
    press,
    put,
    quiet,
    shown_players,
    table,
    upload,
    words,
)

SMALL = {"widths": "2", "each": "none", **FEW}
PAGES = (
    "pages/data/page.py",
    "pages/kernels/page.py",
    "pages/explore/page.py",
    "pages/hulls/page.py",
)


# Every page and sample


def test_a_link_whose_dictionary_does_not_fit_the_table_is_refused_on_every_page_that_has_kernels():
    app = open_app(data="iris", edited="rbf0.5m@300")
    for page in ("kernels", "explore", "compare", "predict", "theory"):
        go(app, f"pages/{page}/page.py")
        assert "'300' is not among the columns" in plain_words(app), page


@pytest.mark.threads
@every("sample, page, algorithm", zip(SAMPLES, cycle(state.PAGES), cycle(METHODS)))
def test_every_page_opens_whatever_the_sample_and_the_algorithm(sample, page, algorithm):
    app = open_app(
        f"pages/{page}/page.py", data=sample, **SMALL, algorithm=algorithm, lesson="copies"
    )
    assert words(app).strip() or page == "home"  # the first screen is one picture
    assert not app.error


def test_a_table_without_a_target_is_learnt_and_pages_that_need_one_say_so():
    app = open_app(data="ring")
    assert "one-class (anomaly detection)" in words(app)
    for page, said in (
        ("kernels", "has the largest effective rank"),
        ("explore", "Most unusual rows in"),
        ("compare", "no target"),
        ("hulls", "target"),
    ):
        assert said in words(go(app, f"pages/{page}/page.py")), page
        assert page != "explore" or app.selectbox(key="field_algorithm").options == [
            METHODS["lp"].label
        ]
    app = upload(open_app(), table())
    put(app, "field_task", "novelty")
    put(app, "field_target", "")
    assert "Most unusual rows in" in words(go(app, "pages/explore/page.py"))


@every("page", ["explore", "compare", "hulls"])
def test_a_withheld_answer_is_reported_on_the_page(page):
    finding = "Invariant 'objective' is violated: a method tells 1, its own coefficients give 2."
    app = upload(
        open_app(widths="1", each="none", degree="0", methods="lp;uniform"), table(target=page)
    )
    with patch.object(driver, "check", side_effect=ProofError(finding)):
        said = words(go(app, f"pages/{page}/page.py")).replace("\\", "")
    assert "This answer is withheld" in said
    assert "standardise the target" in said
    assert "please report the method" in said
    assert finding in said
    assert "Traceback" not in said
    assert "ProofError" not in said


def test_a_fresh_start_shows_a_sample_without_a_click():
    app = open_app()
    assert "**569** rows, **30** columns to learn from" in words(app)
    assert not app.error
    assert not app.warning


# The link


SETTING = "settings within the ranges their controls show"
REFUSED = [
    ("data", "titanic", "the name of a sample"),
    ("data", "upload:42", "the fingerprint of an uploaded file"),
    ("validation", "0.9", "a number from 0.05 to 0.45"),
    ("validation", "nan", "a number from 0.05 to 0.45"),
    ("seed", "1.5", "a whole number from 0 to 9999"),
    ("widths", "-1", "a whole number from 0 to 20"),
    ("linear", "maybe", "yes or no"),
    ("each", "twice", "one of auto, none, linear"),
    ("algorithm", "magic", "one of " + ", ".join(METHODS)),
    ("path", "s", "one of C, p"),
    ("at", "-3", "a number above 0"),
    *((name, value, "within the range its control shows") for name, value in
      (("p", "0.5"), ("C", "-1"), ("loss", "zero-one"))),
    ("hull_basis", "fourier", "one of polynomial, gaussian"),
    ("hull_degree", "7", "a whole number from 1 to 6"),
    ("hull_loss", "zero-one", "one of hinge, logistic, squared"),
    ("hull_columns", "1;2", "numbers of columns with commas between them"),
    ("hull_columns", "1," * 300 + "1", "numbers of columns with commas between them"),
    ("hull_pair", "1,2,3", "one or two numbers of columns"),
    ("hull_node", "a^2", "columns with levels"),
    ("hull_at", "0", "a number above 0"),
    *(("hull_more", value, SETTING) for value in
      ("memory_mb=1", "memory_mb=nan", "tol=nan", "tol", "volume=3", "refit=maybe", "loss=hinge", "tol=0.1;" * 90)),
    ("task", "clustering", "one of classification, regression, novelty"),
    ("uses", "3q", "columns with uses, as in 3n,5x"),
    ("uses", "1n," * 600 + "1n", "columns with uses"),
    ("missing", "mean", "one of median, indicator, drop"),
    ("grouping", "bands many", "groups, as in petal:3-4"),
    ("encoding", "ebcdic", "one of utf-8"),
    ("header", "maybe", "one of yes, no"),
    ("clip", "1", "yes or no"),
    ("sheet", "a\nb", "the name of a sheet"),
    ("target", "x" * 401, "target"),
    *(("repeats", value, "a whole number from 2 to 100") for value in ("1", "101", "2.5", "x")),
    *(("moved", value, "numbers of columns with their new values") for value in
      ("a=1", "1=nan", "1=1;2=2", "=", "1=" + "9" * 40, "1=1e999", "2=-1e308", "1=1,2=1e101")),
    ("theory", "nonsense", "theory has to be"),
    ("theory_lam", "0", "theory_lam has to be"),
    ("experiment", "../x", "experiment has to be the name of an experiment"),
    ("lesson_step", "later", "has to be one of"),
    ("colour", "red", "which this app does not know"),
]  # fmt: skip


@every("name, value, said", REFUSED)
def test_a_link_is_refused_where_it_asks_for_what_cannot_be(name, value, said):
    other = {"widths": "3"} if name != "widths" else {"seed": "3"}
    params, refused = parameters.read_link({name: value} | other)
    assert len(refused) == 1
    assert said in refused[0]
    assert parameters.link_text(params) == other


def test_the_page_tells_everything_that_a_link_was_refused_for():
    wrong = {name: (value, said) for name, value, said in REFUSED[: parameters.MOST_REFUSALS]}
    app = open_app(**{name: value for name, (value, _) in wrong.items()})
    reported = [warning.value.replace("\\", "") for warning in app.warning]
    assert len(reported) == len(wrong)
    assert all(any(said in line for line in reported) for _, said in wrong.values())


def test_a_link_that_leaves_no_training_rows_is_refused():
    params, refused = parameters.read_link({"validation": "0.45", "test": "0.4"})
    assert "less than a fifth of the rows" in refused[0]
    assert params == Params()


@every("path, at", [("C", 1e9), ("p", 0.3), ("s", 500)])
def test_a_link_to_a_point_beyond_the_bounds_shows_the_nearest(path, at):
    algorithm = "gomp" if path == "s" else "lp"
    asked = {"path": path, "at": str(at), "look": "path", "algorithm": algorithm}
    app = open_app("pages/explore/page.py", data="iris", **asked, **SMALL)
    assert not app.error
    (player,) = shown_players(app, "path_player")
    assert player["index"] == (0 if at < 1 else len(player["labels"]) - 1)


def test_a_link_says_the_same_as_the_parameters_it_came_from():
    params = Params(
        data="wine",
        validation=0.3,
        seed=7,
        linear=False,
        algorithm="gomp",
        path="lam",
        at=0.0123456789,
    )
    params = replace(
        params,
        hull_basis="gaussian",
        hull_columns="1,3,4",
        hull_pair="1,4",
        hull_node="1^2*4^1",
        hull_at=0.02,
    )
    params = (
        replace(params, moved="1=1e100", target="名 <b>")
        .with_setting("n_kernels", 12)
        .with_setting("p", float("inf"))
        .with_setting("loss", "squared")
    )
    assert parameters.read_link(parameters.link_text(params)) == (params, ())
    assert parameters.link_text(Params()) == {}


def test_a_key_holds_what_a_stage_needs_and_nothing_later():
    params = Params(data="wine", widths=3, algorithm="gomp", at=2.0, shown=4)
    assert params.of(*SPLIT) == Params(data="wine")
    assert params.of(*GRAMS) == Params(data="wine", widths=3)
    assert params.of(*ANSWER) == Params(data="wine", widths=3, algorithm="gomp")
    hull = replace(params, hull_degree=2, hull_at=0.1)
    assert hull.of(*ANSWER) == params.of(*ANSWER)
    assert hull.of(*SEARCH) == Params(data="wine", hull_degree=2)


# What survives and what is dropped


def test_choices_survive_a_change_of_page():
    app = open_app("pages/kernels/page.py", data="iris")
    assert not app.slider  # the table suggests the kernels
    put(app, "field_recipe", "builders")
    put(app, "field_widths", 7)
    put(app, "field_linear", False)
    go(app, "pages/data/page.py")
    go(app, "pages/kernels/page.py")
    assert app.slider(key="field_widths").value == 7
    assert app.toggle(key="field_linear").value is False
    assert memory(app).params == Params(data="iris", recipe="builders", widths=7, linear=False)


# Work in the background


def test_a_server_has_one_blas_thread_and_does_not_collect_what_it_imported():
    def threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        assert max(threads()) == 2  # a library may bring a BLAS without threads
        compiling.calm()
        assert threads() == {1}
    assert gc.get_freeze_count() > 100_000


# Files


def test_a_file_that_cannot_be_used_gives_a_sentence():
    app = open_app()
    for content, said in (
        (bytes(range(256)) * 40, "file is binary"),
        (b"a,y\n1,u\n2,v\n3,w\n", "No column can be"),
    ):
        assert [said in error.value for error in upload(app, content).error] == [True]
    for page in PAGES[1:]:
        go(app, page)
        assert len(app.error) == 1
    go(app, "pages/data/page.py")
    press(app, "table_iris")
    assert "**150** rows" in words(app)


def test_a_link_to_a_file_resolves_only_where_the_file_was_uploaded():
    content = table(seed=9)
    owner = upload(open_app(), content)
    link = owner.query_params["data"]
    stranger = open_app(data=link)
    for page in (*PAGES, "pages/compare/page.py", "pages/predict/page.py"):
        go(stranger, page)
        assert "Upload the same file" in words(stranger)
        assert "60" not in words(stranger)
    upload(go(stranger, "pages/explore/page.py"), content)
    assert "Predicting **label**" in words(stranger)
    assert "**60** rows" in words(go(stranger, PAGES[0]))


def test_rows_are_drawn_where_the_kernels_of_all_would_not_fit(monkeypatch):
    monkeypatch.setattr(dictionaries, "MEMORY_LIMIT_MB", 20.0)
    app = open_app(
        "pages/kernels/page.py",
        data="digits",
        widths="20",
        each="linear",
        validation="0.05",
        test="0.05",
    )
    assert not app.error
    kernels, rows = map(
        int, re.search(r"\*\*(\d+)\*\* kernels on \*\*(\d+)\*\* training rows", words(app)).groups()
    )
    assert 100 < rows < 250
    assert 8 * kernels * rows**2 < 20e6


def test_a_run_that_lost_the_state_of_a_widget_is_drawn_again_and_a_fault_is_not_hidden(
    monkeypatch,
):
    drawn = frame.heading
    lost = [True]

    def heading(question, **how):
        if lost and lost.pop(0):
            st.session_state["setting_p"]  # as Streamlit itself asks for it, between two runs
        return drawn(question, **how)

    monkeypatch.setattr(frame, "heading", heading)
    monkeypatch.setattr(frame, "AGAIN_SECONDS", 600.0)
    app = open_app("pages/theory/page.py")
    assert not lost
    assert app.title
    lost[:] = [True]
    assert app.run().exception
    memory(app).overlapped = -np.inf
    lost[:] = [True]
    quiet(app.run())
    monkeypatch.setattr(frame, "heading", lambda question: {}["p"])
    memory(app).overlapped = -np.inf
    assert app.run().exception
