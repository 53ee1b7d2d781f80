"""Hulls of a grid of kernels: what is asked for, their path, one of them, and what is read from it."""

import re
from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mklcore.answer.effects import effects
from mklcore.answer.hulls import hull_verdict
from mklcore.data.dataset import Dataset, Split
from mklcore.errors import DataError
from mklcore.estimators.inspection.curves import TermEffect, term_effect
from mklcore.estimators.inspection.terms import Columns, Decomposition, decompose
from mklcore.figures import captions, kernel_count, style
from mklcore.figures.hulls import gap_of, most_relevant, node_id, way
from mklcore.hkl.baselines import HullReference, hull_references
from mklcore.hkl.bases import BASES
from mklcore.hkl.design import Design
from mklcore.hkl.stability import HALVES, Stability, selection_stability
from mklcore.io.catalog import ESTIMATORS, Control
from mklcore.paths.path import Path, fit_path, path_grid
from mklcore.paths.scoring import PairedScore, Predictions, compare_scores, predictions
from mklcore.problem.driver import Status
from pages.shared.session import parameters
from pages.shared.session.parameters import SEARCH, Params, Setting
from pages.shared.values import tables
from pages.shared.work import work
from pages.shared.work.work import Found

METHOD = ESTIMATORS["hkl"]
POINTS = 16
USUAL_COLUMNS = 20
MOST_COLUMNS = 40
QUICK_SECONDS = 1.0  # bound on the provisional search at one λ
SECONDS = 5.0  # of a search, about
SMALL_ROWS = 3000  # training rows up to which the hulls start without being asked for
# training and validation rows that are used unasked
ROWS = 2000
JUDGES = 2000
RANKED = 100  # validation rows on which columns are ranked
TERM_ROWS = 500  # training rows on which shares are taken


# What is asked for


def control(name: str) -> Control:
    """Return one of the method's controls, for its words and choices."""
    return next(control for control in METHOD.controls if control.name == name)


def basis_label(key: str) -> str:
    """Return what a person calls the basis."""
    kind: Any = BASES[key]
    return kind.label


def read_columns(text: str, table: Dataset) -> list[int]:
    """Return the column indices a link's list of numbers from 1 on names, in order; those the table
    lacks are left out.
    """
    wanted = {int(part) - 1 for part in text.split(",") if part}
    return sorted(j for j in wanted if 0 <= j < table.n_features)


def columns(params: Params) -> list[int]:
    """Return the indices of the columns that enter: those chosen, or the first ones."""
    table = tables.table(params)
    return read_columns(params.hull_columns, table)[:MOST_COLUMNS] or usual_columns(table)


def usual_columns(table: Dataset) -> list[int]:
    """Return the columns that enter when nobody chose."""
    return list(range(min(USUAL_COLUMNS, table.n_features)))


def numbers(indices: list[int]) -> str:
    """Return column indices as a link holds them."""
    return ",".join(str(j + 1) for j in indices)


def settings(params: Params) -> dict[str, Any]:
    """Return the values of all controls by name: the usual ones, those of the link, basis and loss."""
    values: dict[str, Any] = {control.name: control.default for control in METHOD.controls}
    for part in params.hull_more.split(";") if params.hull_more else ():
        name, _, text = part.partition("=")
        values[name] = parameters.read_setting([control(name)], text)
    return values | {"basis": params.hull_basis, "loss": params.hull_loss}


def with_setting(params: Params, name: str, value: Setting) -> str:
    """Return what a link holds of the advanced controls once one of them is set."""
    values = settings(params) | {name: value}
    moved = [
        control
        for control in METHOD.controls
        if control.advanced and values[control.name] != control.default
    ]
    return ";".join(
        f"{control.name}={parameters.write_setting(values[control.name])}" for control in moved
    )


def acting(params: Params) -> tuple[Control, ...]:
    """Return the controls that act on this table with these settings."""
    return METHOD.shown(tables.table(params).task, "lam", settings(params))


