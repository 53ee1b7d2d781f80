"""Frame, the room around a page: how wide it is, and what stays on one line on a small screen."""

import streamlit as st

# Type has four sizes: 1.1875 rem for the title of the page, 1 rem for headings and text, 0.875 rem for controls and
# captions, 0.75 rem inside figures. Formulas have the size of the text around them; KaTeX makes them a fifth larger.
# Streamlit keeps 80 pixels free on either side, cuts the menu off at nine pages, and stacks every row of columns on a
# phone. What follows a cursor runs in a part of its own: its slider is brought before the columns, and on a phone
# before everything, while figures of several methods are scrolled sideways there. White text needs a darker blue than
# blue text on dark paper does: primary buttons have one of their own. The heading stays as tall as its
# title: what is in progress is one line beside it, and gives way to it.
STYLE = """<style>
[data-testid="stMainBlockContainer"] { padding-left: 2rem; padding-right: 2rem; }
.katex { font-size: 1em; }
[data-testid="stMarkdownContainer"] :not(.katex-display) > .katex { display: inline-block; }
.katex-display > .katex { font-size: 1.0625em; }
.katex-display { overflow-x: auto; overflow-y: hidden; padding: 2px 0; }
[data-testid="stTopNavLink"] { gap: 0.25rem; padding-left: 0.375rem; padding-right: 0.375rem; }
.st-key-heading h1 { padding: 0.25rem 0; }
.st-key-heading [data-testid="stColumn"]:nth-child(2) > * { max-height: 2.5rem; }
.st-key-progress:has(button) .st-key-compiling { display: none; }
.st-key-heading [data-testid="stProgress"] { display: flex; flex-direction: column; }
.st-key-heading [data-testid="stProgress"] p { font-size: 0.875rem; line-height: 1.25; }
.st-key-heading [data-testid="stHeading"] [data-testid="stMarkdownContainer"] { margin-bottom: 0; }
.st-key-heading [data-testid="stProgress"] p { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
[data-testid="stBaseButton-primary"] { background: #0072B2; border-color: #0072B2; color: #FFFFFF; }
[data-testid="stBaseButton-primary"] * { opacity: 1; }
[data-testid="stMultiSelect"] [data-tag] { background: #0072B2; color: #FFFFFF; }
[data-testid="stFileUploaderDropzoneInstructions"] * { white-space: normal; }
[data-testid="stSidebar"] [data-testid="stButtonGroup"] button { padding-left: 0.5rem; padding-right: 0.5rem; }
.st-key-theme_eye { flex: none; width: 0; }
.st-key-heading [data-testid="stColumn"] { flex-grow: 0; }
.st-key-heading [data-testid="stHorizontalBlock"] { flex-wrap: nowrap; }
.st-key-heading [data-testid="stColumn"]:first-child { flex: 1 0 max-content; width: auto; min-width: 0; }
.st-key-heading [data-testid="stColumn"]:nth-child(2) { flex: 0 1 24rem; width: auto; min-width: 0; }
.st-key-heading [data-testid="stColumn"]:nth-child(2):not(:has([role="progressbar"], button)) { flex-basis: 0; }
.st-key-heading [data-testid="stColumn"] [data-testid="stColumn"]:first-child { flex: 1 1 0; }
.st-key-heading [data-testid="stColumn"] [data-testid="stColumn"]:last-child { flex: none; }
[data-testid="stLayoutWrapper"]:has(> [data-testid="stVerticalBlock"] > * > .st-key-explore_cursor),
[data-testid="stVerticalBlock"]:has(> * > .st-key-explore_cursor) { display: contents; }
@media (min-width: 1800px) {
  .st-key-present button::after { content: "Present to a class"; margin-left: 0.5rem; white-space: nowrap; }
  .st-key-heading [data-testid="stColumn"]:nth-child(3) { flex: none; width: auto; }
}
@media (max-width: 1360px) {
  [data-testid="stTopNavLink"] > span:first-child:not(:last-child) { display: none; }
}
@media (max-width: 1100px) {
  [data-testid="stTopNav"] + div { flex: none; width: auto; min-width: 0; }
  [data-testid="stTopNavLink"] { font-size: 0.875rem; padding-left: 0.25rem; padding-right: 0.25rem; }
  [data-testid="stSidebar"][aria-expanded="true"] { min-width: 208px; max-width: 208px; }
  [data-testid="stSidebar"] [data-testid="stButtonGroup"] button { padding-left: 0.25rem; padding-right: 0.25rem; }
}
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"] { padding-left: 1rem; padding-right: 1rem; }
  .st-key-heading [data-testid="stHorizontalBlock"] { flex-wrap: wrap; row-gap: 0; }
  .katex-display > .katex { white-space: normal; }
  .st-key-explore_looks { column-gap: 0; }
  .st-key-heading [data-testid="stColumn"] { flex: 0 1 auto; min-width: 0; width: auto; }
  .st-key-heading [data-testid="stColumn"]:nth-child(-n + 2) { flex: 1 0 100%; }
  .st-key-heading [data-testid="stColumn"]:nth-child(2) > * { max-height: none; }
  .st-key-present, .st-key-explore_looks > :has([data-testid="stCaptionContainer"]) { display: none; }
  [data-testid="stHorizontalBlock"] { row-gap: 1rem; }
  .st-key-samples [data-testid="stColumn"] { flex: 1 1 40%; min-width: 0; }
  .st-key-samples button p { white-space: normal; }
  [data-testid="stButtonGroup"], [data-testid="stButtonGroup"] div { flex-wrap: wrap; overflow: visible; mask: none; }
  [data-testid="stButtonGroup"] button { padding-left: 0.5rem; padding-right: 0.5rem; }
  [data-testid="stSidebar"][aria-expanded="true"] { min-width: 264px; max-width: 100%; }
  .st-key-explore_cursor [data-testid="stColumn"]:last-child { order: -1; }
  .st-key-compare_figure { overflow-x: auto; }
  .st-key-compare_figure > * { min-width: 46rem; }
  [data-testid="stColumn"]:has(.st-key-predict_answer) { order: -1; }
}
</style>"""


def dress() -> None:
    """Give the page its room; once per run, before anything is drawn."""
    st.html(STYLE)
