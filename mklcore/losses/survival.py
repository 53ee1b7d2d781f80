"""Cox's partial likelihood for times until an event, some of which are known to be longer than the time observed.

    L(f) = sum_{i: event} [ log sum_{j: t_j >= t_i} exp(f_j) - f_i ]

f_i is the logarithm of the hazard of row i but for a constant: a free intercept would change nothing. Ties as Breslow
has them: rows with the same time are at risk together.

The conjugate is a minimum over ways to share out the events, but at a gradient g = L'(f0) Fenchel's equality gives it:
L*(g) = g'f0 - L(f0). That is all a certificate needs.

Source: D. R. Cox, Regression models and life tables, Journal of the Royal Statistical Society B 34, 1972; N. Breslow's
contribution to its discussion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import column_or_1d

from mklcore.arrays import Array, Indices, Mask
from mklcore.errors import DataError


class Times(NamedTuple):
    """Times (n,) and whether the event was seen then (n,); where it was not, the time was at least so long."""

    time: Array
    event: Mask


def as_times(y: Any) -> Times:
    """Times and events of a target: columns time and event (n, 2), a structured array or table with an event of 0/1 or
    booleans and a time, or times alone (n,), all of them events. DataError for anything else, or without an event.
    """
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names is not None or hasattr(y, "columns"):
        columns = list(y.columns) if names is None else list(names)
        if len(columns) != 2:
            raise DataError(f"A target of times has two fields, an event and a time; got {columns}.")
        parts = [np.asarray(y[name]) for name in columns]
        flags = [part.dtype.kind == "b" for part in parts]
        named = [str(name).lower() == "event" for name in columns]
        first = (flags if any(flags) else named if any(named) else [False, True]).index(True)
        table = np.column_stack([parts[1 - first].astype(float), parts[first].astype(float)])
    else:
        try:
            table = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError):
            message = "Unknown label type: times until an event are numbers, with 0 or 1 for the event."
            raise DataError(message) from None
    if table.ndim == 2 and table.shape[1] == 1:
        table = column_or_1d(table, warn=True)
    if table.ndim == 1:
        table = np.column_stack([table, np.ones(table.size)])
    if table.ndim != 2 or table.shape[1] != 2:
        raise DataError(f"A target of times has the columns time and event, (n, 2); got shape {table.shape}.")
    if not np.all(np.isfinite(table)):
        raise DataError("The target holds NaN or infinite values; drop or fill these rows first.")
    if not np.all(np.isin(table[:, 1], (0.0, 1.0))):
        raise DataError("The second column of a target of times is the event: 1 where it was seen, 0 where it was not.")
    if not table[:, 1].any():
        raise DataError("No event was seen in any row, so that nothing can be learned of when it comes.")
    return Times(np.ascontiguousarray(table[:, 0]), table[:, 1] == 1.0)


class PartialLikelihood:
    """L, its gradient and its second derivatives on training times, O(n) and O(n^2)."""

    def __init__(self, times: Times) -> None:
        self.order: Indices = np.argsort(-times.time, kind="stable")
        self.back = np.argsort(self.order)
        time = times.time[self.order]
        self.event = times.event[self.order].astype(float)
        fresh = np.append(True, time[1:] != time[:-1])
        self.first = np.flatnonzero(fresh)[np.cumsum(fresh) - 1]
        ends = np.append(self.first[1:][np.diff(self.first) > 0] - 1, time.size - 1)
        self.last = ends[np.cumsum(fresh) - 1]

    def value(self, f: Array) -> float:
        """L(f) for f (n,)."""
        g = f[self.order]
        return float(self.event @ (self._log_sums(g) - g))

    def _log_sums(self, g: Array) -> Array:
        """log sum over the rows at risk of exp(g), (n,)."""
        sums: Array = np.logaddexp.accumulate(g)[self.last]
        return sums

    def _shares(self, g: Array) -> tuple[Array, Array]:
        """exp(g - top) and the sums of it over the rows at risk, both (n,)."""
        e = np.exp(g - g.max())
        return e, np.cumsum(e)[self.last]

    def gradient(self, f: Array) -> Array:
        """L'(f) (n,); sums to zero."""
        g = f[self.order]
        logs = self._log_sums(g)
        ratio = np.where(self.event > 0, -logs, -np.inf)
        summed = np.logaddexp.accumulate(ratio[::-1])[::-1][self.first]  # of log 1 / sums, over events up to this time
        found: Array = np.exp(g + summed) - self.event
        return found[self.back]

    def hessian(self, f: Array) -> Array:
        """L''(f) (n, n), positive semidefinite, its rows summing to zero."""
        e, sums = self._shares(f[self.order])
        once = np.cumsum((self.event / sums)[::-1])[::-1]
        twice = np.cumsum((self.event / sums**2)[::-1])[::-1]
        later = np.maximum(self.first[:, None], self.first[None, :])
        H = -np.outer(e, e) * twice[later]
        H.flat[:: e.size + 1] += e * once[self.first]
        found: Array = H[np.ix_(self.back, self.back)]
        return found

    def baseline(self, f: Array) -> tuple[Array, Indices]:
        """Breslow's cumulative hazard of f = 0: the times of events, rising, and its value after each, by the order of
        the training times.
        """
        _, sums = self._shares(f[self.order])
        steps = np.where(self.event > 0, 1.0 / sums, 0.0)[::-1] * np.exp(-float(f.max()))
        hazard: Array = np.cumsum(steps)
        return hazard, self.order[::-1]


def concordance(y: Any, risk: Array) -> float:
    """The share of comparable pairs of rows in which the one with the earlier event has the higher ``risk``; ties count
    half.

    ``y`` times and events as in ``as_times``; ``risk`` (n,). A pair is comparable where the earlier time is that of an
    event. 0.5 says nothing; DataError where no pair can be compared. Source: Harrell and others, Evaluating the yield
    of medical tests, JAMA 247, 1982.

    >>> concordance([3.0, 1.0, 2.0], np.array([0.1, 0.9, 0.5]))
    1.0
    """
    times, risk = as_times(y), np.asarray(risk, dtype=float)
    if risk.shape != times.time.shape:
        raise DataError(f"There are {times.time.size} times and {risk.size} risks; they must be the same rows.")
    good = total = 0.0
    for i in np.flatnonzero(times.event):
        later = times.time > times.time[i]
        later |= (times.time == times.time[i]) & ~times.event
        good += float(np.sum(risk[later] < risk[i]) + 0.5 * np.sum(risk[later] == risk[i]))
        total += float(later.sum())
    if total == 0.0:
        raise DataError("No two rows can be compared: no event is earlier than another time.")
    return good / total
