"""Kept work in the app: what survives a reload and a restart, what no stranger sees, and what undo takes back."""

import hashlib
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mklcore.figures import weights_beside
from mklcore.paths.files import write_paths
from pages._parts.jobs import worker
from pages._parts.params import link as params_link
from pages._parts.params.parameters import Params
from pages._parts.runs import disk
from pages._parts.runs import results as runs_results
from pages._parts.runs.disk import FILE
from pages._parts.runs.results import Results, ResultsError
from pages._parts.runs.secrets import link_secret
from pages._parts.runs.store import GONE
from pages._parts.session import history, uploads
from tests.kept_work import ANNA, BEN, on_disk
from tests.pages import go, memory, open_app, quiet, table, upload, wait_for_path, wait_until, words

# Results


def results(seed: int = 0, exact: bool = False) -> Results:
    rng = np.random.default_rng(seed)
    from mklcore.paths.path import Path as Solved
    from mklcore.solvers.driver import Status

    def path(n: int) -> Solved:
        one = lambda: rng.random(n)  # noqa: E731
        weights, whole = rng.random((n, 3)), np.arange(n)
        return Solved(
            "p", np.append(1.0 + np.sort(one())[:-1], np.inf), weights, one(), one(), np.full(n, np.nan), whole, one(),
            one(), one(), whole, (Status.CONVERGED,) * (n - 1) + (Status.MAX_ITER,), (None,) * n, (object(),) * n,
            ("a", "<b>", "c"), ("linear", "rbf", "rbf"), "accuracy",
        )  # fmt: skip

    return Results(path(5), path(1) if exact else None)


@pytest.mark.parametrize("exact", [False, True])
def test_results_come_back_with_the_exact_point_if_there_was_one(exact: bool) -> None:
    whole = results(exact=exact)
    back = runs_results.read(runs_results.write(whole))
    np.testing.assert_array_equal(back.path.weights, whole.path.weights)
    assert (back.point is None) is not exact
    if back.point is not None and whole.point is not None:
        np.testing.assert_array_equal(back.point.values, whole.point.values)


