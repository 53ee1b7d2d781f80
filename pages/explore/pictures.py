"""Explore, its pictures: columns as bars, one of them closely, the path, and the model taken apart."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from mklcore.answer.exploration import Exploration
from mklcore.answer.verdict import change
from mklcore.data.dataset import Dataset
from mklcore.errors import MKLError
from mklcore.estimators.best_k import is_searched
from mklcore.estimators.calibration import reliability
from mklcore.estimators.inspection.curves import (
    column_effect,
    decision_surface,
    is_day,
    term_effect,
)
from mklcore.estimators.inspection.parts import problem_names, weights_by_class
from mklcore.estimators.inspection.words import positional_importance
from mklcore.figures import (
    captions,
    choice_band,
    class_weights,
    column_dots,
    column_figure,
    confusion_figure,
    gram_heatmap,
    player_data,
    positions_figure,
    reliability_figure,
    residual_figure,
    roc_figure,
    score_path,
    style,
    surface_plot,
    term_plot,
    weight_path,
    word_bars,
)
from mklcore.io.catalog import NOVELTY
from mklcore.paths.path import Path
from mklcore.problem.driver import Status
from pages.shared.export.saved import Seen
from pages.shared.private_streamlit import bold, plain
from pages.shared.session import state
from pages.shared.session.parameters import ANSWER, Params
from pages.shared.values import answers
from pages.shared.widgets import controls, drawing, grids, players
from pages.shared.widgets.players import View
from pages.shared.work import work

# bars, and letters of their names
MOST = 12
NAME = 32
COLUMNS = "columns"
LEFT = 1.4
RIGHT = (2.0, 1.1)
DOTS = 150
MOST_CURVES = 6
MOST_PAIRS = 5
GRAM_ROWS = 160
SURFACE_ROWS = 500
Numbers = Mapping[str, int]


# Columns


def columns(
    seen: Seen,
    index: int,
    numbers: Numbers | None = None,
    *,
    follows: bool = True,
) -> tuple[int, View]:
    """Draw a bar for every column with its effect; return how many could be chance, and what
    follows the cursor, unless the bars are of another path than the cursor is.
    """
    dark = drawing.is_dark()
    drawn = player_data.column_bars(
        seen.path, seen.columns, seen.along, index=index, dark=dark, at=seen.index
    )
    if numbers is None:
        drawn["picks"] = None
    players.bars(
        COLUMNS,
        drawn,
        lambda name: state.change(
            column=(numbers or {}).get(name, 0),
            term="",
        ),
        chart=players.CHART if follows else "no cursor",
    )
    view = View(COLUMNS, lambda path: drawn["weights"])
    return sum(bool(one.chance) for one in seen.columns), view


def with_point(view: View, found: Exploration, effects: Sequence[float]) -> View:
    """What follows the cursor where it stands between the points of the path."""
    if view.name != COLUMNS:
        return view
    order = player_data.bars_first(found.columns, found.effects_along)
    return View(COLUMNS, lambda _: player_data.column_shares([np.asarray(effects)[order]]).tolist())


def column(
    found: Exploration,
    model: Any,
    params: Params,
    numbers: Numbers,
    effects: Sequence[float],
    where: str,
) -> None:
    """Draw one column closely at the place of the cursor, ``where`` the columns have these
    ``effects``: its curve, or its letters, and the pairs it is part of.
    """
    names = [one.name for one in found.columns]
    if not names or found.model.kernels == "precomputed":
        return
    now = next((name for name in names if numbers.get(name) == params.column), names[0])
    left, right = st.columns([1, 1.6], gap="large")
    with left:
        controls.view(
            st.selectbox,
            "One column closely",
            "field_column",
            now,
            lambda name: state.change(column=numbers.get(name, 0), term=""),
            options=names,
        )
        moved = "the prediction" if found.learnt_from.task == "regression" else "the decision"
        effect = float(effects[names.index(now)])
        total = float(np.sum(effects)) or 1.0
        size = change(effect, found.learnt_from.log_of, 2)
        st.markdown(
            f"{bold(now)} moves {moved} by **{size}** on average at {where} "
            f"({100 * effect / total:.1f}\u00a0% of all effects)."
        )
        pair = pairs(found, params, now, numbers)
    with right:
        learnt = found.learnt_from
        if now in dict(learnt.sequences):
            letters(found, model, now)
        elif now in dict(learnt.texts):
            words_of(found, now)
        elif pair:
            surface(found, params, (now, pair))
        elif now in dict(learnt.columns):
            curve(model, learnt, params, now)


def pairs(found: Exploration, params: Params, name: str, numbers: Numbers) -> str:
    """Draw what the column says only together with others; return the other column of the pair that
    is looked at.
    """
    if found.learnt_from.task == NOVELTY:
        return ""
    later = answers.terms(params, asked=False)
    if isinstance(later, work.Pending):
        st.caption("Which columns act together with it is being computed.")
    terms = later.value if isinstance(later, work.Ready) else ()
    own = [one for one in terms if len(one.columns) == 2 and name in one.columns][:MOST_PAIRS]
    if not own:
        return ""
    others = {next(other for other in one.columns if other != name): one for one in own}
    now = next((other for other in others if str(numbers.get(other)) == params.term), None)
    called = dict(zip(others, style.cuts(list(others), 16), strict=True))
    controls.view(
        st.pills,
        f"Acts together with, at {players.where(found.path, found.index)}",
        "field_term",
        now,
        lambda other: state.change(term="" if other is None else str(numbers[other])),
        options=list(others),
        format_func=called.__getitem__,
    )
    return now or ""


def curve(model: Any, learnt: Dataset, params: Params, name: str) -> None:
    """Draw what a column adds with all others at their means: for several classes to the one it
    moves most.
    """
    made = [column_effect(model, learnt, name, output=k) for k in outputs(model)]
    drawn = [one for one in made if one is not None]
    if not drawn:
        try:
            dots(model, learnt, params, name)
        except MKLError as error:  # a kernel that is no product over columns
            st.caption(plain(error))
        return
    k = int(np.argmax([np.ptp(one.values) for one in drawn]))
    make = partial(column_figure, drawn[k], decided(model, learnt, k))
    drawing.figure(make, f"What {name} adds", "column_effect")


def dots(model: Any, learnt: Dataset, params: Params, name: str) -> None:
    """Draw what a column without a curve adds for every row, over that of its features that tells
    most about it.
    """
    rows, members = learnt.drawn(DOTS, params.seed), dict(learnt.columns)[name]
    place = [source for source, _ in model.source_columns_].index(name)

    def make() -> tuple[np.ndarray, int]:
        added = np.atleast_3d(model.shapley(rows.table)[0])[:, place]
        k = int(np.argmax(np.std(added, axis=0)))
        return added[:, k], k

    added, k = work.now(("explore dots", params.of(*ANSWER), params.at, name), make)
    feature = max(members, key=lambda j: explained(rows.X[:, j], added))
    is_date = is_day(rows, name, feature)
    draw = partial(
        column_dots,
        rows.X[:, feature],
        added,
        name if is_date else rows.feature_names[feature],
        decided(model, learnt, k),
        is_date=is_date,
    )
    drawing.figure(draw, f"What {name} adds", "column_effect")
    st.caption(
        "A dot for every row: exact Shapley values. They spread where other columns matter as well."
    )


def explained(x: np.ndarray, values: np.ndarray) -> float:
    """The share of the variance of ``values`` between tenths of ``x``."""
    values = values - values.mean()
    tenth = np.searchsorted(np.unique(np.quantile(x, np.linspace(0.1, 0.9, 9))), x)
    return sum(np.sum(tenth == k) * values[tenth == k].mean() ** 2 for k in np.unique(tenth))


def surface(found: Exploration, params: Params, pair: tuple[str, str]) -> None:
    """Draw what two columns add beyond what each adds alone: for several classes to the one they
    move most.
    """

    def make() -> tuple[Any, int]:
        rows = found.learnt_from.drawn(SURFACE_ROWS, found.seed)
        every = [
            term_effect(
                found.model,
                rows,
                pair,
                output=k,
            )
            for k in outputs(found.model)
        ]
        k = int(np.argmax([np.std(one.values) for one in every]))
        return every[k], k

    effect, k = work.now(("explore pair", params.of(*ANSWER), pair), make)
    draw = partial(term_plot, effect, decided(found.model, found.learnt_from, k))
    drawing.figure(draw, f"What {pair[0]} and {pair[1]} add", "term")
    st.caption(
        f"Beyond what each of the two adds alone, at {players.where(found.path, found.index)}."
    )


def outputs(model: Any) -> range:
    """The decisions of a model: one, or as many as classes."""
    return range(max(1, len(problem_names(model))))


def decided(model: Any, learnt: Dataset, k: int) -> str:
    """What an output is called on an axis."""
    if learnt.task == "binary":
        return f"the decision for {style.short(learnt.class_names[1], 14)}"
    names = problem_names(model)
    return (
        f"the decision for {style.short(names[k].split(' against ')[0], 14)}"
        if names
        else "the prediction"
    )


def letters(found: Exploration, model: Any, name: str) -> None:
    """Draw which letters of a sequence move the decision at which place, and the strongest words."""
    place = [sequence for sequence, _ in found.learnt_from.sequences].index(name)
    try:
        seen = positional_importance(model, found.test or found.learnt_from, sequence=place)
    except MKLError as error:
        st.caption(plain(error))
        return
    drawing.figure(partial(positions_figure, seen, name), f"Letters of {name}", "positions")
    listed = ", ".join(
        f"{one.word} at place {one.place + 1} ({one.effect:+.2g})" for one in seen.words[:3]
    )
    st.caption(f"What a letter adds to the decision. The strongest words: {plain(listed)}.")


def words_of(found: Exploration, name: str) -> None:
    """Draw the words of a text that move the decision most: for several classes to the one the
    strongest word moves most.
    """
    strongest = found.words(name)
    if not strongest:
        st.caption("No word of it moves the decision.")
        return
    k = int(np.argmax(np.abs(strongest[0].effect)))
    draw = partial(word_bars, strongest, name, decided(found.model, found.learnt_from, k), k)
    drawing.figure(draw, f"Words of {name}", "words")
    st.caption(
        "What a word adds to a text that has it, at the chosen point; the strongest over "
        "all rows first."
    )


# Path


def path(
    along: Path,
    index: int,
    plain: tuple[tuple[str, float], ...] = (),
) -> View:
    """Draw the weights as bars that follow the cursor, beside weights and scores along the path,
    with ``plain`` models' scores.
    """
    dark = drawing.is_dark()
    shown = player_data.order(along)
    kernels = View("kernels", lambda p: np.round(player_data.heights(p.weights, shown), 6).tolist())
    left, right = st.columns((LEFT, sum(RIGHT)), gap="medium")
    with left:
        players.bars("kernels", player_data.weight_bars(along, index=index, dark=dark))
    pictures = {
        players.CHART: (
            "Solution path",
            player_data.weights_chart(along, dark, figure=players.CHART, cursor=players.CHART),
            partial(weight_path, along),
        ),
        players.SCORES: (
            along.score_name.capitalize(),
            player_data.scores_chart(
                along, dark, figure=players.SCORES, references=plain, cursor=players.CHART
            ),
            partial(score_path, along, references=plain),
        ),
    }
    with right:
        for place, (key, (title, drawn, make)) in zip(
            st.columns(RIGHT, gap="small"), pictures.items(), strict=True
        ):
            with place:
                take = lambda make=make: make(players.place(along, state.current().at).index)  # noqa: E731
                drawing.titled(f":small[**{title}**]", take, title)
                if drawn is not None:
                    players.chart(key, drawn)
    return kernels


def choices(found: Exploration, params: Params, point: Path, index: int) -> None:
    """Draw how far the kernels at the cursor are from the best choice of as many, and the choices
    that are nearly as good.
    """
    along = found.path
    if along.param != "s" or not np.isfinite(point.relative_gap[index]):
        return
    is_search = hasattr(point.estimators[index], "alternatives_")
    place = st.container()
    best = None
    if not is_search and is_searched(along):
        best = searched(params)
    known = point if is_search else best
    with place:
        said = captions.behind_best(point, index, best, bold)
        st.markdown(f"**How far from the best choice?** {said}")
        cursor = index if point is along else None
        make = partial(choice_band, along, cursor, best=best)
        drawing.figure(make, "Value and bound", "choice_band", small=True)
        diamonds = "" if best is None else " Diamonds: the best choices that were found."
        st.caption(
            "Line: the objective of the chosen kernels. Dashes: no choice of as many is below. "
            f"Filled: proven best.{diamonds} This is about the rows that were learned from: the "
            "best choice need not predict better."
        )
    if known is None:
        return
    sizes = known.n_nonzero.tolist()
    size = int(point.n_nonzero[index])
    if size in sizes:
        nearly_as_good(known, sizes.index(size))


def searched(params: Params) -> Path | None:
    """The best choices, where they are known; else the button that asks for them."""
    if answers.known_choices(params) is None:
        drawing.request(
            "Search for the best choices",
            "best_choices",
            answers.best_choices,
            params,
            lambda best: None,
            icon=":material/search:",
            help="Branch and bound over all choices of as many kernels, for every size of the path.",
        )
    return answers.known_choices(params)


def nearly_as_good(best: Path, index: int) -> None:
    """List the choices within 1 % of the best that a search has met."""
    model = best.estimators[index]
    found = captions.alternatives(best, index)
    if best.statuses[index] is not Status.PROVEN:
        st.caption(
            f"The search ended after {style.counted(model.max_relaxations, 'relaxation')}: the "
            "method **Best k kernels** takes more where you ask for them, under More."
        )
    if len(found) < 2:
        st.caption("The search met no other choice of as many kernels within 1 % of this one.")
        return
    others = len(found) - 1
    do = "choice of as many kernels does" if others == 1 else "choices of as many kernels do"
    st.markdown(
        f"**{others} other {do} nearly as well**: within 1 % of the best, among those that the "
        "search met."
    )
    common = set.intersection(*(set(names) for names, _ in found))
    shared = [bold(name) for name in found[0][0] if name in common]
    if shared:
        st.markdown(f"In all of them: {style.joined(shared)}.")
    rows = [
        {
            "the other kernels": ", ".join(name for name in names if name not in common),
            "above the best": share,
        }
        for names, share in found
    ]
    config = {"above the best": st.column_config.NumberColumn(format="percent", width="small")}
    alt = "Choices of kernels within 1 % of the best, the best first"
    st.dataframe(rows, hide_index=True, column_config=config, alt=alt)


# Inside


def inside(found: Exploration, point: Path, index: int, params: Params) -> None:
    """Draw the errors of the model at the cursor, its kernel, its weights per class and the surface
    over two columns.
    """
    model = point.estimators[index]
    where = players.where(point, index)
    point_key = answers.key(params), point.param, float(point.values[index])

    def keep(name: object, make: Callable[[], Any]) -> Any:
        """What is made once for a point, whatever else on the page changes."""
        return work.now(("inside", name, *point_key), make)

    errors(found, model, where, keep)
    table = weights_by_class(model)
    if table is not None:
        called = captions.labels(found.path.kernel_names, found.path.kernel_families)
        draw = partial(class_weights, table[1], table[0], called)
        drawing.figure(
            draw,
            "Kernel weights per class",
            "class_weights",
            f"**Kernel weights per class** at {where}",
        )
    starts = grids.starts(model, problem_names(model))
    if starts is not None:
        st.markdown(f"**Where each start ended** at {where}")
        st.dataframe(
            starts,
            hide_index=True,
            height=280,
            alt=f"Objective at the end of every start, at {where}",
        )
        st.caption(
            "The lowest objective is the model; starts that end far above it are local "
            "minima it avoided."
        )
    if model.kernels == "precomputed":
        st.info("This table is a ready kernel stack: it knows kernels, not columns.")
        return
    left, right = st.columns(2, gap="large")
    with left:
        gram(found, point, index, keep)
    with right:
        if found.learnt_from.n_features > 1:
            over_two(found, model, params, keep)


Keep = Callable[[object, Callable[[], Any]], Any]


def figure(
    keep: Keep,
    make: Callable[..., Any],
    name: str,
    key: str,
    of: object = None,
) -> None:
    """Draw a figure that is made once for a point, a theme and what it is ``of``."""

    def draw(*, dark: bool = False) -> Any:
        return keep((key, of, dark), lambda: make(dark=dark))

    drawing.figure(draw, name, key, small=True)


def gram(found: Exploration, point: Path, index: int, keep: Keep) -> None:
    """Draw the kernel of the model: the sum of its kernels with their weights."""
    weights = np.asarray(point.weights[index], dtype=float)

    def total() -> Any:
        rows = found.learnt_from.drawn(GRAM_ROWS, found.seed)
        grams = found.dictionary.grams(rows).values
        if len(grams) != len(weights):
            return None
        labels = None if rows.task in ("regression", NOVELTY) else rows.y
        return np.tensordot(weights, grams, axes=1), labels

    kernel = keep("kernel", total)
    if kernel is None:
        return
    figure(keep, partial(gram_heatmap, *kernel), "The kernel of the model", "model_gram")
    n_rows = len(kernel[0])
    st.caption(f"All kernels with their weights, on {style.counted(n_rows, 'row')}.")


def over_two(found: Exploration, model: Any, params: Params, keep: Keep) -> None:
    """Draw the model over two columns, all others at their means."""
    learnt = found.learnt_from
    names = found.learnt_from.feature_names
    chosen = tuple(int(part) - 1 for part in params.over.split(",")) if params.over else ()
    if len(set(chosen)) < 2 or max(chosen) >= len(names) or min(chosen) < 0:
        members = dict(learnt.columns)
        first = [j for one in found.columns for j in members.get(one.name, ())]
        chosen = tuple(dict.fromkeys([*first, *range(len(names))]))[:2]

    def choose(k: int, j: int) -> None:
        state.change(over=",".join(str((j if i == k else chosen[i]) + 1) for i in (0, 1)))

    for k, (box, label) in enumerate(zip(st.columns(2), ("Across", "Up"), strict=True)):
        with box:
            controls.view(
                st.selectbox,
                label,
                f"field_over_{k}",
                chosen[k],
                partial(choose, k),
                options=[j for j in range(len(names)) if j != chosen[1 - k]],
                format_func=names.__getitem__,
            )

    def make(*, dark: bool) -> Any:
        rows = learnt.drawn(SURFACE_ROWS, found.seed)
        labels = rows.y
        if learnt.task == NOVELTY:
            labels = np.where(model.predict(rows.X) > 0, "inside", "outside")
        surface = decision_surface(model, (chosen[0], chosen[1]))
        return surface_plot(surface, names, rows.X, labels, dark=dark)

    figure(keep, make, "The model over two columns", "surface", chosen)
    st.caption(
        "Marks: rows. All other columns are held at their means, so rows that differ "
        "there can be elsewhere."
    )


def errors(found: Exploration, model: Any, where: str, keep: Keep) -> None:
    """Draw the errors on held-out rows: confusion matrix, ROC and calibration, or residuals."""
    rows = found.test
    if rows is None or rows.task == NOVELTY:
        return

    said = keep("said", lambda: np.asarray(model.predict(found.read(rows))))
    st.markdown(f"**Errors** at {where}, on {style.counted(rows.n_samples, 'held-out row')}")
    if rows.task == "regression":
        make = partial(residual_figure, said, rows.y, rows.target_name)
        figure(keep, make, "Residuals against prediction", "residuals")
        st.caption(
            "A bend says that something is not learnt yet; a funnel, that errors grow "
            "with the prediction."
        )
        return
    from sklearn.metrics import confusion_matrix  # which the page of a sample is drawn without

    names = rows.class_names
    classes = model.classes_
    left, middle, right = st.columns(3, gap="medium")
    with left:
        counts = confusion_matrix(rows.y, said, labels=classes)
        figure(keep, partial(confusion_figure, counts, names), "Confusion matrix", "confusion")
        st.caption("Each row of the picture is a true class; shades are shares of that class.")
    with middle:
        drawn = keep(
            "curves", lambda: curves(model.decision_function(found.read(rows)), rows, classes)
        )
        if drawn:
            figure(keep, partial(roc_figure, drawn), "ROC", "roc")
            st.caption("AUC: how often a row of the class is ranked above another. 0.5 is chance.")
    with right:
        try:
            sure = keep("sure", lambda: found.model.predict_proba(found.read(rows)))
        except (MKLError, AttributeError) as error:
            st.caption(plain(error))
            return

        def calibration(*, dark: bool) -> Any:
            bins = reliability(sure[:, -1], np.asarray(rows.y == classes[-1]))
            return reliability_figure(*bins, names[-1], dark=dark)

        figure(keep, calibration, "Calibration", "calibration")
        st.caption(
            "Of the chosen model. On the diagonal, what it calls 70 % sure comes true for "
            "70 % of the rows."
        )


def curves(
    decisions: np.ndarray, rows: Dataset, classes: Any
) -> list[tuple[str, np.ndarray, np.ndarray, float]]:
    """One ROC curve for two classes, one class against the rest for more; the smallest areas first."""
    from sklearn.metrics import auc, roc_curve  # as above

    decisions = np.asarray(decisions).reshape(len(rows.y), -1)
    if decisions.shape[1] not in (1, len(classes)):
        return []
    found = []
    positives = [len(classes) - 1] if decisions.shape[1] == 1 else range(len(classes))
    for values, k in zip(decisions.T, positives, strict=True):
        truth = rows.y == classes[k]
        if 0 < truth.sum() < truth.size:
            false, true, _ = roc_curve(truth, values)
            found.append((rows.class_names[k], false, true, float(auc(false, true))))
    return sorted(found, key=lambda one: one[3])[:MOST_CURVES]