def estimator(params: Params) -> Any:
    """Return the unfitted estimator the parameters ask for.

    Raises ``DataError`` where there is no target.
    """
    table = tables.table(params)
    if table.task == "novelty":
        raise DataError(
            "Hulls are learned from a target, and this table has none. Choose one on the Data page."
        )
    values = settings(params)
    chosen = {control.name: values[control.name] for control in acting(params)} | {
        "levels": params.hull_degree
    }
    chosen["max_seconds"] /= len(table.class_names) if table.task == "multiclass" else 1
    return METHOD.estimator(table.task, **chosen)


# The path


def key(params: Params) -> Params:
    """Return what hulls depend on."""
    return params.of(*SEARCH)


def known(params: Params) -> Path | None:
    """Return the hulls these parameters ask for, None where they are not there."""
    return work.peek(("hulls", key(params)))


def parts(params: Params) -> Split:
    """Return the split whose training and validation rows hulls are learned and chosen on: drawn
    where there are many.

    Test rows stay as they are. ``hull_rows`` training rows where a person asked for a number of
    them, else ``ROWS``.
    """
    return tables.drawn(params, params.hull_rows or ROWS, JUDGES)


def is_small(params: Params) -> bool:
    """Tell whether the hulls may start without being asked for."""
    return len(parts(params).train.y) <= SMALL_ROWS


def get(params: Params) -> Found:
    """Return the hulls, or how far they are with those by the necessary condition alone.

    Raises ``MKLError``.

    Neither validation nor test rows score those: a provisional hull can be wrong in kind.
    """
    cut, asked, quick, chosen = parts(params), estimator(params), estimator(params), columns(params)
    quick.set_params(search="necessary", max_seconds=min(QUICK_SECONDS, quick.max_seconds))

    def make(progress: Callable[..., None]) -> Path:
        asked.set_params(callback=lambda record: progress())
        quick.set_params(callback=lambda record: progress())
        rows: Any = _rows(asked, cut.train, chosen)
        y = cut.train.y
        # small hulls first: each starts the next
        values = path_grid(asked, rows, y, "lam", POINTS)[::-1]
        if asked.search != "necessary":
            first = fit_path(
                quick, rows, y, "lam", values, callback=work.counted(progress, "first hulls")
            )
            progress(0.0, "", first)
        validation = cut.validation.X[:, chosen], cut.validation.y
        return fit_path(asked, rows, y, "lam", values, *validation, work.counted(progress, "hulls"))

    return work.get(("hulls", key(params)), make, title="Hulls", seconds=SECONDS)


def _rows(asked: Any, train: Dataset, chosen: list[int]) -> Design:
    return Design(
        train.X[:, chosen],
        asked.basis,
        standardize=asked.standardize,
        normalise=asked.normalize_basis,
        names=[train.feature_names[j] for j in chosen],
        memory_mb=asked.memory_mb,
    )


class HullsView(NamedTuple):
    """Hulls to show, and the parameters they belong to."""

    path: Path
    params: Params

    @property
    def provisional(self) -> bool:
        """Tell whether no point has a gap, because only the necessary condition was asked for."""
        return bool(np.isnan(self.path.relative_gap).all())


# One hull


class HullView(NamedTuple):
    """One hull to show: λ, the fitted model, and its scores (nan where nothing may be scored)."""

    value: float
    fitted: Any
    train: float
    validation: float
    exact: bool = False


def at(shown: HullsView, index: int) -> HullView:
    """Return one solved point of a path."""
    path = shown.path
    nothing = shown.provisional
    train, validation = (
        float("nan") if nothing else float(s[index]) for s in (path.train_score, path.val_score)
    )
    return HullView(float(path.values[index]), path.estimators[index], train, validation)


