"""Players: the picture of a lesson, led by a slider in the browser; the session remembers where it came to rest."""

from typing import Any

import streamlit as st

from mklcore.figures import players
from pages._parts.session import fields, history
from pages._parts.session.memory import memory

KEY = "lesson_scene"
_scene = st.components.v2.component("lesson_scene", **players.player("lesson")._asdict())


def listen(lesson: str, count: int) -> None:
    """Take the browser's last report about this lesson into the parameters, once, and never beyond the slider's
    ends.
    """
    cursor, report = memory().cursors.lesson, fields.report(KEY)
    if cursor.is_new(report) and report["lesson"] == lesson:
        index = min(max(int(report["index"]), 0), count - 1)
        cursor.said = index
        history.change(lesson_at=index)


def show(lesson: str, drawn: dict[str, Any]) -> None:
    """Draw the scene of a lesson, as ``Scene.drawn`` tells it, at the position the parameters ask for."""
    count = len(drawn["steps"])
    listen(lesson, count)
    asked = history.current().lesson_at
    index = drawn["start"] if asked is None else min(asked, count - 1)
    _scene(
        key=KEY,
        data={
            "lesson": lesson,
            **{name: drawn[name] for name in ("steps", "said", "panels")},
            "index": index,
            "turn": memory().cursors.lesson.turns(lesson, index),
        },
        default={"report": None},
        on_report_change=lambda: None,
    )
