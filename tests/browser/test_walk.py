"""A walk through every page for every algorithm, on a sample and on an uploaded table, beside the library's own figures."""

import io
import re
from dataclasses import dataclass
from functools import cache as once
from urllib.parse import parse_qs, urlparse

import nbformat
import numpy as np
import pandas as pd
import pytest

from mklcore import load_model, load_sample
from mklcore.data import Dataset, Split, read_table, three_way_split
from mklcore.estimators.registry import ESTIMATORS
from mklcore.kernels import RBF, KernelDictionary, Linear
from mklcore.lessons import LESSONS
from mklcore.path import Path, fit_path, path_grid
from mklcore.solvers.hkl.design import Design
from pages._parts.params.parameters import METHODS
from pages._parts.session.nav import ROOMS
from pages._parts.theory.tabs import TABS
from tests.browser.conftest import Server
from tests.browser.steps import CHART, CURSOR, RANGES, Visitor, pull, upload

KERNELS = "widths=2&degree=0&each=linear"
SOURCES = ("sample", "upload")
BATCH = 12
OTHERS = [room for room in ROOMS if room.file not in ("explore", "predict")]
LANES = ("lp;uniform;best;smkl", "lp;gomp;greedy")  # over one parameter, and over different ones
SIZES = ((1280, 720), (1920, 1080), (390, 844))
MORE = {
    "explore": ("look=path", "look=inside"),
    "lessons": ("lesson=copies&lesson_step=why",),
    "theory": tuple(f"theory={name}" for name in TABS),
}


def prices(n: int = 90, seed: int = 5) -> bytes:
    """A table with four numbers, a category and a number to predict."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    kind = rng.integers(0, 2, n)
    y = 2 * X[:, 0] + np.sin(2 * X[:, 1]) + kind + 0.2 * rng.standard_normal(n)
    rows = [
        ",".join([*(f"{v:.4f}" for v in row), ("oak", "elm")[k], f"{target:.4f}"])
        for row, k, target in zip(X, kind, y, strict=True)
    ]
    return "\n".join(["length,width,age,weight,wood,price", *rows]).encode()


# What the library says


@dataclass(frozen=True, eq=False)
class Known:
    """A table with its parts and kernels, made without the app; ``batch`` are its first rows as a file."""

    table: Dataset
    parts: Split
    kernels: KernelDictionary
    batch: bytes


@once
def known(source: str) -> Known:
    if source == "sample":
        table = load_sample("iris")
        batch = pd.DataFrame(table.X[:BATCH], columns=list(table.feature_names)).to_csv(index=False).encode()
    else:
        table = read_table(prices())
        batch = b"\n".join(prices().splitlines()[: BATCH + 1])
    specs = [RBF(0.25, relative=True), RBF(4.0, relative=True), Linear()]
    specs += KernelDictionary.per_feature(Linear(), table.n_features)
    kernels = KernelDictionary(tuple(specs), feature_names=table.feature_names)
    return Known(table, three_way_split(table, 0.25, 0.25, 0), kernels, batch)


@once
def path_of(source: str, algorithm: str) -> Path:
    """The path that Explore shows when nothing but the algorithm is chosen."""
    here, method = known(source), ESTIMATORS[algorithm]
    over, task, train = method.path_params[0], here.table.task, here.parts.train
    stack = here.kernels.grams(train.X, normalise=getattr(method.classifier, "default_normalise", None))
    usual = {control.name: control.default for control in method.controls if task in control.tasks}
    acting = {control.name: control.default for control in method.shown(task, over, usual)}
    model = method.estimator(task, kernels=here.kernels, stack=stack, **acting)
    grid = path_grid(model, stack, train.y, over, 50 if over == "s" else 25)
    rows, target = stack.cross(here.parts.validation.X), here.parts.validation.y
    return fit_path(model, stack, train.y, over, grid, rows, target)


# What the screen says


class Walker(Visitor):
    """A visitor who looks for a failure wherever a page comes to rest."""

    def settle(self, quiet: float = 0.3) -> None:
        super().settle(quiet)
        failures = self.page.locator("[data-testid=stException]")
        assert failures.count() == 0, failures.first.inner_text()

    def take(self, name: str) -> bytes:
        """Press a button and return the file it hands over."""
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name=name, exact=True).click()
        with open(download.value.path(), "rb") as file:
            return file.read()

    def choose(self, box: str, option: str) -> None:
        """Pick from a select-box."""
        self.page.get_by_role("combobox", name=box).click()
        self.page.get_by_role("option", name=option, exact=True).click()
        self.settle()

    @property
    def query(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlparse(self.page.url).query).items()}


def assert_sound(visitor: Visitor, server: Server) -> None:
    """Nothing went wrong on page, console or server, and no other host was asked."""
    assert visitor.page.locator("[data-testid=stException]").count() == 0
    assert visitor.errors == []
    assert visitor.hosts == {urlparse(server.url).netloc}
    assert "Traceback" not in server.log.read_text(errors="replace")


def assert_named(visitor: Visitor) -> None:
    """Every figure can be heard."""
    figures = "[data-testid=stPlotlyChart]"
    unnamed = visitor.page.locator(f"{figures}:not([aria-label]):not(:has([aria-label]))")
    assert unnamed.count() == 0


def number(text: str) -> float:
    return float(text.replace("−", "-").replace("%", "").replace(",", "").strip())


def near(path: Path, value: float, digits: float = 0.051):
    """The score as the screen rounds it."""
    return pytest.approx((100 if path.score_name == "accuracy" else 1) * value, rel=0.006, abs=digits)


def assert_explored(visitor: Visitor, path: Path, index: int) -> None:
    """Weights, count, certificate and scores on Explore are those of one point of the path."""
    bars = visitor.bars()
    assert set(bars) == set(path.kernel_names)
    for name, weight in zip(path.kernel_names, path.weights[index], strict=True):
        assert bars[name] == pytest.approx(weight, rel=0.006, abs=2e-6), name
    facts = visitor.facts()
    assert f"{path.n_nonzero[index]} of {len(path.kernel_names)} kernels used" in facts
    certified = path.statuses[index].ok and not np.isnan(path.relative_gap[index])
    assert ("✓ certified" in facts) == certified
    for part, scores in (("train", path.train_score), ("validation", path.val_score)):
        told = re.search(rf"{part} {path.score_name} ([^\n]+)", facts)
        assert told is not None, facts
        assert number(told[1]) == near(path, scores[index])


def assert_predicted(visitor: Visitor, model, row: np.ndarray, table: Dataset) -> None:
    """The answer for one row is the model's."""
    (said,) = model.predict(row[None])
    told = re.search(rf"^{table.target_name}: (\S+)", visitor.text(), re.MULTILINE)
    assert told is not None
    if table.task == "regression":
        assert number(told[1]) == pytest.approx(said, rel=0.006)
    else:
        assert told[1] == said


