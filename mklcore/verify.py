"""Check a saved model against its table: ``python -m mklcore.verify MODEL.mkl TABLE.csv [TARGET]``.

Finds the training rows in the table, builds the kernels of the file's dictionary from them again,
and computes objective, dual value, gap and predictions with the public certificates. Weak duality
is all that is needed: a feasible dual point has a value below every objective, so that the gap
bounds the distance to the optimum whatever the solver did. A table may be an .npz of X (n, d) and y
(n,); ready kernels are an .npz of one array, (M, n, n) or (p, q+1, n, n).

Prints one line per statement. Ends with 0 where all hold, 1 where one does not, 2 where the model
cannot be checked.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mklcore.arrays import Array
from mklcore.data import read_table
from mklcore.data.dataset import Dataset, row_fingerprints
from mklcore.data.reading import with_log_target
from mklcore.data.sequences import cut
from mklcore.errors import DataError
from mklcore.estimators.calibration import held_out_decisions
from mklcore.estimators.targets import signs
from mklcore.hkl.search import hkl_certificate
from mklcore.io.models import load_model
from mklcore.lp.newton import joint_certificate
from mklcore.problem.driver import Status
from mklcore.problem.losses import Loss, total_loss
from mklcore.problem.problem import certificate
from mklcore.sparse.best_k import BestK, Proof, proved_bound

CLOSE = 1e-8  # share of the objective, or of the largest prediction, that rounding may take
MOST_BYTES = 2e9  # of all kernels together


class Statement(NamedTuple):
    """One statement: whether it holds, and what it says."""

    holds: bool
    text: str


def same(name: str, stated: Any, found: Any, size: float) -> Statement:
    """A stated number beside the one that was found; ``size`` is what rounding is measured by."""
    return Statement(
        abs(stated - found) <= CLOSE * size, f"{name}: stated {stated:.10g}, found {found:.10g}"
    )


def verify(model_path: Any, table: Any, target: str | None = None) -> list[Statement]:
    """All statements about a saved model and the table, or .npz, it was fitted on; DataError where
    it cannot be.
    """
    model = load_model(model_path)
    model = getattr(model, "exploration_", model)  # of an answer, or of an estimator that holds one
    model = getattr(model, "model", model)
    if np.shape(model.dual_coef_) == (0,):
        raise DataError("The model was fitted on rows in parts, and keeps no dual of them.")
    X, lines = training_rows(model, table, target)
    twin = copy.copy(model)
    stack = twin._stack(twin._checked_rows(X, reset=True))
    targets = model._targets(model.training_target_)
    if hasattr(model, "design_"):
        twin.design_ = stack
        if model.refit:
            twin._refit(stack, np.column_stack(targets))
        own = getattr(model.graph, "kernels", None)
        if isinstance(own, np.ndarray):
            is_same = np.array_equal(own, X)
            lines.append(Statement(is_same, "kernels: those that the graph was fitted on"))
        return [*lines, *_predictions(model, twin, X), *_hull(model, X)]
    M = stack.n_kernels
    n = stack.n_samples
    if (M, n) != (len(model.kernel_names_), model.n_train_) or 8 * M * n * n > MOST_BYTES:
        raise DataError(
            f"The model has {len(model.kernel_names_)} kernels on {model.n_train_} rows, "
            f"its dictionary makes {M} on {n}; they have to be as many, and at most "
            f"{MOST_BYTES / 1e9:g} GB."
        )
    twin._remember_kernels(stack)
    if getattr(model, "approximation", None) is not None:
        sentence = "APPROXIMATED from landmarks; what follows is proved of the approximations"
        lines.append(Statement(True, f"kernels: {sentence}"))
    lines += _predictions(model, twin, stack.values if model._map is None else X)
    is_scaled = hasattr(model, "scales_")
    K = twin._map.cross(X) if is_scaled else np.array(list(map(stack.gram, range(M))))
    f = twin.decide_blocks(K) if model._map is None else twin._decisions(X)
    decisions = np.reshape(f, (n, -1)).T
    lines += _kinds(Rebuilt(model, K, decisions, np.array(targets), stack))
    if hasattr(model, "calibration_"):
        lines.append(_probabilities(model, X))
    return lines


# Rows and predictions


def labels_of(model: Any) -> Any:
    """The training target: numbers, or classes by their names."""
    target = model.training_target_
    return model.classes_[target] if hasattr(model, "classes_") else target


def training_rows(
    model: Any,
    table: Any,
    target: str | None,
) -> tuple[Any, list[Statement]]:
    """The training rows as the estimator sees them, in its order, and what is said of their target:
    an array, or a ``Dataset`` where the model reads texts or sequences.
    """
    if str(table).endswith(".npz"):
        try:
            with np.load(table, allow_pickle=False) as file:
                table = dict(file)
        except ValueError as error:
            raise DataError(
                f"The .npz cannot be read: {error} Expected arrays of numbers or texts."
            ) from error
    kept = model.row_fingerprints_
    if isinstance(table, dict) and "X" not in table:
        return np.asarray(next(iter(table.values())), dtype=float), []
    if kept is None:
        raise DataError(
            "The model was fitted on ready kernels: give them as .npz with one array (M, n, n)."
        )
    data = None
    if isinstance(table, dict):
        X = np.asarray(table["X"], dtype=float)
        given = table.get("y")
    else:
        data = read_table(table, target)
        encoder = getattr(model, "encoder_", None)
        if encoder is not None and encoder.log_target and data.target_name == encoder.target_name:
            data = with_log_target(data)
        data = _as_read_by(model, data)
        X = data.table
        given = data.y
    places: dict[int, list[int]] = {}
    for i, code in enumerate(row_fingerprints(X).tolist()):
        places.setdefault(code, []).append(i)
    found = [places.get(int(code), []) for code in kept]
    if missing := sum(not alike for alike in found):
        raise DataError(
            f"{missing} of the model's {len(found)} training rows are not in the table; is "
            "it the same file?"
        )
    lines = [Statement(True, f"training rows: all {len(found)} are rows of the table")]
    labels = labels_of(model)
    if given is not None and not hasattr(model, "offset_"):
        # Rows that are alike may have several targets: one of them has to be the model's.
        held = all(
            any(np.all(one == given[j]) for j in alike)
            for one, alike in zip(labels, found, strict=True)
        )
        lines.append(Statement(held, f"training target: {'' if held else 'NOT '}that of the table"))
    rows = [alike[0] for alike in found]
    return X[rows] if data is None or not data.strings else data.take(np.array(rows)), lines


def _as_read_by(model: Any, data: Dataset) -> Dataset:
    """The columns of a table that the model reads, its texts and sequences with room for as many
    letters.
    """
    names = model.column_names if hasattr(model, "encoder_") else data.feature_names
    strings = getattr(model, "sequence_names_", ())
    missing = {*names, *strings} - {*data.feature_names, *dict(data.strings)}
    if missing:
        raise DataError(
            f"The model reads the column {min(missing)!r}, which the table lacks; is it the "
            "same file?"
        )
    places = [data.feature_names.index(name) for name in names]
    # longer rows are none that the model was fitted on
    room = (model.n_features_in_ - len(names)) // len(strings) if strings else 0
    sequences: Any = [(name, [one[:room] for one in rows]) for name, rows in data.sequences]
    texts: Any = [(name, cut(rows, room)) for name, rows in data.texts]
    return Dataset(
        data.X[:, places],
        data.y,
        names,
        task=data.task,
        class_names=data.class_names,
        sequences=tuple(column for column in sequences if column[0] in strings),
        texts=tuple(column for column in texts if column[0] in strings),
        width=room,
    )


def _predictions(model: Any, twin: Any, X: Any) -> Iterator[Statement]:
    """What the file predicts, and what the rebuilt kernels do, on the training rows and, of
    numbers, on mixtures.
    """
    asked = {"training rows": X}
    if not isinstance(X, Dataset) and X.ndim == 2:
        asked["mixtures of them"] = 0.7 * X + 0.3 * X[::-1]
    for what, rows in asked.items():
        stated = model._decisions(rows)
        found = twin._decisions(rows)
        size = max(float(np.abs(found).max()), 1e-300)
        off = float(np.abs(stated - found).max()) / size
        yield Statement(
            off <= CLOSE,
            f"predictions of {what}: off by {off:.1e} of the largest with rebuilt kernels",
        )


def _probabilities(model: Any, X: Any) -> Statement:
    if not model.probability or model._map is None:
        return Statement(True, "probabilities: calibrated on other rows, which are not checked")
    rows, decision = held_out_decisions(model, X, y := labels_of(model))
    found = copy.copy(model).calibrate(decision, y[rows]).calibration_
    return Statement(
        np.allclose(found, model.calibration_, rtol=1e-6),
        "probabilities: calibrated on folds again",
    )


# Objectives and dual values


class Rebuilt(NamedTuple):
    """A model beside its kernels K (M, n, n), as they are built again.

    ``f`` are the decisions of the training rows, ``Y`` their targets: (T, n) for T problems.
    """

    model: Any
    K: Array
    f: Array
    Y: Array
    stack: Any

    @property
    def duals(self) -> Array:
        """The dual coefficients (n, T), where all kernels share them."""
        return np.reshape(self.model.dual_coef_, (len(self.K[0]), -1))

    def losses(self, C: float, k: int | None = None) -> float:
        """The sum of losses at a cost of C: of problem ``k``, or of all problems."""
        loss: Loss = self.model.loss_in_use
        some = slice(None) if k is None else slice(k, k + 1)
        pairs = zip(self.f[some], self.Y[some], strict=True)
        return sum(total_loss(loss, f, 0.0, y, C) for f, y in pairs)

    def problems(self, count: int) -> Iterator[tuple[Any, ...]]:
        """Weights, dual coefficients, intercept and dual point of every problem."""
        model = self.model
        values = model.weights_, model.dual_coef_, model.intercept_, model.dual_point_
        if count == 1:
            yield values
            return
        points = [None] * count if model.dual_point_ is None else model.dual_point_
        yield from zip(*values[:3], points, strict=True)


# Primal and dual value of a problem; None where a method has no dual.
Case: TypeAlias = tuple[float, float | None]


def _stated(model: Any, cases: Sequence[Case]) -> Iterator[Statement]:
    """The certificate that a model states beside what was found, problem by problem."""
    values = model.objective_, model.dual_objective_, model.dual_gap_, model.relative_gap_
    for k, (primal, bound) in enumerate(cases):
        objective, dual, gap, relative = (np.broadcast_to(one, len(cases))[k] for one in values)
        name = f" (problem {k + 1})" if len(cases) > 1 else ""
        size = max(abs(objective), abs(primal), 1e-300)
        yield same(f"objective{name}", objective, primal, size)
        if dual is None or bound is None:
            known = "stated" if dual is None else "known"
            yield Statement(dual is None, f"certificate{name}: none is {known} here")
            continue
        if not np.isfinite(bound):
            yield Statement(
                False, f"dual value{name}: stated {dual:.10g}, but the dual point is not feasible"
            )
            continue
        # Rounding is taken off a published dual value: it may be below what its point proves, never
        # above.
        room = CLOSE * max(size, abs(bound))
        yield Statement(
            dual <= bound + room, f"dual value{name}: stated {dual:.10g}, found {bound:.10g}"
        )
        found = primal - bound
        # The gap with which a converged fit may end: R of the stopping rule is at most the objective.
        is_converged = model.status_ is Status.CONVERGED
        most = model.tol * abs(objective) if is_converged else np.inf
        honest = (
            abs(gap - (objective - dual)) <= room
            and abs(relative * abs(objective) - gap) <= room
            and found - room <= gap <= most + room
            and found >= -room
        )
        share = max(gap, found, 0.0) / size
        yield Statement(
            honest,
            f"gap{name}: stated {gap:.3g}, so the answer is within {share:.2e} of the optimum",
        )


def _hull(model: Any, X: Array) -> Iterator[Statement]:
    """Hierarchical kernel learning: the bound over the whole grid or graph through the sufficient
    condition.
    """
    cases = np.column_stack(hkl_certificate(model, X, labels_of(model))).tolist()
    if model.dual_objective_ is None or model.proof_ is None:
        cases = [(primal, None) for primal, _ in cases]
    yield from _stated(model, cases)


def _kinds(found: Rebuilt) -> Iterator[Statement]:
    """The certificate of a model on kernels."""
    model = found.model
    name = type(model).__name__
    checks = [check for start, check in _CHECKS.items() if name.startswith(start)]
    if not (checks or hasattr(model, "penalty_in_use")):
        raise DataError(f"{name} is no kind of model that can be checked.")
    check = checks[0] if checks else _weighted
    yield from _stated(model, check(found))
    if hasattr(model, "offset_"):
        yield same("offset", model.offset_, 1.0 if model.nu is None else -model.fit_.intercept, 1.0)


def _weighted(found: Rebuilt) -> list[Case]:
    """lp-norm MKL, its baselines and its one-class forms: one dual for all kernels."""
    model = found.model
    w = getattr(model, "sample_weight_", None)
    of_nu = getattr(model, "nu", None) is not None
    cases = []
    C = model.C
    if of_nu:
        size = found.Y.shape[1] if w is None else w.sum()
        C = 1.0 / (model.nu * size)
    problems = found.problems(len(found.Y))
    for y, problem in zip(found.Y, problems, strict=True):
        weights, dual, b, point = problem
        G = found.K
        if type(model).__name__.startswith("BestKernel"):
            G = G[weights > 0]
            weights = weights[weights > 0]
        if type(model).__name__.startswith("Aligned"):
            G = weights[:, None, None] * G
            weights = np.ones(len(G))
        b = -model.offset_ if of_nu else float(b)
        loss = model.loss_in_use
        penalty = model.penalty_in_use
        primal, bound = certificate(
            G, y, weights, dual, b, loss, C, penalty, point, model.fit_intercept, w
        )
        cases.append((primal, None if point is None else bound))
    return cases


def _joint(found: Rebuilt) -> list[Case]:
    model = found.model
    Y = found.Y
    b = np.atleast_1d(model.intercept_)
    loss = model.loss_in_use
    if loss.of_residuals:
        Y = Y - b[:, None]
        b = 0.0 * b
    point = model.dual_point_
    duals = found.duals.T
    primal, bound = joint_certificate(
        found.K, Y, model.weights_, duals, b, loss, model.C, model.p, point, model.fit_intercept
    )
    return [(primal, None if point is None else bound)]


def _norms(K: Array, dual: Array) -> Array:
    """a'K_m a of every kernel, of (n,) or (M, n) coefficients."""
    pairs = zip(K, np.broadcast_to(dual, K.shape[:2]), strict=True)
    return np.array([max(float(a @ kernel @ a), 0.0) for kernel, a in pairs])


