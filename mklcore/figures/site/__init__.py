"""A page that computes in the visitor's browser, as a folder that any file server can host.

The page runs this library in Pyodide, in a worker that is made from a blob, so that the worker
inherits the policy of the page: the browser refuses every connection except to the page's address
and to that of Pyodide.
"""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit

from mklcore.data.samples import SAMPLES
from mklcore.errors import ParameterError
from mklcore.figures.one_file import Palette, as_json, safe
from mklcore.figures.players import bundle, text_of

PYODIDE = "https://cdn.jsdelivr.net/pyodide/v0.27.7/full/"
FOLDER = "pyodide"
ARCHIVE = "library.zip"
LOADED = ("numpy", "scipy", "pandas", "scikit-learn")  # dependencies by Pyodide's names
PURE = ("latex2mathml",)  # other dependencies, in pure Python
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
    """Write a folder of files with which a browser fits and explains tables without a server.

    Parameters
    ----------
    directory : path
        Folder to write to; it is created if it does not exist, and other files in it are kept.
    pyodide : path or address or None, default None
        Where Pyodide is: a folder that holds ``pyodide.js``, which is copied into the site, for
        rooms without a network; or an address, which is used as it is. None is the address of
        Pyodide's distribution.

    Returns
    -------
    Path
        The page, ``index.html`` in the folder. Open it through a file server such as
        ``python -m http.server``, because browsers start no worker from a file.

    Raises
    ------
    ParameterError
        If there is no Pyodide at ``pyodide``, or the folder cannot be written.
    """
    place = str(pyodide or PYODIDE)
    address = urlsplit(place)
    host = f"{address.scheme}://{address.netloc}" if address.scheme in ("http", "https") else ""
    size = 0
    target = Path(directory)
    try:
        target.mkdir(parents=True, exist_ok=True)
        if not host:
            size = _copied(Path(place), target / FOLDER)
            place = FOLDER
        place = place.rstrip("/") + "/"
        (target / ARCHIVE).write_bytes(_archive())
        (target / "worker.js").write_text(text_of("worker.js", __name__), encoding="utf-8")
        (target / "index.html").write_text(_page(place, host, size), encoding="utf-8")
    except OSError as error:
        raise ParameterError(
            f"The folder {str(target)!r} cannot be written: {error}. Name another one."
        ) from error
    return target / "index.html"


def _copied(source: Path, target: Path) -> int:
    """Copy the parts of Pyodide that the page needs, and return their size in bytes.

    Raises ``ParameterError`` where a part is missing.
    """
    lock = source / "pyodide-lock.json"
    if not (source / "pyodide.js").is_file() or not lock.is_file():
        raise ParameterError(
            f"{str(source)!r} holds no pyodide.js and pyodide-lock.json; expected a folder "
            "with Pyodide, or an address that begins with https://."
        )
    packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    needed: list[str] = []
    stack = list(LOADED)
    while stack:
        name = stack.pop()
        if name not in needed:
            needed.append(name)
            stack += packages.get(name, {}).get("depends", ())
    names = list(RUNTIME)
    names += [packages[name]["file_name"] if name in packages else name for name in needed]
    missing = [name for name in names if not (source / name).is_file()]
    if missing:
        raise ParameterError(
            f"The Pyodide in {str(source)!r} lacks {', '.join(missing)}; take one with all "
            "packages."
        )
    target.mkdir(exist_ok=True)
    for name in names:
        shutil.copyfile(source / name, target / name)
    return sum((target / name).stat().st_size for name in names)


def _archive() -> bytes:
    """A ZIP archive of this library and of its pure Python dependencies, as installed here."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(PACKAGE.rglob("*")):
            name = file.relative_to(PACKAGE)
            if file.is_file() and "__pycache__" not in name.parts and name.parts[0] != APP:
                archive.write(file, Path(PACKAGE.name) / name)
        for package in PURE:
            try:
                parts = distribution(package).files or ()
            except PackageNotFoundError:
                raise ParameterError(
                    f"The site needs the package {package}: pip install 'mklcore[app]'."
                ) from None
            for part in parts:
                if part.suffix != ".pyc" and ".." not in part.parts:
                    archive.write(Path(str(part.locate())), part)
    return data.getvalue()


def _page(place: str, host: str, size: int) -> str:
    allowed = f"'self' {host}".strip()
    policy = (
        f"default-src 'none'; script-src {allowed} blob: 'unsafe-inline' "
        f"'wasm-unsafe-eval'; connect-src {allowed}; worker-src blob:; style-src "
        "'unsafe-inline'; img-src data:; frame-src 'self'; base-uri 'none'; form-action "
        "'none'"
    )
    elsewhere = f" and to {host}, which serves Python" if host else ""
    options = ""
    for name in SAMPLE_NAMES:
        options += f'<option value="{name}">{safe(SAMPLES[name].label)}</option>'
    loading = f"Loading Python, once: {size / 1e6:.0f} MB" if size else "Loading Python, once"
    settings = {"pyodide": place, "packages": LOADED, "archive": ARCHIVE, "loading": loading}
    parts = {
        "POLICY": policy,
        "STYLE": text_of("shell.css") + Palette().css() + text_of("site.css", __name__),
        "PROMISE": (
            "Your table stays in this browser. Nothing of it is sent anywhere: your browser "
            f"refuses every connection except to this page's address{elsewhere}. "
            "Cancel stops the computation and restarts Python."
        ),
        "SAMPLES": options,
        "SETTINGS": as_json(settings),
        "SCRIPT": f"(() => {{\n{bundle(['playground'])}\n{text_of('site.js', __name__)}}})();",
    }
    page = text_of("index.html", __name__)
    for name, text in parts.items():
        page = page.replace(f"<!--{name}-->", text)
    return page