def let_go(visitor: Visitor, slider, to: float) -> None:
    """Drag a slider, and wait until the link has heard of it."""
    index, link = slider.input_value(), visitor.page.url
    pull(visitor, slider, to)
    if slider.input_value() != index:
        visitor.page.wait_for_url(lambda url: url != link)
    visitor.settle()


@pytest.fixture(scope="module")
def walker(server: Server, chromium):
    """One window for each source, with its table and kernels chosen as a person does it."""
    windows: dict[str, Walker] = {}

    def at(source: str) -> Walker:
        if source not in windows:
            windows[source] = visitor = Walker(chromium, server.url)
            visitor.open(f"?{KERNELS}&lesson=copies")  # a single lesson: the gallery would have all of them computed
            if source == "sample":
                visitor.page.get_by_role("button", name="Iris").click()
                visitor.page.wait_for_selector("text=150 rows")
            else:
                upload(visitor, prices(), "prices.csv")
                visitor.page.wait_for_selector("text=90 rows")
                visitor.page.wait_for_selector("text=Kept on the server for 7 days")
            visitor.settle()
        return windows[source]

    yield at
    for visitor in windows.values():
        visitor.context.close()


# Every algorithm


@pytest.mark.parametrize("algorithm", METHODS)
@pytest.mark.parametrize("source", SOURCES)
def test_a_walk_with_one_algorithm_shows_what_the_library_computes(
    server: Server, visit, walker, source: str, algorithm: str
) -> None:
    visitor, path, here = walker(source), path_of(source, algorithm), known(source)
    explore(visitor, path, METHODS[algorithm].label)
    index, link = visitor.index(), visitor.page.url
    predict(visitor, path, index, here)
    take_away(visitor, path, index, here)
    for room in OTHERS if source == "sample" or algorithm == next(iter(METHODS)) else ():
        visitor.go(room.title)
        visitor.page.locator("h1", has_text=room.question).wait_for()
        visitor.settle()
        assert_named(visitor)
    assert_sound(visitor, server)
    fresh = visit(server.url)
    reopen(fresh, link, source, path, index)
    assert_sound(fresh, server)


