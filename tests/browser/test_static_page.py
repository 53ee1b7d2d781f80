"""The page that computes, in a browser that may ask its own address alone: an answer, a row, a
model, and Cancel.
"""

import functools
import http.server
import os
import threading

import numpy as np
import pytest
from playwright.sync_api import expect

import mklcore as mkl
from mklcore import explore, load_model, read_table
from tests.figures.test_static_site import mixed

PYODIDE = os.environ.get("PYODIDE_DIR")
pytestmark = pytest.mark.skipif(PYODIDE is None, reason="PYODIDE_DIR names no folder with Pyodide")
MINUTES = 300_000
# A worker made as the page makes its own, which asks another host.
FOREIGN = """async () => { const source = "fetch('http://localhost:1/').then(() => postMessage('sent'), (error) => 0);"
  + "addEventListener('securitypolicyviolation', ({ blockedURI }) => postMessage(blockedURI));";
  const worker = new Worker(URL.createObjectURL(new Blob([source])));
  return await new Promise((done) => { worker.onmessage = ({ data }) => done(data); }); }"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    mkl.figures.static_site(folder, PYODIDE)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=folder)
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_table_is_answered_in_the_browser_and_nothing_is_sent_anywhere(site, chromium, tmp_path):
    page = chromium.new_page()
    asked = []
    page.set_default_timeout(MINUTES)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{site}/index.html")
    expect(page.locator(".playground .say")).to_contain_text("columns matter", timeout=MINUTES)
    assert page.evaluate(FOREIGN) == "http://localhost:1/"
    asked.clear()

    file = {"name": "mine.csv", "mimeType": "text/csv"}
    page.set_input_files("#file", file | {"buffer": b"\x00\x01" * 40})
    expect(page.locator("#refused")).to_contain_text("file", timeout=MINUTES)
    expect(page.locator("#refused")).not_to_contain_text("fault")
    page.set_input_files("#file", file | {"buffer": mixed()})
    sentence = page.locator("#sentence")
    expect(sentence).to_have_text(
        str(explore(read_table(mixed())).verdict).replace("\xa0", " "), timeout=MINUTES
    )
    expect(sentence).to_have_css("clip-path", "inset(50%)")  # for the answer below says it
    page.get_by_text("Predict one row").click()
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#said")).to_contain_text("kind: ", timeout=MINUTES)
    expect(page.locator("#waterfall b").first).to_be_attached()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the model").click()
    saved.value.save_as(tmp_path / "model.mkl")
    X = read_table(mixed()).X
    ours = explore(read_table(mixed())).model
    np.testing.assert_allclose(
        load_model(tmp_path / "model.mkl").decision_function(X),
        ours.decision_function(X),
        atol=1e-6,
    )

    page.get_by_role("button", name="Hull of the columns that matter most").click()
    hulls = page.frame_locator("#page").get_by_text("Hulls of the columns that matter most")
    expect(hulls.first).to_be_visible(timeout=MINUTES)
    expect(page.locator("#refused")).to_be_hidden()
    expect(sentence).to_have_css("clip-path", "none")

    page.select_option("#target", "size")
    expect(sentence).to_contain_text("Predicting size", timeout=MINUTES)
    page.select_option("#target", "kind")
    expect(page.locator("#working")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(sentence).to_contain_text("Cancelled")
    assert all(url.startswith((site, "blob:", "data:", "about:")) for url in asked)
    page.close()
