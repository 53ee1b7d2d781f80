"""The players away from the app: each is a module a browser takes, and one slider leads chart, bars
and texts.
"""

import pytest

from mklcore.figures import axes
from mklcore.figures.player_data import charts
from mklcore.figures.players import PLAYERS, player
from tests.helpers.every import every

BEGIN = """async ({name, js, data}) => {
  const module = await import(URL.createObjectURL(new Blob([js], {type: 'text/javascript'})));
  window.reports ??= [];
  const parentElement = document.querySelector('#' + name);
  const sent = (what, report) => window.reports.push({name, what, ...report});
  window.again = (data) => module.default({parentElement, data, setStateValue: sent});
  (window.players ??= {})[name] = window.again;
  if (data) window.again(data);
  return typeof module.default;
}"""
POSITIONS = [0.0, 1.0, 2.0, 4.0]
AXIS = axes.Scale("x", 0.0, 4.0)
CHART = charts.chart("chart", "chart", [charts.panel(
    AXIS, axes.linear("y", 0.0, 9.0), [charts.line("squares", [0, 1, 4, 9], "#005585", False, label="end")],
    POSITIONS, "abcd", title="Squares",
)], "Squares.", list("abcd"))  # fmt: skip
PATH = {
    "chart": "chart", "charts": ["chart"], "x": [at / 4 for at in POSITIONS],
    "labels": [f"C = {x:g}" for x in POSITIONS],
    "spoken": [f"spoken {x:g}" for x in POSITIONS], "index": 1, "exact": None, "turn": 1,
}  # fmt: skip
BARS = {
    "chart": "chart", "set": "weights", "title": "Weights at ", "labels": PATH["labels"], "names": ["a", "b"],
    "full": ["kernel a", "kernel b"], "colours": ["#005585", "#7a4d00"], "weights": [[0.0, 2.0], [1.0, 1.0], [2.0, 0.5],
    [2.0, 0.0]], "hollow": [False, False, False, True], "most": 2.0, "unit": "", "index": 1,
    "sortable": True,
}  # fmt: skip
TEXTS = {
    "chart": "chart", "set": "texts", "texts": [[[[["b", f"point {k}"]]]] for k in range(4)], "widths": [1],
    "index": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def hall(chromium):
    """A window for all tests, whose content is replaced."""
    context = chromium.new_context(viewport={"width": 900, "height": 600})
    page = context.new_page()
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    yield page
    context.close()


@pytest.fixture
def page(hall):
    hall.errors.clear()
    hall.set_content("")  # with the listeners of the players before
    hall.evaluate("() => { delete window.reports; delete window.players; }")
    return hall


@every("name", PLAYERS)
def test_every_player_is_a_module_with_a_default_function(page, name):
    page.evaluate("() => { delete window.reports; delete window.players; }")
    page.set_content(f"<div id='{name}'>{player(name).html}</div>")
    assert page.evaluate(BEGIN, {"name": name, "js": player(name).js, "data": None}) == "function"
    assert page.errors == []


@pytest.fixture
def stage(page):
    """A page of its own: a chart, a slider under it, bars and texts that listen."""
    names = {"bars": BARS, "texts": TEXTS, "chart": CHART, "path": PATH}
    rooms = "".join(
        f"<div id='{name}'><style>{player(name).css}</style>{player(name).html}</div>"
        for name in names
    )
    page.set_content(rooms)
    for name, data in names.items():
        page.evaluate(BEGIN, {"name": name, "js": player(name).js, "data": data})
    return page


def line(page):
    """Where the line over the figure stands, on its axis."""
    return 4 * page.evaluate("""() => { const place = (name, at) => +document.querySelector(name).getAttribute(at);
      const ground = '#chart .ground', left = place('#chart .path-cursor line', 'x1') - place(ground, 'x');
      return left / place(ground, 'width');
    }""")


def reports(page):
    return [report["index"] for report in page.evaluate("window.reports")]


def test_the_slider_leads_line_bars_and_texts_and_reports_once(stage):
    slider = stage.locator("#path input")
    assert line(stage) == pytest.approx(1.0, abs=1e-3)
    assert stage.locator("#texts").inner_text().strip() == "point 1"
    slider.focus()
    stage.keyboard.press("ArrowRight")
    stage.keyboard.press("ArrowRight")
    stage.wait_for_function("window.reports.length")
    assert line(stage) == pytest.approx(4.0, abs=1e-3)
    assert stage.locator("#path output").inner_text() == "C = 4"
    assert slider.get_attribute("aria-valuetext") == "spoken 4"
    assert stage.locator("#bars .title").inner_text() == "Weights at C = 4"
    assert stage.locator("#bars .number").all_inner_texts() == ["2", "0"]
    assert stage.locator("#bars .bar.hollow").count() == 2
    assert stage.locator("#texts").inner_text().strip() == "point 3"
    assert reports(stage) == [3]
    assert stage.errors == []


def test_the_echo_of_a_report_moves_nothing_and_a_new_turn_does(stage):
    stage.locator("#path input").focus()
    stage.keyboard.press("End")
    stage.wait_for_function("window.reports.length")
    stage.evaluate("data => window.again(data)", PATH)
    assert line(stage) == pytest.approx(4.0, abs=1e-3)
    between = {
        "x": 0.75,
        "label": "C = 3",
        "spoken": "between",
        "sets": {"weights": [1.5, 0.5]},
        "hollow": False,
    }
    stage.evaluate("data => window.again(data)", PATH | {"turn": 2, "index": 2, "exact": between})
    assert line(stage) == pytest.approx(3.0, abs=1e-3)
    assert stage.locator("#path output").inner_text() == "C = 3"
    assert stage.locator("#bars .number").all_inner_texts() == ["1.5", "0.5"]
    assert stage.locator("#path input").input_value() == "2"
    assert reports(stage) == [3]


def test_a_slider_whose_data_come_before_those_of_its_figure_waits_for_the_panels(stage):
    lines = stage.locator("#chart .path-cursor line")
    stage.evaluate(
        "data => window.players.path(data)", PATH | {"panels": ["", "2"], "turn": 2, "index": 2}
    )
    assert stage.locator("#path input").input_value() == "2"
    two = CHART | {"panels": [*CHART["panels"], CHART["panels"][0] | {"suffix": "2"}]}
    stage.evaluate("data => window.players.chart(data)", two)
    assert lines.count() == 4  # a line and what takes hold of it, over each panel
    assert stage.errors == []


def test_the_line_can_be_taken_hold_of_and_the_button_plays(stage):
    box = stage.locator("#chart .path-cursor line").last.bounding_box()
    stage.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    stage.mouse.down()
    stage.mouse.move(5, box["y"] + box["height"] / 2, steps=4)
    stage.mouse.up()
    stage.wait_for_function("window.reports.length")
    assert line(stage) == pytest.approx(0.0, abs=1e-3)
    button = stage.get_by_role("button", name="Play along the path")
    button.click()
    stage.get_by_role("button", name="Pause").wait_for()
    stage.wait_for_function("window.reports.length === 2")
    assert button.is_visible()
    assert reports(stage) == [0, 3]


def test_the_end_of_an_earlier_call_cuts_nothing_off(stage):
    """Data that come before a script has loaded call it twice, and then the first of the calls is
    ended.
    """
    ended = (
        "([name, data]) => { const end = window.players[name](data); "
        "window.players[name](data); end(); }"
    )
    for name, data in (("bars", BARS), ("texts", TEXTS), ("path", PATH)):
        stage.evaluate(ended, [name, data])
    stage.evaluate("document.querySelector('#chart .path-cursor').remove()")
    stage.evaluate("data => window.players.chart(data)", CHART)
    stage.wait_for_selector("#chart .path-cursor line", state="attached", timeout=20000)
    stage.locator("#path input").focus()
    stage.keyboard.press("End")
    stage.wait_for_function("window.reports.length")
    assert line(stage) == pytest.approx(4.0, abs=1e-3)
    assert stage.locator("#bars .number").all_inner_texts() == ["2", "0"]
    assert stage.locator("#texts").inner_text().strip() == "point 3"
