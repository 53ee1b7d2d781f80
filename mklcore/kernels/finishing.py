"""The numbers that centre and normalise a kernel, from its diagonal and its row sums: one way for stacks and for rows.

    finish:  K_ij <- (K_ij - r_i - r_j + g) f_i f_j

with r the row means and g the grand mean of the training gram (both 0 without centring), and f as the table in `grams`
says. A kernel that is constant on the training rows has no variance in feature space: what would divide by it leaves it
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.maps import CONSTANT_TOLERANCE, KernelMap, spherical_factors

NORMALISATIONS: tuple[str | None, ...] = ("multiplicative", "spherical", "trace", "diag", None)


@dataclass
class Finishing:
    """r, g, f and s of M kernels on n rows, settled one kernel at a time; which are constant, and which had to be left
    out.
    """

    names: tuple[str, ...]
    normalise: str | None
    center: bool
    scales: Array
    factors: Array
    row_means: Array
    grand_means: Array
    n: int
    weights: Array | None = None  # of the rows (n,): a row of weight 2 counts as two rows
    constant: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, names: Sequence[str], n: int, normalise: str | None, center: bool, lean: bool = False) -> Self:
        """Nothing settled yet. ParameterError for a normalisation there is not.

        ``lean``: factors and row means that are the same for all rows are kept once per kernel, (M, 1).
        """
        if normalise not in NORMALISATIONS:
            known = ", ".join(repr(name) for name in NORMALISATIONS)
            raise ParameterError(f"normalise must be one of {known}, got {normalise!r}.")
        M, across = len(names), 1 if lean and not (center or normalise == "spherical") else n
        empty = (np.ones(M), np.ones((M, across)), np.zeros((M, across)), np.zeros(M))
        return cls(tuple(names), normalise, center, *empty, n)

    @property
    def needs_sums(self) -> bool:
        """Whether row sums are needed for the numbers themselves, and not only to tell a constant kernel."""
        return self.center or self.normalise == "multiplicative"

    @property
    def by_row(self) -> bool:
        """Whether rows have factors or means of their own; else a kernel has one scale."""
        return self.center or self.normalise == "spherical"

    def settle(self, m: int, diagonal: Array, sums: Array, spread: float | None = None) -> bool:
        """Find the numbers of kernel m from its diagonal and row sums (n,); False when it has to be left out.

        Of weighted rows the sums are K w.

        ``spread`` is its variance in feature space, tr(K)/n - 1'K1/n^2 by default: where ``needs_sums`` is False, sums
        may be zeros and another measure of spread can tell a constant kernel. KernelError where a number overflows.
        """
        w = self.weights if self.weights is not None else np.ones(diagonal.size)
        n = float(w.sum())
        trace, grand = float(w @ diagonal), float(w @ sums) / n**2
        spread = trace / n - grand if spread is None else spread
        if not (np.isfinite(trace) and np.isfinite(grand) and np.isfinite(spread)):
            raise self._too_large(m)
        if spread <= CONSTANT_TOLERANCE * trace / n:
            self.constant.append(m)
            if self.needs_sums or (trace <= 0 and self.normalise in ("trace", "diag")):
                self.dropped.append(m)
                return False
        if self.center:
            self.row_means[m], self.grand_means[m] = sums / n, grand
        own = diagonal - 2 * self.row_means[m] + self.grand_means[m]
        if self.normalise == "spherical":
            self.factors[m] = spherical_factors(diagonal, self.row_means[m], float(self.grand_means[m]))
        elif self.normalise is not None:
            self.scales[m] = {"multiplicative": spread, "trace": w @ own, "diag": own[w > 0].max()}[self.normalise]
            self.factors[m] = self.scales[m] ** -0.5
        return True

    def settle_plain(self, diagonal: Array, spreads: Array) -> None:
        """The same for all kernels at once without centring, and for any normalisation but "spherical": there may be
        very many.

        ``diagonal`` (M, n) of each; ``spreads`` (M,) as ``spread`` there.
        """
        n = diagonal.shape[1]
        with np.errstate(over="ignore"):  # reported by name
            trace = diagonal.sum(axis=1)
        wild = np.flatnonzero(~(np.isfinite(trace) & np.isfinite(spreads)))
        if wild.size:
            raise self._too_large(int(wild[0]))
        constant = spreads <= CONSTANT_TOLERANCE * trace / n
        without = (trace <= 0.0) & (self.normalise in ("trace", "diag"))
        self.constant += np.flatnonzero(constant).tolist()
        self.dropped += np.flatnonzero(constant & (without | self.needs_sums)).tolist()
        if self.normalise is None:
            return
        size = {"multiplicative": spreads, "trace": trace}.get(self.normalise)
        left = np.ones(trace.size, dtype=bool)
        left[self.dropped] = False
        self.scales[left] = (diagonal.max(axis=1) if size is None else size)[left]
        self.factors[left] = self.scales[left, None] ** -0.5

    def _too_large(self, m: int) -> KernelError:
        return KernelError(
            f"{self.names[m]} grows beyond the largest number on these rows. Standardise the columns or lower its "
            f"degree."
        )

    @property
    def kept(self) -> Indices:
        """The kernels that are left. KernelError where none is."""
        kept = np.setdiff1d(np.arange(len(self.names)), self.dropped)
        if kept.size == 0:
            more = ", …" if len(self.names) > 3 else ""
            raise KernelError(
                f"Every kernel is constant on the training rows (n_samples = {self.n}): "
                f"{', '.join(self.names[:3])}{more}. Use rows that differ, or columns that vary."
            )
        return kept

    @property
    def notes(self) -> list[str]:
        """which kernels are constant, and whether they were left out."""
        return [
            f"{self.names[m]}: constant on the training rows, {'left out' if m in self.dropped else 'kept'}."
            for m in sorted(self.constant)
        ]

    def on(self, plain: KernelMap) -> KernelMap:
        """The map of kernels without centring and scale, with the numbers found here, for the kernels that are left."""
        return replace(
            plain,
            scales=self.scales,
            factors=np.broadcast_to(self.factors, (len(self.names), self.n)),
            row_means=np.broadcast_to(self.row_means, (len(self.names), self.n)),
            grand_means=self.grand_means,
            normalise=self.normalise,
            center=self.center,
            weights=self.weights,
        ).subset(self.kept)
