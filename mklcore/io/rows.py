"""Many rows: lp-norm MKL on tables that do not fit in memory, block by block, here or with Dask.

    min_{v, b, theta}  C sum_i V(phi_i'v + b, y_i) + 1/2 sum_m ||v_m||^2 / theta_m
    over  ||theta||_p <= 1

phi_i are Nystroem features: landmarks, widths and scales come from a sample of the rows, the rest
is exact over all of them. The squared loss needs Z'1 and Z'Z of Z = [Phi, y], which is one pass:
any table with the same sums has the same solutions, so that the usual solvers work on the D + 1
rows of a root of Z'Z. The logistic loss and the squared hinge are solved by Newton's method: one
pass at (v, b) gives value, gradient and Hessian of the sum of losses, and the next point is the
optimum of this quadratic model, again a problem of D + 1 rows. The step is halved while the
objective does not decrease.

Each of these passes also gives a certificate: its slopes are a dual, a_i = -C V'(t_i). A free
intercept requires that a sums to zero, so that the duals of the heavier class are multiplied by
r <= 1. The dual terms are concave and zero at zero, so that they keep at least the share r of their
value.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import pandas
from sklearn.base import is_classifier

from mklcore._lazy import import_extra
from mklcore.arrays import Array, one_blas_thread
from mklcore.data.columns import ReadOptions
from mklcore.data.dataset import Dataset
from mklcore.data.frames import as_table, is_frame
from mklcore.data.reading import encoder_of, read_parsed
from mklcore.data.splitting import codes_of
from mklcore.errors import DataError, MKLError, ParameterError, Progress
from mklcore.estimators.lp import LpMKLClassifier, LpMKLRegressor
from mklcore.estimators.targets import signs
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.features import FeatureMap, Features, Nystroem, sum_by_kernel
from mklcore.lp.reweighting import certifies
from mklcore.lp.schedule import fit_weighted, on_root
from mklcore.parameters import check_choice
from mklcore.problem.driver import Fit, Iterate, Method, Status, Trace, run, warn_unless_converged
from mklcore.problem.losses import Loss, make_loss
from mklcore.problem.penalties import Penalty
from mklcore.problem.problem import WarmStart

LOSSES = ("squared", "logistic", "squared_hinge")
_SAMPLE = 10_000  # rows for landmarks, widths and scales
_TARGET = "\0target"  # the target of a table in memory, a name that no column has
_BLOCK = 100_000  # rows of a block of a table in memory
_BYTES = 2**25  # of a CSV block
_PIECE = 4096  # rows whose features are computed at a time
_SHARE = 0.03  # the quadratic model of a Newton step is solved to this share of the gap,
_LEAST = 1e-12  # but no further than this
_HALVINGS = 12  # of a Newton step
_CUT = 1e-14  # directions below this share of the largest eigenvalue are rounding
_NONE = np.empty(0)
# The columns (n, d) and the target (n,) of parts of a block.
Blocks: TypeAlias = Iterable[tuple[pandas.DataFrame, Any]]


def fit_rows(
    source: Any,
    target: Any = None,
    *,
    kernels: KernelDictionary,
    p: float = 4 / 3,
    C: float = 1.0,
    loss: str = "squared",
    n_components: int = 200,
    random_state: int = 0,
    tol: float = 1e-3,
    callback: Progress | None = None,
) -> Any:
    """Learn kernel weights on more rows than memory holds; the certificate is over all of them.

    Parameters
    ----------
    source : str, path, list of them, Dask DataFrame or array, DataFrame or Dataset
        A folder of Parquet or CSV files, such files, or a Dask collection, whose columns but the
        target are numbers; or a table in memory: a data frame, which is read as `read_table` does,
        or what that has read. The model of such a table predicts its raw rows.
    target : str, int or Dask array
        Name of the target's column; of a Dask array the number of its column, or another Dask array
        (n,). A `Dataset` has its own.
    kernels : KernelDictionary
        The kernels to combine, of which Nystroem features are made.
    p : float, default 4/3
        Order of the norm on the kernel weights, from 1 to infinity.
    C : float, default 1.0
        Cost of one unit of loss, > 0.
    loss : str, default "squared"
        "squared" for a target of numbers or two classes; "logistic" or "squared_hinge" for two
        classes.
    n_components : int, default 200
        Number of landmarks, which all kernels share.
    random_state : int, default 0
        Seed of the sample of 10,000 rows that gives landmarks, widths and scales, and of the
        landmarks.
    tol : float, default 1e-3
        Relative duality gap at which the solver stops, > 0.
    callback : callable or None, default None
        Called with the blocks done and their number after every block of a pass; what it raises
        ends the fit.

    Returns
    -------
    LpMKLRegressor or LpMKLClassifier
        Fitted; ``relative_gap_`` is over all rows. It holds no row: ``dual_coef_`` is empty,
        ``dual_point_`` None.

    Raises
    ------
    ParameterError
        Without Dask, or for another loss.
    DataError
        By the name of the file: other columns or types than in the first one, targets that are
        missing, a single class or more than two, values that are missing, infinite or no numbers;
        for a table with texts, sequences or weights of rows, and one without a target.

    Notes
    -----
    Works with the threads of this process, or on the active ``distributed.Client``, whose workers
    read the files; sums are added in the order of the blocks, so that the model is the same. One
    block and the sums, (D + 1)² numbers for D features, are held per thread. Squared loss reads the
    source twice, the other losses about six times.
    """
    check_choice("loss", loss, LOSSES)
    table = _RowSource.of(source, target, callback)
    with one_blas_thread():
        drawn = table.sample(random_state, loss)
        how = {"p": p, "C": C, "tol": tol, "kernels": kernels, "loss": loss}
        kind: Any = LpMKLClassifier if drawn.classes.size else LpMKLRegressor
        model = kind(
            approximation=Nystroem(n_components, random_state), random_state=random_state, **how
        )
        stack, y = model.training_stack(drawn.X, drawn.y)
        positive = model.classes_[1] if is_classifier(model) else None
        solve = _from_sums if loss == "squared" else _by_newton
        signed = y if positive is None else signs(y, 1)
        fit, v, intercept = solve(model, stack, signed, positive, table)
    warn_unless_converged(fit, tol)
    model._publish(fit)
    model._remember_kernels(stack.take(np.empty(0, dtype=np.int64)))
    spread = stack.spread(fit.weights)
    none = np.zeros_like(v)
    model.feature_coef_ = np.divide(v, spread, out=none, where=spread > 0.0)
    model.intercept_ = intercept
    if table.data is not None:
        _know_table(model, table.data)
    model.dual_coef_ = _NONE
    model.dual_point_ = None
    model.n_train_ = table.n
    model.training_target_ = None
    model.row_fingerprints_ = None
    return model


def _know_table(model: Any, data: Dataset) -> None:
    """Give a model of numbers the columns and classes of the table they come from."""
    del model.feature_names_in_
    model.encoder_ = encoder_of(data)
    model.source_columns_ = data.columns
    if is_classifier(model):
        model.classes_ = np.unique(data.y)


# The table as blocks, each with the name of its source


class _DrawnRows(NamedTuple):
    """A random sample from n rows: each row has a random key, and the smallest keys win.

    The first row of every class has a key below zero, so that it stays. The rows keep their order.
    """

    n: int
    keys: Array
    X: pandas.DataFrame
    y: Any

    @classmethod
    def of(
        cls,
        X: pandas.DataFrame,
        y: Any,
        rng: np.random.Generator,
        loss: str,
    ) -> _DrawnRows:
        """A sample of some rows."""
        keys = rng.random(len(y))
        if loss != "squared" or not _is_number(y):
            keys[np.unique(y, return_index=True)[1]] -= 1.0
        return cls(len(y), keys, X, y)._smallest()

    def __add__(self, other: _DrawnRows) -> _DrawnRows:  # type: ignore[override]
        other.keys[(other.keys < 0) & np.isin(other.y, self.classes)] += 1.0
        pairs = (
            np.append(self.keys, other.keys),
            pandas.concat([self.X, other.X]),
            np.append(self.y, other.y),
        )
        return _DrawnRows(self.n + other.n, *pairs)._smallest()

    def _smallest(self) -> _DrawnRows:
        if len(self.keys) <= _SAMPLE:
            return self
        rows = np.sort(np.argpartition(self.keys, _SAMPLE)[:_SAMPLE])
        return _DrawnRows(
            self.n,
            self.keys[rows],
            self.X.iloc[rows],
            self.y[rows],
        )

    @property
    def classes(self) -> Any:
        """The classes that have occurred."""
        return self.y[self.keys < 0]


@dataclass(eq=False)
class _RowSource:
    """Blocks of rows, each with the name of its source and a way to its frames, and the columns.

    ``data`` is the table in memory, if there is one.
    """

    blocks: list[tuple[str, Any]]
    columns: list[Any]
    target: Any
    callback: Progress | None
    n: int = 0
    data: Dataset | None = None

    @classmethod
    def of(cls, source: Any, target: Any, callback: Progress | None) -> _RowSource:
        """The blocks of files, of a Dask collection, or of a table in memory."""
        try:
            from dask import array, dataframe  # an extra
        except ImportError:
            raise ParameterError(
                "fit_rows needs Dask, which is not installed: pip install 'mklcore[dask]'."
            ) from None
        if isinstance(source, Dataset) or (
            is_frame(source) and not isinstance(source, dataframe.DataFrame)
        ):
            data = _table_in_memory(source, target)
            blocks, columns = _blocks_of(data)
            return cls(blocks, columns, _TARGET, callback, data=data)
        if isinstance(source, array.Array):
            if isinstance(target, array.Array):
                parts = [source, target.rechunk(source.chunks[:1])[:, None]]
                target = source.shape[1]
                source = array.concatenate(parts, axis=1)
            source = dataframe.from_dask_array(source.rechunk({1: -1}))
        if isinstance(source, dataframe.DataFrame):
            columns = list(source.columns)
            blocks = [
                (f"Partition {k} of the Dask collection", part)
                for k, part in enumerate(source.to_delayed())
            ]
        else:
            blocks, columns = _files(source)
        if target not in columns:
            raise DataError(
                f"{blocks[0][0]} has no column {target!r}; it has "
                f"{', '.join(map(str, columns[:20]))}. Name one of them as the target."
            )
        return cls(blocks, [name for name in columns if name != target], target, callback)

    def each(self, task: Callable[..., Any]) -> Iterator[Any]:
        """``task`` of every block in order, computed by all threads."""
        import dask  # an extra

        delayed = dask.delayed(partial(_of_block, task, self.columns, self.target), traverse=False)
        at_once = _threads()
        count = len(self.blocks)
        for top in range(0, count, at_once):
            window = range(top, min(top + at_once, count))
            results = dask.compute(*(delayed(k, *self.blocks[k]) for k in window))
            for k, result in zip(window, results, strict=True):
                yield result
                if self.callback is not None:
                    self.callback(k + 1, count)

    def sample(self, seed: int, loss: str) -> _DrawnRows:
        """Check every row, and draw a sample."""
        drawn: _DrawnRows | None = None
        full = list[tuple[str, Any]]()
        samples = self.each(partial(_sampled, seed, loss))
        for block, found in zip(self.blocks, samples, strict=True):
            if found is None:
                continue
            full.append(block)
            if drawn is not None and _is_number(found.y) != _is_number(drawn.y):
                raise DataError(
                    f"{block[0]} and {full[0][0]} have targets of different types: numbers "
                    "in one, none in the other. Write both with the same types."
                )
            drawn = found if drawn is None else drawn + found
            if drawn.classes.size > 2:
                raise DataError(
                    f"{block[0]} holds a third class, {drawn.classes[-1]!r}, and fit_rows "
                    "learns two. Fit one class against the rest at a time."
                )
        if drawn is None:
            raise DataError(
                f"{self.blocks[0][0]} has no rows, nor have any others; expected at least two."
            )
        if drawn.classes.size == 1:
            others = " and all others hold" if len(full) > 1 else " holds"
            raise DataError(
                f"{full[0][0]}{others} the class {drawn.classes[0]!r} alone; a classifier "
                "needs two."
            )
        self.blocks = full
        self.n = drawn.n
        return drawn


def _threads() -> int:
    """How many blocks are computed at a time."""
    try:
        from distributed import get_client  # an extra

        count: int = max(1, sum(get_client().nthreads().values()))
    except (ImportError, ValueError):  # there is no client
        from dask.system import CPU_COUNT  # an extra

        count = CPU_COUNT
    return count


# A table in memory


def _table_in_memory(source: Any, target: Any) -> Dataset:
    """The table in a data frame or `Dataset`; DataError if sums over rows cannot learn from it."""
    if isinstance(source, Dataset):
        data = source
    elif isinstance(target, str):
        data = read_parsed(as_table(source, ReadOptions()), ReadOptions(target=target))
    else:
        raise DataError(
            "Which column is to be predicted? Name it, as in fit_rows(frame, 'price', kernels=...)."
        )
    data.check_target(target)
    lacks = {
        "has no target": data.task == "novelty",
        "has texts or sequences, which are no numbers": bool(data.strings),
        "has weights of rows, and fit_rows counts every row once": data.sample_weight is not None,
        f"has {len(np.unique(data.y))} classes, and fit_rows learns two": data.task == "multiclass",
    }
    for why, holds in lacks.items():
        if holds:
            raise DataError(f"fit_rows cannot learn from this table: it {why}.")
    return data


def _blocks_of(
    data: Dataset,
) -> tuple[list[tuple[str, Any]], list[Any]]:
    """The blocks of a table with its target as a column: classes are the texts of their codes."""
    y: Any = data.y
    if data.task != "regression":
        y = codes_of(data.y).astype(str).astype(object)
    frame = pandas.DataFrame(data.X, columns=list(data.feature_names)).assign(**{_TARGET: y})
    starts = range(0, len(frame), _BLOCK)
    blocks = [("The table", frame.iloc[first : first + _BLOCK]) for first in starts]
    return blocks, list(data.feature_names)


# Files


def _files(
    source: Any,
) -> tuple[list[tuple[str, Any]], list[str]]:
    """The blocks of Parquet and CSV files, and the columns, which all files share."""
    given = [source] if isinstance(source, (str, Path)) else list(source)
    files = list[Path]()
    for path in map(Path, given):
        if path.is_dir():
            files += sorted(file for file in path.rglob("*") if file.suffix in _READERS)
        else:
            files.append(path)
    if not files:
        raise DataError(
            f"{str(source)[:200]!r} holds no file that ends in {' or '.join(_READERS)}; "
            "expected at least one."
        )
    blocks = []
    shared = None
    for file in files:
        if file.suffix not in _READERS or not file.is_file():
            raise DataError(f"{str(file)!r} is no file that ends in {' or '.join(_READERS)}.")
        name = f"The file {str(file)!r}"
        try:
            columns, frames = _READERS[file.suffix](file)
        except _read_errors() as error:
            raise DataError(
                f"{name} cannot be read as {file.suffix[1:]}: {str(error)[:200]}"
            ) from None
        if shared is not None and sorted(columns) != sorted(shared):
            odd = sorted({*columns} ^ {*shared}) or columns
            raise DataError(
                f"{name} has other columns than {blocks[0][0].lower()}: "
                f"{', '.join(odd[:10])}. Write all files with the same columns."
            )
        shared = shared or columns
        blocks += [(name, one) for one in frames]
    return blocks, shared or []


def _read_errors() -> tuple[type[Exception], ...]:
    """The errors of the readers of files; pyarrow's own ones if it has been loaded."""
    arrow = sys.modules.get("pyarrow")
    return (OSError, ValueError) if arrow is None else (OSError, ValueError, arrow.ArrowException)


