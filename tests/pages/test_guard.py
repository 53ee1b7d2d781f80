"""What stands before the server: addresses are sent to nobody, and nobody reads the server's own
figures.
"""

from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit import config
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages.shared import private_streamlit
from pages.shared.server.guard import (
    FORBIDDEN,
    FRAMED_BY,
    METRICS,
    MOST_LOGGED,
    Guard,
)
from tests.helpers.asgi import everything, through_guard
from tests.helpers.every import every


def ask(path, **how):
    """Status, headers and content that an application behind the guard answers with, or the guard
    itself.
    """
    start, body = through_guard(everything, path, **how)
    return start["status"], dict(start["headers"]), body["body"]


@pytest.fixture
def options():
    """Options of the server, which are as before afterwards."""
    before = {
        name: config.get_option(name)
        for name in ("server.allowedHosts", "server.corsAllowedOrigins")
    }
    yield before
    for name, value in before.items():
        config.set_option(name, value)


def test_every_answer_forbids_to_send_the_address_on():
    status, headers, body = ask("/explore")
    assert (status, body) == (200, b"figures")
    assert headers == {
        b"x-app": b"1",
        **dict(FORBIDDEN),
        b"content-security-policy": b"frame-ancestors 'self'",
    }
    assert headers[b"referrer-policy"] == b"no-referrer"


def test_who_may_show_the_app_in_a_frame_is_named_by_the_server(monkeypatch):
    monkeypatch.setenv(FRAMED_BY, "https://moodle.example.org  https://*.example.com:8443")
    for path in ("/explore", METRICS):
        policy = ask(path)[1][b"content-security-policy"]
        assert (
            policy
            == b"frame-ancestors 'self' https://moodle.example.org https://*.example.com:8443"
        )


@pytest.mark.parametrize(
    "wrong", ["https://a.example/path", "*", "https://a.example;script-src", "'none'"]
)
def test_a_frame_that_is_no_address_is_reported_and_no_other_page_shows_the_app(
    wrong, monkeypatch, caplog
):
    monkeypatch.setenv(FRAMED_BY, f"https://moodle.example.org {wrong}")
    assert ask("/")[0] == 200
    assert ask("/")[1][b"content-security-policy"] == b"frame-ancestors 'self'"
    assert f"{FRAMED_BY} names {wrong!r}; expected addresses without a path" in caplog.text


@every("host", [b"evil.example", b"localhost.evil.example:8501", b"", b"\xff"])
def test_requests_to_other_hosts_are_refused_as_websockets_are(host):
    status, headers, body = ask("/_stcore/host-config", host=host)
    assert status == 403
    assert b"MKL_EXPLORER_HOSTS" in body
    assert b"content-security-policy" in headers
    assert ask("/_stcore/health", host=host)[0] == 200, (
        "those who look after a container ask by its number"
    )


def test_hosts_of_the_environment_are_answered_and_refused_ones_stand_in_the_log_once(
    caplog, options
):
    assert ask("/", host=b"mkl.example.org")[0] == 403
    assert caplog.messages == [
        "A request to the host 'mkl.example.org' was refused. To answer it, start the server with "
        'MKL_EXPLORER_HOSTS="mkl.example.org".'
    ]
    private_streamlit.answer_hosts("mkl.example.org *.hf.space")
    answered = {b"mkl.example.org": 200, b"me.hf.space:7860": 200, b"hf.space.evil.example": 403}
    assert {host: ask("/", host=host)[0] for host in answered} == answered
    allowed = [*options["server.allowedHosts"], "mkl.example.org", "*.hf.space"]
    assert config.get_option("server.allowedHosts") == allowed


