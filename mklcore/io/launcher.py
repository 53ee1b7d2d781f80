"""The command ``mkl-explorer``.

    mkl-explorer [FILE] [--port N] [--home DIR] [--open | --no-open]

starts the app, a Streamlit server, on this machine. With a FILE the browser opens on the page
Explore, which shows that table.

    mkl-explorer FILE --out PAGE.html [--target COLUMN] [--row-groups COLUMN]

starts no server. It computes the answer for the table, writes it as one HTML page and prints the
verdict.

    mkl-explorer --static DIR [--pyodide PLACE]

starts no server either. It writes a page that runs the library in the browser, by Pyodide.

How FILE reaches the browser: the command reads and checks the file before the server starts, and
keeps its bytes in this process under a random secret (``hand_over``). The first link that the
browser opens contains the secret (``first_page``). The app exchanges it for the table (``take``).
Each secret works once, so nobody else who can reach the server gets the table.
"""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from mklcore.errors import DataError, MKLError, ParameterError

HOME = "MKL_EXPLORER_HOME"
# The environment variable with the host names under which other machines may reach the server. If
# it is set, the server listens on every address.
HOSTS = "MKL_EXPLORER_HOSTS"
ADDRESS_VARIABLE = "STREAMLIT_SERVER_ADDRESS"
SHOWN_ADDRESS_VARIABLE = "STREAMLIT_BROWSER_SERVER_ADDRESS"
TABLE_PART = "table"  # the query parameter of a link that holds the secret
# name and bytes of each table that no browser has fetched yet, by its secret
_waiting: dict[str, tuple[str, bytes]] = {}
_lock = threading.Lock()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, by default those of the process.

    Returns the exit code: 2 for an error, whose message is printed to standard error.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.pyodide is not None and given.static is None:
        parser.error(
            "--pyodide names where Pyodide is, for the page that --static writes: name the "
            "folder of that page with --static"
        )
    try:
        if given.static is not None:
            return _write_site(given.static, given.pyodide)
        if given.out is not None:
            print(_write_answer(given.file, given.out, given.target, given.row_groups))
            return 0
        if given.target is not None or given.row_groups is not None:
            raise ParameterError(
                "--target and --row-groups say how a page is written: name it with --out PAGE.html."
            )
        script = app()
        _check_packages()
        if given.port is not None:
            _check_port(given.port)
        if given.home is not None:
            os.environ[HOME] = _make_home(given.home)
        if given.file is not None:
            hand_over(Path(given.file))
    except MKLError as error:
        print(f"mkl-explorer: {error}", file=sys.stderr)
        return 2
    return _serve(script, given.port, given.open)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mkl-explorer",
        description="Start MKL Explorer, the dashboard over mklcore, on this machine. Ctrl-C "
        "ends it.",
        epilog=(
            f"Environment: {HOME} names the folder for kept tables, {HOSTS} the names under "
            "which other machines may reach the server."
        ),
    )
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a table (CSV, TSV, Excel, Parquet) or a stack of "
        "Gram matrices (.npz) on which Explore opens",
    )
    parser.add_argument(
        "--port",
        type=int,
        metavar="N",
        help="port to listen on (default: the first free one from 8501 on)",
    )
    parser.add_argument(
        "--out", metavar="PAGE", help="write the answer of FILE as one HTML page, and end"
    )
    parser.add_argument(
        "--target", metavar="COLUMN", help="with --out: the column to predict (default: found)"
    )
    parser.add_argument(
        "--row-groups",
        metavar="COLUMN",
        help="with --out: the column that says which rows belong together",
    )
    parser.add_argument(
        "--home",
        metavar="DIR",
        help="folder for tables and runs of experiments; 'off' keeps nothing",
    )
    parser.add_argument(
        "--open",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="open a browser (default: where there is a display)",
    )
    parser.add_argument(
        "--static",
        metavar="DIR",
        help="write a page that answers tables in the browser, without a server, and end",
    )
    parser.add_argument(
        "--pyodide",
        metavar="PLACE",
        help=(
            "where its Pyodide lies: a folder that holds pyodide.js, which is copied, or an address"
        ),
    )
    return parser


def _write_site(directory: str, pyodide: str | None) -> int:
    """Write the page that needs no server into ``directory``, and print how to open it."""
    page = import_module("mklcore.figures").static_site(directory, pyodide)
    print(
        f"{page} is written. To view it, run: python -m http.server --directory {str(page.parent)!r}"
    )
    return 0


def _write_answer(
    table: str | None,
    page: str,
    target: str | None,
    row_groups: str | None,
) -> str:
    """Compute the answer for the file ``table``, write it to the file ``page`` as HTML, and return
    the verdict as a sentence.

    Raises ParameterError if no table is named, and DataError if the table cannot be read or the
    page cannot be written.
    """
    if table is None:
        raise ParameterError(
            "Name the table whose answer is to be written: mkl-explorer TABLE.csv --out PAGE.html."
        )
    # Imported by name, because `io` stands below `answer` in the order of packages.
    explore = import_module("mklcore.answer.explore").explore
    found = explore(Path(table), target, row_groups=row_groups)
    try:
        Path(page).write_text(found.page(), encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"The page {page[:200]!r} cannot be written: {error.strerror or error}."
        ) from None
    return str(found.verdict)


