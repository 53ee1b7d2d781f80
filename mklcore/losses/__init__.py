"""Losses: value, conjugate, dual feasible set, curvature; and the intercept at which the total loss is least."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mklcore.losses.base import (
        CLASSIFICATION,
        LOSSES,
        REGRESSION,
        Able,
        Cost,
        EpsilonInsensitive,
        Hinge,
        Huber,
        Logistic,
        Loss,
        NuOneClass,
        OneClass,
        Pinball,
        Squared,
        SquaredHinge,
        loss_for,
        losses_for,
        make_loss,
    )

_NAMES = {
    "base": [
        "CLASSIFICATION",
        "LOSSES",
        "REGRESSION",
        "Able",
        "Cost",
        "EpsilonInsensitive",
        "Hinge",
        "Huber",
        "Logistic",
        "Loss",
        "NuOneClass",
        "OneClass",
        "Pinball",
        "Squared",
        "SquaredHinge",
        "loss_for",
        "losses_for",
        "make_loss",
    ],
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
__all__ = [
    "CLASSIFICATION",
    "LOSSES",
    "REGRESSION",
    "Able",
    "Cost",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "NuOneClass",
    "OneClass",
    "Pinball",
    "Squared",
    "SquaredHinge",
    "loss_for",
    "losses_for",
    "make_loss",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(_import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}.")
