"""The app as a person meets it, in a real browser."""

import re
import threading
import time
from urllib.parse import urlparse

import numpy as np
import pandas as pd
import pytest

from mklcore.data import Dataset, read_table, three_way_split
from mklcore.estimators import LpMKLClassifier
from mklcore.kernels import RBF, KernelDictionary, Linear, Polynomial
from mklcore.path import Path, fit_path, path_grid
from tests.browser.conftest import Server, health

WAIT = 60_000
CHART = ".st-key-path_chart .js-plotly-plot"
CURSOR = f"{CHART} .path-cursor line"
QUIET = """() => !document.querySelector('[data-testid=stStatusWidget]') && !document.querySelector('[data-stale=true]')
  && !document.querySelector('[data-testid=stProgress]')"""
PAGES = ("", "kernels", "explore", "hulls")


class Visitor:
    """One window of its own: its page, its console errors and the hosts it asked."""

    def __init__(self, browser, url: str, **context) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, **context)
        self.page = self.context.new_page()
        self.url, self.errors, self.hosts = url, [], set()
        self.page.set_default_timeout(WAIT)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._ask)

    def _ask(self, request) -> None:
        if request.url.startswith(("http", "ws")):
            self.hosts.add(urlparse(request.url).netloc)

    def _hear(self, message) -> None:
        # Streamlit asks for its health and host settings below the page's own address first, and hears 404.
        if message.type == "error" and "_stcore" not in (message.location or {}).get("url", ""):
            self.errors.append(message.text)

    def open(self, path: str = "") -> None:
        self.page.goto(f"{self.url}/{path}")
        self.page.wait_for_selector("h1")
        self.settle()

    def go(self, title: str) -> None:
        self.page.locator("[data-testid=stTopNavLink]", has_text=title).click()
        self.page.wait_for_selector(f"[data-testid=stTopNavLink][aria-current=page] >> text={title}")
        self.settle()

    def settle(self, quiet: float = 0.4) -> None:
        """Wait until nothing has run for a moment."""
        since, until = None, time.monotonic() + WAIT / 1000
        while time.monotonic() < until:
            if not self.page.evaluate(QUIET):
                since = None
            elif since is None:
                since = time.monotonic()
            elif time.monotonic() - since > quiet:
                return
            self.page.wait_for_timeout(40)
        raise AssertionError("The page did not come to rest.")

    def wait_for_path(self) -> None:
        self.page.wait_for_selector(CURSOR, state="attached")
        self.settle()

    @property
    def slider(self):
        return self.page.locator(".player input[type=range]")

    def index(self) -> int:
        return int(self.slider.input_value())

    def bars(self) -> dict[str, float]:
        """The kernel weights on the screen, by full name."""
        rows = self.page.locator(".bars .line")
        names = rows.locator(".name").evaluate_all("cells => cells.map(cell => cell.title)")
        numbers = rows.locator(".number").all_inner_texts()
        return dict(zip(names, map(float, numbers), strict=True))

    def text(self) -> str:
        return self.page.locator("[data-testid=stMain]").inner_text()


@pytest.fixture
def visit(chromium):
    """Open windows that close with the test."""
    open_windows: list[Visitor] = []

    def enter(url: str, **context) -> Visitor:
        open_windows.append(Visitor(chromium, url, **context))
        return open_windows[-1]

    yield enter
    for visitor in open_windows:
        visitor.context.close()


def table(n: int = 140, seed: int = 3) -> bytes:
    """A table of six columns, two of which carry the class."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    y = (X[:, 0] + 0.8 * X[:, 1] ** 2 + 0.4 * rng.standard_normal(n) > 0.6).astype(int)
    names = ["height", "width", "depth", "age", "mass", "hue"]
    lines = [",".join([*(f"{v:.5f}" for v in row), str(label)]) for row, label in zip(X, y, strict=True)]
    return "\n".join([",".join([*names, "label"]), *lines]).encode()


def expected_problem(content: bytes) -> tuple[Dataset, Dataset, KernelDictionary]:
    """What the app's usual parameters make of the table, by the library alone."""
    data = read_table(content)
    parts = three_way_split(data, 0.25, 0.25, 0)
    specs = [RBF(width, relative=True) for width in (0.25, 0.5, 1.0, 2.0, 4.0)] + [Linear(), Polynomial(2)]
    specs += KernelDictionary.per_feature(Linear(), data.n_features)
    return parts.train, parts.validation, KernelDictionary(tuple(specs), feature_names=data.feature_names)


