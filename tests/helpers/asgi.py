"""What a client sends to the app, and what the guard before it lets through and answers."""

import asyncio

from pages.shared.server.guard import Guard


async def everything(scope, receive, send):
    """An application that answers whatever comes."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-app", b"1")]})
    await send({"type": "http.response.body", "body": b"figures"})


def through_guard(app, path, *headers, host=b"localhost:8501", receive=None, **scope):
    """Send a request, or what ``scope`` makes of it, to an application behind the guard; return the
    messages back.
    """
    answers = []

    async def send(message):
        answers.append(message)

    asked = {
        "type": "http",
        "method": "GET",
        "path": path,
        "headers": [(b"host", host), *headers],
        **scope,
    }
    asyncio.run(Guard(app)(asked, receive, send))
    return answers
