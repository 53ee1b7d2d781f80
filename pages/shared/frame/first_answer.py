"""Frame, the page that a browser loads first: it learns the server's address, instead of trying the page's address.

At ``/explore`` Streamlit's browser part asks for ``/explore/_stcore/health`` and ``/explore/_stcore/host-config`` first
and gets 404 for both before it asks at ``/``. Every address of the app is one name below its root, also behind a proxy
that adds a prefix, so the root is the folder of the page's address.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
PLACE = b'<script type="module"'
ROOT = b"<script>window.__streamlit={BACKEND_BASE_URL:new URL('.',location.href).href}</script>\n    "
CONDITIONS = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
FACTS = (b"content-length", b"etag", b"last-modified", b"accept-ranges")


def asks_for_page(scope: Message) -> bool:
    """Tell whether a request is a browser's for a page, and not for a script, a file or an answer of the server."""
    wanted = dict(scope["headers"]).get(b"accept", b"")
    return scope.get("method") == "GET" and b"text/html" in wanted and "/_stcore/" not in scope["path"]


def plainly(scope: Message) -> Message:
    """Return the request as one for the whole page, not compressed."""
    return {**scope, "headers": [one for one in scope["headers"] if one[0] not in CONDITIONS]}


def naming_the_root(send: Send) -> Send:
    """Return a way to answer that writes the root of the server into a page of HTML."""
    held: list[Message] = []
    body = bytearray()

    async def answer(message: Message) -> None:
        kind = message["type"]
        if kind == "http.response.start" and _is_page(message):
            held.append(message)
        elif kind == "http.response.body" and held:
            body.extend(message.get("body", b""))
            if not message.get("more_body", False):
                await _send_whole(held.pop(), body.replace(PLACE, ROOT + PLACE, 1), send)
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
