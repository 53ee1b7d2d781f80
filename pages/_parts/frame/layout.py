"""Frame, the room around a page: how wide it is, and what stays on one line on a small screen."""

import streamlit as st

# Streamlit keeps 80 pixels free on either side, cuts the menu off at nine pages, and stacks every row of columns on a phone.
STYLE = """<style>
[data-testid="stMainBlockContainer"] { padding-left: 2rem; padding-right: 2rem; }
[data-testid="stTopNavLink"] { gap: 0.25rem; padding-left: 0.375rem; padding-right: 0.375rem; }
.st-key-heading h1 { padding: 0.25rem 0; }
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"] { padding-left: 1rem; padding-right: 1rem; }
  .st-key-heading [data-testid="stHorizontalBlock"] { row-gap: 0; }
  .st-key-heading [data-testid="stColumn"] { flex: 0 1 auto; min-width: 0; width: auto; }
  .st-key-heading [data-testid="stColumn"]:nth-child(-n + 2) { flex: 1 0 100%; }
}
</style>"""


def dress() -> None:
    """Give the page its room; once per run, before anything is drawn."""
    st.html(STYLE)
