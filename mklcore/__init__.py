"""Multiple kernel learning with certificates: kernels, solvers, paths and figures.

import mklcore as mkl
data = mkl.load_sample("breast_cancer")
train, test = data.split(test_size=0.3, seed=0)
model = mkl.LpMKLClassifier(p=4 / 3, C=1.0).fit(train.X, train.y)
print(model.score(test.X, test.y), model.dual_gap_)

Every public name is loaded when it is first used. A new one is a line in ``__init__.pyi``, which
type checkers and editors read, too; everything else is found in the packages: ``mkl.data``,
``mkl.estimators``, ``mkl.paths``, ...
"""

from mklcore._lazy import lazily as _lazily

_found, _home = _lazily(__name__, __file__)
__all__ = sorted(
    ["figures", *(name for name, module in _home.items() if module != __name__)],
    key=lambda name: (not name.isupper(), not name[0].isupper(), name),
)


def __getattr__(name: str) -> object:
    if name != "__version__":
        return globals().setdefault(name, _found(name))
    from importlib import metadata  # not at start-up

    try:
        return metadata.version("mklcore")
    except metadata.PackageNotFoundError:  # run from a checkout that was never installed
        return "0+unknown"


def __dir__() -> list[str]:
    return sorted({*globals(), *_home, "__version__"})
