"""Lessons: stories about kernels, each in three steps: guess, reveal, why."""

from functools import partial
from urllib.parse import urlencode

import streamlit as st

from mklcore.gallery.lessons import LESSONS, Lesson, lesson_page
from pages.shared.export import files
from pages.shared.session import state
from pages.shared.session.parameters import PLAYGROUND, Params
from pages.shared.widgets import controls, drawing, players

STEPS = {"guess": "Guess", "reveal": "Reveal", "why": "Why"}
ORDER = tuple(STEPS)
KEPT = ("lesson", "lesson_step", "lesson_guess", "present")  # on the way to another page
CARDS = 5  # of the gallery in a row


def gallery() -> None:
    """Draw one card per lesson."""
    st.markdown(
        "**Guess** first, then **reveal** a picture you can drag, then read **why**. The "
        "lessons start with first steps and become harder; each stands on its own, with the "
        "same numbers for everybody."
    )
    with controls.row(border=True):
        st.markdown(
            "**0. Make the truth yourself.** Say by ten bars how much each column "
            "matters, and see which norm finds it."
        )
        st.button(
            "Open",
            key="open_playground",
            on_click=go,
            args=(PLAYGROUND,),
            icon=":material/play_arrow:",
            width="content",
        )
    keys = list(LESSONS)
    for row in range(0, len(keys), CARDS):
        for column, key in zip(
            st.columns(CARDS, gap="small"), keys[row : row + CARDS], strict=False
        ):
            with column.container(border=True, height="stretch"):
                words = LESSONS[key].words
                st.subheader(f"{keys.index(key) + 1}. {words['title']}", anchor=False)
                st.markdown(f":small[:gray[{words['level']}]]  \n{words['line']}")
                st.button(
                    "Open",
                    key=f"open_{key}",
                    on_click=go,
                    args=(key,),
                    icon=":material/play_arrow:",
                )


def go(lesson: str) -> None:
    """Open a lesson at its question, or the gallery for an empty name."""
    state.change(lesson=lesson, lesson_step="guess", lesson_guess="")


def draw(lesson: Lesson, params: Params) -> None:
    """Draw a lesson at its step."""
    texts = lesson.words
    title, steps = st.columns([3, 2], vertical_alignment="center")
    moral = f": {texts['moral']}" if "moral" in texts and params.lesson_step != "guess" else ""
    title.markdown(f"**{texts['title']}{moral}** :small[:gray[  {texts['level']}]]")
    with steps:
        # Every step has a control of its own. A browser that is busy drawing the next step still
        # reports what the control of the last one shows, which must not lead back to it.
        controls.view(
            st.segmented_control,
            "Step",
            f"field_lesson_step_{params.lesson_step}",
            params.lesson_step,
            lambda step: state.change(lesson_step=step or params.lesson_step),
            options=STEPS,
            required=True,
            label_visibility="collapsed",
            width="stretch",
        )
    if params.lesson_step == "guess":
        guess(lesson, params)
    else:
        reveal(lesson, params)
        if params.lesson_step == "why":
            why(lesson, params)
    foot(lesson, params)


def guess(lesson: Lesson, params: Params) -> None:
    """Ask the question."""
    options = lesson.words["options"]
    st.markdown(lesson.said("question"))
    st.markdown(f"**Your guess:** {options.get(params.lesson_guess, 'none yet')}")
    # Buttons and not a radio: keys that lead on to the next step do not reach the page from inside
    # an input.
    for number, (option, label) in enumerate(options.items(), start=1):
        mark = "checked" if option == params.lesson_guess else "unchecked"
        st.button(
            label,
            key=f"guess_{option}",
            icon=f":material/radio_button_{mark}:",
            shortcut=str(number),
            on_click=state.change,
            kwargs={"lesson_guess": option},
        )