def exact(shown: HullsView, value: float) -> Found:
    """Return the hull at one λ between the solved ones, solved from its nearest neighbour, or how
    far it is.
    """
    path = shown.path
    params = shown.params
    near = path.estimators[path.nearest(value)]
    cut, chosen = parts(params), columns(params)

    def solve(progress: Callable[..., None]) -> HullView:
        fitted = near.solve_near(value, cut.train.y, lambda record: progress())
        train, validation = (
            float(fitted.score(part.X[:, chosen], part.y)) for part in (cut.train, cut.validation)
        )
        return HullView(value, fitted, train, validation, exact=True)

    return work.get(("hull at", key(params), value), solve, title="Exact hull")


# What is beside a hull


def compares(params: Params) -> bool:
    """Tell whether other models can be fitted on the same kernels: they are about two classes or
    numbers.
    """
    return tables.table(params).task in ("binary", "regression")


class ReferenceBeside(NamedTuple):
    """Another model on the same kernels, None for the hull itself, and its score on held-out rows
    beside the hull's.
    """

    model: HullReference | None
    score: PairedScore


def beside(shown: HullsView) -> Found:
    """Return the best hull and other models on the same grid of kernels and rows, each at its best
    on the validation rows, with their scores on the held-out rows.
    """
    params = shown.params
    cut, chosen, design = parts(params), columns(params), shown.path.estimators[0].design_
    is_number = tables.table(params).task == "regression"
    loss = "squared" if is_number else str(shown.path.estimators[0].loss)
    top = None if is_number else shown.path.estimators[0].classes_[1]

    def signed(y: np.ndarray) -> np.ndarray:
        return (
            np.asarray(y, dtype=float) if is_number else np.where(np.asarray(y) == top, 1.0, -1.0)
        )

    rows = held_out(params)
    best = shown.path.estimators[shown.path.first_look]

    def fit(progress: Callable[..., None]) -> tuple[ReferenceBeside, ...]:
        validation, judges = (part.X[:, chosen].astype(float) for part in (cut.validation, rows))
        tick = work.counted(progress)
        found = hull_references(
            design,
            signed(cut.train.y),
            validation,
            signed(cut.validation.y),
            loss,
            tick,
            judge=judges,
        )
        design.release()
        said = [predictions(best, judges)]
        for one in found:
            answers = one.said if is_number else best.classes_[(one.said > 0).astype(int)]
            said.append(Predictions(best, one.said, answers))
        scores = compare_scores(said, rows.y, "r2" if is_number else "accuracy", params.seed)
        return tuple(
            ReferenceBeside(one, score) for one, score in zip((None, *found), scores, strict=True)
        )

    return work.get(("beside hulls", key(params)), fit, title="Models beside the hulls")


def judges(params: Params) -> Dataset:
    """Return validation rows with the columns that enter."""
    return parts(params).validation.select(columns(params)).drawn(RANKED, params.seed)


def held_out(params: Params) -> Dataset:
    """Return the rows that judge hulls: test rows, which chose nothing, drawn where there are many."""
    return tables.split(params).test.drawn(JUDGES, params.seed)


def verdict(shown: HullsView) -> Found:
    """Return how well the hull that validation rows chose predicts the held-out rows, which chose
    nothing.
    """
    params, chosen, best = (
        shown.params,
        columns(shown.params),
        shown.path.estimators[shown.path.first_look],
    )
    train = parts(params).train.select(chosen)
    rows = held_out(params).select(chosen)
    make = lambda progress: hull_verdict(best, train, rows, seed=params.seed)  # noqa: E731
    return work.get(("hull verdict", key(params)), make, title="Held-out rows", asked=False)


def ranking(shown: HullsView, hull: HullView) -> Found:
    """Return the effect of every column on validation rows, the largest first."""
    params = shown.params
    rows, train = judges(params), parts(params).train.select(columns(params))
    measure = lambda progress: effects(copy(hull.fitted).know_table(train), rows)[0]  # noqa: E731
    return work.get(
        ("hull columns", key(params), hull.value), measure, title="Columns", asked=False
    )