def explore(visitor: Walker, path: Path, label: str) -> None:
    """Choose the algorithm, then drag the cursor to the middle of its path."""
    visitor.go("Explore")
    visitor.choose("Algorithm", label)
    visitor.page.get_by_text("Path", exact=True).first.click()
    visitor.page.wait_for_url("**look=path*")
    visitor.wait_for_path()
    assert_explored(visitor, path, int(np.nanargmax(path.val_score)))
    let_go(visitor, visitor.slider, 0.1)
    let_go(visitor, visitor.slider, 0.5)
    assert abs(visitor.index() - (len(path) - 1) / 2) <= 0.5
    assert float(visitor.query["at"]) == pytest.approx(path.values[visitor.index()])
    assert_explored(visitor, path, visitor.index())


def predict(visitor: Walker, path: Path, index: int, here: Known) -> None:
    """Ask about one row, about the row with a change, and about a file."""
    page, model = visitor.page, path.estimators[index]
    visitor.go("Predict")
    page.get_by_role("tab", name="One row").click()
    page.wait_for_selector(f"text={path.n_nonzero[index]} of {len(path.kernel_names)} kernels used")
    visitor.settle()
    assert_predicted(visitor, model, here.table.X[0], here.table)
    thumb = page.locator("[data-testid=stMain] [data-testid=stSlider] input[type=range]").first
    thumb.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_url("**moved=*")
    visitor.settle()
    row = here.table.X[0].copy()
    for change in visitor.query["moved"].split(","):
        column, value = change.split("=")
        row[int(column) - 1] = float(value)
    assert_predicted(visitor, model, row, here.table)
    page.get_by_role("button", name="Undo the changes").click()
    page.wait_for_url(lambda url: "moved" not in url)
    page.get_by_role("tab", name="A whole file").click()
    page.wait_for_selector("text=A file with new rows")
    visitor.settle()
    if page.get_by_role("button", name="Predictions as CSV").count() == 0:  # the session keeps the file
        file = {"name": "new.csv", "mimeType": "text/csv", "buffer": here.batch}
        page.set_input_files("[data-testid=stMain] [data-testid=stFileUploader] input[type=file]", file)
        page.get_by_role("button", name="Predictions as CSV").wait_for()
    visitor.settle()
    found = pd.read_csv(io.BytesIO(visitor.take("Predictions as CSV")))[f"predicted {here.table.target_name}"]
    assert_same(found.to_numpy(), model.predict(here.table.X[:BATCH]))


def assert_same(found: np.ndarray, expected: np.ndarray) -> None:
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    else:
        assert found.astype(str).tolist() == expected.astype(str).tolist()


def take_away(visitor: Walker, path: Path, index: int, here: Known) -> None:
    """Download the weights, the path, the model, and the code and report of the screen."""
    page, model = visitor.page, path.estimators[index]
    page.get_by_role("tab", name="Take away").click()
    page.get_by_role("button", name="Report as HTML").wait_for()
    visitor.settle()
    weights = pd.read_csv(io.BytesIO(visitor.take("Weights as CSV"))).set_index("kernel")["weight"]
    np.testing.assert_allclose(weights.loc[list(path.kernel_names)], path.weights[index], rtol=1e-6, atol=1e-9)
    along = pd.read_csv(io.BytesIO(visitor.take("Path as CSV")))
    np.testing.assert_allclose(along[path.param], path.values, rtol=1e-9)
    np.testing.assert_allclose(along["validation"], path.val_score, rtol=1e-9)
    taken = load_model(io.BytesIO(visitor.take("Model")))
    assert_same(taken.predict(here.parts.test.X), model.predict(here.parts.test.X))
    page.locator(".st-key-screen button").first.click()
    page.get_by_role("button", name="Script", exact=True).wait_for()
    visitor.settle()
    script, notebook = visitor.take("Script").decode(), visitor.take("Notebook").decode()
    compile(script, "mkl_screen.py", "exec")
    assert type(model).__name__ in script
    cells = nbformat.reads(notebook, as_version=4)
    nbformat.validate(cells)
    assert type(model).__name__ in notebook
    report = visitor.take("Report").decode()
    assert f"{path.n_nonzero[index]} of {len(path.kernel_names)}" in report
    assert "Content-Security-Policy" in report
    assert "<script src=" not in report
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Script", exact=True).wait_for(state="hidden")


