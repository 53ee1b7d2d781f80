"""Modules of others that add kernels, losses, penalties, solvers and algorithms to the registries.

The app imports them when its server starts; a script calls ``load``. They are the modules that the
environment variable ``MKL_EXPLORER_PLUGINS`` names, with commas between, and those that installed
packages list as entry points of the group ``mkl_explorer.plugins``.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.metadata import entry_points

from mklcore.arrays import Names
from mklcore.errors import ParameterError

ENVIRONMENT = "MKL_EXPLORER_PLUGINS"
GROUP = "mkl_explorer.plugins"


def names() -> Names:
    """Return the names of the plugin modules, those of the environment first.

    Returns
    -------
    tuple of str
        Module names as ``import`` takes them, each once.
    """
    given = [name.strip() for name in os.environ.get(ENVIRONMENT, "").split(",") if name.strip()]
    return tuple(dict.fromkeys([*given, *(entry.module for entry in entry_points(group=GROUP))]))


def load() -> Names:
    """Import every plugin module; one that has been imported is not imported again.

    Returns
    -------
    tuple of str
        The names of the modules.

    Raises
    ------
    ParameterError
        If a module cannot be imported: with its name, where it is listed, and the reason.
    """
    found = names()
    for name in found:
        try:
            import_module(name)
        except (Exception, SystemExit) as error:
            # it runs code of others, which may fail in any way
            raise ParameterError(
                f"The plugin {name!r} cannot be imported: {type(error).__name__}: {error}. "
                "Expected a module that adds entries to the registries of mklcore. "
                f"Correct it, or take its name out of {ENVIRONMENT} or out of the entry "
                f"points {GROUP} of its package."
            ) from error
    return found
