"""Explore tells columns from noise on request, and Predict gives an interval or a set with every answer."""

import numpy as np
import pytest

from mklcore.uncertainty import ColumnSelection
from pages._parts.derive import judging, noise, predictions, tables
from pages._parts.explore import noise as noise_parts
from pages._parts.predict import batch
from tests.pages import FEW, memory, open_app, quiet, wait_for_path, wait_until, words


def test_columns_are_distinguished_from_noise_on_request():
    app = wait_for_path(open_app("pages/explore.py", True, data="diabetes", **FEW))
    app.button(key="ask_noise_stability").click()
    quiet(app.run())
    wait_until(lambda: "half samples; of such columns" in words(app), app)
    found = noise_parts.known(memory(app).params)["stability"]
    assert "bmi" in found.names
    assert not set(found.names) & noise_parts.indistinct({"stability": found})
    assert "Grey: not distinguishable from noise" in words(app)


def test_a_method_that_names_nothing_greys_nothing():
    nothing = ColumnSelection((), {"a": 0.1, "b": 0.2}, np.inf, ("Nothing can be named.",))
    some = ColumnSelection(("a",), {"a": 0.95, "b": 0.2}, 0.9, ("Named.",))
    assert noise_parts.indistinct({"knockoffs": nothing}) == frozenset()
    assert noise_parts.indistinct({"knockoffs": nothing, "stability": some}) == {"b"}
    assert noise_parts.shares({"stability": some}) == {"a": 0.95, "b": 0.2}


@pytest.mark.parametrize("data", ["diabetes", "iris"])
def test_answers_of_a_file_carry_intervals_or_sets(data):
    app = wait_for_path(open_app("pages/explore.py", data=data))
    app.switch_page("pages/predict.py")
    quiet(app.run())
    params = memory(app).params
    point, table = predictions.chosen(params), tables.table(params)
    test = tables.split(params).test
    new = predictions.reading(params).read(
        "\n".join([",".join(test.feature_names), *(",".join(map(repr, row)) for row in test.X.tolist())]).encode()
    )
    found = judging.held_out(point)
    frame = batch.answers(point, new, table, None, judging.maps(point), found).frame
    if data == "diabetes":
        assert "90 % prediction interval" in words(app)
        low, high = frame["from (90% interval)"], frame["to (90% interval)"]
        assert 0.8 < np.mean((low <= test.y) & (test.y <= high)) < 0.98
    else:
        assert "90 % prediction set" in words(app)
        sets = [one.split(" or ") for one in frame["90% set"]]
        assert np.mean([str(y) in one for y, one in zip(test.y, sets, strict=True)]) > 0.85
    assert noise.can_be_selected(params)