def app() -> Path:
    """Find ``app.py``, the script that Streamlit runs.

    An installed package contains it in ``mklcore/_app``; in a checkout it lies beside the package.
    Raises ParameterError if it is in neither place.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_app", package.parent):
        if (folder / "app.py").is_file() and (folder / "pages" / "shared").is_dir():
            return folder / "app.py"
    raise ParameterError(
        "This copy of mklcore holds no app; install it again: pip install 'mklcore[app]'."
    )


def _check_packages() -> None:
    """Raise ParameterError if a package that only the app needs is not installed."""
    missing = [name for name in ("streamlit", "plotly", "nbformat") if find_spec(name) is None]
    if missing:
        raise ParameterError(
            f"The app needs {', '.join(missing)}, not installed here: pip install 'mklcore[app]'."
        )


def _check_port(port: int) -> None:
    """Raise ParameterError if the server could not listen on ``port``, found out by listening."""
    if not 0 < port < 65536:
        raise ParameterError(f"The port is {port}; expected 1 to 65535.")
    with socket.socket() as probe:
        # On Windows this option would allow us to take a port that another program uses.
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise ParameterError(
                f"The port {port} cannot be used ({error.strerror}): another program may "
                "listen there. Name another one with --port, or leave it out to take a "
                "free one."
            ) from None


def _make_home(named: str) -> str:
    """Create the folder in which the app saves files, and return its absolute path.

    The word "off" stands for no folder and is returned in lower case. Raises ParameterError if the
    folder cannot be created.
    """
    if named.lower() == "off":
        return "off"
    folder = Path(named).expanduser().absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(
            f"The folder {str(folder)!r} cannot be made ({error.strerror}); name another one."
        ) from None
    return str(folder)


# The table on the command line: from the command to the browser


def hand_over(path: Path) -> str:
    """Read and check a file as if it were uploaded, keep its bytes, and return a new secret.

    ``take`` returns the bytes for this secret. Raises DataError if the file is neither a table nor
    a stack of Gram matrices, or is too large.
    """
    content = _content(path)
    secret = secrets.token_urlsafe(32)
    with _lock:
        _waiting[secret] = path.name, content
    return secret


def _content(path: Path) -> bytes:
    """The bytes of a file, once it is known to be a table or a stack of Gram matrices."""
    from mklcore.data.columns import MAX_BYTES  # not at start-up
    from mklcore.data.reading import describe_table  # not at start-up
    from mklcore.kernels import stacks  # not at start-up

    try:
        with path.open("rb") as file:
            content = file.read(int(stacks.MAX_FILE_MB * 1e6) + 1)
    except (OSError, ValueError) as error:
        raise DataError(
            f"The file {str(path)[:200]!r} cannot be opened: "
            f"{getattr(error, 'strerror', None) or error}."
        ) from None
    if stacks.is_stack(content):
        if len(content) > stacks.MAX_FILE_MB * 1e6:
            raise DataError(
                f"The file {path.name!r} is larger than {stacks.MAX_FILE_MB} MB, the limit "
                "for Gram matrices."
            )
    else:
        describe_table(content, max_bytes=MAX_BYTES)
    return content


def take(secret: str) -> tuple[str, bytes] | None:
    """Return the name and the bytes of the table that was kept under ``secret``, and forget it.

    Returns None for an unknown secret, and for one that has been used.
    """
    with _lock:
        found = next(
            (
                known
                for known in _waiting
                if secrets.compare_digest(known.encode(), secret.encode())
            ),
            "",
        )
        return _waiting.pop(found, None)


def first_page() -> str:
    """The page that the browser opens first, as a relative link.

    This is Explore with the secret of the table from the command line, or "", the start page, if
    there is no table.
    """
    with _lock:
        return "".join(f"explore?{TABLE_PART}={secret}" for secret in list(_waiting)[:1])


# The server


def _serve(script: Path, port: int | None, opens: bool | None) -> int:
    """Run the server until it is stopped, and return the exit code.

    The server runs in this process, so that Ctrl-C ends both. ``opens`` says whether a browser is
    opened; None lets Streamlit decide by looking for a display.
    """
    if named := os.environ.get(HOSTS, "").split():
        os.environ.setdefault(ADDRESS_VARIABLE, "0.0.0.0")
        # Streamlit prints a link. Without a host name for it, it would ask a server on the internet
        # for the address of this machine.
        os.environ.setdefault(
            SHOWN_ADDRESS_VARIABLE, next((name for name in named if "*" not in name), "localhost")
        )
    command = ["run", str(script), "--server.showEmailPrompt=false"]
    if opens is not None:
        command += [f"--server.headless={str(not opens).lower()}"]
    if port is not None:
        command += [f"--server.port={port}"]
    # Imported by name, because the library itself never imports Streamlit.
    streamlit = import_module("streamlit.web.cli")
    try:
        streamlit.main(command, prog_name="streamlit", standalone_mode=False)
    except (KeyboardInterrupt, import_module("click").Abort):  # Ctrl-C
        print("MKL Explorer has ended.")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0
