"""Frame, before the server: which requests it answers, and what every answer forbids the browser.

The link of a saved run is a key, so no page sends its address on. A page of somebody else shows the app in no frame,
unless the server's environment names it: in a frame a person can be led to press what they do not see. Requests to
other hosts are refused as WebSockets are, so that no name that leads here makes the app a page of its own. Streamlit's
metrics count sessions and name functions: nobody reads them.
Files are counted as they come (``arriving``). A session and its files answer the browser that began it (``owner``).
What a page says after it was left is ignored. The page that a browser loads first names the root of the server
(``first_answer``).
"""

import logging
import os
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from mklcore.launcher import HOSTS
from pages._parts.frame import arriving, first_answer, owner
from pages._parts.frame.left_page import LeftPage
from pages._parts.session import inside

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
Ask = Callable[[Message, Receive, Send], Awaitable[None]]
METRICS, HEALTH = "/_stcore/metrics", "/_stcore/health"
FRAMED_BY = "MKL_EXPLORER_FRAMED_BY"  # addresses of pages that may show the app in a frame, with spaces between
MOST_LOGGED = 20  # refused hosts in the log: anybody can ask for any
LOG = logging.getLogger(__name__)
ADDRESS = re.compile(r"(https?://)?(\*\.)?[\w-]+(\.[\w-]+)*(:(\d+|\*))?")
FORBIDDEN = ((b"referrer-policy", b"no-referrer"), (b"x-content-type-options", b"nosniff"))


class Guard:
    """Stands before an ASGI application."""

    def __init__(self, app: Ask) -> None:
        self._app, self._refused = app, set[bytes]()
        self._forbidden = (*FORBIDDEN, (b"content-security-policy", f"frame-ancestors {_framers()}".encode()))

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass the request on, unless it is for another host or asks for the metrics."""
        if scope["type"] == "websocket":
            owner.ASKING.set(owner.browser(scope["headers"]))
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
        elif not owner.may_ask(arriving.tab_of(scope), owner.browser(scope["headers"])):
            await self._refuse(send, 404, b"There is no such file for this browser.")
        elif first_answer.asks_for_page(scope):
            page = first_answer.naming_the_root(self._forbidding(send))
            await self._app(first_answer.plainly(scope), receive, page)
        elif not arriving.is_upload(scope):
            await self._app(scope, receive, self._forbidding(send))
        elif not arriving.says_its_size(scope):
            await self._refuse(send, 411, b"A file is taken only with a Content-Length that says how long it is.")
        else:
            async with arriving.counted(scope, receive) as (counted, body):
                await self._app(counted, body, self._forbidding(send))

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

    async def _refuse(self, send: Send, status: int, words: bytes) -> None:
        headers = [*self._forbidden, (b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": words})


def _framers() -> str:
    """Return which pages may show the app in a frame: its own, and those the server's environment names."""
    named = os.environ.get(FRAMED_BY, "").split()
    if wrong := [one for one in named if not ADDRESS.fullmatch(one)]:
        raise ValueError(
            f"{FRAMED_BY} names {wrong[0]!r}; expected addresses without a path, with spaces between, as in "
            "https://moodle.example.org https://*.example.com."
        )
    return " ".join(["'self'", *named])


def _of_this_page(receive: Receive) -> Receive:
    """Return a receiver that leaves out what a page says after it was left."""
    left = LeftPage()

    async def heard() -> Message:
        while True:
            message = await receive()
            if not left.speaks(message.get("bytes") or b""):
                return message

    return heard
