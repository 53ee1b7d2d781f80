"""No table breaks it: tables of a folder, and generated ones, through everything the library and the pages derive from
them.

    python -m benchmarks.any_table [DIR] [--generated 300] [--only NAME ...] [--asked] [--again] [--record FILE]

Every table of DIR (as the app reads it, and with the target that DIR/targets.csv names) and every generated one goes
through `read_table`, `explore`, one path of every estimator, and what each page derives unasked; with ``--asked`` also
what a page derives where a person asks for it: refits, choices without validation rows, searches, other models. A step
ends well, with an error message (a named error of ours), or with an exception that is none of ours, which is a fault.
Tables in the record are not tried again unless ``--again`` or ``--only`` asks for them, so that an interrupted run goes
on. The page `any_table.md` counts.
"""

from __future__ import annotations

import argparse
import collections
import csv
import json
import logging
import re
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import mklcore as mkl
from benchmarks.__main__ import ROOT, included
from benchmarks.odd_tables import odd_tables
from benchmarks.strangers import KINDS
from mklcore.catalog import ESTIMATORS
from mklcore.data.dataset import Dataset
from mklcore.data.reading import read_table
from mklcore.errors import MKLError, suppress_convergence_warnings
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.paths.path import fit_path, path_grid
from pages._parts.derive import (
    bounds,
    comparison,
    dictionaries,
    gram_stacks,
    hull_baselines,
    hull_columns,
    hulls,
    importance,
    judging,
    looks,
    measuring,
    paths,
    predictions,
    references,
    scores,
    searches,
    tables,
    tunings,
)  # fmt: skip
from pages._parts.jobs.job import Job, Progress, make
from pages._parts.params.parameters import Params
from pages._parts.session.memory import memory
from pages._parts.session.uploads import keep_upload

RECORD = ROOT / "benchmarks" / "records" / "any_table.json"
PAGE = ROOT / "benchmarks" / "any_table.md"
ROWS = 60  # to learn from, for every step but reading
POINTS = 4  # of a path of every estimator
HULL_COLUMNS = 4
MOST_HULL_NODES = 200
SECONDS = 30.0  # of a search for a model
ENDS = ("refusals", "exceptions")
TABS = ("lp", "gomp", "greedy", "recovery", "hkl")
ON_REQUEST = ("Explore: refits", "Explore: choosing C", "Compare: search", "Hulls: other models")


@dataclass
class Outcome:
    """What became of one table: steps that ended well, refusals and exceptions, each with the step's name."""

    name: str
    skip: tuple[str, ...] = ()
    size: str = ""
    well: int = 0
    refusals: list[list[str]] = field(default_factory=list)
    exceptions: list[list[str]] = field(default_factory=list)
    seconds: float = 0.0

    def of(self, step: str, work: Callable[[], Any]) -> Any:
        """What ``work`` returns; None where it is refused or fails, which is written down, and where the step is
        skipped.
        """
        if step.startswith(self.skip):
            return None
        try:
            with suppress_convergence_warnings():
                found = work()
        except MKLError as error:
            self.refusals.append([step, f"{type(error).__name__}: {error}"])
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)
            ours = [f for f in last if "/mklcore/" in f.filename or "/pages/" in f.filename] or last
            where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno} {ours[-1].name}"
            self.exceptions.append([step, f"{type(error).__name__}: {error}", where])
        else:
            self.well += 1
            return found
        return None


def tried(name: str, content: bytes, target: str | None = None, skip: Sequence[str] = ()) -> Outcome:
    """One table through everything but the steps whose names begin with one of ``skip``."""
    found, began = Outcome(name, tuple(skip)), time.process_time()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if target is not None:
            found.of("read with the target guessed", lambda: read_table(content))
        data = found.of("read", lambda: read_table(content, target))
        if data is not None:
            found.size = f"{data.n_samples} x {data.n_features}, {data.task}"
            _library(found, data)
            _pages(found, content, target)
    found.seconds = round(time.process_time() - began, 2)
    return found


# The library