def expected_path(content: bytes, values=None) -> Path:
    train, validation, kernels = expected_problem(content)
    stack = kernels.grams(train.X)
    model = LpMKLClassifier(p=1.0, kernels=kernels)
    grid = path_grid(model, stack, train.y, "C") if values is None else values
    return fit_path(model, stack, train.y, "C", grid, stack.cross(validation.X), validation.y)


def assert_bars_show(bars: dict[str, float], path: Path, index: int) -> None:
    weights = dict(zip(path.kernel_names, path.weights[index], strict=True))
    compared = [name for name in bars if name in weights]
    assert len(compared) >= 10
    for name in compared:
        assert bars[name] == pytest.approx(weights[name], rel=0.006, abs=2e-6), name


def upload(visitor: Visitor, content: bytes, name: str = "things.csv") -> None:
    chooser = {"name": name, "mimeType": "text/csv", "buffer": content}
    visitor.page.set_input_files("[data-testid=stFileUploader] input[type=file]", chooser)


WATCH_FRAMES = """(selector) => { const line = document.querySelector(selector); window.seenFrames = [];
  window.frameWatch = new MutationObserver(() => window.seenFrames.push(performance.now()));
  window.frameWatch.observe(line, {attributes: true, attributeFilter: ['x1']}); }"""


def drag(visitor: Visitor, to: float, seconds: float = 1.0) -> float:
    """Drag the thumb to a share of the track and let go; return the frames painted per second."""
    box = visitor.slider.bounding_box()
    span, low = box["width"] - 18, box["x"] + 9
    start = low + span * visitor.index() / int(visitor.slider.get_attribute("max"))
    middle = box["y"] + box["height"] / 2
    visitor.page.mouse.move(start, middle)
    visitor.page.mouse.down()
    visitor.page.evaluate(WATCH_FRAMES, CURSOR)
    began = time.monotonic()
    steps = 0
    while (share := (time.monotonic() - began) / seconds) < 1:
        there_and_back = 2 * share if share < 0.5 else 2 - 2 * share
        visitor.page.mouse.move(low + span * there_and_back, middle)
        steps += 1
    visitor.page.mouse.move(low + span * to, middle)
    visitor.page.wait_for_timeout(50)
    frames = visitor.page.evaluate("window.frameWatch.disconnect(), window.seenFrames.length")
    visitor.page.mouse.up()
    return frames / seconds


