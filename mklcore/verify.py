"""Check a saved model without the code that fitted it: ``python -m mklcore.verify MODEL.mkl TABLE.csv [TARGET]``.

Reads the file itself, builds the Gram matrices from the table's own rows, and computes objective and dual value of what
was published from the definitions, in NumPy alone; nothing of the solvers, penalties or kernels is imported, and of the
losses only a class that was registered besides ours, which is then said. A table may be an .npz of X (n, d) and y (n,).
A stack is given as .npz with one array: (M, n, n), or (p, q+1, n, n) for a model over given levels. Prints one line per
statement, and ends with code 1 if one of them does not hold.

Weak duality is all that is needed: every feasible dual point has a value below every objective, so that the printed gap
bounds the distance to the optimum whatever the solver did.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mklcore.data import read_table
from mklcore.errors import DataError
from mklcore.io.verify_graph import listed
from mklcore.io.verify_hull import Hull, levels_of

Array = Any
CLOSE = 1e-6
MOST_BYTES = 2e9


class Line(NamedTuple):
    """One statement: whether it holds, and what it says."""

    holds: bool
    text: str


class Case(NamedTuple):
    """One problem of a model: its name, signed target y (n,), and what was published for it."""

    name: str
    y: Array
    weights: Array
    dual: Array
    intercept: float
    objective: float
    bound: float | None
    point: Array | None
    rows: Array


# The file


def read_model(path: Any) -> dict[str, Any]:
    """Parameters and fitted attributes of a saved model as plain dictionaries; parts keep their class name under
    "is".
    """
    try:
        with zipfile.ZipFile(path) as archive:
            text = json.loads(archive.read("model.json"))
            if text.get("format") != "mklcore model":
                raise DataError("The file is no saved model; expected one that save_model wrote.")
            if text["version"] < 2:
                raise DataError(
                    "The model was saved in version 1 of the format, which keeps no training target: fit and save it "
                    "again."
                )
            read = _Decoder(archive)
            model = text["model"]
            parts = {key: {k: read(v) for k, v in model[key].items()} for key in ("parameters", "fitted")}
            return {"estimator": model["estimator"], **parts}
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError) as error:
        raise DataError(f"The file is no saved model, or it is damaged: {error}") from error


class _Decoder:
    """Values of the description: arrays are read, parts become dictionaries."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive

    def __call__(self, node: Any) -> Any:
        if not isinstance(node, dict):
            return node
        kind: str = node["is"]
        of: Any = node.get("of", [])
        if kind == "array":
            raw = io.BytesIO(self.archive.read(f"arrays/{node['at']}.npy"))
            return np.lib.format.read_array(raw, allow_pickle=False)
        if kind in ("tuple", "list", "objects"):
            return [self(item) for item in of]
        if kind == "dict":
            return [(self(key), self(value)) for key, value in of]
        plain: dict[str, Callable[[Any], Any]] = {"int": lambda text: int(text, 16), "float": float, "Status": str}
        if kind in plain:
            return plain[kind](of)
        return {"is": kind} | ({k: self(v) for k, v in of.items()} if isinstance(of, dict) else {})


# Rows and kernels


def fingerprints(rows: Array) -> list[int]:
    """64 bits of the SHA-256 of every row, as the file holds them."""
    plain = np.ascontiguousarray(rows, dtype="<f8") + 0.0
    return [int.from_bytes(hashlib.sha256(row.tobytes()).digest()[:8], "little") for row in plain]


def training_rows(model: dict[str, Any], table: Any, target: str | None) -> tuple[Array, list[Line]]:
    """The rows of the table that the model was fitted on, in its order, and what their target says."""
    fitted = model["fitted"]
    kept, y = fitted["row_fingerprints_"], np.asarray(fitted["training_target_"])
    if kept is None:
        raise DataError(
            "The model keeps no fingerprints of rows: it was fitted on a ready stack. Give the stack as .npz."
        )
    X, given = table_of(table, target)
    places: dict[int, list[int]] = {}
    for i, code in enumerate(fingerprints(X)):
        places.setdefault(code, []).append(i)
    found = [places.get(int(code), []) for code in kept]
    missing = sum(not alike for alike in found)
    if missing:
        raise DataError(
            f"{missing} of the model's {len(found)} training rows are not in the table; is it the same file?"
        )
    lines = [Line(True, f"training rows: all {len(found)} are rows of the table")]
    if given is not None and not model["estimator"].endswith("OneClass"):
        labels = np.asarray(fitted["classes_"])[y.astype(int)] if "classes_" in fitted else y
        # Rows that are alike may have several targets: one of them has to be the model's.
        same = all(any(np.all(one == given[j]) for j in alike) for one, alike in zip(labels, found, strict=True))
        lines.append(
            Line(same, "training target: that of the table" if same else "training target: NOT that of the table")
        )
    return X[[alike[0] for alike in found]], lines


