"""The frame of the app: parameters in, menu, one line of progress, the page, and nothing else."""

from pathlib import Path

import streamlit as st

from pages._parts import controls, jobs, model, nav, state

ICON = Path(__file__).parent / "pages" / "_parts" / "favicon.svg"

st.set_page_config(page_title="MKL Explorer", page_icon=str(ICON), layout="wide", initial_sidebar_state=264)
page, room = nav.menu()
state.begin(room.file)
state.end()
model.follow(state.current())
progress = controls.heading(room.question)
notices = st.container()
with nav.inside():
    page.run()
# Last, so that what the page has just begun or made obsolete is told in the same run.
with notices:
    controls.notices()
with progress:
    jobs.warm_line()
    jobs.bar()
