"""Lessons and presentation: what is claimed holds for several seeds, every text is filled, and the three steps work."""

import json
import re
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from mklcore.data.samples import SAMPLES, load_sample
from mklcore.errors import ParameterError
from mklcore.estimators.lp import LpMKLRegressor
from mklcore.figures import scenes as players_scene
from mklcore.figures import style
from mklcore.figures.presenting import enlarged
from mklcore.lessons import LESSONS, bands, copies, edge, greedy, hull, landmarks, letters, norms, prices
from mklcore.lessons import words as lesson_words
from mklcore.lessons.pictures import PICTURES
from pages._parts.derive import caches
from pages._parts.jobs.job import JobState
from pages._parts.lessons import steps
from pages._parts.params import link as params_link
from pages._parts.params.parameters import Params
from pages._parts.session import nav
from tests.pages import memory, wait_until

QUICK = {
    "copies": copies.copies,
    "prices": prices.prices,
    "hull": hull.hulls,
    "bands": bands.bands,
    "letters": letters.letters,
    "edge": edge.edge,
    "landmarks": landmarks.landmarks,
    "greedy": greedy.greedy,
}


@pytest.fixture(scope="module")
def found():
    """Every lesson's result, the toys with fewer draws."""
    small = {
        "sparse": norms._norms(1, 0, 1, norms.NORMS, lambda done: None),
        "dense": norms.Levels(tuple(norms._norms(k, 0, 1, norms.FEW_NORMS, lambda done: None) for k in (1, 50))),
    }
    return small | {key: compute() for key, compute in QUICK.items()}


# What is claimed


def test_with_one_informative_feature_sparse_wins_and_with_all_of_them_the_plain_sum(found):
    assert found["sparse"].answer == "one"
    assert found["sparse"].at(1.0).mean() < found["sparse"].bayes + 2
    assert found["dense"].answer == "infinity"
    few, all_of_them = found["dense"].levels
    assert few.answer == "one"
    assert all_of_them.at(1.0).mean() > 1.5 * all_of_them.at(np.inf).mean()


def test_norms_that_err_alike_are_called_the_same(found):
    story = found["sparse"]
    even = replace(story, errors=np.tile([[4.0], [6.0]], (1, len(story.norms))))
    assert even.answer == "same"


def test_a_stopped_lesson_ends_at_the_next_tick():
    def stop(done, total):
        if done:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        norms.sparse(stop)


def test_copies_change_the_split_and_never_the_optimum(found):
    story = found["copies"]
    assert story.answer == "depends"
    for example in story.examples:
        assert example.objective_many == pytest.approx(example.objective_two, rel=1e-6)
        assert example.symmetric[:-1].sum() == pytest.approx(example.block_descent[:-1].sum(), abs=1e-4)
        assert np.ptp(example.symmetric[:-1]) < 1e-6
    assert story.gomp_kept == 2
    assert {"0"} != {story.facts["one_only"], story.facts["two_only"]}


@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0])
def test_copies_act_as_one_kernel_that_is_larger_by_a_power_that_is_nought_at_p_1_only(p):
    """Three copies: the optimum stays at p = 1 and moves at p > 1, as the lesson says."""
    rng = np.random.default_rng(0)
    columns, copies = rng.standard_normal((30, 2)), 3
    y = columns @ [1.0, 0.5] + 0.3 * rng.standard_normal(30)
    kernels = columns.T[:, :, None] * columns.T[:, None, :]

    def optimum(stack):
        model = LpMKLRegressor(p=p, C=1.0, loss="squared", kernels="precomputed", normalise=None, tol=1e-9)
        return model.fit(np.array(stack), y).objective_

    many = optimum([*[kernels[0]] * copies, kernels[1]])
    assert many == pytest.approx(optimum([copies ** (1.0 - 1.0 / p) * kernels[0], kernels[1]]), rel=1e-6)
    assert (many == pytest.approx(optimum(kernels), rel=1e-3)) == (p == 1.0)
    assert "$c^{1-1/p}$ times as large" in lesson_words.words(LESSONS["copies"]).parts["why"]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_lambda_leaves_the_number_of_gomp_kernels_alone_and_lowers_that_of_l1(seed):
    story = prices.prices(seed=seed)
    assert story.answer == "same"
    assert np.all(story.gomp_used == prices.ASKED)
    assert story.l1_used[0] > 30 > 5 > story.l1_used[-1]
    assert story.norms[0].max() > 2 * story.norms[-1].max()
    assert story.small_error.max() < story.l1_error.max()


