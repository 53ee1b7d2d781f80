"""The build backend: setuptools, with the app packed into the wheel as data of the library's
package.

An installed copy has the app in ``mklcore/_app``, so site-packages gets no ``app`` and no ``pages``
of its own. An editable installation and a checkout use the files where they are.
"""

import shutil
from pathlib import Path

from setuptools.build_meta import *  # noqa: F403  the hooks of the backend
from setuptools.command.build_py import build_py

APP = "app.py", "pages", ".streamlit", "sample_data"
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", "build_*.py")


class WithApp(build_py):
    """Build the package, and put the app into it."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            pack(Path(__file__).resolve().parents[1], Path(self.build_lib) / "mklcore" / "_app")


def pack(checkout: Path, target: Path) -> None:
    """Copy the app from a checkout to a folder, which is emptied before."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in APP:
        if (checkout / name).is_dir():
            shutil.copytree(checkout / name, target / name, ignore=LEFT_OUT)
        else:
            shutil.copy(checkout / name, target / name)
