"""Derive the methods of Compare: each is the library's answer with this method fixed."""

from dataclasses import dataclass, replace
from functools import lru_cache

from mklcore.answer.exploration import Exploration
from mklcore.paths.path import Path
from pages.shared import answer
from pages.shared.derive import tables
from pages.shared.params import methods as params_methods
from pages.shared.params.methods import MethodParams
from pages.shared.params.parameters import Params, PathParams
from pages.shared.work import Failed, Pending, Ready


@dataclass(frozen=True, eq=False)
class ComparedMethod:
    """What one method has to show: its name and parameters, its answer, its path as soon as that is there, and where it
    is or why there is none.
    """

    label: str
    method: MethodParams
    params: PathParams
    found: Exploration | None = None
    path: Path | None = None
    note: str = ""
    failed: Failed | None = None


@lru_cache(maxsize=64)
def methods(params: Params) -> tuple[MethodParams, ...]:
    """The methods that the parameters ask for."""
    return params_methods.read(params.methods)


@lru_cache(maxsize=256)
def method_params(params: Params, method: MethodParams) -> PathParams:
    """The parameters of a method's answer: that its path is named fixes the method."""
    return replace(
        params.part(PathParams), algorithm=method.algorithm, path=method.over, settings=method.settings, further=0
    )


def shown(params: Params) -> list[ComparedMethod]:
    """What there is to show, method by method; what is not there is asked for."""
    asked, every = methods(params), list[ComparedMethod]()
    for method, label in zip(asked, params_methods.labels(asked, tables.table(params).task), strict=True):
        one = ComparedMethod(label, method, method_params(params, method))
        match answer.get(one.params):
            case Ready(found):
                one = replace(one, found=found, path=found.path)
            case Pending(_, _, part):
                path = part.refit[0] if part is not None and part.refit else None
                one = replace(one, path=path, note="On its way.")
            case failed:
                one = replace(one, note=failed.sentence, failed=failed)
        every.append(one)
    return every
