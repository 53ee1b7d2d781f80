"""Lessons: their words, the work behind them, and the three steps guess, reveal and why."""

from functools import partial
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from mklcore.figures.thumbnails import thumbnail
from mklcore.lessons import LESSONS, Lesson, pictures
from mklcore.lessons.words import Words, fill
from mklcore.lessons.words import words as words_of
from pages._parts.derive import caches, earlier
from pages._parts.drawing import asking, charts
from pages._parts.export import explorable
from pages._parts.jobs.job import Job, Piece
from pages._parts.params.parameters import Params
from pages._parts.players import scene
from pages._parts.session import board, fields, history
from pages._parts.session.memory import memory

STEPS = {"guess": "Guess", "reveal": "Reveal", "why": "Why"}
ORDER = tuple(STEPS)
KEPT = ("lesson", "lesson_step", "lesson_guess", "lesson_at", "present")  # on the way to another page
CARDS = 5  # of the gallery in a row
GALLERY = "lessons"  # key of the job that computes all lessons
_bare = {"recipe": "builders", "widths": 0, "linear": False, "degree": 0, "each": "none", "look": "path"}
_one_per_feature = _bare | {"each": "linear"}
_one_per_band = _bare | {"data": "spectra", "groups": True, "group_kernels": "linear"}
# Where each lesson goes on: a page, and what is loaded there.
OPENS: dict[str, tuple[str, dict[str, Any]]] = {
    "sparse": ("explore", _one_per_feature | {"data": "mkl_toy_sparse", "algorithm": "lp", "path": "p"}),
    "dense": ("compare", {"compare": "toy"}),
    "copies": ("theory", {"theory": "duplicates"}),
    "prices": ("explore", _one_per_feature | {"data": "mkl_toy", "algorithm": "gomp", "path": "lam"}),
    "hull": ("hulls", {"data": "sparse_polynomial"}),
    "bands": ("explore", _one_per_band | {"algorithm": "smkl"}),
    "letters": ("experiments", {"experiment": "lp_fig4_fig5"}),
    "edge": ("explore", _one_per_band | {"algorithm": "lp"}),
    "landmarks": ("explore", _bare | {"data": "digits", "widths": 4}),
    "greedy": ("theory", {"theory": "recovery"}),
}


# Words


def words(key: str) -> Words:
    """Return the words of one lesson."""
    return words_of(LESSONS[key])


# Work


def key(lesson: str) -> tuple[str, str]:
    """Return the name of a lesson's result in the cache."""
    return "lesson", lesson


def story(lesson: str) -> Any:
    """Return what a lesson found if it has been computed here, or earlier: a lesson has no settings to compute it
    with.
    """
    return caches.lessons().get(key(lesson)) or earlier.story(lesson)


def _piece(lesson: Lesson) -> Piece:
    """Return the piece of work that computes one lesson; the result is everybody's."""
    result_cache, name = caches.lessons(), key(lesson.key)
    make = lambda report: lesson.compute(report.tick)  # noqa: E731
    return Piece(make, partial(result_cache.put, name), lesson.pieces, name=name, there=partial(result_cache.get, name))


def ask(lesson: Lesson) -> None:
    """Have the worker compute one lesson."""
    title = f"Lesson: {words(lesson.key).title}"
    board.ask(Job(key(lesson.key), title, (_piece(lesson),), lambda now: now.lesson == lesson.key))


def ask_all() -> None:
    """Have the worker for long work compute every lesson, unless something is under way there already."""
    missing = [lesson for lesson in LESSONS.values() if story(lesson.key) is None]
    busy = board.held("long")
    if not missing or (busy is not None and (busy.live or busy.job.key == GALLERY)):
        return
    board.ask(Job(GALLERY, "Lessons", tuple(map(_piece, missing)), slot="long", asked=False))


def request(lesson: Lesson) -> None:
    """See to it that a lesson is there or on its way; say so where it stopped."""
    if story(lesson.key) is None:
        asking.offer(
            key(lesson.key), lambda: ask(lesson),
            work="The lesson",
            label="Compute the lesson", button="compute_lesson", primary=False,
        )  # fmt: skip


