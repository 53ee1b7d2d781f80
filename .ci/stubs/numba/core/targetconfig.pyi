from typing import Any

class ConfigStack:
    @staticmethod
    def top_or_none() -> Any: ...