def reopen(fresh: Visitor, link: str, source: str, path: Path, index: int) -> None:
    """The link brings the screen back in another browser; what was uploaded has to be brought by whoever has it."""
    fresh.page.goto(link)
    if source == "upload":
        fresh.page.wait_for_selector("text=upload the same file on the Data page")
        fresh.settle()
        fresh.go("Data")
        upload(fresh, prices(), "prices.csv")
        fresh.page.wait_for_selector("text=90 rows")
        fresh.go("Explore")
    fresh.wait_for_path()
    assert fresh.index() == index
    assert_explored(fresh, path, index)


# Lanes, hulls, theory


def lanes_shown(visitor: Visitor) -> dict[str, list[str]]:
    """What the table below the lanes says: facts and kernels by name, a text per lane."""
    rows = visitor.page.locator(".lanes .table .row:not(.head)").evaluate_all(
        """rows => rows.map(row => [row.querySelector('.name').title,
        [...row.querySelectorAll('.fact, .number')].map(cell => cell.textContent)])"""
    )
    return dict(rows)


def assert_lanes(visitor: Visitor, paths: list[Path], indices: list[int]) -> None:
    shown = lanes_shown(visitor)
    score = paths[0].score_name
    for lane, (path, k) in enumerate(zip(paths, indices, strict=True)):
        assert number(shown["at"][lane].partition("= ")[2]) == pytest.approx(path.values[k], rel=0.006)
        assert number(shown[f"validation {score}"][lane]) == near(path, path.val_score[k])
        assert number(shown[f"train {score}"][lane]) == near(path, path.train_score[k])
        assert shown["kernels used"][lane] == f"{path.n_nonzero[k]} of {len(path.kernel_names)}"
        shares = path.weights[k] / (path.weights[k].sum() or 1.0)
        for name, share in zip(path.kernel_names, shares, strict=True):
            told = shown[name][lane]
            assert (0.0 if told.startswith("<") else number(told)) == pytest.approx(100 * share, abs=0.06), name


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("source", SOURCES)
def test_lanes_move_together_and_show_what_the_library_computes(
    server: Server, walker, source: str, lanes: str
) -> None:
    visitor, page = walker(source), walker(source).page
    paths = [path_of(source, name) for name in lanes.split(";")]
    visitor.go("Compare")
    data = visitor.query["data"]
    visitor.open(f"compare?data={data}&{KERNELS}&lanes={lanes}")
    page.wait_for_selector(".st-key-compare_chart .path-cursor line", state="attached")
    visitor.settle()
    assert_lanes(visitor, paths, [int(np.nanargmax(path.val_score)) for path in paths])
    slider = page.locator(".lanes input[type=range]")
    let_go(visitor, slider, 0.1)
    let_go(visitor, slider, 0.6)
    at = visitor.query["lanes_at"]
    if at.endswith("%"):
        indices = [int(np.argsort(path.values)[round(float(at[:-1]) / 100 * (len(path) - 1))]) for path in paths]
    else:
        indices = [int(np.argmin(np.abs(np.log(path.values / float(at))))) for path in paths]
    assert_lanes(visitor, paths, indices)
    page.get_by_role("button", name="Show test scores of all lanes").click()
    page.get_by_role("button", name="Show test scores of all lanes").wait_for(state="detached")
    visitor.settle()
    table = pd.read_csv(io.BytesIO(visitor.take("Table as CSV")))
    test = known(source).parts.test
    for name, expected in (
        ("validation", [path.val_score[k] for path, k in zip(paths, indices, strict=True)]),
        ("best validation", [np.nanmax(path.val_score) for path in paths]),
        ("test", [path.estimators[k].score(test.X, test.y) for path, k in zip(paths, indices, strict=True)]),
    ):
        np.testing.assert_allclose(table[name], expected, rtol=1e-6)
    assert_sound(visitor, server)