@pytest.mark.parametrize("seed", [hull.SEED, 23])
def test_hulls_are_certified_after_a_look_at_few_kernels_and_beat_single_columns(seed):
    story = hull.hulls(seed=seed)
    assert story.answer == "less"
    assert all(model.certified_ for model in story.models)
    assert story.path.val_score[story.best] > story.additive + 0.2
    assert not story.holds(0)
    assert story.holds(len(story.models) - 1)
    assert story.pair in story.monomials


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_smkl_keeps_the_bands_that_decide_and_p_1_keeps_more_at_the_same_score(seed):
    story = bands.bands(seed=seed)
    assert story.answer == "exact"
    own, other = bands.best(story.smkl), bands.best(story.sparse)
    assert len(bands.used(story.sparse, other)) > len(story.truth)
    assert story.smkl.val_score[own] > story.sparse.val_score[other] - 0.005


def test_the_weight_goes_from_the_band_of_a_word_to_the_count_of_words_when_its_place_varies(found):
    story = found["letters"]
    assert story.answer == "words"
    assert story.words_share[0] < 0.2 < 0.8 < story.words_share[-1]
    assert np.argmax(story.shares[0]) == letters.PLACE // letters.BAND
    assert story.places_only[0] > story.words_only[0] + 10
    assert story.words_only[-1] > story.places_only[-1] + 10


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_best_cost_lies_far_beyond_a_grid_whose_last_value_is_its_best(seed):
    story = edge.edge(seed=seed)
    assert story.answer == "far"
    assert story.edge == story.tried - 1
    assert story.path.at_edge is None
    assert story.test[story.best] > story.test[story.edge] + 0.1
    near = replace(story, tried=story.best + 1)
    assert near.answer == "there"
    assert [replace(story, tried=story.best + 1 - k).answer for k in (1, 3)] == ["just", "ten"]


def test_few_landmarks_predict_like_exact_kernels_and_prove_little_about_them(found):
    story = found["landmarks"]
    assert story.answer == "less"
    assert story.proved[story.arrived] > 0.5
    assert story.proved[-1] < 0.01
    assert np.all(np.diff(story.lost, axis=0) < 1e-9)
    late = replace(story, accuracy=np.r_[np.zeros(len(story.landmarks) - 1), story.exact])
    assert late.answer == "all"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_decoy_stays_with_greedy_steps_and_fades_under_the_l1_norm(seed):
    story = greedy.greedy(seed=seed)
    assert story.answer == "convex"
    assert story.held[0] == (greedy.DECOY,)
    assert all(greedy.DECOY in held for held in story.held)
    assert story.shares[0, greedy.DECOY] > 0.9
    assert story.shares[story.best, greedy.DECOY] < 0.2
    assert story.gomp.val_score[2] > story.gomp.val_score[1] + 0.03


def test_samples_of_the_lessons_are_what_the_lessons_use():
    polynomial, truth = load_sample("sparse_polynomial"), hull.hulls
    assert truth is LESSONS["hull"].compute
    assert polynomial.n_features == hull.N_COLUMNS
    assert polynomial.n_samples == 2 * hull.N_ROWS
    assert load_sample("spectra").X.shape == (bands.N_ROWS, bands.N_WAVELENGTHS)


# Words


