from typing import Any

class CompilerBase:
    state: Any
    def _compile_core(self) -> Any: ...

class DefaultPassBuilder:
    @staticmethod
    def define_nopython_pipeline(state: Any) -> Any: ...
