"""Session and its tab: whether anybody is still there. A session outlives its connection for a while, in case it comes back."""

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx


class Presence:
    """Stands for one session where something of the server is held for it."""

    def __init__(self) -> None:
        context = get_script_run_ctx(suppress_warning=True)
        self._session = context.session_id if context is not None else ""

    @property
    def name(self) -> str:
        """Return what the server calls the session, "" where there is none."""
        return self._session

    def gone(self) -> bool:
        """Tell whether the tab has been closed or lost its connection."""
        return bool(self._session) and runtime.exists() and not runtime.get_instance().is_active_session(self._session)

    def close(self) -> None:
        """Have the server forget the session; to be called in the server's own thread."""
        if self._session and runtime.exists():
            runtime.get_instance().close_session(self._session)