def _parquet(file: Path) -> tuple[list[str], list[Any]]:
    """The columns, and a block for every row group."""
    parquet = import_extra("pyarrow.parquet", "tables", "Parquet files")
    footer = parquet.read_metadata(file)
    blocks = [partial(_row_group, str(file), k) for k in range(footer.num_row_groups)]
    return list(parquet.read_schema(file).names), blocks


def _row_group(
    file: str,
    group: int,
    columns: list[str],
) -> Iterator[pandas.DataFrame]:
    parquet = import_extra("pyarrow.parquet", "tables", "Parquet files")
    batches = parquet.ParquetFile(file).iter_batches(2**16, row_groups=[group], columns=columns)
    return (batch.to_pandas() for batch in batches)


def _csv(file: Path) -> tuple[list[str], list[Any]]:
    """The columns, and blocks that end where lines do."""
    import dask  # an extra
    from dask.bytes import read_bytes  # an extra

    columns = list(pandas.read_csv(file, nrows=0).columns)
    _, ((first, *others),) = read_bytes(
        str(file),
        delimiter=b"\n",
        blocksize=_BYTES,
        sample=False,
    )
    lines = dask.delayed(_lines)
    return columns, [lines(first, columns, 0), *(lines(part, columns, None) for part in others)]


def _lines(content: bytes, columns: list[str], header: int | None) -> Any:
    try:
        return pandas.read_csv(BytesIO(content), names=columns, header=header)
    except ValueError as error:
        return error  # it is raised later, where the name of the file is known


