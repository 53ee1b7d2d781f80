"""Derive what is read from one hull: its certificate, nodes by name, what one node adds, and its tables."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mklcore.data.dataset import Dataset
from mklcore.figures import kernel_count, style
from mklcore.figures.hulls import gap_of, most_relevant, node_id, way
from mklcore.paths.path import Path
from mklcore.problem.driver import Status
from pages.shared.derive import hulls
from pages.shared.derive.hulls import HullsView, HullView
from pages.shared.session import words

TICKS = 41  # positions per axis of a component plot
ROOT = "root"
LAM = re.compile(r"\blam\b")
STOPPED = {
    Status.OUT_OF_TIME: "the search may take {max_seconds:g} s at one λ, and that did not do: raise **Seconds per λ**",
    Status.MAX_NODES: "the search may look at {max_nodes} nodes, and needs more: raise **Most nodes looked at**",
    Status.OUT_OF_MEMORY: "the hull needs more than {memory_mb} MB: raise **Memory in MB**, or let fewer columns enter",
    Status.STALLED: "no step improves the objective any more: raise **Tolerance** or **Price per step of depth**",
    Status.MAX_ITER: "the search made all its steps: raise **Tolerance** or **Price per step of depth**",
}
LIMITED = (Status.OUT_OF_TIME, Status.MAX_NODES, Status.OUT_OF_MEMORY)
Levels = tuple[int, ...]


def count(number: int) -> str:
    """Return a number of kernels of any size as text that stays on one line."""
    return kernel_count(number).replace(" ", "\u00a0")


def certificate(shown: HullsView, hull: HullView) -> str:
    """Return badge and sentence of one hull, in Markdown."""
    fitted, reached = hull.fitted, gap_of(hull.fitted)
    if fitted.certified_:
        return (
            f":blue-badge[:material/verified: certified] within **{style.percent(reached)}** of the optimum over all "
            f"**{count(fitted.n_dag_kernels_)}** kernels" + _notes(fitted)
        )
    if np.isnan(reached):
        what = "only the **necessary** condition is checked"
        if fitted.status_ is not Status.PROVISIONAL:
            what = "a first look that was cut short, so not even the **necessary** condition holds"
        return (
            f":orange-badge[:material/radio_button_unchecked: provisional] {what}: interactions can be missing "
            f"altogether, "
            "and this hull can be wrong in kind"
        )
    why = STOPPED.get(fitted.status_, fitted.status_.value).format(**hulls.settings(shown.params))
    aside = "; a larger λ or a larger **Price per step of depth** also helps" if fitted.status_ in LIMITED else ""
    return (
        f":orange-badge[:material/radio_button_unchecked: not certified] gap **{style.percent(reached)}**: {why}{aside}"
        + _notes(fitted)
    )


def _notes(fitted: Any) -> str:
    """Return what the model says of itself, with the page's sign for its parameter."""
    return "".join(f". {re.sub(LAM, 'λ', note)}" for note in fitted.notes_)


def higher_unsure(shown: HullsView, hull: HullView) -> str:
    """Return a sentence where a point of the path that is not certified scores higher than this one, which is; else
    "".
    """
    path = shown.path
    if shown.provisional or not hull.fitted.certified_ or not path.can_choose:
        return ""
    scores = np.where(path.finished, np.nan, np.asarray(path.val_score, dtype=float))
    if not np.any(scores > hull.validation):
        return ""
    best = int(np.nanargmax(scores))
    score = words.score(path.score_name, float(scores[best]))
    return f"λ = {style.number(float(path.values[best]))}, not certified, scores higher on validation rows: {score}"


def visited(path: Path, hull: HullView) -> int:
    """Count the nodes looked at on the whole path, and for this hull where it is between its points."""
    return max(point.n_visited_on_path_ for point in (path.estimators[-1], hull.fitted))


def pair(path: Path, text: str, chosen: list[int], table: Dataset) -> tuple[int, int] | None:
    """Return two positions among the ``chosen`` columns: those asked for that enter, else the most relevant of the
    path.
    """
    if len(chosen) < 2:
        return None
    asked = [chosen.index(j) for j in hulls.read_columns(text, table) if j in chosen]
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


def node_name(fitted: Any, node: Levels) -> str:
    """Return a node in the words of its basis."""
    return fitted.design_.name(tuple((i, level) for i, level in enumerate(node) if level))


def norms(fitted: Any) -> np.ndarray:
    """Return ||beta_v|| of every node, the largest over the classes."""
    return np.atleast_2d(fitted.component_norms_).max(axis=0)


def by_norm(fitted: Any) -> list[Levels]:
    """Return the nodes of the hull that can add something, the largest first: all but a root that is constant."""
    order = np.argsort(-norms(fitted), kind="stable")
    return [fitted.hull_[k] for k in order if any(fitted.hull_[k]) or not fitted.design_.root_is_constant]


def facts(fitted: Any, node: Levels) -> str:
    """Return where a node stands: its weight and norm inside, its way to entering outside, in Markdown."""
    if node in fitted.hull_:
        k = fitted.hull_.index(node)
        own = norms(fitted)
        zeta, share = float(np.atleast_2d(fitted.weights_).max(axis=0)[k]), own[k] / (own.max() or 1.0)
        extreme = ", extreme point" if node in fitted.extreme_points_ else ""
        return (
            f"weight ζ **{style.number(zeta)}**, ‖β‖ **{style.number(own[k])}**, {100 * share:.0f} % of the "
            f"largest{extreme}"
        )
    if node in fitted.sources_:
        return f"outside, **{way(fitted.sources_[node])}** of the way to entering"
    return "outside; its parents have to enter first"


# What one node adds


@dataclass(frozen=True, eq=False)
class Component:
    """What one node adds over one or two columns: positions, values, names, and what was held fixed."""

    axes: list[np.ndarray]
    values: np.ndarray
    names: list[str]
    said: str


def component(shown: HullsView, hull: HullView, node: Levels) -> Component:
    """Compute what ``node`` adds to the prediction over its columns; all others stand still."""
    fitted, chosen = hull.fitted, hulls.columns(shown.params)
    train = hulls.parts(shown.params).train
    X = train.X[:, chosen]
    ranked = np.argsort(-np.asarray(fitted.relevance_), kind="stable").tolist()
    touched = [i for i in ranked if node[i]] or ranked  # a root that is no constant touches every column
    drawn, held = sorted(touched[:2]), touched[2:] if any(node) else []
    axes = [np.linspace(X[:, i].min(), X[:, i].max(), TICKS) for i in drawn]
    mesh = np.meshgrid(*axes)
    rows = np.tile(X.mean(axis=0), (mesh[0].size, 1))
    for i in held:
        rows[:, i] = np.quantile(X[:, i], 0.75)
    for i, values in zip(drawn, mesh, strict=True):
        rows[:, i] = values.ravel()
    added, said = np.asarray(fitted.component(node, rows)), []
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
    return Component(axes, added.reshape(mesh[0].shape), [names[i] for i in drawn], " ".join(said))


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
    """Return the nodes just outside the hull with their share of the threshold of entering, the nearest first."""
    nearest = sorted(fitted.sources_.items(), key=lambda item: -item[1])
    return pd.DataFrame(
        {
            "node outside": [node_name(fitted, node) for node, _ in nearest],
            "depth": [sum(node) for node, _ in nearest],
            "way to entering": [share for _, share in nearest],
        }
    )
