"""Static figures: one table of all of them for style, alternative text and what can be read; then
what each draws.
"""

import colorsys
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace as Fields

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal

import mklcore
from mklcore import figures
from mklcore.answer.thresholds import ErrorsByThreshold
from mklcore.estimators.inspection.words import WordEffect
from mklcore.figures import axes, captions, style
from mklcore.figures.hulls import kernel_count, way
from mklcore.figures.matrices import block_means, norm_map_said, within_one_error
from mklcore.figures.player_data.charts import LABEL_ROOM
from mklcore.paths.choosing import CrossValidated
from mklcore.problem.driver import Status
from tests.figures.test_hulls import hull_model
from tests.figures.test_one_file import a_path
from tests.helpers.every import every
from tests.helpers.refusals import refused

ROOT = Path(__file__).resolve().parents[2]
THEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
RNG = default_rng(0)
NAMES = ("width", "height", "depth")


def toy_path(n_values=5, families=("rbf",) * 3 + ("linear",) * 6, stopped=(), **more):
    weights = default_rng(3).uniform(0.01, 1, (n_values, len(families)))
    statuses = tuple(Status.MAX_ITER if k in stopped else Status.CONVERGED for k in range(n_values))
    known = {
        "values": np.logspace(-2, 2, n_values), "weights": weights, "kernel_families": families, "statuses": statuses,
        "train_score": np.linspace(0.7, 0.95, n_values), "val_score": np.linspace(0.6, 0.9, n_values),
    }  # fmt: skip
    return a_path(
        n_values, tuple(f"{family} {m}" for m, family in enumerate(families)), **known | more
    )


def bounded(gaps=(0.0, 0.1, np.nan)):
    """Choices of one, two and three kernels, one of them proven best, and one without a bound."""
    objective = np.array([3.0, 2.0, 1.0])
    gaps = np.array(gaps)
    more = {"dual_gap": gaps * objective, "relative_gap": gaps, "n_nonzero": np.arange(1, 4)}
    return toy_path(3, values=np.arange(1.0, 4.0), objective=objective, **more)


def history(*gaps):
    return [
        Fields(iteration=k, relative_gap=gap, solves=2, seconds=0.1) for k, gap in enumerate(gaps)
    ]


def folds(first="p"):
    """Three folds of which the point p = 2, C = 10 is the best, and C = 1 beside it as good within
    an error.
    """
    mean = np.array([[0.5, 0.6], [0.79, 0.8], [0.7, 0.6]])
    scores = np.stack([mean - 0.02, mean, mean + 0.02])
    grids = np.array([1.0, 2.0, np.inf]), np.array([1.0, 10.0])
    return CrossValidated((first, "C"), grids, scores, np.ones((3, 2)), "accuracy")


def surface(kind, **more):
    classes = {"number": (), "score": ("no", "yes"), "class": ("a", "b", "c")}[kind]
    values = (
        np.arange(12.0).reshape(3, 4) % 3
        if kind == "class"
        else np.linspace(-1, 1, 12).reshape(3, 4)
    )
    found = Fields(
        columns=(0, 2),
        x=np.linspace(0, 1, 4),
        y=np.linspace(5, 9, 3),
        values=values,
        classes=classes,
        kind=kind,
    )
    labels = np.array([*(classes or (1.0, 2.0, 3.0)) * 6][:6])
    return figures.surface_plot(found, NAMES, RNG.uniform(size=(6, 3)), labels, **more)


AXIS = Fields(
    is_date=False, name="width", at=np.linspace(0, 1, 5), names=(), rows=np.linspace(0, 1, 9)
)
KIND = Fields(
    is_date=False, name="kind", at=np.arange(2.0), names=("a", "b"), rows=np.array([3, 4])
)
TERMS = [Fields(columns=("a",), share=0.6), Fields(columns=("a", "b"), share=0.4)]
ERRORS = ErrorsByThreshold(("no", "yes"), np.linspace(-1, 1, 9), np.arange(9) % 3 > 0)
TABLE = Fields(rows=("1", "2", "3"), columns=("ours", "theirs"), **{
    name: RNG.uniform(1, 9, (3, 2)) for name in ("ours", "ours_error", "reference", "reference_error")
})  # fmt: skip


