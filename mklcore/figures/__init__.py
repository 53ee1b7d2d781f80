"""Arrays in, plotly figures out: nothing is shown here, and nothing is solved.

Every function takes ``dark`` for the theme and leaves its alternative text in
``figure.layout.meta["alt"]``. What moves in a browser is in ``player_data`` and ``hulls`` as JSON
for the ``players``, and as whole pages in ``one_file``.
"""

from mklcore._lazy import lazily as _lazily

__getattr__, _home = _lazily(__name__, __file__)
__all__ = sorted(_home)


def __dir__() -> list[str]:
    return list(__all__)
