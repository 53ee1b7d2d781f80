"""Scores on the pages: one choice for Explore and Compare, by the table where nobody chose, without solving again."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, matthews_corrcoef

from mklcore.data.dataset import three_way_split
from mklcore.data.reading import read_table
from mklcore.selection.scoring import SCORINGS
from pages._parts.params import link
from tests.pages import go, memory, open_app, table, upload, wait_for_path, wait_until, words


def rare_table() -> bytes:
    """A table of 90 rows where one in nine says yes."""
    lines = table(90, seed=4).decode().splitlines()
    rng = np.random.default_rng(2)
    values = np.array([line.split(",")[0] for line in lines[1:]], dtype=float) + 0.3 * rng.standard_normal(90)
    said = np.where(values >= np.sort(values)[-10], "yes", "no")
    return "\n".join([lines[0], *(f"{line[:-1]}{word}" for line, word in zip(lines[1:], said, strict=True))]).encode()


def test_a_rare_class_is_scored_by_balanced_accuracy_and_another_score_solves_nothing_again() -> None:
    app = upload(open_app(widths="2"), rare_table())
    app = wait_for_path(go(app, "pages/explore.py"))
    params, path = memory(app).params, memory(app).answer.path
    rows = three_way_split(read_table(rare_table()), params.validation, params.test, params.seed).validation
    assert params.scoring == ""
    assert path.score_name == "balanced accuracy"
    assert "plain accuracy would hardly see it" in app.selectbox(key="field_scoring").help
    assert path.val_score[3] == pytest.approx(balanced_accuracy_score(rows.y, path.estimators[3].predict(rows.X)))
    app.selectbox(key="field_scoring").set_value("matthews_corrcoef").run()
    wait_until(lambda: memory(app).answer.path.score_name == "Matthews correlation", app)
    again = memory(app).answer.path
    assert memory(app).params.scoring == "matthews_corrcoef"
    assert again.estimators == path.estimators
    assert again.val_score[3] == pytest.approx(matthews_corrcoef(rows.y, path.estimators[3].predict(rows.X)))
    assert "Matthews correlation" in words(app)
    app = go(app, "pages/compare.py")
    assert app.selectbox(key="field_scoring").value == "matthews_corrcoef"
    app.selectbox(key="field_scoring").set_value("balanced_accuracy").run()
    assert memory(app).params.scoring == ""


def test_a_score_of_another_task_is_left_alone_and_a_wrong_one_is_refused() -> None:
    params, refused = link.read({"data": "iris", "scoring": "accurate"})
    assert params.scoring == ""
    assert "one of accuracy, balanced_accuracy" in refused[0]
    other, refused = link.read({"data": "iris", "scoring": "r2"})
    assert not refused
    assert SCORINGS[other.scoring].tasks == ("regression",)


def test_C_is_chosen_by_the_training_rows_and_greedy_methods_get_a_surface() -> None:
    app = wait_for_path(open_app("pages/explore.py", data="iris", seed="7", widths="2"))
    app.button(key="tune").click().run()
    wait_until(lambda: "By folds the choice" in words(app), app)
    assert any("along C, " in chart.proto.alt for chart in app.get("plotly_chart"))
    app.button(key="tune_go").click().run()
    assert memory(app).params.at is not None
    app = wait_for_path(open_app("pages/explore.py", data="iris", seed="7", widths="2", algorithm="gomp"))
    app.button(key="tune").click().run()
    wait_until(lambda: "By 5 folds the choice is" in words(app), app)
    assert any(chart.proto.alt.startswith("Surface of accuracy over 9 λ") for chart in app.get("plotly_chart"))
    assert not app.error
