"""In a notebook: paths and hulls that can be dragged there, alone or with Python listening.

    path.explore()                      the player as the output of a cell: no server, no kernel, also where a notebook
                                        is kept
    path.explore(widget=True).index     the same, sent to Python where the cursor comes to rest (pip install
                                        'mklcore[notebook]')
    hull.explore()                      one fitted hull; a path of hulls explores itself, as any path

``framing.py`` is a page inside the output of a cell, ``exploring.py`` what ``explore`` shows, ``widget.py`` the
listener.
"""

from mklcore.figures.notebook.exploring import explore_hull, explore_path
from mklcore.figures.notebook.framing import Explorable

__all__ = ["Explorable", "explore_hull", "explore_path"]