def table_of(table: Any, target: str | None) -> tuple[Array, Array | None]:
    """Rows X (n, d) and target y (n,) of a table file, or of the arrays X and y of an .npz."""
    if isinstance(table, dict):
        return np.asarray(table["X"], dtype=float), table.get("y")
    data = read_table(table, target)
    return data.table, None if data.y is None else np.asarray(data.y)


def gram(spec: dict[str, Any], Z: Array) -> Array:
    """k(x_i, x_j) for the (standardised) rows Z (n, d)."""
    X = Z[:, [int(i) for i in spec["features"]]]
    inner = X @ X.T
    squares = np.diag(inner)
    distance = np.maximum(squares[:, None] + squares[None, :] - 2.0 * inner, 0.0)
    np.fill_diagonal(distance, 0.0)
    kind = spec["is"]
    if kind == "Linear":
        return inner
    if kind == "Polynomial":
        return (inner + spec["coef0"]) ** spec["degree"]
    if kind == "RBF":
        return np.exp(-distance / (2.0 * spec["width"] ** 2))
    if kind == "Laplacian":
        return np.exp(-np.abs(X[:, None, :] - X[None, :, :]).sum(axis=2) / spec["width"])
    if kind == "Delta":
        return (np.abs(X[:, None, :] - X[None, :, :]).max(axis=2) == 0.0).astype(float)
    if kind == "Matern":
        r = np.sqrt(2.0 * spec["nu"] * distance) / spec["width"]
        factors = {0.5: 1.0 + 0.0 * r, 1.5: 1.0 + r, 2.5: 1.0 + r + r * r / 3.0}
        if spec["nu"] in factors:
            return factors[spec["nu"]] * np.exp(-r)
    raise DataError(f"This verifier does not know the kernel {kind}; give the stack as .npz.")


def stack_of(kernels: dict[str, Any], X: Array) -> tuple[Array, list[Line]]:
    """The kernels (M, n, n) of the model on its training rows, centred and normalised from scratch."""
    n = len(X)
    if kernels["is"] == "FeatureMap":
        return approximated(kernels, X)
    if not np.array_equal(kernels["kept"], np.arange(n)):
        raise DataError(
            "The model was fitted on some rows of a larger stack, whose normalisation cannot be known from them."
        )
    Z = (X - kernels["column_means"]) / kernels["column_scales"]
    stack, worst = np.empty((len(kernels["specs"]), n, n)), 0.0
    for K, spec, scale in zip(stack, kernels["specs"], kernels["scales"], strict=True):
        K[:] = gram(spec, Z)
        if kernels["center"]:
            K += K.mean() - K.mean(axis=0) - K.mean(axis=1)[:, None]
        diagonal, normalise = np.diag(K).copy(), kernels["normalise"]
        if normalise == "spherical":
            root = np.where(diagonal > 0, diagonal, 1.0) ** -0.5 * (diagonal > 0)
            K *= root[:, None] * root[None, :]
            continue
        sizes = {
            "multiplicative": diagonal.mean() - K.mean(),
            "trace": diagonal.sum(),
            "diag": diagonal.max(),
            None: 1.0,
        }
        own = float(sizes[normalise])
        if own > 1e-10 * max(float(np.abs(diagonal).max()), 1e-300):
            worst = max(worst, abs(own - scale) / own)
            K /= own
    return stack, [
        Line(worst <= CLOSE, f"kernels: {len(stack)} built from the rows, scales off by {worst:.1e} at most")
    ]


