"""Files, links and names that mean harm or had bad luck: nothing of them is executed, obeyed or
left to crash a page.
"""

import io

import numpy as np
import pandas as pd

import mklcore as mkl
from mklcore.kernels.stacks import read_stack
from pages.shared.session import parameters, state
from pages.shared.session.parameters import Params
from pages.shared.widgets import drawing, grids
from tests.helpers.every import every
from tests.helpers.pages import (
    change,
    go,
    open_app,
    press,
    quiet,
    table,
    upload,
    wait_until,
    words,
)
from tests.helpers.refusals import data_error
from tests.helpers.stacks import NAMES, K, stack_file, with_stack

# Links


def test_what_a_link_says_is_shown_and_not_obeyed():
    app = open_app(seed="![a](http://evil.example/x.png)", **{"[here](http://evil.example)": "1"})
    assert [warning.value.count("\\[") for warning in app.warning] == [1, 1]
    assert all("](" not in warning.value for warning in app.warning)


def test_halves_of_a_sign_are_refused_before_they_reach_a_link():
    reported = {"target": "\ud800", "sheet": "\udfff", "\ud800": "1", "seed": "3"}
    params, refused = parameters.read_link(reported)
    assert params == Params(seed=3)
    assert len(refused) == 3
    assert all("which no text can hold" in sentence for sentence in refused)
    "".join(refused).encode()


def test_a_link_with_thousands_of_wrong_parts_is_reported_in_few_lines():
    _, refused = parameters.read_link({f"{'x' * 1000}{k}": "1" for k in range(2000)})
    assert len(refused) == parameters.MOST_REFUSALS + 1
    assert refused[-1].startswith(f"{2000 - parameters.MOST_REFUSALS} more parts")
    assert max(map(len, refused)) < 200


def test_a_stack_for_novelty_is_read_as_found():
    app = with_stack(names=NAMES)
    change(app, task="novelty")
    assert app.selectbox(key="field_task").value == ""
    assert "kernels** on" in words(app) or "kernels on" in words(app)


# Names


def test_classes_that_are_short_alike_keep_a_bar_each():
    names = [f"measurement of kind {k} in the laboratory" for k in "AB"]
    data = mkl.Dataset(np.arange(24.0)[:, None], np.array(names * 12), ("a",), "y", "binary")
    figure = drawing.target_figure(data, mkl.data.three_way_split(data, seed=0))
    assert list(figure.data[0].y) == [0, 1]
    assert sum(sum(bar.x) for bar in figure.data) == 24
    assert list(figure.layout.yaxis.tickvals) == [0, 1]


def test_texts_of_a_table_to_take_away_are_no_formulas():
    frame = pd.DataFrame(
        {
            "=kernel": ["=1+1", "+cmd|x", "-2+3", "@sum", "\t=1", "-1.5", "+", "plain"],
            "weight": [-1.5, 0.25, 1e-12, 0, 0, 0, 0, np.nan],
        }
    )
    lines = grids.csv(frame).splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "'=kernel", "'=1+1", "'+cmd|x", "'-2+3", "'@sum", "'\t'=1", "-1.5", "+", "plain",
    ]  # fmt: skip
    late = pd.DataFrame(
        {
            "label": [
                " =1+1",
                "\n=1+1",
                "＝1+1",
                "\u200b=1+1",
                "a;=1+1",
                "a; b",
                "=cmd|' /C calc'!A0",
                "−x",
            ]
        }
    )
    back = pd.read_csv(io.StringIO(grids.csv(late)))["label"]
    assert list(back) == [
        "' =1+1", "'\n'=1+1", "'＝1+1", "'\u200b=1+1", "a;'=1+1", "a; b", "'=cmd|' /C calc'!A0", "'−x",
    ]  # fmt: skip
    assert grids.csv(frame[["weight"]]) == frame[["weight"]].to_csv(index=False)


# Archives


def test_signs_that_do_not_exist_are_refused():
    labels = np.array(["a", "b"] * 40)
    labels.view(np.uint32)[3] = 0x7FFFFFFF
    with data_error("y holds signs that no text can hold"):
        read_stack(stack_file(y=labels))


# Pages


def test_a_step_back_to_a_file_that_has_left_the_session_gives_a_sentence():
    app = open_app(widths="1", each="none", degree="0")
    for seed in range(1 + state.REMEMBERED_UPLOADS):
        upload(app, table(seed=seed), f"{seed}.csv")
    for _ in range(state.REMEMBERED_UPLOADS):
        press(app, "undo")
    assert any("Upload the same file" in info.value for info in app.info)


@every("scale", [1e-12, 1e9])
def test_a_path_beyond_the_usual_bounds_has_its_box(scale):
    app = with_stack(K=scale * K, names=NAMES)
    go(change(app, path="C"), "pages/explore/page.py")
    wait_until(lambda: any(item.key == "exact_C" for item in app.number_input), app)
    found = app.number_input(key="exact_C")
    assert found.min < 1e-6 or found.max > 1e6
    quiet(found.set_value(2 * found.min).run())


def test_predict_draws_a_model_that_uses_no_kernel():
    app = open_app(
        data="iris", widths="1", algorithm="greedy", path="lam", at="1000", normalise="trace"
    )
    app = go(app, "pages/predict/page.py")
    wait_until(lambda: "####" in words(app), app)
    assert not app.error
    assert "no sign of a relation to the target, so its answer for a row is not explained" in words(
        app
    )


def test_a_feature_called_like_the_target_column_of_the_screen_is_shown():
    raw = table(target="y").replace(b"a,b,c,y", b"y (target),b,c,y")
    app = upload(open_app(widths="1", each="none", degree="0"), raw)
    assert any(
        list(frame.value.columns)[:2] == ["y (target) ", "y (target)"] for frame in app.dataframe
    )


def test_columns_beyond_what_a_browser_counts_have_their_slider(rng):
    rows = [f"{1e17 + 16 * (k % 14)!r},{rng.standard_normal():.3f},{k % 2}" for k in range(60)]
    app = upload(
        open_app(widths="1", each="none", degree="0"), "\n".join(["a,b,y", *rows, ""]).encode()
    )
    app = go(app, "pages/predict/page.py")
    wait_until(lambda: "####" in words(app), app)
    assert [slider.min for slider in app.slider if slider.label == "a"] == [1e17]
