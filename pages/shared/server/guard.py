"""Before the server: which requests it answers, what every answer forbids the browser, and how much
may come in.
"""

import asyncio
import logging
import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from mklcore.io.launcher import HOSTS
from pages.shared import private_streamlit
from pages.shared.session.parameters import one_line
from pages.shared.session.state import REFUSED
from pages.shared.work.machine import memory_bytes

# A page that was just left
#
# A click on the menu changes the address at once, and asks for the page it names. Until the server
# answers, the browser's part still shows the page before and speaks for it: a menu closes there, a
# script of ours reports the theme. Such a message is sent later than the click and would bring the
# old page back, or an empty one.


class LeftPage:
    """The messages of one browser, in their order; those of a page that it has left are corrected."""

    def __init__(self) -> None:
        self._address = ""
        self._page = ""

    def corrected(self, message: bytes) -> bytes | None:
        """Return what the server is to hear.

        A message for the whole of a page that was left is about the page that the address names;
        one for a part of it is about nothing (None), and so is what no page of ours says.
        """
        asked = private_streamlit.page_asked_for(message)
        if not asked.is_ours:
            return None
        if not asked.page:
            return message
        if asked.through_history:
            self._address = asked.address
            self._page = asked.page
        if asked.address != self._address or asked.page == self._page:
            return message
        return None if asked.part else asked.about(self._page)


# The page that a browser loads first
#
# At ``/explore`` Streamlit's browser part asks for ``/explore/_stcore/health`` and
# ``/explore/_stcore/host-config`` first and gets 404 for both before it asks at ``/``. Every
# address of the app is one name below its root, also behind a proxy that adds a prefix, so the root
# is the folder of the page's address. Links are listened to from the first moment on (``links.js``):
# a part of a page would be there too late for a quick click.


Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
SCRIPT = b'<script type="module"'
ROOT = b"window.__streamlit={BACKEND_BASE_URL:new URL('.',location.href).href}"
LINKS = Path(__file__).with_name("links.js").read_bytes()
FIRST = b"<script>%b;{%b}</script>\n    " % (ROOT, LINKS)
CONDITIONS = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
FACTS = (b"content-length", b"etag", b"last-modified", b"accept-ranges")


def asks_for_page(scope: Message) -> bool:
    """Tell whether a request is a browser's for a page, and not for a script, a file or an answer
    of the server.
    """
    wanted = dict(scope["headers"]).get(b"accept", b"")
    return (
        scope.get("method") == "GET" and b"text/html" in wanted and "/_stcore/" not in scope["path"]
    )


def with_first_script(send: Send) -> Send:
    """Return a way to answer that writes into a page of HTML what it is to do first."""
    held: list[Message] = []
    body = bytearray()

    async def answer(message: Message) -> None:
        kind = message["type"]
        if kind == "http.response.start" and _is_page(message):
            held.append(message)
        elif kind == "http.response.body" and held:
            body.extend(message.get("body", b""))
            if not message.get("more_body", False):
                await _send_whole(held.pop(), body.replace(SCRIPT, FIRST + SCRIPT, 1), send)
        else:
            await send(message)

    return answer


def _is_page(start: Message) -> bool:
    headers = dict(start.get("headers", ()))
    return start["status"] == 200 and headers.get(b"content-type", b"").startswith(b"text/html")


async def _send_whole(start: Message, body: bytearray, send: Send) -> None:
    headers = [one for one in start["headers"] if one[0] not in FACTS]
    start["headers"] = [*headers, (b"content-length", str(len(body)).encode())]
    await send(start)
    await send({"type": "http.response.body", "body": bytes(body)})


# Files on their way
#
# Streamlit bounds one file and keeps every file that a tab ever sent until the tab is closed,
# whether a page asked for it or not: eight of 60 MB raised the server by 480 MB. Here all files
# that a tab is sending are counted together, as are those of the server, and of a tab the files it
# sent last are kept: what a page uses is with the session by then. What is refused is stated on the
# page, in the place of the file. A request that stops sending is ended. How much one visitor may
# ask for is bounded by the proxy before the server.


Receive = Callable[[], Awaitable[Message]]
MB = 1e6
PATIENCE_SECONDS = 15.0  # for the next piece of a file
SLOWEST = 20e3  # bytes a second, on average and beyond that patience
PLACE = re.compile(r"/_stcore/upload_file/([^/]+)/[^/]+$")
NAME = re.compile(rb'filename="([^"\r\n]{0,400})"')
MOST_HEAD = 64 * 1024  # of a part of a form
BORDER = b"sent-instead"


