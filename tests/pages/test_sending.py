"""What a page draws reaches the browser in order, many elements at a time, and the end of a run
waits for nothing.
"""

import asyncio
from types import SimpleNamespace

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import websocket_session_manager
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.scriptrunner import ScriptRunnerEvent

from pages.shared.server import starting

ELEMENTS = 30
STARTED = ScriptRunnerEvent.SCRIPT_STARTED
STOPPED = ScriptRunnerEvent.SCRIPT_STOPPED_WITH_SUCCESS


@pytest.fixture
def session(monkeypatch):
    """A session without a server, the run it listens to, and what it takes: events, and how many
    elements at once.
    """
    monkeypatch.setattr(AppSession, "__init__", lambda self: None)
    found = starting.GatheringSession()
    found.taken = []
    found._state = AppSessionState.SHUTDOWN_REQUESTED
    found._scriptrunner = object()
    found._browser_queue = ForwardMsgQueue()
    found._message_enqueued_callback = lambda: found.taken.append(len(found._browser_queue))

    real = AppSession._handle_scriptrunner_event_on_event_loop

    def handled(self, sender, event, *reported, **named):
        if event == ScriptRunnerEvent.ENQUEUE_FORWARD_MSG:
            real(self, sender, event, *reported, **named)
        else:
            self.taken.append((event, numbers(self)))

    monkeypatch.setattr(AppSession, "_handle_scriptrunner_event_on_event_loop", handled)
    return found


def draw(session, run, *reported):
    """Draw as a run does, in a thread of its own."""
    for one in reported:
        if isinstance(one, ScriptRunnerEvent):
            session._on_scriptrunner_event(run, one)
            continue
        message = ForwardMsg()
        message.page_info_changed.query_string = str(one)
        session._on_scriptrunner_event(
            run, ScriptRunnerEvent.ENQUEUE_FORWARD_MSG, forward_msg=message
        )


def numbers(session):
    return [
        int(message.page_info_changed.query_string) for message in session._browser_queue.flush()
    ]


def test_elements_come_together_between_the_start_and_the_end_of_their_run(session, monkeypatch):
    # nothing but start and end bring them
    monkeypatch.setattr(starting, "GATHERED_SECONDS", 3600.0)

    async def lesson():
        session._event_loop = asyncio.get_running_loop()
        # nobody looks meanwhile
        draw(session, session._scriptrunner, 0, STARTED, *range(1, ELEMENTS), STOPPED)
        await asyncio.sleep(0)

    asyncio.run(lesson())
    assert session.taken == [(STARTED, [0]), (STOPPED, list(range(1, ELEMENTS))), 0]


def test_the_handler_of_streamlit_receives_everything_as_it_was_reported_and_a_failure_holds_up_nothing(
    session, monkeypatch
):
    monkeypatch.undo()
    monkeypatch.setattr(starting, "GATHERED_SECONDS", 3600.0)
    monkeypatch.setattr(AppSession, "request_rerun", lambda self, _: self.taken.append("rerun"))
    session._local_sources_watcher = None
    failed = []

    async def lesson():
        session._event_loop, run = asyncio.get_running_loop(), session._scriptrunner
        session._event_loop.set_exception_handler(
            lambda _, reported: failed.append(str(reported["exception"]))
        )
        draw(session, run, 0)
        session._on_scriptrunner_event(run, STARTED)  # without its page
        # by its place
        session._on_scriptrunner_event(run, ScriptRunnerEvent.ENQUEUE_FORWARD_MSG, ForwardMsg())
        draw(session, run, STOPPED)
        session.request_rerun(None)

    asyncio.run(lesson())
    assert session.taken == [3, "rerun"]
    assert session._browser_queue.flush()[-1].script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
    assert len(failed) == 1
    assert "page_script_hash must be set" in failed[0]


def test_a_rerun_asked_for_from_another_thread_takes_nothing_there(session, monkeypatch):
    monkeypatch.setattr(AppSession, "request_rerun", lambda self, _: self.taken.append("rerun"))
    session._event_loop = SimpleNamespace(call_soon_threadsafe=lambda _: None)
    draw(session, session._scriptrunner, 0)
    session.request_rerun(None)
    assert (session.taken, len(session._pending)) == (["rerun"], 1)


def test_what_is_drawn_before_a_long_wait_is_seen_without_the_end(session, monkeypatch):
    monkeypatch.setattr(starting, "GATHERED_SECONDS", 0.0)

    async def lesson():
        session._event_loop = asyncio.get_running_loop()
        for k in range(2):  # the second asks for a look of its own
            await asyncio.to_thread(draw, session, session._scriptrunner, 2 * k, 2 * k + 1)
            while len(session._browser_queue) < 2 * k + 2:
                await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(lesson(), 60))
    assert numbers(session) == [0, 1, 2, 3]


@pytest.mark.parametrize("replace", ["request_rerun", "_create_scriptrunner"])
def test_a_replaced_run_is_heard_until_then(replace, session, monkeypatch):
    """Streamlit forgets a run when it begins the next one, and its events with it."""
    monkeypatch.setattr(starting, "GATHERED_SECONDS", 3600.0)
    monkeypatch.setattr(
        AppSession, replace, lambda self, _: setattr(self, "_scriptrunner", object())
    )

    async def lesson():
        session._event_loop, before = asyncio.get_running_loop(), session._scriptrunner
        draw(session, before, 0, 1)
        getattr(session, replace)(None)
        draw(session, before, 2, 3)
        draw(session, session._scriptrunner, 4, STOPPED)
        await asyncio.sleep(0)

    asyncio.run(lesson())
    assert session.taken == [2, (STOPPED, [0, 1, 4]), 0]


def test_streamlit_begins_such_sessions_and_calls_what_they_change(monkeypatch):
    monkeypatch.setattr(websocket_session_manager, "AppSession", AppSession)
    starting.gather()
    assert websocket_session_manager.AppSession is starting.GatheringSession
    assert (
        "AppSession"
        in websocket_session_manager.WebsocketSessionManager.connect_session.__code__.co_names
    )
    assert "_on_scriptrunner_event" in AppSession._create_scriptrunner.__code__.co_names
    assert "request_rerun" in AppSession._handle_rerun_script_request.__code__.co_names
