"""Trusted optima as small files, and how to read them.

Made by a generic cone solver, or exact linear algebra.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from mklcore import BlockNorm, EllipticNorm, LpNorm

FOLDER = Path(__file__).parent


def lp_optima():
    """The records of lp, block and elliptic norms, certified: objective >= optimum >= lower."""
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
        K = np.ascontiguousarray(data[f"{part}_K"])
        y = data[f"{part}_classes" if loss in ("hinge", "logistic") else f"{part}_target"]
        found.append(
            SimpleNamespace(
                part=part,
                loss=loss,
                penalty=penalty,
                K=K,
                y=np.ones_like(y) if loss == "one_class" else y,
                fit_intercept=loss != "one_class",
                weights=data["weights"][k, : len(K)],
                decision=data["decision"][k, : len(y)],
                **{name: data[name][k].item() for name in ("C", "objective", "lower")},
            )
        )
    return found


def gomp_paths():
    """Every squared-loss path, single and multiple output: kernel picked, all scores before the
    pick, then objective, residual norm and dual after it.
    """
    with np.load(FOLDER / "gomp.npz") as file:
        data = dict(file)
    found = []
    for key in (key for key in data if key.endswith("|picks")):
        problem, kernels, lam, _ = key.split("|")
        parts = ("picks", "scores", "objective", "residual", "alpha")
        fields = {field: data[key.replace("picks", field)] for field in parts}
        K = np.ascontiguousarray(data[f"K_{kernels}"])
        found.append(SimpleNamespace(K=K, Y=data[f"Y_{problem}"], lam=float(lam), **fields))
    return found
