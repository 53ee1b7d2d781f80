"""Which losses the greedy methods take: squared and hinge by themselves, and every loss with a slope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mklcore.errors import ParameterError
from mklcore.losses import Loss, losses_for, make_loss
from mklcore.solvers.greedy import has_rate

NO_RATE = (
    "No rate of convergence is claimed for the loss {}: its second derivative vanishes in places, so that it is not of "
    "the quadratic type that the rates are proved for (Jin, Yang and Mahdavi, 2013, footnote 1)."
)


def greedy_loss(loss: Any, tasks: Sequence[str], *, hinge: bool = False) -> Loss:
    """The loss object; ParameterError for losses without a slope, but for the hinge where it is ``hinge``."""
    known = [name for name in losses_for(tasks) if _suits(make_loss(name), hinge)]
    found = loss if isinstance(loss, Loss) else make_loss(loss) if isinstance(loss, str) and loss in known else None
    if found is None or not (set(found.tasks) & set(tasks)) or not _suits(found, hinge):
        raise ParameterError(f"loss must be one of {', '.join(known)} here; got {loss!r}.")
    return found


def _suits(loss: Loss, hinge: bool) -> bool:
    return loss.quadratic or loss.sloped or (hinge and loss.piecewise_linear and loss.signed)


def rate_notes(loss: Loss) -> tuple[str, ...]:
    """What is said of the rates of greedy coordinate descent under this loss."""
    return () if has_rate(loss) else (NO_RATE.format(loss.name),)
