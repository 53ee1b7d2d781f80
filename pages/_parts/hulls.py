"""Hulls of a grid of kernels: what is asked for, the path of certified hulls, and what is read from one of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mklcore.data.dataset import Dataset
from mklcore.estimators.registry import ESTIMATORS, Control
from mklcore.figures import kernel_count, style
from mklcore.path import Path, fit_path, path_grid
from mklcore.solvers.driver import Status
from mklcore.solvers.hkl.bases import BASES
from mklcore.solvers.hkl.design import Design
from pages._parts import cache, jobs, model
from pages._parts.state import Params

METHOD = ESTIMATORS["hkl"]
POINTS = 12
USUAL_COLUMNS = 20
MOST_COLUMNS = 40
SECONDS = 4.0  # bound on the search at one λ, shared by the classes
MEMORY_MB = 400
SMALL_ROWS = 3000  # training rows up to which the hulls start without being asked for
TICKS = 41  # positions per axis of a component plot
FIXED_LEVELS = ("anova", "spline")
STOPPED = {
    Status.OUT_OF_TIME: f"the search at one λ may take {SECONDS:g} s, and that did not do",
    Status.MAX_NODES: "the certificate would need more nodes than it may look at",
    Status.OUT_OF_MEMORY: f"it would need more than {MEMORY_MB} MB",
    Status.STALLED: "no step improves the objective any more",
}
Levels = tuple[int, ...]


# What is asked for


def control(name: str) -> Control:
    """Return one of the method's controls, for its words and choices."""
    return next(control for control in METHOD.controls if control.name == name)


def basis_label(key: str) -> str:
    """Return what a person calls the basis."""
    kind: Any = BASES[key]
    return kind.label


def read_columns(text: str, table: Dataset) -> list[int]:
    """Return the column indices a link's list of numbers from 1 on names, in order; those the table lacks are left out."""
    wanted = {int(part) - 1 for part in text.split(",") if part}
    return sorted(j for j in wanted if 0 <= j < table.n_features)


def columns(params: Params) -> list[int]:
    """Return the indices of the columns that enter: those chosen, or the first ones."""
    table = cache.table(params)
    return read_columns(params.hull_columns, table)[:MOST_COLUMNS] or usual_columns(table)


def usual_columns(table: Dataset) -> list[int]:
    """Return the columns that enter when nobody chose."""
    return list(range(min(USUAL_COLUMNS, table.n_features)))


def numbers(indices: list[int]) -> str:
    """Return column indices as a link holds them."""
    return ",".join(str(j + 1) for j in indices)


def estimator(params: Params) -> Any:
    """Return the unfitted estimator the parameters ask for."""
    table = cache.table(params)
    kind = BASES[params.hull_basis]
    basis = kind() if params.hull_basis in FIXED_LEVELS else kind(params.hull_degree)
    problems = len(table.class_names) if table.task == "multiclass" else 1
    loss = "squared" if table.task == "regression" else params.hull_loss
    return METHOD.estimator(
        table.task, basis=basis, loss=loss, max_seconds=SECONDS / problems, memory_mb=MEMORY_MB
    )  # fmt: skip


# The path


def key(params: Params) -> tuple[str, Params]:
    """Return the name of the hulls these parameters ask for."""
    return "hulls", params.hulls()


def is_small(params: Params) -> bool:
    """Tell whether the hulls may start without being asked for."""
    return len(cache.split(params).train.y) <= SMALL_ROWS


def ask(params: Params) -> None:
    """Have the worker compute the hulls; it lays the path on the shelf."""
    parts, asked, chosen = cache.split(params), estimator(params), columns(params)
    shelf, name = cache.hulls(params), key(params)

    def work(job: jobs.Job) -> None:
        model.quiet()
        asked.set_params(callback=lambda record: job.stop.is_set())
        names = [parts.train.feature_names[j] for j in chosen]
        rows: Any = Design(parts.train.X[:, chosen], asked.basis, names=names, memory_mb=MEMORY_MB)
        values = path_grid(asked, rows, parts.train.y, "lam", POINTS)[::-1]  # small hulls first: each starts the next
        validation = parts.validation.X[:, chosen], parts.validation.y
        shelf.put(name, fit_path(asked, rows, parts.train.y, "lam", values, *validation, job.tick))

    jobs.start(name, "Hulls", POINTS, work)


@dataclass(frozen=True, eq=False)
class Answer:
    """Hulls to show, the parameters they belong to, and whether they are older ones that wait for their successors."""

    path: Path
    params: Params
    waiting: bool


