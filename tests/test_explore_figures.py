"""Pictures of what a model has learnt: the house style, the data they hold, refusals with a message."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from mklcore import figures
from mklcore.errors import ParameterError
from mklcore.figures import style
from tests.test_figures import THEMES, text_colours

NAMES = ("width", "height", "depth")


@dataclass
class Curve:
    name: str
    column: int
    grid: np.ndarray = field(default_factory=lambda: np.linspace(0, 1, 5))
    values: np.ndarray = field(default_factory=lambda: np.linspace(-1, 2, 5))
    rug: np.ndarray = field(default_factory=lambda: np.linspace(0, 1, 9))


@dataclass
class Map:
    classes: tuple = ("no", "yes")
    columns: tuple = (0, 2)
    x: np.ndarray = field(default_factory=lambda: np.linspace(0, 1, 4))
    y: np.ndarray = field(default_factory=lambda: np.linspace(5, 9, 3))
    values: np.ndarray = field(default_factory=lambda: np.linspace(-1, 1, 12).reshape(3, 4))

    @property
    def kind(self):
        return {0: "number", 2: "score"}.get(len(self.classes), "class")


def surface(kind, dark=False):
    rows = np.random.default_rng(0).uniform(size=(6, 3))
    if kind == "number":
        return figures.surface_plot(Map(()), NAMES, rows, np.arange(6.0), dark=dark)
    if kind == "score":
        return figures.surface_plot(Map(), NAMES, rows, np.array(["no", "yes"] * 3), dark=dark)
    three = Map(("a", "b", "c"), values=np.arange(12.0).reshape(3, 4) % 3)
    return figures.surface_plot(three, NAMES, rows, np.array(["a", "b", "c"] * 2), dark=dark)


def every(dark):
    weights = np.array([[0.5, 0.0, 0.2], [0.1, 0.7, 0.0]])
    return {
        "component_grid": figures.component_grid([Curve("linear width", k % 3) for k in range(5)], NAMES, dark=dark),
        "class_weights": figures.class_weights(weights, ("a", "b"), NAMES, dark=dark),
        "selection_bars": figures.selection_bars([0.5, 1.0, 0.0], 20, NAMES, ("rbf", "linear", "linear"), dark=dark),
        **{f"surface of a {kind}": surface(kind, dark) for kind in ("number", "score", "class")},
    }


@THEMES
def test_every_figure_keeps_the_house_style_and_can_be_read(dark):
    for name, figure in every(dark).items():
        assert figure.layout.paper_bgcolor == figure.layout.plot_bgcolor == "rgba(0,0,0,0)", name
        assert figure.layout.showlegend is False, name
        alt = figure.layout.meta["alt"]
        assert alt[0].isupper(), name
        assert alt.endswith("."), name
        assert any(c.isdigit() for c in alt), name
        for colour in text_colours(figure):
            assert style.contrast(colour, style.theme(dark).paper) >= style.TEXT_CONTRAST, (name, colour)
        figure.to_json()


def test_curves_share_one_scale_and_carry_their_rows():
    figure = every(False)["component_grid"]
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert len(lines) == 5
    assert lines[0].y == pytest.approx(np.linspace(-1, 2, 5))
    assert len({tuple(axis.range) for axis in figure.select_yaxes()}) == 1
    rugs = [trace for trace in figure.data if trace.name == "training rows"]
    assert all(rug.x == pytest.approx(np.linspace(0, 1, 9)) for rug in rugs)
    domains = [axis.domain for axis in (*figure.select_xaxes(), *figure.select_yaxes())]
    assert all(0 <= low < high <= 1 for low, high in domains)


def test_a_surface_draws_its_border_and_the_rows_by_class():
    figure = surface("score")
    assert figure.data[0].z == pytest.approx(Map().values)
    assert figure.data[1].contours.start == figure.data[1].contours.end == 0
    assert [trace.name for trace in figure.data[2:]] == ["no", "yes"]
    assert "yes wins on 50 % of the map" in figure.layout.meta["alt"]
    assert surface("number").data[1].marker.color == pytest.approx(np.arange(6.0))
    assert [trace.name for trace in surface("class").data[1:]] == ["a", "b", "c"]


def test_rows_at_one_place_of_a_surface_are_drawn_apart():
    rows = np.array([[0.0, 0, 5], [1, 0, 9], *([[0.5, 0, 7]] * 40)])
    marks = figures.surface_plot(Map(()), NAMES, rows, np.arange(42.0)).data[1]
    drawn = np.column_stack([marks.x, marks.y])
    assert len(np.unique(drawn, axis=0)) == 42
    assert drawn[:2] == pytest.approx(rows[:2, [0, 2]])
    assert np.abs(drawn[2:, 0] - 0.5).max() == pytest.approx(0.02, rel=0.05)


def test_class_weights_show_the_largest_first_and_leave_out_the_rest():
    weights = np.eye(3, 30) + 0.5 * np.eye(3, 30, k=4)
    figure = figures.class_weights(weights, ("a", "b", "c"), [f"k{m}" for m in range(30)])
    assert figure.data[0].z.shape == (6, 3)
    assert "24 kernels not drawn" in figure.layout.meta["alt"]


def test_selection_bars_count_times():
    figure = every(False)["selection_bars"]
    assert list(figure.data[0].x) == [20, 10, 0]
    assert "1 kernel always, 1 kernel never" in figure.layout.meta["alt"]


def test_nothing_to_draw_says_what_it_means():
    assert "No kernel in use" in figures.component_grid([], NAMES).layout.annotations[0].text


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: figures.component_grid([Curve("k", 0, values=np.ones((5, 3)))], NAMES), "Choose one output"),
        (
            lambda: figures.surface_plot(Map(values=np.ones((4, 3))), NAMES, np.ones((2, 3)), ["no", "yes"]),
            "one value per pair",
        ),
        (lambda: figures.class_weights(np.ones((2, 3)), ("a",), NAMES), "One row per problem"),
        (lambda: figures.selection_bars([1.0], 20, NAMES, ("rbf",) * 3), "One frequency, name and family"),
    ],
)
def test_shapes_that_disagree_are_refused(draw, words):
    with pytest.raises(ParameterError, match=words):
        draw()
