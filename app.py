"""The frame of the app: parameters in, menu, one line of progress, the page, and nothing else."""

import streamlit as st

from pages._parts import controls, jobs, model, nav, present, runs, state

nav.frame()
page, room = nav.menu()
state.begin(room.file)
runs.begin()
state.end()
present.frame()
model.follow(state.current())
progress = controls.heading(room.question)
notices = st.container()
with nav.inside():
    page.run()
present.way_out()
# Last, so that what the page has just begun or made obsolete is told in the same run.
with notices:
    controls.notices()
# Each in a place of its own: a fragment of the run before may still write where this run has nothing to show.
with progress, st.container():
    jobs.warm_line()
with progress, st.container():
    jobs.bar()
