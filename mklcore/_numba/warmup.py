"""Compile every jitted function once, or load it from the cache, so that no first click waits for a
compiler.

    python -m mklcore._numba.warmup [--with-parent]

fills the cache on disk, unless it is filled, and prints a line of progress after every step.
Compiling holds the interpreter's lock, so a server has this done by a process of its own and loads
what that left. ``--with-parent``: end when the standard input is closed, as it is when the process
that asked has ended.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext, suppress
from functools import partial
from typing import Any

import numpy as np

from mklcore._lazy import import_extra
from mklcore._numba import cache
from mklcore._numba.decorators import COMPILES
from mklcore.arrays import Array
from mklcore.errors import Progress, suppress_convergence_warnings
from mklcore.hkl.bases import ANOVABasis
from mklcore.io.catalog import ESTIMATORS, Algorithm
from mklcore.kernels.dictionary import KernelDictionary, SequenceDictionary
from mklcore.kernels.features import column_features
from mklcore.kernels.functions import KERNELS, RBF, USUAL, KernelEntry, Linear
from mklcore.kernels.grams import GramStack, alignment_matrix
from mklcore.kernels.interactions import Interaction
from mklcore.kernels.kernel_map import NORMALISATIONS
from mklcore.kernels.sequences import Spectrum, WeightedDegree
from mklcore.lp.live import FROM_KERNELS
from mklcore.lp.schedule import fit_weighted
from mklcore.paths.path import fit_path
from mklcore.problem.losses import make_loss
from mklcore.problem.penalties import LpNorm
from mklcore.problem.solution import MachineTask
from mklcore.problem.svm import BLOCKS_FROM, solve_svm

# They call all there is to call; on sixteen rows, joint weights take three hundred iterations to
# their certificate.
SHORT = {"max_iter": 5, "n_kernels": 2}


FIRST = 3  # steps, after which the path that everybody sees first needs nothing more
NICE = 5  # other programs go first
# a compiler makes millions of objects, few in circles: the search took a tenth of the time
SELDOM = 20_000, 50, 50


def steps() -> list[Callable[[], None]]:
    """What there is to compile: the usual kernels and the path at p = 1 with the losses and kernels
    that are set for a table; then all kernels, and every algorithm of ``ESTIMATORS``.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((16, 3))
    y = (X[:, 0] + 0.3 * rng.standard_normal(16) > 0).astype(int)
    first = [
        partial(_usual_grams, X),
        partial(_usual_path, X, "binary", y),
        partial(_usual_svm, X),
    ]
    rest = [
        partial(_kernels, X),
        partial(_group_lasso, X),
        *(partial(_algorithm, one, X, y) for one in ESTIMATORS.values()),
    ]
    # sixteen rows say nothing of it
    return [suppress_convergence_warnings()(run) for run in (*first, *rest)]


def warm_up(progress: Progress | None = None) -> None:
    """Run every kernel and every algorithm once on sixteen rows; ``progress(done, total)`` before
    and after every step.

    Safe to call from a background thread. Takes half a minute in a fresh installation and some
    seconds with the cache.
    """
    work = steps()
    for done, run in enumerate((*work, None)):
        if progress is not None:
            progress(done, len(work))
        if run is not None:
            run()


def main(arguments: Sequence[str] = ()) -> None:
    """Fill the cache, once however many processes ask for it; without numba there is nothing to
    fill.
    """
    if not COMPILES:
        return
    if "--with-parent" in arguments:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    _let_others_go_first()
    folder = cache.folder()
    filelock = import_extra("filelock", "app", "Compiling beforehand")
    with ExitStack() as stack:
        # a file of another account: then several processes may compile beside each other
        with suppress(OSError):
            stack.enter_context(
                nullcontext() if folder is None else filelock.FileLock(folder / "lock")
            )
        if not cache.is_filled():
            try:
                warm_up(lambda done, total: print(done, total, int(done >= FIRST), flush=True))
            except BrokenPipeError:  # the reader has gone
                os._exit(1)
            if folder is not None and any(folder.rglob("*.nbc")):  # a full disk takes none
                with suppress(OSError):  # the next start finds all but this, and looks once more
                    (folder / cache.FILLED).touch()


def _let_others_go_first() -> None:
    """Lower the priority of this process; one that is lower already stays, because raising it takes
    rights.
    """
    psutil = import_extra("psutil", "app", "Compiling beforehand")
    with suppress(psutil.Error, OSError):
        process = psutil.Process()
        class_of_windows = getattr(psutil, "BELOW_NORMAL_PRIORITY_CLASS", None)
        process.nice(max(NICE, process.nice()) if class_of_windows is None else class_of_windows)


def _end_with_parent() -> None:
    with suppress(OSError, ValueError, AttributeError):  # there is no standard input
        while os.read(sys.stdin.fileno(), 4096):
            pass
    os._exit(1)


