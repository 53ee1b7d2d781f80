"""A page that computes: answers in the visitor's own browser, as a folder of files that any file
server hosts.

The page runs this library in Pyodide, in a worker that is made from a blob, so that it inherits the
policy of the page: the browser itself refuses every connection but to the page's own address and to
the place of Pyodide.
"""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

from mklcore.data.samples import SAMPLES
from mklcore.errors import ParameterError
from mklcore.figures.one_file import Palette, as_json, safe
from mklcore.figures.players import bundle
from mklcore.figures.players import text_of as player_text

PYODIDE = "https://cdn.jsdelivr.net/pyodide/v0.27.7/full/"
FOLDER = "pyodide"
ARCHIVE = "library.zip"
# what the library imports, by Pyodide's names
LOADED = ("numpy", "scipy", "pandas", "scikit-learn")
PURE = ("latex2mathml",)  # what it needs besides, without compiled code
PACKAGE = Path(__file__).resolve().parents[2]
APP = "_app"
RUNTIME = (
    "pyodide.js",
    "pyodide.asm.js",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)
SAMPLE_NAMES = ("iris", "wine", "breast_cancer", "diabetes")


def static_site(directory: str | Path, pyodide: str | Path | None = None) -> Path:
    """A folder of files with which a browser answers tables by itself, without a server.

    Parameters
    ----------
    directory : path
        Folder to write to; it is made where it is missing, and other files in it stay.
    pyodide : path or address or None, default None
        Where Pyodide lies: a folder that holds ``pyodide.js``, which is copied into the site, for
        rooms without a network; or an address, which is used as it is. None is Pyodide's own
        distribution.

    Returns
    -------
    Path
        The page, ``index.html`` in the folder. It has to be opened through a file server, such as
        ``python -m http.server``: browsers start no worker from a file.

    Raises
    ------
    ParameterError
        for a place that is no Pyodide, and a folder that cannot be written
    """
    place = str(pyodide or PYODIDE)
    size = 0
    target = Path(directory)
    address = urlsplit(place)
    try:
        target.mkdir(parents=True, exist_ok=True)
        if address.scheme not in ("http", "https"):
            size = _copied(Path(place), target / FOLDER)
            place = f"{FOLDER}/"
            host = ""
        else:
            place = place.rstrip("/") + "/"
            host = f"{address.scheme}://{address.netloc}"
        (target / ARCHIVE).write_bytes(_archive())
        (target / "worker.js").write_text(_text("worker.js"), encoding="utf-8")
        (target / "index.html").write_text(_page(place, host, size), encoding="utf-8")
    except OSError as error:
        raise ParameterError(
            f"The folder {str(target)!r} cannot be written: {error}. Name another one."
        ) from error
    return target / "index.html"


def _copied(source: Path, target: Path) -> int:
    """Copy what the page needs of Pyodide; returns its bytes.

    ParameterError where something is missing.
    """
    lock = source / "pyodide-lock.json"
    if not (source / "pyodide.js").is_file() or not lock.is_file():
        raise ParameterError(
            f"{str(source)!r} holds no pyodide.js and pyodide-lock.json; expected a folder "
            "with Pyodide, or an address that begins with https://."
        )
    packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    wanted = list(LOADED)
    known = set[str]()
    while wanted:
        if (name := wanted.pop()) in known:
            continue
        known.add(name)
        wanted += packages.get(name, {"depends": ()})["depends"]
    names = [*RUNTIME, *(packages[name]["file_name"] for name in sorted(known) if name in packages)]
    gone = [name for name in LOADED if name not in packages]
    gone += [name for name in names if not (source / name).is_file()]
    if gone:
        raise ParameterError(
            f"The Pyodide in {str(source)!r} lacks {', '.join(gone)}; take one with all packages."
        )
    target.mkdir(exist_ok=True)
    for name in names:
        shutil.copyfile(source / name, target / name)
    return sum((target / name).stat().st_size for name in names)


def _archive() -> bytes:
    """This library and what it needs in pure Python, as they are installed here."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(PACKAGE.rglob("*")):
            inside = file.relative_to(PACKAGE)
            if file.is_file() and "__pycache__" not in inside.parts and inside.parts[0] != APP:
                archive.write(file, Path(PACKAGE.name) / inside)
        for name in PURE:
            try:
                parts = distribution(name).files or ()
            except PackageNotFoundError:
                raise ParameterError(
                    f"The site needs the package {name}: pip install 'mklcore[app]'."
                ) from None
            for part in parts:
                if part.suffix != ".pyc" and ".." not in part.parts:
                    archive.write(Path(str(part.locate())), part)
    return made.getvalue()


def _page(place: str, host: str, size: int) -> str:
    allowed = f"'self' {host}".strip()
    policy = (
        f"default-src 'none'; script-src {allowed} blob: 'unsafe-inline' "
        f"'wasm-unsafe-eval'; connect-src {allowed}; worker-src blob:; style-src "
        "'unsafe-inline'; img-src data:; frame-src 'self'; base-uri 'none'; form-action "
        "'none'"
    )
    elsewhere = f" and to {host}, from where Python comes" if host else ""
    options = "".join(
        f'<option value="{name}">{safe(SAMPLES[name].label)}</option>' for name in SAMPLE_NAMES
    )
    loading = f"Loading Python, once: {size / 1e6:.0f} MB" if size else "Loading Python, once"
    settings = {"pyodide": place, "packages": LOADED, "archive": ARCHIVE, "loading": loading}
    said = {
        "POLICY": policy,
        "STYLE": player_text("shell.css") + Palette().css() + _text("site.css"),
        "PROMISE": (
            "Your table stays in this browser. Nothing of it is sent anywhere: your browser "
            f"itself refuses every connection but to this page's own address{elsewhere}. "
            "Cancel ends the computation and starts Python anew."
        ),
        "SAMPLES": options,
        "SETTINGS": as_json(settings),
        "SCRIPT": f"(() => {{\n{bundle(['playground'])}\n{_text('site.js')}}})();",
    }
    page = _text("index.html")
    for name, text in said.items():
        page = page.replace(f"<!--{name}-->", text)
    return page


def _text(file: str) -> str:
    return files(__name__).joinpath(file).read_text(encoding="utf-8")
