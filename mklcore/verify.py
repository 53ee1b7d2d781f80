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
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

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
            lines.append(
                Statement(np.array_equal(own, X), "kernels: those that the graph was fitted on")
            )
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
        lines.append(
            Statement(
                True,
                (
                    "kernels: APPROXIMATED from landmarks; what follows is proved of the "
                    "approximations"
                ),
            )
        )
    lines += _predictions(model, twin, stack.values if model._map is None else X)
    K = (
        twin._map.cross(X)
        if hasattr(model, "scales_")
        else np.array([stack.gram(m) for m in range(M)])
    )
    lines += _kinds(
        model,
        K,
        twin.decide_blocks(K) if model._map is None else twin._decisions(X),
        targets,
        stack,
    )
    if hasattr(model, "calibration_"):
        lines.append(_probabilities(model, X))
    return lines


# Rows and predictions


def labels_of(model: Any) -> Any:
    """The training target: numbers, or classes by their names."""
    return (
        model.classes_[model.training_target_]
        if hasattr(model, "classes_")
        else model.training_target_
    )


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
    places = {name: j for j, name in enumerate(data.feature_names)}
    names = model.column_names if hasattr(model, "encoder_") else data.feature_names
    strings = getattr(model, "sequence_names_", ())
    if missing := [*(set(names) - set(places)), *(set(strings) - set(dict(data.strings)))]:
        raise DataError(
            f"The model reads the column {missing[0]!r}, which the table lacks; is it the "
            "same file?"
        )
    X = data.X[:, [places[name] for name in names]]
    if not strings:
        return Dataset(X, data.y, names, task=data.task, class_names=data.class_names)
    # longer rows are none that the model was fitted on
    room = (model.n_features_in_ - len(names)) // len(strings)
    sequences = tuple(
        (name, [one[:room] for one in values]) for name, values in data.sequences if name in strings
    )
    texts = tuple((name, cut(values, room)) for name, values in data.texts if name in strings)
    kept = {"sequences": sequences, "texts": texts, "width": room}
    return Dataset(
        X,
        data.y,
        names,
        task=data.task,
        class_names=data.class_names,
        **kept,
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


class Case(NamedTuple):
    """One problem: primal and dual value that were found; None where a method has no dual."""

    primal: float
    dual: float | None


def _stated(model: Any, cases: list[Case]) -> Iterator[Statement]:
    """The certificate that a model states beside what was found, problem by problem."""
    names = ("objective_", "dual_objective_", "dual_gap_", "relative_gap_")
    stated = [
        [None] * len(cases) if (v := getattr(model, n)) is None else np.atleast_1d(v).tolist()
        for n in names
    ]
    for k, (case, objective, dual, gap, relative) in enumerate(
        zip(cases, *stated, strict=True), start=1
    ):
        name = f" (problem {k})" if len(cases) > 1 else ""
        size = max(abs(objective), abs(case.primal), 1e-300)
        yield same(f"objective{name}", objective, case.primal, size)
        if dual is None or case.dual is None:
            yield Statement(
                dual is None,
                f"certificate{name}: none is {'stated' if dual is None else 'known'} here",
            )
            continue
        if not np.isfinite(case.dual):
            yield Statement(
                False, f"dual value{name}: stated {dual:.10g}, but the dual point is not feasible"
            )
            continue
        # Rounding is taken off a published dual value: it may be below what its point proves, never
        # above.
        room = CLOSE * max(size, abs(case.dual))
        yield Statement(
            dual <= case.dual + room,
            f"dual value{name}: stated {dual:.10g}, found {case.dual:.10g}",
        )
        found = case.primal - case.dual
        honest = abs(gap - (objective - dual)) <= room and gap >= found - room and found >= -room
        honest = (
            honest
            and abs(relative * abs(objective) - gap) <= room
            and gap <= _most(model, objective) + room
        )
        share = max(gap, found, 0.0) / size
        yield Statement(
            honest,
            f"gap{name}: stated {gap:.3g}, so the answer is within {share:.2e} of the optimum",
        )


def _most(model: Any, objective: float) -> float:
    """The largest gap with which a fit may end in its status; R of the stopping rule is at most the
    objective.
    """
    return model.tol * abs(objective) if model.status_ is Status.CONVERGED else np.inf


def _hull(model: Any, X: Array) -> Iterator[Statement]:
    """Hierarchical kernel learning: the bound over the whole grid or graph through the sufficient
    condition.
    """
    values = np.column_stack(hkl_certificate(model, X, labels_of(model)))
    proved = model.dual_objective_ is not None and model.proof_ is not None
    yield from _stated(
        model, [Case(float(primal), float(dual) if proved else None) for primal, dual in values]
    )


def _kinds(
    model: Any,
    K: Array,
    f: Array,
    targets: list[Array],
    stack: Any,
) -> Iterator[Statement]:
    """The certificate of a model on kernels: K (M, n, n), the decisions f of the training rows, the
    targets (n,).
    """
    name = type(model).__name__
    kinds = {
        "GOMP": _pursuit,
        "BestSet": _pursuit,
        "Greedy": _greedy,
        "SMKL": _concave,
        "FeatureScaling": _scaled,
        "Joint": _joint,
    }
    check: Any = next((check for start, check in kinds.items() if name.startswith(start)), None)
    if check is None and not hasattr(model, "penalty_in_use"):
        raise DataError(f"{name} is no kind of model that can be checked.")
    yield from _stated(
        model, _weighted(model, K, targets) if check is None else check(model, K, f, targets, stack)
    )
    if hasattr(model, "offset_"):
        yield same("offset", model.offset_, 1.0 if model.nu is None else -model.fit_.intercept, 1.0)


def _parts(
    model: Any,
    count: int,
) -> Iterator[tuple[Array, Array, float, Any]]:
    """Weights, dual coefficients, intercept and dual point of every problem."""
    points = (
        [None] * count if model.dual_point_ is None else np.reshape(model.dual_point_, (count, -1))
    )
    for k in range(count):
        weights, dual = (
            value[k] if count > 1 else value for value in (model.weights_, model.dual_coef_)
        )
        yield (
            np.asarray(weights),
            np.asarray(dual),
            float(np.atleast_1d(model.intercept_)[k]),
            points[k],
        )


def _weighted(model: Any, K: Array, targets: list[Array]) -> list[Case]:
    """lp-norm MKL, its baselines and its one-class forms: one dual for all kernels."""
    w = getattr(model, "sample_weight_", None)
    of_nu = getattr(model, "nu", None) is not None
    cases = []
    C = 1.0 / (model.nu * (len(targets[0]) if w is None else w.sum())) if of_nu else model.C
    for y, (weights, dual, b, point) in zip(targets, _parts(model, len(targets)), strict=True):
        G = K
        if type(model).__name__.startswith("BestKernel"):
            G = K[weights > 0]
            weights = weights[weights > 0]
        if type(model).__name__.startswith("Aligned"):
            G = weights[:, None, None] * K
            weights = np.ones(len(K))
        b = -model.offset_ if of_nu else b
        loss = model.loss_in_use
        penalty = model.penalty_in_use
        values = certificate(
            G, y, weights, dual, b, loss, C, penalty, point, model.fit_intercept, w
        )
        cases.append(Case(values[0], None if point is None else values[1]))
    return cases


def _joint(
    model: Any,
    K: Array,
    f: Array,
    targets: list[Array],
    stack: Any,
) -> list[Case]:
    Y = np.array(targets)
    b = np.atleast_1d(model.intercept_)
    duals = np.reshape(model.dual_coef_, (len(K[0]), -1)).T
    if model.loss_in_use.of_residuals:
        Y = Y - b[:, None]
        b = 0.0 * b
    point = model.dual_point_
    loss = model.loss_in_use
    values = joint_certificate(
        K, Y, model.weights_, duals, b, loss, model.C, model.p, point, model.fit_intercept
    )
    return [Case(values[0], None if point is None else values[1])]


def _norms(K: Array, dual: Array) -> Array:
    """a'K_m a of every kernel, of (n,) or (M, n) coefficients."""
    return np.array(
        [
            max(float(a @ k @ a), 0.0)
            for k, a in zip(K, np.broadcast_to(dual, K.shape[:2]), strict=True)
        ]
    )


def _concave(
    model: Any,
    K: Array,
    f: Array,
    targets: list[Array],
    stack: Any,
) -> list[Case]:
    """SMKL: the penalty and the loss; classes in pairs, each on the rows of its two."""
    penalty = model._penalty(stack)
    y = model.training_target_
    cases = []
    pairs = getattr(model, "pairs_", ())
    for k, (weights, dual, b, _) in enumerate(_parts(model, max(len(pairs), 1))):
        rows = np.flatnonzero(np.isin(y, pairs[k])) if pairs else np.arange(len(y))
        signed = signs(y[rows], pairs[k][1]) if pairs else y
        decision = np.tensordot(weights, K[:, rows] @ dual, 1)
        penalty_value = penalty.value(weights**2 * _norms(K, dual))
        cases.append(
            Case(penalty_value + total_loss(model.loss_in_use, decision, b, signed, model.C), None)
        )
    return cases


def _scaled(
    model: Any,
    K: Array,
    f: Array,
    targets: list[Array],
    stack: Any,
) -> list[Case]:
    """One Gaussian kernel with a scale for every column."""
    groups = [members for _, members in model._named_groups(len(model.scales_))]
    sizes = [float(np.sum(model.scales_[members] ** 2)) for members in groups]
    penalty_value = model.term().value(np.array(sizes))
    duals = np.reshape(model.dual_coef_, (len(f), -1)).T
    norms = sum(float(a @ K[0] @ a) for a in duals)
    return [Case(penalty_value + 0.5 * norms + _losses(model, f, targets, model.C), None)]


def _losses(model: Any, f: Array, targets: list[Array], C: float) -> float:
    loss: Loss = model.loss_in_use
    return sum(
        total_loss(loss, one, 0.0, y, C)
        for one, y in zip(np.reshape(f, (len(f), -1)).T, targets, strict=True)
    )


def _pursuit(
    model: Any,
    K: Array,
    f: Array,
    targets: list[Array],
    stack: Any,
) -> list[Case]:
    """MKL-GOMP: (1/n) sum_i V + lam ||f||^2, where the squared loss has no half.

    Of squared loss any dual bounds the objective of the best choice of as many kernels, by one
    sort.
    """
    share = (2.0 if model.loss_in_use.quadratic else 1.0) / len(f)
    duals = np.reshape(model.dual_coef_, (len(f), -1))
    norms = float(np.sum(duals * np.tensordot(model.weights_, K @ duals, 1)))
    primal = _losses(model, f, targets, share) + model.lam * norms
    bound = None
    if model.dual_objective_ is not None:
        problem = BestK(K, np.array(targets).T - model.intercept_, model.lam)
        proof = getattr(model, "proof_", None)
        size = len(model.selected_)
        point = (
            np.zeros_like(problem.Y)
            if proof is not None
            else np.reshape(model.dual_point_, problem.Y.shape)
        )
        bound = problem.bound(point, problem.forms(point), size)
        if proof is not None:
            bound = min(
                proved_bound(
                    K,
                    problem.Y,
                    model.lam,
                    size,
                    Proof(*proof),
                ),
                primal,
            )
        if not np.array_equal(np.sort(model.selected_), np.flatnonzero(model.weights_)):
            bound = -np.inf
    return [Case(primal, bound)]


def _greedy(
    model: Any,
    K: Array,
    f: Array,
    targets: list[Array],
    stack: Any,
) -> list[Case]:
    """Greedy coordinate descent: coefficients of their own for every kernel."""
    n = len(f)
    cases = []
    f = f.reshape(n, -1)
    for k, (y, (_, dual, b, theta)) in enumerate(
        zip(targets, _parts(model, len(targets)), strict=True)
    ):
        errors = _losses(model, f[:, k], [y], 1.0 / n)
        if model.criterion == "empirical":
            cases.append(Case(errors, None))
            continue
        primal = errors + model.lam * float(np.sqrt(_norms(K, dual)).sum())
        bound = None
        if theta is not None:
            feasible = np.sqrt(_norms(K, theta).max()) <= model.lam * (1.0 + 1e-6)
            bound = float(theta @ (y - b) - 0.5 * n * (theta @ theta)) if feasible else -np.inf
        cases.append(Case(primal, bound))
    return cases


def report(
    model_path: Any,
    table: Any,
    target: str | None = None,
) -> tuple[list[str], int]:
    """What the command prints, line by line, and the code it ends with."""
    try:
        lines = verify(model_path, table, target)
    except Exception as error:  # a file that was changed leads its reader into any of them
        text = (
            str(error)
            if isinstance(error, (DataError, OSError))
            else f"{type(error).__name__}: {str(error)[:300]}"
        )
        return [f"cannot be checked: {text}"], 2
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