class SlowError(Exception):
    """A request stopped sending, or sends too slowly."""


class GoneError(Exception):
    """The sender of a file went away before its end."""


@dataclass(frozen=True)
class Shares:
    """What may be held of files that were brought along, in megabytes: of a tab while they travel
    and after, and in all.
    """

    files: int = 4
    kept_mb: float = 105.0  # one file of the largest kind
    tab_mb: float = 210.0
    total_mb: float = min(4000.0, 0.25 * memory_bytes() / MB)


class Arriving:
    """The files that are on their way, and those that are held, which ``held`` tells in bytes."""

    def __init__(
        self,
        held: Callable[[], float],
        shares: Shares | None = None,
    ) -> None:
        self.shares = shares or Shares()
        self._held = held
        self._lock = threading.Lock()
        self._under_way: defaultdict[str, float] = defaultdict(float)

    def begin(self, tab: str, size: float) -> str:
        """Let a file of ``size`` bytes come in, until :meth:`end`; return why it cannot be taken,
        "" where it can.
        """
        with self._lock:
            why = self._refusal(
                size, self._under_way.get(tab, 0.0), self._held() + sum(self._under_way.values())
            )
            self._under_way[tab] += 0.0 if why else size
            return why

    def end(self, tab: str, size: float) -> None:
        """A file that was let in has come, or has not."""
        with self._lock:
            self._under_way[tab] -= size
            if self._under_way[tab] <= 0:
                del self._under_way[tab]

    def _refusal(self, size: float, tab: float, total: float) -> str:
        most = self.shares
        sorry = f"The file of {size / MB:.0f} MB was not taken:"
        if tab + size > most.tab_mb * MB:
            return (
                f"{sorry} this tab is sending {tab / MB:.0f} MB already. Wait until they "
                "are there, then choose the file again."
            )
        if total + size > most.total_mb * MB:
            return (
                f"{sorry} the server holds {total / MB:.0f} MB of files and may hold "
                f"{most.total_mb:.0f} MB for everybody. Try again when others have closed "
                "their tabs, or take fewer rows."
            )
        return ""


def held() -> float:
    """Return the bytes of the files that Streamlit keeps for all tabs."""
    return float(
        sum(
            len(content)
            for files in private_streamlit.files().values()
            for content in files.values()
        )
    )


ARRIVING = Arriving(held)


def tab_of(scope: Message) -> str:
    """Return the tab whose files a request is about, "" where it is about none."""
    found = PLACE.search(scope["path"])
    return found[1] if found else ""


@asynccontextmanager
async def bounded(scope: Message, receive: Receive) -> AsyncIterator[tuple[Message, Receive]]:
    """Count a request that brings a file along, and give it on; what cannot be taken is given on as
    the words that say so. Raises ``SlowError`` where it stops sending, ``GoneError`` where it
    breaks off.
    """
    tab = tab_of(scope)
    size = float(dict(scope["headers"])[b"content-length"])
    why = ARRIVING.begin(tab, size)
    try:
        yield await _instead(scope, paced(receive), why) if why else (scope, paced(receive))
    finally:
        if not why:
            ARRIVING.end(tab, size)
        private_streamlit.keep_last(tab, ARRIVING.shares.files, ARRIVING.shares.kept_mb * MB)


def paced(receive: Receive, clock: Callable[[], float] = time.monotonic) -> Receive:
    """Return a receiver of the same body: ``SlowError`` where it does not come, ``GoneError`` where
    its sender left.
    """
    begun = clock()
    got = 0
    whole = False

    async def receive_soon() -> Message:
        nonlocal got, whole
        if whole:
            return await receive()
        left = min(PATIENCE_SECONDS, begun + PATIENCE_SECONDS + got / SLOWEST - clock())
        try:
            message = await asyncio.wait_for(receive(), left)
        except TimeoutError:
            raise SlowError from None
        if message["type"] == "http.disconnect":
            raise GoneError
        got = got + len(message.get("body", b""))
        whole = not message.get("more_body", False)
        return message

    return receive_soon


