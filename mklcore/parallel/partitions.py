"""Rows in parts that are never together: models of squared and sloped losses from sums, predictions and scores part by
part.

A part is what ``parts(k)`` gives, a table X (n_k, d) and a target y (n_k,); it is read where it is used, in this
process, in others, or on the workers of a cluster, which send back sums of size (D + 1, D + 1) or the predictions of
the part. Landmarks, scales and widths of the kernels are those of rows drawn from all parts; everything after that is
exact over all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow.parquet
from sklearn.base import clone, is_classifier

from mklcore.arrays import Array
from mklcore.errors import DataError
from mklcore.estimators.totals import Totals, check_summable, fit_in_passes, fit_totals, is_passed, signed_target
from mklcore.parallel.cluster import one_client
from mklcore.parallel.sweep import sweep
from mklcore.solvers.streaming import LossSums

_ROWS = 4096  # whose features are made at a time

Progress = Callable[[int, int], Any] | None


class Parts(Protocol):
    """Rows in parts: how many there are, and part k as a table (n_k, d) and its target (n_k,)."""

    def __len__(self) -> int: ...

    def __call__(self, k: int) -> tuple[Array, Any]: ...


@dataclass(frozen=True, eq=False)
class ArrayParts:
    """A table (n, d) and its target in stretches of ``size`` rows."""

    X: Array
    y: Any
    size: int

    def __len__(self) -> int:
        return -(-len(self.X) // self.size)

    def __call__(self, k: int) -> tuple[Array, Any]:
        part = slice(k * self.size, (k + 1) * self.size)
        return self.X[part], np.asarray(self.y)[part]


@dataclass(frozen=True)
class ParquetParts:
    """The Parquet files of a folder, one part each: ``target`` and ``columns`` by name.

    Workers read them where they are.
    """

    files: tuple[str, ...]
    target: str
    columns: tuple[str, ...]

    @classmethod
    def of(cls, folder: str | Path, target: str, columns: Sequence[str] | None = None) -> ParquetParts:
        """All files that end in .parquet in and below ``folder``; without ``columns`` all of the first but the
        target.
        """
        files = tuple(str(file) for file in sorted(Path(folder).rglob("*.parquet")))
        if not files:
            raise DataError(
                f"The folder {str(folder)[:200]!r} holds no file that ends in .parquet; expected at least one."
            )
        there = pyarrow.parquet.read_schema(files[0]).names
        if target not in there:
            raise DataError(f"The file {files[0]!r} has no column {target!r}; it has {', '.join(map(str, there))}.")
        return cls(files, target, tuple(columns or (name for name in there if name != target)))

    def __len__(self) -> int:
        return len(self.files)

    def __call__(self, k: int) -> tuple[Array, Any]:
        file = self.files[k]
        frame = pyarrow.parquet.read_table(file, columns=[*self.columns, self.target]).to_pandas()
        try:
            X = frame[list(self.columns)].to_numpy(dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(
                f"The file {file!r} holds columns that are no numbers; name the others in `columns`."
            ) from None
        if not np.isfinite(X).all():
            raise DataError(f"The file {file!r} holds missing or infinite numbers; fill them or leave these rows out.")
        return X, frame[self.target].to_numpy()


def fit_parts(
    estimator: Any,
    parts: Parts,
    *,
    sample: int = 10_000,
    seed: int = 0,
    backend: str | Executor = "serial",
    callback: Progress = None,
) -> Any:
    """``estimator`` fitted on all rows of ``parts``: an lp-norm estimator with squared or logistic loss or the squared
    hinge, or MKL-GOMP, for a number or for two classes, with ``approximation=Nystroem(...)``. It is not changed.

    ``sample`` rows, drawn from all parts with ``seed``, give landmarks, scales and widths. ``backend`` as in ``sweep``;
    the sums are added in the order of the parts, so that the model is the same wherever they were made.
    ``callback(done, total)`` after every part; sloped losses read all parts about ten times. ParameterError for other
    estimators; DataError for parts that do not fit each other.
    """
    check_summable(estimator)
    with one_client(backend):
        return _fitted(estimator, parts, sample, seed, backend, callback)


def _fitted(estimator: Any, parts: Parts, sample: int, seed: int, backend: str | Executor, callback: Progress) -> Any:
    drawn = sweep(partial(_drawn, parts, -(-sample // len(parts)), seed), range(len(parts)), backend).values()
    X, y = np.concatenate([rows for rows, _ in drawn]), np.concatenate([target for _, target in drawn])
    started = clone(estimator)
    started.set_params(callback=estimator.callback)
    stack, _ = started.training_stack(X, y)
    if is_classifier(started) and len(started.classes_) > 2:
        raise DataError(
            f"The target has {len(started.classes_)} classes; rows in parts are learnt for a number or two classes. "
            f"Fit one "
            "class against the rest at a time."
        )
    if is_passed(started):
        run = partial(_passed, parts, stack.transform, started)

        def ask(v: Array, b: float) -> LossSums:
            found = sweep(run, [_Place(k, v, b) for k in range(len(parts))], backend, callback=callback)
            return reduce(LossSums.__add__, found.values())

        return fit_in_passes(started, stack, ask)
    sums = sweep(
        partial(_summed, parts, stack.transform, started), range(len(parts)), backend, callback=callback
    ).values()
    return fit_totals(started, stack, reduce(Totals.__add__, sums))


def predict_parts(
    model: Any, parts: Parts, *, backend: str | Executor = "serial", callback: Progress = None
) -> list[Array]:
    """The predictions of ``model`` for every part, in their order."""
    return list(sweep(partial(_predicted, model, parts), range(len(parts)), backend, callback=callback).values())


def score_parts(model: Any, parts: Parts, *, backend: str | Executor = "serial", callback: Progress = None) -> float:
    """The score of ``model`` on all rows of ``parts``: the share of classes that are right, or R²; only sums are
    sent.
    """
    found = sweep(partial(_judged, model, parts), range(len(parts)), backend, callback=callback).values()
    wrong = sum(missed for missed, _ in found)
    of_all = reduce(Totals.__add__, (totals for _, totals in found))
    most = of_all.n if is_classifier(model) else float(of_all.scatter[0, 0])
    return 1.0 - wrong / most if most > 0.0 else float(wrong == 0.0)


# What is run on a part


def _drawn(parts: Parts, most: int, seed: int, k: int) -> tuple[Array, Any]:
    X, y = parts(k)
    rng = np.random.default_rng([seed, k])
    some = np.sort(rng.choice(len(X), min(most, len(X)), replace=False))
    return X[some], np.asarray(y)[some]


def _pieces(parts: Parts, transform: Any, started: Any, k: int) -> Iterator[tuple[Array, Array]]:
    """The features of some rows of a part after the other, and their target."""
    X, y = parts(k)
    signed = signed_target(started, y)
    for top in range(0, len(X), _ROWS):
        yield transform.cross(X[top : top + _ROWS]).table, signed[top : top + _ROWS]


def _summed(parts: Parts, transform: Any, started: Any, k: int) -> Totals:
    return reduce(Totals.__add__, (Totals.of(*piece) for piece in _pieces(parts, transform, started, k)))


@dataclass(frozen=True, eq=False)
class _Place:
    """A part, and the model at which its losses are summed: all that is sent with every pass."""

    k: int
    v: Array
    b: float


def _passed(parts: Parts, transform: Any, started: Any, at: _Place) -> LossSums:
    pieces = _pieces(parts, transform, started, at.k)
    return reduce(LossSums.__add__, (LossSums.of(started.loss_in_use, *piece, at.v, at.b) for piece in pieces))


def _predicted(model: Any, parts: Parts, k: int) -> Array:
    found: Array = model.predict(parts(k)[0])
    return found


def _judged(model: Any, parts: Parts, k: int) -> tuple[float, Totals]:
    """Errors (wrong ones, or the sum of squares), and what the target says of how it varies; of classes their number
    alone.
    """
    X, y = parts(k)
    said = model.predict(X)
    if is_classifier(model):
        return float(np.sum(said != y)), Totals.of(np.empty((len(y), 0)), np.zeros(len(y)))
    return float(np.sum((said - y) ** 2)), Totals.of(np.empty((len(y), 0)), y)
