"""Figures are pure: these tests read traces, layout and alternative text, never pixels."""

import colorsys
import enum
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

from mklcore import figures
from mklcore.errors import ParameterError
from mklcore.figures import captions, style
from mklcore.figures.grams import block_means
from tests.every import every

ROOT = Path(__file__).resolve().parents[1]
THEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])


class Status(enum.Enum):
    CONVERGED = "converged"
    MAX_ITER = "stopped"

    @property
    def ok(self) -> bool:
        return self is Status.CONVERGED


@dataclass
class ToyPath:
    """The fields of a path that figures read."""

    weights: np.ndarray
    values: np.ndarray
    kernel_families: tuple[str, ...]
    param: str = "C"
    stopped: tuple[int, ...] = ()
    score_name: str = "accuracy"
    kernel_names: tuple[str, ...] = field(init=False)
    statuses: tuple[Status, ...] = field(init=False)
    train_score: np.ndarray = field(init=False)
    val_score: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.values)
        self.kernel_names = tuple(f"{family} {m}" for m, family in enumerate(self.kernel_families))
        self.statuses = tuple(Status.MAX_ITER if i in self.stopped else Status.CONVERGED for i in range(n))
        self.train_score = np.linspace(0.7, 0.95, n)
        self.val_score = np.linspace(0.6, 0.9, n)


@dataclass
class Line:
    iteration: int
    relative_gap: float | None
    solves: int = 2
    seconds: float = 0.1


def toy_path(n_values=5, n_kernels=9, families=None, **more) -> ToyPath:
    weights = np.random.default_rng(3).uniform(0.01, 1, (n_values, n_kernels))
    families = families or ("rbf",) * 3 + ("linear",) * (n_kernels - 3)
    return ToyPath(weights, more.pop("values", np.logspace(-2, 2, n_values)), families, **more)


def every_figure(dark: bool) -> dict[str, go.Figure]:
    path, rng = toy_path(stopped=(1,)), np.random.default_rng(0)
    gram = rng.uniform(size=(6, 6))
    names, families = path.kernel_names, path.kernel_families
    return {
        "weights_bar": figures.weights_bar(path.weights[0], names, families, dark=dark),
        "target_alignment_bar": figures.target_alignment_bar(path.weights[0], names, families, dark=dark),
        "waterfall": figures.waterfall(path.weights[0] - 0.3, names, 1.5, before=1.2, ends=("", "(90 %)"), dark=dark),
        "weight_path": figures.weight_path(path, 2, dark=dark),
        "score_path": figures.score_path(path, 2, dark=dark),
        "sparsity_figure": figures.sparsity_figure(
            [1, 2, np.inf], "ab", rng.uniform(size=(2, 3)), gram[:2, :3], 0.1, dark=dark
        ),
        "weights_beside": figures.weights_beside(
            names, families, path.weights[0], path.weights[1], ("one", "two"), dark=dark
        ),
        "gap_convergence": figures.gap_convergence([Line(0, 0.5), Line(1, 0.01)], dark=dark),
        "gram_heatmap": figures.gram_heatmap(gram, [0, 1, 0, 1, 0, 1], dark=dark),
        "alignment_heatmap": figures.alignment_heatmap(gram, "abcdef", dark=dark),
        "confusion_figure": figures.confusion_figure(gram[:2, :2], "ab", dark=dark),
        "choice_figure": figures.choice_figure(gram[0], (2,), "error", "C", np.geomspace(1, 9, 6), dark=dark),
        "roc_figure": figures.roc_figure([("a", gram[0], gram[0], 0.8)], dark=dark),
        "reliability_figure": figures.reliability_figure(gram[0], gram[1], np.arange(1, 7), "a", dark=dark),
        "residual_figure": figures.residual_figure(gram[0], gram[1], "a", dark=dark),
        "eigenvalue_decay": figures.eigenvalue_decay(gram[:2] + 1, ["a", "b"], dark=dark),
    }


def labels(figure: go.Figure) -> list:
    return [a for a in figure.layout.annotations if a.name == "end label"]


