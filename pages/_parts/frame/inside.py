"""Frame, what it needs of Streamlit that Streamlit does not promise: files as they came, hosts it answers, whose a session is."""

from starlette.requests import cookie_parser
from streamlit import config, runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.web.server.starlette.starlette_app_utils import decode_xsrf_token_string
from streamlit.web.server.starlette.starlette_server_config import XSRF_COOKIE_NAME
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed


def host_is_allowed(host: bytes | None) -> bool:
    """Tell whether a request to this host is answered, by ``server.allowedHosts`` as for WebSockets."""
    return is_host_allowed(None if host is None else host.decode("latin-1"))


def answer_hosts(names: str) -> None:
    """Answer requests to these hosts, with spaces between, as well as to those of ``server.allowedHosts``."""
    known = config.get_option("server.allowedHosts")
    if known and (added := [name for name in names.split() if name not in known]):
        config.set_option("server.allowedHosts", [*known, *added])


def token(cookies: str) -> bytes:
    """Return the token against forged requests that is among these cookies, b"" where none is; its cookie is masked anew often."""
    return decode_xsrf_token_string(cookie_parser(cookies).get(XSRF_COOKIE_NAME, ""))[0] or b""


def began(tab: str) -> bytes:
    """Return which browser began a session that the server holds, b"" where none is known."""
    found = runtime.get_instance()._session_mgr.get_session_info(tab) if runtime.exists() else None
    return getattr(found.session, "began", b"") if found is not None else b""


def files() -> dict[str, dict[str, bytes]]:
    """Return the bytes of the files that Streamlit keeps, by tab and name, in the order they came."""
    there = _manager()
    if there is None:
        return {}
    with there._lock:
        return {tab: {name: file.data for name, file in kept.items()} for tab, kept in there.file_storage.items()}


def keep_last(tab: str, most: int, most_bytes: float) -> None:
    """Have Streamlit keep of a tab the files that came last: so many, and so many bytes, but the very last in any case."""
    there, room = _manager(), most_bytes
    for place, (name, content) in enumerate(reversed(files().get(tab, {}).items())):
        room -= len(content)
        if there is not None and place and (place >= most or room < 0):
            there.remove_file(tab, name)


def _manager() -> MemoryUploadedFileManager | None:
    if not runtime.exists():
        return None
    there = runtime.get_instance().uploaded_file_mgr
    return there if isinstance(there, MemoryUploadedFileManager) else None
