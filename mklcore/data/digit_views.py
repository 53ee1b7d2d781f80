"""Six views of handwritten digits, of the kinds of the multiple features data set, computed from scikit-learn's
pictures.

Source: M. van Breukelen, R. P. W. Duin, D. M. J. Tax, J. E. den Hartog, Handwritten digit recognition by combined
classifiers, Kybernetika 34, 1998: Fourier coefficients, profiles, Karhunen-Loève coefficients, pixels, moments and
morphology of digits. The pictures here are other ones, and smaller.
"""

from __future__ import annotations

import numpy as np

from mklcore.arrays import Array

SIDE = 8
KARHUNEN = 16


def digit_views(pictures: Array) -> dict[str, tuple[tuple[str, ...], Array]]:
    """Column names and columns (n, d) of every view of ``pictures`` (n, 8, 8) with pixels from 0 to 16."""
    found = {
        "fourier": _fourier(pictures),
        "profiles": _profiles(pictures),
        "karhunen": _karhunen(pictures),
        "pixels": pictures.reshape(len(pictures), -1),
        "moments": _moments(pictures),
        "shape": _shape(pictures),
    }
    return {name: (tuple(f"{name}_{j + 1}" for j in range(part.shape[1])), part) for name, part in found.items()}


def _fourier(pictures: Array) -> Array:
    """Sizes of the coefficients of the two-dimensional transform; the other half is their mirror image."""
    sizes: Array = np.abs(np.fft.rfft2(pictures))
    return sizes.reshape(len(pictures), -1)


def _profiles(pictures: Array) -> Array:
    """Ink of every row, every column and every diagonal of either direction."""
    diagonals = [
        np.trace(turned, offset, axis1=1, axis2=2)
        for turned in (pictures, pictures[:, :, ::-1])
        for offset in range(1 - SIDE, SIDE)
    ]
    return np.column_stack([pictures.sum(axis=2), pictures.sum(axis=1), *diagonals])


def _karhunen(pictures: Array) -> Array:
    """The first principal components; every sign makes the largest entry of its direction positive."""
    rows = pictures.reshape(len(pictures), -1)
    centred = rows - rows.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    first = directions[:, ::-1][:, :KARHUNEN]
    first = first * np.sign(first[np.argmax(np.abs(first), axis=0), np.arange(KARHUNEN)])
    found: Array = np.round(centred @ first, 6)
    return found


def _moments(pictures: Array) -> Array:
    """Central moments up to the fourth order, each by the power of the ink that makes it free of scale."""
    ink, row, column = _centres(pictures)
    down = np.arange(SIDE)[None, :, None] - row[:, None, None]
    across = np.arange(SIDE)[None, None, :] - column[:, None, None]
    return np.column_stack(
        [
            (pictures * down**i * across ** (order - i)).sum(axis=(1, 2)) / ink ** (1 + order / 2)
            for order in (2, 3, 4)
            for i in range(order + 1)
        ]
    )


def _shape(pictures: Array) -> Array:
    """Ink, its centre, how far it reaches down and across, and how often a line through the middle meets it."""
    ink, row, column = _centres(pictures)
    dark = pictures >= 4.0
    reach = [dark.any(axis=axis).sum(axis=1) for axis in (2, 1)]
    middle = SIDE // 2
    crossings = [
        (np.diff(line.astype(int), axis=1, prepend=0) == 1).sum(axis=1)
        for line in (dark[:, middle, :], dark[:, :, middle])
    ]
    return np.column_stack([ink, row, column, *reach, *crossings]).astype(float)


def _centres(pictures: Array) -> tuple[Array, Array, Array]:
    ink = pictures.sum(axis=(1, 2))
    row = (pictures.sum(axis=2) @ np.arange(SIDE)) / ink
    column = (pictures.sum(axis=1) @ np.arange(SIDE)) / ink
    return ink, row, column
