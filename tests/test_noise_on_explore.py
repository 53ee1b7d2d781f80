"""Explore tells columns from noise on request, and Predict gives an interval or a set with every answer."""

import numpy as np

from mklcore.uncertainty import ColumnSelection
from pages._parts.explore import noise as noise_parts
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
