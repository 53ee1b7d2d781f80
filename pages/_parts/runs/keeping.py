"""Runs and the session: whose it is, what is kept by itself, and what a link to a run brings back.

The browser remembers one secret, its owner's. The server makes nothing of it but a digest to look up rows by, so a
session sees the runs of its own browser and, through the secret in a link, one run of somebody else.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import streamlit as st

import mklcore
from mklcore import launcher
from mklcore.data.samples import SAMPLES
from mklcore.paths.path import Path
from pages._parts.derive import hulls, paths
from pages._parts.params import algorithms, link, places
from pages._parts.params.parameters import Params
from pages._parts.params.rules import UPLOAD
from pages._parts.runs import results as runs_results
from pages._parts.runs import server
from pages._parts.runs.disk import StoreError, default_home
from pages._parts.runs.results import Results, ResultsError
from pages._parts.runs.secrets import is_secret, link_secret
from pages._parts.runs.store import UNNAMED_DAYS, File, Run, Store
from pages._parts.session import history, nav, uploads
from pages._parts.session.memory import Answered, memory

KEPT_SIGN, NOT_KEPT = "kept", "deleted"
SENTENCES = {
    KEPT_SIGN: f"Kept on the server for {UNNAMED_DAYS} days after its last use, for this browser alone: a reload "
    f"brings it "
    "back. It is not encrypted there.",
    NOT_KEPT: "Deleted from the server. This window shows the file until you close or reload it.",
}
LARGE_BYTES = 20_000_000  # from here on keeping takes long enough to be reported


def store() -> Store:
    """Return the server's kept work."""
    home = default_home()
    return server.runs_in(None if home is None else str(home))


# Whose


def owner() -> str:
    """Return the secret of this session's browser; empty where it has sent none."""
    return memory().kept.owner or ""


def hear(report: object) -> None:
    """Take what the browser remembers: its secret, whether it could be written down, and whether uploads are to be
    kept.
    """
    kept = memory().kept
    if not isinstance(report, Mapping) or report == kept.heard:
        return
    kept.heard = report
    kept.keep_uploads = report.get("keep") is not False
    kept.browser_forgets = report.get("stored") is False
    if is_secret(report.get("key")):
        kept.owner, kept.owner_wanted = report["key"], ""
    elif not kept.keep_uploads and kept.owner_wanted == "upload":
        kept.owner_wanted = ""


def want_owner(purpose: str) -> None:
    """Ask the browser for its secret; it makes one if it has none. ``purpose`` is "upload" or "save"."""
    memory().kept.owner_wanted = purpose


# In every run of the app


def begin() -> None:
    """Bring back what a link or this browser's memory stands for, keep a new upload, and go to an opened run's page."""
    _follow_link()
    _take_table()
    bring_back()
    keep_upload()
    page, memory().next_page = memory().next_page, None
    if page is not None and page != memory().page:
        nav.go(page)


def _follow_link() -> None:
    asked, memory().link.run = memory().link.run, None
    if asked is None:
        return
    secret, alone = asked
    try:
        run, files = store().linked(secret)
    except StoreError as error:
        history.refuse(str(error))
        return
    lay_out(files)
    if alone:
        history.read_again(run.recipe)
    if not store().owns(owner(), run.id):
        memory().kept.borrowed |= {file.source: secret for file in files if file.source.startswith(UPLOAD)}
    show_results(run)


def _take_table() -> None:
    """Take the table that the server was started with, where the link has its secret."""
    secret, memory().link.table = memory().link.table, ""
    if not secret:
        return
    found = launcher.take(secret)
    if found is None:
        history.refuse(
            "The link to the table of the command line works once, and was used. Choose the file on Data, or start "
            "mkl-explorer with it again."
        )
        return
    history.read_again({"data": uploads.keep_upload(*found)})


def lay_out(files: Sequence[File]) -> None:
    """Put files into this session, where the recipe's names for them resolve."""
    for file in files:
        if file.source.startswith(UPLOAD):
            uploads.keep_upload(file.name, file.content)
        else:
            uploads.keep_text(file.content.decode(), longest=0)


