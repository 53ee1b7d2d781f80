"""Remote tasks: full-size fits that carry all they need, for a worker of a cluster or for this process.

A task is called with ``tell(done, total)``, which takes how far it is and may raise to end it, and with ``say``,
which sends intermediate results, in bytes. Its result keeps no reference to a listener, so that
it can travel.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from mklcore.arrays import Array, Labels
from mklcore.errors import cancellation_scope, suppress_convergence_warnings
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.nystroem import Nystroem
from mklcore.parallel.cluster import NoClusterError, Tell, afar, connected, scheduler_address
from mklcore.paths.files import read_paths, write_paths
from mklcore.paths.path import Path, fit_path, path_grid
from mklcore.selection.scoring import Scoring, scorer_of

STEPS = 100  # of the progress of one fit, for what it still has to do nobody knows
SAID_EVERY = 1.0  # seconds between two looks at the points of a path that are solved so far
SAID_RATE = 4e6  # bytes a second that they take at most
Say: TypeAlias = Callable[[bytes], Any]
R = TypeVar("R")


def run(
    task: Callable[..., R],
    tell: Tell,
    show: Callable[[Path], Any] | None = None,
    instead: Callable[[str], Any] | None = None,
) -> R:
    """The result of a task: from a worker of the cluster that ``MKL_EXPLORER_SCHEDULER`` names, without one from this
    process.

    ``show``, for a task that solves a path, is called now and then with the path through the points solved so far,
    without its models. Where there is no cluster to be used, the error is raised, or, with ``instead``, passed to it,
    and this process does the task.
    """
    heard = None if show is None else lambda content: show(read_paths(content)["path"])
    if scheduler_address():
        try:
            return afar(task, tell, heard)
        except NoClusterError as error:
            if instead is None:
                raise
            instead(f"It is done on this machine, for the cluster cannot be used. {error}")
    return task(tell) if heard is None else task(tell, heard)


def run_in_shards(task: WholeFit, tell: Tell, instead: Callable[[str], Any] | None = None) -> tuple[Any, float]:
    """What ``run`` gives, its kernels in shards on the workers where the cluster has several: each computes its part of
    them.
    """
    try:
        with connected() as client, client.as_current():
            if len(client.ncores()) > 1:
                return task.in_shards(tell)
    except NoClusterError:
        pass  # which ``run`` tells
    return run(task, tell, instead=instead)


@dataclass(frozen=True, eq=False)
class WholeFit:
    """One model on all rows X (n, d), y (n,), and its score on rows left out; ``asked`` is an estimator that is not
    fitted.

    It gives the model and its score. Progress is in ``STEPS``, by how many of the digits of ``tol`` are there.
    """

    asked: Any
    X: Array
    y: Labels
    X_left: Array
    y_left: Labels
    scoring: Scoring = None

    def __call__(self, tell: Tell) -> tuple[Any, float]:
        return self._made(tell, lambda asked, pulse: asked.fit(self.X, self.y))

    def in_shards(self, tell: Tell) -> tuple[Any, float]:
        """The same with its kernels in shards on all workers of the cluster: the solver runs here, they make the sums.

        For what one machine cannot hold; ``shards.why_not`` says what cannot be done so.
        """
        from mklcore.parallel.shards import fit_shards

        return self._made(tell, lambda asked, pulse: fit_shards(asked, self.X, self.y, pulse=pulse))

    def _made(self, tell: Tell, fit: Callable[[Any, Callable[[], Any]], Any]) -> tuple[Any, float]:
        model, tol, last = self.asked, float(self.asked.tol), [0]

        def hear(record: Any) -> None:
            gap = getattr(record, "relative_gap", None)
            done = 0.0 if not gap or not np.isfinite(gap) else np.log(max(gap, tol)) / np.log(tol)
            last[0] = int(STEPS * np.clip(done, 0.0, 1.0))
            tell(last[0], STEPS)

        with suppress_convergence_warnings(), cancellation_scope(lambda: tell(last[0], STEPS)):
            model = fit(model.set_params(callback=hear), lambda: tell(last[0], STEPS))
        model.set_params(callback=None)
        if self.scoring is None:
            return model, float(model.score(self.X_left, self.y_left))
        return model, float(scorer_of(self.scoring)(model, self.X_left, self.y_left))


@dataclass(frozen=True, eq=False)
class FeaturePath:
    """A path on features of all rows X (n, d), y (n,), scored on X_val, y_val: the landmarks, the features and every
    point.

    The grid has ``size`` points of the parameter ``over``, of which the ``first`` are solved (None for all), and goes
    on by at most ``grow``; ``normalise`` and ``center`` as in ``KernelDictionary.grams``.
    """

    asked: Any
    kernels: KernelDictionary
    how: Nystroem
    normalise: str | None
    center: bool
    X: Array
    y: Labels
    X_val: Array
    y_val: Labels
    over: str
    size: int
    first: int | None = None
    grow: int = 0
    scoring: Scoring = None

    def __call__(self, tell: Tell, say: Say | None = None) -> Path:
        last = [(0, self.first or self.size)]

        def hear(done: int, total: int) -> None:
            last[0] = done, total
            tell(done, total)

        self.asked.set_params(callback=lambda record: tell(*last[0]))
        with suppress_convergence_warnings(), cancellation_scope(lambda: tell(*last[0])):
            stack = self.how.features(self.kernels, self.X, self.normalise, self.center)
            grid = path_grid(self.asked, stack, self.y, self.over, self.size)[: self.first]
            path = fit_path(
                self.asked, stack, self.y, self.over, grid, stack.cross(self.X_val), self.y_val, hear,
                scoring=self.scoring, grow=self.grow, so_far=None if say is None else _seldom(say),
            )  # fmt: skip
        for point in path.estimators:
            point.set_params(callback=None)
        return path


def _seldom(say: Say) -> Callable[[Callable[[], Path]], None]:
    """What ``fit_path`` tells of the points so far, said now and then: the seldomer, the more bytes they are."""
    next_time = [time.monotonic() + SAID_EVERY]

    def so_far(make: Callable[[], Path]) -> None:
        if time.monotonic() < next_time[0]:
            return
        content = write_paths(path=make())
        say(content)
        next_time[0] = time.monotonic() + SAID_EVERY + len(content) / SAID_RATE

    return so_far