@pytest.mark.parametrize("source", SOURCES)
def test_hulls_show_what_the_library_computes(server: Server, walker, source: str) -> None:
    visitor, here, method = walker(source), known(source), ESTIMATORS["hkl"]
    train, validation, task = here.parts.train, here.parts.validation, here.table.task
    usual = {control.name: control.default for control in method.controls}
    acting = {control.name: control.default for control in method.shown(task, "lam", usual)}
    model = method.estimator(task, **acting, levels=3)
    scales = {"standardize": model.standardize, "normalize": model.normalize_basis, "memory_mb": model.memory_mb}
    rows = Design(train.X, model.basis, names=list(train.feature_names), **scales)
    values = path_grid(model, rows, train.y, "lam", 16)[::-1]
    path = fit_path(model, rows, train.y, "lam", values, validation.X, validation.y)
    visitor.go("Hulls")
    visitor.page.locator(".hull .badge", has_text=re.compile("^certified$")).wait_for()
    visitor.settle()
    slider = visitor.page.locator(".hull input[type=range]")
    let_go(visitor, slider, 0.1)
    let_go(visitor, slider, 0.5)
    k = int(slider.input_value())
    assert abs(k - 0.5 * 15) <= 0.5
    assert float(visitor.query["hull_at"]) == pytest.approx(path.values[k])
    fitted, text = path.estimators[k], visitor.text()
    assert f"{len(fitted.hull_)} nodes in the hull" in text
    told = re.search(rf"validation {path.score_name} ([^\n]+)", text)
    assert told is not None
    assert number(told[1]) == near(path, path.val_score[k])
    assert_named(visitor)
    assert_sound(visitor, server)


@pytest.mark.parametrize("source", SOURCES)
def test_every_theorem_opens(server: Server, walker, source: str) -> None:
    visitor = walker(source)
    visitor.go("Theory")
    for key, tab in reversed(TABS.items()):
        visitor.page.get_by_role("radio", name=tab.label, exact=True).click()
        visitor.page.wait_for_url("**theory=*" if key != "lp" else lambda url: "theory=" not in url)
        visitor.settle()
        assert_named(visitor)
    assert_sound(visitor, server)


# Keys, figures, lessons


def test_menu_cursor_and_presentation_are_reached_by_keys_alone(server: Server, visit) -> None:
    visitor = visit(server.url)
    page, keys = visitor.page, visitor.page.keyboard
    visitor.open(f"kernels?data=iris&{KERNELS}")
    tab_to(visitor, "[data-testid=stTopNavLink]", "Explore")
    keys.press("Enter")
    page.wait_for_url("**/explore*")
    visitor.page.wait_for_selector(".player input")
    visitor.settle()
    tab_to(visitor, "input[aria-label='Position on the path']")
    start = visitor.index()
    step = "ArrowLeft" if start else "ArrowRight"
    keys.press(step)
    page.wait_for_url("**at=*")
    visitor.settle()
    assert visitor.index() == abs(start - 1)
    assert float(parse_qs(urlparse(page.url).query)["at"][0]) == pytest.approx(
        path_of("sample", "lp").values[visitor.index()]
    )
    assert visitor.slider.get_attribute("aria-valuetext").startswith("C = ")
    tab_to(visitor, ".st-key-present button", back=True)
    keys.press("Enter")
    page.wait_for_url("**present=yes*")
    visitor.settle()
    menu = page.locator("[data-testid=stTopNavLink]").first
    assert not menu.is_visible()
    assert not page.locator("[data-testid=stSidebar]").is_visible()
    page.locator("h1").click()  # a fresh page: nothing has the focus
    keys.press("Escape")
    page.wait_for_url(lambda url: "present" not in url)
    visitor.settle()
    assert menu.is_visible()
    assert_sound(visitor, server)


def tab_to(visitor: Visitor, selector: str, text: str = "", back: bool = False) -> None:
    """Press Tab until the focus is on what is wanted, and can be seen there."""
    focused = """([selector, text]) => { let on = document.activeElement;
      while (on && on.shadowRoot && on.shadowRoot.activeElement) on = on.shadowRoot.activeElement;
      return Boolean(on && on.matches(selector) && on.textContent.includes(text)); }"""
    for _ in range(120):
        visitor.page.keyboard.press("Shift+Tab" if back else "Tab")
        if visitor.page.evaluate(focused, [selector, text]):
            return
    raise AssertionError(f"Tab does not reach {selector} {text}.")


def test_a_figure_is_taken_as_svg_png_and_html(server: Server, walker) -> None:
    visitor, path = walker("sample"), path_of("sample", "lp")
    visitor.go("Predict")
    page = visitor.page
    page.wait_for_selector("text=kernels used")
    page.get_by_role("tab", name="Take away").click()
    page.locator(".st-key-take_weights-at-the-cursor button").first.click()
    page.locator(".st-key-copy_weights-at-the-cursor .modebar-btn").first.wait_for(state="attached")
    visitor.settle()
    svg = visitor.take("SVG").decode()
    assert svg.startswith("<svg")
    for name in path.kernel_names:
        assert name.removeprefix("linear ").split(" (")[0] in svg
    assert visitor.take("PNG").startswith(b"\x89PNG\r\n\x1a\n")
    html = visitor.take("HTML").decode()
    assert "Content-Security-Policy" in html
    assert "<script src=" not in html
    assert_sound(visitor, server)