@pytest.mark.parametrize("key", LESSONS)
def test_every_lesson_has_its_words_and_every_figure_in_them_is_computed(key, found):
    said, lesson = steps.words(key), LESSONS[key]
    assert tuple(said.options) == lesson.options
    assert found[key].answer in lesson.options
    assert set(said.parts) == {"reveal", "formula", "why", "look", "limits", "link"}
    steps.fill(said.question, lesson.given)
    facts = lesson.given | found[key].facts
    for part in said.parts.values():
        assert "⟨" not in steps.fill(part, facts)
    assert "⟨" not in said.line + "".join(said.options.values()), "these are shown as they are"
    reported = " ".join([said.title, said.line, said.question, *said.options.values(), *said.parts.values()])
    written = re.sub(r"\$[^$]*\$|⟨\w+⟩", "", reported.replace(said.parts["formula"], ""))
    assert not re.search(r"\d", written), "a figure typed by hand"
    assert "!" not in written


def test_a_figure_nobody_computed_is_an_error():
    with pytest.raises(KeyError):
        steps.fill("It is ⟨unknown⟩.", {"known": "1"})


@pytest.mark.parametrize("key", ["sparse", "dense"])
def test_the_title_does_not_give_the_answer_away(key):
    assert "wins" in steps.words(key).moral
    assert "win" not in steps.words(key).title + steps.words(key).question


@pytest.mark.parametrize("key", LESSONS)
def test_the_page_a_lesson_leads_to_exists_and_its_preset_is_a_link(key):
    page, preset = steps.OPENS[key]
    assert page in {room.file for room in nav.ROOMS}
    params, refused = params_link.read(params_link.text(Params(**preset)))
    assert params == Params(**preset)
    assert refused == ()
    assert params.data in SAMPLES


# Pictures


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("key", LESSONS)
def test_every_position_of_the_slider_has_its_picture_and_its_sentence(key, dark, found):
    scene = PICTURES[key](found[key], dark)
    count = len(scene.steps)
    assert count == len(scene.said) > 1
    assert 0 <= scene.start < count
    assert any(panel.cursor for panel in scene.panels) or key == "bands"
    for panel in scene.panels:
        assert panel.alt.endswith(".")
        assert all(len(bar.heights) == count for bar in panel.bars)
        assert all(len(dot.at) == count for dot in panel.dots)
        assert panel.cursor is None or len(panel.cursor) == count
        assert not panel.cells or len(panel.cells) == count
        assert all(0 <= height <= 1 for bar in panel.bars for height in bar.heights)
        for line in panel.lines:
            assert all(0 <= v <= 1 for point in line.points if point for v in point)
        json.dumps(panel.drawn(), allow_nan=False)


def test_the_picture_shows_the_figures_of_the_library(found):
    story = found["bands"]
    weights = PICTURES["bands"](story, False).panels[1]
    own = bands.best(story.smkl)
    drawn = np.array([bar.heights[own] for bar in weights.bars])
    np.testing.assert_allclose(drawn / drawn.sum(), story.smkl.weights[own] / story.smkl.weights[own].sum(), atol=1e-3)
    grid = PICTURES["hull"](found["hull"], False).panels[0]
    inside = [sum(cell.kind in ("inside", "extreme") for cell in cells) for cells in grid.cells]
    first, second = found["hull"].pair
    nodes = [sum(sum(v) == v[first] + v[second] for v in model.hull_) for model in found["hull"].models]
    assert inside == nodes


def test_axes_place_values_and_say_when_they_are_logarithmic():
    falling = players_scene.logarithmic("λ", 0.01, 100.0, falling=True)
    assert falling.at(100.0) == 0
    assert falling.at(0.01) == 1
    assert falling.at(1.0) == pytest.approx(0.5)
    assert "log scale" in falling.title
    plain = players_scene.linear("y", 0.0, 21.0)
    assert [text for _, text in plain.ticks] == ["0", "10", "20"]
    assert plain.at(99.0) == 1


# The page


def open_app(page: str = "lessons", **query: str) -> AppTest:
    app = AppTest.from_file("../app.py", default_timeout=300)
    app.switch_page(f"pages/{page}.py")
    for name, value in query.items():
        app.query_params[name] = value
    return quiet(app.run())


def quiet(app: AppTest) -> AppTest:
    assert [error.message for error in app.exception] == []
    return app


def link(app: AppTest) -> dict[str, str]:
    return {name: value if isinstance(value, str) else value[0] for name, value in app.query_params.items()}


def words(app: AppTest) -> str:
    return "\n".join(element.value for element in [*app.markdown, *app.caption, *app.warning, *app.info, *app.error])