_READERS = {".parquet": _parquet, ".csv": _csv}


# Computations on one block


def _of_block(
    task: Callable[..., Any], columns: list[Any], target: Any, k: int, name: str, frames: Any
) -> Any:
    """``task`` of block k and its checked rows, part by part."""
    try:
        parts = frames([*columns, target]) if callable(frames) else [frames]
        return task(k, (_checked(name, frame, columns, target) for frame in parts))
    except _read_errors() as error:
        if isinstance(error, MKLError):
            raise
        raise DataError(f"{name} cannot be read: {str(error)[:200]}") from None


def _checked(
    name: str, frame: Any, columns: list[Any], target: Any
) -> tuple[pandas.DataFrame, Any]:
    """The columns as finite numbers (n, d), and the target (n,): numbers, truth values or text."""
    if isinstance(frame, Exception):
        raise frame
    for column in columns:
        if not pandas.api.types.is_numeric_dtype(frame[column].dtype):
            raise DataError(
                f"{name} holds values in the column {column!r} that are no numbers. Code "
                "them, or leave the column out."
            )
    X = frame[columns].astype(np.float64)
    y = frame[target]
    is_number = pandas.api.types.is_numeric_dtype(y.dtype)
    missing = ~np.isfinite(y.astype(np.float64)) if is_number else y.isna()
    if missing.any():
        raise DataError(
            f"{name} has no target ({target!r}) in {int(missing.sum())} rows. Fill them, "
            "or leave these rows out."
        )
    finite = np.isfinite(X.to_numpy()).all(axis=0)
    if not finite.all():
        raise DataError(
            f"{name} holds missing or infinite values in the column "
            f"{columns[int(np.argmin(finite))]!r}. Fill them, or leave these rows out."
        )
    labels = (
        y.to_numpy(dtype=getattr(y.dtype, "numpy_dtype", y.dtype))
        if is_number
        else y.astype(str).to_numpy(object)
    )
    return X, labels