def approximated(kernels: dict[str, Any], X: Array) -> tuple[Array, list[Line]]:
    """The kernels Phi_m Phi_m' (M, n, n) of an approximated model, through the roots at its landmarks that the file
    holds.
    """
    n, near, ends = len(X), kernels["landmarks"], kernels["ends"]
    if 8 * len(near["specs"]) * n * n > MOST_BYTES:
        raise DataError(
            f"{len(near['specs'])} approximated kernels on {n:,} rows are more than this verifier can hold at once; "
            f"the fit "
            "on fewer rows can be checked."
        )
    both, m = np.vstack([near["rows"], (X - near["column_means"]) / near["column_scales"]]), len(near["rows"])
    stack, worst = np.empty((len(near["specs"]), n, n)), 0.0
    for k, spec in enumerate(near["specs"]):
        K, own = gram(spec, both), slice(ends[k], ends[k + 1])
        root, mean = kernels["roots"][:, own], kernels["means"][own]
        projection = K[:m, :m] @ root @ root.T
        worst = max(worst, float(np.abs(projection @ K[:m, :m] - K[:m, :m]).max() / np.abs(K[:m, :m]).max()))
        features = K[m:, :m] @ root - mean
        size = np.full(n, float(kernels["scales"][k]))
        if kernels["normalise"] == "spherical":
            size = np.diag(K)[m:] - 2.0 * (features @ mean + mean @ mean) + mean @ mean
        features *= np.where(size > 0, 1.0 / np.sqrt(np.where(size > 0, size, 1.0)), 0.0)[:, None]
        features = features.astype(np.float32).astype(np.float64)
        stack[k] = features @ features.T
    described = f"kernels: {len(stack)} APPROXIMATED from {m} landmarks, {worst:.1e} off at these; what follows is proved of them"  # noqa: E501
    return stack, [Line(worst <= CLOSE, described)]


# Losses and penalties, from their definitions


class Known(NamedTuple):
    """A loss whose definition stands here: its name, and its tube, its delta or its quantile."""

    kind: str
    value: float = 0.1


PLAIN = {
    "Hinge": "hinge", "SquaredHinge": "squared_hinge", "Logistic": "logistic", "Squared": "squared",
    "EpsilonInsensitive": "epsilon_insensitive", "Huber": "huber",
    "Pinball": "pinball", "OneClass": "one_class", "NuOneClass": "nu_one_class",
}  # fmt: skip
OF_RESIDUALS = ("squared", "epsilon_insensitive", "huber", "pinball")


def loss_of(parameters: dict[str, Any]) -> Any:
    """The loss that the file names: one that is known here, or an object of a class that is registered in this process.

    DataError, which says that the model cannot be checked, for any other.
    """
    given, epsilon = parameters["loss"], parameters.get("epsilon", 0.1)
    name, own = (given, {}) if isinstance(given, str) else (given["is"], {k: v for k, v in given.items() if k != "is"})
    kind: str = name if isinstance(given, str) else PLAIN.get(name, "")
    if kind in PLAIN.values():
        number, usual = {"huber": ("delta", 1.0), "pinball": ("quantile", 0.5)}.get(kind, ("epsilon", epsilon))
        value: float = own.get(number, usual)  # type: ignore[assignment]  # as the file has it
        return Known(kind, value)
    return registered(name, own if own else {"epsilon": epsilon})


def registered(name: str, own: dict[str, Any]) -> Any:
    """The loss called ``name``, or of the class called so, as the class that someone registered has it."""
    from mklcore.losses import LOSSES, make_loss

    if name in LOSSES:
        return make_loss(name, **own)
    found: Any = next((kind for kind in LOSSES.values() if kind.__name__ == name), None)
    if found is None:
        raise DataError(
            f"The loss {name} is none that this verifier knows, and none that is registered in this process: what it "
            f"says of a "
            "model can be neither confirmed nor denied. Register its class in mklcore.LOSSES, and call "
            "mklcore.verify.report there."
        )
    return found(**own)


def loss_lines(loss: Any) -> list[Line]:
    """Whose word the values of a loss are, where they are not this verifier's own."""
    if isinstance(loss, Known):
        return []
    return [
        Line(True, f"loss: values and duals are those of the registered class {type(loss).__name__}, taken at its word")
    ]


def moved(loss: Any, y: Array, b: float) -> tuple[Array, float]:
    """Target and intercept of the same problem with an intercept of 0: far from zero both are large, and y - t is
    not.
    """
    known = loss.kind in OF_RESIDUALS if isinstance(loss, Known) else getattr(loss, "of_residuals", False)
    return (y - b, 0.0) if known else (y, b)