def answer(params: Params) -> Answer | None:
    """Return what there is to show: the hulls asked for, else those before them on the same table, else nothing."""
    memory, path = st.session_state, cache.hulls(params).get(key(params))
    if path is not None:
        memory["hulls"] = Answer(path, params, waiting=True)
        return Answer(path, params, waiting=False)
    before: Answer | None = memory.get("hulls")
    return before if before is not None and before.params.upto("data") == params.upto("data") else None


# What is read from one hull


def certificate(path: Path, index: int) -> str:
    """Return badge and sentence of one point, in Markdown."""
    fitted, gap = path.estimators[index], style.percent(float(path.relative_gap[index]))
    if fitted.certified_:
        return (
            f":blue-badge[:material/verified: certified] within **{gap}** of the optimum over all "
            f"**{kernel_count(fitted.n_dag_kernels_)}** kernels"
        )
    why = STOPPED.get(path.statuses[index], path.statuses[index].value)
    return f":orange-badge[:material/radio_button_unchecked: not certified] gap **{gap}**: {why}"


def pair(fitted: Any, text: str, chosen: list[int], table: Dataset) -> tuple[int, int]:
    """Return two positions among the ``chosen`` columns: those asked for that enter, else the most relevant ones."""
    asked = [chosen.index(j) for j in read_columns(text, table) if j in chosen]
    ranked = np.argsort(-np.asarray(fitted.relevance_), kind="stable").tolist()
    first, second = list(dict.fromkeys([*asked, *ranked]))[:2]
    return min(first, second), max(first, second)


def written(node: Levels, chosen: list[int]) -> str:
    """Return a node as a link holds it: 3^2*5^1 with the table's column numbers from 1 on; empty for the root."""
    return "*".join(f"{chosen[i] + 1}^{level}" for i, level in enumerate(node) if level)


def node_name(fitted: Any, node: Levels) -> str:
    """Return a node in the words of its basis."""
    return fitted.design_.name(tuple((i, level) for i, level in enumerate(node) if level))


def norms(fitted: Any) -> np.ndarray:
    """Return ||beta_v|| of every node, the largest over the classes."""
    return np.atleast_2d(fitted.component_norms_).max(axis=0)


def by_norm(fitted: Any) -> list[Levels]:
    """Return the nodes of the hull below its root, the largest first."""
    order = np.argsort(-norms(fitted), kind="stable")
    return [fitted.hull_[k] for k in order if any(fitted.hull_[k])]


@dataclass(frozen=True, eq=False)
class Component:
    """What one node adds over one or two columns: positions, values, names, and in words what was held fixed."""

    axes: list[np.ndarray]
    values: np.ndarray
    names: list[str]
    said: str


def component(shown: Answer, index: int, node: Levels) -> Component:
    """Compute what ``node`` adds to the prediction over its columns; all others stand still."""
    fitted, chosen = shown.path.estimators[index], columns(shown.params)
    train = cache.split(shown.params).train
    X = train.X[:, chosen]
    touched = sorted(np.flatnonzero(node).tolist(), key=lambda i: -fitted.relevance_[i])
    drawn, held = sorted(touched[:2]), touched[2:]
    axes = [np.linspace(X[:, i].min(), X[:, i].max(), TICKS) for i in drawn]
    mesh = np.meshgrid(*axes)
    rows = np.tile(X.mean(axis=0), (mesh[0].size, 1))
    for i in held:
        rows[:, i] = np.quantile(X[:, i], 0.75)
    for i, values in zip(drawn, mesh, strict=True):
        rows[:, i] = values.ravel()
    added, said = np.asarray(fitted.component(node, rows)), []
    if added.ndim == 2:
        k = int(np.argmax(np.asarray(fitted.component_norms_)[:, fitted.hull_.index(node)]))
        added = added[:, k]
        said.append(f"For class {train.class_names[k]} against the rest, where it adds most.")
    elif train.task == "binary":
        said.append(f"Above 0 speaks for {train.class_names[1]}.")
    names = [train.feature_names[j] for j in chosen]
    if held:
        said.append(f"Held at the upper quartile: {style.in_words([names[i] for i in held])}.")
    if not fitted.design_.root_is_constant:
        said.append("All other columns stand at their mean: level 0 of this basis is not constant.")
    return Component(axes, added.reshape(mesh[0].shape), [names[i] for i in drawn], " ".join(said))


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