async def _instead(scope: Message, receive: Receive, why: str) -> tuple[Message, Receive]:
    """Let the file pass by without keeping it, and return a request with words in its place, under
    its name.
    """
    head = b""
    more = True
    while more:
        message = await receive()
        head = head if len(head) > MOST_HEAD else head + message.get("body", b"")
        more = message.get("more_body", False)
    name = NAME.search(head)
    body = (
        b'--%b\r\nContent-Disposition: form-data; name="file"; filename="%b"\r\nContent-Type: '
        b"%b\r\n\r\n%b\r\n--%b--\r\n"
        % (BORDER, name[1] if name else b"file", REFUSED.encode(), why.encode(), BORDER)
    )
    headers = [
        one for one in scope["headers"] if one[0] not in (b"content-length", b"content-type")
    ]
    headers += [
        (b"content-length", str(len(body)).encode()),
        (b"content-type", b"multipart/form-data; boundary=" + BORDER),
    ]
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_counted() -> Message:
        return left.pop() if left else await receive()

    return {**scope, "headers": headers}, receive_counted


# The guard
#
# - The server answers only requests for one of its own hosts, and only its own pages may open its
#   WebSocket. Another name that leads here does not turn the app into a page of that name, and no
#   other page of the same machine can listen to it.
# - No other site may show the app in a frame, unless the server's environment names that site: in a
#   frame a person can be led to press what they do not see.
# - A session and the addresses of its files answer only the browser that began it. Streamlit takes
#   any browser that names a session for the session's own tab, and the name is part of the
#   addresses that files are sent to, so it is in the log of every proxy on the way. Here a session
#   remembers the token of the cookie that its browser sends against forged requests. A browser
#   that sends no cookie, as may happen within a page of another host, has nothing but the names.
# - A link names the table by its fingerprint, so no page sends its address on.
# - Streamlit's metrics count sessions and name functions, so nobody may read them.
# - Of all that a browser can tell Streamlit, only what our pages send is accepted: two bytes would
#   otherwise empty the caches of everybody.
# - Where this Streamlit lacks what protects a session, or is a release that nobody has tried, the
#   server answers only its own machine.
# - The size of what comes in is bounded (``arriving``).