def _library(found: Outcome, data: Dataset) -> None:
    answer = found.of("explore", lambda: mkl.explore(data, max_rows=ROWS))
    if answer is not None:
        found.of("explore: test scores", answer.test_scores)
        found.of("explore: page", answer.page)
    parts = found.of("split", lambda: data.split(0.4))
    if parts is None:
        return
    train, judge = (part.drawn(ROWS) for part in parts)
    kernels = found.of("dictionary", lambda: KernelDictionary.recommended(data))
    if kernels is None:
        return
    for key, algorithm in ESTIMATORS.items():
        if algorithm.fits(data.task):
            found.of(f"path of {key}", lambda key=key: _path(key, kernels, train, judge))
    kind = mkl.LpMKLRegressor if data.task == "regression" else mkl.LpMKLClassifier
    model = kind(kernels=kernels)
    found.of("folds", lambda: mkl.cross_validate_path(model, train, train.y, "C", [0.1, 1.0], n_splits=3))
    found.of("choose_C by folds", lambda: mkl.choose_C(model, train, train.y, [0.1, 1.0], rule="kfold", n_splits=3))
    found.of("choose_C", lambda: mkl.choose_C(model, train, train.y, [0.1, 1.0]))


def _path(key: str, kernels: KernelDictionary, train: Dataset, judge: Dataset) -> Any:
    """A short path of one estimator on the kernels that the table suggests, or on its first columns."""
    algorithm = ESTIMATORS[key]
    if algorithm.on == "kernels":
        asked, X, rest = algorithm.estimator(train.task, kernels=kernels), train, judge
    else:
        few = slice(0, HULL_COLUMNS)
        asked = algorithm.estimator(train.task, max_nodes=MOST_HULL_NODES, max_seconds=2.0)
        X, rest = train.X[:, few], judge.X[:, few]
    over = algorithm.path_params[0]
    return fit_path(asked, X, train.y, over, path_grid(asked, X, train.y, over, POINTS), rest, judge.y)


# The pages


def done(job: Job) -> None:
    """Do the work as the app's worker does."""
    make(Progress(job, watched=False))


def _pages(found: Outcome, content: bytes, target: str | None) -> None:
    """What every page derives, in the order in which a person comes to see it."""
    memory().let_go()
    params = Params(data=keep_upload("table.csv", content), target=target or "", rows=ROWS, search_seconds=SECONDS)
    for step, work in (
        ("Data: table", lambda: tables.table(params)),
        ("Data: columns", lambda: tables.summary(params)),
        ("Data: split", lambda: tables.split(params)),
        ("Kernels: dictionary", lambda: dictionaries.dictionary(params)),
        ("Kernels: matrices", lambda: gram_stacks.grams(params)),
        (
            "Kernels: measures",
            lambda: (measuring.measures(params), measuring.traits(params), measuring.spectrum(params, 0)),
        ),
    ):
        if found.of(step, work) is None:
            return
    if tables.table(params).task == "novelty":
        return
    _explore(found, params)
    _compare(found, params)
    _hulls(found, params)
    for tab in TABS if bounds.classes(params) else TABS[1:]:
        found.of(f"Theory: {tab}", lambda tab=tab: _bound(params, tab))


def _explore(found: Outcome, params: Params) -> None:
    found.of("Explore: first look", lambda: done(looks.job(params)))
    found.of("Explore: path", lambda: done(paths.job(params)))
    path = paths.known(params)
    if path is None:
        return
    index = path.first_look
    shown = paths.Answer(path, params, False)
    found.of("Explore: columns", lambda: done(importance.job(params, path, index)))
    found.of("Explore: shares", lambda: [importance.shares(shown, what) for what in ("columns", "families")])
    found.of("Explore: plain models", lambda: done(references.job(params)))
    found.of("Explore: interval", lambda: paths.interval(params, path, float(np.sqrt(path.values[0] * path.values[1]))))
    found.of("Explore: refits", lambda: done(paths.frequency_job(params, float(path.values[index]))))
    if tunings.can(params):
        found.of("Explore: choosing C", lambda: done(tunings.job(params, path.values)))
    for name in scores.offered(params):
        other = replace(params, scoring=name)
        found.of(f"Explore: {name}", lambda other=other: done(paths.job(other)))
        found.of(f"Explore: test {name}", lambda other=other: paths.test_score(other, path, index))
    point = predictions.Chosen(path, index, params)
    found.of("Explore: judged", lambda: judging.judged(point))
    found.of("Predict: controls", lambda: predictions.knobs(params))
    found.of("Predict: row", lambda: predictions.spoken(point, predictions.row(params)))
    found.of("Predict: probabilities", lambda: judging.probabilities(point, judging.judged(point).decision))
    found.of("Predict: columns", lambda: predictions.by_influence(point))
    found.of("Predict: new file", lambda: predictions.reading(params))


