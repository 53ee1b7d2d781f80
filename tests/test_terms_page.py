"""Explore's columns and pairs without a browser: shares, curves and maps, the band, the hull around a pair, links and
scripts.
"""

from streamlit.testing.v1 import AppTest

import mklcore as mkl
from mklcore.kernels.interactions import Interaction
from pages._parts.derive import dictionaries, tables, terms
from pages._parts.explore import terms as page
from pages._parts.export import scripts
from pages._parts.params.parameters import Params
from tests.pages import memory, open_app, quiet, wait_for_path, wait_until, words

PAIRS = Params(data="sparse_polynomial", pairs=True, together=False)


def explore(**query: str) -> AppTest:
    usual = {"data": "sparse_polynomial", "pairs": "yes", "together": "no"}
    return wait_for_path(open_app("pages/explore.py", True, **{**usual, **query}))


def drawn(app: AppTest) -> str:
    wait_until(lambda: "Columns, alone and together" in words(app), app)
    return words(app)


def test_columns_and_pairs_are_shown_and_one_click_leads_to_the_hull():
    app = explore()
    said = drawn(app)
    assert "add up to 100 %" in said
    assert "look_for_pairs" not in {button.key for button in app.button}
    box = app.selectbox(key="field_term")
    place = next(k for k, one in enumerate(box.options) if " × " in one)
    pair = box.options[place]
    quiet(box.select_index(place).run())
    assert "Beyond what each of the two adds alone." in words(app)
    shown = memory(app).answer
    quiet(app.button(key="ask_band").click().run())
    wait_until(lambda: "Band: two standard errors" in words(app), app)
    names = tuple(pair.split(" × "))
    found = terms.terms(shown.params, shown.path, 0 if shown.path.estimators[0] else -1)
    changes = page.around(names, found, tables.table(shown.params))
    numbers = {name: j + 1 for j, name in enumerate(tables.table(shown.params).feature_names)}
    assert {str(numbers[name]) for name in names} <= set(changes["hull_columns"].split(","))
    assert changes["hull_pair"] == ",".join(str(j) for j in sorted(numbers[name] for name in names))


def test_without_pairs_they_are_one_click_away():
    app = explore(pairs="no", together="yes")
    drawn(app)
    quiet(app.button(key="look_for_pairs").click().run())
    assert memory(app).params.pairs


def test_the_dictionary_is_that_of_the_training_rows_and_the_script_names_its_pairs():
    kernels = dictionaries.dictionary(PAIRS)
    found = dictionaries.pairs(PAIRS)
    assert found
    assert sum(isinstance(spec, Interaction) and len(spec.parts) == 2 for spec in kernels) >= len(found)
    line = scripts._dictionary_code(PAIRS)
    assert repr(found[0]) in line
    made: dict = {"mkl": mkl, "data": tables.table(PAIRS)}
    exec(line, made)
    assert made["kernels"] == kernels