def missing(params: Params) -> list[str]:
    """Return the names of uploads and long dictionaries that these parameters need and this session does not hold."""
    held = {*memory().uploads, *memory().tables}
    return [source for source in _sources(params) if source not in held]


def _sources(params: Params) -> list[str]:
    named = ((params.data, UPLOAD), (params.edited, uploads.KEPT))
    return [source for source, start in named if source.startswith(start)]


def bring_back() -> None:
    """Bring back from this browser's kept work what the parameters need and the session lacks."""
    tried = memory().kept.tried
    for source in missing(history.current()):
        if not owner() or source in tried:
            continue
        try:
            file = store().file(owner(), source)
        except StoreError as error:
            history.refuse(str(error))
            file = None
        if file is None:
            tried.add(source)
        else:
            lay_out([file])
            memory().kept.files[source] = KEPT_SIGN


def keep_upload() -> None:
    """Keep what the session holds of the parameters' files for some days, once, if this browser's person lets it."""
    kept, params = memory().kept, history.current()
    done = {*missing(params), *kept.files, *kept.borrowed}
    fresh = [source for source in _sources(params) if source not in done]
    if not fresh or not kept.keep_uploads or default_home() is None:
        return
    if not owner():
        want_owner("upload")
        return
    for source in fresh:
        try:
            file = _file(source)
            with st.spinner("Keeping the file") if len(file.content) > LARGE_BYTES else nullcontext():
                store().keep(owner(), file)
            memory().kept.files[source] = KEPT_SIGN
        except StoreError as error:
            memory().kept.files[source] = str(error)


def _file(source: str) -> File:
    if source.startswith(UPLOAD):
        held = uploads.upload(source)
        return File(source, held.name, held.content)
    return File(source, "dictionary edited by hand", memory().tables[source].encode())


def stop_keeping() -> None:
    """Delete the table in use from the server and keep no more uploads of this browser."""
    memory().kept.keep_uploads = memory().kept.keep_reported = False
    for source in _sources(history.current()):
        try:
            gone = not owner() or store().forget(owner(), source)
            memory().kept.files[source] = (
                NOT_KEPT if gone else "A saved run needs this file, so it stays until that run is deleted."
            )
        except StoreError as error:
            memory().kept.files[source] = str(error)


def go_on_keeping() -> None:
    """Keep uploads of this browser again, the one in use included."""
    memory().kept.keep_uploads = memory().kept.keep_reported = True
    for source in _sources(history.current()):
        memory().kept.files.pop(source, None)
    keep_upload()


def kept_sentence() -> str:
    """Return what becomes of the uploaded table in use; empty where it is none of this session's."""
    params, kept = history.current(), memory().kept
    if not params.is_upload or missing(params):
        return ""
    if params.data in kept.borrowed:
        return "This file came with a link to a saved run. The link brings it back for as long as the run exists."
    if default_home() is None:
        return "This server keeps no files. After a reload it asks for the file again."
    if not kept.keep_uploads:
        return "The file stays in this session. After a reload the page asks for it again."
    sentence = memory().kept.files.get(
        params.data, "The file stays in this session: your browser has sent no secret to keep it under."
    )
    return SENTENCES.get(sentence, sentence)


# Runs


def save(name: str) -> Run:
    """Keep the screen under a name: its recipe, its files and the results on it. Raises ``StoreError``."""
    params, page = history.current(), memory().page
    if missing(params):
        raise StoreError("This screen is about a file that is not here, so there is nothing to save. Upload it first.")
    found, at = subject(params, page)
    content = runs_results.write(found) if found is not None else None
    files = [_file(source) for source in _sources(params)]
    run = store().save(
        owner(),
        name or suggestion(params),
        page,
        link.text(params),
        files,
        _facts(params, found, at),
        content,
    )
    for file in files:
        memory().kept.files[file.source] = KEPT_SIGN
    return run


def suggestion(params: Params) -> str:
    """Return a name for the screen that says what it is about."""
    return f"{table_name(params)}, {_method(params, memory().page)}"


def table_name(params: Params) -> str:
    """Return what a person calls the table in use."""
    if params.data in SAMPLES:
        return SAMPLES[params.data].label
    held = memory().uploads.get(params.data)
    return held.name if held else "a file"