def compared():
    """Two models of the same kernels."""
    X = default_rng(0).normal(size=(20, 3))
    kernels = mklcore.KernelDictionary.per_feature(mklcore.Linear(), 3)
    return {
        f"p = {p}": mklcore.LpMKLRegressor(kernels=kernels, p=p).fit(X, X[:, 0]) for p in (1, 2)
    }


def every_figure(dark):
    """Every public figure, some in several forms."""
    path = toy_path(stopped=(1,))
    gram = RNG.uniform(size=(6, 6))
    names = path.kernel_names
    families = path.kernel_families
    weights = path.weights
    curve = (
        figures.Curve("bound", np.geomspace(1, 9, 5)),
        figures.Curve("error", np.full(5, 2.0), "test", np.ones(5)),
    )
    titles = {"y_title": "error", "dark": dark}
    letters = Fields(letters="ab", values=gram[:2], words=[Fields(word="ab", place=1, effect=0.5)])

    def term(*axes, error):
        values = RNG.normal(size=tuple(len(axis.at) for axis in reversed(axes)))
        error = None if error is None else np.full(values.shape, error)
        return figures.term_plot(Fields(axes=axes, values=values, error=error), dark=dark)

    return {
        "weights_bar": figures.weights_bar(weights[0], names, families, dark=dark),
        "kernels_by_column": figures.kernels_by_column(
            {"a": [0, 3], "b": [1]}, weights[0], names, families, "weight", dark=dark
        ),
        "relevance_bars": figures.relevance_bars([0.5, 0.0, 1.0], NAMES, dark=dark),
        "term_bars": figures.term_bars(TERMS, dark=dark),
        "word_bars": figures.word_bars(
            [WordEffect("great", np.array([0.4]), 0.3), WordEffect("poor", np.array([-0.2]), 0.1)], "review", dark=dark
        ),
        "compare_weights": figures.compare_weights(compared(), dark=dark),
        "waterfall": figures.waterfall([0.5, -0.2], ("a", "b"), 1.0, before=1.2, step=0.1, dark=dark),
        "class_weights": figures.class_weights([[0.5, 0.0, 0.2], [0.1, 0.7, 0.0]], "ab", NAMES, dark=dark),
        "weight_path": figures.weight_path(path, 2, dark=dark),
        "score_path": figures.score_path(path, 2, references=[("linear", 0.8)], dark=dark),
        "choice_band": figures.choice_band(bounded(), 1, best=bounded(), dark=dark),
        "gap_convergence": figures.gap_convergence(history(0.5, 0.01), dark=dark),
        "gram_heatmap": figures.gram_heatmap(gram, [0, 1, 0, 1, 0, 1], dark=dark),
        "alignment_heatmap": figures.alignment_heatmap(gram, "abcdef", dark=dark),
        "eigenvalue_decay": figures.eigenvalue_decay(gram[:2] + 1, ["a", "b"], dark=dark),
        "norm_map": figures.norm_map(folds(), dark=dark),
        "confusion_figure": figures.confusion_figure(gram[:2, :2], "ab", dark=dark),
        "roc_figure": figures.roc_figure([("a", gram[0], gram[0], 0.8)], dark=dark),
        "threshold_figure": figures.threshold_figure(ERRORS, 0.5, dark=dark),
        "reliability_figure": figures.reliability_figure(gram[0], gram[1], np.arange(1, 7), "a", dark=dark),
        "residual_figure": figures.residual_figure(gram[0], gram[1], "a", dark=dark),
        "column_figure": figures.column_figure(Fields(axes=(AXIS,), values=np.arange(5.0)), dark=dark),
        "column_dots": figures.column_dots(np.arange(4.0), np.arange(4.0) ** 2, "hour of time", dark=dark),
        "column_figure, kinds": figures.column_figure(Fields(axes=(KIND,), values=np.arange(2.0)), dark=dark),
        "term_plot": term(AXIS, error=0.1),
        "term_plot, two": term(AXIS, KIND, error=None),
        "component_plot": figures.component_plot([AXIS.at], AXIS.at, ["width"], "width", certified=False, dark=dark),
        "component_plot, two": figures.component_plot([AXIS.at] * 2, np.eye(5), NAMES[:2], "both", dark=dark),
        **{f"surface_plot, {kind}": surface(kind, dark=dark) for kind in ("number", "score", "class")},
        "positions_figure": figures.positions_figure(letters, "promoter", dark=dark),
        "comparison_plot": figures.comparison_plot(TABLE, slice(None), row_name="size", floor=0.5, **titles),
        "comparison_plot, series": figures.comparison_plot(
            TABLE, slice(0, 1), row_name="size", marks=[("x", "1"), ("x", "2"), ("y", "1")], **titles
        ),
        "comparison_plot, table": figures.comparison_plot(
            TABLE, slice(None), row_name="", ordered=False, floor=4.0, **titles
        ),
        "agreement_plot": figures.agreement_plot(TABLE, slice(None), title="error in %", dark=dark),
        "hull_graph": figures.hull_graph(hull_model(), dark=dark),
        **{f"bound_curves, {kind}": figures.bound_curves(
            np.arange(1.0, 6), curve, x_title="n", level=4.0, kind=kind, **titles
        ) for kind in ("count", "log", "norm")},
    }  # fmt: skip