def reveal(lesson: Lesson, params: Params) -> None:
    """Say the answer, and draw the picture that leads to it."""
    options = lesson.words["options"]
    answer = lesson.found.answer
    guessed = options.get(params.lesson_guess)
    right = params.lesson_guess == answer
    said = f":blue-badge[:material/check: {'Right' if right else 'The answer'}] {options[answer]}"
    if guessed is not None and not right:
        said = f":gray-badge[:material/radio_button_unchecked: Your guess] {guessed} \u2003 {said}"
    st.markdown(said)
    if drawn := lesson.drawn(dark=drawing.is_dark()):
        players.picture(drawn, f"lesson_{lesson.key}")
    st.markdown(lesson.said("reveal"))


def why(lesson: Lesson, params: Params) -> None:
    """Draw the problem that is solved, why the answer is what it is, and the way on."""
    st.latex(lesson.words["formula"])
    st.markdown(lesson.said("why"))
    look, limits = st.columns(2, gap="large")
    look.markdown(f"**What to look for.** {lesson.said('look')}")
    limits.markdown(f"**What it cannot tell.** {lesson.said('limits')}")
    link = lesson.words["link"]
    st.button(
        link,
        key="open_preset",
        icon=":material/arrow_forward:",
        on_click=leave,
        args=(lesson, params),
    )


def leave(lesson: Lesson, params: Params) -> None:
    """Go on to the lesson's page with its preset loaded; the lesson stays where it is, for the way
    back.
    """
    opens = lesson.words["opens"]
    kept = {name: value for name, value in vars(params).items() if name in KEPT}
    if lesson.found.pair:
        # the two columns the lesson shows
        kept["hull_pair"] = ",".join(str(j + 1) for j in lesson.found.pair)
    state.set_params(Params(**opens["params"], **kept))
    state.memory().next_page = opens["page"]


def all_lessons() -> None:
    """Draw the way back to the list of lessons."""
    st.button(
        "All lessons",
        key="all_lessons",
        icon=":material/apps:",
        on_click=go,
        args=("",),
        type="tertiary",
    )


def foot(lesson: Lesson, params: Params) -> None:
    """Draw the ways on and back, the way to begin again for the next class, its link and its file."""
    at = ORDER.index(params.lesson_step)
    with controls.row():
        all_lessons()
        st.button(
            "Back",
            key="lesson_back",
            icon=":material/arrow_back:",
            disabled=at == 0,
            shortcut="PageUp",
            on_click=step,
            args=(at - 1,),
        )
        if at + 1 < len(ORDER):
            st.button(
                STEPS[ORDER[at + 1]],
                key="lesson_next",
                icon=":material/arrow_forward:",
                shortcut="PageDown",
                on_click=step,
                args=(at + 1,),
                type="primary",
            )
        st.button(
            "Restart for the next class",
            key="lesson_again",
            icon=":material/restart_alt:",
            on_click=go,
            args=(lesson.key,),
            disabled=at == 0 and not params.lesson_guess,
        )
        parts = {"lesson": lesson.key} | ({"present": "yes"} if params.present else {})
        link = f"{(st.context.url or '').split('?')[0]}?{urlencode(parts)}"
        with st.popover(
            "Link", icon=":material/link:", help="A link that opens this lesson at its question"
        ):
            st.code(link, language=None, wrap_lines=True)
            st.caption("It opens the lesson at its question, without a guess.")
        files.button(partial(lesson_page, lesson), f"Lesson {lesson.key}", "Save as a handout")


def step(at: int) -> None:
    """Go to a step."""
    state.change(lesson_step=ORDER[max(0, min(at, len(ORDER) - 1))])


def draw_playground() -> None:
    """Draw lesson 0: no question of ours, but those that a class asks itself. "Guess first" hides
    the answer.
    """
    st.markdown("**Make the truth yourself, and see which norm finds it**")
    players.playground()
    st.markdown(
        "**For a class.** Press *Guess first*, drag a truth and press *Copy link*: "
        "whoever opens the link sees the bars, says which p errs least, and presses "
        "*Reveal*."
    )
    all_lessons()


chosen = state.current()
if chosen.lesson == PLAYGROUND:
    draw_playground()
elif chosen.lesson:
    draw(LESSONS[chosen.lesson], chosen)
else:
    gallery()