def stability(shown: HullsView, hull: HullView) -> Found:
    """Return how often columns and extreme points are selected on half of the training rows.

    It takes twenty hulls.
    """
    params = shown.params
    train, chosen = parts(params).train, columns(params)

    def make(progress: Callable[..., None]) -> Stability:
        tick = work.counted(progress, "half samples")
        return selection_stability(
            hull.fitted,
            train.X[:, chosen],
            train.y,
            seed=params.seed,
            row_groups=train.row_groups,
            callback=tick,
        )

    return work.get(
        _stability_name(params, hull),
        make,
        title="Stability of the selection",
        seconds=HALVES * SECONDS,
    )


def known_stability(params: Params, hull: HullView) -> Stability | None:
    """Return how stable a selection is, None where nobody has asked."""
    return work.peek(_stability_name(params, hull))


def _stability_name(params: Params, hull: HullView) -> tuple[Any, ...]:
    return "hull stability", key(params), hull.value


def terms(params: Params, hull: HullView) -> Decomposition:
    """Return what columns say alone and together in a hull."""
    return work.now(
        ("hull terms", key(params), hull.value), lambda: decompose(hull.fitted, _some(params))
    )


def effect(params: Params, hull: HullView, of: Columns) -> TermEffect:
    """Return the curve or the map of one term of a hull."""
    return work.now(
        ("hull effect", key(params), hull.value, of),
        lambda: term_effect(hull.fitted, _some(params), of),
    )


def _some(params: Params) -> Dataset:
    """Return training rows with the columns that enter."""
    return parts(params).train.select(columns(params)).drawn(TERM_ROWS, params.seed)


def test_score(params: Params, hull: HullView) -> float:
    """Return the score of one hull on the test rows."""
    test = tables.split(params).test
    rows = test.X[:, columns(params)]
    score = lambda: float(hull.fitted.score(rows, test.y))  # noqa: E731
    return work.now(("test", key(params), hull.value), score)


def rows_caption(params: Params) -> str:
    """Return how many rows are used for what, where not all of them are; empty elsewhere."""
    used = parts(params)
    full = tables.split(params)
    if used is full:
        return ""
    is_number = tables.table(params).task == "regression"
    how = "at random" if is_number else "with every class in its share"
    return (
        f"Trained on {len(used.train.y):,} of {len(full.train.y):,} training rows, chosen "
        f"on {len(used.validation.y):,} of {len(full.validation.y):,} validation rows, "
        f"drawn {how}. The test score counts all {len(full.test.y):,} test rows."
    )


# One hull as text and tables


TICKS = 41  # positions per axis of a component plot
ROOT = "root"
LAM = re.compile(r"\blam\b")
STOPPED = {
    Status.OUT_OF_TIME: (
        "the search may take {max_seconds:g} s at one λ, and that did not do: raise "
        "**Seconds per λ**"
    ),
    Status.MAX_NODES: (
        "the search may look at {max_nodes} nodes, and needs more: raise **Most nodes looked at**"
    ),
    Status.OUT_OF_MEMORY: (
        "the hull needs more than {memory_mb} MB: raise **Memory in MB**, or let fewer "
        "columns enter"
    ),
    Status.STALLED: (
        "no step improves the objective any more: raise **Tolerance** or **Weight per step of "
        "depth**"
    ),
    Status.MAX_ITER: "the search made all its steps: raise **Tolerance** or **Weight per step of depth**",
}
LIMITED = (Status.OUT_OF_TIME, Status.MAX_NODES, Status.OUT_OF_MEMORY)
Levels = tuple[int, ...]


def count(number: int) -> str:
    """Return a number of kernels of any size as text that stays on one line."""
    return kernel_count(number).replace(" ", "\u00a0")


