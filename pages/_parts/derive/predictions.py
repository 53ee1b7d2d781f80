"""Derive one prediction: the model at Explore's cursor, a row's columns as controls, and the row with its changes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.data.dataset import Dataset
from mklcore.data.encoder import Feature, TableEncoder
from mklcore.data.reading import fit_encoder
from mklcore.errors import DataError
from mklcore.estimators.explain import NOVELTY, column_influence, kernels_in_use, problem_names, typical_parts
from mklcore.paths.path import Path
from pages._parts.derive import caches, choices, finals, gram_stacks, low_rank, paths, tables
from pages._parts.derive.opening import opened
from pages._parts.params import places
from pages._parts.params.parameters import DataParams, Params, PathParams
from pages._parts.session import history, uploads

STEPS = 200
LARGEST_WHOLE = 2.0**53  # a browser counts no further
TYPICAL_ROWS = 200
NONE_OF_THEM = "none of these"
PARTS = ("training", "validation", "test")


# The model


@dataclass(frozen=True, eq=False)
class Chosen:
    """The model at Explore's cursor: a path, which of its points, and the parameters it belongs to."""

    path: Path
    index: int
    params: PathParams
    final: Any = None  # the same model fitted on all rows but the test rows

    @property
    def fitted(self) -> Any:
        return self.path.estimators[self.index] if self.final is None else self.final

    @property
    def judged(self) -> Any:
        """Return the model that has not seen the validation rows, which say how right it is."""
        return self.path.estimators[self.index]

    @property
    def train(self) -> Dataset:
        """Return the rows that the model was fitted on."""
        return low_rank.parts(self.params).train if self.final is None else choices.rest(self.params)

    @property
    def value(self) -> float:
        return float(self.path.values[self.index])

    @property
    def key(self) -> tuple[object, ...]:
        return "chosen", paths.key(self.params), self.value


def chosen(params: Params) -> Chosen | None:
    """Return the model at Explore's cursor, once the path is there. Raises ``ParameterError``."""
    path = paths.known(params)
    if path is None:
        return None
    here = places.place(path, params.at)
    if here.exact:
        return Chosen(paths.point(params, here.value), 0, params, finals.fitted(params, here.value))
    return Chosen(path, here.index, params, finals.fitted(params, here.value))


# How files are read


def reading(params: DataParams) -> TableEncoder:
    """Return how a new file becomes rows of this table. Raises ``DataError``."""
    table = tables.table(params)
    if not params.is_upload:
        return TableEncoder.plain(table)
    key = ("reading", params.data, table.fingerprint)
    how, content = tables.reading_options(params), uploads.upload(params.data).content
    return opened(
        caches.result_cache(params), key, content, "Reading the table once more",
        lambda tick: fit_encoder(content, table, tick=tick, **how),
    )  # fmt: skip


# The columns as controls


@dataclass(frozen=True)
class Knob:
    """One control: a number between two ends, or a category whose ``columns`` are 0 or 1.

    ``step`` 1 means whole numbers.
    """

    label: str
    columns: tuple[int, ...]
    low: float = 0.0
    high: float = 0.0
    step: float = 0.0
    levels: tuple[str, ...] = ()
    shown: tuple[tuple[str, int], ...] = ()

    def level(self, row: np.ndarray) -> str:
        """Return the category that ``row`` has."""
        for name, column in self.shown:
            if row[column] > 0.5:
                return name
        rest = [name for name in self.levels if name not in dict(self.shown)]
        return rest[0] if rest else NONE_OF_THEM

    def columns_of(self, level: str) -> dict[int, float]:
        """Return what the columns are when the category is ``level``."""
        return {column: float(name == level) for name, column in self.shown}


def knobs(params: DataParams) -> tuple[Knob, ...]:
    """Return one control per column of the file, in its order."""
    table = tables.table(params)
    return caches.result_cache(params).made(("knobs", table.fingerprint), lambda: _knobs(params, table))


def _knobs(params: DataParams, table: Dataset) -> tuple[Knob, ...]:
    try:
        features = reading(params).features
    except DataError:
        features = TableEncoder.plain(table).features
    made: dict[str, Knob] = {}
    for j, feature in enumerate(features):
        if feature.role in ("number", "gap", "share"):
            made[f"number {j}"] = _number(feature.name, j, table.X[:, j])
        elif feature.column not in made:
            made[feature.column] = _category(feature.column, features)
    return tuple(made.values())


def _number(name: str, j: int, values: np.ndarray) -> Knob:
    low, high = float(values.min()), float(values.max())
    safe = max(abs(low), abs(high)) < LARGEST_WHOLE
    if safe and bool((values == np.round(values)).all()) and high - low <= 10 * STEPS:
        return Knob(name, (j,), low, high, 1.0)
    raw = (high - low) / STEPS
    return Knob(name, (j,), low, high, float(f"{raw:.0e}") if raw > 0 else 1.0)


