"""Lessons and presentation: what is claimed holds for several seeds, every text is filled, and the
three steps work.
"""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mklcore.data.samples import SAMPLES
from mklcore.gallery.lessons import LESSONS, LessonResult, numbers
from mklcore.gallery.lessons.found import fill
from mklcore.gallery.lessons.toy import Level
from pages.shared.session import parameters, state
from pages.shared.session.parameters import Params
from tests.helpers.every import EVERY_CASE
from tests.helpers.pages import memory, open_app, press, words

PAGE = "pages/lessons/page.py"


def series(found, *names):
    return [np.array(found.series[name], dtype=float) for name in names]


# What is claimed


@pytest.fixture(scope="module")
def again():
    """Lessons that are quick, computed here."""
    quick = ("edge", "copies", "prices", "greedy", "letters", "bands", "hull")
    return {key: LESSONS[key].compute() for key in quick}


def test_what_is_recorded_is_what_is_computed(again):
    for key, now in again.items():
        kept = LESSONS[key].found
        assert now.answer == kept.answer, key
        assert (set(now.facts), len(now.at), now.pair) == (
            set(kept.facts),
            len(kept.at),
            kept.pair,
        ), key
        assert_allclose(now.at, kept.at, rtol=1e-3, err_msg=key)
        for name, (labels, hues, table) in now.bars.items():
            assert [labels, hues] == kept.bars[name][:2], key
            assert_allclose(
                table, kept.bars[name][2], atol=0.05 * np.max(table), err_msg=f"{key} {name}"
            )
        assert LessonResult.from_json(now.to_json()) == now, key


def test_with_one_informative_feature_sparse_wins_and_with_all_of_them_the_plain_sum():
    found = numbers.sparse(draws=1)
    dense = numbers.dense(draws=1, counts=(1, 50))
    assert found.answer == "one"
    assert found.series["mean"][0] < found.series["bayes"][0] + 2
    one, infinity = series(dense, "one", "infinity")
    assert dense.answer == "infinity"
    assert one[0] < infinity[0]
    assert one[1] > 1.5 * infinity[1]
    even = Level(1, (1.0, 2.0, np.inf), np.tile([[4.0], [6.0]], (1, 3)), np.zeros((3, 50)), 4.0)
    assert even.answer == "same"


def test_copies_change_the_split_and_never_the_optimum(again):
    found = again["copies"]
    symmetric, block = (np.array(found.bars[name][2]) for name in ("symmetric", "descent"))
    assert found.answer == "depends"
    assert_allclose(symmetric[:, :-1].sum(axis=1), block[:, :-1].sum(axis=1), atol=1e-3)
    assert_allclose(*series(found, "objective", "copied"), rtol=1e-5)
    # see tests/lp/test_properties
    assert "$c^{1-1/p}$ times as large" in LESSONS["copies"].words["why"]


def test_lambda_leaves_the_number_of_gomp_kernels_alone_and_lowers_that_of_l1(again):
    for found in (again["prices"], numbers.prices(seed=1)):
        used, l1_used, small, l1_error = series(found, "used", "l1_used", "small", "l1_error")
        assert found.answer == "same"
        assert np.all(used == 10)
        assert l1_used[0] > 30 > 5 > l1_used[-1]
        assert found.series["largest"][0] > 2 * found.series["largest"][-1]
        assert small.max() < l1_error.max()


def test_hulls_are_certified_after_a_look_at_few_kernels_and_beat_single_columns(again):
    computed = [again["hull"]]
    if EVERY_CASE:
        computed.append(numbers.hull(seed=23))
    for found in computed:
        assert found.answer == "less"
        assert found.facts["certified"] == found.facts["points"]
        assert float(found.facts["r2"]) > float(found.facts["additive"]) + 0.2
        entered = [
            any(a and b for a, b, kind, *_ in one["cells"] if kind != "next")
            for one in found.hull["states"]
        ]
        assert not entered[0]
        assert entered[-1]