def _is_number(y: Any) -> bool:
    return y.dtype.kind in "iuf"


def _sampled(seed: int, loss: str, k: int, parts: Blocks) -> _DrawnRows | None:
    """A sample of the block; None without rows."""
    rng = np.random.default_rng([seed, k])
    drawn = [_DrawnRows.of(X, y, rng, loss) for X, y in parts if len(y)]
    return reduce(operator.add, drawn) if drawn else None


def _features(
    transform: FeatureMap,
    positive: Any,
    parts: Blocks,
) -> Iterator[tuple[Array, Array]]:
    """Features (n, D) and target (n,), a few rows at a time.

    The label ``positive`` becomes +1, any other -1; None keeps the target.
    """
    for X, y in parts:
        rows = X.to_numpy()
        targets = y if positive is None else signs(y, positive)
        for top in range(0, len(rows), _PIECE):
            part = slice(top, top + _PIECE)
            yield transform.cross(rows[part]).table.astype(np.float64), targets[part]


def _added(first: Any, second: Any) -> Any:
    return tuple(map(operator.iadd, first, second))


# Squared loss


def _squares(
    transform: FeatureMap, positive: Any, near: Array, k: int, parts: Blocks
) -> tuple[Array, Array]:
    """Z'1 (D + 1,) and Z'Z (D + 1, D + 1) of Z = [Phi, y] - near.

    Far from zero, the differences of squares would have no correct digits.
    """
    ones = np.zeros(near.size)
    squares = np.zeros((near.size, near.size))
    for features, y in _features(transform, positive, parts):
        Z = np.column_stack([features, y]) - near
        ones += Z.sum(axis=0)
        squares += Z.T @ Z
    return ones, squares


