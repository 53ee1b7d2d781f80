"""Files are counted as they come: a tab and the server have their shares, refusals are reported on
the page, and what stops coming is ended.
"""

import asyncio
from types import SimpleNamespace

import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from pages.shared import private_streamlit
from pages.shared.server import guard
from pages.shared.server.guard import MB, Arriving, Shares
from pages.shared.session import state
from tests.helpers.asgi import through_guard
from tests.helpers.pages import memory, open_app

SHARES = Shares(files=2, kept_mb=3.0, tab_mb=4.0, total_mb=6.0)


def test_a_tab_and_the_server_have_their_shares():
    held = [0.0]
    counted = Arriving(lambda: held[0], SHARES)
    assert counted.begin("a", 3 * MB) == ""
    assert "this tab is sending 3 MB already" in counted.begin("a", 2 * MB)
    assert counted.begin("a", MB) == "", "many files of one tab are counted together"
    assert counted.begin("b", 2 * MB) == ""
    assert "the server holds 6 MB of files and may hold 6 MB for everybody" in counted.begin(
        "c", MB
    )
    counted.end("a", 3 * MB)
    held[0] = 3 * MB  # it has come
    assert "the server holds 6 MB" in counted.begin("c", MB)
    held[0] = 0.0  # its tab is closed
    assert counted.begin("c", MB) == ""


@pytest.fixture(params=["nothing", "little"])
def slow_body(request, monkeypatch):
    """What a client sends that declared 100 MB: nothing at all, or a byte now and then."""
    monkeypatch.setattr(guard, "PATIENCE_SECONDS", 0.05)

    async def receive():
        await (asyncio.Event().wait() if request.param == "nothing" else asyncio.sleep(0.01))
        return {"type": "http.request", "body": b"x", "more_body": True}

    return receive


def test_a_file_that_stops_coming_is_ended_and_no_longer_counted(kept, slow_body):
    async def app(scope, receive, send):
        while (await receive()).get("more_body"):
            pass

    length = (b"content-length", b"3900000")
    first, *_ = through_guard(
        app, "/_stcore/upload_file/a/1", length, method="PUT", receive=slow_body
    )
    assert first["status"] == 408
    assert (b"connection", b"close") in first["headers"]
    assert guard.ARRIVING.begin("a", 3.9 * MB) == ""


def test_a_file_whose_sender_goes_away_is_no_longer_counted_and_needs_no_answer(kept):
    messages = [
        {"type": "http.disconnect"},
        {"type": "http.request", "body": b"x", "more_body": True},
    ]

    async def receive():
        return messages.pop()

    async def app(scope, receive, send):
        while (await receive()).get("more_body"):
            pass
        raise AssertionError("a part of a file was taken for the whole of it")

    length = (b"content-length", b"3900000")
    assert (
        through_guard(app, "/_stcore/upload_file/a/1", length, method="PUT", receive=receive) == []
    )
    assert guard.ARRIVING.begin("a", 3.9 * MB) == ""


def test_a_file_may_come_slowly_and_its_answer_is_waited_for():
    now = [0.0]
    pieces = [b"x" * 30_000] * 20

    async def receive():
        now[0] += 1.0
        return {"type": "http.request", "body": pieces.pop(), "more_body": bool(pieces)}

    async def take():
        body = guard.paced(receive, lambda: now[0])
        count = 0
        while (await body())["more_body"]:
            count += 1
        return count

    assert asyncio.run(take()) == 19


@pytest.fixture
def kept(monkeypatch):
    """What Streamlit keeps of the files of a server, and shares that small files use up."""
    there = MemoryUploadedFileManager("/_stcore/upload_file")
    monkeypatch.setattr(private_streamlit, "_manager", lambda: there)
    monkeypatch.setattr(guard, "ARRIVING", Arriving(guard.held, SHARES))
    return there


def send(kept, tab, number, size):
    """Send a file as a browser does, in two pieces, to a server that keeps what it is given; return
    that, or the status.
    """
    border = "b"
    head = f'--{border}\r\nContent-Disposition: form-data; name="a.csv"; filename="a.csv"\r\n\r\n'.encode()
    whole = head + bytes(size) + f"\r\n--{border}--\r\n".encode()
    pieces = [whole[:100], whole[100:]]

    async def app(scope, receive, send):
        from starlette.requests import Request

        form = await Request(scope, receive).form()
        (file,) = form.values()
        _, _, _, to, name = scope["path"].split("/")
        kept.add_file(
            to, UploadedFileRec(name, file.filename, file.content_type or "", await file.read())
        )
        await file.close()

    async def receive():
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    headers = (
        (b"content-type", f"multipart/form-data; boundary={border}".encode()),
        (b"content-length", str(len(whole)).encode()),
    )
    answers = through_guard(
        app,
        f"/_stcore/upload_file/{tab}/{number}",
        *headers,
        method="PUT",
        receive=receive,
        query_string=b"",
    )
    return answers[0]["status"] if answers else kept.file_storage[tab][str(number)]


def test_of_a_tab_the_files_that_came_last_are_kept(kept):
    for number in range(8):
        assert len(send(kept, "a", number, int(MB)).data) == MB
    assert list(kept.file_storage["a"]) == ["6", "7"]
    send(kept, "a", 8, int(2.5 * MB))
    assert list(kept.file_storage["a"]) == ["8"], "with the one before they would be too large"


def test_what_is_refused_is_not_kept_and_words_come_in_its_place(kept):
    for tab in "ab":
        send(kept, tab, 0, int(2.9 * MB))
    refused = send(kept, "c", 0, int(2.9 * MB))
    assert refused.name == "a.csv"
    assert len(refused.data) < 400
    assert "The file of 3 MB was not taken: the server holds 6 MB" in state.refusal(
        SimpleNamespace(type=refused.type, getvalue=lambda: refused.data)
    )
    kept.remove_session_files("a")
    assert len(send(kept, "c", 1, int(2.9 * MB)).data) > MB


def test_a_request_that_does_not_say_how_long_it_is_brings_nothing():
    assert through_guard(None, "/_stcore/upload_file/a/1", method="PUT")[0]["status"] == 411


def test_the_page_tells_why_a_file_was_not_taken():
    app = open_app(widths="1", each="none", degree="0")
    why = "The file of 60 MB was not taken: the server is full."
    app.file_uploader(key="uploader").upload("a.csv", why.encode(), state.REFUSED).run()
    assert why in [reported.value for reported in app.info]
    assert not memory(app).uploads


def test_streamlit_keeps_files_where_they_are_looked_for():
    there = MemoryUploadedFileManager("")
    there.add_file("a", UploadedFileRec("1", "n", "t", b"x"))
    assert there.file_storage["a"]["1"].data == b"x"
    assert private_streamlit._manager() is None or private_streamlit.files() is not None
