"""How numba compiles leaves, with a memory, and a part: to code that leaves take in, not to machine code nobody would run.

A part is optimised and translated within every leaf that calls it. To do both before, for the part alone, as numba does for
every function, took a tenth of compiling everything.
"""

from __future__ import annotations

from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import InlineOverloads, NativeLowering
from numba.core.untyped_passes import InlineClosureLikes, WithLifting

from mklcore.call_types import remembered

LEFT_OUT = InlineClosureLikes, InlineOverloads, WithLifting  # for what no leaf has in it, after a long look each


class UnfinishedLibrary(JITCodeLibrary):
    """Code that is linked into others, tidied and otherwise as it was written."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class UnfinishedLowering(NativeLowering):
    """numba's own way from types to code, ended before the code is translated."""

    _name = "mklcore_unfinished_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower one function; its place among what can be called is taken by a name without code."""
        context = state.targetctx
        state.library = UnfinishedLibrary(context.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        about, name = lowered.fndesc, lowered.fndesc.qualname.split(".")[-1]
        entry = _dynfunc.make_function(
            about.lookup_module(), name, "a part of leaves", 0, lowered.env, (state.library,)
        )
        context.insert_user_function(entry, about, [state.library])
        state["cr"] = lowered._replace(cfunc=entry)
        return True


def _passes(state: Any) -> PassManager:
    usual: PassManager = DefaultPassBuilder.define_nopython_pipeline(state)
    usual.passes = [(one, why) for one, why in usual.passes if one not in LEFT_OUT]
    usual._finalized = False
    return usual


class LeafCompiler(CompilerBase):
    """numba's compiler without what leaves have no use for, and with a memory."""

    def define_pipelines(self) -> list[Any]:
        """The usual passes but those left out."""
        passes = _passes(self.state)
        passes.finalize()
        return [passes]

    def _compile_core(self) -> Any:
        with remembered():
            return super()._compile_core()


class PartCompiler(CompilerBase):
    """The same with ``UnfinishedLowering`` at its end; a part is compiled while a leaf is, so the memory is there."""

    def define_pipelines(self) -> list[Any]:
        """The passes of a leaf, one replaced."""
        passes = _passes(self.state)
        passes.passes = [(UnfinishedLowering if one is NativeLowering else one, why) for one, why in passes.passes]
        passes.finalize()
        return [passes]
