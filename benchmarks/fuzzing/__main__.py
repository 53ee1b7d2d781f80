"""Attack by inputs that hypothesis draws, for some minutes each, and count them.

    python -m benchmarks.fuzzing [links pages stacks models store] [--minutes 10] [--seed 0]

A finding is an input that led to anything but an answer or an error message; it is printed at its smallest, and the
run fails. The counts are kept, and ``docs/attacked.md`` is written from what is kept.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, settings

from benchmarks.fuzzing import TARGETS
from benchmarks.fuzzing.targets import Target
from benchmarks.records import add

ROUND = 300  # inputs between two seeds


@dataclass
class Count:
    """How many inputs were tried and how they ended, and one example of every finding."""

    ended: Counter[str] = field(default_factory=Counter)
    findings: dict[str, str] = field(default_factory=dict)
    minutes: float = 0.0

    @property
    def tried(self) -> int:
        return sum(self.ended.values())


def attack(target: Target, minutes: float, seed: int = 0, inputs: int = 0) -> Count:
    """Draw inputs for so many minutes, or so many ``inputs``; go on after a finding."""
    found, begun = Count(), time.monotonic()
    end = begun + 60 * minutes
    while time.monotonic() < end:

        def one(value: Any) -> None:
            if time.monotonic() > end:
                return
            try:
                found.ended[target.check(value)] += 1
            except BaseException:
                found.ended["a finding"] += 1
                raise

        bounded = settings(
            max_examples=inputs or ROUND, database=None, deadline=None, suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink), verbosity=Verbosity.quiet, report_multiple_bugs=False,
        )  # fmt: skip
        try:
            hypothesis.seed(seed)(bounded(hypothesis.given(target.inputs)(one)))()
        except Exception as error:  # a finding is reported, and the attack goes on
            last = traceback.extract_tb(error.__traceback__)[-1]
            name = f"{type(error).__name__} in {Path(last.filename).name}, {last.name}"
            found.findings.setdefault(name, "\n".join([str(error)[:1500], *getattr(error, "__notes__", ())])[:4000])
        seed += 1
        if inputs:
            break
    found.minutes = (time.monotonic() - begun) / 60
    return found


def reported(name: str, count: Count) -> str:
    """One line of counts, and the findings below it."""
    how = ", ".join(f"{number:,} {end}" for end, number in count.ended.most_common())
    lines = [f"{name}: {count.tried:,} inputs in {count.minutes:.1f} minutes ({how}); {len(count.findings)} findings"]
    return "\n".join([*lines, *(f"  {where}\n{what}" for where, what in count.findings.items())])


def main() -> int:
    """Attack one target after the other; 1 if there was a finding."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("targets", nargs="*", metavar="TARGET")
    asked.add_argument("--minutes", type=float, default=10.0)
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    unknown = set(given.targets) - set(TARGETS)
    if unknown:
        asked.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    findings = 0
    for name in given.targets or TARGETS:
        count = attack(TARGETS[name](), given.minutes, given.seed)
        findings += len(count.findings)
        print(reported(name, count), flush=True)
        counts = {"inputs": count.tried, "minutes": round(count.minutes, 1), "findings": len(count.findings)}
        add("attacks", "inputs", name, {**counts, "ended": dict(count.ended.most_common())})
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main())
