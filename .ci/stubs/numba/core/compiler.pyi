from typing import Any

class CompilerBase:
    state: Any

class DefaultPassBuilder:
    @staticmethod
    def define_nopython_pipeline(state: Any) -> Any: ...
