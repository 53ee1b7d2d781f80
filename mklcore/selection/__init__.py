"""Choosing a point, a parameter or a model: folds, curves, leave-one-out, reference models, calibrated
probabilities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mklcore._lazy import lazily as _lazily

if TYPE_CHECKING:
    from mklcore.selection.choose_c import choose_C, leave_one_out
    from mklcore.selection.curves import (
        CrossValidated,
        choose,
        cross_validate_path,
        validation_curve,
    )
    from mklcore.selection.probabilities import calibrate, reliability
    from mklcore.selection.references import hull_references, plain_references
    from mklcore.selection.screening import column_scores

__getattr__ = _lazily(
    __name__,
    {
        "curves": [
            "CrossValidated",
            "choose",
            "cross_validate_path",
            "validation_curve",
        ],
        "references": ["hull_references", "plain_references"],
        "probabilities": ["calibrate", "reliability"],
        "choose_c": ["choose_C", "leave_one_out"],
        "screening": ["column_scores"],
    },
)
__all__ = [
    "CrossValidated",
    "calibrate",
    "choose",
    "choose_C",
    "column_scores",
    "cross_validate_path",
    "hull_references",
    "leave_one_out",
    "plain_references",
    "reliability",
    "validation_curve",
]
