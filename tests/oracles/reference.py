"""Trusted optima as small files, and how to read them. Made by a generic cone solver, or exact linear algebra."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

FOLDER = Path(__file__).parent


class Optimum(NamedTuple):
    """One problem with its certified optimum: objective >= optimum >= lower."""

    part: str
    loss: str
    C: float
    order: float
    matrix: str
    objective: float
    lower: float
    weights: np.ndarray
    decision: np.ndarray
    K: np.ndarray
    y: np.ndarray

    @property
    def fit_intercept(self):
        return self.loss != "one_class"

    @property
    def name(self):
        return f"{self.part}-{self.loss}-C{self.C:g}-{self.matrix or f'{self.order:.4g}'}"


def lp_optima(mode="lp"):
    """The records of one kind: "lp", "noniso" (elliptic) or "block"."""
    with np.load(FOLDER / "lp_norm.npz") as file:
        data = dict(file)
    found = []
    for k in np.flatnonzero(data["mode"] == mode):
        part, loss = str(data["part"][k]), str(data["loss"][k])
        K = data[f"{part}_K"]
        y = data[f"{part}_classes"] if loss in ("hinge", "logistic") else data[f"{part}_target"]
        y = np.ones_like(y) if loss == "one_class" else y
        found.append(
            Optimum(
                part,
                loss,
                float(data["C"][k]),
                float(data["order"][k]),
                str(data["matrix"][k]),
                float(data["objective"][k]),
                float(data["lower"][k]),
                data["weights"][k, : len(K)],
                data["decision"][k, : len(y)],
                np.ascontiguousarray(K),
                y,
            )
        )
    return found


class GreedyPath(NamedTuple):
    """One MKL-GOMP path: kernel picked, all scores before the pick, then objective, residual norm and dual after it."""

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
        stem = f"{problem}|{kernels}|{lam}|"
        figures = (data[stem + field] for field in ("picks", "scores", "objective", "residual", "alpha"))
        found.append(
            GreedyPath(
                f"{problem}-lam{lam}",
                np.ascontiguousarray(data[f"K_{kernels}"]),
                data[f"Y_{problem}"],
                float(lam),
                *figures,
            )
        )
    return found