# Gallery


def gallery() -> None:
    """Draw one card per lesson."""
    st.markdown(
        "**Guess** first, then **reveal** a picture you can drag, then read **why**. All figures are computed from "
        "a fixed seed."
    )
    keys = list(LESSONS)
    for row in range(0, len(keys), CARDS):
        for column, lesson in zip(st.columns(CARDS, gap="small"), keys[row : row + CARDS], strict=False):
            with column.container(border=True, height="stretch"):
                _card(lesson)
    ask_all()


def _card(lesson: str) -> None:
    said = words(lesson)
    _thumbnail(lesson, said)
    st.subheader(said.title, anchor=False)
    st.markdown(f":small[:gray[{said.level}]]  \n{said.line}")
    st.button("Open", key=f"open_{lesson}", on_click=go, args=(lesson,), icon=":material/play_arrow:")


def _thumbnail(lesson: str, said: Words) -> None:
    """Draw a small picture of what the lesson shows, where it is there already."""
    found = story(lesson)
    if found is None or lesson not in pictures.PICTURES:
        return
    drawn = _scene(lesson, found, charts.is_dark())
    svg = thumbnail(drawn["panels"][0], drawn["start"])
    st.image(svg, width="stretch", alt=f"Small picture of the lesson {said.title}")


def go(lesson: str) -> None:
    """Open a lesson at its question, or the gallery for an empty name."""
    history.change(lesson=lesson, lesson_step="guess", lesson_guess="", lesson_at=None)


# One lesson


def lesson() -> None:
    """Draw the lesson the parameters ask for, at its step."""
    params = history.current()
    here, said = LESSONS[params.lesson], words(params.lesson)
    _head(params, said)
    request(here)
    found = story(params.lesson)
    if params.lesson_step == "guess":
        _guess(params, here, said)
    elif found is None:
        st.info("The picture is being computed; its progress is shown beside the title.")
    else:
        facts = here.given | found.facts
        _reveal(params, said, found, facts)
        if params.lesson_step == "why":
            _why(params, said, facts)
    _foot(params, said, found)


def _head(params: Params, said: Words) -> None:
    title, steps = st.columns([3, 2], vertical_alignment="center")
    moral = f": {said.moral}" if said.moral and params.lesson_step != "guess" else ""
    title.markdown(f"**{said.title}{moral}** :small[:gray[  {said.level}]]")
    with steps:
        fields.view(
            st.segmented_control, "Step", "field_lesson_step", params.lesson_step,
            lambda step: history.change(lesson_step=step or params.lesson_step),
            options=STEPS, required=True, label_visibility="collapsed",
            width="stretch",
        )  # fmt: skip


def _guess(params: Params, here: Lesson, said: Words) -> None:
    st.markdown(fill(said.question, here.given))
    chosen = said.options.get(params.lesson_guess)
    st.markdown(f"**Your guess:** {chosen or 'none yet'}")
    # Buttons and not a radio: keys that lead on to the next step do not reach the page from inside an input.
    for number, (option, label) in enumerate(said.options.items(), start=1):
        mark = "checked" if option == params.lesson_guess else "unchecked"
        st.button(
            label, key=f"guess_{option}", icon=f":material/radio_button_{mark}:", shortcut=str(number),
            on_click=history.change, kwargs={"lesson_guess": option},
        )  # fmt: skip


def _reveal(params: Params, said: Words, found: Any, facts: dict[str, str]) -> None:
    guess, right = said.options.get(params.lesson_guess), said.options[found.answer]
    answer = f":blue-badge[:material/check: {'Right' if params.lesson_guess == found.answer else 'The answer'}] {right}"
    if guess is not None and params.lesson_guess != found.answer:
        answer = f":gray-badge[:material/radio_button_unchecked: Your guess] {guess} \u2003 {answer}"
    st.markdown(answer)
    picture(params.lesson, found)
    st.markdown(fill(said.parts["reveal"], facts))
    short = facts.get("short", "0")
    if short != "0":
        st.caption(f"{short} of the {facts['machines']} models behind this picture did not reach the tolerance.")


