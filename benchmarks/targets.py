"""How often the column that is taken when no target was named is the right one.

    python -m benchmarks.targets DIR

DIR holds tables and `targets.csv` with the columns `file` and `target`. One line a table: right or
wrong, the three likeliest columns with their confidence, and why the first was taken; then the
counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.lines import command_line, targets_of
from mklcore.data.reading import describe_table
from mklcore.data.target import TargetCandidate, is_sure
from mklcore.errors import DataError


class Guess(NamedTuple):
    """The guess on one table: the column to predict, and the likeliest ones."""

    file: str
    target: str
    candidates: tuple[TargetCandidate, ...]

    @property
    def right(self) -> bool:
        return bool(self.candidates) and self.candidates[0].name == self.target

    @property
    def among(self) -> bool:
        return any(one.name == self.target for one in self.candidates)

    def __str__(self) -> str:
        found = ", ".join(f"{one.name} {one.confidence:.2f}" for one in self.candidates)
        verdict = "right" if self.right else "among" if self.among else "wrong"
        why = f" ({self.candidates[0].reason})" if self.candidates else ""
        return f"{verdict}  {self.file}: {self.target}; guessed {found or 'none'}{why}"


def guesses(folder: Path) -> Iterator[Guess]:
    """The guess on every table that `targets.csv` names; a table that is refused has no candidates,
    and says so.
    """
    for file, target in targets_of(folder).items():
        try:
            yield Guess(file, target, describe_table(folder / file).candidates)
        except DataError as error:
            print(f"{file}: {error}")
            yield Guess(file, target, ())


def counts(found: list[Guess]) -> str:
    """A sentence about how many guesses are right."""
    sure = [one for one in found if one.candidates and is_sure(one.candidates)]
    return (
        f"{sum(one.right for one in found)} of {len(found)} right, "
        f"{sum(one.among for one in found)} among the three likeliest; "
        f"{sum(one.right for one in sure)} of {len(sure)} right where the guess is called "
        "sure"
    )


if __name__ == "__main__":
    parser = command_line(__doc__)
    parser.add_argument("folder", type=Path, help="a folder with tables and targets.csv")
    asked = parser.parse_args().folder
    reported = []
    for guess in guesses(asked):
        reported.append(guess)
        print(guess)
    print(counts(reported))
