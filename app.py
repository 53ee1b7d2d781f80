"""The app: the server imports this file once, before anybody visits; every visit runs it as the
main script.
"""

import streamlit as st

from pages.shared.server import starting

if __name__ == "__main__":
    starting.wait()
    from pages.shared import frame

    frame.draw()
else:
    from starlette.middleware import Middleware

    from pages.shared.server.guard import Guard

    app = st.App(__file__, lifespan=starting.serving, middleware=[Middleware(Guard)])
