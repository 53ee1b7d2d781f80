"""The frame of the app: parameters in, menu, one line of progress, the page, and nothing else."""

import streamlit as st

from pages._parts import controls, jobs, model, nav, state

nav.frame()
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