def test_from_an_uploaded_table_to_weights_at_the_released_cursor(server: Server, visit) -> None:
    content = table()
    visitor = visit(server.url)
    visitor.open()
    upload(visitor, content)
    visitor.page.wait_for_selector("text=140 rows")
    visitor.go("Kernels")
    assert "13 kernels on 70 training rows" in visitor.text()
    visitor.go("Explore")
    visitor.wait_for_path()
    path = expected_path(content)
    assert_bars_show(visitor.bars(), path, visitor.index())

    frames = drag(visitor, to=0.75)
    visitor.settle()
    assert frames >= 10
    assert visitor.index() == 18
    assert_bars_show(visitor.bars(), path, 18)
    box = visitor.page.locator("input[aria-label='C, exactly']")
    assert float(box.input_value()) == pytest.approx(path.values[18], rel=1e-3)
    assert f"{path.n_nonzero[18]} of 13 kernels used" in visitor.text()

    visitor.page.get_by_text("as a table").click()
    for button, weights in (("Weights as CSV", path.weights[18]), ("Path as CSV", path.weights)):
        with visitor.page.expect_download() as download:
            visitor.page.get_by_role("button", name=button).click()
        saved = pd.read_csv(download.value.path())
        if button == "Weights as CSV":
            found = saved.set_index("kernel").loc[list(path.kernel_names), "weight"].to_numpy()
        else:
            found = saved[[f"weight {name}" for name in path.kernel_names]].to_numpy()
        np.testing.assert_allclose(found, weights, rtol=1e-9, atol=1e-12)

    visitor.slider.focus()
    for _ in range(6):
        visitor.page.keyboard.press("ArrowLeft")
    visitor.page.wait_for_timeout(400)
    visitor.settle()
    assert visitor.index() == 12
    assert_bars_show(visitor.bars(), path, 12)
    assert float(box.input_value()) == pytest.approx(path.values[12], rel=1e-3)
    assert visitor.slider.get_attribute("aria-valuetext").startswith("C = ")
    visitor.page.keyboard.press("ArrowRight")  # the focus has stayed
    visitor.page.wait_for_timeout(400)
    visitor.settle()
    assert visitor.index() == 13
    visitor.page.locator(".st-key-undo button").first.click()
    visitor.settle()
    assert visitor.index() == 12

    line = visitor.page.locator(CURSOR).last.bounding_box()
    visitor.page.mouse.move(line["x"] + line["width"] / 2, line["y"] + 40)
    visitor.page.mouse.down()
    visitor.page.mouse.move(line["x"] + 200, line["y"] + 60, steps=8)
    visitor.page.mouse.up()
    visitor.settle()
    grabbed = visitor.index()
    assert grabbed > 18
    assert_bars_show(visitor.bars(), path, grabbed)

    visitor.page.get_by_role("button", name="Play along the path").click()
    visitor.page.get_by_role("button", name="Play along the path").wait_for()
    visitor.settle()
    assert visitor.index() == 24
    assert_bars_show(visitor.bars(), path, 24)

    between = float(f"{np.sqrt(path.values[14] * path.values[15]):.3g}")
    box.fill(f"{between:g}")
    box.press("Enter")
    visitor.page.wait_for_timeout(300)
    visitor.settle()
    assert_bars_show(visitor.bars(), expected_path(content, [between]), 0)
    assert not visitor.errors


def test_a_deep_link_may_be_the_first_request_of_a_server(start, visit) -> None:
    visitor = visit(start().url)
    visitor.page.goto(f"{visitor.url}/explore?data=iris&each=linear&widths=2")
    visitor.wait_for_path()
    assert "Which kernels does the model use" in visitor.text()
    assert visitor.page.locator("[data-testid=stException]").count() == 0
    assert "of 8 kernels used" in visitor.text()
    assert "data=iris" in visitor.page.url


def test_quick_key_presses_on_a_slider_lose_none(server: Server, visit) -> None:
    visitor = visit(server.url)
    visitor.open("kernels?data=iris&widths=2")
    thumb = visitor.page.locator(
        "[data-testid=stSidebar] [role=slider], [data-testid=stSidebar] input[type=range]"
    ).first
    thumb.focus()
    for _ in range(9):
        visitor.page.keyboard.press("ArrowRight")
        visitor.page.wait_for_timeout(45)
    visitor.settle(1.0)
    assert thumb.evaluate("thumb => thumb.getAttribute('aria-valuetext') || thumb.value") == "11"
    assert "17 kernels on 74 training rows" in visitor.text()
    assert "widths=11" in visitor.page.url


