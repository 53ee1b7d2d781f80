"""Frame, before the server: what every answer forbids the browser, and whom it tells its own figures.

The link of a saved run is a key, so no page sends its address on. Streamlit's metrics count sessions and name functions: they are
for the keeper alone, by HTTP basic authentication under any name. What a page says after it was left is not heard.
"""

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from pages._parts.frame.left_page import LeftPage
from pages._parts.keeper import password

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
Ask = Callable[[Message, Receive, Send], Awaitable[None]]
METRICS = "/_stcore/metrics"
FORBIDDEN = ((b"referrer-policy", b"no-referrer"), (b"x-content-type-options", b"nosniff"))


class Guard:
    """Stands before an ASGI application."""

    def __init__(self, app: Ask) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass the request on, unless it asks for the metrics without the keeper's password."""
        if scope["type"] == "websocket":
            await self._app(scope, _of_this_page(receive), send)
        elif scope["type"] != "http":
            await self._app(scope, receive, send)
        elif METRICS in scope["path"] and not await asyncio.to_thread(_is_keeper, dict(scope["headers"])):
            status = 401 if password.configured() else 404
            asked = [(b"www-authenticate", b'Basic realm="keeper"')] if status == 401 else []
            await send({"type": "http.response.start", "status": status, "headers": [*FORBIDDEN, *asked]})
            await send({"type": "http.response.body", "body": b""})
        else:

            async def forbidding(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message["headers"] = [*message.get("headers", ()), *FORBIDDEN]
                await send(message)

            await self._app(scope, receive, forbidding)


def _of_this_page(receive: Receive) -> Receive:
    """Return a way to hear a browser that leaves out what a page says after it was left."""
    left = LeftPage()

    async def heard() -> Message:
        while True:
            message = await receive()
            if not left.speaks(message.get("bytes") or b""):
                return message

    return heard


def _is_keeper(headers: dict[bytes, bytes]) -> bool:
    kept, (scheme, _, said) = password.configured(), headers.get(b"authorization", b"").partition(b" ")
    if not kept or scheme.lower() != b"basic":
        return False
    try:
        told = base64.b64decode(said, validate=True).decode().partition(":")[2]
        return password.DOOR.opens(told, kept)
    except (binascii.Error, ValueError):  # no password at all, or the door is closed for a while
        return False
