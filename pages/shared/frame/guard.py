"""Frame, before the server: which requests it answers, and what every answer forbids the browser.

- Only requests for a host of this server are answered, and only pages of this server may open its WebSocket: no name
  that leads here makes the app a page of its own, and no other page of the same machine listens to it.
- A page of somebody else shows the app in no frame, unless the server's environment names it: in a frame a person can
  be led to press what they do not see.
- A session, and the places of its files, answer the browser that began it alone. Streamlit takes a browser that names a
  session for its tab, and the name stands in the addresses that files are sent to, so in the log of every proxy on the
  way. Here a session remembers the token of the cookie that its browser sends against forged requests. A browser that
  sends no cookie, as one may from within a page of another host, has nothing but the names.
- A link names the table by its fingerprint, so no page sends its address on.
- Streamlit's metrics count sessions and name functions: nobody reads them.
- What comes in is bounded (``arriving``).
"""

import logging
import os
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from mklcore.io.launcher import HOSTS
from pages.shared.frame import arriving, first_answer
from pages.shared.frame.left_page import LeftPage
from pages.shared.session import inside

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
Ask = Callable[[Message, Receive, Send], Awaitable[None]]
METRICS, HEALTH = "/_stcore/metrics", "/_stcore/health"
FRAMED_BY = "MKL_EXPLORER_FRAMED_BY"  # addresses of pages that may show the app in a frame, with spaces between
MOST_LOGGED = 20  # refused hosts in the log: anybody can ask for any
POLICY = 1008  # the code of a WebSocket that is closed because of who asks
PORTS = {"http": 80, "https": 443}
LOG = logging.getLogger(__name__)
ADDRESS = re.compile(r"(https?://)?(\*\.)?[\w-]+(\.[\w-]+)*(:(\d+|\*))?")
FORBIDDEN = ((b"referrer-policy", b"no-referrer"), (b"x-content-type-options", b"nosniff"))
ASKING: ContextVar[bytes] = ContextVar("asking", default=b"")  # the browser behind the request that is answered


class Guard:
    """Stands before an ASGI application."""

    def __init__(self, app: Ask) -> None:
        self._app, self._refused = app, set[bytes]()
        self._forbidden = (*FORBIDDEN, (b"content-security-policy", f"frame-ancestors {framers()}".encode()))

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass the request on, unless it is for another host, comes from another's page, or asks for the metrics."""
        if scope["type"] == "websocket":
            if not is_own_page(dict(scope["headers"]), scope.get("scheme", "ws")):
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
        if not scope["path"].endswith(HEALTH) and not inside.host_is_allowed(headers.get(b"host")):
            self._tell_refused(headers.get(b"host", b""))
            await self._refuse(
                send, 403, b"This server answers under other names. Its administrator lists them in MKL_EXPLORER_HOSTS."
            )
        elif METRICS in scope["path"]:
            await self._refuse(send, 404, b"")
        elif not may_ask(arriving.tab_of(scope), browser(scope["headers"])):
            await self._refuse(send, 404, b"There is no such file for this browser.")
        elif first_answer.asks_for_page(scope):
            page = first_answer.naming_the_root(self._forbidding(send))
            await self._app(first_answer.plainly(scope), receive, page)
        elif not arriving.is_upload(scope):
            await self._app(scope, receive, self._forbidding(send))
        elif not arriving.says_its_size(scope):
            await self._refuse(send, 411, b"A file is taken only with a Content-Length that says how long it is.")
        else:
            await self._take_file(scope, receive, send)

    async def _take_file(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            async with arriving.counted(scope, receive) as (counted, body):
                await self._app(counted, body, self._forbidding(send))
        except arriving.SlowError:
            await self._refuse(send, 408, b"The file stopped coming. Send it again.", (b"connection", b"close"))

    def _tell_refused(self, host: bytes) -> None:
        """Write a refused host into the log, each once, and what answers it."""
        if host not in self._refused and len(self._refused) < MOST_LOGGED:
            self._refused.add(host)
            name = "".join(sign for sign in host.decode("latin-1") if sign.isprintable())[:100].partition(":")[0]
            LOG.warning(
                'A request to the host %r was refused. To answer it, start the server with %s="%s".', name, HOSTS, name
            )

    def _forbidding(self, send: Send) -> Send:
        async def forbidding(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *self._forbidden]
            await send(message)

        return forbidding

    async def _refuse(self, send: Send, status: int, words: bytes, *more: tuple[bytes, bytes]) -> None:
        headers = [*self._forbidden, (b"content-type", b"text/plain; charset=utf-8"), *more]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": words})


def framers() -> str:
    """Return which pages may show the app in a frame: its own, and those the server's environment names.

    What is no address is reported in the server's log, and then no other page may.
    """
    named = os.environ.get(FRAMED_BY, "").split()
    if wrong := [one for one in named if not ADDRESS.fullmatch(one)]:
        LOG.warning(
            "%s names %r; expected addresses without a path, with spaces between, as in https://moodle.example.org "
            "https://*.example.com. No other page may show the app in a frame until it is corrected and the server "
            "started again.",
            FRAMED_BY, wrong[0],
        )  # fmt: skip
        return "'self'"
    return " ".join(["'self'", *named])


def is_own_page(headers: dict[bytes, bytes], scheme: str) -> bool:
    """Tell whether a WebSocket is asked for by a page of this server, or by no page at all.

    The whole origin is compared: scheme (a proxy may have ended TLS), name and port. Others are those that
    ``server.corsAllowedOrigins`` lists.
    """
    if b"origin" not in headers:
        return True
    origin, host = headers[b"origin"].decode("latin-1"), headers.get(b"host", b"").decode("latin-1")
    if origin in st.get_option("server.corsAllowedOrigins"):
        return True
    try:
        page, here = urlsplit(origin), urlsplit(f"//{host}")
        usual = PORTS[page.scheme]
        same = (page.hostname, page.port or usual) == (here.hostname, here.port or usual)
    except (KeyError, ValueError):
        return False
    return same and (page.scheme == "https" or scheme != "wss")


def _of_this_page(receive: Receive) -> Receive:
    """Return a receiver that leaves out what a page says after it was left."""
    left = LeftPage()

    async def heard() -> Message:
        while True:
            message = await receive()
            if not left.speaks(message.get("bytes") or b""):
                return message

    return heard


def browser(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return what tells the browser of a request from others: the token of its cookie, b"" where it sends none."""
    sent = "; ".join(value.decode("latin-1") for name, value in headers if name == b"cookie")
    return inside.token(sent)


def may_ask(tab: str, asking: bytes) -> bool:
    """Tell whether a browser may use the addresses of the files of ``tab``, "" for an address of no tab."""
    began = inside.began(tab) if tab else b""
    return not began or asking == began


def is_owner(began: bytes) -> bool:
    """Tell whether the browser that asks is the one a session began with."""
    return not began or began == ASKING.get()