def test_back_forward_and_undo_return_to_what_was(server: Server, visit) -> None:
    visitor = visit(server.url)
    visitor.open()
    visitor.page.get_by_role("button", name="Wine").click()
    visitor.page.wait_for_selector("text=178 rows")
    visitor.page.get_by_role("button", name="Iris").click()
    visitor.page.wait_for_selector("text=150 rows")
    visitor.settle(1.2)
    visitor.page.go_back()
    visitor.page.wait_for_selector("text=178 rows")
    visitor.page.go_forward()
    visitor.page.wait_for_selector("text=150 rows")
    visitor.settle()
    visitor.page.locator(".st-key-undo button").first.click()
    visitor.page.wait_for_selector("text=178 rows")
    visitor.go("Kernels")
    assert "data=wine" in visitor.page.url
    for _ in range(3):  # no step back may be pushed forward again
        visitor.settle(1.2)
        visitor.page.go_back()
        visitor.settle()
        if "/kernels" not in visitor.page.url:
            break
    visitor.page.wait_for_selector("text=Which table does the model learn from?")
    visitor.page.wait_for_selector("text=178 rows")
    visitor.go("Kernels")
    visitor.go("Data")
    visitor.page.wait_for_selector("text=178 rows")
    assert not visitor.errors


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_every_page_opens_in_both_themes_and_asks_no_other_host(server: Server, visit, path: str, theme: str) -> None:
    visitor = visit(server.url, color_scheme=theme)
    visitor.open(path)
    if path == "explore":
        visitor.wait_for_path()
    background = visitor.page.locator("[data-testid=stApp]").evaluate("app => getComputedStyle(app).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 200) == (theme == "dark")
    assert visitor.page.locator("[data-testid=stException]").count() == 0
    unnamed = visitor.page.locator("[data-testid=stPlotlyChart]:not([aria-label]):not(:has([aria-label]))")
    assert unnamed.count() == 0
    assert not visitor.errors
    assert visitor.hosts == {urlparse(server.url).netloc}


class Pulse(threading.Thread):
    """Asks for the server's health ten times a second and keeps the slowest answer."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.url, self.slowest, self.failed, self.over = url, 0.0, 0, threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.1):
            began = time.monotonic()
            self.failed += not health(self.url)
            self.slowest = max(self.slowest, time.monotonic() - began)


def test_two_sessions_at_once_on_the_workqueue_layer(start, visit) -> None:
    server, idle = start(NUMBA_THREADING_LAYER="workqueue"), start()
    first, second = visit(server.url), visit(server.url)
    pulse, control = Pulse(server.url), Pulse(idle.url)  # on a starved machine an idle server is slow as well
    for visitor, name, seed in ((first, "one.csv", 1), (second, "two.csv", 2)):
        visitor.open()
        upload(visitor, table(seed=seed), name)
        visitor.page.wait_for_selector("text=140 rows")
    for visitor in (first, second):
        visitor.page.wait_for_selector("text=Preparing the solvers", state="detached")
        visitor.settle(1.0)
    pulse.start()
    control.start()
    for visitor in (first, second):
        visitor.page.locator("[data-testid=stTopNavLink]", has_text="Explore").click()
    for visitor in (first, second):
        visitor.page.wait_for_selector(CURSOR, state="attached")
    for step in range(3):
        for visitor in (first, second):
            norm = visitor.page.locator("[data-testid=stSidebar] input[aria-label='Norm p']")
            norm.focus()
            visitor.page.keyboard.press("ArrowRight")
        for visitor in (first, second):
            drag(visitor, to=0.2 + 0.3 * step, seconds=0.3)
    for visitor in (first, second):
        visitor.settle(1.0)
    for thread in (pulse, control):
        thread.over.set()
        thread.join()
    assert server.process.poll() is None
    assert pulse.failed == 0
    assert pulse.slowest < 1.0 + control.slowest
    for visitor, mine, other in ((first, "one.csv", "two.csv"), (second, "two.csv", "one.csv")):
        assert visitor.page.locator("[data-testid=stException]").count() == 0
        link = visitor.page.url
        visitor.go("Data")
        assert mine in visitor.text()
        assert other not in visitor.text()
        (second if visitor is first else first).page.wait_for_timeout(50)
        stranger = visit(server.url)
        stranger.page.goto(link)
        stranger.page.wait_for_selector("text=Files stay with the person who uploaded them")
