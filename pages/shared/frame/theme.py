"""Frame, the theme a person looks at: figures carry their colours with them, so they are drawn anew when it changes."""

from pathlib import Path

import streamlit as st

from pages.shared.drawing import charts

_here = Path(__file__).parent
_eye = st.components.v2.component(
    "theme_eye",
    html="<span></span>",
    css=":host { display: none; } span { color: var(--st-background-color); }",
    js=(_here / "theme.js").read_text(encoding="utf-8"),
)


def watch() -> None:
    """Have the browser say so where it shows another theme than the page is drawn for; the whole page then runs
    again.
    """
    _eye(key="theme_eye", data={"dark": charts.is_dark()}, default={"dark": None}, on_dark_change=lambda: None)