def text_colours(figure: go.Figure) -> set[str]:
    layout = figure.layout
    found = {layout.font.color} | {a.font.color for a in layout.annotations if a.font.color}
    for one in (*figure.select_xaxes(), *figure.select_yaxes()):
        found |= {one.title.font.color, one.tickfont.color} - {None}
    return found


# Every figure


@THEMES
def test_every_public_figure_keeps_the_house_style(dark):
    drawn = every_figure(dark)
    hulls = {"component_plot", "hull_graph", "hull_grid", "kernel_count", "relevance_bars"}  # see test_hkl_figures
    spectra = {"selected_bands"}  # see test_spectra
    explored = {"class_weights", "component_grid", "selection_bars", "surface_plot"}  # see test_explore_figures
    explored |= {"column_figure"}  # see test_explain
    explored |= {"term_bars", "term_plot"}  # see test_effects
    explored |= {"positions_figure"}  # see test_sequences
    bounds = {"Curve", "bound_curves", "coherence_dots", "comparison_plot", "duplicate_bars"}  # see test_theory_page
    assert (
        set(drawn) == set(figures.__all__) - {"kernel_colours", "path_positions"} - hulls - spectra - explored - bounds
    )
    for name, figure in drawn.items():
        assert figure.layout.paper_bgcolor == figure.layout.plot_bgcolor == "rgba(0,0,0,0)", name
        assert figure.layout.font.family is None, name
        assert figure.layout.showlegend is False, name
        alt = figure.layout.meta["alt"]
        assert alt[0].isupper(), name
        assert alt.endswith("."), name
        assert any(c.isdigit() for c in alt), name


@THEMES
def test_text_and_marks_of_every_figure_can_be_read_on_the_theme(dark):
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    papers = {style.theme(dark).paper, config["theme"]["dark" if dark else "light"]["backgroundColor"]}
    for name, figure in every_figure(dark).items():
        for paper in papers:
            for colour in text_colours(figure):
                assert style.contrast(colour, paper) >= style.TEXT_CONTRAST, (name, colour, paper)
            for trace in figure.select_traces(selector={"type": "scatter"}):
                if trace.line.color and trace.line.color.startswith("#"):
                    assert style.contrast(trace.line.color, paper) >= style.MARK_CONTRAST, (name, trace.name)


# Colours


def test_contrast_is_that_of_wcag():
    assert style.contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert style.contrast("#FFFFFF", "#FFFFFF") == pytest.approx(1)
    assert style.contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.005)


@THEMES
@every("family", style.FAMILY_HUES)
def test_a_family_keeps_its_hue_and_every_member_can_be_seen(family, dark):
    hue = colorsys.rgb_to_hls(*style._channels(style.FAMILY_HUES[family]))[0]
    shades = figures.kernel_colours([family] * 40, dark=dark)
    for shade in shades:
        assert style.contrast(shade, style.theme(dark).paper) >= style.MARK_CONTRAST
        assert abs(colorsys.rgb_to_hls(*style._channels(shade))[0] - hue) < 0.02
    assert len(set(shades[:8])) == 8


@THEMES
def test_adding_kernels_moves_no_earlier_colour(dark):
    families = ["rbf", "linear", "rbf", "linear", "linear"]
    longer = figures.kernel_colours([*families, "rbf", "polynomial"], dark=dark)
    assert longer[:5] == figures.kernel_colours(families, dark=dark)


@THEMES
def test_one_family_beyond_four_fifths_gives_six_hues_and_grey(dark):
    weights = np.r_[0.9, 0.1, 0.8, 0.7, 0.2, 0.6, 0.5, 0.3, 0.05, 0.04]
    colours = figures.kernel_colours(["linear"] * 9 + ["rbf"], weights, dark)
    grey = style.theme(dark).grey
    assert [m for m, colour in enumerate(colours) if colour != grey] == [0, 2, 3, 5, 6, 7]
    assert len(set(colours)) == 7
    assert colours[0] == style.readable(style.FAMILY_HUES["linear"], dark)


def _cielab(linear):
    mix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(np.maximum(mix @ linear / np.array([0.9505, 1.0, 1.089]), 1e-6))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


