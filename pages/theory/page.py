"""Theory: four bounds of the papers, each beside what is measured on the table in use."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from mklcore.data.dataset import Dataset
from mklcore.errors import DataError, MKLError
from mklcore.figures import Curve, bound_curves, style
from mklcore.gallery import theory
from mklcore.hkl.bases import BASES
from mklcore.hkl.design import Design
from mklcore.io.catalog import ESTIMATORS
from mklcore.io.catalog.controls import COLUMN_BASES
from mklcore.paths.path import Path, fit_path, path_grid
from pages.shared import frame
from pages.shared.session import state
from pages.shared.session.parameters import GRAMS, SEARCH, Params
from pages.shared.values import dictionaries, hulls, tables
from pages.shared.widgets import controls, drawing
from pages.shared.work import work

NORMS = (1.0, 16 / 15, 8 / 7, 5 / 4, 4 / 3, 3 / 2, 7 / 4, 2.0, 3.0, 4.0, 8.0, 16.0, np.inf)
# most kernels of MKL-GOMP, most rows it is judged on, risk that its bound fails
SIZES = 50
TEST_ROWS = 2000
FAILURE = 0.05
HULLS = 10
HULL_COLUMNS = 12
HULL_DEGREE = 3
HULL_SECONDS = 3.0
SMALL = 2e7  # kernels x rows x rows up to which a measurement starts without being asked for
HEIGHT = 380


class Drawn(NamedTuple):
    """What is seen and what follows for practice, and the curves."""

    said: str
    x: Any
    curves: list[Curve]
    axes: dict[str, Any]


# The table as the theorems see it


def classes(params: Params) -> tuple[str, ...]:
    """Return the names of the classes, none for a regression or without a target."""
    return tables.table(params).class_names


def numbers(params: Params, part: Dataset) -> np.ndarray:
    """Return the target of a part as numbers: -1 and +1, or the distance from the mean of the
    training rows.
    """
    names = classes(params)
    if not names:
        return part.y.astype(np.float64) - float(
            np.mean(dictionaries.parts(params).train.y.astype(np.float64))
        )
    place = 1 if len(names) == 2 else params.theory_class if params.theory_class < len(names) else 0
    return np.where(part.y.astype(str) == names[place], 1.0, -1.0)


# Kloft et al.: what learning the weights costs


def measure_norms(params: Params) -> Callable[..., Any]:
    """Return how to measure the complexity of every norm, and the bound on it."""
    kernels = dictionaries.grams(params)
    if kernels.n_kernels < 2:
        raise DataError(
            "The bounds compare kernels, and the dictionary holds one. Add kernels on the "
            "Kernels page."
        )

    def measure(progress: Callable[..., None]) -> Any:
        found = theory.measure_complexity(kernels, NORMS, callback=work.counted(progress))
        R = theory.kernel_radius(kernels)
        return found, [
            theory.lp_rademacher_bound(p, kernels.n_kernels, kernels.n_samples, R) for p in NORMS
        ]

    return measure


def draw_norms(found: Any) -> Drawn:
    """Return the complexity over p with its bound."""
    measured, bounds = found
    times = measured.mean[-1] / measured.mean[0]
    loose = np.array(bounds) / measured.mean
    said = (
        f"**Equal weights cost {style.number(times)} times what sparse weights cost**: "
        "models at p = ∞ follow random signs that much better than models at p = 1. The "
        f"bound is {style.number(loose.min())} to {style.number(loose.max())} times too "
        "high and need not rise where the cost rises. For practice: let the validation "
        "score choose p; a larger p has to fit better to pay for what it costs, and less "
        "so with more rows."
    )
    curves = [
        Curve("the bound", np.array(bounds)),
        Curve("measured", measured.mean, "test", measured.error),
    ]
    return Drawn(
        said,
        measured.p,
        curves,
        {"x_title": "p, norm of the weights", "y_title": "complexity", "kind": "norm"},
    )


# Sindhwani and Lozano: what every further kernel costs


def measure_sizes(params: Params) -> Callable[..., Any]:
    """Return how to run MKL-GOMP and judge it on the test rows, and the bound on its error."""
    kernels, parts = dictionaries.grams(params), dictionaries.parts(params)
    ready = dictionaries.test_rows(params) if tables.on_stack(params) else None
    test = parts.test if ready is not None else parts.test.drawn(TEST_ROWS, params.seed)
    y, y_test, lam = numbers(params, parts.train), numbers(params, test), params.theory_lam

    def measure(progress: Callable[..., None]) -> Any:
        cross = kernels.cross(test.table) if ready is None else ready
        found = theory.measure_gomp(
            kernels, y, cross, y_test, lam, SIZES, callback=work.counted(progress)
        )
        kappa = theory.kernel_radius(kernels) ** 2
        tau = float(max(found.tau.max(), 1e-12))
        top = float(np.abs(y).max())
        bounds = [
            theory.gomp_risk_bound(
                s,
                kappa,
                tau,
                len(y),
                top,
                FAILURE,
            )
            for s in found.s
        ]
        needed = theory.gomp_rows_needed(top**2, 1.0, kappa, tau, top, FAILURE)
        return found, bounds, top, needed

    return measure


def draw_sizes(found: Any) -> Drawn:
    """Return the test error over the number of kernels with its bound."""
    path, bounds, top, needed = found
    best = int(np.argmin(path.held_out))
    said = (
        f"**The test error is smallest at s = {int(path.s[best])}: "
        f"{style.number(path.held_out[best])}.** "
    )
    if min(bounds) < top**2:
        said += f"The bound allows {style.number(bounds[best])} more than the best error there. "
    else:
        said += (
            f"The bound is above {style.number(top**2)}, which predicting 0 never exceeds, "
            f"at every s; one kernel would need {style.number(needed)} rows. "
        )
    said += (
        "For practice: let validation choose s. The bound says that each kernel costs, not "
        "how many are worth it."
    )
    curves = [
        Curve("the bound", np.array(bounds)),
        Curve("test error", path.held_out, "test", path.held_out_error),
        Curve("training error", path.train, "train"),
    ]
    level = {"level": top**2, "level_name": "predicting 0 never exceeds"}
    return Drawn(
        said,
        path.s,
        curves,
        {"x_title": "s, number of kernels", "y_title": "squared error", **level},
    )


# Jin, Yang and Mahdavi: how fast greedy descent nears the optimum


def measure_steps(params: Params) -> Callable[..., Any]:
    """Return how to run Algorithm 1, and the bound on its distance to the optimum."""
    kernels, y = dictionaries.grams(params), numbers(params, dictionaries.parts(params).train)
    share = params.theory_share

    def measure(progress: Callable[..., None]) -> Any:
        found = theory.measure_greedy(kernels, y, share, callback=work.counted(progress))
        return found, [float(theory.greedy_rate_bound(found.norm, int(d))) for d in found.d]

    return measure


def draw_steps(found: Any) -> Drawn:
    """Return the distance to the optimum over the kernels chosen with its bound."""
    path, bounds = found
    axes = {"x_title": "d, kernels chosen", "y_title": "loss above the optimum"}
    if path.d.size < 2:
        said = (
            "**One kernel is enough at this λ.** The theorem speaks from the second kernel "
            "on: take a smaller share."
        )
        return Drawn(said, path.d, [], axes)
    shown = np.where(path.excess > 1e-12, path.excess, np.nan)
    close = np.flatnonzero(path.excess <= 0.01 * path.start)
    near = int(close[0]) if close.size else -1
    promised = "speaks from the second kernel on"
    if np.isfinite(bounds[near]):
        promised = f"promises {style.number(bounds[near])}"
    said = (
        f"**After {style.counted(int(path.d[near]), 'kernel')} the loss is within "
        f"{style.number(path.excess[near])} of the optimum; the theorem {promised}.** "
        f"Predicting 0 is {style.number(path.start)} away. "
        "For practice: stop by the measured gap, which every fit states, not by a number "
        "of steps from the bound."
    )
    level = {"level": path.start, "level_name": "predicting 0 is as close as"}
    return Drawn(
        said,
        path.d,
        [Curve("the bound", np.array(bounds)), Curve("measured", shown, "test")],
        axes | level,
    )


# Bach: which hulls could be recovered


def hull_method(params: Params) -> Params:
    """Return the parameters of the hulls: those of the Hulls page, with squared loss and a basis of
    columns.
    """
    basis = params.hull_basis if params.hull_basis in COLUMN_BASES else "polynomial"
    return replace(params.of(*SEARCH), hull_basis=basis, hull_loss="squared")


def measure_hulls(params: Params) -> Callable[..., Any]:
    """Return how to find hulls along λ, and both conditions for recovering each."""
    train, chosen = tables.split(params).train, hulls.columns(params)[:HULL_COLUMNS]
    basis: Any = BASES[hull_method(params).hull_basis]
    asked = ESTIMATORS["hkl"].regressor(
        basis=basis(min(params.hull_degree, HULL_DEGREE)), max_seconds=HULL_SECONDS
    )
    y = numbers(params, train)
    names = [train.feature_names[j] for j in chosen]

    def condition(path: Path, k: int) -> tuple[float, float]:
        model = path.estimators[k]
        try:
            found = theory.hkl_consistency(model.design_, model.hull_, model.beta_)
        except MKLError:  # the features of the hull are collinear on these rows
            return np.nan, np.nan
        return found.necessary, found.sufficient

    def measure(progress: Callable[..., None]) -> Any:
        rows: Any = Design(train.X[:, chosen], asked.basis, names=names)
        asked.set_params(callback=lambda record: progress())
        values = path_grid(asked, rows, y, "lam", HULLS)[::-1]
        path = fit_path(asked, rows, y, "lam", values, callback=work.counted(progress))
        return (
            path.values,
            [len(model.hull_) for model in path.estimators],
            [condition(path, k) for k in range(len(path))],
        )

    return measure


def draw_hulls(found: Any) -> Drawn:
    """Return both conditions over λ with the value that they have to be below."""
    values, nodes, conditions = found
    necessary, sufficient = np.array(conditions).T
    holds = np.flatnonzero(sufficient < 1)
    fails = np.flatnonzero(necessary > 1)
    largest = (
        f", the largest of {style.counted(max(nodes[k] for k in holds), 'node')}"
        if holds.size
        else ""
    )
    said = (
        f"**{holds.size} of {len(values)} hulls would be recovered from more rows like "
        f"these{largest}, and {fails.size} would not**; the rest is undecided. For "
        "practice: which columns act together is worth believing where the sufficient "
        "condition holds; elsewhere look whether the hull stays the same at nearby λ."
    )
    curves = [Curve("sufficient", sufficient), Curve("necessary", necessary, "other")]
    level = {"level": 1.0, "level_name": "has to be below", "kind": "log"}
    return Drawn(
        said,
        values,
        curves,
        {"x_title": "λ, weight of the norm", "y_title": "value of the condition", **level},
    )


# The page


class Picture(NamedTuple):
    """One theorem: its label, its paper, its slider (label, parameter, help), what it needs, and
    how it is measured and drawn.
    """

    label: str
    paper: str
    measure: Callable[[Params], Callable[..., Any]]
    draw: Callable[[Any], Drawn]
    slider: tuple[str, ...] = ()
    needs_target: bool = True
    of_columns: bool = False


PICTURES = {
    "lp": Picture(
        "Norm of the weights",
        "Kloft, Brefeld, Sonnenburg, Zien (2011), Corollary 9",
        measure_norms,
        draw_norms,
        needs_target=False,
    ),
    "gomp": Picture(
        "Number of kernels",
        "Sindhwani and Lozano (2011), Theorem 1",
        measure_sizes,
        draw_sizes,
        (
            "Ridge λ",
            "theory_lam",
            "Larger λ: a smoother model with a smaller norm τ, and a smaller bound.",
        ),
    ),
    "greedy": Picture(
        "Steps of greedy descent",
        "Jin, Yang and Mahdavi (2013), Theorem 1",
        measure_steps,
        draw_steps,
        ("λ as a share of the critical λ", "theory_share", "Smaller share: more kernels enter."),
    ),
    "hkl": Picture(
        "Hulls", "Bach (2008), Propositions 4 and 5", measure_hulls, draw_hulls, of_columns=True
    ),
}


def lacking(params: Params, picture: Picture) -> str:
    """Return what the table lacks for this theorem; nothing where it has all that is needed."""
    if picture.of_columns and (tables.on_stack(params) or not hulls.columns(params)):
        return "A hull is built from columns, and this upload has none. Choose a table."
    if picture.needs_target and tables.table(params).task == "novelty":
        return (
            "This theorem is about predicting a target, and the table has none. Choose one on "
            "the Data page."
        )
    return ""


def draw_sidebar(params: Params, picture: Picture) -> None:
    """Draw what moves this picture, and nothing else."""
    names = classes(params)
    if picture.needs_target and len(names) > 2:
        controls.field_view(
            "Class against the rest",
            "theory_class",
            options=range(len(names)),
            format_func=lambda k: names[k],
            to=lambda k: k if k < len(names) else 0,
        )
    if picture.slider:
        label, name, text = picture.slider
        stops = sorted(
            {
                *controls.human_steps(*(controls.bounds_of(name) or (0, 1))),
                float(getattr(params, name)),
            }
        )
        controls.field_view(
            label, name, kind=st.select_slider, options=stops, format_func=style.number, help=text
        )
    if picture.of_columns:
        st.caption(
            "Basis, degree and columns are those of the Hulls page: a basis of columns, "
            f"degree {HULL_DEGREE} at most, the first {HULL_COLUMNS} columns."
        )
        state.link("hulls", "Go to Hulls")


def measured(params: Params, picture: Picture) -> Any:
    """Return what is measured for the picture: at once where the table is small, else once its
    button was pressed; None before.
    """
    own = (
        hull_method(params)
        if picture.of_columns
        else getattr(params, picture.slider[1])
        if picture.slider
        else None
    )
    target = params.theory_class if picture.needs_target else None
    key = (
        "theory",
        params.theory,
        params.of(*GRAMS),
        dictionaries.normalisation(params),
        target,
        own,
    )
    if (kept := work.peek(key)) is not None:
        return kept
    kernels = HULL_COLUMNS if picture.of_columns else dictionaries.grams(params).n_kernels
    rows = len((tables.split(params) if picture.of_columns else dictionaries.parts(params)).train.y)
    if kernels * rows**2 > SMALL and not drawing.pressed("Measure", "measure", key, type="primary"):
        st.info("Measuring takes a while on this table. Start it when you like.")
        return None
    found = work.get(key, picture.measure(params), title="Measuring", seconds=5.0)
    if isinstance(found, work.Failed):
        drawing.refusal(found, "measure_refused")
    elif not isinstance(found, work.Ready):
        with st.container(height=HEIGHT, border=False):
            st.caption("Measuring. The picture appears here.")
    return found.value if isinstance(found, work.Ready) else None


def show(params: Params) -> None:
    """Draw the theorem in use: what is seen, the picture, and what the theorem is about."""
    picture = PICTURES[params.theory]
    if lack := lacking(params, picture):
        frame.lead_to_data(lack)
        return
    with st.sidebar:
        draw_sidebar(params, picture)
    if (found := measured(params, picture)) is not None:
        drawn = picture.draw(found)
        st.markdown(f"{drawing.about(params)}. {drawn.said}")
        if drawn.curves:
            figure = bound_curves(drawn.x, drawn.curves, dark=drawing.is_dark(), **drawn.axes)
            drawing.show(figure, f"theory_{params.theory}", HEIGHT)
    st.markdown(drawing.text(f"theory_{params.theory}"))
    st.caption(f"{picture.paper}.")


def page(params: Params) -> None:
    """Draw the choice of a theorem, and the one that is chosen."""
    controls.field_view(
        "Theorem",
        "theory",
        kind=st.segmented_control,
        options={name: picture.label for name, picture in PICTURES.items()},
        required=True,
        label_visibility="collapsed",
    )
    show(params)


frame.with_table(page)
