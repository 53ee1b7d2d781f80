"""Frame, before the server: what a page still says after the browser has left it is not passed on.

A click on the menu also closes what is open on the page, and each of the two tells the server. Streamlit answers the
second for the old page after the new one is drawn, and the browser takes the new one away: a white page.
"""

import time
from collections.abc import Callable

from pages.shared.session import inside

SECONDS = 2.0  # after a change of page; later a page of another name may be the server's own doing
LONGEST = 1_000_000  # bytes that are looked at


class LeftPage:
    """What one browser says, in its order."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._page, self._since = "", -SECONDS

    def speaks(self, message: bytes) -> bool:
        """Tell whether a message is of a part of the page that was just left."""
        page, part = inside.page_asked_for(message) if len(message) <= LONGEST else ("", "")
        if not page or page == self._page:
            return False
        now = self._clock()
        if not part:
            self._since = now
        elif now - self._since < SECONDS:
            return True
        self._page = page
        return False