def _concave(found: Rebuilt) -> list[Case]:
    """SMKL: the penalty and the loss; classes in pairs, each on the rows of its two."""
    model = found.model
    penalty = model._penalty(found.stack)
    y = model.training_target_
    cases: list[Case] = []
    pairs = getattr(model, "pairs_", (None,))
    problems = found.problems(len(pairs))
    for pair, (weights, dual, b, _) in zip(pairs, problems, strict=True):
        rows = np.arange(len(y))
        target = y
        if pair is not None:
            rows = np.flatnonzero(np.isin(y, pair))
            target = signs(y[rows], pair[1])
        decision = np.tensordot(weights, found.K[:, rows] @ dual, 1)
        selection = penalty.value(weights**2 * _norms(found.K, dual))
        loss = total_loss(model.loss_in_use, decision, float(b), target, model.C)
        cases.append((selection + loss, None))
    return cases


def _scaled(found: Rebuilt) -> list[Case]:
    """One Gaussian kernel with a scale for every column."""
    model = found.model
    groups = [members for _, members in model._named_groups(len(model.scales_))]
    sizes = [float(np.sum(model.scales_[members] ** 2)) for members in groups]
    norms = sum(float(a @ found.K[0] @ a) for a in found.duals.T)
    selection = model.term().value(np.array(sizes))
    return [(selection + 0.5 * norms + found.losses(model.C), None)]


