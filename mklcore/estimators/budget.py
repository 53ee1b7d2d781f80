"""What the greedy estimators share: kernels enter one at a time, so one run holds the answer for every smaller
budget.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from mklcore.arrays import Array
from mklcore.estimators.base import KernelEstimator
from mklcore.kernels.grams import GramStack
from mklcore.parameters import check_whole
from mklcore.solvers.driver import Fit, Status
from mklcore.solvers.gomp import Spectra


class BudgetedEstimator(KernelEstimator):
    """Base of the greedy estimators: decompositions made once serve every lam, one run serves every ``n_kernels``."""

    def _check_parameters(self) -> None:
        self._positive("lam")
        self._whole("n_kernels")

    def _whole(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), other=", or None for all")

    def _prepared(self, stack: GramStack) -> Spectra | None:
        """What every run on ``stack`` needs, whatever lam and the budget are."""
        return Spectra.of(stack)

    def _solve(self, stack: GramStack, y: Array, warm: Any) -> None:
        self._run(stack, y, self._prepared(stack))

    @abstractmethod
    def _run(self, stack: GramStack, y: Array, prepared: Spectra | None) -> None:
        """Solve and publish."""

    @abstractmethod
    def _cut_to(self, whole: Any, size: int) -> None:
        """Publish what the fitted estimator ``whole`` had found when it had ``size`` kernels."""

    def along(
        self, stack: GramStack, y: Array, param: str, values: Sequence[float], attribute: str, start: Any = None
    ) -> Iterator[Any]:
        """One fitted copy per value; one run holds the answers for all sizes, and ``start`` is not needed."""
        prepared = self._prepared(stack)
        if param == "s":
            yield from self._sizes(stack, y, [int(value) for value in values], prepared)
            return
        for value in values:
            copy = self.copy_with(attribute, value)
            copy._run(stack, y, prepared)
            copy._remember(stack, y)
            yield copy

    def along_grid(
        self, stack: GramStack, y: Array, lams: Sequence[float], sizes: Sequence[int]
    ) -> Iterator[tuple[Any, ...]]:
        """For every lam the fitted copies of all ``sizes``, from one run each."""
        prepared = self._prepared(stack)
        for lam in lams:
            yield tuple(self.copy_with("lam", lam)._sizes(stack, y, sizes, prepared))

    def _sizes(self, stack: GramStack, y: Array, sizes: Sequence[int], prepared: Spectra | None) -> Iterator[Any]:
        largest = self.copy_with("n_kernels", max(sizes))
        largest._run(stack, y, prepared)
        largest._remember(stack, y)
        for size in sizes:
            copy = self.copy_with("n_kernels", size)
            copy._cut_to(largest, size)
            copy._remember(stack, y)
            yield copy


def truncated(fit: Fit, size: int) -> Fit:
    """The same greedy run, stopped after ``size`` steps."""
    assert fit.points is not None
    points = fit.points[: size + 1]
    last, history = points[-1], fit.history[: len(points)]
    proved = [(p.dual_objective, p.dual_point) for p in points if p.dual_objective is not None]
    return replace(
        fit,
        weights=last.weights,
        dual_coef=last.dual,
        objective=last.objective,
        dual_objective=history[-1].dual_objective,
        dual_point=max(proved, key=lambda proof: proof[0])[1] if proved else None,
        status=Status.COMPLETE if len(points) < len(fit.points) else fit.status,
        n_iter=max(1, len(points) - 1),
        history=history,
        solves=history[-1].solves,
        seconds=history[-1].seconds,
        selected=last.selected,
        points=points,
    )
