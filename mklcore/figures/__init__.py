"""Plotly figures of arrays: nothing is displayed here, and nothing is solved.

Every function takes ``dark`` for the theme and stores its alternative text in
``figure.layout.meta["alt"]``. ``player_data`` and ``hulls`` hold the JSON of the interactive
``players``, and ``one_file`` whole pages of them.
"""

from mklcore._lazy import lazily as _lazily

__getattr__, _home = _lazily(__name__, __file__)
__all__ = sorted(_home)


def __dir__() -> list[str]:
    return list(__all__)