def _pursuit(found: Rebuilt) -> list[Case]:
    """MKL-GOMP: (1/n) sum_i V + lam ||f||^2, where the squared loss has no half.

    Of squared loss any dual bounds the objective of the best choice of as many kernels, by one
    sort.
    """
    model = found.model
    K = found.K
    duals = found.duals
    share = (2.0 if model.loss_in_use.quadratic else 1.0) / len(duals)
    norms = float(np.sum(duals * np.tensordot(model.weights_, K @ duals, 1)))
    primal = found.losses(share) + model.lam * norms
    if model.dual_objective_ is None:
        return [(primal, None)]
    size = len(model.selected_)
    problem = BestK(K, found.Y.T - model.intercept_, model.lam)
    proof = getattr(model, "proof_", None)
    if proof is not None:
        proved = proved_bound(K, problem.Y, model.lam, size, Proof(*proof))
        bound = min(proved, primal)
    else:
        point = np.reshape(model.dual_point_, problem.Y.shape)
        bound = problem.bound(point, problem.forms(point), size)
    if not np.array_equal(np.sort(model.selected_), np.flatnonzero(model.weights_)):
        bound = -np.inf
    return [(primal, bound)]


def _greedy(found: Rebuilt) -> list[Case]:
    """Greedy coordinate descent: coefficients of their own for every kernel."""
    model = found.model
    n = found.Y.shape[1]
    cases: list[Case] = []
    for k, (_, dual, b, theta) in enumerate(found.problems(len(found.Y))):
        primal = found.losses(1.0 / n, k)
        bound = None
        if model.criterion != "empirical":
            primal += model.lam * float(np.sqrt(_norms(found.K, dual)).sum())
        if theta is not None:
            largest = np.sqrt(_norms(found.K, theta).max())
            value = theta @ (found.Y[k] - b) - 0.5 * n * (theta @ theta)
            bound = float(value) if largest <= model.lam * (1.0 + 1e-6) else -np.inf
        cases.append((primal, bound))
    return cases