Ask = Callable[[Message, Receive, Send], Awaitable[None]]
METRICS = "/_stcore/metrics"
HEALTH = "/_stcore/health"
# addresses of pages that may show the app in a frame, with spaces between
FRAMED_BY = "MKL_EXPLORER_FRAMED_BY"
MOST_LOGGED = 20  # refused hosts in the log: anybody can ask for any
POLICY = 1008  # the code of a WebSocket that is closed because of who asks
PORTS = {"http": 80, "https": 443}
LOCAL = ("127.0.0.1", "localhost", "::1")
PASSED_ON = {b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip"}
LOG = logging.getLogger(__name__)
ADDRESS = re.compile(r"(https?://)?(\*\.)?[\w-]+(\.[\w-]+)*(:(\d+|\*))?")
FORBIDDEN = ((b"referrer-policy", b"no-referrer"), (b"x-content-type-options", b"nosniff"))
# the browser behind the request that is answered
ASKING: ContextVar[bytes] = ContextVar("asking", default=b"")


class Guard:
    """Stands before an ASGI application."""

    def __init__(self, app: Ask) -> None:
        self._app = app
        self._refused = set[bytes]()
        self._forbidden = (
            *FORBIDDEN,
            (b"content-security-policy", f"frame-ancestors {framers()}".encode()),
        )

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass the request on, unless it is for another host, comes from another's page, or asks
        for the metrics.
        """
        if scope["type"] == "websocket":
            is_open = is_here(scope) or not private_streamlit.unprotected()
            if not is_open or not is_own_page(dict(scope["headers"]), scope.get("scheme", "ws")):
                await send({"type": "websocket.close", "code": POLICY})
                return
            ASKING.set(browser(scope["headers"]))
            await self._app(scope, _of_this_page(receive), send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if (why := private_streamlit.unprotected()) and not is_here(scope):
            await self._refuse(
                send, 403, f"This server answers its own machine alone: {why}".encode()
            )
        elif not scope["path"].endswith(HEALTH) and not private_streamlit.host_is_allowed(
            headers.get(b"host")
        ):
            self._tell_refused(headers.get(b"host", b""))
            await self._refuse(
                send,
                403,
                b"This server answers under other names. Its administrator lists them in MKL_EXPLORER_HOSTS.",
            )
        elif METRICS in scope["path"]:
            await self._refuse(send, 404, b"")
        elif not may_ask(tab_of(scope), browser(scope["headers"])):
            await self._refuse(send, 404, b"There is no such file for this browser.")
        elif asks_for_page(scope):
            # the whole page, not compressed
            whole = [one for one in scope["headers"] if one[0] not in CONDITIONS]
            page = with_first_script(self._forbidding(send))
            await self._app({**scope, "headers": whole}, receive, page)
        elif scope.get("method") != "PUT" or not tab_of(scope):
            await self._app(scope, receive, self._forbidding(send))
        elif not headers.get(b"content-length", b"").isdigit():
            await self._refuse(
                send, 411, b"A file is taken only with a Content-Length that says how long it is."
            )
        else:
            await self._take_file(scope, receive, send)

    async def _take_file(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            async with bounded(scope, receive) as (counted, body):
                await self._app(counted, body, self._forbidding(send))
        except SlowError:
            await self._refuse(
                send, 408, b"The file stopped coming. Send it again.", (b"connection", b"close")
            )
        except GoneError:
            pass  # nobody waits for an answer

    def _tell_refused(self, host: bytes) -> None:
        """Write a refused host into the log, each once, and what answers it."""
        if host not in self._refused and len(self._refused) < MOST_LOGGED:
            self._refused.add(host)
            name = one_line(host.decode("latin-1")).partition(":")[0]
            LOG.warning(
                (
                    "A request to the host %r was refused. To answer it, start the server "
                    'with %s="%s".'
                ),
                name,
                HOSTS,
                name,
            )

    def _forbidding(self, send: Send) -> Send:
        async def forbidding(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *self._forbidden]
            await send(message)

        return forbidding

    async def _refuse(
        self, send: Send, status: int, words: bytes, *more: tuple[bytes, bytes]
    ) -> None:
        headers = [*self._forbidden, (b"content-type", b"text/plain; charset=utf-8"), *more]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": words})


def is_here(scope: Message) -> bool:
    """Tell whether a request comes from this machine, under one of its own names and through no
    proxy.
    """
    headers = dict(scope["headers"])
    name = urlsplit(f"//{headers.get(b'host', b'').decode('latin-1')}").hostname or ""
    client = (scope.get("client") or ("",))[0]
    return client in LOCAL and name in LOCAL and not PASSED_ON & set(headers)


def framers() -> str:
    """Return which pages may show the app in a frame: its own, and those the server's environment
    names.

    What is no address is reported in the server's log, and then no other page may.
    """
    named = os.environ.get(FRAMED_BY, "").split()
    if wrong := [one for one in named if not ADDRESS.fullmatch(one)]:
        LOG.warning(
            (
                "%s names %r; expected addresses without a path, with spaces between, as in "
                "https://moodle.example.org https://*.example.com. No other page may show the "
                "app in a frame until it is corrected and the server started again."
            ),
            FRAMED_BY,
            wrong[0],
        )
        return "'self'"
    return " ".join(["'self'", *named])


def is_own_page(headers: dict[bytes, bytes], scheme: str) -> bool:
    """Tell whether a WebSocket is asked for by a page of this server, or by no page at all.

    The whole origin is compared: scheme (a proxy may have ended TLS), name and port. Others are
    those that ``server.corsAllowedOrigins`` lists.
    """
    if b"origin" not in headers:
        return True
    origin = headers[b"origin"].decode("latin-1")
    host = headers.get(b"host", b"").decode("latin-1")
    if origin in st.get_option("server.corsAllowedOrigins"):
        return True
    try:
        page = urlsplit(origin)
        here = urlsplit(f"//{host}")
        usual = PORTS[page.scheme]
        same = (page.hostname, page.port or usual) == (here.hostname, here.port or usual)
    except (KeyError, ValueError):
        return False
    return same and (page.scheme == "https" or scheme != "wss")


def _of_this_page(receive: Receive) -> Receive:
    """Return a receiver that corrects what a page says after it was left, and leaves out what no
    page of ours says.
    """
    left = LeftPage()

    async def heard() -> Message:
        while True:
            message = await receive()
            said = message.get("bytes") or b""
            corrected = left.corrected(said)
            if corrected == said:
                return message
            if corrected is not None:
                return {**message, "bytes": corrected}

    return heard


def browser(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return what tells the browser of a request from others: the token of its cookie, b"" where it
    sends none.
    """
    sent = "; ".join(value.decode("latin-1") for name, value in headers if name == b"cookie")
    return private_streamlit.token(sent)


def may_ask(tab: str, asking: bytes) -> bool:
    """Tell whether a browser may use the addresses of the files of ``tab``, "" for an address of no
    tab.
    """
    began = private_streamlit.began(tab) if tab else b""
    return not began or asking == began


def is_owner(began: bytes) -> bool:
    """Tell whether the browser that asks is the one a session began with."""
    return not began or began == ASKING.get()
