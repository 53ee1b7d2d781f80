"""Generated tables of the kinds that strangers upload and that break programs: seeded, small, as bytes of a CSV
file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Columns = dict[str, Sequence[Any]]
Rng = np.random.Generator
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def odd_tables(count, seed=0):
    """``count`` tables by name: the kinds of ``KINDS`` in turn, each time with other rows, columns and noise."""
    names = list(KINDS)
    for k in range(count):
        kind = names[k % len(names)]
        rng = np.random.default_rng([seed, k])
        made = KINDS[kind](rng, int(rng.integers(24, 90)))
        yield f"{kind} {k // len(names) + 1}", made if isinstance(made, bytes) else text(made)


def text(columns, delimiter=",", header=True):
    """The bytes of a file with these columns, a row per line."""
    rows = zip(*columns.values(), strict=True)
    lines = [delimiter.join(str(cell) for cell in row) for row in ([list(columns)] if header else [])]
    return "\n".join([*lines, *(delimiter.join(str(cell) for cell in row) for row in rows)]).encode()


def numbers(rng, n, d=4):
    """Columns of normal numbers."""
    return {LETTERS[j]: rng.normal(size=n).round(3).tolist() for j in range(d)}


def classes(rng, n, k=2):
    """Labels of ``k`` classes, each with two rows at least."""
    return [f"c{j}" for j in rng.permutation([*range(k), *range(k), *rng.integers(0, k, n - 2 * k)])]


def target(rng, n):
    """Two classes, several, or a number."""
    kind = int(rng.integers(3))
    return rng.normal(size=n).round(2).tolist() if kind == 2 else classes(rng, n, 2 + 2 * kind)


def with_target(rng, columns):
    """The same columns and a target behind them."""
    return {**columns, "y": target(rng, len(next(iter(columns.values()))))}


def _few_values(rng, n):
    return with_target(
        rng, {LETTERS[j]: rng.integers(0, 2 + j % 2, n).tolist() for j in range(int(rng.integers(1, 6)))}
    )


def _two_rows_repeated(rng, n):
    side = rng.integers(0, 2, n)
    return {
        "a": side.tolist(),
        "b": (3 - side).tolist(),
        "y": [f"c{s}" for s in np.where(rng.random(n) < 0.2, 1 - side, side)],
    }


def _copied_rows(rng, n):
    made = with_target(rng, numbers(rng, n))
    rows = rng.integers(0, max(3, n // 6), n)
    return {name: [cells[i] for i in rows] for name, cells in made.items()} | {"y": made["y"]}


def _copied_columns(rng, n):
    made = numbers(rng, n, 3)
    return with_target(
        rng, {**made, "again": made["a"], "twice": [2 * v for v in made["a"]], "minus": [-v for v in made["b"]]}
    )


def _rare_class(rng, n):
    y = classes(rng, n, 2 + int(rng.integers(2)))
    for count in rng.integers(1, 3, int(rng.integers(1, 3))):
        for i in rng.permutation(n)[:count]:
            y[i] = f"rare{count}"
    return {**numbers(rng, n), "y": y}


def _rare_of_two(rng, n):
    return {**numbers(rng, n), "y": rng.permutation(["no"] * (n - 2) + ["yes"] * 2).tolist()}


def _many_classes(rng, n):
    k = int(rng.integers(6, 13))
    return {**numbers(rng, max(n, 3 * k)), "y": classes(rng, max(n, 3 * k), k)}


def _plus_minus(rng, n):
    return {**numbers(rng, n), "y": rng.choice(["+", "-"], n, p=[0.4, 0.6]).tolist()}


def _odd_marks(rng, n):
    made = with_target(rng, numbers(rng, n, 5))
    for name, mark in zip(
        "abcd", rng.permutation(["?", "-", "n/a", ".", "", "NULL", "#N/A", "*", "nan"]), strict=False
    ):
        made[name] = [mark if rng.random() < 0.15 else v for v in made[name]]
    return made


def _sentinels(rng, n):
    made = numbers(rng, n)
    made["a"] = [rng.choice([-999, 9999]) if rng.random() < 0.1 else abs(v) for v in made["a"]]
    return with_target(rng, made)


def _leak(rng, n):
    y = target(rng, n)
    return {**numbers(rng, n, 3), "leak": y if isinstance(y[0], str) else [3 * v for v in y], "y": y}


def _one_column(rng, n):
    return with_target(rng, numbers(rng, n, 1))


def _wide(rng, n):
    d = int(rng.integers(60, 120))
    return with_target(rng, {f"g{j}": rng.normal(size=30).round(2).tolist() for j in range(d)})


def _constant_within_class(rng, n):
    y = classes(rng, n, 2 + int(rng.integers(2)))
    place = [int(label[1:]) for label in y]
    return {"a": place, "b": [5 - 2 * k for k in place], **{"c": rng.normal(size=n).round(2).tolist()}, "y": y}


def _index_column(rng, n):
    return {str(rng.choice(["rownames", "", "id", "X1"])): list(range(1, n + 1)), **with_target(rng, numbers(rng, n))}


def _constants(rng, n):
    return with_target(rng, {"a": [7] * n, "b": ["same"] * n, "c": rng.normal(size=n).round(2).tolist()})


def _mostly_empty(rng, n):
    made = numbers(rng, n)
    made["b"] = ["" if rng.random() < 0.95 else v for v in made["b"]]
    made["c"] = [""] * n
    return with_target(rng, made)


def _target_with_gaps(rng, n):
    made = with_target(rng, numbers(rng, n))
    return made | {"y": ["" if rng.random() < rng.choice([0.1, 0.4]) else v for v in made["y"]]}


def _categories(rng, n):
    return with_target(rng, {LETTERS[j]: [f"{LETTERS[j]}{k}" for k in rng.integers(0, 2 + 3 * j, n)] for j in range(4)})


def _dates_and_texts(rng, n):
    days = [f"20{rng.integers(10, 24)}-{rng.integers(1, 13):02d}-{rng.integers(1, 28):02d}" for _ in range(n)]
    words = [" ".join(rng.choice(["red", "old", "fast", "large", "cheap"], 6)) + f" {i}" for i in range(n)]
    return with_target(rng, {"day": days, "remark": words, **numbers(rng, n, 2)})


def _scales(rng, n):
    made = numbers(rng, n)
    return with_target(
        rng,
        {
            name: [v * factor for v in cells]
            for (name, cells), factor in zip(made.items(), (1e12, 1e-12, 1e30, 1), strict=True)
        },
    )


def _outliers(rng, n):
    made = with_target(rng, numbers(rng, n))
    made["a"] = [1e9, *made["a"][1:]]
    return made | ({} if isinstance(made["y"][0], str) else {"y": [1e7, *made["y"][1:]]})


def _target_far_from_zero(rng, n):
    made = numbers(rng, n)
    return made | {"y": [1e6 + a + 0.1 * e for a, e in zip(made["a"], rng.normal(size=n), strict=True)]}


def _target_mostly_zero(rng, n):
    return {**numbers(rng, n), "y": np.where(rng.random(n) < 0.9, 0.0, rng.gamma(2, 3, n)).round(2).tolist()}


def _few_rows(rng, n):
    rows = int(rng.integers(4, 13))
    return {
        **numbers(rng, rows, 2),
        "y": rng.normal(size=rows).round(2).tolist() if rng.random() < 0.5 else classes(rng, rows),
    }


def _semicolons(rng, n):
    made = with_target(rng, numbers(rng, n))
    return text({k: [str(v).replace(".", ",") for v in cells] for k, cells in made.items()}, ";")


def _no_header(rng, n):
    return text(with_target(rng, numbers(rng, n)), header=False)


def _names(rng, n):
    body = text(with_target(rng, numbers(rng, n)), header=False)
    return '"a, b","a, b","ä=ö|x", "y"""\n'.encode().replace(b', "y"""', b",<b>c</b>,y") + body