def labels(figure):
    return [a for a in figure.layout.annotations if a.name == "end label"]


def text_colours(figure):
    look = figure.layout.template.layout
    fonts = [look.font, *(a.font for a in figure.layout.annotations)]
    for axis in (look.xaxis, look.yaxis, *figure.select_xaxes(), *figure.select_yaxes()):
        fonts += [axis.title.font, axis.tickfont]
    fonts += [trace.textfont for trace in figure.select_traces(selector={"type": "scatter"})]
    return {font.color for font in fonts if isinstance(font.color, str)}


def mark_colours(figure, paper):
    found = set()
    for trace in figure.select_traces(selector={"type": "scatter"}):
        found |= {trace.line.color}
        if trace.name == "nodes":
            found |= {trace.marker.line.color, trace.marker.color}
    return {
        colour
        for colour in found
        if isinstance(colour, str) and colour.startswith("#") and colour != paper
    }


# Every figure

WITH_LEGEND = ("kernels_by_column", "comparison_plot", "agreement_plot")


@THEMES
def test_every_public_figure_keeps_the_house_style_and_can_be_read(dark):
    drawn = every_figure(dark)
    others = {"Curve", "kernel_colours", "kernel_count", "save", "static_site"}
    assert {name.partition(",")[0] for name in drawn} == set(figures.__all__) - others
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    papers = {
        style.theme(dark).paper,
        config["theme"]["dark" if dark else "light"]["backgroundColor"],
    }
    for name, figure in drawn.items():
        layout = figure.layout
        look = layout.template.layout
        for background in ("paper_bgcolor", "plot_bgcolor"):
            assert look[background] == "rgba(0,0,0,0)", name
            assert layout[background] is None, name
        assert look.font.family is layout.font.family is None, name
        assert look.showlegend is False, name
        assert bool(layout.showlegend) is name.startswith(WITH_LEGEND), name
        assert 100 <= layout.height <= 700, name
        assert re.fullmatch(r"(?s)[A-Z].*\d.*\.", layout.meta["alt"]), name
        assert "nan" not in layout.meta["alt"], name
        for paper in papers:
            for colours, least in (
                (text_colours(figure), style.TEXT_CONTRAST),
                (mark_colours(figure, style.theme(dark).paper), style.MARK_CONTRAST),
            ):
                assert all(style.contrast(colour, paper) >= least for colour in colours), (
                    name,
                    colours,
                    paper,
                )
        assert len(figure.to_json()) < 100_000, name
        assert style.enlarged(figure).layout.height > layout.height, name


