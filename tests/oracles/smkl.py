"""Trusted runs of sparse MKL as a small file, and how to read them.

Made with exact linear algebra and a cone solver.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tests.oracles.reference import FOLDER

COPIES = 10  # of the first kernel of problem P3
TERMS = {"loggl": "log+gl"}


class Run(NamedTuple):
    """One run: weights after each of the first steps (k, M), r before them, L at every step,
    weights after pruning.
    """

    name: str
    loss: str
    terms: str
    K: np.ndarray
    y: np.ndarray
    C: float
    log_epsilon: float
    tol: float
    fit_intercept: bool
    weights: np.ndarray
    r: np.ndarray
    objective: np.ndarray
    pruned: np.ndarray


class Optimum(NamedTuple):
    """min ||f - y||^2 / (2 n) + lam sum_k ||f_k||: objective >= optimum >= lower, kernels of trace
    n.
    """

    name: str
    K: np.ndarray
    y: np.ndarray
    lam: float
    objective: float
    lower: float


def _problem(data, part):
    """The stack (M, n, n) of trace one and the target; P3 is ten copies of one kernel, then
    another.
    """
    y = data[f"{part}_y"]
    flat = data[f"{part}_K"]
    flat = np.concatenate([np.repeat(flat[:1], COPIES, axis=0), flat[1:]]) if part == "P3" else flat
    K = np.empty((len(flat), y.size, y.size))
    rows, columns = np.triu_indices(y.size)
    K[:, rows, columns] = K[:, columns, rows] = flat
    return K, y


def _load():
    with np.load(FOLDER / "smkl.npz") as file:
        return dict(file)


def smkl_runs():
    """Every run that can be compared: two on P3 are not in the file (see ``test_smkl_solver``)."""
    data = _load()
    found = []
    for name in data["names"].tolist():
        part, machine, *rest = name.split("_")
        loss = "hinge" if machine == "hinge" else "squared"
        terms = rest[1] if machine == "lssvm" else rest[0]
        C, epsilon, tol, bias = data[f"{name}|settings"].tolist()
        figures = (data[f"{name}|{field}"] for field in ("beta", "r", "objective", "pruned"))
        problem = _problem(data, part)
        found.append(
            Run(
                name, loss, TERMS.get(terms, terms), *problem, C, epsilon, tol, bool(bias), *figures
            )
        )
    return found


def l1_optima():
    """The l1 problem of greedy sparse learning at several lam."""
    data = _load()
    found = []
    for key in (key for key in data if key.startswith("l1|")):
        name = key.split("|")[1]
        part, lam = name.split("_lam")
        K, y = _problem(data, part)
        found.append(Optimum(name, K * y.size, y, float(lam), *data[key].tolist()))
    return found