def _from_sums(
    model: Any,
    stack: Features,
    y: Array,
    positive: Any,
    table: _RowSource,
) -> tuple[Fit, Array, float]:
    """Fit the squared loss from the sums over all rows, centred by hand."""
    means = stack.table.mean(axis=0, dtype=np.float64)
    near = np.append(means, y.mean())
    sums = table.each(partial(_squares, stack.transform, positive, near))
    ones, squares = reduce(_added, sums)
    root, target = on_root(stack, squares - np.outer(ones, ones / table.n))
    loss = model.loss_in_use
    rest = {"tol": model.tol, "max_iter": model.max_iter}
    fit = fit_weighted(root, target, model.C, loss, model.penalty_in_use, False, **rest)
    means = near + ones / table.n
    v = root.spread(fit.weights) * root.coefficients(fit.dual_coef)
    return fit, v, float(means[-1] - means[:-1] @ v)


# Logistic loss and squared hinge


class _Losses(NamedTuple):
    """Sums over the rows at one (v, b), for C = 1.

    The sum of losses; for each class of the target -1, +1 the slopes Phi'a (2, D), the sums of |a|
    and the dual terms (2,); and the sum of V'' z z' of z = (phi, 1), (D + 1, D + 1).
    """

    value: float
    slopes: Array
    sizes: Array
    linear: Array
    hessian: Array