def test_a_map_marks_what_is_within_one_standard_error_of_the_best():
    assert within_one_error(folds()).tolist() == [[False, False], [True, True], [False, False]]
    said = norm_map_said(folds())
    assert "accuracy, 80.0 % over 3 folds, is at p = 2 and C = 10. 2 of 6 points" in said
    assert "The best C is at the edge" in said
    certain = replace(folds(), scores=np.repeat(folds().scores[1:2], 3, axis=0))
    assert "1 of 6 points, marked, is within one standard error" in norm_map_said(certain)
    marks = figures.norm_map(folds()).data[1]
    assert list(zip(marks.x, marks.y, marks.marker.symbol, strict=True)) == [
        (1, 0, "circle"),
        (1, 1, "diamond"),
    ]


def test_what_does_not_fit_together_is_refused_and_nothing_is_said_in_words():
    axis = Fields(axes=(AXIS,) * 3, values=np.zeros((5, 5, 5)), error=None)
    refused(
        (
            lambda: figures.weights_bar([1.0, 2.0], ["a"], ["rbf"] * 2),
            r"shape \(1,\), as the names have it; got",
        ),
        (lambda: figures.relevance_bars([1.0], NAMES), r"shape \(3,\)"),
        (lambda: figures.waterfall([1.0], NAMES, 0.0), r"shape \(3,\)"),
        (lambda: figures.class_weights(np.ones((2, 3)), ("a",), NAMES), r"shape \(1, 3\)"),
        (lambda: figures.weight_path(toy_path(), 5), "points 0 to 4; got the index 5"),
        (lambda: figures.gram_heatmap(np.ones((3, 2))), r"shape \(3, 3\)"),
        (lambda: figures.alignment_heatmap(np.ones((2, 3, 3)), "abc"), r"shape \(3, 3\)"),
        (lambda: figures.gram_heatmap(np.eye(3), [0, 1]), r"needs 3 labels, got shape \(2,\)"),
        (lambda: figures.alignment_heatmap(np.eye(3), "ab"), r"shape \(2, 2\)"),
        (lambda: figures.eigenvalue_decay(np.ones((2, 3)), ["a"]), r"shape \(1, 3\)"),
        (lambda: figures.confusion_figure(np.eye(3), "ab"), r"Counts must have the shape \(2, 2\)"),
        (lambda: figures.norm_map(folds("lam")), "over the parameters p and C"),
        (lambda: figures.term_plot(axis), "A term of 3 columns cannot be drawn"),
        (lambda: figures.component_plot([AXIS.at], np.ones(4), ["a"], "a"), r"shape \(5,\)"),
    )
    empty = Fields(values=())
    for figure, words in (
        (figures.weights_bar([], [], []), "Add one"),
        (figures.weight_path(empty), "No path yet"),
        (figures.score_path(empty), "No path yet"),
        (figures.term_bars([]), "no column has a share"),
        (figures.gap_convergence(history(None)), "no certificate"),
        (figures.gap_convergence([]), "no certificate"),
        (figures.choice_band(bounded([np.nan] * 3)), "no bound"),
    ):
        assert words in figure.layout.meta["alt"]
        assert words in figure.layout.annotations[0].text


# Colours


@every("dark", [False, True])
@every("family", style.family_hues())
def test_a_family_keeps_its_hue_and_every_member_can_be_seen(family, dark):
    hue = colorsys.rgb_to_hls(*style._channels(style.family_hues()[family]))[0]
    shades = figures.kernel_colours([family] * 40, dark=dark)
    for shade in shades:
        assert style.contrast(shade, style.theme(dark).paper) >= style.MARK_CONTRAST
        assert abs(colorsys.rgb_to_hls(*style._channels(shade))[0] - hue) < 0.02
    assert len(set(shades[:8])) == 8