def loss_value(loss: Any, t: Array, y: Array) -> Array:
    """V(t_i, y_i)."""
    if not isinstance(loss, Known):
        return loss.value(t, y)
    kind, value = loss
    r = np.abs(y - t)
    if kind in ("hinge", "one_class", "nu_one_class"):
        margin = 0.0 if kind == "nu_one_class" else 1.0
        return np.maximum(0.0, margin - (y * t if kind == "hinge" else t))
    if kind == "logistic":
        return np.logaddexp(0.0, -y * t)
    if kind == "squared_hinge":
        return 0.5 * np.maximum(0.0, 1.0 - y * t) ** 2
    if kind == "epsilon_insensitive":
        return np.maximum(0.0, r - value)
    if kind == "pinball":
        return np.maximum(value * (y - t), (value - 1.0) * (y - t))
    if kind == "huber":
        return np.where(r <= value, 0.5 * r * r, value * (r - 0.5 * value))
    return 0.5 * r * r


def loss_dual(loss: Any, a: Array, y: Array, C: Array) -> float:
    """-sum_i C_i V*(-a_i / C_i, y_i); minus infinity outside the box (but for rounding)."""
    if not isinstance(loss, Known):
        return float(loss.dual(a, y, float(C[0]) if np.all(C[0] == C) else C))
    kind, value = loss
    slack = 1e-8 * min(float(np.max(C)), float(np.abs(a).max(initial=0.0)))
    one_sided = {"hinge": y * a, "logistic": y * a, "one_class": a, "nu_one_class": a}
    if kind == "squared_hinge" and np.any(y * a < -slack):
        return -np.inf
    if kind in one_sided and (np.any(one_sided[kind] < -slack) or np.any(one_sided[kind] > C + slack)):
        return -np.inf
    if kind == "pinball" and (np.any(a > value * C + slack) or np.any(a < (value - 1.0) * C - slack)):
        return -np.inf
    limit = {"epsilon_insensitive": 1.0, "huber": value}.get(kind)
    if limit is not None and np.any(np.abs(a) > limit * C + slack):
        return -np.inf
    if kind == "logistic":
        z = np.clip(y * a / C, 1e-300, 1.0)
        rest = np.maximum(1.0 - z, 1e-300)
        return -float(np.sum(C * (z * np.log(z) + (1.0 - z) * np.log(rest))))
    if kind == "nu_one_class":
        return 0.0
    if kind == "epsilon_insensitive":
        return float(y @ a - value * np.abs(a).sum())
    return float(y @ a) - (float(np.sum(a * a / (2.0 * C))) if kind in ("squared", "squared_hinge", "huber") else 0.0)


def norm(v: Array, order: float) -> float:
    """(sum |v|^order)^(1/order) without overflow."""
    top = float(np.max(np.abs(v), initial=0.0))
    if top == 0.0 or math.isinf(order):
        return top
    return float(top * np.sum((np.abs(v) / top) ** order) ** (1.0 / order))


def prices(penalty: dict[str, Any], n: Array, Q: Array | None) -> tuple[float, float]:
    """The primal price of block norms n (M,) and the dual price of forms Q (M,)."""
    kind, Q = penalty["is"], np.zeros_like(n) if Q is None else Q
    if kind in ("LpNorm", "WeightedLpNorm"):
        p, d = penalty["p"], np.asarray(penalty.get("d", np.ones(n.size)), dtype=float)
        factor = np.ones(n.size) if math.isinf(p) else d ** (1.0 / p)
        q, conjugate = (2.0, 1.0) if math.isinf(p) else (2 * p / (p + 1), math.inf if p == 1 else p / (p - 1))
        return 0.5 * norm(n * np.sqrt(factor), q) ** 2, 0.5 * norm(Q / factor, conjugate)
    if kind == "BlockNorm":
        q = penalty["q"]
        return 0.5 * norm(n, q) ** 2, 0.5 * norm(np.sqrt(Q), 1.0 if math.isinf(q) else q / (q - 1)) ** 2
    if kind == "ElasticNet":
        mu = penalty["mu"]
        above = np.maximum(np.sqrt(Q) - (1.0 - mu), 0.0)
        return float((1 - mu) * n.sum() + 0.5 * mu * (n @ n)), float(above @ above) / (2.0 * mu)
    if kind == "EllipticNorm":
        return _elliptic(np.asarray(penalty["E"]), n), _elliptic_dual(np.asarray(penalty["E"]), 0.5 * Q)
    raise DataError(f"This verifier does not know the penalty {kind}.")