def _usual_grams(X: Array) -> None:
    _every_way([entry for entry in KERNELS.values() if entry.spec in USUAL], X)
    _interactions(X)


def _usual_path(X: Array, task: str, y: Array | None) -> None:
    """On kernels that numpy computes, so that this needs no step before it."""
    widths = np.geomspace(0.25, 4.0, FROM_KERNELS)
    grams = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / widths[:, None, None])
    names = tuple(map(str, widths))
    stack = GramStack(grams, names)
    model = ESTIMATORS["lp"].estimator(task, kernels="precomputed", p=1.0)
    fit_path(model, stack, y, "C", (1.0, 1.1))


def _usual_svm(X: Array) -> None:
    _small_solvers()
    _usual_path(X, "regression", X[:, 1])
    _usual_path(X, "novelty", None)


def _small_solvers() -> None:
    """What sixteen rows do not always need."""
    signs = np.where(np.arange(BLOCKS_FROM) % 2, 1.0, -1.0)
    solve_svm(np.eye(signs.size), MachineTask(signs, 1.0, make_loss("hinge"), True))


def _many_kernels(X: Array) -> GramStack:
    return KernelDictionary.rbf_grid(np.geomspace(0.25, 4.0, FROM_KERNELS)).grams(X)


def _every_way(entries: Sequence[KernelEntry], X: Array) -> GramStack:
    """The kernels of ``entries``, normalised and centred in every way."""
    defaults: list[dict[str, Any]] = [
        {p.name: p.default for p in entry.parameters} for entry in entries
    ]
    pairs = zip(entries, defaults, strict=True)
    specs = KernelDictionary(tuple(entry.spec(**parameters) for entry, parameters in pairs))
    for normalise in NORMALISATIONS:
        for center in (False, True):
            stack = specs.grams(X, normalise=normalise, center=center)
            stack.cross(X[:5])
    return stack


def _interactions(X: Array) -> None:
    smooth = RBF(1.0, relative=True, features=(0,))
    straight = Linear(features=(1,))
    kernels = KernelDictionary((Interaction(smooth), Interaction(smooth, straight)))
    kernels.grams(X).cross(X[:5] + 0.5)


def _kernels(X: Array) -> None:
    stack = _every_way(tuple(KERNELS.values()), X)
    alignment_matrix(GramStack.from_array(stack.values.copy()))
    SequenceDictionary((Spectrum(2), WeightedDegree(2, 1))).grams(("ACGT", "ACGA", "TTGT")).cross(
        ("ACGA",)
    )


def _group_lasso(X: Array) -> None:
    columns = column_features(KernelDictionary.per_feature(Linear(), X.shape[1]), X)
    fit_weighted(columns, X[:, 1], 1.0, make_loss("squared"), LpNorm(1.0), True)


def _algorithm(algorithm: Algorithm, X: Array, y: Array) -> None:
    if algorithm.on == "table":
        _table_algorithm(algorithm, X, y)
        return
    _small_solvers()
    stack = _many_kernels(X)
    for task, target in (("binary", y), ("regression", np.abs(X[:, 1]))):
        losses = next(
            (c.choices for c in algorithm.controls if c.name == "loss" and task in c.tasks), (None,)
        )
        for loss in losses:
            parameters = {} if loss is None else {"loss": loss}
            model = algorithm.estimator(task, kernels="precomputed", **parameters)
            model.set_params(
                **{name: value for name, value in SHORT.items() if name in model.get_params()}
            )
            if "criterion" in model.get_params() and loss not in (None, "squared"):
                model.set_params(criterion="empirical")  # Algorithm 1 has the squared loss alone
            model.fit(stack, target)
            model.fit(stack.values.copy(), target)
            if any(control.kind == "p" for control in algorithm.controls):
                model.set_params(p=2.0).fit(stack, target)
                fit_path(model.set_params(p=1.0), stack, target, "C", (1.0, 1.1))
    if algorithm.novelty is not None:
        algorithm.estimator("novelty", kernels="precomputed").fit(stack)


def _table_algorithm(algorithm: Algorithm, X: Array, y: Array) -> None:
    """Levels as columns and as blocks go through different compiled functions; a small budget goes
    the way without tables.
    """
    for basis in (None, ANOVABasis()):
        for memory in (64, 0.05):
            algorithm.estimator("regression", basis=basis, memory_mb=memory, lam=0.1).fit(
                X, X[:, 1]
            ).predict(X[:5])
    algorithm.estimator("binary", loss="hinge", lam=0.1).fit(X, y)


if __name__ == "__main__":
    gc.set_threshold(*SELDOM)
    # pressed in the terminal: it ends at once, and says nothing
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    main(sys.argv[1:])
