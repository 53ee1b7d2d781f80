"""Dates as numbers: their hour, weekday, month, year, and the days since 1970."""

from __future__ import annotations

import re

import numpy as np

from mklcore.arrays import Array, Labels

DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T]\d{1,2}:.*)?")
PARTS = ("hour", "weekday", "month", "year", "day")
YEAR, DAY, MONTH = "year first", "day first", "month first"  # which of the three numbers of a date comes first
_PLACES = {YEAR: (0, 1, 2), DAY: (2, 1, 0), MONTH: (2, 0, 1)}
_NUMBER = re.compile(r"\d+")
_CENTURY = 69  # two digits from here on are of the last century


def order_of(labels: Labels) -> str:
    """In which order the dates of a column are written; month first where nothing else is sure, but with dots."""
    found = [_NUMBER.findall(text)[:3] for text in labels.tolist() if DATE.fullmatch(text)]
    if any(len(one[0]) > 2 for one in found):
        return YEAR
    first, second = ([int(one[k]) for one in found] for k in (0, 1))
    if max(first, default=0) > 12 or (max(second, default=0) <= 12 and any("." in text for text in labels.tolist())):
        return DAY
    return MONTH


def parts_of(labels: Labels, order: str) -> Array:
    """The ``PARTS`` (n, 5) of dates that are written in this order; NaN for a cell that is none."""
    from pandas import DataFrame, to_datetime

    texts, (year, month, day) = labels.tolist(), _PLACES[order]
    table = np.full((len(texts), 6), np.nan)
    for row, text in zip(table, texts, strict=True):
        if DATE.fullmatch(text):
            found = [int(number) for number in _NUMBER.findall(text)[:6]] + [0, 0, 0]
            full = found[year] + (0 if found[year] > 99 else 1900 if found[year] >= _CENTURY else 2000)
            row[:] = full, found[month], found[day], *found[3:6]
    moments = to_datetime(
        DataFrame(table, columns=["year", "month", "day", "hour", "minute", "second"]), errors="coerce"
    )
    at, days = moments.dt, (moments - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
    parts = (at.hour + at.minute / 60.0, (np.floor(days) + 3) % 7, at.month, at.year, days)
    return np.column_stack([np.asarray(part, dtype=np.float64) for part in parts])
