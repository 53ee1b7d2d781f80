"""What `benchmarks.strangers` measured, table by table: a JSON record, and the page `strangers.md` written from it.

    python -m benchmarks.strangers_record    # the page again, from the record as it is

A table that is measured again replaces its own row; nothing on the page is typed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.__main__ import included

RECORD = Path(__file__).with_name("strangers.json")
PAGE = Path(__file__).with_name("strangers.md")
MODELS = ("ours", "linear", "RBF", "boosting")
FAR = 0.02  # behind the better of linear model and RBF machine
SLOW = 5.0  # CPU seconds until path and ranking are there
HEAD = (
    "table", "target", "rows x columns", "trained on", "kernels", *MODELS, "behind", "first look", "ranking", "found",
    "splits", "measured",
)  # fmt: skip
Row = Mapping[str, Any]


def read(record: Path = RECORD) -> dict[str, Row]:
    """The rows measured so far, by table."""
    return json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}


def keep(row: Row, record: Path = RECORD) -> None:
    """Write one row into the record, in place of an older one of the same table."""
    rows = read(record) | {row["name"]: row}
    record.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def written(text: str, rows: Sequence[Row]) -> str:
    """The page with what the rows say between its marks."""
    return included(text, "\n".join([*_table(rows), "", *_summary(rows)]))


def _table(rows: Sequence[Row]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (HEAD, ["---"] * len(HEAD), *map(_cells, rows))]


def _cells(row: Row) -> list[str]:
    first = [row["name"], row["target"], f"{row['rows']:,} x {row['columns']}", f"{row['used']:,}", str(row["kernels"])]
    scores = [f"{row['scores'][name]:.3f}" for name in MODELS]
    times = [f"{row['look'][0]:.2f}", f"{row['full'][0]:.2f}"]
    found = "" if row["found"] is None else f"{row['found']:.0%}"
    return [*first, *scores, f"{row['behind']:+.3f}", *times, found, str(row["splits"]), row["day"]]


def _summary(rows: Sequence[Row]) -> list[str]:
    """What all rows say together, a sentence each."""
    ranks = np.mean([rankdata([-round(row["scores"][name], 4) for name in MODELS]) for row in rows], axis=0)
    worst = max(rows, key=lambda row: row["behind"])
    far = [f"{row['name']} ({row['behind']:+.3f})" for row in rows if row["behind"] > FAR]
    slow = [f"{row['name']} ({row['full'][0]:.2f})" for row in rows if row["full"][0] > SLOW]
    found = [row["found"] for row in rows if row["found"] is not None]
    mean = ", ".join(f"{name} {rank:.2f}" for name, rank in zip(MODELS, ranks, strict=True))
    lines = [
        f"- Mean rank over {len(rows)} tables (1 is best): {mean}.",
        f"- Furthest behind the better of linear model and RBF machine: {worst['name']} ({worst['behind']:+.3f}).",
        f"- More than {FAR:g} behind: {', '.join(far) or 'none'}.",
        f"- Over {SLOW:g} CPU seconds until path and ranking: {', '.join(slow) or 'none'}.",
    ]
    if found:
        lines.append(
            f"- Columns that count at the head of the ranking: {np.mean(found):.0%} over {len(found)} tables whose "
            f"truth is known."
        )
    return lines


def main() -> None:
    """Write the page from the record."""
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), list(read().values())), encoding="utf-8")


if __name__ == "__main__":
    main()
