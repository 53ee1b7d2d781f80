"""Make the answers that come with the project: ``python -m sample_data.build_earlier [NAME ...]``

The path and the usual methods of Compare for every sample, the plain models beside them, and its hulls,
as the pages ask for them when nobody has moved a control. A name ("iris", "references_", "hulls_wine")
makes again what begins with it; files that nothing asks for any more are removed. Run it after a change of what is
usual, of a sample, or of a figure's states.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path as File

from mklcore.answer.explore import explore
from mklcore.data.samples import SAMPLES, load_sample
from mklcore.errors import suppress_convergence_warnings
from mklcore.paths.files import write_paths
from mklcore.paths.path import Path
from mklcore.selection.references import Reference
from pages._parts.derive import comparison, earlier, first_table, hulls, paths, references, tables
from pages._parts.jobs.job import Job, Progress, make
from pages._parts.params.parameters import Params, PathParams
from pages._parts.players import hull_player
from pages.shared import work

Made = tuple[str, File, Callable[[], None]]


def everything(samples: Iterable[str] = SAMPLES) -> Iterator[Made]:
    """What is made: its name, its file, and how."""
    for sample in samples:
        params = Params(data=sample)
        for one in asked(params):
            file = earlier.path_file(one)
            yield sample, file, lambda one=one, file=file: _write_path(solved(one), file)
        if tables.table(params).task != "novelty":
            file = references.file(params)
            make_them = lambda params=params, file=file: earlier.write_references(file, solved_references(params))  # noqa: E731
            yield f"references_{sample}", file, make_them
            file = earlier.hulls_file(params)
            yield f"hulls_{sample}", file, lambda params=params, file=file: _write_hulls(params, file)
    if first_table.FILE is not None:
        yield "first_table", first_table.FILE, lambda: first_table.write(_folder() / "first_table.json.gz")
    file = _folder() / "answers.json.gz"
    yield "answers", file, lambda file=file: earlier.write_answers(file, answers(samples))


def asked(params: Params) -> list[PathParams]:
    """The paths that Explore and Compare ask for on a sample: its own and the usual methods."""
    novelty = tables.table(params).task == "novelty"
    methods = [] if novelty else [comparison.method_params(params, method) for method in comparison.methods(params)]
    return list(dict.fromkeys([params.part(PathParams), *methods]))


def solved(params: PathParams) -> Path:
    """The path as the app's worker computes it."""
    with suppress_convergence_warnings():
        return paths.prepared(params).solve()


def solved_references(params: PathParams) -> list[Reference]:
    """The plain models as the app's worker computes them."""
    references.forget(params)
    _do(references.job(params))
    found = [one for one in references.computed(params).values() if one is not None]
    references.forget(params)
    return found


def solved_hulls(params: Params) -> earlier.Hulls:
    """The certified hulls as the app's worker computes them, with what their player draws."""
    with work.inline():
        path = hulls.get(params).value
    work.WORK.clear()
    return hull_player.kept(hulls.Answer(path, params, waiting=False, provisional=False))


def answers(samples: Iterable[str]) -> dict[str, earlier.Seen]:
    """What Explore draws of every sample."""
    return {name: earlier.Seen.of(explore(load_sample(name)), SAMPLES[name].label) for name in samples}


def _do(job: Job) -> None:
    with suppress_convergence_warnings():
        make(Progress(job, watched=False))


def _write_path(path: Path, file: File) -> None:
    file.write_bytes(write_paths(path=path))


def _write_hulls(params: Params, file: File) -> None:
    found = solved_hulls(params)
    _write_path(found.path, file.with_name(file.name.replace(".json.gz", ".npz")))
    earlier.write(file, found)


def _folder() -> File:
    assert earlier.FOLDER is not None
    return earlier.FOLDER


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
                f"{file.name}: {file.stat().st_size / 1024:.0f} kB, {time.process_time() - start:.1f} CPU s", flush=True
            )
    for file in set(_folder().iterdir()) - wanted:
        file.unlink()
    print(f"{sum(file.stat().st_size for file in _folder().iterdir()) / 1024:.0f} kB in {len(wanted)} files")


if __name__ == "__main__":
    main(sys.argv[1:])
