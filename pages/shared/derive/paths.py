"""Derive a method from the parameters: its algorithm, what its path runs over, its controls and its words."""

from mklcore.io.catalog import Algorithm, Control, PathParameter, Variant
from pages.shared.derive import tables
from pages.shared.params.algorithms import METHODS, Setting, applicable
from pages.shared.params.parameters import PathParams

BASELINES = ("uniform", "best", "aligned")


def algorithm(params: PathParams) -> Algorithm:
    """Return the algorithm in use."""
    return METHODS[params.algorithm]


def runs_over(params: PathParams) -> PathParameter:
    """Return the parameter the path runs over."""
    method = algorithm(params)
    return method.path(params.path if params.path in method.path_params else method.path_params[0])


def acting(params: PathParams) -> tuple[Control, ...]:
    """Return the controls that have an effect under these parameters: not the path's own, nor what another switches
    off.
    """
    method, task = algorithm(params), tables.table(params).task
    values: dict[str, Setting] = {control.name: params.setting(control) for control in applicable(method, task)}
    return method.shown(task, runs_over(params).key, values)


def words_for(params: PathParams) -> Algorithm | Variant:
    """Return whose formula and words hold under these parameters: a control may change what is solved."""
    acts = {control.name: params.setting(control) for control in acting(params)}
    return algorithm(params).words_for(acts, tables.table(params).task)
