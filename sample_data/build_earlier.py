"""Make the answers that come with the project: ``python -m sample_data.build_earlier [NAME ...]``

The answer for every sample and its hulls, as the pages ask for them when nobody has moved a
control. A name ("answers", "hulls_wine") makes again what begins with it; files that nothing asks
for any more are removed. Run it after a change of what is usual, of a sample, or of a figure's
states.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path as File

from mklcore.answer.explore import explore
from mklcore.data.samples import SAMPLES, load_sample
from mklcore.paths.files import write_paths
from mklcore.paths.path import Path
from pages.hulls import player
from pages.shared.export import saved
from pages.shared.session.parameters import Params
from pages.shared.values import hulls, tables
from pages.shared.work import work

Made = tuple[str, File, Callable[[], None]]


def everything(samples: Iterable[str] = SAMPLES) -> Iterator[Made]:
    """What is made: its name, its file, and how."""
    for sample in samples:
        params = Params(data=sample)
        if tables.table(params).task != "novelty":
            file = saved.hulls_file(params)
            yield (
                f"hulls_{sample}",
                file,
                lambda params=params, file=file: _write_hulls(params, file),
            )
    if tables.FIRST_TABLE is not None:
        yield (
            "first_table",
            tables.FIRST_TABLE,
            lambda: tables.write_first(_folder() / "first_table.json.gz"),
        )
    file = _folder() / "answers.json.gz"
    yield "answers", file, lambda file=file: saved.write_answers(file, answers(samples))


def solved_hulls(params: Params) -> saved.EarlierHulls:
    """The certified hulls as the app's worker computes them, with what their player draws."""
    with work.inline():
        path = hulls.get(params).value
    work.WORK.clear()
    return player.to_keep(hulls.HullsView(path, params))


def answers(samples: Iterable[str]) -> dict[str, saved.Seen]:
    """What Explore draws of every sample."""
    return {
        name: saved.Seen.of(explore(load_sample(name)), SAMPLES[name].label) for name in samples
    }


def _write_path(path: Path, file: File) -> None:
    file.write_bytes(write_paths(path=path))


def _write_hulls(params: Params, file: File) -> None:
    found = solved_hulls(params)
    _write_path(found.path, file.with_name(file.name.replace(".json.gz", ".npz")))
    saved.write_hulls(file, found)


def _folder() -> File:
    assert saved.EARLIER is not None
    return saved.EARLIER


def main(names: list[str]) -> None:
    """Make what is missing or named, and remove what nothing asks for."""
    logging.disable(logging.CRITICAL)  # Streamlit says that it does not run
    _folder().mkdir(exist_ok=True)
    wanted = set()
    for name, file, produce in everything():
        wanted |= {file, file.with_name(file.name.replace(".json.gz", ".npz"))}
        if not file.exists() or any(name.startswith(asked_for) for asked_for in names):
            start = time.process_time()
            produce()
            print(
                (
                    f"{file.name}: {file.stat().st_size / 1024:.0f} kB, "
                    f"{time.process_time() - start:.1f} CPU s"
                ),
                flush=True,
            )
    for file in set(_folder().iterdir()) - wanted:
        file.unlink()
    print(
        f"{sum(file.stat().st_size for file in _folder().iterdir()) / 1024:.0f} kB in "
        f"{len(wanted)} files"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
