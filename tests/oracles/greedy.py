"""Trusted values for greedy sparse MKL: cone-solver optima and directly computed paths, as small
files.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tests.oracles.reference import FOLDER

with np.load(FOLDER / "greedy.npz") as _file:
    DATA = dict(_file)
with np.load(FOLDER / "gomp.npz") as _file:
    _GOMP = dict(_file)


def _square(triangles):
    n = int((np.sqrt(8 * triangles.shape[1] + 1) - 1) / 2)
    stack = np.zeros((len(triangles), n, n))
    upper = np.triu_indices(n)
    stack[:, upper[0], upper[1]] = triangles
    stack[:, upper[1], upper[0]] = triangles
    return stack


def _unit_diagonal(stack):
    return np.ascontiguousarray(stack / stack[:, :1, :1])


# The problems: P1 truth {1, 4}, one RBF kernel per feature; P2 truth {0, 3}, rank-2 kernels; P3 ten
# copies and one; P5 hinge.
KERNELS = {
    "P1": _unit_diagonal(_GOMP["K_P1_Kvar"]),
    "P1var": _GOMP["K_P1_Kvar"],
    "P2": _GOMP["K_P2_K"],
    "P3": _GOMP["K_P3_K"],
    "P3two": np.ascontiguousarray(_GOMP["K_P3_K"][[0, 10]]),
    "P5": _square(DATA["P5_K"]),
}
TARGETS = {name: _GOMP[f"Y_{name[:2]}"][:, 0] for name in ("P1", "P1var", "P2", "P3", "P3two")} | {
    "P5": DATA["P5_y"]
}
X3 = DATA["P3_X"]


class Penalised(NamedTuple):
    """An optimum of the l1 problem, and the path of Algorithm 1 to it: one row per kernel that
    entered.
    """

    name: str
    K: np.ndarray
    y: np.ndarray
    lam: float
    objective: float
    dual: float
    norms: np.ndarray
    gradients: np.ndarray
    picks: np.ndarray
    path_objective: np.ndarray
    path_gradients: np.ndarray
    path_norms: np.ndarray


def penalised():
    """Every optimum of the l1 problem."""
    found = []
    for key in (key for key in DATA if key.startswith("l1|") and key.count("|") == 1):
        name = key.removeprefix("l1|")
        problem, lam = name.split("_lam")
        path = (DATA[f"alg1|{name}|{field}"] for field in ("picks", "objective", "grads", "norms"))
        optimum = (*DATA[key].tolist(), DATA[f"{key}|norms"], DATA[f"{key}|grads"])
        found.append(
            Penalised(name, KERNELS[problem], TARGETS[problem], float(lam), *optimum, *path)
        )
    return found


class Descent(NamedTuple):
    """Thirty steps of Algorithm 2."""

    name: str
    K: np.ndarray
    y: np.ndarray
    linesearch: bool
    picks: np.ndarray
    loss: np.ndarray
    gradients: np.ndarray
    eta: np.ndarray


def descents():
    """Every run of Algorithm 2, unit steps and line search."""
    found = []
    for key in (key for key in DATA if key.startswith("alg2|") and key.endswith("|picks")):
        name = key.split("|")[1]
        problem, step = name.split("_")
        fields = (DATA[f"alg2|{name}|{field}"] for field in ("picks", "loss", "grads", "eta"))
        found.append(
            Descent(name, KERNELS[problem], TARGETS[problem], step == "linesearch", *fields)
        )
    return found
