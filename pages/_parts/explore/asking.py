"""Explore, the answer: asked for, looked at first on a few rows, or to be started by a person."""

from pages._parts.derive import looks, paths
from pages._parts.drawing import asking
from pages._parts.jobs.preparing import preparation
from pages._parts.params import parameters
from pages._parts.session import board, history


def look() -> bool:
    """See to it that a first look is there or on its way where it is worth its while; tell whether it is on its way."""
    params = history.current()
    if not looks.wanted(params) or looks.first(params).value is not None or board.mine(paths.key(params)) is not None:
        return False
    asked = board.mine(looks.first(params).key) or board.ask(looks.job(params))
    return asked.live


def go_on() -> None:
    """Have the first look followed by the answer itself, once it has been drawn."""
    before = board.mine(paths.key(history.current()))
    asking.path()
    now = board.mine(paths.key(history.current()))
    if now is not before and now is not None:
        history.rerun()  # the whole app, so that its progress is drawn and watched


def follow(params: parameters.Params) -> None:
    """See to it that the models of a path that came with the project are fitted, after it is drawn and its solvers are
    ready.
    """
    if preparation().ready(paths.are_usual(params)):
        asking.path()
        if paths.known(params) is not None:
            history.rerun()