def _compare(found: Outcome, params: Params) -> None:
    found.of("Compare: lanes", lambda: done(comparison.job(params)))
    for one in found.of("Compare: shown", lambda: comparison.shown(params)) or ():
        if one.error:
            found.refusals.append([f"Compare: {one.label}", one.error])
    found.of("Compare: search", lambda: done(searches.job(params)))


def _hulls(found: Outcome, params: Params) -> None:
    for _ in range(2):  # provisional, then certified
        found.of("Hulls: path", lambda: done(hulls.job(params)))
    shown = found.of("Hulls: answer", lambda: hulls.answer(params))
    if shown is None:
        return
    hull = hulls.at(shown, len(shown.path) // 2)
    found.of("Hulls: test score", lambda: hulls.test_score(params, hull))
    found.of("Hulls: columns", lambda: done(hull_columns.job(shown, hull)))
    if hull_baselines.can(params):
        found.of("Hulls: other models", lambda: done(hull_baselines.job(shown)))


def _bound(params: Params, tab: str) -> None:
    """What a tab of Theory measures unasked: where it is small."""
    if bounds.entries(params, tab) <= bounds.SMALL_ENTRIES:
        done(bounds.job(params, tab))


# Tables, record and page


def folder_tables(folder: Path) -> Iterator[tuple[str, bytes, str | None]]:
    """Every table of a folder with the target that its file targets.csv names."""
    named = folder / "targets.csv"
    lines = csv.DictReader(named.read_text(encoding="utf-8").splitlines()) if named.exists() else ()
    targets = {line["file"]: line["target"] for line in lines}
    for file in sorted(one for one in folder.iterdir() if one.suffix.lower() in KINDS and one != named):
        yield file.name, file.read_bytes(), targets.get(file.name)


def read(record: Path = RECORD) -> dict[str, dict[str, Any]]:
    """What became of every table so far, by name."""
    return json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}


def reported(found: Outcome) -> dict[str, Any]:
    """An outcome as a row of the record, without what stands in the table."""
    plain = {
        kind: [[step, without_details(words), *place] for step, words, *place in getattr(found, kind)] for kind in ENDS
    }
    return {"size": found.size, "well": found.well, **plain, "seconds": found.seconds}


def without_details(words: str) -> str:
    """A sentence without what is particular to one table: its names and numbers."""
    return re.sub(r"-?\d[\d,.]*(e[-+]?\d+)?", "#", re.sub(r"'[^']*'", "'…'", words))


def written(text: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """The page with what the rows say between its marks."""
    steps = sum(row["well"] + len(row["refusals"]) + len(row["exceptions"]) for row in rows)
    refusals = collections.Counter(words for row in rows for _, words in row["refusals"])
    faults = collections.Counter(f"{words} ({where})" for row in rows for _, words, where in row["exceptions"])
    tables_of = lambda kind: sum(bool(row[kind]) for row in rows)  # noqa: E731
    lines = [
        f"- {len(rows)} tables, {steps:,} steps, {sum(row['well'] for row in rows):,} of them ended well.",
        f"- {sum(refusals.values())} refusals, on {tables_of('refusals')} tables.",
        f"- {sum(faults.values())} exceptions that are not ours, on {tables_of('exceptions')} tables.",
        f"- {sum(row['seconds'] for row in rows):,.0f} CPU seconds.",
    ]
    for title, counted in (("refusal", refusals), ("exception", faults)):
        if counted:
            lines += ["", f"| {title} | times |", "| --- | --- |"]
            lines += [f"| {words.replace('|', '/')} | {times} |" for words, times in counted.most_common()]
    return included(text, "\n".join(lines))


def main() -> None:
    """Try table by table, and write record and page after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", metavar="DIR", type=Path)
    parser.add_argument("--generated", type=int, default=300)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--asked", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--record", type=Path, default=RECORD)
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)  # Streamlit says that it does not run
    rows = {} if asked.again and not asked.only else read(asked.record)
    made = ((name, content, None) for name, content in odd_tables(asked.generated))
    for name, content, target in (*(folder_tables(asked.folder) if asked.folder else ()), *made):
        if name not in asked.only if asked.only else name in rows:
            continue
        found = tried(name, content, target, () if asked.asked else ON_REQUEST)
        rows[name] = reported(found)
        asked.record.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        if asked.record == RECORD:
            PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), list(rows.values())), encoding="utf-8")
        print(f"{name}: {found.size}, {found.well} well, {found.seconds} CPU s", flush=True)
        for step, *words in [*found.refusals, *found.exceptions]:
            print(f"    {step}: {' @ '.join(words)}", flush=True)


if __name__ == "__main__":
    main()