def test_the_log_takes_few_refused_hosts_and_none_twice(caplog):
    guard = Guard(None)
    for k in range(2 * MOST_LOGGED):
        guard._tell_refused(b"\x1bhost%d" % (k // 2))
        guard._tell_refused(b"another%d:80" % (k % 3))
    assert len(caplog.messages) == MOST_LOGGED
    assert all("\x1b" not in line for line in caplog.messages)


def test_a_request_without_a_host_is_refused():
    assert not private_streamlit.host_is_allowed(None)
    assert private_streamlit.host_is_allowed(b"127.0.0.1:8501")


def test_no_page_of_another_host_is_listened_to():
    assert st.get_option("client.allowedOrigins") == []


@every("path", [METRICS, f"{METRICS}/", f"/below{METRICS}"])
def test_nobody_reads_the_metrics(path):
    assert ask(path)[::2] == (404, b"")


@every(
    "scheme, host, origin, own",
    [
        ("ws", b"localhost:8501", b"http://localhost:8501", True),
        ("ws", b"localhost:8501", b"http://localhost:9999", False),
        ("ws", b"localhost:8501", b"http://localhost", False),
        ("ws", b"localhost:8501", b"http://127.0.0.1:8501", False),
        ("ws", b"localhost:8501", None, True),
        ("ws", b"localhost:8501", b"null", False),
        ("ws", b"localhost:8501", b"http://localhost:port", False),
        ("ws", b"[::1]:8501", b"http://[::1]:8501", True),
        ("ws", b"mkl.example.org", b"https://mkl.example.org", True),  # the proxy ends TLS
        ("wss", b"mkl.example.org", b"https://mkl.example.org:443", True),
        ("wss", b"mkl.example.org", b"http://mkl.example.org", False),
        ("ws", b"mkl.example.org", b"https://mkl.example.org:8443", False),
        # as the server's options list
        ("ws", b"mkl.example.org", b"https://course.example.org:8443", True),
    ],
)
def test_a_websocket_is_opened_by_pages_of_this_server_alone(scheme, host, origin, own, options):
    config.set_option("server.corsAllowedOrigins", ["https://course.example.org:8443"])
    headers = [] if origin is None else [(b"origin", origin)]
    (first, *_) = through_guard(
        everything, "/_stcore/stream", *headers, host=host, type="websocket", scheme=scheme
    )
    assert (first["type"] != "websocket.close") is own


def test_what_is_no_request_passes():
    for kind in ("websocket", "lifespan"):
        assert through_guard(everything, METRICS, type=kind)[0]["status"] == 200


def said(page, fragment="", address="", moved=False):
    """What a browser sends: it wants a page, or a part of one, drawn. Its address is that of the
    page, unless another is given; ``moved`` where it has just changed.
    """
    asked = BackMsg()
    asked.rerun_script.page_script_hash = page
    asked.rerun_script.fragment_id = fragment
    asked.rerun_script.context_info.url = f"https://mkl.example.org/{address or page}?data=wine"
    asked.rerun_script.is_history_navigation = moved
    return {"type": "websocket.receive", "bytes": asked.SerializeToString()}


def heard(*messages):
    """Those that reach an application behind the guard."""
    come = iter([*messages, {"type": "websocket.disconnect"}])
    arrived = []

    async def take(scope, receive, send):
        while (message := await receive())["type"] != "websocket.disconnect":
            arrived.append(message)

    async def receive():
        return next(come)

    through_guard(take, "/_stcore/stream", type="websocket", receive=receive)
    return arrived


def test_a_part_of_the_page_that_was_just_left_is_not_heard():
    first = said("one")
    part = said("one", "pocket")
    second = said("two", moved=True)
    late = said("one", "pocket", address="two")
    again = said("one", moved=True)
    assert heard(first, part, second, late, said("two", "bar"), again, part) == [
        first, part, second, said("two", "bar"), again, part,
    ]  # fmt: skip
    # a link opened the first page
    assert heard(said(""), second, late) == [said(""), second]
    odd = [
        {"type": "websocket.receive", "text": "hello"},
        {"type": "websocket.receive", "bytes": b"\xff\xff"},
    ]
    assert heard(second, *odd) == [second, *odd]


def test_what_the_page_before_still_says_is_about_the_page_that_the_address_names_and_parsed_once(
    monkeypatch,
):
    parsed = []

    def parse(message):
        parsed.append(message)
        return BackMsg.FromString(message)

    find = private_streamlit.find
    kinds = {private_streamlit.MESSAGE: SimpleNamespace(FromString=parse)}
    monkeypatch.setattr(private_streamlit, "find", lambda name: kinds.get(name) or find(name))
    corrected = [said("one"), said("two", moved=True), said("one", address="two")]
    assert heard(*corrected) == [*corrected[:2], said("two")]
    assert parsed == [message["bytes"] for message in corrected]


def test_a_page_that_the_server_went_to_by_itself_is_heard():
    second = said("two", moved=True)
    by_itself = [said("three"), said("three", "slider")]
    assert heard(second, *by_itself) == [second, *by_itself]


def test_what_no_page_of_ours_says_is_not_heard():
    for name in ("clear_cache", "set_run_on_save", "load_git_info", "debug_shutdown_runtime"):
        asked = BackMsg(**{name: True})
        padded = asked.SerializeToString() + b"\xfa\x7f" + b"\x80\x89\x7a" + b"x" * 2_000_000
        for content in (asked.SerializeToString(), padded):
            assert heard({"type": "websocket.receive", "bytes": content}) == [], name
    for asked in (BackMsg(stop_script=True), BackMsg(app_heartbeat=True)):
        assert len(heard({"type": "websocket.receive", "bytes": asked.SerializeToString()})) == 1


@every(
    "what",
    [
        private_streamlit.OWNER,
        private_streamlit.TOKEN,
        "a newer release",
        "another way to keep sessions",
    ],
)
def test_without_what_protects_sessions_this_machine_alone_is_answered(what, monkeypatch):
    find = private_streamlit.find
    monkeypatch.setattr(
        private_streamlit, "find", lambda name: None if name == what else find(name)
    )
    if what == "a newer release":
        monkeypatch.setattr(st, "__version__", "1.68.0")
    if what == "another way to keep sessions":
        monkeypatch.setattr(private_streamlit, "_server", SimpleNamespace)
    here = {"client": ("127.0.0.1", 5000)}
    assert ask("/explore", **here)[0] == 200
    for away in ({"client": ("10.0.0.7", 5000)}, {"host": b"mkl.example.org", **here}, {}):
        status, _, body = ask("/explore", **away)
        assert status == 403
        assert body.startswith(b"This server answers its own machine alone: Streamlit ")
        (closed,) = through_guard(everything, "/_stcore/stream", type="websocket", **away)
        assert closed["type"] == "websocket.close"
    start, *_ = through_guard(everything, "/explore", (b"x-forwarded-for", b"10.0.0.7"), **here)
    assert start["status"] == 403, "a proxy on this machine passes others on"


def page(body, kind):
    """Ask as a browser does for an application that answers with these pieces; return what it was
    asked, too.
    """
    asked = []

    async def app(scope, receive, send):
        asked.extend(scope["headers"])
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-type", kind), (b"etag", b"1"), (b"content-length", b"9")]})  # fmt: skip
        for place, piece in enumerate(body, 1):
            await send(
                {"type": "http.response.body", "body": piece, "more_body": place < len(body)}
            )

    start, *rest = through_guard(
        app, "/lessons", (b"accept", b"text/html,*/*"), (b"if-none-match", b"1")
    )
    return dict(start["headers"]), b"".join(one["body"] for one in rest), asked


def test_the_first_page_names_the_root_of_the_server_so_that_the_browser_tries_no_other():
    pieces = [
        b"<html><scr",
        b'ipt type="module" src="./a.js"></script><script type="module"></script>',
    ]
    headers, body, asked = page(pieces, b"text/html; charset=utf-8")
    assert body.count(b"BACKEND_BASE_URL:new URL('.',location.href).href") == 1
    assert body.index(b"BACKEND_BASE_URL") < body.index(b'type="module"')
    assert headers[b"content-length"] == str(len(body)).encode()
    assert b"etag" not in headers
    assert not {name for name, _ in asked} & {b"if-none-match", b"accept-encoding"}
    assert headers[b"referrer-policy"] == b"no-referrer"


def test_a_file_that_is_no_page_is_answered_as_it_is():
    headers, body, _ = page([b'<script type="module"', b">"], b"text/javascript")
    assert body == b'<script type="module">'
    assert headers[b"etag"] == b"1"
