"""Published experiments from the command line: run one, or list the runs of the project.

python -m mklcore.gallery.experiments                           every key, with verdicts and seconds
python -m mklcore.gallery.experiments lp_fig3 --small           less than a minute
python -m mklcore.gallery.experiments hkl_table1 --data DIR --jobs 2 --out run.json

--out writes the file again after every line that was measured. The same command continues a run
that was cut short; with more repetitions or other rows it adds to the file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from mklcore.errors import MKLError
from mklcore.gallery.experiments import EXPERIMENTS, Experiment, Outcome, PaperComparison
from mklcore.gallery.experiments.base import SMALL
from mklcore.gallery.experiments.claims import by_data, counted
from mklcore.gallery.experiments.records import records


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments name, and return 0, or 1 where an error was reported."""
    asked = _parser().parse_args(arguments)
    if asked.name is None:
        print("\n".join(map("\t".join, overview())))
        return 0
    experiment = EXPERIMENTS[asked.name]
    out = Path(asked.out) if asked.out else None
    try:
        start = Outcome.from_json(out.read_bytes()) if out and out.is_file() else None
        found = experiment.run(
            asked.repetitions or (SMALL if asked.small else None),
            asked.rows or None,
            asked.seed,
            _tell,
            quick=asked.small,
            data=asked.data,
            n_jobs=asked.jobs,
            start=start,
            keep=partial(_write, out) if out else None,
        )
    except MKLError as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(_reported(experiment, found)))
    return 0


def _write(out: Path, found: Outcome) -> None:
    """Replace the file in one step, so that it is complete whenever the run is cut short."""
    part = out.with_name(f"{out.name}.part")
    part.write_text(found.to_json(), encoding="utf-8")
    part.replace(out)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m mklcore.gallery.experiments", description="Run a published experiment again."
    )
    parser.add_argument(
        "name",
        nargs="?",
        choices=list(EXPERIMENTS),
        help="which; without it, what comes with the project",
    )
    parser.add_argument(
        "--small", action="store_true", help="few rows and repetitions, about a minute"
    )
    parser.add_argument("--data", metavar="DIR", help="a folder of data files (or MKLCORE_DATA)")
    parser.add_argument(
        "--jobs", type=int, help="lines measured at a time, in processes; -1 for one a core"
    )
    parser.add_argument("--repetitions", type=int)
    parser.add_argument(
        "--rows", action="append", help="one of the rows; may be given several times"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--out",
        metavar="FILE",
        help=(
            "keep every sample as JSON, which the Experiments page opens; what the file holds "
            "already is not measured again"
        ),
    )
    return parser


def _tell(done: int, total: int) -> None:
    print(f"\r{done} of {total}", end="\n" if done == total else "", file=sys.stderr, flush=True)


def _reported(experiment: Experiment, found: Outcome) -> Iterable[str]:
    """A table of one run beside the reference, the verdict on every claim, and what differs."""
    compared = experiment.compare(found)
    yield f"{experiment.paper}: {experiment.title}"
    yield f"Reference: {experiment.source}."
    size = (found.size, f"seed {found.seed}", found.took, "small" if found.quick else "")
    yield ", ".join(filter(None, size))
    yield "\t".join([experiment.row_name, *found.columns])
    for i, row in enumerate(found.rows):
        cells = [cell(compared, i, j) for j in range(len(found.columns))]
        yield "\t".join([row, *cells])
    yield experiment.coverage(found)
    for heading, verdicts in by_data(experiment.judge(found)):
        yield f"{heading}: {counted(verdicts)}."
        for verdict in verdicts:
            yield f"- {verdict.claim.sentence}"
            yield f"  {verdict.answer.capitalize()}. {verdict.figures}"
    yield from experiment.reasons(compared)
    yield f"What differs: {experiment.open_points}"


def cell(compared: PaperComparison, i: int, j: int) -> str:
    """Ours with its standard error, and the published number in brackets: "12.3±0.4 (12.1)"."""
    ours = compared.ours[i, j]
    error = compared.ours_error[i, j]
    reference = compared.reference[i, j]
    text = "-" if np.isnan(ours) else f"{ours:.4g}"
    if not np.isnan(ours) and not np.isnan(error):
        text += f"±{error:.2g}"
    return text if np.isnan(reference) else f"{text} ({reference:.4g})"


def overview() -> list[tuple[str, ...]]:
    """A heading, and one line per run of the project: what it covers, the verdicts, and seconds."""
    own = "claims on the paper's data"
    lines: list[tuple[str, ...]] = [
        ("key", "published in", "rows on its data", "repetitions", own, "on stand-ins", "took")
    ]
    for key, experiment in EXPERIMENTS.items():
        found = records(key)
        if not found:
            lines.append((key, experiment.paper, "no record"))
        for run in found:
            measured, every = experiment.covered(run)
            size = run.size.partition(" repetition")[0]
            if run.quick:
                size += ", small"
            counts = [counted(verdicts) for _, verdicts in by_data(experiment.judge(run))]
            rows = f"{measured} of {every}"
            lines.append((key, experiment.paper, rows, size, *counts, run.took))
    return lines


if __name__ == "__main__":
    sys.exit(main())