@st.fragment
def picture(lesson: str, found: Any) -> None:
    """Draw the scene of a lesson; a release of its slider runs only this."""
    dark = charts.is_dark()
    if lesson not in pictures.PICTURES:
        own = LESSONS[lesson].picture
        if own is not None:
            charts.show(own(found, dark), f"lesson_{lesson}")
        return
    scene.show(lesson, _scene(lesson, found, dark))
    history.end()


def _scene(lesson: str, found: Any, dark: bool) -> dict[str, Any]:
    """Return the picture of a lesson as its player draws it, made once."""
    if isinstance(found, earlier.Story):
        drawn: dict[str, Any] = found.scenes["dark" if dark else "light"]
        return drawn
    make = pictures.PICTURES[lesson]
    return caches.lessons().made(("scene", lesson, dark), lambda: make(found, dark).drawn())


def _why(params: Params, said: Words, facts: dict[str, str]) -> None:
    st.latex(said.parts["formula"])
    st.markdown(fill(said.parts["why"], facts))
    look, limits = st.columns(2, gap="large")
    look.markdown(f"**What to look for.** {fill(said.parts['look'], facts)}")
    limits.markdown(f"**What it cannot tell.** {fill(said.parts['limits'], facts)}")
    st.button(said.parts["link"], key="open_preset", icon=":material/arrow_forward:", on_click=_leave, args=(params,))


def _leave(params: Params) -> None:
    """Go on to the lesson's page with its preset loaded; the lesson stays where it is, for the way back."""
    page, own = LESSONS[params.lesson].opens
    page, preset = OPENS.get(params.lesson, (page, dict(own)))
    kept = {name: value for name, value in vars(params).items() if name in KEPT}
    found = story(params.lesson)
    if params.lesson == "hull" and found is not None:
        kept["hull_pair"] = ",".join(str(j + 1) for j in found.pair)  # the two columns the lesson shows
    history.set_params(Params(**preset, **kept))
    memory().next_page = page


def _foot(params: Params, said: Words, found: Any) -> None:
    """Draw the ways on and back, the way to begin again for the next class, and its link."""
    at = ORDER.index(params.lesson_step)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            "All lessons", key="all_lessons", icon=":material/apps:", on_click=go, args=("",), type="tertiary"
        )  # fmt: skip
        st.button(
            "Back", key="lesson_back", icon=":material/arrow_back:", disabled=at == 0, shortcut="PageUp",
            on_click=_step, args=(at - 1,),
        )  # fmt: skip
        if at + 1 < len(ORDER):
            st.button(
                STEPS[ORDER[at + 1]], key="lesson_next", icon=":material/arrow_forward:", shortcut="PageDown",
                on_click=_step, args=(at + 1,), type="primary", disabled=found is None and at > 0,
            )  # fmt: skip
        st.button(
            "Restart for the next class", key="lesson_again", icon=":material/restart_alt:", on_click=go,
            args=(params.lesson,), disabled=at == 0 and not params.lesson_guess,
        )  # fmt: skip
        with st.popover("Link", icon=":material/link:", help="A link that opens this lesson at its question"):
            st.code(reset_link(params), language=None, wrap_lines=True)
            st.caption("It opens the lesson at its question, without a guess.")
        if found is not None and params.lesson in pictures.PICTURES:
            here = params.lesson
            explorable.lesson(LESSONS[here], found, lambda dark: _scene(here, found, dark), reset_link(params))


def _step(at: int) -> None:
    history.change(lesson_step=ORDER[max(0, min(at, len(ORDER) - 1))])


def reset_link(params: Params) -> str:
    """Return the link that opens the lesson at its question."""
    parts = {"lesson": params.lesson} | ({"present": "yes"} if params.present else {})
    return f"{(st.context.url or '').split('?')[0]}?{urlencode(parts)}"
