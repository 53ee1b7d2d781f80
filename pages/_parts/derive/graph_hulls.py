"""Derive hulls on graphs of kernels: the generated sample that is shown, and the path the worker computes."""

from mklcore.catalog import ESTIMATORS
from mklcore.experiments.graph_samples import GRAPH_SAMPLES, Drawn, GraphSample
from mklcore.paths.path import Path, fit_path, path_grid
from pages._parts.derive import caches
from pages._parts.derive.derived import Derived, derived
from pages._parts.jobs.job import Job, Report
from pages._parts.params.parameters import Params

POINTS = 16
TOLERANCE = 1e-2


def sample(params: Params) -> GraphSample:
    """Return the sample in use."""
    return GRAPH_SAMPLES[params.graph]


def drawn(params: Params) -> Drawn:
    """Return its rows: generated data is everybody's."""
    return caches.result_cache(Params()).made(("graph rows", *_key(params)), lambda: sample(params).make(params.seed))


def path(params: Params) -> Derived[Path]:
    """Return the hulls along lambda."""
    return derived(params, "graph hulls", _key, lambda _: caches.result_cache(Params()))


def job(params: Params) -> Job:
    """Return the work that gives the path, small hulls first."""
    rows = drawn(params)

    def solve(report: Report) -> Path:
        asked = report.heard_by(ESTIMATORS["hkl"].regressor(graph=rows.graph, tol=TOLERANCE))
        grid = path_grid(asked, rows.train, rows.y, "lam", POINTS)[::-1]
        return fit_path(asked, rows.train, rows.y, "lam", grid, rows.check, rows.y_check, report.tick)

    return path(params).work("Hulls of a graph", solve, POINTS, needs=("hkl",))


def _key(params: Params) -> tuple[str, int]:
    return params.graph, params.seed