# Machado, Oliveira, Fernandes (2009): linear RGB as people without one kind of cone see it.
_SEEN_BY = {
    "everybody": np.eye(3),
    "protanopes": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopes": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopes": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


@every("dark", [False, True])
@every("who", _SEEN_BY)
def test_six_lines_are_reported_apart_by_everybody(who, dark):
    hues = style.six_hues(dark)
    assert all(style.contrast(hue, style.theme(dark).paper) >= style.MARK_CONTRAST for hue in hues)
    channels = np.array([[int(hue[k : k + 2], 16) / 255 for k in (1, 3, 5)] for hue in hues])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    seen = [_cielab(np.clip(np.asarray(_SEEN_BY[who]) @ rgb, 0, 1)) for rgb in linear]
    away = [np.linalg.norm(seen[i] - seen[j]) for i in range(6) for j in range(i)]
    assert min(away) > 20
    assert len(set(style.GLYPHS.values())) == 6


# Numbers and labels


@every("value, text", [(0, "0"), (0.012345, "0.0123"), (1.5, "1.5"), (100, "100"), (1234, "1230"), (999999, "1 × 10⁶"),
     (4.2e7, "4.2 × 10⁷"), (2e-7, "2 × 10⁻⁷"), (np.inf, "∞"), (np.nan, "not available"),
     (-0.5, "−0.5"), (-np.inf, "−∞")])  # fmt: skip
def test_numbers_have_three_significant_digits(value, text):
    assert style.number(value) == text


@every("share, text", [(0.0008, "0.08 %"), (9e-5, "< 0.01 %"), (0.0, "< 0.01 %"), (0.5, "50 %")])
def test_a_gap_is_never_called_zero(share, text):
    assert style.percent(share) == text


def test_long_names_are_cut_in_the_middle_and_markup_is_harmless():
    assert style.short("linear worst concave points") == "…concave points"
    assert len(style.short("x" * 90)) == 18
    assert style.short("<b>a & b") == "&lt;b&gt;a &amp; b"
    assert style.cut("total_phenols × color_intensity", 20) == "…color_intensity"


def test_products_of_alike_kernels_are_named_like_one_kernel():
    names = ("linear a", "RBF 1 × median, a", "a × b, linear × linear", "a × b, RBF 1 × median × RBF 1 × median",
             "a × c, linear × RBF 1 × median")  # fmt: skip
    assert captions.labels(names, ("interaction",) * 5) == (
        "a", "RBF a", "a × b", "RBF a × b", "a × c, linear × RBF 1 × median",
    )  # fmt: skip


def test_human_ticks():
    assert style.human_ticks(-2, 2) == [0.01, 0.1, 1, 10, 100]
    assert style.human_ticks(0, 0.9) == [1, 2, 5]
    assert len(style.human_ticks(-12, 12)) <= 9
    assert [style.tick_text(t) for t in (0.01, 0.1, 1, 10)] == ["0.01", "0.1", "1", "10"]
    assert style.tick_text(1e-8, plain=False) == "10⁻⁸"


# Weights


def test_bars_are_sorted_and_coloured_by_the_whole_path():
    path = toy_path()
    first = figures.weights_bar(path.weights[0], path.kernel_names, path.kernel_families, peaks=path.weights)
    last = figures.weights_bar(path.weights[-1], path.kernel_names, path.kernel_families, peaks=path.weights)
    order = np.argsort(-path.weights.max(axis=0))
    np.testing.assert_array_equal(first.data[0].x, path.weights[0][order])
    np.testing.assert_array_equal(last.data[0].x, path.weights[-1][order])
    assert first.data[0].marker.color == last.data[0].marker.color
    assert first.layout.xaxis.range == last.layout.xaxis.range
    assert first.layout.yaxis.ticktext == tuple(path.kernel_names[m] for m in order)


def test_bars_say_what_they_leave_out_and_what_is_provisional():
    weights = np.r_[np.linspace(0.5, 0.1, 5), np.zeros(15)]
    names, families = [f"k{m}" for m in range(20)], ["rbf"] * 10 + ["linear"] * 10
    figure = figures.weights_bar(weights, names, families, limit=8, certified=False)
    alt = figure.layout.meta["alt"]
    assert "5 of 20 kernels have a positive weight" in alt
    assert "k0 with 0.5, k1 with 0.4 and k2 with 0.3" in alt
    assert "12 smaller kernels left out" in alt
    assert "provisional" in alt
    assert figure.data[0].marker.color == style.TRANSPARENT
    assert figure.data[0].marker.line.color == tuple(figures.kernel_colours(families, weights)[:8])
    assert len(figure.data[0].x) == 8


def test_shares_of_the_norm_are_reported_on_hover():
    figure = figures.weights_bar([0.5, 0.25], ["a", "b"], ["rbf", "linear"], shares=[0.75, 0.25])
    assert list(figure.data[0].customdata) == ["75 %", "25 %"]
    assert "||f||" in figure.data[0].hovertemplate


@pytest.mark.parametrize("draw", [figures.weights_bar, figures.target_alignment_bar])
def test_bars_refuse_lists_of_unequal_length_and_draw_an_empty_state(draw):
    with pytest.raises(ParameterError, match="got values of shape \\(2,\\), 1 names and 2 families"):
        draw([1.0, 2.0], ["a"], ["rbf", "rbf"])
    assert "Add one" in draw([], [], []).layout.meta["alt"]


# Paths


@THEMES
def test_six_largest_kernels_are_named_and_the_rest_step_back(dark):
    path = toy_path()
    figure = figures.weight_path(path, dark=dark)
    named = style.largest(path.weights.max(axis=0))
    assert [t.name for t in figure.data] == ["the other kernels"] + [path.kernel_names[m] for m in named]
    assert figure.data[0].line.color.endswith(",0.35)")
    colours = figures.kernel_colours(path.kernel_families, path.weights, dark)
    for trace, label, m in zip(figure.data[1:], labels(figure), named, strict=True):
        np.testing.assert_array_equal(np.array(trace.y, float), path.weights[:, m])
        assert trace.line.color == colours[m]
        assert label.text == path.kernel_names[m]
        assert label.y == pytest.approx(path.weights[-1, m])


def test_end_labels_do_not_overlap_even_where_lines_end_together():
    path = toy_path()
    path.weights[-1] = 0.5
    figure = figures.weight_path(path)
    low, high = figure.layout.yaxis.range
    scale = (figure.layout.height - figure.layout.margin.t - figure.layout.margin.b) / (high - low)
    heights = sorted(a.y * scale + a.yshift for a in labels(figure))
    assert len(heights) == 6
    assert np.all(np.diff(heights) >= style.LABEL_GAP - 1e-6)


def test_the_log_axis_says_so_and_has_human_ticks():
    axis = figures.weight_path(toy_path()).layout.xaxis
    assert axis.type == "log"
    assert axis.title.text == "C, cost of an error (log scale)"
    assert axis.ticktext == ("0.01", "0.1", "1", "10", "100")


def test_the_cursor_stands_at_the_index_and_only_where_asked():
    path = toy_path()
    (cursor,) = figures.weight_path(path, 3).layout.shapes
    assert cursor.name == "cursor"
    assert cursor.x0 == cursor.x1 == pytest.approx(path.values[3])
    assert figures.weight_path(path).layout.shapes == ()
    for index in (-1, 5):
        with pytest.raises(ParameterError, match="the path has 5 points"):
            figures.weight_path(path, index)


def test_what_is_not_solved_to_tolerance_is_dashed():
    path = toy_path(n_values=6, stopped=(2,))
    traces = [t for t in figures.weight_path(path).data if t.name == path.kernel_names[4]]
    if not traces:
        pytest.fail("kernel 4 should be among the six largest of this seed")
    solid, dashed = traces
    assert (solid.line.dash, dashed.line.dash) == ("solid", "dash")
    assert [v for v in solid.x if v is not None] == pytest.approx(path.values[[0, 1, 3, 4, 5]])
    assert list(dashed.x) == pytest.approx(path.values[[1, 2, 3]])
    assert "1 point not solved" in figures.weight_path(path).layout.meta["alt"]


@THEMES
def test_scores_wear_grey_dashed_and_black(dark):
    path = toy_path()
    figure = figures.score_path(path, 1, test=[np.nan, 0.8, np.nan, np.nan, np.nan], dark=dark)
    train, validation, test = figure.data
    tone = style.theme(dark)
    assert (train.name, train.line.color, train.line.dash) == ("train", tone.grey, "solid")
    assert (validation.name, validation.line.color, validation.line.dash) == ("validation", tone.ink, "dash")
    assert (test.name, test.line.color, test.line.dash) == ("test", tone.ink, "solid")
    assert [a.text for a in labels(figure)] == ["train", "validation", "test"]
    alt = figure.layout.meta["alt"]
    assert "The validation accuracy is highest, 0.9, at C = 100, and 0.675 at the cursor." in alt
    assert "test accuracy is highest, 0.8, at C = 0.1" in alt


def test_scores_that_were_not_measured_are_not_drawn():
    path = toy_path(stopped=(0,))
    path.val_score = np.full(5, np.nan)
    figure = figures.score_path(path)
    assert [t.name for t in figure.data] == ["train", "not solved to tolerance"]
    assert figure.data[1].marker.symbol == "circle-open"
    path.train_score = path.val_score
    assert "No score was measured" in figures.score_path(path).layout.meta["alt"]


def test_infinite_norms_have_a_place_and_a_tick():
    values = np.array([1.0, 4 / 3, 2.0, 8.0, np.inf])
    path = toy_path(values=values, param="p")
    np.testing.assert_allclose(figures.path_positions(path), [1, 4 / 3, 2, 8, 16])
    axis = figures.weight_path(path).layout.xaxis
    assert axis.ticktext[0] == "1"
    assert axis.ticktext[-1] == "∞"
    assert axis.tickvals[-1] == 16
    assert np.all(np.diff(np.log(axis.tickvals)) > 0.09 * np.log(16))
    assert "along p from 1 to ∞" in figures.weight_path(path).layout.meta["alt"]


def test_a_path_in_numbers_of_kernels_is_linear():
    axis = figures.weight_path(toy_path(values=np.arange(1.0, 6), param="s")).layout.xaxis
    assert axis.type is None
    assert axis.title.text == "s, number of kernels"


def test_a_descending_path_is_drawn_from_left_to_right():
    path = toy_path(values=np.logspace(1, -3, 5), param="lam")
    figure = figures.weight_path(path)
    assert np.all(np.diff(np.array(figure.data[1].x, float)) > 0)
    assert "λ" in figure.layout.xaxis.title.text
    m = style.largest(path.weights.max(axis=0))[0]
    assert labels(figure)[0].y == pytest.approx(path.weights[0, m])


def test_scores_of_other_models_are_lines_and_far_ones_are_words():
    path = toy_path()
    low, high = float(np.nanmin(path.train_score)), float(np.nanmax(path.val_score))
    figure = figures.score_path(path, references=[("linear", (low + high) / 2), ("majority", -40.0)])
    dotted = [line for line in figure.data if line.name == "linear"]
    assert dotted[0].y == pytest.approx([(low + high) / 2] * 2)
    assert [note.text for note in figure.layout.annotations if note.name == "far"] == ["majority<br>↓ −40"]
    assert figure.layout.yaxis.range[0] > -40
    assert "on the same rows: linear" in figure.layout.meta["alt"]


@pytest.mark.parametrize("draw", [figures.weight_path, figures.score_path])
def test_short_paths(draw):
    single = draw(toy_path(n_values=1))
    assert single.data[0].mode == "markers"
    empty = toy_path(n_values=1)
    empty.values = np.empty(0)
    assert "No path yet" in draw(empty).layout.meta["alt"]


def test_the_gap_is_a_percentage_on_a_log_axis():
    figure = figures.gap_convergence([Line(0, 0.25), Line(1, 0.01), Line(2, 0.0)])
    assert figure.layout.yaxis.type == "log"
    np.testing.assert_allclose(figure.data[0].y[:2], [25, 1])
    assert figure.data[0].y[2] > 0
    assert (
        "25 % of the optimum at the start and < 0.01 % after 2 iterations and 2 machine solves"
        in figure.layout.meta["alt"]
    )
    assert "no certificate" in figures.gap_convergence([Line(0, None)]).layout.meta["alt"]
    assert "no certificate" in figures.gap_convergence([]).layout.meta["alt"]


# Gram matrices


def test_gram_rows_are_sorted_by_the_target():
    labels = np.array([1, 0, 1, 0])
    gram = np.equal.outer(labels, labels).astype(float)
    figure = figures.gram_heatmap(gram, labels)
    np.testing.assert_array_equal(figure.data[0].z, np.kron(np.eye(2), np.ones((2, 2))))
    assert {s.x0 for s in figure.layout.shapes} >= {2.5}
    assert "sorted by target" in figure.layout.xaxis.title.text
    assert "Rows are sorted by target: 0 and 1." in figure.layout.meta["alt"]


def test_a_large_gram_is_drawn_as_block_means_and_says_so():
    gram = np.arange(400.0 * 400).reshape(400, 400)
    figure = figures.gram_heatmap(gram)
    assert figure.data[0].z.shape == (160, 160)
    assert "mean of about 3 × 3 entries" in figure.layout.xaxis.title.text
    means, edges = block_means(gram, most=2)
    np.testing.assert_allclose(
        means, [[gram[:200, :200].mean(), gram[:200, 200:].mean()], [gram[200:, :200].mean(), gram[200:, 200:].mean()]]
    )
    np.testing.assert_array_equal(edges, [0, 200, 400])


@pytest.mark.parametrize("shape", [(3, 2), (2, 3, 3), (0, 0)])
def test_heat_maps_refuse_what_is_not_square(shape):
    with pytest.raises(ParameterError, match="got shape"):
        figures.gram_heatmap(np.ones(shape))
    with pytest.raises(ParameterError, match="got shape"):
        figures.alignment_heatmap(np.ones(shape), "abc")


def test_heat_maps_refuse_labels_and_names_of_another_length():
    with pytest.raises(ParameterError, match="needs 3 labels, got shape \\(2,\\)"):
        figures.gram_heatmap(np.eye(3), [0, 1])
    with pytest.raises(ParameterError, match="needs 3 names, got 2"):
        figures.alignment_heatmap(np.eye(3), ["a", "b"])


def test_alignment_names_the_closest_pair():
    table = np.array([[1, 0.2, 0.9], [0.2, 1, 0.1], [0.9, 0.1, 1]])
    figure = figures.alignment_heatmap(table, ["a", "b", "c"])
    assert figure.layout.meta["alt"] == "Alignment between 3 kernels. The closest pair is a and c with 0.9."
    assert figure.layout.yaxis.ticktext == ("a", "b", "c")
    assert (figure.data[0].zmin, figure.data[0].zmax) == (0, 1)
    assert figures.alignment_heatmap(np.eye(40), ["k"] * 40).layout.yaxis.ticktext is None


def test_eigenvalues_fall_on_a_log_axis_and_numerical_zeros_are_left_out():
    figure = figures.eigenvalue_decay([[1.0, 4.0, 1e-20, -1e-18], [1.0, 1.0, 1.0, 1.0]], ["thin", "full"])
    np.testing.assert_array_equal(figure.data[0].y, [4, 1])
    assert figure.layout.yaxis.type == "log"
    assert "thin keeps 2 of 4 eigenvalues, and the first one holds half of the trace." in figure.layout.meta["alt"]
    assert "full keeps 4 of 4 eigenvalues, and the first 2 hold half" in figure.layout.meta["alt"]
    assert [a.x for a in labels(figure)] == [2, 4]
    assert labels(figure)[0].y == pytest.approx(0)
    one = figures.eigenvalue_decay([3.0, 2.0], ["only"], colours=["#0072B2"])
    assert one.data[0].line.color == "#0072B2"
    with pytest.raises(ParameterError, match="2 spectra need a name and a colour each; got 1 names"):
        figures.eigenvalue_decay(np.ones((2, 3)), ["a"])
