"""Trusted values for greedy sparse MKL: cone-solver optima and directly computed paths, as small
files.
"""

from __future__ import annotations

from types import SimpleNamespace

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


def penalised():
    """Every optimum of the l1 problem: objective, dual value, norms and gradients at it, and the
    path of Algorithm 1 to it, one row per kernel that entered.
    """
    found = []
    for key in (key for key in DATA if key.startswith("l1|") and key.count("|") == 1):
        name = key.removeprefix("l1|")
        problem, lam = name.split("_lam")
        path = {
            f"path_{field}": DATA[f"alg1|{name}|{field}"]
            for field in ("objective", "grads", "norms")
        }
        objective, dual = DATA[key].tolist()
        case = {"K": KERNELS[problem], "y": TARGETS[problem], "lam": float(lam)}
        optimum = {"objective": objective, "dual": dual, "norms": DATA[f"{key}|norms"]}
        picks = DATA[f"alg1|{name}|picks"]
        found.append(SimpleNamespace(name=name, picks=picks, **case, **optimum, **path))
    return found


def descents():
    """Every run of Algorithm 2, thirty unit steps or line searches."""
    found = []
    for key in (key for key in DATA if key.startswith("alg2|") and key.endswith("|picks")):
        name = key.split("|")[1]
        problem, step = name.split("_")
        fields = {
            field: DATA[f"alg2|{name}|{field}"] for field in ("picks", "loss", "grads", "eta")
        }
        case = {"K": KERNELS[problem], "y": TARGETS[problem], "linesearch": step == "linesearch"}
        found.append(SimpleNamespace(name=name, **case, **fields))
    return found