def _elliptic(E: Array, n: Array) -> float:
    """min 1/2 sum n^2 / theta over theta'E^-1 theta <= 1: Newton on sum n^2 / (2 theta) + 1/2 theta'E^-1 theta, then
    scaled.
    """
    inverse, squares = np.linalg.inv(E), np.maximum(n, 1e-9 * n.max(initial=0.0)) ** 2
    if not squares.any():
        return 0.0
    squares = squares / squares.max()
    theta = np.ones(n.size)
    for _ in range(500):
        gradient = inverse @ theta - 0.5 * squares / theta**2
        step = np.linalg.solve(inverse + np.diag(squares / theta**3), -gradient)
        theta *= np.clip(1.0 + step / theta, 0.2, 5.0)
    theta /= math.sqrt(float(theta @ inverse @ theta))
    return 0.5 * float(np.sum(n[n > 0] ** 2 / theta[n > 0]))


def _elliptic_dual(E: Array, half: Array) -> float:
    """min over v >= half of sqrt(v'E v), one coordinate after the other."""
    v = half.copy()
    for _ in range(2000 if np.any(E < 0) else 0):
        for m in range(v.size):
            v[m] = max(half[m], v[m] - float(E[m] @ v) / E[m, m])
    return math.sqrt(float(v @ E @ v))


def terms_value(parameters: dict[str, Any], M: int, r: Array) -> float:
    """g(w) of the group selection terms, r_k = ||w_k||^2."""
    given = parameters["eta"]
    names = parameters["terms"].split("+")
    etas = [given] * len(names) if given is None or np.ndim(given) == 0 else list(given)
    etas = etas if len(names) > 1 else [given]
    total = 0.0
    for name, eta in zip(names, etas, strict=True):
        e = np.full(M, 1.0) if eta is None else np.broadcast_to(np.asarray(eta, dtype=float), (M,))
        total += {
            "log": lambda e: 0.5 * float(e @ np.log(parameters["log_epsilon"] + r)),
            "gl": lambda e: float(e @ np.sqrt(r)),
            "mf": lambda e: float(e @ r ** (0.5 * parameters["mf_power"])),
            "mkl": lambda e: 0.5 * float(e @ np.sqrt(r)) ** 2,
            "mcp": lambda e: float(np.sum(r / 2 + np.where(r < 9 * e**2, e * np.sqrt(r) - r / 6, 1.5 * e**2))),
            "scad": lambda e: float(np.sum(r / 2 + _scad(np.sqrt(r), e))),
        }[name.strip()](e)
    return total


def _scad(t: Array, e: Array) -> Array:
    """The SCAD price with its knee at 3.7: straight, bent, then flat."""
    return np.where(t <= e, e * t, np.where(t < 3.7 * e, (7.4 * e * t - t**2 - e**2) / 5.4, 2.35 * e**2))


# Statements


def cases(model: dict[str, Any]) -> Iterator[Case]:
    """The problems of a model, with labels -1 / +1 where it classifies."""
    fitted, name = model["fitted"], model["estimator"]
    y, objective = np.asarray(fitted["training_target_"]), np.atleast_1d(fitted["objective_"])
    shared, rows = objective.size == 1, np.arange(y.size)
    bounds = fitted.get("dual_objective_")
    pairs = fitted.get("pairs_")
    for k in range(objective.size):
        signed, used = y.astype(float), rows
        if "classes_" in fitted and pairs is not None and not shared:
            low, high = pairs[k]
            used = np.flatnonzero((y == low) | (y == high))
            signed = np.where(y[used] == high, 1.0, -1.0)
        elif "classes_" in fitted and not name.startswith("GOMP"):
            signed = np.where(y == (1 if shared else k), 1.0, -1.0)
        own = {name: fitted.get(name) for name in ("weights_", "dual_coef_", "dual_point_")}
        own = {
            name: None if value is None else np.asarray(value if shared else value[k]) for name, value in own.items()
        }
        dual = own["dual_coef_"]
        dual = dual[used] if dual.ndim == 1 else dual
        b = np.ravel(fitted["intercept_"])
        yield Case(
            "" if shared else f" (problem {k + 1})",
            signed,
            own["weights_"],
            dual,
            float(b[0] if b.size == 1 else b[k]),
            float(objective[k]),
            None if bounds is None else float(np.atleast_1d(bounds)[k]),
            own["dual_point_"],
            used,
        )


