"""In a notebook: paths that can be dragged there, alone or with Python listening.

    path.explore()                      the player as the output of a cell: no server, no kernel, also where a notebook is kept
    path.explore(widget=True).index     the same, told to Python where the cursor comes to rest (pip install 'mklcore[notebook]')

``framing.py`` is a page inside the output of a cell, ``exploring.py`` what ``explore`` shows, ``widget.py`` the listener.
"""

from mklcore.notebook.exploring import explore_path
from mklcore.notebook.framing import Explorable

__all__ = ["Explorable", "explore_path"]
