"""Other values for the settings of solvers, as long as a test lasts."""

from dataclasses import replace
from importlib import import_module


def setting(monkeypatch, place, value):
    """Give the setting or constant ``place`` ("package.module.name") another value wherever its
    object is known.
    """
    module, name = place.rsplit(".", 1)
    known = getattr(import_module(module), "SETTINGS", None)
    if not hasattr(known, name):
        monkeypatch.setattr(place, value)
        return
    monkeypatch.setattr(f"{module}.SETTINGS", replace(known, **{name: value}))
