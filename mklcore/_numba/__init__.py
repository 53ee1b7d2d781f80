"""What numba compiles: decorators, the cache on disk, compiling ahead of the first fit."""

from importlib import import_module as _import_module


def __getattr__(name: str) -> object:
    if name in ("cache", "decorators", "warmup"):
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}.")