def test_smkl_keeps_the_bands_that_decide_and_p_1_keeps_more_at_the_same_score(again):
    for found in (again["bands"], numbers.bands(seed=1)):
        assert found.answer == "exact"
        assert found.series["sparse_count"][0] > found.series["count"][found.start]
        assert max(found.series["r2"]) > found.series["sparse_r2"][0] - 0.005


def test_the_weight_goes_from_the_band_of_a_word_to_the_count_of_words_when_its_place_varies(again):
    word, places, words = series(again["letters"], "word", "places", "words")
    assert again["letters"].answer == "words"
    assert word[0] < 20 < 80 < word[-1]
    assert places[0] > words[0] + 10
    assert words[-1] > places[-1] + 10


def test_the_best_cost_is_far_beyond_a_grid_whose_last_value_is_its_best(again):
    for found in (again["edge"], numbers.edge(seed=1)):
        validation, test = series(found, "validation", "test")
        assert found.answer == "far"
        assert found.start == 6
        assert test[np.argmax(validation)] > test[6] + 0.1


def test_few_landmarks_predict_like_exact_kernels_and_prove_little_about_them():
    found = LESSONS["landmarks"].found
    (proved,) = series(found, "proved")
    assert found.answer == "less"
    assert proved[found.start] > 50
    assert proved[-1] < 1
    assert np.all(np.diff(np.array(found.bars["lost"][2]), axis=0) < 1e-9)


def test_a_decoy_stays_with_greedy_steps_and_fades_under_the_l1_norm(again):
    found = again["greedy"]
    assert found.answer == "convex"
    assert (found.facts["first"], found.facts["top"]) == ("c", "a and b")
    assert found.series["c"][0] > 90
    assert found.series["c"][found.start] < 20
    assert found.series["three"][0] > found.series["two"][0] + 0.03


# Words and pictures


def test_every_lesson_has_its_words_and_every_figure_in_them_is_computed():
    for key, lesson in LESSONS.items():
        words = lesson.words
        assert lesson.found.answer in words["options"], key
        sections = [lesson.said(name) for name in ("question", "reveal", "why", "look", "limits")]
        assert "⟨" not in "".join(sections), key
        parts = [
            words[name]
            for name in ("title", "line", "question", "reveal", "why", "look", "limits", "link")
        ]
        written = re.sub(r"\$[^$]*\$|⟨\w+⟩", "", " ".join([*parts, *words["options"].values()]))
        assert not re.search(r"\d", written), f"{key}: a figure typed by hand"
        assert "!" not in written, key
    for key in ("sparse", "dense"):
        assert "wins" in LESSONS[key].words["moral"]
        assert "win" not in LESSONS[key].words["title"] + LESSONS[key].words["question"]
    with pytest.raises(KeyError):
        fill("It is ⟨unknown⟩.", {"known": "1"})


def test_the_page_a_lesson_leads_to_exists_and_its_preset_is_a_link():
    for key, lesson in LESSONS.items():
        opens = lesson.words["opens"]
        assert opens["page"] in state.PAGES, key
        params, refused = parameters.read_link(parameters.link_text(Params(**opens["params"])))
        assert (params, refused) == (Params(**opens["params"]), ()), key
        assert params.data in SAMPLES, key


def test_every_position_of_the_slider_has_its_picture_and_its_sentence():
    for key, lesson in LESSONS.items():
        light, dark = (lesson.drawn(dark=one) for one in (False, True))
        json.dumps([light, dark], allow_nan=False)
        count = len(lesson.found.at)
        assert 0 <= lesson.found.start < count, key
        if "hull" in light:
            assert len(light["hull"]["states"]) == count
            continue
        play = light["play"]
        chart = light["chart"]
        assert (
            len(play["x"])
            == len(play["labels"])
            == len(set(play["spoken"]))
            == len(chart["said"])
            == count
            > 1
        ), key
        assert play["panels"], f"{key}: no panel has the slider's own axis"
        for panel in chart["panels"]:
            assert panel["title"], key
            assert all(len(one["ys"]) == count for one in panel["lines"] + panel.get("bars", [])), (
                key
            )
            low = panel["y"]["low"]
            high = panel["y"]["high"]
            ys = [y for one in panel["lines"] + panel.get("bars", []) for y in one["ys"]]
            assert all(low <= y <= high * 1.001 for y in ys), (key, panel["title"])
        assert light != dark, key