def test_results_that_cannot_be_trusted_are_refused() -> None:
    good = runs_results.write(results())
    for content in (b"", good[: len(good) // 2], write_paths(other=results().path)):
        with pytest.raises(ResultsError, match="computes them anew"):
            runs_results.read(content)


def test_two_runs_are_compared_kernel_by_kernel() -> None:
    first = results().path
    second = replace(first, kernel_names=("a", "c", "new"), weights=np.array([[1.0, 0.0, 1.0]] * 5))
    first = replace(first, weights=np.array([[2.0, 0.0, 0.0]] * 5))
    pair = runs_results.beside((first, 0), (second, 0))
    assert pair.names == ("a", "<b>", "c", "new")
    assert pair.difference.tolist() == [-1.0, 0.0, 0.0, 1.0]
    assert pair.changed == pytest.approx(0.5)
    assert np.isnan(pair.second[1])
    reported = runs_results.differing({"data": "iris", "seed": "1"}, {"data": "iris", "p": "2"}, {"seed": "0"})
    assert reported == [("seed", "1", "0"), ("p", "usual", "2")]
    columns = runs_results.table([("x", [("gap", "1 %")]), ("x", [("gap", "2 %"), ("more", "3")])])
    assert columns == {"": ["gap", "more"], "x": ["1 %", ""], "x ": ["2 %", "3"]}


def test_the_figure_of_two_runs_draws_their_weights_and_no_markup() -> None:
    figure = weights_beside(
        ["a", "<b>x</b>"], ["linear", "rbf"], [0.5, np.nan], [0.25, 1.0], ("<i>one</i>", "two"), dark=True
    )
    marks = [trace for trace in figure.data if trace.mode == "markers"]
    assert sorted(trace.x[0] for trace in marks) == [0.25, 0.5, 1.0]
    assert "<b>" not in str(figure.layout.yaxis.ticktext)
    assert "<i>" not in figure.layout.xaxis.title.text
    assert "no such kernel" in figure.layout.meta["alt"]


# The app


def tell(app: AppTest, owner: str | None, **more: object) -> AppTest:
    """Let the browser of this session say what it remembers."""
    app.session_state["runs_browser"] = {"report": {"key": owner, "keep": True, "stored": True, **more}}
    return quiet(app.run())


def save(app: AppTest, name: str = "Mine") -> str:
    """Save the screen as the button does; return the secret of its link."""
    app.session_state["runs"], memory(app).kept.waiting = True, name
    quiet(app.run())
    assert memory(app).kept.waiting is None
    return link_secret(memory(app).kept.owner, memory(app).kept.linked)


def test_an_upload_survives_a_reload_in_the_browser_that_brought_it_and_in_no_other(home: Path) -> None:
    app = upload(tell(open_app(), ANNA), table())
    assert "Kept on the server for 7 days" in words(app)
    link = dict(app.query_params)
    reloaded = open_app(**link)
    assert "upload the same file" in words(reloaded)
    assert "**60** rows" in words(tell(reloaded, ANNA))
    for stranger in (BEN, None, "x" * 43, "' OR 1=1", ["list"]):
        assert "**60** rows" not in words(tell(open_app(**link), stranger))


def test_a_first_upload_asks_the_browser_for_a_secret(home: Path) -> None:
    app = upload(open_app(), table())
    assert memory(app).kept.owner_wanted == "upload"
    assert not home.exists()
    app = tell(app, ANNA)
    quiet(app.run())
    assert "Kept on the server" in words(app)
    assert not memory(app).kept.owner_wanted


def test_a_person_who_wants_no_files_kept_gets_that(home: Path) -> None:
    app = upload(tell(open_app(), ANNA), table())
    marked = table().splitlines()[3]
    assert marked in on_disk(home)
    quiet(app.button(key="runs_forget").click().run())
    assert "asks for it again" in words(app)
    assert marked not in on_disk(home)
    upload(app, table(seed=4))
    assert table(seed=4).splitlines()[3] not in on_disk(home)
    other = upload(tell(open_app(), ANNA, keep=False), table())
    assert marked not in on_disk(home)
    quiet(other.button(key="runs_remember").click().run())
    assert marked in on_disk(home)


@pytest.mark.threads
def test_a_saved_run_comes_back_by_its_secret_link_with_table_and_results(home: Path) -> None:
    app = tell(upload(open_app(recipe="builders"), table(seed=5)), ANNA)
    go(app, "pages/kernels.py")
    app.slider(key="field_widths").set_value(2).run()
    wait_for_path(go(app, "pages/explore.py"))
    path, params = memory(app).answer.path, memory(app).params
    secret = save(app)
    again = open_app(run=secret)
    assert "**60** rows" in words(again)
    assert memory(again).params == params
    shown = memory(again).answer.path
    np.testing.assert_array_equal(shown.weights, path.weights)
    assert set(shown.estimators) == {None}
    assert again.query_params["run"] == secret
    gate = threading.Event()
    worker.worker().submit(gate.wait)
    try:  # the kept answer is on the screen while the worker has not begun
        for look in ("columns", "path", "inside"):
            memory(again).params = replace(memory(again).params, look=look)
            assert "of 7 kernels used" in words(go(again, "pages/explore.py"))
            assert memory(again).answer.path is shown
    finally:
        gate.set()
    wait_until(lambda: None not in memory(go(again, "pages/explore.py")).answer.path.estimators)
    np.testing.assert_allclose(memory(again).answer.path.weights, path.weights, rtol=1e-9)
    assert again.query_params["run"] == secret
    assert memory(open_app(**dict(again.query_params))).params == replace(params, look="inside")
    assert memory(again).kept.owner is None


def test_a_deleted_run_and_a_wrong_secret_say_the_same(home: Path) -> None:
    app = tell(upload(open_app(), table(seed=5)), ANNA)
    secret = save(app)
    from pages._parts.runs.store import Store as Fresh

    Fresh(home).delete(ANNA, memory(app).kept.linked)
    reported = [words(open_app(run=token)) for token in (secret, "x" * 43, "<b>x</b>", "../..")]
    assert GONE in reported[0].replace("\\", "")
    assert all(one == reported[0] for one in reported)
    assert table(seed=5).splitlines()[3] not in on_disk(home)


def test_a_run_about_a_sample_leaves_a_plain_link(home: Path) -> None:
    app = tell(open_app(data="wine", seed="4"), ANNA)
    secret = save(app)
    again = open_app(run=secret)
    assert memory(again).params == Params(data="wine", seed=4)
    assert dict(again.query_params) == {"data": "wine", "seed": "4"}


def test_a_long_dictionary_edited_by_hand_is_kept_like_a_file(home: Path) -> None:
    app = tell(open_app(data="iris"), ANNA)
    text = "lin@1;" * 400
    name = uploads.KEPT + hashlib.sha256(text.encode()).hexdigest()
    memory(app).tables[name] = text
    memory(app).params = Params(data="iris", edited=name)
    secret = save(quiet(app.run()))
    assert memory(open_app(run=secret)).tables[name] == text
    reloaded = open_app(data="iris", edited=name)
    assert not memory(reloaded).tables
    assert memory(tell(reloaded, ANNA)).tables[name] == text


def test_the_list_shows_own_runs_with_names_as_they_are_and_opens_them(home: Path) -> None:
    app = tell(open_app(data="wine"), ANNA)
    app.session_state["runs"] = True
    save(app, "*bold* <b>x</b> [l](http://x.y)")
    quiet(app.run())
    assert r"\*bold\* \<b\>x\</b\> \[l\]\(http\:" in words(app).replace("\\/", "/")
    run = memory(app).kept.linked
    quiet(app.button(key="table_iris").click().run())
    app.session_state["runs"] = True
    quiet(app.run())
    quiet(app.button(key=f"runs_open_{run}").click().run())
    assert memory(app).params.data == "wine"
    quiet(app.button(key="undo").click().run())
    assert memory(app).params.data == "iris"
    stranger = tell(open_app(), BEN)
    stranger.session_state["runs"] = True
    assert "bold" not in words(quiet(stranger.run()))


def test_deleting_asks_once_more_and_says_what_went(home: Path) -> None:
    app = tell(upload(open_app(), table()), ANNA)
    app.session_state["runs"] = True
    save(app)
    run = memory(app).kept.linked
    app.session_state["runs"] = True
    quiet(app.run())
    quiet(app.button(key=f"runs_delete_{run}").click().run())
    assert table().splitlines()[3] in on_disk(home)
    app.session_state["runs"] = True
    quiet(app.button(key=f"runs_gone_{run}").click().run())
    assert "Deleted, and its table with it" in words(app).replace("\\", "")
    assert table().splitlines()[3] not in on_disk(home)
    assert "Deleted from the server" in words(app)
    quiet(app.run())
    assert table().splitlines()[3] not in on_disk(home)


SAID = {"damaged": "was damaged. It is now called", "blocked": "cannot be kept", "off": "This server keeps no files"}


@pytest.mark.parametrize("place", SAID)
def test_the_app_goes_on_where_nothing_can_be_kept(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / place
    if place == "damaged":
        home.mkdir()
        (home / FILE).write_bytes(b"rubbish" * 1000)
    elif place == "blocked":
        home.write_text("a file is in the way")
    monkeypatch.setenv(disk.HOME, "off" if place == "off" else str(home))
    app = upload(tell(open_app(), ANNA), table())
    assert "**60** rows" in words(app)
    app.session_state["runs"] = True
    memory(app).kept.waiting = "Mine"
    quiet(app.run())
    assert not app.error
    assert SAID[place] in words(app).replace("\\", "")


# Undo, redo and the link


def test_redo_takes_back_an_undo_until_something_new_is_chosen() -> None:
    app = open_app()
    for name in ("wine", "iris"):
        quiet(app.button(key=f"table_{name}").click().run())
    for key, data in (
        ("undo", "wine"),
        ("undo", "breast_cancer"),
        ("redo", "wine"),
        ("redo", "iris"),
        ("redo", "iris"),
    ):
        quiet(app.button(key=key).click().run())
        assert memory(app).params.data == data
    app.button(key="undo").click().run()
    quiet(app.button(key="table_diabetes").click().run())
    quiet(app.button(key="redo").click().run())
    assert memory(app).params.data == "diabetes"


def test_a_step_back_soon_after_a_change_is_seen_once_it_is_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "LINK_SECONDS", 30.0)
    app = open_app(data="iris")
    quiet(app.button(key="table_wine").click().run())
    app.query_params["data"] = "iris"
    quiet(app.run())
    assert memory(app).link.doubt
    assert memory(app).params.data == "wine"
    assert app.query_params["data"] == "iris"
    memory(app).link.written_at = time.monotonic() - 60
    quiet(app.run())
    assert memory(app).params.data == "iris"
    assert not memory(app).link.doubt


def test_a_link_that_was_only_behind_is_put_right_without_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "LINK_SECONDS", 30.0)
    app = open_app(data="iris")
    quiet(app.button(key="table_wine").click().run())
    app.query_params["data"] = "iris"
    quiet(app.run())
    app.query_params["data"] = "wine"
    quiet(app.run())
    assert memory(app).params.data == "wine"
    assert len(memory(app).steps.past) == 1
    app.query_params["data"] = "iris"
    quiet(app.run())
    assert memory(app).link.doubt
    quiet(app.button(key="table_diabetes").click().run())
    assert app.query_params["data"] == "diabetes"


# Repeated splits


def test_repeats_say_mean_spread_and_every_split() -> None:
    app = wait_for_path(open_app("pages/explore.py", data="iris", widths="2", each="none", repeats="3"))
    quiet(app.button(key="repeat").click().run())
    wait_until(lambda: "Mean ± standard deviation" in words(app), app)
    assert "over 3 splits at C =" in words(app)
    frames = [frame.value for frame in app.dataframe if "seed" in frame.value]
    assert frames[0]["seed"].tolist() == [0, 1, 2]
    assert frames[0]["test"].between(0, 1).all()


@pytest.mark.parametrize("count", ["1", "101", "2.5", "x"])
def test_a_link_with_a_wrong_number_of_repeats_is_refused(count: str) -> None:
    params, refused = params_link.read({"repeats": count})
    assert params == Params()
    assert "a whole number from 2 to 100" in refused[0]


def test_two_ticked_runs_are_shown_beside_each_other(home: Path) -> None:
    app = tell(open_app(data="iris", widths="2", each="none"), ANNA)
    wait_for_path(go(app, "pages/explore.py"))
    save(app, "First")
    memory(app).params = replace(memory(app).params, seed=5)
    wait_for_path(quiet(app.run()))
    save(app, "Second")
    for tick in app.checkbox:
        if str(tick.key).startswith("runs_tick_"):
            tick.check()
    quiet(app.run())
    app.button(key="runs_compare").click()
    quiet(app.run())
    frames = [frame.value for frame in app.dataframe]
    figures = next(frame for frame in frames if {"First", "Second"} <= set(frame))
    rows = figures.set_index(figures.columns[0])
    assert rows.loc["seed of the split"].tolist() == ["0", "5"]
    assert "of 4" in rows.loc["kernels used", "First"]
    asked = next(frame for frame in frames if "parameter" in frame)
    assert asked.to_numpy().tolist() == [["seed", "0", "5"]]
