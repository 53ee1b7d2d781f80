"""Optimum at the grid boundary: where the best of the values tried is the last one, the best has not been found.

Spectra with one linear kernel per band and sparse lp-norm MKL along its cost C. A grid that ends too early has its best
validation score at its last value; the path then goes on, by the same ratio, until the score stops rising.

Source: Kloft, Brefeld, Sonnenburg and Zien (2011), equation (1): C is the weight of the errors; the grid is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mklcore.arrays import Array
from mklcore.data.synthetic import N_BANDS, make_spectra
from mklcore.errors import suppress_convergence_warnings
from mklcore.figures.style import number
from mklcore.kernels.dictionary import spectral_dictionary
from mklcore.kernels.functions import Linear
from mklcore.lessons.base import Lesson, Tick, silent
from mklcore.paths.path import Path, fit_path, grown

N_ROWS, N_WAVELENGTHS, N_DECISIVE = 200, 150, 3
TRIED = 10.0 ** np.linspace(-3.0, -1.0, 7)
MOST_MORE = 20
PIECES = TRIED.size + MOST_MORE
JUST, FAR = 3.0, 30.0  # times the last value tried: up to where the best is just beyond, and from where it is far


@dataclass(frozen=True, eq=False)
class Edge:
    """``path`` over C with the first ``tried`` values those of the short grid; ``test`` (L,) are R² on rows of their
    own.
    """

    path: Path
    tried: int
    test: Array

    @property
    def edge(self) -> int:
        """Index of the best validation score of the short grid."""
        return int(np.argmax(self.path.val_score[: self.tried]))

    @property
    def best(self) -> int:
        """Index of the best validation score of the whole path."""
        return int(np.argmax(self.path.val_score))

    @property
    def beyond(self) -> float:
        """How many times the last value tried the best cost is."""
        return float(self.path.values[self.best] / self.path.values[self.tried - 1])

    @property
    def answer(self) -> str:
        """How far beyond the last value tried the best one is."""
        if self.beyond <= 1.0:
            return "there"
        return "just" if self.beyond < JUST else "far" if self.beyond >= FAR else "ten"

    @property
    def facts(self) -> dict[str, str]:
        """Figures for the text."""
        edge, best, path = self.edge, self.best, self.path
        before = float(path.val_score[self.tried - 1] - path.val_score[self.tried - 2])
        return {
            "edge_r2": f"{path.val_score[edge]:.2f}",
            "edge_test": f"{self.test[edge]:.2f}",
            "edge_left": number(100 * (1 - float(self.test[edge]))),
            "best_C": number(path.values[best]),
            "best_r2": f"{path.val_score[best]:.2f}",
            "best_test": f"{self.test[best]:.2f}",
            "best_left": number(100 * (1 - float(self.test[best]))),
            "times": number(round(self.beyond, 6)),
            "more": str(len(path) - self.tried),
            "gain": f"{before:.2f}",
            "edge_bands": str(int(path.n_nonzero[edge])),
            "best_bands": str(int(path.n_nonzero[best])),
        }


def edge(tick: Tick = silent, seed: int = 0) -> Edge:
    """Solve the short grid, then go on from its end while the validation score rises."""
    from mklcore.estimators.lp import LpMKLRegressor

    tick(0, PIECES)
    data = make_spectra(N_ROWS, N_WAVELENGTHS, N_DECISIVE, seed)[0]
    train, rest = data.split(0.5, seed)
    check, test = rest.split(0.5, seed)
    stack = spectral_dictionary(data.groups, specs=Linear()).grams(train.X, normalise="multiplicative")
    blocks, model = stack.cross(check.X), LpMKLRegressor(p=1.0)
    with suppress_convergence_warnings():
        short = fit_path(model, stack, train.y, "C", TRIED, blocks, check.y, lambda done, _: tick(done, PIECES))
        path = grown(short, model, stack, train.y, blocks, check.y, grow=MOST_MORE)
    tick(PIECES, PIECES)
    final = stack.cross(test.X)
    scores = [fitted.path_score(fitted.predict_blocks(final), test.y) for fitted in path.estimators]
    return Edge(path, TRIED.size, np.array(scores))


_GIVEN = {
    "rows": str(N_ROWS // 2),
    "bands": str(N_BANDS),
    "low": number(TRIED[0]),
    "high": number(TRIED[-1]),
    "tried": str(TRIED.size),
}
EDGE = Lesson("edge", PIECES, edge, _GIVEN, ("there", "just", "ten", "far"))
