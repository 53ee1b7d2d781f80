"""Trusted optima as small files, and how to read them.

Made by a generic cone solver, or exact linear algebra.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from mklcore.problem.penalties import BlockNorm, EllipticNorm, LpNorm, Penalty

FOLDER = Path(__file__).parent


class Optimum(NamedTuple):
    """One problem with its certified optimum: objective >= optimum >= lower."""

    part: str
    loss: str
    C: float
    penalty: Penalty
    objective: float
    lower: float
    weights: np.ndarray
    decision: np.ndarray
    K: np.ndarray
    y: np.ndarray

    @property
    def fit_intercept(self):
        return self.loss != "one_class"


def lp_optima():
    """The records of lp, block and elliptic norms."""
    with np.load(FOLDER / "lp_norm.npz") as file:
        data = dict(file)
    found = []
    for k, mode in enumerate(data["mode"]):
        part = str(data["part"][k])
        loss = str(data["loss"][k])
        if mode == "noniso":
            penalty = EllipticNorm(data[f"E_{data['matrix'][k]}"])
        else:
            penalty = (LpNorm if mode == "lp" else BlockNorm)(float(data["order"][k]))
        K = data[f"{part}_K"]
        y = data[f"{part}_classes" if loss in ("hinge", "logistic") else f"{part}_target"]
        figures = (data[name][k].item() for name in ("objective", "lower"))
        arrays = (
            data["weights"][k, : len(K)],
            data["decision"][k, : len(y)],
            np.ascontiguousarray(K),
        )
        y = np.ones_like(y) if loss == "one_class" else y
        found.append(Optimum(part, loss, float(data["C"][k]), penalty, *figures, *arrays, y))
    return found


class GreedyPath(NamedTuple):
    """One MKL-GOMP path: kernel picked, all scores before the pick, then objective, residual norm
    and dual after it.
    """

    name: str
    K: np.ndarray
    Y: np.ndarray
    lam: float
    picks: np.ndarray
    scores: np.ndarray
    objective: np.ndarray
    residual: np.ndarray
    alpha: np.ndarray


def gomp_paths():
    """Every squared-loss path, single and multiple output."""
    with np.load(FOLDER / "gomp.npz") as file:
        data = dict(file)
    found = []
    for key in (key for key in data if key.endswith("|picks")):
        problem, kernels, lam, _ = key.split("|")
        fields = (
            data[key.replace("picks", field)]
            for field in ("picks", "scores", "objective", "residual", "alpha")
        )
        K = np.ascontiguousarray(data[f"K_{kernels}"])
        found.append(
            GreedyPath(f"{problem}-lam{lam}", K, data[f"Y_{problem}"], float(lam), *fields)
        )
    return found
