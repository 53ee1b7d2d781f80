"""Rows that belong together: several of one person, animal or machine, which a split at random tears apart."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from mklcore.data.columns import Profile
from mklcore.data.dataset import counted

OWNERS = (
    "animal",
    "batch",
    "case",
    "customer",
    "donor",
    "household",
    "individual",
    "participant",
    "patient",
    "person",
    "pid",
    "plot",
    "sample",
    "specimen",
    "subject",
    "user",
)
MOST_SHARE = 0.9  # of the rows: with more owners than this hardly any has two
LEAST = 0.02


def rows_together(profiles: Sequence[Profile]) -> list[str]:
    """A warning per column that names owners of several rows each: text that repeats without blanks, or a telling name.

    Whether a row is in training or test is drawn row by row; a model then knows the others of an owner, and its
    scores say less about new owners than they seem to.
    """
    notes = []
    for item in profiles:
        values = item.labels if item.numbers is None else item.numbers
        if values is None or item.column.kind not in ("text", "number") or not _names_owners(item):
            continue
        share = item.column.distinct / len(values)
        if item.column.missing or not LEAST < share <= MOST_SHARE or item.column.distinct <= 20:
            continue
        usual = np.median(np.unique(values, return_counts=True)[1])
        each = f"{usual:g} rows each" if usual > 1 else "some of them in several rows"
        notes.append(
            f"{item.column.name!r} names {counted(item.column.distinct, 'owner')} of rows, {each}: rows that belong "
            f"together "
            "are in training and test rows alike, so scores may promise too much. One row of each would tell."
        )
    return notes


def _names_owners(item: Profile) -> bool:
    words = set(re.split(r"[\s_.\-:]+", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", item.column.name).lower()))
    if words & set(OWNERS):
        return item.numbers is None or bool((item.numbers == np.round(item.numbers)).all())
    return item.labels is not None and "id" in words