def _losses(
    transform: FeatureMap, positive: Any, loss: Loss, v: Array, b: float, k: int, parts: Blocks
) -> _Losses:
    return _summed(loss, v, b, _features(transform, positive, parts))


def _summed(
    loss: Loss,
    v: Array,
    b: float,
    pieces: Iterable[tuple[Array, Array]],
) -> _Losses:
    total: Any = (
        0.0,
        np.zeros((2, v.size)),
        np.zeros(2),
        np.zeros(2),
        np.zeros((v.size + 1, v.size + 1)),
    )
    for features, y in pieces:
        t = features @ v + b
        a = -loss.derivative(t, y)
        classes = (y < 0, y > 0)
        Z = (
            np.column_stack([features, np.ones(t.size)])
            * np.sqrt(loss.second_derivative(t, y))[:, None]
        )
        found = (
            float(loss.value(t, y).sum()),
            np.array([a[of_class] @ features[of_class] for of_class in classes]),
            np.array([float(np.abs(a[of_class]).sum()) for of_class in classes]),
            np.array([loss.dual(a[of_class], y[of_class], 1.0) for of_class in classes]),
            Z.T @ Z,
        )
        total = _added(total, found)
    return _Losses(*total)


@dataclass(frozen=True, eq=False)
class _At:
    """The point of a pass, and the sums there."""

    v: Array
    sums: _Losses


