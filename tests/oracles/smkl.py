"""Trusted runs of sparse MKL as a small file, and how to read them.

Made with exact linear algebra and a cone solver.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from tests.oracles.reference import FOLDER

COPIES = 10  # of the first kernel of problem P3
TERMS = {"loggl": "log+gl"}


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


def smkl_runs():
    """Every run that can be compared (two on P3 are not in the file, see ``test_smkl``): weights
    after each of the first steps (k, M), r before them, L at every step, weights after pruning.
    """
    with np.load(FOLDER / "smkl.npz") as file:
        data = dict(file)
    found = []
    for name in data["names"].tolist():
        part, machine, *rest = name.split("_")
        terms = rest[1] if machine == "lssvm" else rest[0]
        K, y = _problem(data, part)
        C, log_epsilon, tol, bias = data[f"{name}|settings"].tolist()
        fields = {field: data[f"{name}|{field}"] for field in ("beta", "r", "objective", "pruned")}
        found.append(
            SimpleNamespace(
                name=name,
                loss="hinge" if machine == "hinge" else "squared",
                terms=TERMS.get(terms, terms),
                K=K,
                y=y,
                C=C,
                log_epsilon=log_epsilon,
                tol=tol,
                fit_intercept=bool(bias),
                **fields,
            )
        )
    return found
