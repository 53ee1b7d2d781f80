"""Trusted optima of hierarchical kernel learning, made by a generic cone solver, and how to read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mklcore.estimators.hkl import HKLClassifier, HKLRegressor
from mklcore.solvers.hkl.bases import ANOVABasis, GaussianBasis, PolynomialBasis
from mklcore.solvers.hkl.dag import Node, levels, touched
from mklcore.solvers.hkl.design import Design

FILE = Path(__file__).parent / "data" / "hkl.npz"


class HullOptimum(NamedTuple):
    """One problem with its optimum.

    ``nodes`` all nodes of the grid, ``hull`` the active ones, arrays along ``nodes``.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    settings: dict[str, Any]
    loss: str
    objective: float
    nodes: list[tuple[int, ...]]
    hull: set[tuple[int, ...]]
    eta: np.ndarray
    zeta: np.ndarray
    predicted: np.ndarray | None

    @property
    def is_smooth(self) -> bool:
        return self.loss != "hinge"

    def estimator(self, **more: Any) -> Any:
        cls = HKLRegressor if self.loss == "squared" else HKLClassifier
        return cls(loss=self.loss, **{**self.settings, **more})


def hull_optima() -> list[HullOptimum]:
    """All 31 records: 28 smooth ones and 3 with the hinge loss."""
    with np.load(FILE) as file:
        data = dict(file)
    fields = {key.removeprefix("records/"): data[key] for key in data if key.startswith("records/")}
    found = []
    for k, case in enumerate(fields["case"].tolist()):
        row = {key: values[k].item() for key, values in fields.items()}
        basis = {
            "polynomial": lambda row=row: PolynomialBasis(row["q"]),
            "anova": lambda row=row: ANOVABasis(row["b"]),
            "gaussian": lambda row=row: GaussianBasis(row["q"], row["b"], row["sigma2"]),
        }[row["basis"]]()
        settings = {key: row[key] for key in ("lam", "depth_weight", "root_weight", "fit_intercept")}
        settings |= {"basis": basis, "standardize": False, "normalize_basis": False}
        run, nodes = f"{case}/{row['run']}", [tuple(node) for node in data[f"{case}/nodes"].tolist()]
        found.append(
            HullOptimum(
                f"{case}-{row['lam']:g}",
                data[f"{case}/X"],
                data[f"{case}/y"].astype(float),
                data[f"{case}/Xtest"],
                settings,
                row["loss"],
                row["objective"],
                nodes,
                {node for node, inside in zip(nodes, data[f"{run}/hull"], strict=True) if inside},
                data[f"{run}/eta"],
                data[f"{run}/zeta"],
                data.get(f"{run}/pred_test"),
            )
        )
    return found


def brute_descendant_sums(design: Design, nodes: list[Node], a: np.ndarray, base: float) -> np.ndarray:
    """S_t by listing every descendant: small grids only."""
    grid = [touched(full) for full in np.ndindex(*(design.q + 1,) * design.p)]
    forms = {node: float(a @ design.gram(node) @ a) for node in grid}
    sums = []
    for node in nodes:
        low = np.array(levels(node, design.p))
        total = 0.0
        for below in grid:
            high = np.array(levels(below, design.p))
            if np.all(high >= low):
                spans = [sum(base**level for level in range(i, j + 1)) for i, j in zip(low, high, strict=True)]
                total += forms[below] / float(np.prod(spans)) ** 2
        sums.append(total)
    return np.array(sums)
