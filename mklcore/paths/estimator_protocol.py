"""What a path asks of an estimator, as a protocol: every estimator of this library keeps it, and any other that does
has paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Protocol, Self

from mklcore.arrays import Array


class PathEstimator(Protocol):
    """What a path asks of an estimator: every estimator of this library keeps it, and any other that does has paths
    too.

    Fitted, it has what a path collects: ``weights_``, ``objective_``, ``dual_gap_`` and ``relative_gap_`` (None where
    nothing is certified), ``status_``, ``fit_``, ``n_kernels_`` and ``n_solves_``. It may have ``training_decision``,
    its decision values on the training rows where fitting has left them.
    """

    score_name: ClassVar[str]  # what ``path_score`` measures
    objective_: Any
    status_: Any
    fit_: Any
    n_kernels_: int
    n_solves_: int

    callback: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, as scikit-learn has them."""

    def fit(self, X: Any, y: Any) -> Self:
        """Fit alone, without neighbours."""

    def copy_with(self, attribute: str, value: Any) -> Self:
        """An unfitted copy with one parameter changed."""

    def training_stack(self, X: Any, y: Any) -> tuple[Any, Any]:
        """The kernels of the training rows, a ``GramStack`` or what stands for it, and the checked target."""

    def along(
        self, stack: Any, y: Any, param: str, values: Sequence[float], attribute: str, start: Any = None
    ) -> Iterator[Self]:
        """One fitted copy per value of ``param``, which the estimator calls ``attribute``; ``start`` a fitted
        neighbour.
        """

    def path_table(self, points: Sequence[Any], stack: Any) -> tuple[Array, tuple[str, ...], tuple[str, ...]]:
        """Weights (L, M) of the fitted points, and the names and families of the M kernels."""

    def decide_blocks(self, blocks: Any) -> Any:
        """Decision values from kernel blocks (M, n_new, n)."""

    def predict_blocks(self, blocks: Any) -> Any:
        """Predictions from kernel blocks (M, n_new, n)."""

    @staticmethod
    def decide_along(points: Sequence[Any], blocks: Any) -> list[Any]:
        """The decision values of several fitted points from the same kernel blocks, in their order."""

    def label(self, decision: Any) -> Any:
        """Predictions from decision values."""

    def path_score(self, predicted: Any, y: Any) -> float:
        """The score of predictions."""

    def lam_range(self, stack: Any, y: Any) -> tuple[float, float]:
        """The smallest and the largest lambda of a path; estimators without a parameter lam are not asked."""


class SizedEstimator(PathEstimator, Protocol):
    """An estimator that adds kernels one at a time, so that one run answers for every number of them."""

    def along_grid(self, stack: Any, y: Any, lams: Sequence[float], sizes: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """For every lam the fitted copies of all ``sizes``."""