def _category(column: str, features: tuple[Feature, ...]) -> Knob:
    members = [(j, feature) for j, feature in enumerate(features) if feature.column == column]
    shown = tuple((feature.level, j) for j, feature in members)
    known = members[0][1].known
    extra = tuple(feature.level for _, feature in members if feature.role != "level")
    levels = known + tuple(level for level in extra if level not in known)
    return Knob(column, tuple(j for j, _ in members), levels=levels, shown=shown)


# The row


@dataclass(frozen=True, eq=False)
class Row:
    """A row of the table, the same with its changes, its true target and the part of the split it is in."""

    number: int
    before: np.ndarray
    now: np.ndarray
    target: str
    part: str
    moves: dict[int, float]


def row(params: Params) -> Row:
    """Return the row in use; a number beyond the table is its last row."""
    table = tables.table(params)
    number = min(params.row, table.n_samples)
    before = table.table[number - 1]
    moves = {j: value for j, value in read_moves(params.moved).items() if j < table.n_features}
    now = before.copy()
    now[list(moves)] = list(moves.values())
    return Row(number, before, now, str(table.y[number - 1]), _part(params, number - 1), moves)


def _part(params: Params, index: int) -> str:
    """Return in which part of the split a row of the table is; rows that are alike count as one."""
    x, parts = tables.table(params).X[index], tables.split(params)
    for name, part in zip(PARTS, (parts.train, parts.validation, parts.test), strict=True):
        if bool((x == part.X).all(axis=1).any()):
            return name
    return PARTS[0]


def read_moves(text: str) -> dict[int, float]:
    """Return the changes a link names: column index -> value."""
    pairs = (part.split("=") for part in text.split(",") if part)
    return {int(column) - 1: float(value) for column, value in pairs if int(column) > 0}


def written(moves: dict[int, float]) -> str:
    """Return changes as a link holds them."""
    return ",".join(f"{j + 1}={value!r}" for j, value in sorted(moves.items()))


def move(knob: Knob, values: dict[int, float]) -> None:
    """Set columns of the row, as a step that can be undone; what is as in the row is no change."""
    params = history.current()
    here = row(params)
    moves = {**here.moves, **values}
    history.change(moved=written({j: float(v) for j, v in moves.items() if v != here.before[j]}))


# The prediction


@dataclass(frozen=True, eq=False)
class Spoken:
    """What the model says about a row and its start: labels, decision values (T,), and what each kernel adds (m, T)."""

    kernels: list[int]
    outputs: tuple[str, ...]
    said: str
    said_before: str
    values: np.ndarray
    values_before: np.ndarray
    parts: np.ndarray
    parts_before: np.ndarray
    intercept: np.ndarray
    winner: int


def spoken(point: Chosen, here: Row) -> Spoken:
    """Return the prediction for the row with its changes and for the row as it was."""
    fitted = point.fitted
    both = np.stack([here.now, here.before])
    kernels = kernels_in_use(fitted)
    parts = np.asarray(fitted.contributions(both, kernels), dtype=float)
    parts = parts[..., None] if parts.ndim == 2 else parts
    intercept = np.atleast_1d(np.asarray(fitted.intercept_, dtype=float))
    values = parts.sum(axis=0) + intercept
    without_target = tables.table(point.params).task == "novelty"
    labels = [str(one) for one in (ordinary(fitted.predict(both)) if without_target else fitted.predict(both))]
    outputs = problem_names(fitted)
    winner = _winner(outputs, labels[0], values[0]) if outputs else 0
    return Spoken(
        kernels, outputs, labels[0], labels[1], values[0], values[1], parts[:, 0], parts[:, 1], intercept, winner
    )


def ordinary(said: np.ndarray) -> np.ndarray:
    """Return the answers +1 and -1 of novelty detection."""
    return np.where(np.asarray(said) > 0, NOVELTY[1], NOVELTY[0])


def _winner(outputs: tuple[str, ...], label: str, values: np.ndarray) -> int:
    """Return the output that speaks for the label: its class, or the pair in which it wins by most."""
    if label in outputs:
        return outputs.index(label)
    sides = [(abs(value), k) for k, (name, value) in enumerate(zip(outputs, values, strict=True))
             if label == (name.split(" against ")[0] if value > 0 else name.split(" against ")[-1])]  # fmt: skip
    return max(sides)[1] if sides else 0


def typical(point: Chosen) -> np.ndarray:
    """Return how much each kernel in use adds on an average training row, (m,): the order of the bars."""

    def measure() -> np.ndarray:
        return typical_parts(point.fitted, gram_stacks.parts(point.params).train.table[:TYPICAL_ROWS])

    return caches.result_cache(point.params).made((*point.key, "typical"), measure)


def by_influence(point: Chosen) -> tuple[int, ...]:
    """Return the places of the controls, those of the columns with the largest influence first."""
    every, heard = knobs(point.params), column_influence(point.fitted, typical(point))
    return tuple(sorted(range(len(every)), key=lambda k: -float(heard[list(every[k].columns)].sum())))