def certificate(shown: HullsView, hull: HullView) -> str:
    """Return badge and sentence of one hull, in Markdown."""
    fitted = hull.fitted
    reached = gap_of(hull.fitted)
    if fitted.certified_:
        return (
            ":blue-badge[:material/verified: certified] within "
            f"**{style.percent(reached)}** of the optimum over all "
            f"**{count(fitted.n_dag_kernels_)}** kernels"
        ) + _notes(fitted)
    if np.isnan(reached):
        what = "only the **necessary** condition is checked"
        if fitted.status_ is not Status.PROVISIONAL:
            what = "a first look that was cut short, so not even the **necessary** condition holds"
        return (
            f":orange-badge[:material/radio_button_unchecked: provisional] {what}: "
            "interactions can be missing altogether, and this hull can be wrong in kind"
        )
    why = STOPPED.get(fitted.status_, fitted.status_.value).format(**settings(shown.params))
    aside = (
        "; a larger λ or a larger **Weight per step of depth** also helps"
        if fitted.status_ in LIMITED
        else ""
    )
    return (
        ":orange-badge[:material/radio_button_unchecked: not certified] gap "
        f"**{style.percent(reached)}**: {why}{aside}"
    ) + _notes(fitted)


def _notes(fitted: Any) -> str:
    """Return what the model says of itself, with the page's sign for its parameter."""
    return "".join(f". {re.sub(LAM, 'λ', note)}" for note in fitted.notes_)


def higher_unsure(shown: HullsView, hull: HullView) -> str:
    """Return a sentence where a point of the path that is not certified scores higher than this
    one, which is; else "".
    """
    path = shown.path
    if shown.provisional or not hull.fitted.certified_ or not path.can_choose:
        return ""
    scores = np.where(path.finished, np.nan, np.asarray(path.val_score, dtype=float))
    if not np.any(scores > hull.validation):
        return ""
    best = int(np.nanargmax(scores))
    score = captions.score(path.score_name, float(scores[best]))
    return (
        f"λ = {style.number(float(path.values[best]))}, not certified, scores higher on "
        f"validation rows: {score}"
    )


def visited(path: Path, hull: HullView) -> int:
    """Count the nodes looked at on the whole path, and for this hull where it is between its
    points.
    """
    return max(point.n_visited_on_path_ for point in (path.estimators[-1], hull.fitted))


def pair(
    path: Path,
    text: str,
    chosen: list[int],
    table: Dataset,
) -> tuple[int, int] | None:
    """Return two positions among the ``chosen`` columns: those asked for that enter, else the most
    relevant of the path.
    """
    if len(chosen) < 2:
        return None
    asked = [chosen.index(j) for j in read_columns(text, table) if j in chosen]
    first, second = list(dict.fromkeys([*asked, *most_relevant(path.estimators)]))[:2]
    return min(first, second), max(first, second)


# Nodes


def written(node: Levels, chosen: list[int]) -> str:
    """Return a node as a link holds it, with the table's column numbers from 1 on."""
    return node_id(node, [j + 1 for j in chosen])


def read_node(text: str, chosen: list[int], top_level: int) -> Levels | None:
    """Return the node a link names, None where a column does not enter or a level does not exist."""
    levels = [0] * len(chosen)
    for part in text.split("*") if text != ROOT else ():
        column, _, level = part.partition("^")
        if int(column) - 1 not in chosen or not 1 <= int(level) <= top_level:
            return None
        levels[chosen.index(int(column) - 1)] = int(level)
    return tuple(levels)


def node_name(fitted: Any, node: Any) -> str:
    """Return a node in the words of its basis."""
    return fitted.design_.name(tuple((i, level) for i, level in enumerate(node) if level))


def norms(fitted: Any) -> np.ndarray:
    """Return ||beta_v|| of every node, the largest over the classes."""
    return np.atleast_2d(fitted.component_norms_).max(axis=0)


def by_norm(fitted: Any) -> list[Levels]:
    """Return the nodes of the hull that can add something, the largest first: all but a root that
    is constant.
    """
    order = np.argsort(-norms(fitted), kind="stable")
    return [
        fitted.hull_[k]
        for k in order
        if any(fitted.hull_[k]) or not fitted.design_.root_is_constant
    ]