@THEMES
def test_kernels_keep_their_colours_and_of_one_family_beyond_four_fifths_six_have_hues(dark):
    families = ["rbf", "linear", "rbf", "linear", "linear"]
    longer = figures.kernel_colours([*families, "rbf", "polynomial"], dark=dark)
    assert longer[:5] == figures.kernel_colours(families, dark=dark)
    weights = np.r_[0.9, 0.1, 0.8, 0.7, 0.2, 0.6, 0.5, 0.3, 0.05, 0.04]
    colours = figures.kernel_colours(["linear"] * 9 + ["rbf"], weights, dark)
    assert [m for m, colour in enumerate(colours) if colour != style.theme(dark).grey] == [
        0,
        2,
        3,
        5,
        6,
        7,
    ]
    assert len(set(colours)) == 7


def _cielab(linear):
    mix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(np.maximum(mix @ linear / np.array([0.9505, 1.0, 1.089]), 1e-6))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


# Machado, Oliveira, Fernandes (2009): linear RGB as people without one kind of cone see it.
_SEEN_BY = {
    "everybody": np.eye(3),
    "protanopes": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopes": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "tritanopes": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
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


@every("write, value, text", [
    *((style.number, value, text) for value, text in (
        (0, "0"), (0.012345, "0.0123"), (1.5, "1.5"), (1234, "1230"), (999999, "1 × 10⁶"), (2e-7, "2 × 10⁻⁷"),
        (np.nan, "not available"), (-0.5, "−0.5"), (-np.inf, "−∞"),
    )),
    *((style.percent, share, text) for share, text in (
        (0.0008, "0.08 %"), (9e-5, "< 0.01 %"), (0.0, "< 0.01 %"), (0.5, "50 %"),
    )),
    (style.short, "linear worst concave points", "…concave points"), (style.short, "x" * 90, "x" * 6 + "…" + "x" * 11),
    (style.short, "<b>a & b", "&lt;b&gt;a &amp; b"),
    (lambda name: "%{" in style.short(name, 40), "%{x} of 名", False),  # no place to fill in
    (lambda name: style.cut(name, 20), "total_phenols × color_intensity", "…color_intensity"),
    (lambda colour: round(style.contrast(colour, "#FFFFFF"), 2), "#777777", 4.48),  # by WCAG
    (lambda colour: round(style.contrast(colour, "#FFFFFF"), 2), "#000000", 21),
    *((kernel_count, count, text) for count, text in (
        (256, "256"), (15_625, "15,625"), (5**32, "2.33 × 10²²"), (5**900, "1.18 × 10⁶²⁹"),
    )),
    *((way, share, text) for share, text in ((0.5, "50 %"), (1.0, "100 %"), (1.0005, "100 %"), (112.0, "all"))),
])  # fmt: skip
def test_numbers_have_three_digits_a_gap_is_never_zero_and_names_are_cut_and_harmless(
    write, value, text
):
    assert write(value) == text


def test_labels_side_by_side_differ_where_their_names_do():
    names = [
        "mean concave points",
        "worst concave points",
        "area",
        "area",
        *(letter + "x" * 40 for letter in "ab"),
    ]
    labels = style.cuts(names, 16)
    assert labels[2:4] == ["area", "area"]
    assert len(set(labels)) == len(set(names))
    assert labels[0] == "mean concave points"


@every(
    "used, of, said",
    [
        (1, 1, []),
        (0, 1, ["the only kernel is not used"]),
        (1, 17, ["1 of 17 kernels used"]),
    ],
)
def test_how_many_kernels_are_used_is_said_where_it_tells_something(used, of, said):
    path = Fields(n_nonzero=[used], kernel_names=["kernel"] * of, solves=[1], seconds=[0.5])
    *sizes, solved = ("".join(text for _, text in line) for line in captions.cost(path, 0))
    assert sizes == said
    assert solved.startswith("1 solve, ")


def test_products_of_alike_kernels_are_named_like_one_kernel():
    names = ("linear a", "RBF 1 × median, a", "a × b, linear × linear", "a × b, RBF 1 × median × RBF 1 × median",
             "a × c, linear × RBF 1 × median")  # fmt: skip
    assert captions.labels(names, ("interaction",) * 5) == (
        "a", "RBF a", "a × b", "RBF a × b", "a × c, linear × RBF 1 × median",
    )  # fmt: skip


@every("low, high, first", [
    (-2, 2, ["0.01", "0.1", "1", "10", "100"]), (0, 0.9, ["1", "2", "5"]), (-8, -4, ["10⁻⁸"]), (-12, 12, []),
])  # fmt: skip
def test_human_ticks(low, high, first):
    ticks = [text for _, text in axes.logarithmic("", [10.0**low, 10.0**high]).ticks]
    assert ticks[: len(first)] == first
    assert len(ticks) <= 9


# What they draw


def test_bars_are_ordered_and_coloured_by_the_whole_path_and_say_what_is_left_out():
    path = toy_path()
    first, last = (
        figures.weights_bar(
            path.weights[k], path.kernel_names, path.kernel_families, peaks=path.weights
        )
        for k in (0, -1)
    )
    order = np.argsort(-path.weights.max(axis=0))
    assert_array_equal(last.data[0].x, path.weights[-1][order])
    assert first.data[0].marker.color == last.data[0].marker.color
    assert first.layout.xaxis.range == last.layout.xaxis.range
    assert first.layout.yaxis.ticktext == tuple(path.kernel_names[m] for m in order)
    weights = np.r_[np.linspace(0.5, 0.1, 5), np.zeros(15)]
    names = [f"k{m}" for m in range(20)]
    families = ["rbf"] * 10 + ["linear"] * 10
    figure = figures.weights_bar(weights, names, families, limit=8, certified=False)
    alt = figure.layout.meta["alt"]
    assert (
        "5 of 20 kernels have a positive weight; the largest are k0 with 0.5, k1 with 0.4 "
        "and k2 with 0.3"
    ) in alt
    assert "12 smaller kernels left out. These weights are provisional" in alt
    assert figure.data[0].marker.color == style.TRANSPARENT
    assert figure.data[0].marker.line.color == tuple(figures.kernel_colours(families, weights)[:8])


@THEMES
def test_six_largest_kernels_are_named_and_the_rest_step_back(dark):
    path = toy_path()
    figure = figures.weight_path(path, dark=dark)
    named = style.largest(path.weights.max(axis=0))
    assert [t.name for t in figure.data] == ["the other kernels"] + [
        path.kernel_names[m] for m in named
    ]
    colours = figures.kernel_colours(path.kernel_families, path.weights, dark)
    for trace, label, m in zip(figure.data[1:], labels(figure), named, strict=True):
        assert_allclose(np.array(trace.y, float), path.weights[:, m], rtol=1e-3)
        assert (trace.line.color, label.text) == (
            colours[m],
            path.kernel_names[m].removeprefix("linear "),
        )
    path.weights[-1] = 0.5  # all end together: labels are moved apart
    heights = sorted(label.y for label in labels(figures.weight_path(path, dark=dark)))
    assert np.all(np.diff(heights) >= LABEL_ROOM - 1e-3)


def test_the_axis_of_every_parameter():
    axis = figures.weight_path(toy_path()).layout.xaxis
    assert (axis.type, axis.title.text) == ("log", "C, cost of an error (log scale)")
    assert axis.ticktext == ("0.01", "0.1", "1", "10", "100")
    path = toy_path(values=np.array([1.0, 4 / 3, 2.0, 8.0, np.inf]), param="p")
    assert_allclose(axes.norm_positions(path.values), [1, 4 / 3, 2, 8, 16])
    layout = figures.weight_path(path).layout
    assert (layout.xaxis.ticktext[-1], layout.xaxis.tickvals[-1]) == ("∞", 16)
    assert "along p from 1 to ∞" in layout.meta["alt"]
    axis = figures.weight_path(toy_path(values=np.arange(1.0, 6), param="s")).layout.xaxis
    assert (axis.type, axis.title.text) == (None, "s, number of kernels")
    falling = figures.weight_path(toy_path(values=np.logspace(1, -3, 5), param="lam"))
    assert np.all(np.diff(np.array(falling.data[1].x, float)) > 0)
    assert "λ" in falling.layout.xaxis.title.text


def test_the_cursor_is_at_its_index_and_what_is_not_solved_is_dashed():
    path = toy_path(n_values=6, stopped=(2,))
    (cursor,) = figures.weight_path(path, 3).layout.shapes
    assert cursor.x0 == cursor.x1 == pytest.approx(path.values[3])
    assert figures.weight_path(path).layout.shapes == ()
    solid, dashed = (t for t in figures.weight_path(path).data if t.name == path.kernel_names[4])
    assert (solid.line.dash, dashed.line.dash) == ("solid", "dash")
    assert np.asarray(solid.x)[np.isfinite(solid.y)] == pytest.approx(path.values[[0, 1, 3, 4, 5]])
    assert np.asarray(dashed.x)[np.isfinite(dashed.y)] == pytest.approx(path.values[[1, 2, 3]])
    assert "not solved to tolerance" in figures.weight_path(path, 2).layout.meta["alt"]
    path = replace(path, val_score=np.full(6, np.nan))
    figure = figures.score_path(path)
    assert {t.name for t in figure.data} == {"train"}
    path = replace(path, train_score=path.val_score)
    assert "No score was measured" in figures.score_path(path).layout.meta["alt"]
    for draw in (figures.weight_path, figures.score_path):
        assert draw(toy_path(n_values=1)).data[0].mode == "markers"


@THEMES
def test_scores_wear_grey_dashed_and_black_and_far_models_are_words(dark):
    path = toy_path()
    tone = style.theme(dark)
    figure = figures.score_path(path, 1, dark=dark)
    looks = [(t.name, t.line.color, t.line.dash) for t in figure.data]
    assert looks == [("train", tone.grey, "solid"), ("validation", tone.ink, "dash")]
    alt = figure.layout.meta["alt"]
    assert "The validation accuracy is highest, 0.9, at C = 100." in alt
    assert "At C = 0.1: train 76.2 %, validation 67.5 %." in alt
    figure = figures.score_path(path, references=[("linear", 0.8), ("majority", -40.0)])
    assert [list(line.y) for line in figure.data if line.name == "linear"] == [[0.8] * 5]
    assert "majority ↓ −40" in [label.text for label in labels(figure)]
    assert figure.layout.yaxis.range[0] > 0
    assert "on the same rows: linear 0.8, majority −40." in figure.layout.meta["alt"]


def test_of_many_residuals_a_thousand_have_a_mark_and_the_axis_says_so():
    predicted = np.arange(5000.0)
    figure = figures.residual_figure(predicted, predicted + np.sin(predicted), "price")
    (marks,) = (trace for trace in figure.data if trace.mode == "markers")
    assert_allclose(marks.y, np.sin(np.asarray(marks.x)), atol=1e-9)
    assert len(set(marks.x)) == 1000
    assert figure.layout.xaxis.title.text == "predicted price, for 1,000 of 5,000 rows"
    assert "over 5000 rows" in figure.layout.meta["alt"]
    few = figures.residual_figure(predicted[:1000], predicted[:1000], "price")
    assert len(few.data[0].x) == 1000
    assert few.layout.xaxis.title.text == "predicted price"


def test_the_gap_is_a_percentage_on_a_log_axis_and_a_judgement_tells_its_numbers():
    figure = figures.gap_convergence(history(0.25, 0.01, 0.0))
    assert figure.layout.yaxis.type == "log"
    assert_allclose(figure.data[0].y[:2], [25, 1])
    assert figure.data[0].y[2] > 0
    alt = figure.layout.meta["alt"]
    assert (
        "25 % of the optimum at the start and < 0.01 % after 2 iterations and 2 machine solves"
        in alt
    )
    drawn = figures.confusion_figure(np.array([[8, 2], [1, 4]]), ["no", "yes"])
    assert "80.0% on the diagonal" in drawn.layout.meta["alt"]
    assert drawn.data[0].z[0] == pytest.approx([0.8, 0.2])
    residual = figures.residual_figure(np.array([1.0, 2.0]), np.array([1.5, 1.0]), "y")
    assert residual.data[0].y == pytest.approx([0.5, -1.0])


def test_a_surface_draws_its_border_and_the_rows_by_class_apart_and_large_tables_say_what_is_left_out():
    figure = surface("score")
    assert [trace.name for trace in figure.data][1:] == ["border", "no", "yes"]
    assert figure.data[0].zmin == -figure.data[0].zmax
    assert "yes wins on 50 % of the map, no on the rest" in figure.layout.meta["alt"]
    weights = figures.class_weights(
        np.tile(np.arange(30.0), (3, 1)), "abc", [f"k{m}" for m in range(30)]
    )
    assert weights.layout.yaxis.ticktext[0] == "k29"
    assert "10 kernels not drawn" in weights.layout.meta["alt"]


def test_names_are_no_markup():
    for figure in (
        figures.weights_bar([1.0], ["<b>a"], ["rbf"]),
        figures.waterfall([1.0], ["<b>a"], 0.0),
        figures.term_bars([Fields(columns=("<b>a",), share=1.0)]),
        figures.residual_figure(np.arange(3.0), np.arange(3.0), "<b>a"),
    ):
        text = figure.update_layout(meta=None).to_json()
        assert "<b>a" not in text
        assert "\\u003cb\\u003ea" not in text


# Gram matrices


def test_gram_rows_are_sorted_by_the_target_and_many_are_drawn_as_block_means():
    labels = np.array([1, 0, 1, 0])
    figure = figures.gram_heatmap(np.equal.outer(labels, labels).astype(float), labels)
    assert_array_equal(figure.data[0].z, np.kron(np.eye(2), np.ones((2, 2))))
    assert {s.x0 for s in figure.layout.shapes} >= {2.5}
    assert "sorted by target" in figure.layout.xaxis.title.text
    assert "Rows are sorted by target: 0 and 1." in figure.layout.meta["alt"]
    gram = np.arange(400.0 * 400).reshape(400, 400)
    figure = figures.gram_heatmap(gram)
    assert figure.data[0].z.shape == (160, 160)
    assert "mean of about 3 × 3 entries" in figure.layout.xaxis.title.text
    means, edges = block_means(gram, most=2)
    assert_allclose(means, gram.reshape(2, 200, 2, 200).mean(axis=(1, 3)))
    assert_array_equal(edges, [0, 200, 400])


def test_alignment_names_the_closest_pair():
    table = np.array([[1, 0.2, 0.9], [0.2, 1, 0.1], [0.9, 0.1, 1]])
    figure = figures.alignment_heatmap(table, ["a", "b", "c"])
    assert (
        figure.layout.meta["alt"]
        == "Alignment between 3 kernels. The closest pair is a and c with 0.9."
    )
    assert figure.layout.yaxis.ticktext == ("a", "b", "c")
    assert (figure.data[0].zmin, figure.data[0].zmax) == (0, 1)
    assert figures.alignment_heatmap(np.eye(40), ["k"] * 40).layout.yaxis.ticktext is None


def test_eigenvalues_fall_on_a_log_axis_and_numerical_zeros_are_left_out():
    figure = figures.eigenvalue_decay(
        [[1.0, 4.0, 1e-20, -1e-18], [1.0] * 4], ["thin", "full"], colours=["#0072B2"] * 2
    )
    assert_array_equal(figure.data[0].y, [4, 1])
    assert figure.layout.yaxis.type == "log"
    alt = figure.layout.meta["alt"]
    assert "thin has 2 positive eigenvalues of 4. full has 4 positive eigenvalues of 4." in alt
    assert [a.x for a in labels(figure)] == [2, 4]
    assert figure.data[0].line.color == "#0072B2"
