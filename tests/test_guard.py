"""What stands before the server: addresses are sent to nobody, and the server's own figures are the keeper's."""

import asyncio
import base64
from typing import Any

import pytest

from pages._parts.frame.guard import FORBIDDEN, METRICS, Guard
from pages._parts.keeper import password

SECRET = "a long enough password"


def ask(path: str, said: str | None = None, scheme: str = "Basic") -> tuple[int, dict[bytes, bytes], bytes]:
    """Ask an application behind the guard that answers everything."""
    answers: list[dict[str, Any]] = []

    async def everything(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-app", b"1")]})
        await send({"type": "http.response.body", "body": b"figures"})

    async def send(message) -> None:
        answers.append(message)

    told = [] if said is None else [(b"authorization", f"{scheme} {said}".encode())]
    asyncio.run(Guard(everything)({"type": "http", "path": path, "headers": told}, None, send))
    return answers[0]["status"], dict(answers[0]["headers"]), answers[1]["body"]


def basic(secret: str) -> str:
    return base64.b64encode(f"anyone:{secret}".encode()).decode()


@pytest.fixture
def keeper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(password._COST, "n", 2**4)
    monkeypatch.setenv(password.HASH, password.hashed(SECRET))
    monkeypatch.setattr(password, "DOOR", password.Door())


def test_every_answer_forbids_to_send_the_address_on() -> None:
    status, headers, body = ask("/explore")
    assert (status, body) == (200, b"figures")
    assert headers == {b"x-app": b"1", **dict(FORBIDDEN)}
    assert headers[b"referrer-policy"] == b"no-referrer"


@pytest.mark.parametrize("path", [METRICS, f"{METRICS}/", f"/below{METRICS}"])
def test_without_a_keeper_there_are_no_metrics(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(password.HASH, raising=False)
    for said in (None, basic(SECRET), basic("")):
        assert ask(path, said)[::2] == (404, b"")


@pytest.mark.parametrize("said", [None, "", "???", "ä", basic(""), basic("wrong"), base64.b64encode(b"\xff").decode()])
def test_whoever_is_not_the_keeper_is_asked_who_it_is(keeper: None, said: str | None) -> None:
    status, headers, body = ask(METRICS, said)
    assert (status, body) == (401, b"")
    assert headers[b"www-authenticate"].startswith(b"Basic")


def test_the_keeper_reads_the_metrics_until_somebody_guesses(keeper: None) -> None:
    assert ask(METRICS, basic(SECRET))[2] == b"figures"
    assert ask(METRICS, basic(SECRET), "Bearer")[0] == 401
    for _ in range(password.PATIENCE):
        ask(METRICS, basic("wrong"))
    assert ask(METRICS, basic(SECRET))[0] == 401  # the door is closed for everybody


def test_what_is_no_request_passes() -> None:
    seen = []

    async def app(scope, receive, send) -> None:
        seen.append(scope["type"])

    for kind in ("websocket", "lifespan"):
        asyncio.run(Guard(app)({"type": kind, "path": METRICS}, None, None))
    assert seen == ["websocket", "lifespan"]