def facts(fitted: Any, node: Levels) -> str:
    """Return where a node stands: its weight and norm inside, its way to entering outside, in
    Markdown.
    """
    if node in fitted.hull_:
        k = fitted.hull_.index(node)
        own = norms(fitted)
        zeta = float(np.atleast_2d(fitted.weights_).max(axis=0)[k])
        share = own[k] / (own.max() or 1.0)
        extreme = ", extreme point" if node in fitted.extreme_points_ else ""
        return (
            f"weight ζ **{style.number(zeta)}**, ‖β‖ **{style.number(own[k])}**, "
            f"{100 * share:.0f} % of the largest{extreme}"
        )
    if node in fitted.sources_:
        return f"outside, **{way(fitted.sources_[node])}** of the way to entering"
    return "outside; its parents have to enter first"


# What one node adds


class Component(NamedTuple):
    """What one node adds over one or two columns: positions, values, names, and what was held
    fixed.
    """

    axes: list[np.ndarray]
    values: np.ndarray
    names: list[str]
    said: str


def component(shown: HullsView, hull: HullView, node: Levels) -> Component:
    """Compute what ``node`` adds to the prediction over its columns; all others stand still."""
    fitted = hull.fitted
    chosen = columns(shown.params)
    train = parts(shown.params).train
    X = train.X[:, chosen]
    ranked = np.argsort(-np.asarray(fitted.relevance_), kind="stable").tolist()
    # a root that is no constant touches every column
    touched = [i for i in ranked if node[i]] or ranked
    drawn = sorted(touched[:2])
    held = touched[2:] if any(node) else []
    axes = [np.linspace(X[:, i].min(), X[:, i].max(), TICKS) for i in drawn]
    mesh = np.meshgrid(*axes)
    rows = np.tile(X.mean(axis=0), (mesh[0].size, 1))
    for i in held:
        rows[:, i] = np.quantile(X[:, i], 0.75)
    for i, values in zip(drawn, mesh, strict=True):
        rows[:, i] = values.ravel()
    added = np.asarray(fitted.component(node, rows))
    said = []
    if added.ndim == 2:
        k = int(np.argmax(np.atleast_2d(fitted.component_norms_)[:, fitted.hull_.index(node)]))
        added = added[:, k]
        said.append(f"For class {train.class_names[k]} against the rest, where it adds most.")
    elif train.task == "binary":
        said.append(f"Positive means class {train.class_names[1]}.")
    names = [train.feature_names[j] for j in chosen]
    if held:
        said.append(f"Held at the upper quartile: {style.joined([names[i] for i in held])}.")
    if not fitted.design_.root_is_constant:
        said.append("All other columns stand at their mean: level 0 of this basis is not constant.")
    return Component(
        axes,
        added.reshape(mesh[0].shape),
        [names[i] for i in drawn],
        " ".join(said),
    )


# Tables


def nodes_table(fitted: Any) -> pd.DataFrame:
    """Return the nodes of the hull with depth, weight and norm, the largest norm first."""
    extreme = set(fitted.extreme_points_)
    frame = pd.DataFrame(
        {
            "node": fitted.kernel_names_,
            "depth": [sum(node) for node in fitted.hull_],
            "columns": [sum(level > 0 for level in node) for node in fitted.hull_],
            "weight ζ": np.atleast_2d(fitted.weights_).max(axis=0),
            "‖β‖": norms(fitted),
            "extreme point": [node in extreme for node in fitted.hull_],
        }
    )
    return frame.sort_values("‖β‖", ascending=False, kind="stable")


def sources_table(fitted: Any) -> pd.DataFrame:
    """Return the nodes just outside the hull with their share of the threshold of entering, the
    nearest first.
    """
    nearest = sorted(fitted.sources_.items(), key=lambda item: -item[1])
    return pd.DataFrame(
        {
            "node outside": [node_name(fitted, node) for node, _ in nearest],
            "depth": [sum(node) for node, _ in nearest],
            "way to entering": [share for _, share in nearest],
        }
    )
