"""Frame, what it needs of Streamlit that Streamlit does not promise: files as they came, and which hosts are answered."""

from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed


def host_is_allowed(host: bytes | None) -> bool:
    """Tell whether a request to this host is answered, by ``server.allowedHosts`` as for WebSockets."""
    return is_host_allowed(None if host is None else host.decode("latin-1"))


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
