"""How numba compiles a part: to code that leaves take in, but not to machine code of its own, which nobody would run.

A part is optimised and translated within every leaf that calls it. To do both before, for the part alone, as numba does for
every function, took a tenth of compiling everything.
"""

from __future__ import annotations

from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


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


class PartCompiler(CompilerBase):
    """numba's compiler with ``UnfinishedLowering`` at its end."""

    def define_pipelines(self) -> list[Any]:
        """The usual passes, one replaced."""
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        usual.passes = [(UnfinishedLowering if one is NativeLowering else one, why) for one, why in usual.passes]
        usual._finalized = False
        usual.finalize()
        return [usual]