def compared(case: Case, objective: float, bound: float | None) -> list[Line]:
    """What is stated against what was found."""
    size = max(abs(objective), abs(case.objective), 1e-300)
    good = abs(objective - case.objective) <= CLOSE * size
    lines = [Line(good, f"objective{case.name}: stated {case.objective:.10g}, found {objective:.10g}")]
    if case.bound is None:
        return [*lines, Line(True, f"certificate{case.name}: none is stated; this method has none")]
    if bound is None:
        return [
            *lines,
            Line(False, f"dual value{case.name}: stated {case.bound:.10g}, and no dual point that proves it"),
        ]
    if not math.isfinite(bound):
        return [
            *lines,
            Line(False, f"dual value{case.name}: stated {case.bound:.10g}, but the dual point is not feasible"),
        ]
    size = max(size, abs(bound))
    lines.append(
        Line(
            abs(bound - case.bound) <= CLOSE * size,
            f"dual value{case.name}: stated {case.bound:.10g}, found {bound:.10g}",
        )
    )
    share = (objective - bound) / size
    lines.append(
        Line(
            share >= -CLOSE,
            f"gap{case.name}: {objective - bound:.3g}, so the answer is within {max(share, 0.0):.2e} of the optimum",
        )
    )
    return lines


def weighted(model: dict[str, Any], K: Array, case: Case) -> list[Line]:
    """lp-norm MKL and its relatives, SMKL: one dual for all kernels."""
    p, name, rows = model["parameters"], model["estimator"], np.ix_(case.rows, case.rows)
    novelty = name.endswith("OneClass")
    of_nu = novelty and p.get("nu") is not None
    loss: Any = Known("nu_one_class" if of_nu else "one_class") if novelty else loss_of(p)
    w = model["fitted"].get("sample_weight_")
    w = np.ones(case.y.size) if w is None else np.asarray(w)[case.rows]
    kept = w > 0
    cost = p["C"] if not of_nu else 1.0 / (p["nu"] * float(w.sum()))
    y = np.ones(case.y.size) if novelty else case.y
    y, b = (y, -float(model["fitted"]["offset_"])) if of_nu else moved(loss, y, case.intercept)
    G = np.array([kernel[rows] @ case.dual for kernel in K])
    Q = np.maximum(G @ case.dual, 0.0)
    C = cost * w
    errors = float(np.sum(C * loss_value(loss, case.weights @ G + b, y))) + (b if of_nu else 0.0)
    norms = case.weights * np.sqrt(Q)
    if name.startswith("SMKL"):
        return compared(case, terms_value(p, len(K), norms**2) + errors, None)
    if name.startswith("Aligned"):  # the weights are given: the machine pays 1/2 sum ||w_m||^2 / mu_m
        return compared(case, errors + 0.5 * float(case.weights @ Q), None)
    penalty = p.get("penalty") or {"is": "LpNorm", "p": math.inf if name.startswith("Uniform") else p.get("p", 1.0)}
    if isinstance(penalty, str):  # by its name, with its usual numbers
        penalty = {"lp": {"is": "LpNorm", "p": p.get("p", 1.0)}, "elastic net": {"is": "ElasticNet", "mu": 0.5}}.get(
            penalty, {"is": penalty}
        )
    best = name.startswith("BestKernel")
    used = np.flatnonzero(case.weights) if best else np.arange(len(K))
    if case.point is None:
        return compared(case, errors + prices(penalty, norms[used], None)[0], None)
    a = case.point
    forms = np.array([max(float(a @ K[m] @ a), 0.0) for m in used])
    primal, price = prices(penalty, norms[used], forms)
    value = loss_dual(loss, a[kept], y[kept], C[kept]) - price
    balanced = (novelty and p.get("nu") is None) or not p.get("fit_intercept", True)
    total = 1.0 if of_nu else 0.0
    off = abs(float(a.sum()) - total)
    if not balanced and off > 1e-8 * max(float(np.abs(a).sum()), 1e-300):
        value = -np.inf
    return compared(case, errors + primal, value)


