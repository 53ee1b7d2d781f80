"""Formulas for a file that loads nothing: the LaTeX of the registry as MathML, which browsers draw."""

import html
import re
from collections.abc import Iterator

SIGNS = {
    "min": "min",
    "max": "max",
    "log": "log",
    "exp": "exp",
    "sum": "∑",
    "prod": "∏",
    "infty": "∞",
    "le": "≤",
    "ge": "≥",
    "theta": "θ",
    "lambda": "λ",
    "epsilon": "ϵ",
    "eta": "η",
    "beta": "β",
    "alpha": "α",
    "zeta": "ζ",
    "ell": "ℓ",
    "Omega": "Ω",
    "Phi": "Φ",
    "langle": "⟨",
    "rangle": "⟩",
    "quad": " ",
    "qquad": "  ",
    "top": "⊤",
    "in": "∈",
    "to": "→",
    "cdot": "·",
    "colon": ":",
    "mid": "∣",
    "sigma": "σ",
    "subset": "⊂",
    "neq": "≠",
    "ne": "≠",
    "rho": "ρ",
    "nu": "ν",
    "xi": "ξ",
    "mu": "μ",
    "psi": "ψ",
    "phi": "φ",
    "ldots": "…",
    "dots": "…",
    "pm": "±",
    "times": "×",
}
SYMBOLS = {"|": "‖", ",": " ", ";": " ", "!": "", " ": " ", "{": "{", "}": "}", ":": " "}
UNDER = {"min", "max", "sum", "prod"}
WORDS = {"text", "mathrm", "operatorname", "mbox"}
STYLES = {"mathcal": "script", "mathbf": "bold", "mathbb": "double-struck"}
BIG = {"big", "Big", "bigg", "Bigg", "left", "right", "bigl", "bigr", "Bigl", "Bigr", "displaystyle"}
OPERATORS = set("+-=<>()[]|,;:/!'*") | {"≤", "≥", "‖", "∑", "∏", "⟨", "⟩", "∈", "→", "·", "∣", "⊂", "≠", "±", "×"}
FENCES = set("()[]|") | {"‖", "⟨", "⟩"}
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}^_]|\d+(?:\.\d+)?|\S|\s+", re.DOTALL)


def mathml(latex: str, display: str = "block") -> str:
    """Return a formula as a MathML element, ``display`` "block" or "inline".

    What is not understood is shown as it stands.
    """
    parts = _Parts(_TOKEN.findall(latex.strip()))
    body = "".join(parts.rows(end=None))
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="{display}"><mrow>{body}</mrow></math>'


class _Parts:
    """Reads tokens from the left; every piece comes with the indices and powers that follow it."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens, self._place = tokens, 0

    def rows(self, end: str | None) -> Iterator[str]:
        """Yield the pieces up to ``end``, which is taken."""
        while self._next():
            if self._next() == end:
                self._place += 1
                return
            yield self._piece()

    def _next(self) -> str:
        """Return the token ahead, spaces passed over; empty at the end."""
        while self._place < len(self._tokens) and self._tokens[self._place].isspace():
            self._place += 1
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._next()
        self._place += 1
        return token

    def _group(self) -> str:
        """Return the next argument: braces, or one piece alone."""
        token = self._take()
        if token[:1].isdigit() and len(token) > 1:  # of bare digits an argument takes the first
            self._place -= 1
            self._tokens[self._place : self._place + 1] = [token[0], token[1:]]
            self._place += 1
            token = token[0]
        return f"<mrow>{''.join(self.rows('}'))}</mrow>" if token == "{" else self._one(token)

    def _piece(self) -> str:
        token = self._take()
        base = f"<mrow>{''.join(self.rows('}'))}</mrow>" if token == "{" else self._one(token)
        below = above = ""
        while self._next() in ("_", "^"):
            if self._take() == "_":
                below = self._group()
            else:
                above = self._group()
        if not (below or above):
            return base
        limits = token.removeprefix("\\") in UNDER
        kind = {(True, True): "munderover" if limits else "msubsup", (True, False): "munder" if limits else "msub"}
        return _wrapped(kind.get((bool(below), bool(above)), "mover" if limits else "msup"), base, below, above)

    def _one(self, token: str) -> str:
        name = token[1:]
        if not token.startswith("\\"):
            return _leaf(token)
        if name in ("frac", "tfrac", "dfrac"):
            return f"<mfrac>{self._group()}{self._group()}</mfrac>"
        if name == "sqrt":
            return f"<msqrt>{self._group()}</msqrt>"
        if name in WORDS:
            return f"<mtext>{self._words()}</mtext>"
        if name in STYLES:
            return self._group().replace("<mi>", f'<mi mathvariant="{STYLES[name]}">')
        if name in BIG:
            return self._one(self._take()) if name != "displaystyle" else ""
        if name in ("qquad", "quad", ",", ";", " ", ":", "!"):
            return f'<mspace width="{ {"qquad": 2, "quad": 1, "!": 0}.get(name, 0.25) }em"/>'
        return _leaf(SIGNS.get(name, SYMBOLS.get(name, name)))

    def _words(self) -> str:
        if self._take() != "{":
            return ""
        said: list[str] = []
        while self._place < len(self._tokens) and self._tokens[self._place] != "}":
            said.append(self._tokens[self._place])
            self._place += 1
        self._place += 1
        return html.escape("".join(said)).replace(" ", "\u00a0")  # browsers drop other spaces at the ends


def _leaf(sign: str) -> str:
    safe = html.escape(sign)
    if sign[:1].isdigit():
        return f"<mn>{safe}</mn>"
    if sign in FENCES:
        return f'<mo stretchy="false">{safe}</mo>'
    return f"<mo>{safe}</mo>" if sign in OPERATORS else f"<mi>{safe}</mi>"


def _wrapped(kind: str, *parts: str) -> str:
    return f"<{kind}>{''.join(part for part in parts if part)}</{kind}>"