def press(app: AppTest, key: str) -> AppTest:
    return quiet(app.button(key=key).click().run())


def wait_for(app: AppTest, lesson: str) -> AppTest:
    wait_until(lambda: steps.story(lesson) is not None)
    return quiet(app.run())


@pytest.fixture
def calm(monkeypatch):
    """The gallery computes nothing ahead."""
    monkeypatch.setattr(steps, "ask_all", lambda: None)


@pytest.fixture
def empty_cache(monkeypatch):
    """Nothing has been computed yet, whatever other tests did."""
    result_cache = caches.ResultCache(4)
    monkeypatch.setattr(caches, "lessons", lambda: result_cache)


def test_the_gallery_shows_every_lesson_with_its_level_and_opens_it_at_its_question(calm):
    app = open_app()
    for key in LESSONS:
        said = steps.words(key)
        assert said.title in [title.value for title in app.subheader]
        assert said.line in words(app)
        assert said.level in words(app)
    press(app, "open_copies")
    assert link(app)["lesson"] == "copies"
    assert "none yet" in words(app)
    press(app, "all_lessons")
    assert "lesson" not in link(app)


def test_the_gallery_computes_every_lesson_ahead_and_asks_once(monkeypatch, empty_cache):
    cheap = {key: LESSONS[key] for key in ("copies", "bands")}
    monkeypatch.setattr(steps, "LESSONS", cheap)
    app = open_app()
    job = memory(app).jobs["long"]
    assert job.job.key == steps.GALLERY
    quiet(app.run())
    assert memory(app).jobs["long"] is job
    wait_until(lambda: not job.live)
    assert job.state is JobState.DONE
    assert all(steps.story(key) is not None for key in cheap)


def test_a_lesson_goes_from_guess_to_reveal_to_why_and_begins_again(calm):
    app = open_app(lesson="bands")
    said = steps.words("bands")
    assert steps.fill(said.question, LESSONS["bands"].given) in words(app)
    press(app, "guess_all")
    assert link(app)["lesson_guess"] == "all"
    assert said.options["all"] in words(app)
    press(app, "lesson_next")
    wait_for(app, "bands")
    assert link(app)["lesson_step"] == "reveal"
    reported = words(app)
    assert f"Your guess] {said.options['all']}" in reported
    assert f"The answer] {said.options['exact']}" in reported
    assert "What to look for" not in reported
    assert "Save as one file" in {button.label for button in app.get("download_button")}
    press(app, "lesson_next")
    reported = words(app)
    assert "What to look for" in reported
    assert "What it cannot tell" in reported
    assert app.latex[0].value.strip("$\n ") == said.parts["formula"]
    assert "lesson_next" not in {button.key for button in app.button}
    press(app, "lesson_back")
    assert link(app)["lesson_step"] == "reveal"
    press(app, "lesson_again")
    assert link(app) == {"lesson": "bands"}
    assert "none yet" in words(app)


def test_a_right_guess_is_called_right_and_a_link_restores_it(calm):
    app = open_app(lesson="bands", lesson_step="reveal", lesson_guess="exact", lesson_at="3")
    wait_for(app, "bands")
    assert "Right] Exactly those" in words(app)
    assert memory(app).params.lesson_at == 3


def test_what_a_link_gets_wrong_is_refused_or_left_out(calm):
    app = open_app(lesson="nonsense", lesson_step="later")
    assert len(app.warning) == 2
    assert "has to be one of" in app.warning[0].value
    app = open_app(lesson="bands", lesson_step="reveal", lesson_guess="elephant", lesson_at="99")
    wait_for(app, "bands")
    assert "Your guess" not in words(app)


def test_the_link_for_the_next_class_holds_the_lesson_and_nothing_else(calm):
    app = open_app(lesson="bands", lesson_step="why", lesson_guess="all", data="iris")
    wait_for(app, "bands")
    links = [code.value for code in app.code]
    assert any(link.endswith("?lesson=bands") for link in links)


