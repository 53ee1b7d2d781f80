"""What the app knows of Streamlit beyond its public names: all of it here, and each name may be
missing.

Such names may change with any release. Where one is gone the app works without it, in the way that
``NAMES`` says, and the server's log has it.
"""

import hashlib
import logging
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any
from urllib.parse import unquote, urlsplit

import streamlit as st

CONTEXT = "streamlit.runtime.scriptrunner:get_script_run_ctx"
EVENT = "streamlit.runtime.scriptrunner:ScriptRunnerEvent"
RUNTIME = "streamlit.runtime:get_instance"
FILES = "streamlit.runtime.memory_uploaded_file_manager:MemoryUploadedFileManager"
SESSION = "streamlit.runtime.app_session:AppSession"
SESSIONS = "streamlit.runtime.websocket_session_manager:AppSession"
OWNER = "streamlit.runtime.app_session:AppSession.matches_user_info"
MESSAGE = "streamlit.proto.BackMsg_pb2:BackMsg"
PAGES = "streamlit.runtime.pages_manager:PagesManager.uses_pages_directory"
NOTEBOOK = "streamlit.delta_generator:_use_warning_has_been_displayed"
COOKIE = "streamlit.web.server.starlette.starlette_server_config:XSRF_COOKIE_NAME"
OPTION = "streamlit.config:set_option"
TOKEN = "streamlit.web.server.starlette.starlette_app_utils:decode_xsrf_token_string"
_GATHERING = (
    "_handle_scriptrunner_event_on_event_loop",
    "_on_scriptrunner_event",
    "_call_soon_on_event_loop",
    "request_rerun",
    "_create_scriptrunner",
)
GATHERING = tuple(f"{SESSION}.{name}" for name in _GATHERING)

NAMES = {
    CONTEXT: "Back and Forward are not told from other runs",
    RUNTIME: "closed tabs are not noticed, and the app answers this machine alone",
    FILES: "files that were sent stay until their session ends",
    SESSIONS: "pages are sent element by element, and the app answers this machine alone",
    OWNER: "the app answers this machine alone",
    MESSAGE: (
        "a page may stay empty after a quick change of pages, and any browser may empty "
        "everybody's caches"
    ),
    PAGES: "the first link to a page is reported as unknown to the browser's console",
    NOTEBOOK: "the first page takes up to 0.3 s longer",
    COOKIE: "a reload asks for the table again, and the app answers this machine alone",
    OPTION: "hosts are answered by server.allowedHosts alone",
    TOKEN: "the app answers this machine alone",
    **dict.fromkeys((EVENT, *GATHERING), "pages are sent element by element"),
}


TRIED = "1.67."  # the releases whose protection of sessions was tried; the project allows no other
PROTECTING = (RUNTIME, SESSION, SESSIONS, OWNER, COOKIE, TOKEN)
HEARD = (
    "rerun_script",
    "stop_script",
    "file_urls_request",
    "app_heartbeat",
    "backend_operation_request",
)


@lru_cache(maxsize=64)
def find(name: str) -> Any:
    """Return the object called ``module:attribute``, None where this Streamlit has none."""
    owner, attribute = _owner(name)
    return getattr(owner, attribute, None)


def has(name: str) -> bool:
    """Tell whether this Streamlit has a name, whatever it stands for."""
    return hasattr(*_owner(name))


def _owner(name: str) -> tuple[Any, str]:
    """Return the module or class that a name is an attribute of, and the attribute."""
    module, _, attributes = name.partition(":")
    *owners, attribute = attributes.split(".")
    try:
        found: Any = import_module(module)
    except ImportError:
        return None, attribute
    for owner in owners:
        found = getattr(found, owner, None)
    return found, attribute


def report_missing() -> None:
    """Write to the server's log what this Streamlit lacks."""
    log = logging.getLogger(__name__)
    for name, consequence in NAMES.items():
        if not has(name):
            log.warning(
                "Streamlit %s has no %s: %s.", st.__version__, name.replace(":", "."), consequence
            )
    if why := unprotected():
        log.error("The app answers this machine alone: %s", why)


def unprotected() -> str:
    """Return why a session may be taken over by its name with this Streamlit, "" where it may not."""
    if not st.__version__.startswith(TRIED):
        return f"Streamlit {st.__version__} was not tried; install a release {TRIED}x."
    missing = next((name for name in PROTECTING if find(name) is None), "")
    server = _server()
    if (
        not missing
        and server is not None
        and not hasattr(getattr(server, "_session_mgr", None), "get_session_info")
    ):
        missing = f"{RUNTIME}._session_mgr"
    if not missing:
        return ""
    return (
        f"Streamlit {st.__version__} has no {missing.replace(':', '.')}, so others could take "
        "a session over."
    )


def set_flag(name: str, value: bool) -> None:
    """Set a flag of Streamlit, where it has it."""
    if has(name):
        setattr(*_owner(name), value)


# Runs and sessions


def run_context() -> Any:
    """Return what Streamlit knows of the run this thread draws, None outside of a run."""
    context = find(CONTEXT)
    return None if context is None else context(suppress_warning=True)


def went_through_history() -> bool:
    """Tell whether the browser's Back or Forward caused this run; True where nobody can know."""
    return getattr(run_context(), "is_history_navigation", True)


def _server() -> Any:
    """Return the running server, None where there is none."""
    instance = find(RUNTIME)
    return instance() if instance is not None and st.runtime.exists() else None