# How models are checked whose class begins with these words; all others weigh kernels.
_CHECKS: dict[str, Callable[[Rebuilt], list[Case]]] = {
    "GOMP": _pursuit,
    "BestSet": _pursuit,
    "Greedy": _greedy,
    "SMKL": _concave,
    "FeatureScaling": _scaled,
    "Joint": _joint,
}


def report(
    model_path: Any,
    table: Any,
    target: str | None = None,
) -> tuple[list[str], int]:
    """What the command prints, line by line, and the code it ends with."""
    try:
        lines = verify(model_path, table, target)
    except (DataError, OSError) as error:
        return [f"cannot be checked: {error}"], 2
    except Exception as error:  # a file that was changed leads its reader into any of them
        return [f"cannot be checked: {type(error).__name__}: {str(error)[:300]}"], 2
    good = all(line.holds for line in lines)
    said = [f"{'holds' if line.holds else 'FAILS'}  {line.text}" for line in lines]
    return [*said, "Everything holds." if good else "NOT everything holds."], 0 if good else 1


def main(arguments: list[str]) -> int:
    """The command; the code it ends with."""
    if len(arguments) not in (2, 3):
        print("usage: python -m mklcore.verify MODEL.mkl TABLE.csv [TARGET]", file=sys.stderr)
        return 2
    said, code = report(Path(arguments[0]), Path(arguments[1]), *arguments[2:])
    print("\n".join(said))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
