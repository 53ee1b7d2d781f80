"""Names that would be markup or code for browsers, Python, spreadsheets, LaTeX, Markdown and
terminals.
"""

from __future__ import annotations

import csv
import io

import numpy as np

FILE = "<img src=x onerror=alert(7)>.csv"
HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(2)</script>",
    '"><svg onload=alert(3)>',
    "</script><script>alert(4)</script>",
    "![x](http://evil.example/x.png)",
    "[l](javascript:alert(5))",
    "{{7*7}}<iframe src=http://evil.example>",
    "'-alert(6)-'",
)
FURTHER = (
    '"; import os; os.system("x") #',
    "{{7*7}}",
    "${x}",
    "{x!r} {0}",
    r"$\href{javascript:alert(1)}{x}$",
    "=cmd|' /C calc'!A1",
    "+1+cmd|x",
    "two\nlines",
    "\u202eevil\u202c",
    "\\",
    r"\u0041\n\\",
    "[l](http://evil.example)",
    "x" * 5000,
    "n\0l",
    "\U0001f600\U0001f469\u200d\U0001f4bb",
    "it's",
    '"',
    "\u201cq\u201d",
    "`code`",
    "%{x} %s",
    "--><!--",
    ":red[x] :material/home:",
)
NAMES = tuple(name for name in HOSTILE + FURTHER if "\0" not in name)  # that a table can have


def table(names=HOSTILE, target="<b id=injected>target</b>"):
    """Sixty rows whose columns, classes and target are called such names."""
    chance = np.random.default_rng(0)
    file = io.StringIO()
    rows = csv.writer(file)
    rows.writerow([*names, target])
    for k, row in enumerate(chance.standard_normal((60, len(names)))):
        rows.writerow([*(f"{v:.3f}" for v in row), names[k % 2]])
    return file.getvalue().encode()