# The page


def link(app):
    return {
        name: value if isinstance(value, str) else value[0]
        for name, value in app.query_params.items()
    }


def test_the_gallery_shows_every_lesson_with_its_level_and_opens_it_at_its_question():
    app = open_app(PAGE)
    for lesson in LESSONS.values():
        assert lesson.words["title"] in [title.value.partition(". ")[2] for title in app.subheader]
        assert lesson.words["line"] in words(app)
        assert lesson.words["level"] in words(app)
    press(app, "open_copies")
    assert link(app)["lesson"] == "copies"
    assert "none yet" in words(app)
    press(app, "all_lessons")
    assert "lesson" not in link(app)
    press(app, "open_playground")
    assert link(app)["lesson"] == "playground"
    assert "Guess first" in words(app)


def test_a_lesson_goes_from_guess_to_reveal_to_why_and_begins_again():
    app = open_app(PAGE, lesson="bands")
    lesson = LESSONS["bands"]
    options = lesson.words["options"]
    assert lesson.said("question") in words(app)
    press(app, "guess_all")
    assert link(app)["lesson_guess"] == "all"
    press(app, "lesson_next")
    assert link(app)["lesson_step"] == "reveal"
    assert f"Your guess] {options['all']}" in words(app)
    assert f"The answer] {options['exact']}" in words(app)
    assert "What to look for" not in words(app)
    assert "Save as a handout" in {button.label for button in app.get("download_button")}
    press(app, "lesson_next")
    assert "What to look for" in words(app)
    assert app.latex[0].value.strip("$\n ") == lesson.words["formula"].strip()
    assert "lesson_next" not in {button.key for button in app.button}
    press(app, "lesson_back")
    assert link(app)["lesson_step"] == "reveal"
    press(app, "lesson_again")
    assert link(app) == {"lesson": "bands"}
    assert "none yet" in words(app)


def test_a_link_restores_a_guess_and_what_it_gets_wrong_is_refused_or_left_out():
    app = open_app(PAGE, lesson="bands", lesson_step="reveal", lesson_guess="exact", data="iris")
    assert "Right] Exactly those" in words(app)
    assert any(code.value.endswith("?lesson=bands") for code in app.code)
    app = open_app(PAGE, lesson="nonsense", lesson_step="later")
    assert len(app.warning) == 2
    assert "has to be one of" in app.warning[0].value
    assert "Your guess" not in words(
        open_app(PAGE, lesson="bands", lesson_step="reveal", lesson_guess="elephant")
    )


def test_a_lesson_leads_to_its_page_with_its_preset_and_its_two_columns(monkeypatch):
    went = []
    monkeypatch.setattr(state, "go", went.append)
    app = open_app(PAGE, lesson="copies", lesson_step="why")
    press(app, "open_preset")
    opened = {"look": "path", "algorithm": "lp", "path": "p"}
    assert memory(app).params == Params(**opened, lesson="copies", lesson_step="why")
    app = open_app(PAGE, lesson="hull", lesson_step="why")
    press(app, "open_preset")
    assert went == ["explore", "hulls"]
    assert memory(app).params.data == "sparse_polynomial"
    assert memory(app).params.hull_pair == ",".join(str(j + 1) for j in LESSONS["hull"].found.pair)


# Presentation


def test_presentation_is_entered_and_left_by_a_button_and_is_part_of_the_link():
    app = open_app(PAGE)
    press(app, "present")
    assert link(app)["present"] == "yes"
    assert "leave_below" in {button.key for button in app.button}
    press(app, "open_bands")
    assert memory(app).params.present
    press(app, "leave_below")
    assert "present" not in link(app)
    assert "leave_below" not in {button.key for button in app.button}
    app = open_app("pages/kernels/page.py", data="iris", widths="2", present="yes")
    dressed = [html.proto.body for html in app.get("html")]
    assert any("stSidebar" in body and "stHeader" in body for body in dressed)
    assert "leave_below" in {button.key for button in app.button}