def left() -> list[str]:
    """Return the names of the sessions whose tab is closed or lost its connection."""
    sessions: Any = getattr(_server(), "_session_mgr", None)
    if not (hasattr(sessions, "list_sessions") and hasattr(sessions, "is_active_session")):
        return []
    return [
        one.session.id
        for one in sessions.list_sessions()
        if not sessions.is_active_session(one.session.id)
    ]


def close(session: str) -> None:
    """Have the server forget a session; call it in the server's own thread."""
    end = getattr(_server(), "close_session", None)
    if end is not None:
        end(session)


def began(tab: str) -> bytes:
    """Return which browser began a session that the server holds, b"" where none is known."""
    info = getattr(getattr(_server(), "_session_mgr", None), "get_session_info", None)
    found = None if info is None else info(tab)
    return getattr(found.session, "began", b"") if found is not None else b""


# Requests


def host_is_allowed(host: bytes | None) -> bool:
    """Tell whether a request to this host is answered: by ``server.allowedHosts``, as Streamlit
    does for WebSockets.
    """
    allowed = [
        str(one).strip().lower().rstrip(".") for one in st.get_option("server.allowedHosts") or ()
    ]
    if not allowed:
        return True
    name = _host_name("" if host is None else host.decode("latin-1"))
    return bool(name) and any(
        one in ("*", name) or (one.startswith("*.") and name.endswith(one[1:])) for one in allowed
    )


def answer_hosts(names: str) -> None:
    """Answer requests to these hosts, with spaces between, as well as to those of
    ``server.allowedHosts``.
    """
    known = st.get_option("server.allowedHosts")
    change = find(OPTION)
    if (
        known
        and change is not None
        and (added := [name for name in names.split() if name not in known])
    ):
        change("server.allowedHosts", [*known, *added])


def _host_name(host: str) -> str:
    """Return the name in a Host header, "" where it holds anything but a name and a port."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # ValueError unless it is a number in range
    except ValueError:
        return ""
    if "@" in parts.netloc or parts.path or parts.query or parts.fragment:
        return ""
    return (parts.hostname or "").rstrip(".")


def token(cookies: str) -> bytes:
    """Return the token against forged requests among these cookies, b"" where none is; its cookie
    is masked anew often.
    """
    # Streamlit's choice of a server, which it may change
    from starlette.requests import cookie_parser

    decode = find(TOKEN)
    name = find(COOKIE)
    if decode is None or name is None:
        return b""
    return decode(cookie_parser(cookies).get(name, ""))[0] or b""


@dataclass(frozen=True)
class PageAsked:
    """What a browser's message is about; "" for what it does not say."""

    page: str = ""  # Streamlit's name of it
    part: str = ""  # the fragment that is to run alone
    address: str = ""  # the path of what the browser shows in its address bar
    through_history: bool = False  # the address changed: a click on the menu, Back or Forward
    # whether pages of the app send such messages: others change the server for everybody
    is_ours: bool = True
    _parsed: Any = None

    def about(self, page: str) -> bytes:
        """Return the same message about another page."""
        self._parsed.rerun_script.page_script_hash = page
        said: bytes = self._parsed.SerializeToString()
        return said


def page_asked_for(message: bytes) -> PageAsked:
    """Return the page that a browser's message is about."""
    asked = _asked(message) if message else None
    if asked is None:
        return PageAsked()
    script = asked.rerun_script
    return PageAsked(
        script.page_script_hash,
        script.fragment_id,
        urlsplit(script.context_info.url).path,
        script.is_history_navigation,
        (asked.WhichOneof("type") or HEARD[0]) in HEARD,
        asked,
    )


def _asked(message: bytes) -> Any:
    """Return a browser's message as Streamlit reads it, None where it cannot."""
    kind = find(MESSAGE)
    if kind is None:
        return None
    # Streamlit's own choice, which it may change
    from google.protobuf.message import DecodeError

    try:
        return kind.FromString(message)
    except DecodeError:  # the server knows what to do with it
        return None


def browser() -> str:
    """Return what tells this session's browser from others, "" where it sends no cookie."""
    sent = token("; ".join(f"{name}={value}" for name, value in st.context.cookies.items()))
    return hashlib.sha256(sent).hexdigest() if sent else ""


def cookie(name: str) -> str:
    """Return a cookie that a script of ours has set in this session's browser, "" where it sent
    none.
    """
    return unquote(str(st.context.cookies.get(name, "")))


# Files that were sent


def files() -> dict[str, dict[str, bytes]]:
    """Return the bytes of the files that Streamlit keeps, by tab and name, in the order they came."""
    there = _manager()
    if there is None:
        return {}
    with there._lock:
        return {
            tab: {name: file.data for name, file in kept.items()}
            for tab, kept in there.file_storage.items()
        }


def keep_last(tab: str, most: int, most_bytes: float) -> None:
    """Have Streamlit keep of a tab the files that came last: so many, and so many bytes, but the
    very last in any case.
    """
    there = _manager()
    room = most_bytes
    for place, (name, content) in enumerate(reversed(files().get(tab, {}).items())):
        room -= len(content)
        if there is not None and place and (place >= most or room < 0):
            there.remove_file(tab, name)


def _manager() -> Any:
    there = getattr(_server(), "uploaded_file_mgr", None)
    kind = find(FILES)
    known = (
        kind is not None
        and isinstance(there, kind)
        and hasattr(there, "_lock")
        and hasattr(there, "file_storage")
    )
    return there if known else None


# Its Markdown


def plain(text: object) -> str:
    """Return text that came from a file as it is, with what Markdown would read as signs made
    harmless.
    """
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|~<>$:])", r"\\\1", str(text))


def bold(name: object) -> str:
    """Return a name from a file in a sentence in Markdown."""
    return f"**{plain(name)}**"
