"""Runs and results: what is remembered of a path, the point on the screen in figures, and two runs compared."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.errors import DataError
from mklcore.figures import style
from mklcore.paths.files import read_paths, write_paths
from mklcore.paths.path import Path
from pages._parts.session import words


class ResultsError(Exception):
    """Kept results cannot be read; the message says so."""


@dataclass(frozen=True, eq=False)
class Results:
    """A path as it was on the screen, and the exact answer between its points if there was one."""

    path: Path
    point: Path | None = None


def write(results: Results) -> bytes:
    """Return results as an archive of plain arrays."""
    return write_paths(**{name: path for name, path in vars(results).items() if path is not None})


def read(content: bytes) -> Results:
    """Return the results in an archive that :func:`write` made.

    The models are not in it: they are fitted anew when needed.
    """
    try:
        return Results(**read_paths(content))
    except (DataError, TypeError) as error:
        raise ResultsError("The kept results cannot be read. The screen computes them anew.") from error


def facts(path: Path, index: int) -> dict[str, Any]:
    """Return the figures of one point as JSON can hold them; None where one does not apply."""
    return {
        "param": path.param,
        "value": _finite(path.values[index], infinite="inf"),
        "score": path.score_name,
        "train": _finite(path.train_score[index]),
        "validation": _finite(path.val_score[index]),
        "used": int(path.n_nonzero[index]),
        "kernels": len(path.kernel_names),
        "gap": _finite(path.relative_gap[index]),
        "certified": bool(path.statuses[index].ok) and math.isfinite(float(path.relative_gap[index])),
        "points": len(path),
        "seconds": _finite(np.sum(path.seconds)),
    }


def _finite(value: Any, infinite: Any = None) -> Any:
    number = float(value)
    return number if math.isfinite(number) else infinite if math.isinf(number) else None


# Two runs beside each other


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of two points over the union of their kernels; NaN where a run has no such kernel."""

    names: tuple[str, ...]
    families: tuple[str, ...]
    first: np.ndarray
    second: np.ndarray

    @property
    def difference(self) -> np.ndarray:
        """Second minus first; a kernel that one run does not have counts as 0 there."""
        return np.nan_to_num(self.second) - np.nan_to_num(self.first)

    @property
    def changed(self) -> float:
        """Half of the sum of the absolute differences of the two weights' shares: 0 the same, 1 nothing in common."""
        shares = [w / (w.sum() or 1.0) for w in (np.nan_to_num(self.first), np.nan_to_num(self.second))]
        return float(np.abs(shares[1] - shares[0]).sum() / 2)


def beside(first: tuple[Path, int], second: tuple[Path, int]) -> Weights:
    """Return the weights of two points, each (path, index), kernel by kernel."""
    families: dict[str, str] = {}
    columns = []
    for path, index in (first, second):
        families |= dict(zip(path.kernel_names, path.kernel_families, strict=True))
        columns.append(dict(zip(path.kernel_names, np.asarray(path.weights[index], dtype=float), strict=True)))
    names = tuple(families)
    ones, others = ([column.get(name, np.nan) for name in names] for column in columns)
    return Weights(names, tuple(families.values()), np.array(ones), np.array(others))


def differing(
    first: Mapping[str, str], second: Mapping[str, str], usual: Mapping[str, str]
) -> list[tuple[str, str, str]]:
    """Return what two recipes ask for differently: name, first, second, with usual values where a recipe is silent."""
    names = [name for name in dict.fromkeys([*first, *second]) if first.get(name) != second.get(name)]
    values = [[side.get(name, usual.get(name, "usual")) for name in names] for side in (first, second)]
    return list(zip(names, *values, strict=True))


def lines(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the facts of a run as the screen says them: what, and how much."""
    if "value" not in facts:
        return []
    score, value = str(facts.get("score", "score")), facts["value"]
    at = "∞" if value == "inf" else style.number(float(value))
    sign = {"lam": "λ"}.get(str(facts["param"]), str(facts["param"]))
    gap = facts.get("gap")
    return [
        ("shown at", f"{sign} = {at}"),
        (f"train {score}", words.score(score, facts.get("train"))),
        (f"validation {score}", words.score(score, facts.get("validation"))),
        ("kernels used", f"{facts.get('used')} of {facts.get('kernels')}"),
        ("certificate", "none" if gap is None else _gap(float(gap), bool(facts.get("certified")))),
    ]


def _gap(gap: float, certified: bool) -> str:
    return f"within {style.percent(gap)} of the optimum" if certified else f"not certified, gap {style.percent(gap)}"


def table(runs: Sequence[tuple[str, list[tuple[str, str]]]]) -> dict[str, list[str]]:
    """Return runs side by side as columns of a table; a line that one of them lacks is left empty there."""
    names = list(dict.fromkeys(name for _, rows in runs for name, _ in rows))
    columns = {"": names}
    for title, rows in runs:
        known, column = dict(rows), title
        while column in columns:
            column += " "
        columns[column] = [known.get(name, "") for name in names]
    return columns