def joint(model: dict[str, Any], K: Array, case: Case) -> list[Line]:
    """lp-norm MKL with one set of weights for several targets, or classes one against the rest."""
    if case.dual.ndim == 1:
        return weighted(model, K, case)
    p, fitted, A = model["parameters"], model["fitted"], case.dual
    y, loss = np.asarray(fitted["training_target_"]), loss_of(p)
    Y = np.where(y[:, None] == np.arange(A.shape[1]), 1.0, -1.0) if "classes_" in fitted else y
    f = np.tensordot(case.weights, K, 1) @ A
    Y, b = moved(loss, Y, fitted["intercept_"])
    point = A if case.point is None else case.point.T
    norms, forms = (np.array([max(float(np.sum(a * (k @ a))), 0.0) for k in K]) for a in (A, point))
    penalty, C = {"is": "LpNorm", "p": p["p"]}, np.full(Y.size, float(p["C"]))
    primal, price = prices(penalty, case.weights * np.sqrt(norms), forms)
    errors = p["C"] * float(np.sum(loss_value(loss, (f + b).ravel(), Y.ravel())))
    value = loss_dual(loss, point.ravel(), Y.ravel(), C) - price
    if p["fit_intercept"] and np.any(np.abs(point.sum(axis=0)) > 1e-8 * np.maximum(np.abs(point).sum(axis=0), 1e-300)):
        value = -np.inf
    return compared(case, errors + primal, None if case.point is None else value)


def greedy(model: dict[str, Any], K: Array, case: Case) -> list[Line]:
    """Greedy coordinate descent: coefficients of their own for every kernel."""
    p, n = model["parameters"], case.y.size
    y = case.y - (case.y.mean() if p["fit_intercept"] else 0.0)
    parts = np.array([kernel @ a for kernel, a in zip(K, case.dual, strict=True)])
    r = y - parts.sum(axis=0)
    norms = np.sqrt(np.maximum(np.sum(parts * case.dual, axis=1), 0.0))
    errors = 0.5 * float(r @ r) / n
    if p["criterion"] == "empirical":
        return compared(case, errors, None)
    theta = case.point
    if theta is None:
        return compared(case, errors + p["lam"] * float(norms.sum()), None)
    top = math.sqrt(max(max(float(theta @ kernel @ theta) for kernel in K), 0.0))
    value = float(theta @ y) - 0.5 * n * float(theta @ theta)
    return compared(case, errors + p["lam"] * float(norms.sum()), value if top <= p["lam"] * (1 + CLOSE) else -np.inf)


def pursuit(model: dict[str, Any], K: Array, case: Case) -> list[Line]:
    """MKL-GOMP: one sum of chosen kernels, one column of coefficients per output."""
    p, fitted = model["parameters"], model["fitted"]
    y = np.asarray(fitted["training_target_"], dtype=float)
    if "classes_" in fitted:
        several = len(fitted["classes_"]) > 2
        Y = np.where(y[:, None] == (np.arange(len(fitted["classes_"])) if several else 1), 1.0, -1.0)
    else:
        Y = y.reshape(y.shape[0], -1)
    Y = Y - (Y.mean(axis=0) if p["fit_intercept"] else 0.0)
    A = case.dual.reshape(len(Y), -1)
    f = np.tensordot(case.weights, K, 1) @ A
    hinge = p.get("loss") == "hinge"
    errors = np.maximum(0.0, 1.0 - Y * f).sum() if hinge else np.sum((Y - f) ** 2)
    return compared(case, float(errors) / len(Y) + p["lam"] * float(np.sum(A * f)), None)


def hull_of(model: dict[str, Any], X: Array) -> tuple[Hull, list[Any]]:
    """The grid or the graph of kernels of a model, and the nodes of its hull."""
    p, fitted = model["parameters"], model["fitted"]
    if p.get("graph") is None:
        found = Hull(levels_of(fitted["design_"], X), p["depth_weight"], p["root_weight"])
        return found, [tuple(int(level) for level in node) for node in fitted["hull_"]]
    graph, place = listed(fitted["design_"], X, p["depth_weight"])
    return graph, [place[name] for name in fitted["hull_"]]


