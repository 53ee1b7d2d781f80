"""Session and its tab: whether anybody is still there.

A session outlives its connection for a while, in case it comes back.
"""

from pages._parts.session import inside


class Presence:
    """Stands for one session where something of the server is held for it."""

    def __init__(self) -> None:
        context = inside.run_context()
        self._session = context.session_id if context is not None else ""

    @property
    def name(self) -> str:
        """Return what the server calls the session, "" where there is none."""
        return self._session

    def gone(self) -> bool:
        """Tell whether the tab has been closed or lost its connection."""
        return bool(self._session) and not inside.is_active(self._session)

    def close(self) -> None:
        """Have the server forget the session; to be called in the server's own thread."""
        if self._session:
            inside.close(self._session)
