"""What a person does and sees in the app without a browser, for the tests that drive its pages."""

import json
import re
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, local_script_runner
from streamlit.util import calc_hash

from pages.shared.session.state import KEY
from pages.shared.values import answers
from pages.shared.work import work

# Each AppTest would look for components through every installed package: 0.1 s, and none comes
# while tests run.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
# And each would compile the pages' files again.
local_script_runner.ScriptCache = cache(ScriptCache)

# A fifth of the rows to learn from: what is asked is whether the parts fit together, not how well
# they learn.
FEW = {"validation": "0.4", "test": "0.4"}
PATIENCE = 300.0  # for a condition; a loaded machine that still compiles needs minutes


def _wait_for_script(runner, timeout):
    """Wait for a page to be drawn without looking a thousand times a second, which took it a tenth
    of its processor time.
    """
    runner._script_thread.join(timeout)
    if not runner.script_stopped():
        runner.request_stop()
        raise TimeoutError(f"The page was not drawn within {timeout:.0f} s.")


local_script_runner.require_widgets_deltas = _wait_for_script


def wait_until(over, app=None):
    """Wait for a condition, running ``app`` between looks as a browser would."""
    until = time.monotonic() + PATIENCE
    while not over():
        if time.monotonic() > until:
            raise TimeoutError(f"Not within {PATIENCE:.0f} s. {'' if app is None else words(app)}")
        time.sleep(0.05)
        if app is not None:
            quiet(app.run())


def open_app(page="pages/data/page.py", **query):
    """Follow a link to a page, or to Data; what the app ran on the way costs every test its time."""
    app = AppTest.from_file("../../app.py", default_timeout=300)
    for name, value in query.items():
        app.query_params[name] = value
    if page:
        app.switch_page(page)
        # before its first run AppTest knows no addresses, and takes the file's name for one
        app._page_hash = calc_hash(Path(page).parent.name)
    return quiet(app.run())


def memory(app):
    """What the session of ``app`` remembers, to look at and to change."""
    return app.session_state[KEY]


def quiet(app):
    assert [error.message for error in app.exception] == []
    return app


def put(app, key, value):
    """Set the widget with this key."""
    kinds = ("selectbox", "toggle", "slider", "select_slider", "number_input", "segmented_control", "multiselect",
             "text_input", "radio")  # fmt: skip
    (found,) = (one for kind in kinds for one in getattr(app, kind) if one.key == key)
    return quiet(found.set_value(value).run())


def change(app, **values):
    """Give parameters of the session other values, as a link does that is followed there."""
    memory(app).params = replace(memory(app).params, **values)
    memory(app).link.moved = True
    return quiet(app.run())


def press(app, key):
    return quiet(app.button(key=key).click().run())


def go(app, page):
    app.switch_page(page)
    return quiet(app.run())


def words(app):
    elements = [*app.markdown, *app.caption, *app.error, *app.warning, *app.info]
    return "\n".join([*(element.value for element in elements), *cursor_texts(app)])


def plain_words(app):
    """The same without what keeps Markdown from taking a sign for its own."""
    return words(app).replace("\\", "")


def shown_players(app, kind=""):
    """What the browser was given for the players of this kind, in the order of the page."""
    shown = [element.proto for element in app.get("bidi_component")]
    return [json.loads(proto.json) for proto in shown if proto.component_name.endswith(kind)]


def cursor_texts(app):
    """The texts that follow a cursor in the browser, at the point where Python put it."""
    return [
        "".join(text for _, text in line)
        for data in shown_players(app, "path_texts")
        for column in data["texts"][data["index"]]
        for line in column
    ]


def wait_for_path(app):
    used = re.compile(r"\d solves?, ")
    wait_until(lambda: used.search(words(app)) or "The path failed" in words(app), app)
    assert "The path failed" not in words(app)
    return app


def settled(app):
    """Run until all work has ended and the page has seen it."""
    wait_until(lambda: not work.WORK._tasks, app)
    return quiet(app.run())


def in_session(app):
    """What the app keeps for its visitor, for calls from outside of a run."""
    return patch("streamlit.session_state", {KEY: memory(app), "work": app.session_state["work"]})


def answer_of(app):
    """The answer that the screen shows, with all that is known of it by now."""
    with in_session(app):
        found = answers.best_known(memory(app).params)
    assert found is not None, words(app)
    return found


def wait_for_hulls(app):
    wait_until(lambda: "nodes in the hull" in words(app) or app.error, app)
    assert not app.error
    return settled(app)


def upload(app, content, name="table.csv", key="uploader"):
    app.file_uploader(key=key).upload(name, content, "text/csv").run()
    return quiet(app)


def csv(columns):
    """A file of these columns: a data frame, or values by name."""
    return pd.DataFrame(columns).to_csv(index=False).encode()


def table(n=60, seed=0, target="label"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = (X[:, 0] + 0.3 * rng.standard_normal(n) > 0).astype(int)
    a, b, c = X.T.round(4)
    return csv({"a": a, "b": b, "c": c, target: y})