def _method(params: Params, page: str) -> str:
    return hulls.METHOD.label if page == "hulls" else paths.algorithm(params).label


def subject(params: Params, page: str) -> tuple[Results | None, float | None]:
    """Return the results the page shows, if they are known, and where the cursor is."""
    if page == "hulls":
        found = hulls.certified(params).value
        return (None if found is None else Results(found)), params.hull_at
    path = paths.known(params)
    if path is None or None in path.estimators:
        return None, params.at
    here = places.place(path, params.at)
    return Results(path, paths.exact(params, here.value).value if here.exact else None), params.at


def shown_point(results: Results, at: float | None) -> tuple[Path, int]:
    """Return the point of kept results that was on the screen."""
    here = places.place(results.path, at)
    return (results.point, 0) if here.exact and results.point is not None else (results.path, here.index)


def _facts(params: Params, found: Results | None, at: float | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "table": table_name(params),
        "method": _method(params, memory().page),
        "seed": params.seed,
        "mklcore": mklcore.__version__,
    }
    return facts | (runs_results.facts(*shown_point(found, at)) if found is not None else {})


def mine() -> list[Run]:
    """Return the runs of this browser, the latest first."""
    return store().runs(owner()) if owner() else []


def secret(run: Run) -> str:
    """Return the secret of the link to one of this browser's runs."""
    return link_secret(owner(), run.id)


def open_run(run_id: str) -> None:
    """Bring back a run of this browser: files, parameters, results, page. Raises ``StoreError``."""
    run, files = store().run(owner(), run_id)
    lay_out(files)
    for file in files:
        memory().kept.files[file.source] = KEPT_SIGN
    params, refused = link.read(run.recipe)
    history.set_params(params)
    history.refuse(*refused)
    show_results(run)
    memory().next_page = run.page if run.page in {room.file for room in nav.ROOMS} else "data"


def show_results(run: Run) -> None:
    """Show the kept path at once, as the answer that waits for its successor: the models are fitted anew when
    needed.
    """
    params = history.current()
    try:
        content = store().results(run.id)
        found = runs_results.read(content) if content else None
    except (StoreError, ResultsError) as error:
        history.refuse(str(error))
        return
    if found is None or run.page == "hulls" or missing(params) or paths.known(params) is not None:
        return
    memory().answer, memory().notice = Answered(found.path, params), ""


def results(run: Run) -> Results | None:
    """Return the kept results of one of this browser's runs. Raises ``StoreError`` or ``ResultsError``."""
    content = store().results(run.id)
    return None if content is None else runs_results.read(content)


def delete(run_id: str) -> str:
    """Delete a run of this browser and its files; return what happened. Raises ``StoreError``."""
    run, _ = store().run(owner(), run_id)
    staying = store().delete(owner(), run_id)
    for source, _ in run.files:
        if not store().is_kept(owner(), source):
            memory().kept.files[source] = NOT_KEPT
    if staying:
        return f"Deleted. Another run uses {', '.join(staying)}, so that file stays."
    return "Deleted, and its table with it." if run.files else "Deleted."


def when(run: Run) -> str:
    """Return when a run was saved, in the server's time."""
    return time.strftime("%d %b %Y, %H:%M", time.localtime(run.created))


def until(run: Run) -> str:
    """Return until when a run is kept if nobody opens it."""
    return time.strftime("kept until %d %b %Y", time.localtime(run.until))


def differences(first: Run, second: Run) -> list[tuple[str, str, str]]:
    """Return what the recipes of two runs ask for differently, by the names the link uses."""
    usual = {name: algorithms.write(value) for name, value in vars(Params()).items() if name != "settings"}
    return runs_results.differing(first.recipe, second.recipe, usual)


def weights(first: tuple[Results, Run], second: tuple[Results, Run]) -> runs_results.Weights:
    """Return the weights of the points two runs were saved at, kernel by kernel."""
    return runs_results.beside(*(shown_point(found, _at(run)) for found, run in (first, second)))


def _at(run: Run) -> float | None:
    params, _ = link.read(run.recipe)
    return params.hull_at if run.page == "hulls" else params.at