def test_a_lesson_is_guessed_revealed_and_explained_by_keys(server: Server, visit) -> None:
    visitor, lesson = visit(server.url), LESSONS["copies"]
    page, found = visitor.page, lesson.compute()
    visitor.open("lessons?lesson=copies")
    page.wait_for_selector("text=Your guess")
    visitor.settle()
    page.keyboard.press("1")
    page.wait_for_url("**lesson_guess=*")
    visitor.settle()
    page.keyboard.press("PageDown")
    page.wait_for_url("**lesson_step=reveal*")
    slider = page.locator(".scene input[type=range]")
    slider.wait_for()
    visitor.settle()
    assert lesson.options[0] != found.answer
    assert "It depends on the solver" in visitor.text()
    assert f"B is the largest from {found.facts['turns']} copies on" in visitor.text()
    assert page.locator(".scene svg[role=img][aria-label]").count() == page.locator(".scene svg").count() > 0
    let_go(visitor, slider, 0.9)
    said = page.locator(".scene .said").inner_text()
    let_go(visitor, slider, 0.1)
    assert page.locator(".scene .said").inner_text() != said
    page.keyboard.press("PageDown")
    page.wait_for_url("**lesson_step=why*")
    visitor.settle()
    why = visitor.text()
    assert f"it uses {found.facts['gomp_kept']} of {found.facts['kernels']} kernels" in why
    assert "What it cannot tell." in why
    link = page.url
    again = visit(server.url)
    again.page.goto(link)
    again.page.wait_for_selector("text=What it cannot tell.")
    for one in (visitor, again):
        assert_sound(one, server)


def test_the_zoom_of_a_chart_stays_when_the_slider_is_let_go(server: Server, visit) -> None:
    visitor = visit(server.url)
    page = visitor.page
    visitor.open(f"explore?data=iris&{KERNELS}&look=path")
    visitor.wait_for_path()
    whole = page.evaluate(RANGES, CHART)
    plot = page.locator(f"{CHART} .nsewdrag").first.bounding_box()
    page.mouse.move(plot["x"] + 20, plot["y"] + 40)
    page.mouse.down()
    for step in range(1, 9):  # plotly tells a drag from a click by its moves
        page.mouse.move(plot["x"] + 20 + 15 * step, plot["y"] + 40 + 12 * step)
        page.wait_for_timeout(30)
    page.mouse.up()
    page.wait_for_function(f"whole => JSON.stringify(({RANGES})('{CHART}')) !== JSON.stringify(whole)", arg=whole)
    zoomed = page.evaluate(RANGES, CHART)
    let_go(visitor, visitor.slider, 0.1)
    let_go(visitor, visitor.slider, 0.5)
    assert page.evaluate(RANGES, CHART) == zoomed
    assert page.locator(CURSOR).count() > 0
    assert_explored(visitor, path_of("sample", "lp"), visitor.index())
    assert_sound(visitor, server)


# Sizes and themes


@pytest.fixture(scope="module")
def themed(server: Server, chromium):
    """One window for each theme."""
    windows: dict[str, Walker] = {}

    def window(theme: str) -> Walker:
        if theme not in windows:
            windows[theme] = Walker(chromium, server.url, color_scheme=theme)
        return windows[theme]

    yield window
    for visitor in windows.values():
        visitor.context.close()


TOO_WIDE = """() => [document.scrollingElement, document.querySelector('[data-testid=stMain]')]
  .map(part => part.scrollWidth - part.clientWidth)"""


@pytest.mark.parametrize("room", [room.file for room in ROOMS])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_fits_every_screen_in_both_themes(server: Server, themed, theme: str, room: str) -> None:
    visitor = themed(theme)
    page = visitor.page
    for more in ("", *(MORE.get(room, ()) if theme == "light" else ())):
        page.set_viewport_size(dict(zip(("width", "height"), SIZES[0], strict=True)))
        address = "" if room == ROOMS[0].file else room  # the first page lives at the root alone
        visitor.open(f"{address}?data=iris&{KERNELS}&{more}")
        background = page.locator("[data-testid=stApp]").evaluate("app => getComputedStyle(app).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 200) == (theme == "dark")
        assert_named(visitor)
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_function("width => document.documentElement.clientWidth === width", arg=width)
            visitor.settle()
            assert page.evaluate(TOO_WIDE) == [0, 0], (more, width)
    assert_sound(visitor, server)
