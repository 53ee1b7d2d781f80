"""Derive which columns may give the target away, and the parameters that leave one of them out."""

from dataclasses import replace

from mklcore.data.leaks import Leak, find_leaks, rows_in_order
from mklcore.data.splitting import RANDOM
from pages._parts.derive import tables
from pages._parts.derive.caches import result_cache
from pages._parts.params import rules
from pages._parts.params.parameters import Params


def leaks(params: Params) -> tuple[Leak, ...]:
    """Return the columns that may give the target away or sort the rows, the strongest first; none for a stack."""
    if tables.on_stack(params):
        return ()
    data = tables.unprepared(params)
    return result_cache(params).made(("leaks", data.fingerprint), lambda: find_leaks(data))


def by_time(params: Params) -> str:
    """Return which rows to hold out where a column sorts the rows and they are still drawn at random; "" elsewhere."""
    return rows_in_order(tables.unprepared(params)) if params.hold_out == RANDOM else ""


def without(params: Params, column: str) -> str:
    """Return the text of ``uses`` under which a column of an uploaded table is left out; "" where there is none."""
    if not params.data.startswith(rules.UPLOAD):
        return ""
    names = [one.name for one in tables.summary(replace(params, uses="")).columns]
    if column not in names:
        return ""
    place = names.index(column) + 1
    kept = [part for part in params.uses.split(",") if part and part[:-1] != str(place)]
    return ",".join(sorted([*kept, f"{place}x"], key=lambda part: int(part[:-1])))