@dataclass(eq=False)
class _RowsNewton(Method[_At]):
    """Newton's method for the driver, from ``start``; ``sums_at(v, b)`` is one pass over rows."""

    stack: Features
    sums_at: Callable[[Array, float], _Losses]
    C: float
    penalty: Penalty
    tol: float
    start: tuple[Array, float]

    def __post_init__(self) -> None:
        self.name = f"{self.penalty.name} by Newton's method on sums over the rows"

    def init(self) -> Iterate[_At]:
        return self._pass(*self.start)

    def step(
        self,
        best: Iterate[_At],
        last: Iterate[_At],
        trace: Trace,
    ) -> Iterate[_At] | Status:
        """The optimum of the quadratic model at the best point, or a shorter step."""
        share = trace.gap / trace.scale if trace.scale > 0.0 else 1.0
        smallest = max(0.1 * self.tol, _LEAST)
        tol = float(np.clip(_SHARE * share, smallest, 1e-2))
        v, b = self._optimum_ahead(best, tol)
        v_step = v - best.state.v
        b_step = b - best.intercept
        for length in 0.5 ** np.arange(_HALVINGS):
            point = self._pass(best.state.v + length * v_step, best.intercept + length * b_step)
            if point.objective < best.objective or certifies(point, trace):
                return point
        return Status.STALLED

    def polish(self, best: Iterate[_At]) -> Iterate[_At]:
        self.start = best.state.v, best.intercept
        return best

    def _pass(self, v: Array, b: float) -> Iterate[_At]:
        """The point with its certificate."""
        sums = self.sums_at(v, b)
        ends = self.stack.ends
        penalty = self.penalty
        balance = sums.sizes.min() / np.maximum(sums.sizes, 1e-300)
        regulariser = penalty.conjugate(
            sum_by_kernel((self.C * (balance @ sums.slopes)) ** 2, ends)
        )
        norms = np.sqrt(sum_by_kernel(v * v, ends))
        weights = (
            penalty.update(np.ones(norms.size), norms**2)
            if norms.any()
            else penalty.start(norms.size)
        )
        objective = self.C * sums.value + penalty.regulariser(norms)
        dual = self.C * float(balance @ sums.linear) - regulariser
        return Iterate(weights, _NONE, b, objective, dual, regulariser, state=_At(v, sums))

    def _optimum_ahead(self, best: Iterate[_At], tol: float) -> tuple[Array, float]:
        """The optimum with the losses replaced by slope and Hessian, the intercept eliminated."""
        sums = best.state.sums
        H = best.state.sums.hessian
        slope = sums.sizes[1] - sums.sizes[0]
        downhill = np.append(sums.slopes.sum(axis=0), slope)
        right = H @ np.append(best.state.v, best.intercept) + downhill
        across = H[:-1, -1]
        curvature = max(float(H[-1, -1]), 1e-300)
        S = H[:-1, :-1] - np.outer(across, across / curvature)
        c = right[:-1] - across * (right[-1] / curvature)
        values, vectors = np.linalg.eigh(S)
        positive = values > _CUT * values[-1]
        roots = np.sqrt(values[positive])
        vectors = vectors[:, positive]
        like = cast(Any, self.stack)
        root = replace(like, table=np.ascontiguousarray(roots[:, None] * vectors.T))
        target = (c @ vectors) / roots
        warm = WarmStart(best.weights, np.zeros(roots.size))
        fit = fit_weighted(
            root, target, self.C, make_loss("squared"), self.penalty, False, tol=tol, warm=warm
        )
        v = root.spread(fit.weights) * root.coefficients(fit.dual_coef)
        return v, (float(right[-1]) - float(across @ v)) / curvature


def _by_newton(
    model: Any,
    stack: Features,
    y: Array,
    positive: Any,
    table: _RowSource,
) -> tuple[Fit, Array, float]:
    """Solve on the sample alone, then on all rows from there."""
    loss = model.loss_in_use
    penalty = model.penalty_in_use
    tol = model.tol
    sample = stack.table.astype(np.float64)
    sample_sums = partial(_summed, loss, pieces=[(sample, y)])
    zero = np.zeros(stack.table.shape[1]), 0.0
    cost = model.C * table.n / y.size
    near = _RowsNewton(stack, sample_sums, cost, penalty, tol, zero)
    run(near, tol=tol, max_iter=model.max_iter)

    def all_rows(v: Array, b: float) -> _Losses:
        sums = table.each(partial(_losses, stack.transform, positive, loss, v, b))
        return _Losses(*reduce(_added, sums))

    method = _RowsNewton(stack, all_rows, model.C, penalty, tol, near.start)
    fit = run(method, tol=tol, max_iter=model.max_iter)
    return fit, *method.start
