"""A few rows for all: kernels of low rank predict like the exact ones long before they prove anything about them.

Ringnorm, four RBF widths, lp-norm MKL. Every kernel is replaced by what a few landmark rows tell of it, more and more
of them. Accuracy arrives first; what the answer proves for the exact kernels, by one pass over them, arrives last.

Source: Williams and Seeger (2001) for the approximation; weak duality for the bound, as in
``mklcore.solvers.exact_pass``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mklcore.arrays import Array
from mklcore.data.synthetic import make_ringnorm
from mklcore.errors import suppress_convergence_warnings
from mklcore.figures.style import number, percent
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.features import Nystroem
from mklcore.lessons.base import Lesson, Tick, silent
from mklcore.solvers.exact_pass import whole_certificate

N_ROWS, TEST_SHARE = 800, 0.4
WIDTHS = (0.25, 0.5, 1.0, 2.0)
P, C = 4.0 / 3.0, 1.0
N_TRAIN = round(N_ROWS * (1 - TEST_SHARE))
LANDMARKS = (2, 4, 8, 16, 32, 64, 128, 256, N_TRAIN)
NEAR = 1.0  # percentage points of accuracy within which nobody would tell the two apart


@dataclass(frozen=True, eq=False)
class Landmarks:
    """At every number of ``landmarks`` (L,): ``accuracy`` in % on test rows, ``proved`` the relative gap that the
    answer proves for the exact kernels, ``lost`` (L, 4) the share of each trace that is gone; ``exact`` the accuracy of
    exact kernels.
    """

    landmarks: tuple[int, ...]
    accuracy: Array
    proved: Array
    lost: Array
    exact: float

    @property
    def arrived(self) -> int:
        """Index of the first number of landmarks from which on the accuracy stays as good as that of exact kernels."""
        off = np.flatnonzero(self.accuracy < self.exact - NEAR)
        return int(off[-1]) + 1 if off.size else 0

    @property
    def answer(self) -> str:
        """Which share of the rows suffices as landmarks."""
        share = self.landmarks[min(self.arrived, len(self.landmarks) - 1)] / self.landmarks[-1]
        return "all" if share > 0.6 else "half" if share > 0.2 else "tenth" if share > 0.05 else "less"

    @property
    def facts(self) -> dict[str, str]:
        """Figures for the text."""
        at, last = self.arrived, len(self.landmarks) - 1
        return {
            "enough": str(self.landmarks[at]),
            "share": number(100 * self.landmarks[at] / self.landmarks[-1]),
            "enough_accuracy": number(self.accuracy[at]),
            "exact": number(self.exact),
            "fewest": str(self.landmarks[0]),
            "fewest_accuracy": number(self.accuracy[0]),
            "enough_proved": percent(float(self.proved[at])),
            "half": str(self.landmarks[last - 1]),
            "half_proved": percent(float(self.proved[last - 1])),
            "all_proved": percent(float(self.proved[last])),
            "narrow_lost": number(100 * float(self.lost[at].max())),
            "wide_lost": number(100 * float(self.lost[at].min())),
        }


def landmarks(tick: Tick = silent, seed: int = 0) -> Landmarks:
    """Solve with exact kernels, then with those of every number of landmarks."""
    from mklcore.estimators.lp import LpMKLClassifier

    pieces = len(LANDMARKS) + 1
    tick(0, pieces)
    train, test = make_ringnorm(N_ROWS, seed)[0].split(TEST_SHARE, seed)
    model = LpMKLClassifier(kernels=KernelDictionary.rbf_grid(WIDTHS), p=P, C=C)
    with suppress_convergence_warnings():
        exact = 100.0 * float(model.fit(train.X, train.y).score(test.X, test.y))
        tick(1, pieces)
        rows = []
        for k, count in enumerate(LANDMARKS):
            model.set_params(approximation=Nystroem(count)).fit(train.X, train.y)
            proved = whole_certificate(model, train.X, train.y).relative_gap
            rows.append((100.0 * model.score(test.X, test.y), proved, model.approximation_error_))
            tick(k + 2, pieces)
    accuracy, gaps, lost = (np.array(column) for column in zip(*rows, strict=True))
    return Landmarks(LANDMARKS, accuracy, gaps, lost, exact)


_GIVEN = {
    "rows": str(N_TRAIN),
    "kernels": str(len(WIDTHS)),
    "near": number(NEAR),
}
LANDMARKS_LESSON = Lesson("landmarks", len(LANDMARKS) + 1, landmarks, _GIVEN, ("all", "half", "tenth", "less"))
