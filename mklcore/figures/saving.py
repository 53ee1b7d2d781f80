"""Figures as files: pages that move without anything else, and pictures by Plotly's own export."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mklcore.errors import ParameterError

PICTURES = (".png", ".svg", ".pdf", ".jpeg", ".webp")


def save(figure: Any, path: str | os.PathLike[str], **size: Any) -> None:
    """Write a figure into a file, in the format that its name ends in: .html, or .png, .svg and
    .pdf.

    ``size`` : ``width``, ``height`` and ``scale`` of a picture. Pictures are drawn by Kaleido,
    which is installed by ``pip install 'mklcore[export]'`` and needs Chrome or Chromium on this
    machine. ParameterError, by name, for what is missing.
    """
    file = Path(path)
    if file.suffix.lower() == ".html":
        figure.write_html(file, include_plotlyjs=True)
        return
    if file.suffix.lower() not in PICTURES:
        raise ParameterError(
            f"A figure is written as .html or {', '.join(PICTURES)}; got {file.name[:80]!r}."
        )
    if find_spec("kaleido") is None:
        raise ParameterError(
            "Pictures need Kaleido, which is not installed: pip install "
            "'mklcore[export]'. An .html file needs nothing."
        )
    try:
        figure.write_image(file, **size)
    except RuntimeError as error:  # how Plotly and Kaleido say that there is no browser
        said = str(error).strip().splitlines()
        raise ParameterError(
            "The picture cannot be drawn: "
            f"{said[0][:200] if said else type(error).__name__} Kaleido needs Chrome or "
            "Chromium; set BROWSER_PATH to it, or write an .html file."
        ) from error