def test_a_release_of_the_slider_is_kept_within_the_slider(calm):
    app = open_app(lesson="bands", lesson_step="reveal")
    wait_for(app, "bands")
    app.session_state["lesson_scene"] = {"report": {"lesson": "bands", "index": 7, "time": 1}}
    quiet(app.run())
    assert memory(app).params.lesson_at == 7
    app.session_state["lesson_scene"] = {"report": {"lesson": "bands", "index": 1000, "time": 2}}
    quiet(app.run())
    assert memory(app).params.lesson_at == bands.POINTS - 1
    app.session_state["lesson_scene"] = {"report": {"lesson": "hull", "index": 0, "time": 3}}
    quiet(app.run())
    assert memory(app).params.lesson_at == bands.POINTS - 1


def test_a_lesson_that_fails_says_so_and_can_be_asked_for_again(calm, monkeypatch, empty_cache):
    def broken(tick, seed=0):
        raise ParameterError("The seed is out of range; choose another one.")

    monkeypatch.setattr(steps, "LESSONS", LESSONS | {"bands": replace(LESSONS["bands"], compute=broken)})
    app = open_app(lesson="bands", lesson_step="reveal")
    wait_until(lambda: not memory(app).jobs["short"].live)
    quiet(app.run())
    assert "out of range" in words(app)
    monkeypatch.setattr(steps, "LESSONS", LESSONS)
    quiet(app.run())
    press(app, "compute_lesson")
    wait_for(app, "bands")
    assert "At its best" in words(app)


def test_a_lesson_leads_to_its_page_with_the_preset_loaded(calm, monkeypatch):
    went = []
    monkeypatch.setattr(nav, "go", went.append)
    app = open_app(lesson="copies", lesson_step="why")
    wait_for(app, "copies")
    press(app, "open_preset")
    assert went == ["theory"]
    assert memory(app).params == Params(theory="duplicates", lesson="copies", lesson_step="why")


def test_the_hull_lesson_takes_its_two_columns_along(calm, monkeypatch):
    monkeypatch.setattr(nav, "go", lambda page: None)
    app = open_app(lesson="hull", lesson_step="why")
    wait_for(app, "hull")
    press(app, "open_preset")
    params = memory(app).params
    assert params.data == "sparse_polynomial"
    assert params.hull_pair == ",".join(str(j + 1) for j in steps.story("hull").pair)


# Presentation


def test_presentation_is_entered_and_left_by_a_button_and_is_part_of_the_link(calm):
    app = open_app()
    press(app, "present")
    assert link(app)["present"] == "yes"
    assert "leave_below" in {button.key for button in app.button}
    press(app, "open_bands")
    assert memory(app).params.present
    press(app, "leave_below")
    assert "present" not in link(app)
    assert "leave_below" not in {button.key for button in app.button}


@pytest.mark.parametrize("page", ["data", "kernels"])
def test_presentation_reaches_every_page_and_hides_rail_and_menu(page):
    app = open_app(page, data="iris", widths="2", present="yes")
    dressed = [html.proto.body for html in app.get("html")]
    assert any("stSidebar" in body and "stHeader" in body for body in dressed)
    assert "leave_below" in {button.key for button in app.button}


def test_presented_figures_are_larger_copies():
    figure = style.new_figure("A line.", dark=False, height=300)
    figure.add_scatter(x=[0, 1], y=[0, 1], line={"width": 2}, marker={"size": 6})
    figure.update_xaxes(style.axis("x", dark=False))
    style.label_ends(figure, [style.EndLabel("end", 1.0, "#0072B2")], (0.0, 1.0), dark=False)
    before = figure.to_json()
    larger = enlarged(figure, 1.5)
    assert isinstance(larger, go.Figure)
    assert figure.to_json() == before
    assert larger.layout.height == 450
    assert larger.layout.xaxis.tickfont.size == 1.5 * style.LABEL_SIZE
    assert larger.layout.annotations[0].font.size == 1.5 * style.LABEL_SIZE
    assert larger.data[0].line.width == 3
    assert larger.data[0].marker.size == 9
    assert larger.layout.meta["alt"] == "A line."
    np.testing.assert_array_equal(larger.data[0].y, figure.data[0].y)