def rows_of_graph(model: dict[str, Any], table: Any, target: str | None) -> tuple[Array, list[Line]]:
    """The stack of a graph's kernels on the training rows."""
    design = model["fitted"]["design_"]
    if design["transform"] is None:
        if not (isinstance(table, dict) and "X" not in table):
            raise DataError("The graph was fitted on Gram matrices: give them as .npz with one array (M, n, n).")
        return np.asarray(next(iter(table.values())), dtype=float), []
    X, lines = training_rows(model, table, target)
    K, more = stack_of(design["transform"], X)
    return K, lines + more


def hulls(model: dict[str, Any], X: Array, case: Case, k: int) -> list[Line]:
    """Hierarchical kernel learning: the bound over the whole grid or graph through the sufficient condition."""
    p, fitted = model["parameters"], model["fitted"]
    hull, nodes = hull_of(model, X)
    loss, n, lam = loss_of(p), case.y.size, p["lam"]
    y, b = moved(loss, case.y, case.intercept)
    forms, f = hull.forms(nodes, case.dual), hull.decision(nodes, case.weights, case.dual)
    size = hull.norm(nodes, case.weights, forms)
    primal = float(loss_value(loss, f + b, y).mean()) + 0.5 * lam * size**2
    if case.point is None or fitted.get("proof_") is None:
        return compared(case, primal, None)
    bound = hull.dual_norm_bound(fitted["proof_"][k], case.point)
    value = lam * (loss_dual(loss, case.point, y, np.full(n, 1.0 / (n * lam))) - 0.5 * bound)
    if p["fit_intercept"] and abs(float(case.point.sum())) > 1e-8 * max(float(np.abs(case.point).sum()), 1e-300):
        value = -np.inf
    return compared(case, primal, value)


def verify(model_path: Any, table: Any, target: str | None = None) -> list[Line]:
    """All statements about a saved model and the table (or .npz) it was fitted on.

    DataError where they cannot be made.
    """
    model = read_model(model_path)
    lines: list[Line] = []
    hkl = model["estimator"].startswith("HKL")
    if str(table).endswith(".npz"):
        try:
            with np.load(table, allow_pickle=False) as file:
                table = dict(file)
        except ValueError as error:
            raise DataError(f"The .npz cannot be read: {error} Expected arrays of numbers or texts.") from error
    if model["parameters"].get("graph") is not None:
        X, lines = rows_of_graph(model, table, target)
    elif isinstance(table, dict) and "X" not in table:
        X = np.asarray(next(iter(table.values())), dtype=float)
    else:
        X, lines = training_rows(model, table, target)
        if not hkl:
            X, more = stack_of(model["fitted"]["_map"], X)
            lines += more
    n = len(model["fitted"]["training_target_"])
    if X.shape[-1 if X.ndim > 2 else 0] != n:
        raise DataError(f"The model was fitted on {n} rows; the stack has shape {X.shape}.")
    if "loss" in model["parameters"]:
        lines += loss_lines(loss_of(model["parameters"]))
    for k, case in enumerate(cases(model)):
        if hkl:
            lines += hulls(model, X, case, k)
        else:
            kinds = {"Greedy": greedy, "GOMP": pursuit, "Joint": joint}
            check = next((f for start, f in kinds.items() if model["estimator"].startswith(start)), weighted)
            lines += check(model, X, case)
    return lines


def report(model_path: Any, table: Any, target: str | None = None) -> tuple[list[str], bool]:
    """What the command prints, line by line, and whether everything holds."""
    try:
        lines = verify(model_path, table, target)
    except (DataError, OSError) as error:
        return [f"cannot be checked: {error}"], False
    good = all(line.holds for line in lines)
    said = [f"{'holds' if line.holds else 'FAILS'}  {line.text}" for line in lines]
    return [*said, "Everything holds." if good else "NOT everything holds."], good


def main(arguments: list[str]) -> int:
    """The command; the code it ends with."""
    if len(arguments) not in (2, 3):
        print("usage: python -m mklcore.verify MODEL.mkl TABLE.csv [TARGET]", file=sys.stderr)
        return 2
    said, good = report(Path(arguments[0]), Path(arguments[1]), *arguments[2:])
    print("\n".join(said))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
