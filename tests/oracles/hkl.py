"""Trusted optima of hierarchical kernel learning, made by a generic cone solver, and how to read
them.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from mklcore import ANOVABasis, GaussianBasis, HKLClassifier, HKLRegressor, PolynomialBasis
from mklcore.hkl.graph import levels, touched

FILE = Path(__file__).parent / "hkl.npz"


def hull_optima():
    """All 31 records, 28 smooth ones and 3 with the hinge loss: a problem with its optimum,
    ``hull`` the active ones of the grid's ``nodes``, ``eta`` and ``zeta`` along ``nodes``.
    """
    with np.load(FILE) as file:
        data = dict(file)
    fields = {key.removeprefix("records/"): data[key] for key in data if key.startswith("records/")}
    bases = {
        "polynomial": lambda row: PolynomialBasis(row["q"]),
        "anova": lambda row: ANOVABasis(row["b"]),
        "gaussian": lambda row: GaussianBasis(row["q"], row["b"], row["sigma2"]),
    }
    found = []
    for k, case in enumerate(fields["case"].tolist()):
        row = {key: values[k].item() for key, values in fields.items()}
        settings = {
            key: row[key] for key in ("lam", "depth_weight", "root_weight", "fit_intercept")
        }
        settings |= {
            "basis": bases[row["basis"]](row),
            "standardize": False,
            "normalize_basis": False,
        }
        run = f"{case}/{row['run']}"
        nodes = [tuple(node) for node in data[f"{case}/nodes"].tolist()]
        hull = {node for node, inside in zip(nodes, data[f"{run}/hull"], strict=True) if inside}
        loss = row["loss"]
        cls = HKLRegressor if loss == "squared" else HKLClassifier
        found.append(
            SimpleNamespace(
                X=data[f"{case}/X"],
                y=data[f"{case}/y"].astype(float),
                X_test=data[f"{case}/Xtest"],
                loss=loss,
                is_smooth=loss != "hinge",
                estimator=partial(cls, loss=loss, **settings),
                objective=row["objective"],
                nodes=nodes,
                hull=hull,
                predicted=data.get(f"{run}/pred_test"),
                **{field: data[f"{run}/{field}"] for field in ("eta", "zeta")},
            )
        )
    return found


def grid(design):
    """Every node of a small grid."""
    return [touched(full) for full in np.ndindex(*(design.q + 1,) * design.p)]


def brute_descendant_sums(design, nodes, a, base):
    """S_t by listing every descendant: small grids only."""
    forms = {node: float(a @ design.gram(node) @ a) for node in grid(design)}
    sums = []
    for node in nodes:
        low = np.array(levels(node, design.p))
        total = 0.0
        for below, form in forms.items():
            high = np.array(levels(below, design.p))
            if np.all(high >= low):
                spans = [
                    sum(base**level for level in range(i, j + 1))
                    for i, j in zip(low, high, strict=True)
                ]
                total += form / float(np.prod(spans)) ** 2
        sums.append(total)
    return np.array(sums)
