"""Figures as files: interactive HTML pages, and pictures by Plotly's export."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mklcore.errors import ParameterError

PICTURE_FORMATS = (".png", ".svg", ".pdf", ".jpeg", ".webp")


def save(
    figure: Any,
    path: str | os.PathLike[str],
    **size: Any,
) -> None:
    """Write a figure to a file, in the format of its name: .html, or .png, .svg, .pdf and others.

    ``size`` holds ``width``, ``height`` and ``scale`` of a picture. Pictures are drawn by Kaleido,
    which is installed by ``pip install 'mklcore[export]'`` and needs Chrome or Chromium on this
    machine. Raises ``ParameterError``, which names what is missing.
    """
    file = Path(path)
    if file.suffix.lower() == ".html":
        figure.write_html(file, include_plotlyjs=True)
        return
    if file.suffix.lower() not in PICTURE_FORMATS:
        raise ParameterError(
            f"A figure is written as .html or {', '.join(PICTURE_FORMATS)}; got {file.name[:80]!r}."
        )
    if find_spec("kaleido") is None:
        raise ParameterError(
            "Pictures need Kaleido, which is not installed: pip install "
            "'mklcore[export]'. An .html file needs nothing."
        )
    try:
        figure.write_image(file, **size)
    except RuntimeError as error:  # Plotly and Kaleido found no browser
        lines = str(error).strip().splitlines()
        reason = lines[0][:200] if lines else type(error).__name__
        raise ParameterError(
            f"The picture cannot be drawn: {reason} Kaleido needs Chrome or Chromium; set "
            "BROWSER_PATH to it, or write an .html file."
        ) from error