def _strings(rng, n):
    return {
        "dna": ["".join(rng.choice(list("ACGT"), 12)) for _ in range(n)],
        **numbers(rng, n, 1),
        "y": classes(rng, n),
    }


def _spectra(rng, n):
    curves = np.cumsum(rng.normal(size=(n, 60)), axis=1).round(3)
    return with_target(rng, {str(900 + 5 * j): curves[:, j].tolist() for j in range(60)})


def _groups(rng, n):
    names = [f"{part}_{j}" for part in ("left", "right", "top") for j in range(3)]
    return with_target(rng, {name: rng.normal(size=n).round(2).tolist() for name in names})


def _contradictions(rng, n):
    rows = rng.normal(size=(4, 2)).round(2)
    place = rng.integers(0, 4, n)
    return with_target(rng, {"a": rows[place, 0].tolist(), "b": rows[place, 1].tolist()})


KINDS: dict[str, Callable[[Rng, int], Columns | bytes]] = {
    make.__name__.strip("_").replace("_", " "): make
    for make in (
        _few_values,
        _two_rows_repeated,
        _copied_rows,
        _copied_columns,
        _rare_class,
        _rare_of_two,
        _many_classes,
        _plus_minus,
        _odd_marks,
        _sentinels,
        _leak,
        _one_column,
        _wide,
        _constant_within_class,
        _index_column,
        _constants,
        _mostly_empty,
        _target_with_gaps,
        _categories,
        _dates_and_texts,
        _scales,
        _outliers,
        _target_far_from_zero,
        _target_mostly_zero,
        _few_rows,
        _semicolons,
        _no_header,
        _names,
        _strings,
        _spectra,
        _groups,
        _contradictions,
    )
}
