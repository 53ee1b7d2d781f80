"""Runs of a server: its one store per data folder."""

from contextlib import suppress
from pathlib import Path as File

import streamlit as st

from pages._parts.runs.disk import StoreError
from pages._parts.runs.store import Store


@st.cache_resource(max_entries=4, show_spinner=False)
def runs_in(home: str | None) -> Store:
    """Return the kept runs in a folder; unnamed work whose days are over leaves when the server starts."""
    kept = Store(None if home is None else File(home))
    with suppress(StoreError):
        kept.tidy()
    return kept
